"""Search in a space of settings. Optuna proposes, and the loop is in this module. A trial is compared with the base on
common random numbers, and its figures are ratios to the base, so that luck of a seed counts for both. Among many trials
there still are some that were lucky in their runs: the best race on other seeds, and the winner runs again on seeds that
neither saw. Trials run in batches of a fixed size, so that the number of workers changes no answer."""

from __future__ import annotations

import json
import math
import os
import random
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import Any, Literal

from seekwise import _checks, _plots, _progress
from seekwise._engines import Engine
from seekwise._error import SeekwiseError, keeping
from seekwise._figures import Interval
from seekwise._grid import target_of
from seekwise._native import BUILD, Plan
from seekwise._pickles import Versioned
from seekwise._progress import Progress, ProgressFunction
from seekwise._results import RunResult
from seekwise._setup import Job, Settings, Stack, Target, Value, setup_call, to_word
from seekwise._space import Space, Span, listed, neighbours, parse_space, suggest
from seekwise._statistics import geometric_mean_interval
from seekwise._stores import Store
from seekwise._sweep import PlannedParts, keep_study, kept_place, make_missing_parts, parts_store, running

#: One figure of a run, such as `lambda run: run.p99`; or of the settings, such as a price.
Aim = Callable[[RunResult], float]

#: Where Optuna's study keeps what its figures are of.
ABOUT = "seekwise"

#: The entry there for all that the base's plan has.
BASE = "job, on, base or runtime"

#: Settings of a trial: keys, and values as words.
TrialSettings = tuple[tuple[str, str], ...]

#: From the seeds of a search to those of the rounds of its race, and to the fresh ones for its winners.
RACE_SEED_OFFSET = 1 << 29
FRESH_SEED_OFFSET = 1 << 30

#: Proposals in a row that were tried before or refused, after which points are drawn that were not tried; in a space
#: that cannot be listed, the search ends after ten times as many.
MAX_REPEATS = 10

#: The share of trials after which half of each batch lies next to the best so far, and the number of these best.
LOCAL_FROM = 0.4
LOCAL_LEADERS = 3


@dataclass(frozen=True, slots=True)
class Winner:
    """A setting that no other found beats in all aims."""

    settings: tuple[tuple[str, str], ...]
    #: Ratios to the base in the `runs` runs of the search, which have the seeds of a sweep with equal `seed` and `runs`:
    #: too good, as the search chose them.
    seen: tuple[float, ...]
    #: Ratios to the base on fresh seeds, with intervals of 95 %; empty if Ctrl-C came before.
    fresh: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """A stack that was tried. Settings that make an equal one are not tried again."""

    settings: tuple[tuple[str, str], ...]
    #: For each aim, its geometric mean over the runs, as a ratio to the base.
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class Search(Versioned):
    """The result of a search."""

    aims: tuple[str, ...]
    trials: tuple[Trial, ...]
    #: With one aim the best of all trials; with several, those on the Pareto front.
    winners: tuple[Winner, ...]
    #: Whether the search came to its end: all trials, and fresh seeds for each winner.
    complete: bool = True
    #: Optuna's study, for its own pictures and figures. It also has trials with equal stacks, which count once in
    #: `trials`, and refused ones, as failed.
    optuna: Any = field(default=None, compare=False, repr=False)

    @property
    def best(self) -> Winner:
        """The first winner."""
        if not self.winners:
            raise SeekwiseError("nothing was tried: expected trials=1 or more")
        return self.winners[0]

    def __repr__(self) -> str:
        if not self.winners:
            return "<Search: nothing was tried>"
        ratios = ", ".join(f"{aim} × {ratio}" for aim, ratio in zip(self.aims, self.best.fresh or self.best.seen, strict=True))
        counts = f"{len(self.trials)} trials, {len(self.winners)} winners{'' if self.complete else ', interrupted'}"
        return f"<Search: {counts}; {dict(self.best.settings)}: {ratios}{'' if self.best.fresh else ', seen'}>"

    def _repr_html_(self) -> str:
        from seekwise import _html

        heads = ["settings", *(f"{aim}, seen" for aim in self.aims), *(f"{aim}, fresh seeds" for aim in self.aims)]

        def row(winner: Winner) -> tuple[object, ...]:
            fresh = map(str, winner.fresh) if winner.fresh else [None] * len(self.aims)
            return (", ".join(f"{key}={value}" for key, value in winner.settings), *winner.seen, *fresh)

        remark = "" if self.complete else _html.paragraph(f"interrupted after {len(self.trials)} trials")
        return remark + _html.html_table(heads, [row(winner) for winner in self.winners[: _html.MAX_ROWS]], {})

    def plot(self, ax: Any = None) -> Any:
        """Draws trials by their first two aims, and the front.

        Parameters:
            ax: matplotlib's axes; by default the current ones.

        Returns:
            the axes.

        Raises:
            SeekwiseError: the search has one aim, or matplotlib is not installed.

        >>> aims = {"rate": lambda run: run.iops, "p99": lambda run: 1 / run.p99}
        >>> found = sw.search(
        ...     "random-read", "exos-x18", {"job.depth": [1, 32]}, aims=aims, direction="maximize", runs=1, fresh=2,
        ...     runtime="1s", progress=False,
        ... )
        >>> found.plot().get_xlabel()
        'rate, ratio to the base'
        """
        if len(self.aims) < 2:
            raise SeekwiseError("a picture of a front needs two aims")
        axes = _plots.given_or_current_axes(ax)
        axes.scatter(*([trial.ratios[aim] for trial in self.trials] for aim in (0, 1)), alpha=0.4, label="trials")
        front = sorted(tuple(interval.estimate for interval in winner.fresh[:2]) for winner in self.winners if winner.fresh)
        if front:
            axes.plot(*zip(*front, strict=True), marker="o", color="C1", label="front, on fresh seeds")
        axes.set_xlabel(_plots.escape_dollars(f"{self.aims[0]}, ratio to the base"))
        axes.set_ylabel(_plots.escape_dollars(f"{self.aims[1]}, ratio to the base"))
        axes.legend()
        return axes


