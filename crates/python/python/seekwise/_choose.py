"""The choice among the cells of a grid: which of these keeps its limits, for the least or the most of something? Limits
are judged by intervals that hold all together; a cell whose interval has the limit in it is not decided."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from seekwise import _checks, _html, _plots, _progress
from seekwise._columns import Column, Prices, column_values
from seekwise._engines import Engine
from seekwise._error import SeekwiseError, keeping
from seekwise._figures import Interval
from seekwise._grid import PRICE, Grid, GridPlanner, PlannedCells, Refused, Words, to_source
from seekwise._native import Plan
from seekwise._progress import Progress
from seekwise._results import Result, Study
from seekwise._setup import Job, Settings, Stack, Target, Text, path_text, setting_words, to_words
from seekwise._statistics import each_of, mean_interval, runs_to_decide
from seekwise._stores import printable_url, store_at
from seekwise._sweep import (
    PlannedParts,
    choose_cells_per_part,
    finish_results,
    keep_study,
    kept_place,
    make_missing_parts,
    parts_store,
    running,
)

#: The figures of a run that can be kept or aimed at, as in the table `cells` of a study.
FIGURES = tuple(
    f"{kind}{figure}"
    for kind in ("", "read_", "write_")
    for figure in (
        "ios", "iops", "bytes_per_s", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "p99_9_ms", "p99_99_ms", "max_ms"
    )
) + ("cpu_percent", "failures")

#: A limit: an operator and a number.
CONDITION = re.compile(r"\s*(<=|>=|<|>)\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*")

KEPT, BROKEN, NOT_DECIDED = "kept", "broken", "not decided"


@dataclass(frozen=True, slots=True)
class Condition:
    """A limit for a figure."""

    figure: str
    operator: str
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a number is within the limit.

        Args:
            value: the number, in the figure's unit.

        Returns:
            True if it is.

        Raises:
            TypeError: it is no number.

        Example:
            >>> sw.Condition("p99_ms", "<", 50.0).holds(50.0)
            False
        """
        if value == self.limit:
            return self.operator in ("<=", ">=")
        return (value < self.limit) == (self.operator[0] == "<")

    def __str__(self) -> str:
        return f"{self.figure} {self.operator} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a cell keeps a condition."""

    condition: Condition
    #: The figure's mean, with the interval by which it is judged: all intervals of a choice hold together in 95 %. A
    #: column, such as a price, has an interval without width.
    interval: Interval
    #: "kept", "broken" or "not decided".
    verdict: str
    #: Runs of this cell that would decide, if its figures went on as they are; None if it is decided, or if more than
    #: 10,000 are needed.
    runs: int | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cell of the grid that ran."""

    #: The level of each factor.
    levels: Words
    #: What its columns say, `price` among them.
    columns: tuple[tuple[str, float], ...]
    #: Each figure that was asked for, in each run: run i of all cells has the same seed.
    runs: tuple[tuple[str, tuple[float, ...]], ...]
    verdicts: tuple[Verdict, ...]

    @property
    def verdict(self) -> str:
        """"kept" if all conditions are, "broken" if one is, else "not decided"."""
        verdicts = {one.verdict for one in self.verdicts}
        return BROKEN if BROKEN in verdicts else NOT_DECIDED if NOT_DECIDED in verdicts else KEPT

    @property
    def runs_to_decide(self) -> int | None:
        """Runs that would decide all its conditions; None if it is decided, or if more than 10,000 are needed."""
        open_verdicts = [one for one in self.verdicts if one.verdict == NOT_DECIDED]
        if self.verdict != NOT_DECIDED or any(one.runs is None for one in open_verdicts):
            return None
        return max(one.runs or 0 for one in open_verdicts)

    def value(self, name: str) -> float:
        """A column's number, or a figure's mean over the runs.

        Args:
            name: the column or the figure, such as `"price"` or `"p99_ms"`.

        Returns:
            The number, in the figure's unit.

        Raises:
            KeyError: the choice did not ask for it.

        Example:
            >>> choice.best.value("p99_ms") < 200
            True
        """
        columns = dict(self.columns)
        return columns[name] if name in columns else mean_interval(dict(self.runs)[name]).estimate

    def interval(self, name: str) -> Interval:
        """A figure's mean with its own interval of 95 %; a column's number.

        Args:
            name: the column or the figure, such as `"price"` or `"p99_ms"`.

        Returns:
            The interval; of a column one without width.

        Raises:
            KeyError: the choice did not ask for it.

        Example:
            >>> choice.best.interval("p99_ms").low < 200
            True
        """
        columns = dict(self.columns)
        if name in columns:
            return Interval(columns[name], columns[name], columns[name])
        return mean_interval(dict(self.runs)[name])


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be least or most."""

    name: str
    is_least: bool

    def cost(self, candidate: Candidate) -> float:
        """A number that is lower for a better cell.

        Args:
            candidate: the cell.

        Returns:
            The goal's number, turned round if it is to be most.

        Raises:
            KeyError: the choice did not ask for the goal's figure.

        Example:
            >>> choice.goals[0].cost(choice.best) < 0
            True
        """
        value = candidate.value(self.name)
        return value if self.is_least else -value

    def __str__(self) -> str:
        return f"the {'least' if self.is_least else 'most'} {self.name}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:,.4g}"


