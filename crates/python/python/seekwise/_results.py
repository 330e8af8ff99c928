"""What comes of a call: frozen values that can be compared, hashed and pickled. Each has its JSON as the command line prints it,
and the shell line that prints the same bytes."""

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


class ComparisonAnswer(TypedDict):
    """What the library answers of a comparison."""

    json: str
    command: str
    #: The cause and the secondary figures of each finding.
    reasons: list[tuple[str | None, list[str]]]
    cells: Table
    intervals: Table
    curves: Table
    page: Path | None


class StudyPart(TypedDict):
    """A study of a review, or the one that there is."""

    #: Its name in the review.
    name: str
    title: str
    question: str
    cells: Table
    intervals: Table
    curves: Table
    page: Path


#: What the library answers of a study: JSON, whether it was refused, whether it is a review, page, parts.
StudyAnswer = tuple[str, bool, bool, Path, list[StudyPart]]


@dataclass(frozen=True)
class Report:
    """A page with figures and pictures; in a notebook it is shown in a frame."""

    html: str

    def save(self, file: str | Path) -> None:
        """Writes the page to a file."""
        _native.write_file(Path(file), self.html.encode())

    def _repr_html_(self) -> str:
        return _html.frame(self.html)


@dataclass(frozen=True)
class Result:
    """What all results have."""

    #: As the command line prints it with `--json`.
    json: str
    #: The shell line that prints the same bytes.
    command: str

    @cached_property
    def _data(self) -> Any:
        return loads(self.json)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as docs/output.md describes them."""
        value: dict[str, Any] = loads(self.json)
        return value


def report_of(page: Path | None) -> Report:
    """The report of a result folder; of one that was interrupted it is made of what is there."""
    if page is None:
        raise SeekwiseError("results were not kept, so there is no report; expected out=FOLDER")
    return Report(page.read_text(encoding="utf-8") if page.exists() else _native.page_of(str(page.parent)))


def _missing(runs: int) -> str:
    """What an incomplete result says of itself."""
    return f"interrupted, {runs} runs missing"


@dataclass(frozen=True)
class _ManyRuns(Result):
    """What a result of many runs says of those that an interruption left out."""

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
    """What came of a run."""

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
        """The report, where `out=` kept results."""
        return report_of(self.page)

    def _figures(self) -> list[tuple[str, object, object, object, object, object]]:
        kinds = [("all", self.all), ("read", self.read), ("write", self.write), ("flush", self.flush)]
        return [(name, it.ios, it.iops, it.mean, it.p99, it.max) for name, it in kinds if it.ios]

    def plot(self, ax: Any = None) -> Any:
        """Draws shares of requests by response time; answers matplotlib's axes."""
        return _plots.curves(self.curve, ax)

    def __repr__(self) -> str:
        mean = "" if self.all.mean is None else f", mean {self.all.mean:.3f} ms, p99 {self.p99:.3f} ms"
        return f"<RunResult: {self.job} on {self.target}: {self.iops:.1f} requests/s{mean}>"

    def _repr_html_(self) -> str:
        heads = ["requests", "count", "iops", "mean", "p99", "max"]
        units = {"iops": "requests/s", "mean": "ms", "p99": "ms", "max": "ms"}
        title = _html.paragraph(f"{self.job} on {self.target}: {self.iops:.1f} requests/s")
        parts = _html.paragraph(f"Mean response: {self.anatomy}")
        return title + _html.rows(heads, self._figures(), units) + parts