@dataclass(frozen=True, slots=True)
class _Planned:
    """Settings with their plan."""

    settings: TrialSettings
    plan: Plan

    @property
    def cell_hash(self) -> str:
        """Identifies the stack and the job, whatever settings made them and whatever the seeds."""
        return str(json.loads(self.plan.text)["made"]["cells"][0]["hash"])


class _Judge:
    """Runs settings, and the base beside them, on given seeds. Figures of plans that ran are kept."""

    def __init__(
        self, job: Job, on: Target, aims: Mapping[str, Aim], base: Settings, runtime: str | None, engine: Engine, store: Store
    ) -> None:
        self.job, self.on, self.aims, self.base, self.runtime = job, on, aims, base, runtime
        self.engine, self.store = engine, store
        self.figures: dict[str, list[tuple[float, ...]]] = {}

    def plan(self, settings: Mapping[str, Value], seed: int, runs: int) -> _Planned:
        """Plans runs of these settings on top of the base's."""
        merged = {**self.base, **settings}
        drive = {"drive": to_word(merged.pop("drive"))} if "drive" in merged else {}
        setup = setup_call(self.job, target_of(self.on, drive), merged, seed, self.runtime)
        return _Planned(tuple((key, to_word(value, key)) for key, value in settings.items()), Plan.of_setup(setup, [], runs))

    def _checked_figures(self, result: RunResult) -> tuple[float, ...]:
        def checked_figure(name: str, aim: Aim) -> float:
            figure = float(aim(result))
            if not (math.isfinite(figure) and figure > 0):
                raise SeekwiseError(f"aim {name}: {figure}: a ratio needs a figure above 0")
            return figure

        return tuple(checked_figure(name, aim) for name, aim in self.aims.items())

    def run(self, plans: Sequence[Plan]) -> None:
        """Runs plans on the engine, and keeps their figures."""
        missing = {plan.hash: plan for plan in plans if plan.hash not in self.figures}
        parts = [PlannedParts(plan, plan.parts(1), self.store) for plan in missing.values()]
        for planned, files in zip(parts, make_missing_parts(parts, self.engine, None), strict=True):
            results = _run_results(planned, files)
            self.figures[planned.plan.hash] = [self._checked_figures(result) for result in results]

    def log_ratios(self, planned: Sequence[_Planned], seed: int, runs: int) -> list[list[tuple[float, ...]]]:
        """For each of these and each of its runs, the logarithms of the ratios to the base, whose runs have equal
        seeds."""
        base = self.plan({}, seed, runs).plan
        self.run([base, *(one.plan for one in planned)])
        return [
            [
                tuple(math.log(figure / base_figure) for figure, base_figure in zip(own, of_base, strict=True))
                for own, of_base in zip(self.figures[one.plan.hash], self.figures[base.hash], strict=True)
            ]
            for one in planned
        ]