@dataclass(frozen=True)
class Choice(Result):
    """The answer of `choose`. Printed, it is a sentence; `table` has a row for each cell.

    `json` has all of it; equal calls give equal bytes, on any engine. `command` is a shell line that prints these bytes.
    """

    #: The job and the factors that varied.
    title: str
    #: The factors with more than one level.
    varied: tuple[str, ...]
    conditions: tuple[Condition, ...]
    goals: tuple[Goal, ...]
    #: Cells that ran, in the grid's order.
    candidates: tuple[Candidate, ...]
    #: Cells that cannot run, and why.
    refused: tuple[Refused, ...]
    #: Runs of each cell.
    runs: int
    #: Result folders of the runs, which `open` opens: one for each combination of bundles, more if cells were refused.
    folders: tuple[str, ...]

    @cached_property
    def front(self) -> tuple[Candidate, ...]:
        """Cells that keep all conditions, and that no other such cell beats in one goal and equals in the others; the
        best in the first goal comes first. Of cells with equal goals the one with the most margin is in it."""
        kept = [one for one in self.candidates if one.verdict == KEPT]
        costs = {one.levels: tuple(goal.cost(one) for goal in self.goals) for one in kept}
        front: dict[tuple[float, ...], Candidate] = {}
        for one in sorted(kept, key=lambda one: (costs[one.levels], -self._margin(one))):
            mine = costs[one.levels]
            if mine not in front and not any(all(a <= b for a, b in zip(other, mine, strict=True)) for other in front):
                front[mine] = one
        return tuple(front.values())

    @property
    def best(self) -> Candidate | None:
        """The first cell of the front; None if no cell surely keeps the conditions."""
        return self.front[0] if self.front else None

    @property
    def equals(self) -> tuple[Candidate, ...]:
        """Cells that keep all conditions and cannot be told from the best: their goals are equal, or the interval of the
        paired difference, which holds for all of them together in 95 %, has 0 in it."""
        best = self.best
        if best is None:
            return ()
        others = [one for one in self.candidates if one.verdict == KEPT and one is not best]
        return tuple(one for one in others if self._is_equal(one, best, each_of(len(others))))

    def _is_equal(self, one: Candidate, best: Candidate, confidence: float) -> bool:
        for goal in self.goals:
            if goal.name in dict(one.columns):
                if one.value(goal.name) != best.value(goal.name):
                    return False
                continue
            pairs = zip(dict(one.runs)[goal.name], dict(best.runs)[goal.name], strict=True)
            low, high = mean_interval([a - b for a, b in pairs], confidence).ends or (0.0, 0.0)
            if not low <= 0 <= high:
                return False
        return True

    @property
    def open_rivals(self) -> tuple[Candidate, ...]:
        """Cells that are not decided, and that would be as good as the best or better if they kept the conditions."""
        best = self.best
        undecided = [one for one in self.candidates if one.verdict == NOT_DECIDED]
        return tuple(
            one
            for one in undecided
            if best is None or all(goal.cost(one) <= goal.cost(best) for goal in self.goals)
        )

    def _margin(self, candidate: Candidate) -> float:
        """The least distance of a figure's interval from its limit, as a share of the limit."""

        def margin(verdict: Verdict) -> float:
            low, high = verdict.interval.ends or (verdict.interval.estimate, verdict.interval.estimate)
            limit = verdict.condition.limit
            distance = limit - high if verdict.condition.operator[0] == "<" else low - limit
            return distance / abs(limit) if limit else distance

        return min((margin(one) for one in candidate.verdicts), default=math.inf)

    def label(self, candidate: Candidate | Refused) -> str:
        """A cell by its levels, of the factors that varied.

        Args:
            candidate: a cell that ran, or one that was refused.

        Returns:
            The levels, such as `job.depth=4`.

        Raises:
            AttributeError: it is no cell.

        Example:
            >>> choice.label(choice.best)
            'job.depth=4'
        """
        shown = [(key, level) for key, level in candidate.levels if key in self.varied] or list(candidate.levels)
        return ", ".join(f"{key}={level}" if "." in key else level for key, level in shown)

    def _verdict_words(self, candidate: Candidate) -> str:
        measured = [one for one in candidate.verdicts if one.interval.low != one.interval.high]
        return "; ".join(f"{one.condition.figure} {one.interval}" for one in measured)

    @property
    def answer(self) -> str:
        """The answer in a sentence, with its interval; after it what else is to be known."""
        conditions = " and ".join(map(str, self.conditions))
        best = self.best
        if best is None:
            sentences = [f"No cell surely keeps {conditions}."]
        else:
            aims = ", ".join(f"{goal}, {_number(best.value(goal.name))}" for goal in self.goals)
            measured = self._verdict_words(best)
            verb = f"keeps {conditions} for" if conditions else "has"
            sentences = [f"{self.label(best)} {verb} {aims}{measured and ': ' + measured}."]
            if len(self.goals) > 1:
                sentences.append(f"{len(self.front)} cells are on the front; this one is the first by {self.goals[0].name}.")
            if self.equals:
                names = "; ".join(self.label(one) for one in self.equals[:3])
                more = ", …" if len(self.equals) > 3 else ""
                sentences.append(f"{len(self.equals)} more cannot be told from it: {names}{more}.")
        for rival in self.open_rivals[:3]:
            runs = rival.runs_to_decide
            needed = f"{runs:,} runs would decide" if runs else "more than 10,000 runs would be needed"
            sentences.append(f"{self.label(rival)} is not decided: {self._verdict_words(rival)}; {needed}.")
        hidden = len(self.open_rivals) - 3
        if hidden > 0:
            sentences.append(f"{hidden} more that may be as good are not decided.")
        counts = [(verdict, sum(one.verdict == verdict for one in self.candidates)) for verdict in (KEPT, BROKEN, NOT_DECIDED)]
        counts += [("refused", len(self.refused))]
        total = len(self.candidates) + len(self.refused)
        shares = ", ".join(f"{count} {name}" for name, count in counts if count)
        sentences.append(f"{total} cells, {self.runs} runs each: {shares}; all intervals hold together in 95 %.")
        if self.refused:
            sentences.append(f"{self.label(self.refused[0])} was refused: {self.refused[0].why.splitlines()[0]}.")
        return " ".join(sentences)

    @cached_property
    def table(self) -> dict[str, list[Any]]:
        """A row for each cell, as lists by column, which pandas, polars and pyarrow make a table of: levels, columns,
        each figure with its interval, the verdict, the runs that would decide, and why a cell was refused."""
        factors = [key for key, _ in self.candidates[0].levels]
        rows: list[Candidate | Refused] = [*self.candidates, *self.refused]
        table: dict[str, list[Any]] = {key: [dict(row.levels)[key] for row in rows] for key in factors}

        def add(name: str, values: list[Any]) -> None:
            table[name] = values + [None] * len(self.refused)

        for name in dict(self.candidates[0].columns):
            add(name, [one.value(name) for one in self.candidates])
        for name in dict(self.candidates[0].runs):
            judged = [next((v.interval for v in one.verdicts if v.condition.figure == name), None) for one in self.candidates]
            shown = [interval or one.interval(name) for interval, one in zip(judged, self.candidates, strict=True)]
            add(name, [interval.estimate for interval in shown])
            add(f"{name}_low", [interval.low for interval in shown])
            add(f"{name}_high", [interval.high for interval in shown])
        table["verdict"] = [one.verdict for one in self.candidates] + ["refused"] * len(self.refused)
        add("runs_to_decide", [one.runs_to_decide for one in self.candidates])
        table["refused"] = [None] * len(self.candidates) + [one.why for one in self.refused]
        return table

    def __repr__(self) -> str:
        return f"<Choice: {self.answer}>"

    def __str__(self) -> str:
        return self.answer

    def _repr_html_(self) -> str:
        names = list(self.table)
        rows = list(zip(*self.table.values(), strict=True))
        order = {KEPT: 0, NOT_DECIDED: 1, BROKEN: 2, "refused": 3}
        at = names.index("verdict")
        shown = sorted(rows, key=lambda row: order[row[at]])[: _html.MAX_ROWS]
        return _html.paragraph(self.answer) + _html.html_table(names, shown, {})

    def plot(self, ax: Any = None, *, figure: str | None = None, over: str | tuple[str, str] | None = None) -> Any:
        """Draws the cells.

        Args:
            ax: matplotlib's axes; by default the current ones.
            figure: the figure upwards, with its interval of 95 %; by default the second goal, or the first condition's.
            over: a factor: lines over its levels, one for each combination of the others. Two factors: a map. By
                default the first goal is to the right, and the front is drawn.

        Returns:
            The axes; the title names the factors that varied.

        Raises:
            SeekwiseError: matplotlib is not installed; no such factor or figure.

        Example:
            >>> axes = choice.plot(figure="p99_ms", over="job.depth")
        """
        by_default = [*(goal.name for goal in self.goals[1:]), *(one.figure for one in self.conditions), self.goals[0].name]
        name = figure or by_default[0]
        if name not in self.table or name in self.varied:
            raise SeekwiseError(f"plot: figure {name}: was not asked for; expected a figure of keep, least or most, or a column")
        if over is not None:
            points = [(dict(one.levels), one.interval(name)) for one in self.candidates]
            return _plots.draw_by_factor(points, self.varied, over, name, self.title, ax)
        x = self.goals[0].name
        marks = [(one.value(x), one.interval(name), one.verdict) for one in self.candidates]
        front = [(one.value(x), one.value(name)) for one in self.front]
        limits = [condition.limit for condition in self.conditions if condition.figure == name]
        return _plots.draw_front(marks, front, limits, (x, name), self.title, ax)


