"""Results of calls: frozen values that can be compared, hashed and pickled. Each has its JSON as the command line
prints it, and the shell line that prints equal bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from json import loads
from pathlib import Path
from typing import Any, TypedDict

from seekwise import _html, _native, _plots
from seekwise._error import SeekwiseError
from seekwise._figures import Interval, Parts, Requests
from seekwise._native import Table
from seekwise._pickles import Versioned
from seekwise._setup import path_text


class ComparisonAnswer(TypedDict):
    """A comparison, as the compiled part returns it."""

    json: str
    command: str
    #: The cause and the secondary figures of each finding.
    reasons: list[tuple[str | None, list[str]]]
    cells: Table
    intervals: Table
    curves: Table
    page: Path | None


class StudyPart(TypedDict):
    """A study of a review, or the only study."""

    #: Its name in the review; empty for the only study.
    name: str
    title: str
    question: str
    cells: Table
    intervals: Table
    curves: Table
    page: Path


#: A study or a review, as the compiled part returns it: JSON, whether it was refused, whether it is a review, page,
#: parts.
StudyAnswer = tuple[str, bool, bool, Path, list[StudyPart]]


@dataclass(frozen=True)
class Report:
    """A page with figures and pictures; in a notebook it is shown in a frame."""

    html: str

    def save(self, file: str | Path) -> None:
        """Writes the page to a file. One that is there is replaced.

        Args:
            file: its name.

        Returns:
            None.

        Raises:
            SeekwiseError: the file cannot be written, or is a link.

        Example:
            >>> study.report().save("page.html")
        """
        _native.write_file(Path(path_text(file, "file", '"page.html"')), self.html.encode())

    def _repr_html_(self) -> str:
        return _html.frame(self.html)


@dataclass(frozen=True)
class Result(Versioned):
    """The base of all results."""

    #: The result as the command line prints it with `--json`.
    json: str
    #: The shell line that prints the same bytes.
    command: str

    @cached_property
    def _data(self) -> Any:
        return loads(self.json)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as docs/output.md describes them.

        Returns:
            A dictionary, the caller's own.

        Raises:
            Nothing.

        Example:
            >>> result.to_dict()["seed"]
            1
        """
        value: dict[str, Any] = loads(self.json)
        return value


def read_or_make_report(page: Path | None) -> Report:
    """The report of a result folder with this page; an interrupted one has no page yet, so that it is made of the
    results so far."""
    if page is None:
        raise SeekwiseError("results were not kept, so there is no report; expected out=FOLDER")
    return Report(page.read_text(encoding="utf-8") if page.exists() else _native.render_page(str(page.parent)))


def _missing_words(runs: int) -> str:
    """How an incomplete result is described."""
    return f"interrupted, {runs} runs missing"


@dataclass(frozen=True)
class _ManyRuns(Result):
    """The base of results of many runs, of which an interruption may leave out some."""

    @property
    def missing_runs(self) -> int:
        """Runs that are missing, where it was interrupted; until it is decided, at least so many."""
        return int(self._data.get("missing_runs", 0))

    @property
    def complete(self) -> bool:
        """Whether it came to its end."""
        return self.missing_runs == 0