def _run_results(planned: PlannedParts, files: list[bytes]) -> list[RunResult]:
    """The runs of a plan, from its parts."""
    command = f"printf %s {shlex.quote(planned.plan.study)} | seekwise study - --json"
    lines, curves = planned.plan.results(planned.parts, files)
    return [RunResult(line.rstrip(), command, None, curves, None) for line in lines]


class _Proposals:
    """Points of the space that are worth a trial: each batch has stacks that were not tried yet."""

    def __init__(self, study: Any, space: Mapping[str, Span | tuple[Value, ...]], plan: Callable[..., _Planned]) -> None:
        self.study, self.space, self.plan = study, space, plan
        self.values_by_cell: dict[str, list[float]] = {
            trial.user_attrs["cell"]: trial.values for trial in study.trials if trial.values and "cell" in trial.user_attrs
        }
        self.points = {_trial_settings(trial) for trial in study.trials}
        self.refusal: SeekwiseError | None = None
        self._untried: list[dict[str, Value]] | None = None

    def batch(self, count: int, local: int) -> list[tuple[_Planned, list[Any]]]:
        """At most `count` stacks, each with Optuna's trials for it, of which `local` lie next to the best so far. Fewer
        if the space has no more."""
        batch: dict[str, tuple[_Planned, list[Any]]] = {}
        near = list(islice((point for point in self._near_best() if _words(point) not in self.points), local))
        repeats = 0
        while len(batch) < count:
            if near:
                self.study.enqueue_trial(near.pop(0))
            elif repeats >= MAX_REPEATS:
                untried = self._draw_untried()
                if untried is not None:
                    self.study.enqueue_trial(untried)
                elif self._untried is not None or repeats >= 10 * MAX_REPEATS:
                    break
            repeats = 0 if self._ask(batch) else repeats + 1
        return list(batch.values())

    def _ask(self, batch: dict[str, tuple[_Planned, list[Any]]]) -> bool:
        """Asks for a trial; whether it has a stack that was not tried yet."""
        trial = self.study.ask()
        settings = suggest(trial, self.space)
        self.points.add(_words(settings))
        try:
            planned = self.plan(settings)
        except SeekwiseError as error:
            self.refusal = self.refusal or error
            self.study.tell(trial, state=import_module("optuna").trial.TrialState.FAIL)
            return False
        cell = planned.cell_hash
        trial.set_user_attr("cell", cell)
        if cell in self.values_by_cell:
            self.study.tell(trial, self.values_by_cell[cell])
            return False
        is_new = cell not in batch
        batch.setdefault(cell, (planned, []))[1].append(trial)
        return is_new

    def _near_best(self) -> Iterator[dict[str, Value]]:
        """Points next to the best so far, by turns."""
        leaders = _ranked(self.study)[:LOCAL_LEADERS]
        by_turns = [neighbours(self.space, trial.params) for trial in leaders]
        while by_turns:
            for points in list(by_turns):
                point = next(points, None)
                if point is None:
                    by_turns.remove(points)
                else:
                    yield point

    def _draw_untried(self) -> dict[str, Value] | None:
        """A point that was not tried; None if there is none, or if there are too many points to list."""
        if self._untried is None:
            points = listed(self.space)
            if points is None:
                return None
            random.Random(len(points)).shuffle(points)
            self._untried = points
        while self._untried:
            point = self._untried.pop()
            if _words(point) not in self.points:
                return point
        return None

    def tell(self, planned: _Planned, trials: Sequence[Any], values: list[float]) -> None:
        """Tells Optuna how a stack did."""
        self.values_by_cell[planned.cell_hash] = values
        for trial in trials:
            self.study.tell(trial, values)


