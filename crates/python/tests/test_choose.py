"""Tests of choices among the cells of a grid: verdicts by intervals, prices, bundles, cells that cannot run, and equal
bytes on any engine."""

from __future__ import annotations

import html
import json
import math
import random
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import seekwise as sw
from conftest import DRIVE, shell
from seekwise._columns import CellSettings, cell_settings
from seekwise._native import student_t
from seekwise._statistics import each_of, mean_interval, runs_to_decide
from seekwise._stores import folder_until_exit
from test_sweeps import Unreliable, bytes_of

LAYOUTS = {
    "one": {"array": "none"},
    "mirror": {"array": "raid-1", "array.drives": 2, "price": 40},
    "raid-5 of 2": {"array": "raid-5", "array.drives": 2, "price": 40},
}

GRID = sw.grid({"layout": LAYOUTS, "job.depth": [1, 8]}, on=[DRIVE, "caviar-wd400jb"])

PRICES = {DRIVE: 60, "caviar-wd400jb": 45}


#: Where runs of these tests are kept: most of them choose among equal cells.
RUNS = folder_until_exit()


def chosen(**more: object) -> sw.Choice:
    given = {"out": RUNS, "keep": {"p99_ms": "< 60"}, "least": "price", "prices": PRICES, "runs": 3, "runtime": "2s", "progress": False}
    return sw.choose("random-read", GRID, **(given | more))  # type: ignore[arg-type]


def test_quantiles_of_student() -> None:
    table = {(0.95, 1): 12.706, (0.95, 2): 4.303, (0.95, 4): 2.776, (0.95, 30): 2.042, (0.999, 4): 8.610, (0.99, 7): 3.499}
    for (confidence, degrees), expected in table.items():
        assert student_t(confidence, degrees) == pytest.approx(expected, abs=6e-4)


def test_intervals_hold_together() -> None:
    chance, families = random.Random(1), 600
    wrong = 0
    for _ in range(families):
        intervals = [mean_interval([chance.gauss(5, 2) for _ in range(5)], each_of(20)) for _ in range(20)]
        wrong += any(not one.low <= 5 <= one.high for one in intervals)  # type: ignore[operator]
    # Bonferroni's bound is 5 %; 44 of 600 are as many as chance makes at 5 % once in a hundred times.
    assert 0 < wrong <= 44


def test_runs_that_would_decide() -> None:
    values, confidence = [47.0, 52.0, 49.5, 46.0], each_of(10)
    needed = runs_to_decide(values, 50, confidence)
    assert needed is not None
    mean = math.fsum(values) / 4
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / 3)
    for runs, is_decided in ((needed, True), (needed - 1, False)):
        assert (mean + student_t(confidence, runs - 1) * deviation / math.sqrt(runs) < 50) == is_decided
    assert runs_to_decide([49.0, 51.0], 50, 0.95) is None, "the mean is the limit"


def test_a_bundle_sets_its_keys_together() -> None:
    assert len(GRID) == 12 and next(iter(GRID)) == {"drive": DRIVE, "layout": "one", "job.depth": "1"}
    cell = {"drive": DRIVE, "layout": "mirror", "job.depth": "8"}
    assert GRID.settings(cell) == {"drive": DRIVE, "job.depth": "8", "array": "raid-1", "array.drives": "2"}
    assert eval(GRID.to_source(), {"sw": sw}) == GRID
    with pytest.raises(sw.SeekwiseError, match="array is given twice"):
        sw.grid(layout=LAYOUTS, array=["raid-0"])
    with pytest.raises(sw.SeekwiseError, match="expected its settings"):
        sw.grid(layout={"one": "none"})