def _parse_conditions(keep: Mapping[str, str | Sequence[str]]) -> tuple[Condition, ...]:
    if not isinstance(keep, Mapping):
        raise SeekwiseError(f'keep: {keep!r}; expected figures with their limits, such as keep={{"p99_ms": "< 50"}}')
    conditions = []
    for figure, limits in keep.items():
        for limit in to_words(f"keep: {figure}", limits):
            parsed = CONDITION.fullmatch(limit)
            if parsed is None:
                raise SeekwiseError(f'keep: {figure}: {limit!r}; expected an operator and a number, such as "< 50"')
            conditions.append(Condition(figure, parsed[1], float(parsed[2])))
    return tuple(conditions)


def _check_names(names: Sequence[str], columns: Sequence[str]) -> None:
    known = [*FIGURES, *columns]
    for name in names:
        if name not in known:
            nearest = get_close_matches(name, known, 1)
            hint = f"did you mean {nearest[0]}?" if nearest else "expected a column of a study's `cells`, or one of columns="
            missing_price = "no price is given: expected prices=, or price in a bundle" if name == PRICE else hint
            raise SeekwiseError(f"{name}: no such figure; {missing_price}")


@_checks.named
def choose(
    job: Job,
    grid: Grid,
    *,
    keep: Mapping[str, str | Sequence[str]] | None = None,
    least: str | Sequence[str] = (),
    most: str | Sequence[str] = (),
    prices: Prices | None = None,
    columns: Mapping[str, Column] | None = None,
    on: Target | None = None,
    runs: int = 5,
    out: str | os.PathLike[str] | None = None,
    engine: str | Engine = "threads",
    address: str | None = None,
    storage: Mapping[str, Any] | None = None,
    set: Settings | None = None,
    seed: int = 1,
    runtime: str | None = None,
    progress: Progress = True,
) -> Choice:
    """Chooses among the cells of a grid: those that keep their limits, and of these the least or the most of something.

    Args:
        job: a pattern, a built-in scene, a file, or a text in memory (`fio`, `scene`).
        grid: the cells, as `grid` makes them, with bundles or without.
        keep: for each figure its limits: `<`, `<=`, `>` or `>=` and a number in the figure's unit, or a list of such.
            Figures are columns of a study's `cells`, such as `p99_ms` (milliseconds), `read_iops` (requests a second)
            or `cpu_percent`; or columns, such as `price`.
        least: figures or columns to make small. With several goals, those of `least` come first, and `front` has the
            cells that no other beats.
        most: figures or columns to make large.
        prices: the price of one drive by its name, which counts for each of `array.drives`; or a function of a cell's
            settings; or a list with a number for each cell. `price` in a bundle is added. It is the column `price`.
        columns: more figures that follow from settings: a function of them, or a number for each cell.
        on: a drive, a profile, a stack file or a `stack`, if the grid has no drives.
        runs: runs of each cell, 2 or more, on seeds that all cells share.
        out: where runs are kept, a folder or a URL: called again, only missing parts run. By default they are kept until
            the process ends, on this machine.
        engine: `"threads"`, `"ray"`, or an `Engine`, as in `sweep`.
        address: a Ray cluster's address, as in `sweep`.
        storage: options of fsspec for `out`, as in `sweep`.
        set: settings of all cells, by their keys.
        seed: the first seed.
        runtime: how long each run lasts, such as `"20s"`; by default as the job says.
        progress: as in `run`.

    Returns:
        A `Choice`. Cells that cannot run are in its `refused`.

    Raises:
        SeekwiseError: no cell can run; no such figure.
        Interrupted: after Ctrl-C; its `partial` is None.

    Example:
        >>> cells = sw.grid({"job.depth": [1, 4]}, on=["barracuda-7200.7-ncq"])
        >>> limits = {"p99_ms": "< 200"}
        >>> sw.choose("random-read", cells, keep=limits, most="iops", runs=3, runtime="2s", progress=False).best.levels
        (('drive', 'barracuda-7200.7-ncq'), ('job.depth', '4'))
    """
    goals = tuple(Goal(name, True) for name in to_words("least", least))
    goals += tuple(Goal(name, False) for name in to_words("most", most))
    conditions = _parse_conditions(keep or {})
    if not goals:
        raise SeekwiseError('choose: nothing to aim at; expected least="price", most="iops" or the like')
    if runs < 2:
        raise SeekwiseError(f"choose: runs={runs}; expected 2 or more, for an interval")
    numbers = column_values(grid, _common_settings(on, set), prices, columns)
    wanted = [*(condition.figure for condition in conditions), *(goal.name for goal in goals)]
    _check_names(wanted, list(numbers))
    place = kept_place(out, engine, address)
    planned, refused = GridPlanner(job, grid, on, set, seed, runtime, runs).plans()
    figures = tuple(dict.fromkeys(name for name in wanted if name not in numbers))
    rows = _run_cells(planned, figures, place, engine, address, storage, progress, out is None)
    ran: list[tuple[Words, tuple[tuple[str, float], ...], dict[str, tuple[float, ...]]]] = []
    for index, cell in enumerate(grid):
        levels = tuple(cell.items())
        if levels in rows:
            ran.append((levels, tuple((name, values[index]) for name, values in numbers.items()), rows[levels]))
    confidence = each_of(len(ran) * sum(condition.figure not in numbers for condition in conditions))
    candidates = tuple(
        Candidate(levels, of_cell, tuple(by_figure.items()), _judge(conditions, dict(of_cell), by_figure, confidence))
        for levels, of_cell, by_figure in ran
    )
    arguments = {"keep": keep, "least": least, "most": most, "prices": prices, "columns": columns, "on": on, "runs": runs}
    call = _call_source(job, grid, numbers, {**arguments, "set": set, "seed": seed, "runtime": runtime})
    command = f"python3 -c {shlex.quote(f'import seekwise as sw; print({call}.json)')}"
    title = f"{job.text.splitlines()[0] if isinstance(job, Text) else path_text(job)}: {', '.join(grid.varied) or 'one cell'}"
    folders = () if out is None else tuple(dict.fromkeys(_folder_of(place, one.plan) for one in planned))
    choice = Choice("", command, title, grid.varied, conditions, goals, candidates, tuple(refused), runs, folders)
    return replace(choice, json=_to_json(choice))