@_checks.named
def search(
    job: Job,
    on: Target,
    space: Space,
    *,
    aims: Mapping[str, Aim],
    direction: Literal["minimize", "maximize"] | Sequence[str] = "minimize",
    base: Settings | None = None,
    trials: int = 100,
    runs: int = 3,
    race: int = 16,
    fresh: int = 10,
    batch: int = 8,
    engine: str | Engine = "threads",
    address: str | None = None,
    out: str | os.PathLike[str] | None = None,
    runtime: str | None = None,
    seed: int = 1,
    storage: Any = None,
    name: str | None = None,
    progress: Progress = True,
) -> Search:
    """Searches a space of settings for the best figures of a job.

    Parameters:
        job: a pattern, a built-in scene, a file, or a text in memory (`fio`, `scene`).
        on: a drive, a profile, a stack file or a `stack`.
        space: for each dotted key a range `(lowest, highest)` or `(lowest, highest, step)`, a `span`, or a list of
            values. Whole numbers make whole values.
        aims: functions of a `RunResult`, by name; each answers a number above 0. In its `curve` are all runs of a trial.
        direction: "minimize" or "maximize", for all aims or a list with one for each.
        base: the settings that trials are compared with, and to which theirs are added.
        trials: stacks to try. Settings that make a stack that was tried are not run again and count for nothing.
        runs: runs of each trial, 1 or more, paired with the base's by their seeds.
        race: with one aim, so many of the best trials run again on other seeds, the better half twice as often, and so
            on, until one is left. 1: no race. Each round has about `race * fresh` runs.
        fresh: runs, 2 or more, of each winner on seeds that neither search nor race used. In the race's first round each
            trial has as many, on seeds of the race.
        batch: trials that are proposed together and may run at once. It is part of the search: another batch proposes
            other trials. The number of workers changes nothing.
        engine: `threads`, `ray`, or an object with the three methods of `Engine`.
        address: the address of a Ray cluster; by default that of `RAY_ADDRESS`.
        out: where runs are kept, a folder or a URL; by default a folder of this machine, until the process ends. Workers
            of other machines need one that is shared.
        runtime: virtual time of a run, such as "5s"; by default the job's own.
        seed: the seed of all chance, a whole number.
        storage: Optuna's storage, for searches that go on later.
        name: the study's name in the storage. With it a search goes on, by `trials` more; `batch`, `race` and `fresh` may
            be other ones. It is refused with another job, stack, space, base, seed, runs, direction, build, or other
            names of aims, as figures would be of other runs. An aim that changed under its old name is not noticed.
        progress: a bar, none (False), or a function.

    Returns:
        a `Search`: with one aim its `best`, with several the front in `winners`. Equal calls give equal searches.

    Raises:
        SeekwiseError: no setting of the space can run, an aim is no figure above 0, or the storage has another search
            of this name.
        Interrupted: Ctrl-C; its `partial` is the search so far: the trials that ended, and their winners, whose `fresh`
            is empty where they did not run again yet.

    >>> found = sw.search(
    ...     "random-read", "exos-x18", {"job.depth": [1, 32]}, aims={"rate": lambda run: run.iops}, direction="maximize",
    ...     runs=2, race=1, fresh=2, runtime="1s", progress=False,
    ... )
    >>> found.best.settings
    (('job.depth', '32'),)
    """
    if runs < 1 or fresh < 2 or race < 1 or batch < 1:
        raise SeekwiseError("a search needs runs=1, race=1 and batch=1 or more, and fresh=2 or more for an interval")
    if isinstance(on, Stack) and "drive" in space:
        raise SeekwiseError("the space has drives, and `on` is a stack: one of them would count for nothing")
    directions = [direction] * len(aims) if isinstance(direction, str) else list(direction)
    if not aims or len(directions) != len(aims):
        raise SeekwiseError(f"{len(aims)} aims and {len(directions)} directions; expected one aim or more, each with a direction")
    study, choices = _create_study(directions, seed, storage, name), parse_space(space)
    store = parts_store(kept_place(out, engine, address), None)
    winners: dict[TrialSettings, Winner] = {}
    kept = keeping(_resume_hint(storage, study), lambda: _search_so_far(study, tuple(aims), winners))
    with running(engine, address) as running_engine, _progress.progress_function(progress) as report, kept:
        judge = _Judge(job, on, aims, base or {}, runtime, running_engine, store)
        base_plan = judge.plan({}, seed, runs).plan
        _check_same_search(study, _about(base_plan, choices, aims, directions, seed, runs))
        keep_study(base_plan, store)
        _run_trials(study, choices, judge, (trials, batch, runs, seed), report)
        best = _ratios_of_best(study, len(aims))
        if len(aims) == 1 and race > 1 and best:
            best = _race(study, judge, race, fresh, seed, report)
        if report is not None and best:
            report(len(best) * fresh, 0, "runs", "fresh seeds")
        planned = [judge.plan(dict(settings), seed + FRESH_SEED_OFFSET, fresh) for settings in best]
        log_ratios = judge.log_ratios(planned, seed + FRESH_SEED_OFFSET, fresh) if planned else []
        if report is not None and best:
            report(len(best) * fresh, len(best) * fresh, "runs", "fresh seeds")
        for one, of_runs in zip(planned, log_ratios, strict=True):
            intervals = tuple(geometric_mean_interval(column) for column in zip(*of_runs, strict=True))
            winners[one.settings] = Winner(one.settings, best[one.settings], intervals)
    return Search(tuple(aims), _ended_trials(study), tuple(winners.values()), optuna=study)