@dataclass(frozen=True)
class RunResult(Result):
    """The result of a run."""

    #: Every counted request, where `requests=True` asked for them.
    requests: Table | None
    #: Response times: a row a bucket.
    curve: Table
    #: The page, where results were kept.
    page: Path | None

    @property
    def target(self) -> str:
        """What it ran on."""
        return str(self._data["target"])

    @property
    def job(self) -> str:
        """What ran."""
        return str(self._data["job"])

    @property
    def seed(self) -> int:
        """The seed of all chance."""
        return int(self._data["seed"])

    @property
    def elapsed_s(self) -> float:
        """Seconds counted, in the place's time."""
        return float(self._data["elapsed_s"])

    @cached_property
    def all(self) -> Requests:
        """Reads and writes together."""
        return Requests.of(self._data["all"])

    @cached_property
    def read(self) -> Requests:
        """Reads."""
        return Requests.of(self._data["read"])

    @cached_property
    def write(self) -> Requests:
        """Writes."""
        return Requests.of(self._data["write"])

    @cached_property
    def flush(self) -> Requests:
        """Flushes."""
        return Requests.of(self._data["flush"])

    @cached_property
    def commit(self) -> Requests | None:
        """Commits: a write, or several, and the sync that makes them durable."""
        commits = self._data.get("commit")
        return commits and Requests.of(commits)

    @property
    def iops(self) -> float:
        """Reads and writes a second."""
        return self.all.iops

    @property
    def p99(self) -> float | None:
        """All but one in a hundred reads and writes take no longer, in milliseconds."""
        return self.all.p99

    @cached_property
    def anatomy(self) -> Parts:
        """The parts of the mean response, in milliseconds."""
        return Parts(tuple(self._data["anatomy_ms"].items()))

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Of a trace: what it holds, how it was read, and how close to their instants its requests were issued."""
        value: dict[str, Any] | None = self.to_dict().get("trace")
        return value

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader should know."""
        return tuple(self._data["warnings"])

    def report(self) -> Report:
        """The report of the run.

        Returns:
            A `Report`, which a notebook shows.

        Raises:
            SeekwiseError: results were not kept with `out=`.

        Example:
            >>> len(result.report().html) > 10000
            True
        """
        return read_or_make_report(self.page)

    def _figures(self) -> list[tuple[str, object, object, object, object, object]]:
        kinds = [("all", self.all), ("read", self.read), ("write", self.write), ("flush", self.flush)]
        return [
            (name, requests.ios, requests.iops, requests.mean, requests.p99, requests.max)
            for name, requests in kinds
            if requests.ios
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draws shares of requests by response time.

        Args:
            ax: matplotlib's axes to draw into; by default the current ones.

        Returns:
            The axes.

        Raises:
            SeekwiseError: matplotlib is not installed.

        Example:
            >>> axes = result.plot()
        """
        return _plots.draw_response_curves(self.curve, ax)

    def __repr__(self) -> str:
        mean = "" if self.all.mean is None else f", mean {self.all.mean:.3f} ms, p99 {self.p99:.3f} ms"
        return f"<RunResult: {self.job} on {self.target}: {self.iops:.1f} requests/s{mean}>"

    def _repr_html_(self) -> str:
        heads = ["requests", "count", "iops", "mean", "p99", "max"]
        units = {"iops": "requests/s", "mean": "ms", "p99": "ms", "max": "ms"}
        title = _html.paragraph(f"{self.job} on {self.target}: {self.iops:.1f} requests/s")
        parts = _html.paragraph(f"Mean response: {self.anatomy}")
        return title + _html.html_table(heads, self._figures(), units) + parts


@dataclass(frozen=True)
class Finding:
    """One value of what varies against the first, by one metric."""

    metric: str
    #: The sides, the base first.
    from_: str
    to: str
    #: `to` over `from_`; an interval of 95 %, of one run none.
    ratio: Interval
    #: The verdict as JSON and tables have it, whatever the metric: "faster" is better, "slower" is worse, then
    #: "no difference within ±x %", "not enough data, n more runs", "refused".
    verdict: str
    #: Verdict and ratio in the program's words: `longer, 1.753 × as long [1.702, 1.806]`.
    said: str
    #: Why the comparison was refused.
    refused: str | None
    #: Which parts of the response changed.
    why: str | None
    #: What went the other way.
    beside: tuple[str, ...]
    #: p of "the ratio is 1", for itself and corrected for all comparisons.
    p: float
    p_adjusted: float


@dataclass(frozen=True)
class Comparison(_ManyRuns):
    """A job on two or more values of one setting."""

    #: One for each metric and each value but the first. After Ctrl-C, of those whose runs are all there.
    findings: tuple[Finding, ...]
    #: A row a run.
    cells: Table
    #: A row a comparison.
    intervals: Table
    #: Response times: a row a bucket of a run.
    curves: Table
    #: The page, where results were kept.
    page: Path | None

    @property
    def _first(self) -> Finding:
        if not self.findings:
            raise SeekwiseError(f"{_missing_words(self.missing_runs)}: nothing is judged yet; `cells` has the runs that ended")
        return self.findings[0]

    @property
    def verdict(self) -> str:
        """The first verdict, for code: "faster" is better and "slower" is worse, also of times. `said` has it in words."""
        return self._first.verdict

    @property
    def said(self) -> str:
        """The first verdict with its ratio, in words: `longer, 1.753 × as long [1.702, 1.806]`."""
        return self._first.said

    @property
    def ratio(self) -> float:
        """The first ratio, estimated."""
        return self._first.ratio.estimate

    @property
    def interval(self) -> Interval:
        """The first ratio with its interval of 95 %."""
        return self._first.ratio

    @property
    def why(self) -> str | None:
        """Which parts of the response changed."""
        return self._first.why

    @property
    def refused(self) -> bool:
        """Whether a comparison was refused: its sides differ in more than what it is credited to."""
        return any(finding.refused is not None for finding in self.findings)

    @property
    def runs(self) -> int:
        """Runs of a side."""
        return int(self._data["runs"])

    @property
    def _sample(self) -> str:
        """How much stands behind the ratios."""
        return f"{self.runs} runs a side" if self._has_intervals else "one run a side: no interval"

    @property
    def _has_intervals(self) -> bool:
        return all(finding.ratio.ends is not None for finding in self.findings)

    def report(self) -> Report:
        """The report of the comparison.

        Returns:
            A `Report`, which a notebook shows.

        Raises:
            SeekwiseError: results were not kept with `out=`.

        Example:
            >>> len(comparison.report().html) > 10000
            True
        """
        return read_or_make_report(self.page)

    def plot(self, ax: Any = None) -> Any:
        """Draws each ratio with its interval.

        Args:
            ax: matplotlib's axes to draw into; by default the current ones.

        Returns:
            The axes.

        Raises:
            SeekwiseError: matplotlib is not installed.

        Example:
            >>> axes = comparison.plot()
        """
        rows = [
            (f"{finding.to}: {finding.metric}", finding.ratio.estimate, finding.ratio.low, finding.ratio.high)
            for finding in self.findings
            if finding.refused is None
        ]
        return _plots.draw_intervals(rows, ax)

    def __repr__(self) -> str:
        lines = [
            f"{finding.to} against {finding.from_}: {finding.metric}: {finding.said}"
            for finding in self.findings
        ]
        missing = [] if self.complete else [_missing_words(self.missing_runs)]
        return "<Comparison: " + "; ".join(missing + lines + ([] if self._has_intervals else [self._sample])) + ">"

    def _repr_html_(self) -> str:
        def finding_html(finding: Finding) -> str:
            headline = f"{finding.to} against {finding.from_}: {finding.metric}: {finding.said}"
            remarks = [finding.why and f"Why: {finding.why}"]
            remarks += [f"But: {text}" for text in finding.beside]
            paragraphs = "".join(_html.paragraph(word) for word in remarks if word)
            bar = "" if finding.refused else _html.interval_bar(finding.ratio)
            return _html.paragraph(headline) + bar + paragraphs

        findings_html = "".join(finding_html(finding) for finding in self.findings[: _html.MAX_ROWS])
        missing = "" if self.complete else f"; {_missing_words(self.missing_runs)}"
        return findings_html + _html.paragraph(f"{self._sample}{missing}")


@dataclass(frozen=True)
class Study(_ManyRuns):
    """A study, or what a result folder keeps of a run, a comparison, a study or a sweep."""

    title: str
    question: str
    #: A headline was refused: its sides differ in more than what it is credited to.
    refused: bool
    #: A row a run.
    cells: Table
    #: A row a comparison.
    intervals: Table
    #: Response times: a row a bucket of a run.
    curves: Table
    page: Path

    def report(self) -> Report:
        """The report of the study, of an interrupted one over its runs so far.

        Returns:
            A `Report`, which a notebook shows.

        Raises:
            SeekwiseError: the folder is gone.

        Example:
            >>> len(study.report().html) > 10000
            True
        """
        return read_or_make_report(self.page)

    @property
    def comparisons(self) -> list[dict[str, Any]]:
        """The result of each comparison, over all cells."""
        value: list[dict[str, Any]] = self.to_dict()["comparisons"]
        return value

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The result of each claim: `reproduced` is True, False, or None."""
        value: list[dict[str, Any]] = self.to_dict()["claims"]
        return value

    def plot(self, ax: Any = None, *, figure: str = "iops", over: str | tuple[str, str] | None = None) -> Any:
        """Draws the ratio of each comparison with its interval; if nothing is compared, shares of requests by response time.

        Args:
            ax: matplotlib's axes to draw into; by default the current ones.
            figure: the figure of `cells` that is drawn over a factor, such as `"iops"` or `"p99_ms"`.
            over: a factor, for lines of `figure` over its levels; two factors, for a map.

        Returns:
            The axes.

        Raises:
            SeekwiseError: matplotlib is not installed; no such factor or figure.

        Example:
            >>> axes = study.plot(over="cache", figure="p99_ms")
        """
        if over is not None:
            return _plots.draw_study_by_factor(self.cells, over, figure, ax)
        if len(self.intervals):
            return _plots.draw_comparisons(self.intervals, ax)
        return _plots.draw_response_curves(self.curves, ax)

    def __repr__(self) -> str:
        missing = "" if self.complete else f"; {_missing_words(self.missing_runs)}"
        return f"<Study: {self.title}: {len(self.cells)} runs, {len(self.intervals)} comparisons{missing}>"

    def _repr_html_(self) -> str:
        html = _html.paragraph(f"{self.title}: {self.question}")
        html += "" if self.complete else _html.paragraph(_missing_words(self.missing_runs))
        return html + _html.table_preview(self.intervals if len(self.intervals) else self.cells)


@dataclass(frozen=True)
class Review(_ManyRuns):
    """Several studies that answer one question together."""

    refused: bool
    #: Its studies, by the names of their folders.
    parts: tuple[tuple[str, Study], ...]
    page: Path

    def __getitem__(self, name: str) -> Study:
        parts = dict(self.parts)
        if name not in parts:
            raise KeyError(f"no part {name!r}; expected one of {', '.join(parts)}")
        return parts[name]

    @property
    def missing_runs(self) -> int:
        """Runs that are missing in its parts, where it was interrupted."""
        return sum(part.missing_runs for _, part in self.parts)

    def report(self) -> Report:
        """The report of the review.

        Returns:
            A `Report`, which a notebook shows.

        Raises:
            SeekwiseError: the review was interrupted; each part has a report of its own.

        Example:
            >>> sw.study("drivers", out="out").report()  # doctest: +SKIP
        """
        if not self.complete:
            raise SeekwiseError(f"{_missing_words(self.missing_runs)}: the page comes at the end; each part has a report of its own")
        return read_or_make_report(self.page)

    def __repr__(self) -> str:
        missing = "" if self.complete else f"; {_missing_words(self.missing_runs)}"
        return f"<Review: {', '.join(name for name, _ in self.parts)}{missing}>"

    def _repr_html_(self) -> str:
        body = [(name, part.title, len(part.cells)) for name, part in self.parts]
        return _html.html_table(["part", "title", "runs"], body[: _html.MAX_ROWS], {})


@dataclass(frozen=True)
class Distance:
    """How far simulated times are from measured ones; None without requests."""

    n: int
    mean_measured_ms: float | None
    mean_simulated_ms: float | None
    demerit_ms: float | None
    demerit_percent: float | None


@dataclass(frozen=True)
class Validation(Result):
    """A measured trace against a modelled drive."""

    #: A row a request: measured and simulated time.
    samples: Table
    #: The bound that was asked for, in per cent.
    at_most: float | None

    def _distance(self, figures: dict[str, Any]) -> Distance:
        return Distance(**{name: figures[name] for name in Distance.__dataclass_fields__})

    @property
    def all(self) -> Distance:
        """Of all requests."""
        return self._distance(self._data)

    @property
    def reads(self) -> Distance:
        """Of reads."""
        return self._distance(self._data["reads"])

    @property
    def writes(self) -> Distance:
        """Of writes."""
        return self._distance(self._data["writes"])

    @property
    def ok(self) -> bool | None:
        """Whether each demerit is within `at_most`; None where nothing was asked."""
        if self.at_most is None:
            return None
        percents = [distance.demerit_percent for distance in (self.all, self.reads, self.writes)]
        return all(percent is None or percent <= self.at_most for percent in percents)

    def plot(self, ax: Any = None) -> Any:
        """Draws simulated times against measured ones, both sorted.

        Args:
            ax: matplotlib's axes to draw into; by default the current ones.

        Returns:
            The axes.

        Raises:
            SeekwiseError: matplotlib is not installed.

        Example:
            >>> axes = validation.plot()
        """
        return _plots.draw_validation(self.samples, ax)

    def __repr__(self) -> str:
        return f"<Validation: {self.all.n} requests, demerit {self.all.demerit_percent or 0:.2f} %>"

    def _repr_html_(self) -> str:
        heads = ["of", *Distance.__dataclass_fields__]
        kinds = [("all", self.all), ("reads", self.reads), ("writes", self.writes)]
        names = Distance.__dataclass_fields__
        return _html.html_table(heads, [(kind, *(getattr(distance, name) for name in names)) for kind, distance in kinds], {})


@dataclass(frozen=True)
class FitResult(Result):
    """A drive fitted to what was measured."""

    #: The fitted profile: a TOML file's text.
    profile: str

    @property
    def moved(self) -> list[dict[str, Any]]:
        """The figures that moved: name, before, after, interval."""
        value: list[dict[str, Any]] = self.to_dict()["figures"]
        return value

    @property
    def complete(self) -> bool:
        """Whether it came to its end, and was not ended by a bound of time or points."""
        return self._data["ending"] is None

    def save(self, file: str | Path) -> None:
        """Writes the fitted profile to a file, which `on=` takes.

        Args:
            file: its name, such as "fitted.toml".

        Returns:
            None.

        Raises:
            SeekwiseError: the file cannot be written, or is a link.

        Example:
            >>> fitted.save("fitted.toml")
        """
        _native.write_file(Path(path_text(file, "file", '"fitted.toml"')), self.profile.encode())

    def __repr__(self) -> str:
        return f"<FitResult: {len(self.moved)} figures moved, {self._data['tried']} points tried>"

    def _repr_html_(self) -> str:
        body = [(figure["name"], figure["before"], figure["after"], figure["interval"]) for figure in self.moved]
        return _html.html_table(["figure", "before", "after", "interval"], body[: _html.MAX_ROWS], {})


@dataclass(frozen=True)
class Rebuild(Result):
    """How long a rebuild or a scrub of an array takes, by policy, and what users feel."""

    #: The page that `seekwise rebuild --page` writes.
    report: Report

    @property
    def policies(self) -> list[str]:
        """Names of the policies, as they were asked."""
        return [answer["policy"] for answer in self._data["policies"]]

    def hours(self, policy: str | None = None) -> float | None:
        """Hours that it takes.

        Args:
            policy: a name of `policies`; None if there is but one.

        Returns:
            Hours; None if it never ends beside these users.

        Raises:
            SeekwiseError: the policy was not asked for.

        Example:
            >>> rebuilt.hours("md") < 1
            True
        """
        hours: float | None = self._of(policy)["hours"]
        return hours

    def users(self, policy: str | None = None) -> dict[str, float] | None:
        """What users feel meanwhile, in the phase in which they wait longest.

        Args:
            policy: a name of `policies`; None if there is but one.

        Returns:
            Requests a second, mean and percentiles in milliseconds; None without users.

        Raises:
            SeekwiseError: the policy was not asked for.

        Example:
            >>> rebuilt.users("md")["p99_ms"] > 10
            True
        """
        phases = [phase for phase in self._of(policy)["phases"] if phase["mb_per_s"] is not None and phase["users"]]
        return max((phase["users"] for phase in phases), key=lambda users: float(users["p99_ms"]), default=None)

    def users_before(self) -> dict[str, float] | None:
        """What users feel before anything is lost.

        Returns:
            Requests a second, mean and percentiles in milliseconds; None without users.

        Raises:
            Nothing.

        Example:
            >>> rebuilt.users_before()["p99_ms"] > 10
            True
        """
        users: dict[str, float] | None = self._data["policies"][0]["phases"][0]["users"]
        return users

    def exposure(self, policy: str | None = None) -> dict[int, float]:
        """How long further losses would be survived, whichever drives they meet.

        Args:
            policy: a name of `policies`; None if there is but one.

        Returns:
            Hours by the number of further losses.

        Raises:
            SeekwiseError: the policy was not asked for.

        Example:
            >>> list(rebuilt.exposure("md"))
            [0]
        """
        return {row["spare"]: row["hours"] for row in self._of(policy)["exposure"]}

    def _of(self, policy: str | None) -> dict[str, Any]:
        answers: list[dict[str, Any]] = self._data["policies"]
        if policy is None and len(answers) == 1:
            return answers[0]
        found = next((answer for answer in answers if answer["policy"] == policy), None)
        if found is None:
            raise SeekwiseError(f"policy: {policy!r}: expected one of {', '.join(self.policies)}")
        return found

    def __repr__(self) -> str:
        def words(policy: str) -> str:
            hours = self.hours(policy)
            return f"{policy} never ends" if hours is None else f"{policy} {hours:.1f} h"

        return f"<Rebuild: {', '.join(map(words, self.policies))}>"

    def _repr_html_(self) -> str:
        def row(policy: str) -> tuple[object, ...]:
            users = self.users(policy)
            return (policy, self.hours(policy), users and users["p50_ms"], users and users["p99_ms"])

        return _html.html_table(["policy", "hours", "p50 ms", "p99 ms"], [row(policy) for policy in self.policies], {})


@dataclass(frozen=True)
class PowerCut(Result):
    """What power cuts of a run would lose."""

    #: Nothing was lost that had been promised to be durable.
    promise_kept: bool
    #: Data at risk over time: a row a stretch.
    at_risk: Table

    @property
    def cuts(self) -> int:
        """Cuts judged."""
        return int(self._data["cuts"])

    @property
    def broken(self) -> int:
        """Cuts that lost what had been promised."""
        return int(self._data["promised_lost"]["cuts_with_loss"])

    @property
    def acknowledged_lost(self) -> dict[str, Any]:
        """Of writes acknowledged: what was lost."""
        value: dict[str, Any] = self.to_dict()["acknowledged_lost"]
        return value

    def plot(self, ax: Any = None) -> Any:
        """Draws data at risk over time.

        Args:
            ax: matplotlib's axes to draw into; by default the current ones.

        Returns:
            The axes.

        Raises:
            SeekwiseError: matplotlib is not installed.

        Example:
            >>> axes = cuts.plot()
        """
        return _plots.draw_data_at_risk(self.at_risk, ax)

    def __repr__(self) -> str:
        kept = "kept" if self.promise_kept else "broken"
        return f"<PowerCut: {self.cuts} cuts, promise {kept}>"

    def _repr_html_(self) -> str:
        def row(name: str) -> tuple[object, ...]:
            lost = self._data[name]
            return (name, lost["cuts_with_loss"], lost["writes_mean"], lost["writes_max"])

        names = ["acknowledged_lost", "flushed_lost", "fua_lost", "promised_lost"]
        return _html.html_table(["lost", "cuts with loss", "writes mean", "writes most"], [row(name) for name in names], {})