def _common_settings(on: Target | None, set: Settings | None) -> dict[str, str]:
    """What all cells have: the target as the drive, and settings on top."""
    target = on.target if isinstance(on, Stack) else on
    drive = {} if target is None else {"drive": path_text(target)}
    return {**drive, **dict(on.settings if isinstance(on, Stack) else ()), **dict(setting_words(set))}


def _folder_of(place: str, plan: Plan) -> str:
    return f"{place.rstrip('/')}/{plan.hash[:16]}"


def _run_cells(
    planned: Sequence[PlannedCells],
    figures: Sequence[str],
    place: str,
    engine: str | Engine,
    address: str | None,
    storage: Mapping[str, Any] | None,
    progress: Progress,
    is_temporary: bool,
) -> dict[Words, dict[str, tuple[float, ...]]]:
    """Runs the cells of all plans on one engine; returns the figures of each run, by the cell's levels."""
    # Plans of equal cells are equal, and run once.
    plans = {one.plan.hash: one for one in planned}
    stores = {hash: parts_store(_folder_of(place, one.plan), storage) for hash, one in plans.items()}
    for hash, one in plans.items():
        keep_study(one.plan, stores[hash])
    with running(engine, address) as running_engine:
        first = next(iter(plans))
        slots = getattr(running_engine, "slots", 1)
        all_cells = sum(one.plan.cells for one in plans.values())
        batch = choose_cells_per_part(plans[first].plan, stores[first], slots, all_cells)
        parts = [PlannedParts(one.plan, one.plan.parts(batch), stores[hash]) for hash, one in plans.items()]
        kept_message = None if is_temporary else f"the parts that ended are kept in {printable_url(place)}: the same call goes on"
        kept = keeping(kept_message)
        with _progress.progress_function(progress) as report, kept:
            files = make_missing_parts(parts, running_engine, report)
    by_plan = {}
    for of_plan, its_files in zip(parts, files, strict=True):
        folder = _folder_of(place, of_plan.plan)
        study = finish_results(of_plan, its_files, folder, store_at(folder, dict(storage or {})))
        by_plan[of_plan.plan.hash] = _figures_by_cell(study, figures)
    return {
        tuple(cell.items()): by_plan[one.plan.hash][index] for one in planned for index, cell in enumerate(one.cells)
    }


