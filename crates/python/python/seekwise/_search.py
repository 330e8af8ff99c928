"""Search in a space of settings, by Optuna's ask and tell: the loop is in this module. A trial is compared with the
base on common random numbers, and its figures are ratios to the base, so that luck of a seed counts for both. Among
many trials there still are some that were lucky in their runs, so that the winners run again on seeds that the search
did not use."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from seekwise import _plots, _progress
from seekwise._calls import run
from seekwise._error import SeekwiseError, keeping
from seekwise._figures import Interval
from seekwise._progress import Progress
from seekwise._results import RunResult
from seekwise._setup import Job, Settings, Target, Value, to_tuple, to_word

#: One figure of a run, such as `lambda run: run.p99`; or of the settings, such as a price.
Aim = Callable[[RunResult], float]

#: A number's range, lowest and highest, whole where both are; or a list of values.
Space = Mapping[str, tuple[int, int] | tuple[float, float] | Sequence[Value]]

#: Settings of a trial: keys, and values as words.
TrialSettings = tuple[tuple[str, str], ...]

#: Student's t for 95 %, two-sided, by degrees of freedom (table of any textbook). Between two entries the one for fewer
#: degrees is used: the interval is then a little too wide, never too narrow.
STUDENT_T_95 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
    12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980,
}

#: From the seeds of a search to the fresh ones for its winners. They would overlap if a trial had a billion runs.
FRESH_SEED_OFFSET = 1 << 30


@dataclass(frozen=True, slots=True)
class Winner:
    """A setting that no other found beats in all aims."""

    settings: tuple[tuple[str, str], ...]
    #: Ratios to the base in the runs of the search: too good, as the search chose them.
    seen: tuple[float, ...]
    #: Ratios to the base on fresh seeds, with intervals of 95 %; empty if Ctrl-C came before.
    fresh: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings that were tried."""

    settings: tuple[tuple[str, str], ...]
    #: For each aim, its geometric mean over the runs, as a ratio to the base.
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class Search:
    """The result of a search."""

    aims: tuple[str, ...]
    trials: tuple[Trial, ...]
    #: With one aim the best of all trials; with several, those on the Pareto front.
    winners: tuple[Winner, ...]
    #: Whether the search came to its end: all trials, and fresh seeds for each winner.
    complete: bool = True

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
        """Trials by their first two aims, and the front; answers matplotlib's axes."""
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


def _geometric_mean_interval(log_ratios: Sequence[float]) -> Interval:
    """The geometric mean of ratios, with its interval of 95 % by Student's t on their logarithms."""
    count = len(log_ratios)
    mean = math.fsum(log_ratios) / count
    standard_error = math.sqrt(math.fsum((log_ratio - mean) ** 2 for log_ratio in log_ratios) / (count - 1) / count)
    t = STUDENT_T_95[max(degrees for degrees in STUDENT_T_95 if degrees < count)]
    return Interval(math.exp(mean), math.exp(mean - t * standard_error), math.exp(mean + t * standard_error))


class _Judge:
    """Runs settings, and the base beside them, on given seeds. The base's figures are kept by seed."""

    def __init__(self, job: Job, on: Target, aims: Mapping[str, Aim], base: Settings, runtime: str | None) -> None:
        self.job, self.on, self.aims, self.base, self.runtime = job, on, aims, base, runtime
        self.base_figures: dict[int, tuple[float, ...]] = {}

    def _figures(self, settings: Settings, seed: int) -> tuple[float, ...]:
        result = run(self.job, self.on, set=settings, seed=seed, runtime=self.runtime, progress=False)

        def checked_figure(name: str, aim: Aim) -> float:
            figure = float(aim(result))
            if not (math.isfinite(figure) and figure > 0):
                raise SeekwiseError(f"aim {name}: {figure}: a ratio needs a figure above 0")
            return figure

        return tuple(checked_figure(name, aim) for name, aim in self.aims.items())

    def log_ratios(self, settings: Settings, seeds: Sequence[int]) -> list[tuple[float, ...]]:
        """For each seed, the logarithms of the ratios to the base."""

        def ratios_of_seed(seed: int) -> tuple[float, ...]:
            if seed not in self.base_figures:
                self.base_figures[seed] = self._figures(self.base, seed)
            figures = self._figures({**self.base, **settings}, seed)
            pairs = zip(figures, self.base_figures[seed], strict=True)
            return tuple(math.log(figure / base_figure) for figure, base_figure in pairs)

        return [ratios_of_seed(seed) for seed in seeds]

    def run_on_fresh_seeds(self, settings: TrialSettings, seen: tuple[float, ...], seeds: Sequence[int]) -> Winner:
        """Runs the settings of a winner on these seeds."""
        ratios_by_aim = zip(*self.log_ratios(dict(settings), seeds), strict=True)
        fresh = tuple(_geometric_mean_interval(log_ratios) for log_ratios in ratios_by_aim)
        return Winner(settings, seen, fresh)