def _create_study(directions: Sequence[str], seed: int, storage: Any, name: str | None) -> Any:
    """Optuna's study."""
    try:
        optuna: Any = import_module("optuna")
    except ImportError as error:
        raise SeekwiseError("a search needs Optuna: `pip install seekwise[search]`") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        # Proposals for several trials at once, and for several keys together, are marked as experimental.
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True, warn_independent_sampling=False)
    return optuna.create_study(
        directions=directions, sampler=sampler, storage=storage, study_name=name, load_if_exists=storage is not None
    )


def _about(
    base: Plan,
    choices: Mapping[str, Span | tuple[Value, ...]],
    aims: Mapping[str, Aim],
    directions: Sequence[str],
    seed: int,
    runs: int,
) -> dict[str, str]:
    """What the figures of a study are of, by the arguments of `search`: texts, as Optuna's storage keeps them."""
    words = {key: str(one) if isinstance(one, Span) else [to_word(value, key) for value in one] for key, one in choices.items()}
    space = ", ".join(f"{key}: {words[key]}" for key in sorted(words))
    about = {"build": BUILD, "seed": str(seed), "runs": str(runs), "aims": ", ".join(aims), "direction": ", ".join(directions)}
    # The base's plan has the rest: the job's text, the stack with its profile, the base's settings and the runtime.
    return {**about, "space": space, BASE: base.hash}


def _check_same_search(study: Any, about: Mapping[str, str]) -> None:
    """Refuses a study of a storage whose figures are of other runs."""
    has_figures = any(trial.values for trial in study.trials)
    kept = study.user_attrs.get(ABOUT)
    if not has_figures and (kept is not None or not study.trials):
        study.set_user_attr(ABOUT, dict(about))
        return
    place = f"name={study.study_name!r}: the storage"
    if not isinstance(kept, Mapping):
        why = f"has {len(study.trials)} trials of another program, or of an earlier version"
        raise SeekwiseError(f"{place} {why}, and does not say of which runs; expected another name=")
    remedy = "expected the arguments and the build of the search that began it, or another name="
    for what, value in about.items():
        if kept.get(what) != value:
            difference = f"{what} differ" if what == BASE else f"{what} was {kept.get(what)} and is {value} now"
            raise SeekwiseError(f"{place} has a search of other runs: {difference}; {remedy}")