def _figures_by_cell(study: Study, figures: Sequence[str]) -> list[dict[str, tuple[float, ...]]]:
    """The figures of each cell of a study, run by run."""
    names = study.cells.columns
    by_cell: dict[int, dict[str, list[float]]] = {}
    for row in study.cells.rows_from(0, len(study.cells)):
        run = dict(zip(names, row, strict=True))
        for figure in figures:
            if run[figure] is None:
                levels = ", ".join(f"{name}={run[name]}" for name in names[names.index("job") + 1 : names.index("elapsed_s")])
                raise SeekwiseError(f"{figure}: {levels}: no request of this kind ended; expected another figure or job")
            by_cell.setdefault(run["cell"], {}).setdefault(figure, []).append(float(run[figure]))
        by_cell.setdefault(run["cell"], {})
    return [{figure: tuple(values) for figure, values in by_cell[cell].items()} for cell in sorted(by_cell)]


def _judge(
    conditions: Sequence[Condition],
    columns: Mapping[str, float],
    runs: Mapping[str, tuple[float, ...]],
    confidence: float,
) -> tuple[Verdict, ...]:
    """Judges each condition of a cell by an interval of this confidence."""

    def judge(condition: Condition) -> Verdict:
        if condition.figure in columns:
            value = columns[condition.figure]
            return Verdict(condition, Interval(value, value, value), KEPT if condition.holds(value) else BROKEN)
        interval = mean_interval(runs[condition.figure], confidence)
        kept = [condition.holds(end) for end in interval.ends or (math.inf, -math.inf)]
        if all(kept) or not any(kept):
            return Verdict(condition, interval, KEPT if all(kept) else BROKEN)
        needed = runs_to_decide(runs[condition.figure], condition.limit, confidence)
        return Verdict(condition, interval, NOT_DECIDED, needed)

    return tuple(judge(condition) for condition in conditions)