def _suggest_settings(trial: Any, space: Space) -> dict[str, Value]:
    def suggest(key: str, choices: Any) -> Value:
        if isinstance(choices, tuple) and len(choices) == 2 and not any(isinstance(end, bool | str) for end in choices):
            low, high = choices
            is_whole = isinstance(low, int) and isinstance(high, int)
            suggested: Value = trial.suggest_int(key, low, high) if is_whole else trial.suggest_float(key, low, high)
            return suggested
        chosen: Value = trial.suggest_categorical(key, list(to_tuple(f"space: {key}", choices)))
        return chosen

    return {key: suggest(key, choices) for key, choices in space.items()}


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
    fresh: int = 10,
    runtime: str | None = None,
    seed: int = 1,
    storage: Any = None,
    name: str | None = None,
    progress: Progress = True,
) -> Search:
    """Searches a space of settings for the best figures of a job.

    `space` has a range `(lowest, highest)` or a list of values for each dotted key. `aims` are figures of a run; each
    trial is judged by their ratios to `base` on the same `runs` seeds. With several aims the front of all trials wins.
    Winners run again on `fresh` seeds that the search did not see. `storage` is Optuna's, for searches that go on
    later.

    After Ctrl-C, `Interrupted.partial` is the search so far: the trials that ended, and their winners, whose `fresh` is
    empty where they did not run again yet.
    """
    if runs < 1 or fresh < 2:
        raise SeekwiseError("a search needs runs=1 or more, and fresh=2 or more for an interval")
    try:
        optuna: Any = import_module("optuna")
    except ImportError as error:
        raise SeekwiseError("a search needs Optuna: `pip install seekwise[search]`") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = [direction] * len(aims) if isinstance(direction, str) else list(direction)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(
        directions=directions, sampler=sampler, storage=storage, study_name=name, load_if_exists=storage is not None
    )
    judge = _Judge(job, on, aims, base or {}, runtime)
    search_seeds = range(seed, seed + runs)
    fresh_seeds = range(seed + FRESH_SEED_OFFSET, seed + FRESH_SEED_OFFSET + fresh)
    winners: dict[TrialSettings, Winner] = {}
    kept = keeping(_resume_hint(storage, study), lambda: _search_so_far(study, tuple(aims), winners))
    with _progress.progress_function(progress) as report, kept:
        for done in range(trials):
            trial = study.ask()
            settings = _suggest_settings(trial, space)
            log_ratios = judge.log_ratios(settings, search_seeds)
            study.tell(trial, [math.exp(math.fsum(column) / runs) for column in zip(*log_ratios, strict=True)])
            if report is not None:
                report(trials, done + 1, "trials", "")
        for winner_settings, seen_ratios in _ratios_of_best(study, len(aims)).items():
            winners[winner_settings] = judge.run_on_fresh_seeds(winner_settings, seen_ratios, fresh_seeds)
    return Search(tuple(aims), _ended_trials(study), tuple(winners.values()))


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
    return Search(aims, trials, tuple(best), complete=False)


def _trial_settings(trial: Any) -> TrialSettings:
    return tuple((key, to_word(value, key)) for key, value in trial.params.items())


def _ended_trials(study: Any) -> tuple[Trial, ...]:
    ended = [trial for trial in study.trials if trial.values is not None]
    return tuple(Trial(_trial_settings(trial), tuple(trial.values)) for trial in ended)


def _ratios_of_best(study: Any, aim_count: int) -> dict[TrialSettings, tuple[float, ...]]:
    """The ratios of the best settings in the runs of the search, by their settings."""
    # With one aim, the first of equally good trials wins.
    best_trials = study.best_trials if aim_count > 1 else study.best_trials[:1]
    ratios_by_settings: dict[TrialSettings, tuple[float, ...]] = {}
    for trial in best_trials:
        ratios_by_settings.setdefault(_trial_settings(trial), tuple(trial.values))
    return ratios_by_settings