def test_a_sweep_with_bundles_has_the_bytes_of_a_study(here: Path) -> None:
    grid = sw.grid({"job.depth": [1, 8]}, on=[DRIVE], layout={name: LAYOUTS[name] for name in ("one", "mirror")})
    result = sw.sweep("random-read", grid, runs=2, runtime="1s", out="swept", batch=1)
    assert set(result.cells.row(0)) >= {"one"} and "layout" in result.cells.columns
    assert shell(result.command.replace("--out swept", "--out whole"), here).returncode == 0
    assert bytes_of("swept") == bytes_of("whole")
    with pytest.raises(sw.SeekwiseError, match="layout=raid-5 of 2.*expected at least 3(.|\n)*4 of 12 cells cannot run"):
        sw.sweep("random-read", GRID, runs=1, runtime="1s", out="refused")
    job = sw.fio("[a]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\niodepth=2\ntime_based\nruntime=1")
    of_text = sw.sweep(job, sw.grid(on=[DRIVE], layout={"one": {"array": "none"}}), runs=1, out="text")
    assert len(of_text.cells) == 1 and of_text.title.endswith(f"on {DRIVE}")
    again = subprocess.run([sys.executable, *shlex.split(of_text.command)[1:]], capture_output=True, text=True, check=True)
    assert again.stdout.strip() == of_text.json


def test_the_cheapest_that_keeps_its_limit() -> None:
    found = chosen()
    by_levels = {tuple(level for _, level in one.levels): one for one in found.candidates}
    assert len(by_levels) == 8 and len(found.refused) == 4
    assert by_levels[DRIVE, "mirror", "1"].value("price") == 2 * 60 + 40
    # By hand, from single runs of these cells.
    for (drive, layout, depth), one in by_levels.items():
        low, high = mean_interval(dict(one.runs)["p99_ms"], each_of(8)).ends or (0, 0)
        assert one.verdict == ("kept" if high < 60 else "broken" if low >= 60 else "not decided"), (drive, layout, depth)
    assert {one.verdict for one in found.candidates} >= {"kept", "broken"}
    kept = [one for one in found.candidates if one.verdict == "kept"]
    assert found.best is not None and found.best.value("price") == min(one.value("price") for one in kept)
    assert found.best.levels == (("drive", "caviar-wd400jb"), ("layout", "one"), ("job.depth", "1"))
    answer = str(found)
    assert answer.startswith("caviar-wd400jb, one, job.depth=1 keeps p99_ms < 60 for the least price, 45: p99_ms "), answer
    assert "12 cells, 3 runs each" in answer and "4 refused" in answer and "raid-5 of 2" in answer
    assert html.escape(found.answer, quote=True) in found._repr_html_() and found.answer in repr(found)


def test_a_limit_within_an_interval_is_not_decided() -> None:
    estimate = chosen().candidates[0].value("p99_ms")
    found = chosen(keep={"p99_ms": f"< {estimate * 1.0005}"})
    one = found.candidates[0]
    assert one.verdict == "not decided" and (one.runs_to_decide is None or one.runs_to_decide > 3)
    assert found.best is None or one in found.open_rivals or one.value("price") > found.best.value("price")
    nobody = chosen(keep={"p99_ms": "< 0.001"})
    assert nobody.best is None and str(nobody).startswith("No cell surely keeps p99_ms < 0.001.")
    within = chosen(keep={"p99_ms": "< 60", "price": ["> 50", "<= 160"]})
    assert within.best is not None and 50 < within.best.value("price") <= 160


def test_several_goals_have_a_front() -> None:
    found = chosen(keep={}, most="iops")
    costs = [(one.value("price"), -one.value("iops")) for one in found.front]
    assert costs == sorted(costs) and len(costs) > 1
    for one in found.candidates:
        mine = (one.value("price"), -one.value("iops"))
        assert any(front[0] <= mine[0] and front[1] <= mine[1] for front in costs)
    assert "are on the front" in found.answer


def watts(settings: CellSettings) -> float:
    return 8.0 * int(settings.get("array.drives", 1))


def price_of_drives(settings: CellSettings) -> float:
    return PRICES[str(settings["drive"])] * int(settings.get("array.drives", 1))


def test_columns_follow_from_settings() -> None:
    found = chosen(least="watts", columns={"watts": watts}, prices=None)
    assert {one.value("watts") for one in found.candidates} == {8.0, 16.0}
    assert "price" in dict(found.candidates[0].columns), "bundles have prices"
    assert found.equals, "cells of one drive cost alike"
    numbers = [watts(settings) for settings in cell_settings(GRID, {})]
    assert chosen(least="watts", columns={"watts": numbers}, prices=None).json == found.json
    assert chosen(prices=price_of_drives).json == chosen().json