def _to_json(choice: Choice) -> str:
    """All of a choice, as text that is equal for equal choices."""

    def candidate(one: Candidate) -> dict[str, Any]:
        verdicts = [
            {
                "condition": str(verdict.condition),
                "estimate": verdict.interval.estimate,
                "low": verdict.interval.low,
                "high": verdict.interval.high,
                "verdict": verdict.verdict,
                "runs_to_decide": verdict.runs,
            }
            for verdict in one.verdicts
        ]
        figures = {"columns": dict(one.columns), "runs": {name: list(values) for name, values in one.runs}}
        return {"levels": dict(one.levels), **figures, "verdict": one.verdict, "conditions": verdicts}

    whole = {
        "title": choice.title,
        "answer": choice.answer,
        "goals": [str(goal) for goal in choice.goals],
        "best": dict(choice.best.levels) if choice.best else None,
        "front": [dict(one.levels) for one in choice.front],
        "equals": [dict(one.levels) for one in choice.equals],
        "cells": [candidate(one) for one in choice.candidates],
        "refused": [{"levels": dict(one.levels), "why": one.why} for one in choice.refused],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)


def _call_source(job: Job, grid: Grid, numbers: Mapping[str, tuple[float, ...]], arguments: Mapping[str, object]) -> str:
    """The call that makes a choice, as Python. A column that is a function is written as its numbers."""
    shown: dict[str, Any] = dict(arguments)
    if callable(shown["prices"]):
        added = [sum(bundle.price or 0 for bundle in grid.bundles_of(cell)) for cell in grid]
        shown["prices"] = [price - more for price, more in zip(numbers[PRICE], added, strict=True)]
    columns: Any = shown["columns"] or {}
    shown["columns"] = {name: list(numbers[name]) if callable(column) else column for name, column in columns.items()}
    named = ", ".join(f"{name}={to_source(value)}" for name, value in shown.items() if value not in (None, (), {}))
    return f"sw.choose({to_source(job)}, {grid.to_source()}, {named})"
