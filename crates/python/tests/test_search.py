"""Tests of search: the known best of a grid is found, and figures of winners come from fresh seeds."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import seekwise as sw
from conftest import DRIVE, interrupting
from seekwise._space import neighbours, parse_space
from test_sweeps import Unreliable

pytest.importorskip("optuna")

Aims = dict[str, Callable[[sw.RunResult], float]]

ONE: Aims = {"iops": lambda run: run.iops}
SPACE = {"job.depth": (1, 16), "drive.firmware.depth": [1, 4, 32]}


def found(on: str | sw.Stack = DRIVE, space: dict[str, Any] = SPACE, **more: object) -> sw.Search:
    given: dict[str, object] = {"progress": False, "aims": ONE, "direction": "maximize", "trials": 25, "runs": 1, "fresh": 4, "runtime": "5s", "seed": 3}
    return sw.search("random-read", on, space, **(given | more))  # type: ignore[arg-type]


def iops_of(grid: sw.Grid, out: str) -> list[float]:
    study = sw.sweep("random-read", grid, on=DRIVE, runs=1, seed=3, runtime="5s", out=out)
    at = study.cells.columns.index("iops")
    return [row[at] for row in study.cells.rows_from(0, len(study.cells))]


def test_the_best_of_a_grid_is_found(here: Path) -> None:
    grid = sw.grid(SPACE | {"job.depth": range(1, 17)})
    figures = {tuple(cell.values()): iops for cell, iops in zip(grid, iops_of(grid, "grid"), strict=True)}
    result = found()
    reached = figures[tuple(dict(result.best.settings).values())]
    # One run of 5 s is good for some three percent, and the best is the best of as many as the trials.
    assert reached >= 0.95 * max(figures.values()), result.best.settings
    (base,) = iops_of(sw.grid(), "base")
    assert result.best.seen[0] == pytest.approx(reached / base)
    assert len(result.trials) == 25 == len({trial.settings for trial in result.trials})
    assert "trials" in repr(result) and "<table>" in result._repr_html_()
    for engine in (sw.ThreadEngine(1), sw.ThreadEngine(5), Unreliable(1, 0.2, True)):
        assert found(engine=engine) == result, "workers change nothing"


def test_of_the_best_a_race_finds_the_one_that_had_no_luck() -> None:
    # Runs of half a second: among 16 equal stacks and one that is better by some percent, luck decides.
    space = {"job.depth": (1, 16), "drive.firmware.depth": [1]}
    lucky, raced = (found(space=space, trials=16, runs=1, fresh=12, runtime="0.5s", race=race) for race in (1, 16))
    assert lucky.trials == raced.trials
    assert lucky.best.seen[0] == max(trial.ratios[0] for trial in lucky.trials) >= raced.best.seen[0]
    assert raced.best.fresh[0].estimate >= lucky.best.fresh[0].estimate


def test_equal_stacks_are_one_trial() -> None:
    space = {"job.depth": (1, 3), "job.runtime": ["1 s", "1000 ms"]}
    result = found(space=space, runtime=None, trials=50)
    assert len(result.trials) == 3, "the space has three stacks"
    assert len(result.optuna.trials) > 3
    by_depth: dict[object, set[tuple[float, ...]]] = {trial.params["job.depth"]: set() for trial in result.optuna.trials}
    for trial in result.optuna.trials:
        by_depth[trial.params["job.depth"]].add(tuple(trial.values))
    assert all(len(values) == 1 for values in by_depth.values())


def test_what_cannot_run_is_no_trial() -> None:
    result = found(on=sw.stack(DRIVE, {"array": "raid-5"}), space={"array.drives": [2, 3, 4]}, trials=9)
    assert {trial.settings[0][1] for trial in result.trials} == {"3", "4"}
    with pytest.raises(sw.SeekwiseError, match=r"job\.dpeth"):
        found(space={"job.dpeth": (1, 4)})


def test_ranges() -> None:
    assert sw.span(1, 9, step=4).values == (1, 5, 9)
    parsed = parse_space({"a": (1, 9, 4), "b": (1, 8, 32), "c": (0.5, 2.0), "d": [3], "e": sw.span(1, 64, log=True)})
    assert parsed["a"] == sw.span(1, 9, step=4) and parsed["b"] == (1, 8, 32) and parsed["c"] == sw.span(0.5, 2.0)
    assert parsed["d"] == (3,)
    assert isinstance(parsed["c"], sw.Span) and not parsed["c"].is_whole
    for wrong in ({"low": 4, "high": 1}, {"low": 0, "high": 8, "log": True}, {"low": 1, "high": 8, "step": 2, "log": True}):
        with pytest.raises(sw.SeekwiseError, match="expected"):
            sw.span(**wrong)  # type: ignore[arg-type]
    result = found(space={"job.depth": sw.span(1, 64, log=True), "drive.firmware.depth": (4, 32, 14)}, trials=16)
    depths = [int(dict(trial.settings)["job.depth"]) for trial in result.trials]
    assert sum(depth <= 8 for depth in depths) >= 4 and max(depths) > 16
    assert {dict(trial.settings)["drive.firmware.depth"] for trial in result.trials} == {"4", "18", "32"}
    point = {"a": 5, "b": 8, "c": 1.0, "d": 3, "e": 10}
    near = list(neighbours(parsed, point))
    assert {**point, "a": 9} in near and {**point, "b": 1, "a": 1} in near and {**point, "e": 11} in near
    assert all(one != point for one in near)


def test_luck_is_not_sold() -> None:
    # Runs of a tenth of a second: which depth is best is chance. The base is among the values.
    aims: Aims = {"p99": lambda run: run.p99 or math.inf}
    result = sw.search(
        "random-read",
        DRIVE,
        {"drive.cache.segments": [2, 4, 8, 12, 16], "drive.cache.write_back": [True, False]},
        aims=aims,
        trials=10,
        runs=1,
        fresh=6,
        runtime="0.5s",
    )
    ends = result.best.fresh[0].ends
    assert ends is not None and ends[0] <= 1 <= ends[1], "random reads feel neither"


def test_of_several_aims_the_front_wins() -> None:
    aims: Aims = {"iops": lambda run: 1 / run.iops, "p99": lambda run: run.p99 or math.inf}
    result = found(aims=aims, direction="minimize", trials=15)
    assert len(result.winners) > 1
    fronts = sorted(winner.seen for winner in result.winners)
    assert [p99 for _, p99 in fronts] == sorted((p99 for _, p99 in fronts), reverse=True)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert result.plot().get_xlabel().startswith("iops")


def test_control_c_keeps_the_trials_that_ended() -> None:
    with pytest.raises(sw.Interrupted, match="in `partial`") as why:
        found(trials=9, progress=interrupting(4))
    partial, whole = why.value.partial, found(trials=4)
    assert isinstance(partial, sw.Search) and not partial.complete and whole.complete
    assert partial.trials == whole.trials and partial.best.settings == whole.best.settings
    assert partial.best.seen == whole.best.seen and partial.best.fresh == ()
    assert "interrupted" in repr(partial) and "interrupted" in partial._repr_html_()
    again = pickle.loads(pickle.dumps(why.value))
    assert again.partial == partial and len(again.partial.optuna.trials) >= 4

    def before(call: int) -> sw.Search | None:
        calls = 0

        def aim(run: sw.RunResult) -> float:
            nonlocal calls
            calls += 1
            if calls == call:
                raise KeyboardInterrupt
            return run.iops

        with pytest.raises(sw.Interrupted) as why:
            found(trials=3, aims={"iops": aim})
        assert why.value.partial is None or isinstance(why.value.partial, sw.Search)
        return why.value.partial

    # The base's run, three trials', and in the race and on fresh seeds again the base's.
    assert before(2) is None, "no trial ended"
    winner = before(6)
    assert winner is not None and len(winner.trials) == 3 and winner.best.fresh == (), "its winner ran again"


def test_an_interrupted_search_goes_on_in_its_storage(here: Path) -> None:
    storage = f"sqlite:///{here}/search.db"
    with pytest.raises(sw.Interrupted, match="name='mine' goes on"):
        found(trials=9, progress=interrupting(4), storage=storage, name="mine")
    assert len(found(trials=2, storage=storage, name="mine").trials) == 6
    # Figures of other runs are not mixed with those that are kept.
    optuna: Any = pytest.importorskip("optuna")
    optuna.create_study(storage=storage, study_name="own").ask()
    others: dict[str, dict[str, Any]] = {
        "seed was 3 and is 4 now": {"seed": 4},
        "runs was 1 and is 2 now": {"runs": 2},
        "aims was iops and is rate now": {"aims": {"rate": ONE["iops"]}},
        "direction was maximize and is minimize now": {"direction": "minimize"},
        "space was .*depth: 1 to 16 and is .*depth: 1 to 8 now": {"space": SPACE | {"job.depth": (1, 8)}},
        "job, on, base or runtime differ": {"base": {"drive.cache.write_back": False}},
        "of another program, or of an earlier version, .*": {"name": "own", "direction": "minimize"},
    }
    for said, other in others.items():
        with pytest.raises(sw.SeekwiseError, match=said + r".*; expected .*another name="):
            asked: dict[str, Any] = {"trials": 2, "storage": storage, "name": "mine"} | other
            found(**asked)
    reversed_space = dict(reversed(SPACE.items()))
    assert len(found(trials=1, storage=storage, name="mine", fresh=3, race=2, batch=3, space=reversed_space).trials) == 7
    # A search that had no figure does not keep its name.
    assert not found(trials=0, storage=storage, name="none").trials
    assert len(found(trials=1, storage=storage, name="none", seed=4).trials) == 1


def test_progress_has_trials_and_then_the_race() -> None:
    said: list[tuple[int | None, int, str, str]] = []

    def keep(total: int | None, done: int, unit: str, doing: str) -> None:
        said.append((total, done, unit, doing))

    found(trials=8, race=4, fresh=2, runtime="1s", progress=keep)
    assert said[:8] == [(8, done, "trials", "") for done in range(1, 9)]
    # Four run twice, the better two four times: the base beside them does not count.
    assert said[8:11] == [(16, 0, "runs", "race of 4"), (16, 8, "runs", "race of 2"), (16, 16, "runs", "race")]
    assert said[11:] == [(2, 0, "runs", "fresh seeds"), (2, 2, "runs", "fresh seeds")]


def test_what_cannot_be_searched() -> None:
    writes: Aims = {"writes": lambda run: run.write.iops}
    with pytest.raises(sw.SeekwiseError, match="a figure above 0"):
        found(aims=writes, trials=1)
    with pytest.raises(sw.SeekwiseError, match="1 aims and 2 directions"):
        found(direction=["maximize", "minimize"])
    with pytest.raises(sw.SeekwiseError, match="0 aims"):
        found(aims={})
    with pytest.raises(sw.SeekwiseError, match="fresh=2"):
        found(fresh=1)
    nothing = found(trials=0)
    assert "nothing was tried" in repr(nothing) and "<table>" in nothing._repr_html_()
    with pytest.raises(sw.SeekwiseError, match="nothing was tried"):
        print(nothing.best)


def test_a_text_in_a_space_is_one_value() -> None:
    space = {"drive.cache.write_back": "true"}
    result = sw.search("random-read", DRIVE, space, aims=ONE, trials=1, runs=1, fresh=2, runtime="1s")
    assert result.trials[0].settings == (("drive.cache.write_back", "true"),)