@dataclass(frozen=True)
class Finding:
    """One value of what varies against the first, by one metric."""

    metric: str
    #: The sides, the base first.
    from_: str
    to: str
    #: `to` over `from_`; an interval of 95 %, of one run none.
    ratio: Interval
    #: faster (of a time: it is shorter), slower, no difference within ±x %, not enough data, or refused.
    verdict: str
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
            raise SeekwiseError(f"{_missing(self.missing_runs)}: nothing is judged yet; `cells` has the runs that ended")
        return self.findings[0]

    @property
    def verdict(self) -> str:
        """The first verdict."""
        return self._first.verdict

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
        """The report, where `out=` kept results."""
        return report_of(self.page)

    def plot(self, ax: Any = None) -> Any:
        """Draws each ratio with its interval; answers matplotlib's axes."""
        shown = [it for it in self.findings if it.refused is None]
        rows = [(f"{it.to}: {it.metric}", it.ratio.estimate, it.ratio.low, it.ratio.high) for it in shown]
        return _plots.intervals(rows, ax)

    def __repr__(self) -> str:
        lines = [f"{it.to} against {it.from_}: {it.metric} × {it.ratio}: {it.verdict}" for it in self.findings]
        said = [] if self.complete else [_missing(self.missing_runs)]
        return "<Comparison: " + "; ".join(said + lines + ([] if self._has_intervals else [self._sample])) + ">"

    def _repr_html_(self) -> str:
        def one(finding: Finding) -> str:
            said = f"{finding.to} against {finding.from_}: {finding.verdict}. {finding.metric} × {finding.ratio}"
            words = [finding.refused, finding.why and f"Why: {finding.why}"]
            words += [f"But: {text}" for text in finding.beside]
            below = "".join(_html.paragraph(word) for word in words if word)
            return _html.paragraph(said) + _html.bar(finding.ratio) + below

        shown = "".join(one(finding) for finding in self.findings[: _html.ROWS])
        missing = "" if self.complete else f"; {_missing(self.missing_runs)}"
        return shown + _html.paragraph(f"{self._sample}{missing}")


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
        """Its report."""
        return report_of(self.page)

    @property
    def comparisons(self) -> list[dict[str, Any]]:
        """What each comparison came to, over all cells."""
        value: list[dict[str, Any]] = self.to_dict()["comparisons"]
        return value

    @property
    def claims(self) -> list[dict[str, Any]]:
        """What each claim came to: `reproduced` is True, False, or None."""
        value: list[dict[str, Any]] = self.to_dict()["claims"]
        return value

    def plot(self, ax: Any = None) -> Any:
        """Draws the ratio of each comparison with its interval; where nothing is compared, shares of requests by response time.
        Answers matplotlib's axes."""
        return _plots.intervals_of(self.intervals, ax) if len(self.intervals) else _plots.curves(self.curves, ax)

    def __repr__(self) -> str:
        missing = "" if self.complete else f"; {_missing(self.missing_runs)}"
        return f"<Study: {self.title}: {len(self.cells)} runs, {len(self.intervals)} comparisons{missing}>"

    def _repr_html_(self) -> str:
        said = _html.paragraph(f"{self.title}: {self.question}")
        said += "" if self.complete else _html.paragraph(_missing(self.missing_runs))
        return said + _html.table(self.intervals if len(self.intervals) else self.cells)


@dataclass(frozen=True)
class Review(_ManyRuns):
    """Several studies that answer one question together."""

    refused: bool
    #: Its studies, by the names of their folders.
    parts: tuple[tuple[str, Study], ...]
    page: Path

    def __getitem__(self, name: str) -> Study:
        return dict(self.parts)[name]

    @property
    def missing_runs(self) -> int:
        """Runs that are missing in its parts, where it was interrupted."""
        return sum(part.missing_runs for _, part in self.parts)

    def report(self) -> Report:
        """Its report."""
        if not self.complete:
            raise SeekwiseError(f"{_missing(self.missing_runs)}: the page comes at the end; each part has a report of its own")
        return report_of(self.page)

    def __repr__(self) -> str:
        missing = "" if self.complete else f"; {_missing(self.missing_runs)}"
        return f"<Review: {', '.join(name for name, _ in self.parts)}{missing}>"

    def _repr_html_(self) -> str:
        body = [(name, part.title, len(part.cells)) for name, part in self.parts]
        return _html.rows(["part", "title", "runs"], body[: _html.ROWS], {})


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

    def _distance(self, value: dict[str, Any]) -> Distance:
        return Distance(**{name: value[name] for name in Distance.__dataclass_fields__})

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
        shares = [it.demerit_percent for it in (self.all, self.reads, self.writes)]
        return all(share is None or share <= self.at_most for share in shares)

    def plot(self, ax: Any = None) -> Any:
        """Draws simulated times against measured ones, both sorted; answers matplotlib's axes."""
        return _plots.samples(self.samples, ax)

    def __repr__(self) -> str:
        return f"<Validation: {self.all.n} requests, demerit {self.all.demerit_percent or 0:.2f} %>"

    def _repr_html_(self) -> str:
        heads = ["of", *Distance.__dataclass_fields__]
        kinds = [("all", self.all), ("reads", self.reads), ("writes", self.writes)]
        names = Distance.__dataclass_fields__
        return _html.rows(heads, [(kind, *(getattr(it, name) for name in names)) for kind, it in kinds], {})


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
        """Writes the fitted profile to a file, which `on=` takes."""
        _native.write_file(Path(file), self.profile.encode())

    def __repr__(self) -> str:
        return f"<FitResult: {len(self.moved)} figures moved, {self._data['tried']} points tried>"

    def _repr_html_(self) -> str:
        body = [(it["name"], it["before"], it["after"], it["interval"]) for it in self.moved]
        return _html.rows(["figure", "before", "after", "interval"], body[: _html.ROWS], {})


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
        """Draws data at risk over time; answers matplotlib's axes."""
        return _plots.at_risk(self.at_risk, ax)

    def __repr__(self) -> str:
        kept = "kept" if self.promise_kept else "broken"
        return f"<PowerCut: {self.cuts} cuts, promise {kept}>"

    def _repr_html_(self) -> str:
        def row(name: str) -> tuple[object, ...]:
            lost = self._data[name]
            return (name, lost["cuts_with_loss"], lost["writes_mean"], lost["writes_max"])

        names = ["acknowledged_lost", "flushed_lost", "fua_lost", "promised_lost"]
        return _html.rows(["lost", "cuts with loss", "writes mean", "writes most"], [row(name) for name in names], {})