@pytest.mark.parametrize(("seed", "lose", "silently"), [(1, 0.0, False), (2, 0.3, False), (3, 0.3, True)])
def test_what_an_engine_does_changes_no_byte_of_a_choice(here: Path, seed: int, lose: float, silently: bool) -> None:
    plain = chosen(out="plain")
    odd = chosen(out="odd", engine=Unreliable(seed, lose, silently))
    assert odd.json == plain.json and odd.command == plain.command
    assert [bytes_of(folder) for folder in plain.folders] == [bytes_of(folder) for folder in odd.folders]
    untouched = Unreliable(1, 0.0, False)
    assert chosen(out="odd", engine=untouched).json == plain.json and untouched.ran == []


def test_the_command_prints_the_bytes(here: Path) -> None:
    for found in (chosen(), chosen(prices=[50.0 + index for index in range(12)], most=["iops"])):
        ran = shell(found.command, here)
        assert ran.stdout == found.json + "\n", ran.stderr
    assert json.loads(found.json)["cells"][0]["levels"]["layout"] == "one"


def test_a_choice_is_a_table_and_a_picture() -> None:
    found = chosen()
    assert len({len(values) for values in found.table.values()}) == 1 and len(found.table["drive"]) == 12
    assert found.table["verdict"][-1] == "refused" and "at least 3" in found.table["refused"][-1]
    pandas = pytest.importorskip("pandas")
    assert list(pandas.DataFrame(found.table)["p99_ms"][:8]) == [one.value("p99_ms") for one in found.candidates]
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = found.plot(figure.add_subplot(131))
    assert axes.get_title() == "random-read: drive, layout, job.depth" and axes.get_xlabel() == "price"
    lines = found.plot(figure.add_subplot(132), over="job.depth")
    assert lines.get_xlabel() == "job.depth" and lines.get_ylabel() == "p99_ms"
    assert len(lines.containers) == 4, "a line for each drive and layout that can run"
    assert "mean over drive" in found.plot(figure.add_subplot(133), over=("job.depth", "layout")).get_title()
    with pytest.raises(sw.SeekwiseError, match="expected one or two factors that vary: drive, layout, job.depth"):
        found.plot(over="depth")
    with pytest.raises(sw.SeekwiseError, match="was not asked for"):
        found.plot(figure="iops")


def test_what_cannot_be_chosen() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"keep": {"p99": "< 50"}}, "p99: no such figure; did you mean p99_ms"),
        ({"keep": {"p99_ms": "about 50"}}, "expected an operator and a number"),
        ({"keep": ["p99_ms"]}, "expected figures with their limits"),
        ({"least": ()}, "nothing to aim at"),
        ({"runs": 1}, "expected 2 or more"),
        ({"prices": {DRIVE: 60}}, "caviar-wd400jb: no price"),
        ({"prices": [1.0]}, "1 numbers; expected one for each of the 12 cells"),
        ({"columns": {"price": [1.0] * 12}}, "price is given twice"),
        ({"least": "write_p99_ms"}, "no request of this kind ended"),
        ({"set": {"job.dpeth": 1}}, "job.dpeth"),
    ]
    for given, why in cases:
        with pytest.raises(sw.SeekwiseError, match=why):
            chosen(**given)
    with pytest.raises(sw.SeekwiseError, match="expected out=, a shared folder"):
        chosen(out=None, engine="ray", address="10.0.0.1:6379")
    unknown = sw.grid(on=DRIVE, array=["raid-0"])
    with pytest.raises(sw.SeekwiseError, match="expected array.drives beside it"):
        sw.choose("random-read", unknown, least="price", prices=PRICES)
    with pytest.raises(sw.SeekwiseError, match="no price is given"):
        sw.choose("random-read", sw.grid(on=DRIVE), least="price")


def test_figures_are_those_of_a_study(here: Path) -> None:
    from seekwise._choose import FIGURES

    study = sw.sweep("random-read", sw.grid(on=DRIVE), runs=1, runtime="1s", out="out")
    columns = study.cells.columns
    assert set(FIGURES) == set(columns[columns.index("ios") :]) - {"cell_hash"}
