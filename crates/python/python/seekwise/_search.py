"""Search in a space of settings, by Optuna's ask and tell: this module owns the loop. A trial is a comparison with the base on
common random numbers, and what is searched for are ratios; so a trial's luck is its base's luck too. A search over many trials
still finds some that were lucky in the runs that it saw, so the winners are judged again on seeds that it did not see."""

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
from seekwise._setup import Job, Settings, Target, Value, values, word

#: One figure of a run, such as `lambda run: run.p99`; or of the settings, such as a price.
Aim = Callable[[RunResult], float]

#: A number's range, lowest and highest, whole where both are; or a list of values.
Space = Mapping[str, tuple[int, int] | tuple[float, float] | Sequence[Value]]

#: Settings as words, by their keys.
Settled = tuple[tuple[str, str], ...]

#: Student's t of 95 %, two-sided, by degrees of freedom (tables of any textbook). Between two, the fewer count: the interval is
#: then a little too wide, never too narrow.
T95 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
    12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980,
}

#: Between the seeds of a search and those of its judgement. A search of a billion runs a trial would meet them.
FRESH = 1 << 30


@dataclass(frozen=True, slots=True)
class Winner:
    """A setting that no other found beats in all aims."""

    settings: tuple[tuple[str, str], ...]
    #: Ratios to the base in the runs that the search saw: its luck is in them.
    seen: tuple[float, ...]
    #: The same on fresh seeds, with intervals of 95 %; empty where Ctrl-C came before.
    fresh: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What was tried."""

    settings: tuple[tuple[str, str], ...]
    #: For each aim, its geometric mean over the runs, as a ratio to the base.
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class Search:
    """What came of a search."""

    aims: tuple[str, ...]
    trials: tuple[Trial, ...]
    #: With one aim the best of all trials; with several, those on the Pareto front.
    winners: tuple[Winner, ...]
    #: Whether it came to its end: all trials, and fresh seeds for each winner.
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
        said = f"{len(self.trials)} trials, {len(self.winners)} winners{'' if self.complete else ', interrupted'}"
        return f"<Search: {said}; {dict(self.best.settings)}: {ratios}{'' if self.best.fresh else ', seen'}>"

    def _repr_html_(self) -> str:
        from seekwise import _html

        heads = ["settings", *(f"{aim}, seen" for aim in self.aims), *(f"{aim}, fresh seeds" for aim in self.aims)]

        def row(it: Winner) -> tuple[object, ...]:
            fresh = map(str, it.fresh) if it.fresh else [None] * len(self.aims)
            return (", ".join(f"{key}={value}" for key, value in it.settings), *it.seen, *fresh)

        said = "" if self.complete else _html.paragraph(f"interrupted after {len(self.trials)} trials")
        return said + _html.rows(heads, [row(it) for it in self.winners[: _html.ROWS]], {})

    def plot(self, ax: Any = None) -> Any:
        """Trials by their first two aims, and the front; answers matplotlib's axes."""
        if len(self.aims) < 2:
            raise SeekwiseError("a picture of a front needs two aims")
        axes = _plots.axes(ax)
        axes.scatter(*([trial.ratios[place] for trial in self.trials] for place in (0, 1)), alpha=0.4, label="trials")
        front = sorted(tuple(interval.estimate for interval in it.fresh[:2]) for it in self.winners if it.fresh)
        if front:
            axes.plot(*zip(*front, strict=True), marker="o", color="C1", label="front, on fresh seeds")
        axes.set_xlabel(_plots.text(f"{self.aims[0]}, ratio to the base"))
        axes.set_ylabel(_plots.text(f"{self.aims[1]}, ratio to the base"))
        axes.legend()
        return axes


def _interval(logs: Sequence[float]) -> Interval:
    """The geometric mean of ratios, with its interval of 95 % by Student's t on their logarithms."""
    n = len(logs)
    mean = math.fsum(logs) / n
    spread = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (n - 1) / n)
    t = T95[max(freedom for freedom in T95 if freedom < n)]
    return Interval(math.exp(mean), math.exp(mean - t * spread), math.exp(mean + t * spread))