def _run_trials(
    study: Any,
    choices: Mapping[str, Span | tuple[Value, ...]],
    judge: _Judge,
    numbers: tuple[int, int, int, int],
    report: ProgressFunction | None,
) -> None:
    """Proposes and runs trials, batch by batch, until there are enough or the space has no more."""
    trials, batch, runs, seed = numbers
    proposals = _Proposals(study, choices, lambda settings: judge.plan(settings, seed, runs))
    done = 0
    while done < trials:
        count = min(batch, trials - done)
        proposed = proposals.batch(count, (count + 1) // 2 if done >= LOCAL_FROM * trials else 0)
        if not proposed:
            break
        log_ratios = judge.log_ratios([planned for planned, _ in proposed], seed, runs)
        for (planned, of_optuna), of_runs in zip(proposed, log_ratios, strict=True):
            proposals.tell(planned, of_optuna, [math.exp(math.fsum(column) / runs) for column in zip(*of_runs, strict=True)])
            done += 1
            if report is not None:
                report(trials, done, "trials", "")
    if not proposals.values_by_cell and proposals.refusal is not None:
        raise proposals.refusal


def _race_runs(racing: int, runs: int) -> int:
    """The runs of a race, of which the first round has so many of each."""
    return 0 if racing < 2 else racing * runs + _race_runs(racing // 2, 2 * runs)


def _race(
    study: Any, judge: _Judge, race: int, runs: int, seed: int, report: ProgressFunction | None
) -> dict[TrialSettings, tuple[float, ...]]:
    """Runs the best trials on other seeds, and in each round keeps the better half, which then runs twice as often;
    returns the winner with what the search saw of it. All rounds count, those of the search do not: it chose them."""
    sign = -1 if study.direction.name == "MAXIMIZE" else 1
    # Of stacks that did equally in every run, such as with a queue longer than its load, one races.
    distinct = {tuple(trial.values): _trial_settings(trial) for trial in reversed(_ranked(study))}
    left = [(settings, values) for values, settings in list(distinct.items())[::-1][:race]]
    logs: dict[TrialSettings, list[float]] = {settings: [] for settings, _ in left}
    round_seed, done = seed + RACE_SEED_OFFSET, 0
    total = _race_runs(len(left), runs)
    while len(left) > 1:
        if report is not None:
            report(total, done, "runs", f"race of {len(left)}")
        planned = [judge.plan(dict(settings), round_seed, runs) for settings, _ in left]
        for one, of_runs in zip(planned, judge.log_ratios(planned, round_seed, runs), strict=True):
            logs[one.settings] += [log_ratio for (log_ratio,) in of_runs]
        done += len(left) * runs
        left.sort(key=lambda one: sign * math.fsum(logs[one[0]]) / len(logs[one[0]]))
        left = left[: len(left) // 2]
        round_seed, runs = round_seed + 1, 2 * runs
    if report is not None and total:
        report(total, done, "runs", "race")
    return dict(left)


def _resume_hint(storage: Any, study: Any) -> str:
    """What an interruption says about the trials that ended."""
    if storage is None:
        return "the trials that ended are in `partial` of this exception"
    return f"the trials that ended are kept in the storage: name={study.study_name!r} goes on"


def _search_so_far(study: Any, aims: tuple[str, ...], winners: Mapping[TrialSettings, Winner]) -> Search | None:
    """The search so far: its trials, and as winners those that are best now, some of which may have run on fresh seeds
    already."""
    trials = _ended_trials(study)
    if not trials:
        return None
    ratios_by_settings = _ratios_of_best(study, len(aims)).items()
    best = [winners.get(settings) or Winner(settings, seen_ratios, ()) for settings, seen_ratios in ratios_by_settings]
    return Search(aims, trials, tuple(best), complete=False, optuna=study)


def _words(settings: Mapping[str, Value]) -> TrialSettings:
    return tuple((key, to_word(value, key)) for key, value in settings.items())


def _trial_settings(trial: Any) -> TrialSettings:
    return _words(trial.params)


def _distinct(study: Any) -> list[Any]:
    """Optuna's trials that ended, of those with equal stacks the first."""
    by_cell: dict[str, Any] = {}
    for trial in study.trials:
        if trial.values is not None:
            by_cell.setdefault(trial.user_attrs.get("cell", str(trial.number)), trial)
    return list(by_cell.values())


def _ended_trials(study: Any) -> tuple[Trial, ...]:
    return tuple(Trial(_trial_settings(trial), tuple(trial.values)) for trial in _distinct(study))


def _ranked(study: Any) -> list[Any]:
    """Trials with distinct stacks, the best first; with several aims those of the front."""
    trials = _distinct(study)
    if len(study.directions) > 1:
        numbers = {trial.number for trial in study.best_trials}
        return [trial for trial in trials if trial.number in numbers]
    return sorted(trials, key=lambda trial: trial.values[0], reverse=study.direction.name == "MAXIMIZE")


def _ratios_of_best(study: Any, aim_count: int) -> dict[TrialSettings, tuple[float, ...]]:
    """The ratios of the best settings in the runs of the search, by their settings."""
    # With one aim, the first of equally good trials wins.
    best_trials = _ranked(study) if aim_count > 1 else _ranked(study)[:1]
    return {_trial_settings(trial): tuple(trial.values) for trial in best_trials}