class _Judge:
    """Runs settings on seeds, the base beside them, and keeps the base's figures."""

    def __init__(self, job: Job, on: Target, aims: Mapping[str, Aim], base: Settings, runtime: str | None) -> None:
        self.job, self.on, self.aims, self.base, self.runtime = job, on, aims, base, runtime
        self.known: dict[int, tuple[float, ...]] = {}

    def _figures(self, settings: Settings, seed: int) -> tuple[float, ...]:
        result = run(self.job, self.on, set=settings, seed=seed, runtime=self.runtime, progress=False)

        def positive(name: str, aim: Aim) -> float:
            figure = float(aim(result))
            if not (math.isfinite(figure) and figure > 0):
                raise SeekwiseError(f"aim {name}: {figure}: a ratio needs a figure above 0")
            return figure

        return tuple(positive(name, aim) for name, aim in self.aims.items())

    def logs(self, settings: Settings, seeds: Sequence[int]) -> list[tuple[float, ...]]:
        """For each seed, the logarithms of the ratios to the base."""

        def one(seed: int) -> tuple[float, ...]:
            if seed not in self.known:
                self.known[seed] = self._figures(self.base, seed)
            ours = self._figures({**self.base, **settings}, seed)
            return tuple(math.log(a / b) for a, b in zip(ours, self.known[seed], strict=True))

        return [one(seed) for seed in seeds]

    def judged(self, settled: Settled, seen: tuple[float, ...], seeds: Sequence[int]) -> Winner:
        """A winner, run again on these seeds."""
        fresh = tuple(_interval(column) for column in zip(*self.logs(dict(settled), seeds), strict=True))
        return Winner(settled, seen, fresh)


def _suggested(trial: Any, space: Space) -> dict[str, Value]:
    def one(key: str, given: Any) -> Value:
        if isinstance(given, tuple) and len(given) == 2 and not any(isinstance(it, bool | str) for it in given):
            low, high = given
            whole = isinstance(low, int) and isinstance(high, int)
            suggested: Value = trial.suggest_int(key, low, high) if whole else trial.suggest_float(key, low, high)
            return suggested
        chosen: Value = trial.suggest_categorical(key, list(values(f"space: {key}", given)))
        return chosen

    return {key: one(key, given) for key, given in space.items()}


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

    `space` has a range `(lowest, highest)` or a list of values for each dotted key. `aims` are figures of a run; each trial is
    judged by their ratios to `base` on the same `runs` seeds. With several aims the front of all trials wins. Winners run again
    on `fresh` seeds that the search did not see. `storage` is Optuna's, for searches that go on later.

    After Ctrl-C, `Interrupted.partial` is the search so far: the trials that ended, and their winners, whose `fresh` is empty
    where they did not run again yet.
    """
    if runs < 1 or fresh < 2:
        raise SeekwiseError("a search needs runs=1 or more, and fresh=2 or more for an interval")
    try:
        optuna: Any = import_module("optuna")
    except ImportError as error:
        raise SeekwiseError("a search needs Optuna: `pip install seekwise[search]`") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ways = [direction] * len(aims) if isinstance(direction, str) else list(direction)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(
        directions=ways, sampler=sampler, storage=storage, study_name=name, load_if_exists=storage is not None
    )
    judge = _Judge(job, on, aims, base or {}, runtime)
    seen = range(seed, seed + runs)
    winners: dict[Settled, Winner] = {}
    with _progress.shown(progress) as tell, keeping(_kept(storage, study), lambda: _so_far(study, tuple(aims), winners)):
        for done in range(trials):
            trial = study.ask()
            settings = _suggested(trial, space)
            logs = judge.logs(settings, seen)
            study.tell(trial, [math.exp(math.fsum(column) / runs) for column in zip(*logs, strict=True)])
            if tell is not None:
                tell(trials, done + 1, "trials", "")
        for settled, values in _best(study, len(aims)).items():
            winners[settled] = judge.judged(settled, values, range(seed + FRESH, seed + FRESH + fresh))
    return Search(tuple(aims), _trials(study), tuple(winners.values()))


def _kept(storage: Any, study: Any) -> str:
    """What Ctrl-C leaves of a search."""
    if storage is None:
        return "the trials that ended are in `partial` of this exception"
    return f"the trials that ended are kept in the storage: name={study.study_name!r} goes on"


def _so_far(study: Any, aims: tuple[str, ...], winners: Mapping[Settled, Winner]) -> Search | None:
    """An interrupted search: its trials, and as winners those on the front now, of which some may have run again."""
    trials = _trials(study)
    if not trials:
        return None
    best = _best(study, len(aims)).items()
    return Search(aims, trials, tuple(winners.get(it) or Winner(it, values, ()) for it, values in best), complete=False)


def _settings(trial: Any) -> Settled:
    return tuple((key, word(value, key)) for key, value in trial.params.items())


def _trials(study: Any) -> tuple[Trial, ...]:
    told = [trial for trial in study.trials if trial.values is not None]
    return tuple(Trial(_settings(trial), tuple(trial.values)) for trial in told)


def _best(study: Any, aims: int) -> dict[Settled, tuple[float, ...]]:
    """The ratios of the best settings, as seen."""
    # With one aim, equal trials are equally good: the first of them.
    best = study.best_trials if aims > 1 else study.best_trials[:1]
    seen: dict[Settled, tuple[float, ...]] = {}
    for trial in best:
        seen.setdefault(_settings(trial), tuple(trial.values))
    return seen
