"""Mistakes of a Python user: each is a `SeekwiseError` that names its argument, or the value that was given, and the
remedy; a keyword that no call knows is Python's own `TypeError` with the nearest one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import seekwise as sw
from conftest import DRIVE

#: The calls as a caller without types sees them.
ANY: Any = sw


def _run(**given: Any) -> Any:
    return ANY.run("random-read", on=DRIVE, **{"runtime": "1s", "progress": False, **given})


def _compare(**given: Any) -> Any:
    vary = {"job.depth": [1, 4]}
    return ANY.compare("random-read", on=DRIVE, **{"vary": vary, "runtime": "1s", "runs": 2, "progress": False, **given})


def _trace() -> str:
    lines = [f"R,{at * 7919},8,{4 + at % 7},0" for at in range(40)]
    Path("t.csv").write_text("\n".join(["op,lba,sectors,measured_response_ms,think_ms", *lines]) + "\n")
    return "t.csv"


def _recorded() -> str:
    rows = [f"{128166372003061629 + at * 200000},h,0,Read,{at * 8192},4096,1" for at in range(40)]
    Path("r.csv").write_text("\n".join(rows) + "\n")
    return "r.csv"


def _torn(change: Callable[[list[str]], list[str]]) -> Any:
    """Opens a result folder whose lines were changed."""
    _compare(out="o")
    file = Path("o/results.jsonl")
    file.write_text("".join(change(file.read_text().splitlines(keepends=True))))
    return sw.open("o")


#: The mistake, the call, what names it, and the remedy.
MISTAKES: list[tuple[str, Callable[[], Any], str, str]] = [
    ("a misspelt job", lambda: ANY.run("random-raed", on=DRIVE), "random-raed", "random-read"),
    ("a misspelt drive", lambda: ANY.run("random-read", on="exos-x81"), "exos-x81", "exos-x18"),
    ("no drive", lambda: ANY.run("random-read", on=None), "on", "exos-x18"),
    ("a number for a drive", lambda: ANY.run("random-read", on=18), "on", "exos-x18"),
    ("a list of drives", lambda: ANY.run("random-read", on=["exos-x18", "wd140edfz"]), "on", "exos-x18"),
    ("no job", lambda: ANY.run(None, on=DRIVE), "job", "random-read"),
    ("job and drive swapped", lambda: ANY.run(DRIVE, on="random-read"), DRIVE, "expected a job"),
    ("a path that does not exist", lambda: ANY.run(Path("nowhere.fio"), on=DRIVE), "nowhere.fio", "expected|no such"),
    ("a path for a job's text", lambda: ANY.fio(Path("a.fio")), "text", "run"),
    ("an unknown unit", lambda: _run(runtime="60 parsecs"), "runtime", "expected|such as"),
    ("a negative time", lambda: _run(runtime=-5), "runtime", '"60s"'),
    ("a list for a time", lambda: _run(runtime=[60]), "runtime", '"60s"'),
    ("a truth for a time", lambda: _run(runtime=True), "runtime", '"60s"'),
    ("a negative seed", lambda: _run(seed=-1), "seed", "whole number"),
    ("a seed in words", lambda: _run(seed="one"), "seed", "whole number"),
    ("half a seed", lambda: _run(seed=1.5), "seed", "whole number"),
    ("a text for settings", lambda: _run(set="job.depth=32"), "set", "job.depth"),
    ("a set for settings", lambda: _run(set={"job.depth", "32"}), "set", "job.depth"),
    ("a misspelt key", lambda: _run(set={"job.depht": 32}), "job.depht", "job.depth"),
    ("a key that is no text", lambda: _run(set={32: "job.depth"}), "set", "job.depth"),
    ("a negative depth", lambda: _run(set={"job.depth": -1}), "job.depth", "expected"),
    ("a depth in words", lambda: _run(set={"job.depth": "many"}), "job.depth", "expected"),
    ("no number", lambda: _run(set={"job.depth": float("nan")}), "job.depth", "expected"),
    ("a list for one value", lambda: _run(set={"job.depth": [1, 2]}), "job.depth", "one value"),
    ("a text for a truth", lambda: _run(requests="yes"), "requests", "True or False"),
    ("an unknown size", lambda: _run(max_memory="2 parsecs"), "max_memory", "2g"),
    ("a number for a folder", lambda: _run(out=5), "out", "a name or a path"),
    ("a text for progress", lambda: _run(progress="no"), "progress", "False"),
    ("a text for several values", lambda: _compare(vary={"job.depth": "1,32"}), "job.depth", "list of two"),
    ("a set of values", lambda: _compare(vary={"job.depth": {1, 32}}), "job.depth", "expected a list"),
    ("key and values as a text", lambda: _compare(vary="job.depth=1,32"), "vary", "such as vary="),
    ("nothing that varies", lambda: _compare(vary={}), "vary", "expected one key"),
    ("a misspelt key that varies", lambda: _compare(vary={"job.dpeth": [1, 4]}), "job.dpeth", "job.depth"),
    ("an unknown metric", lambda: _compare(metric="p98"), "p98", "p99"),
    ("no runs", lambda: _compare(runs=0), "runs", "expected"),
    ("runs as a text", lambda: _compare(runs="5"), "runs", "whole number"),
    ("an empty list in a grid", lambda: ANY.grid({"job.depth": []}), "job.depth", "one or more"),
    ("a set in a grid", lambda: ANY.grid(on={"exos-x18"}), "on|drive", "expected a list"),
    ("a misspelt study", lambda: ANY.study("ncq-alnoe"), "ncq-alnoe", "ncq-alone"),
    ("a folder that does not exist", lambda: ANY.open("nowhere"), "nowhere", "expected the `out`"),
    ("no folder", lambda: ANY.open(None), "folder", "a name or a path"),
    ("a torn result folder", lambda: _torn(lambda lines: [*lines[:-1], lines[-1].replace("1", "2", 3)]), "results.jsonl", "sum"),
    ("a result folder that lost its end", lambda: _torn(lambda lines: [*lines[:-1], lines[-1][:99]]), "results.jsonl is torn", "resume=True"),
    ("negative cuts", lambda: ANY.power_cut("random-write", on=DRIVE, cuts=-1), "cuts", "whole number"),
    ("a time in words", lambda: _run(runtime="soon"), "runtime", '"60s"'),
    ("an instant in words", lambda: ANY.power_cut("random-write", on=DRIVE, at="soon", runtime="1s"), "at", "expected|such as"),
    ("an unknown array", lambda: ANY.rebuild(DRIVE, "raid-7", 4), "raid-7", "expected"),
    ("users in words", lambda: ANY.rebuild(DRIVE, "raid-1", 2, users="many"), "users", "whole number"),
    ("hours as a text", lambda: ANY.rebuild(DRIVE, "raid-1", 2, working_hours="8-18"), "working_hours", r"\(8, 18\)"),
    ("no data to fit", lambda: ANY.fit(None, DRIVE), "data", "expected"),
    ("a bound as a text", lambda: ANY.validate(_trace(), DRIVE, at_most="5%"), "at_most", "a number"),
    ("an unknown kind of replay", lambda: ANY.validate(_trace(), DRIVE, replay="fast"), "replay", "think or arrival"),
    ("an unknown format", lambda: ANY.replay(_recorded(), on=DRIVE, format="mrs"), "mrs", "msr"),
    ("no stack", lambda: ANY.stack(None), "target", "exos-x18"),
    ("pairs for settings", lambda: ANY.stack(DRIVE, [("job.depth", 1)]), "set", "job.depth"),
    ("a negative speed", lambda: ANY.serve(DRIVE, speed="fast"), "speed", "a number"),
    ("nothing that judges", lambda: ANY.crash(DRIVE), "check", "recipe"),
]


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(("name", "mistake", "names", "remedy"), MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
def test_a_mistake_names_its_argument_and_the_remedy(
    name: str, mistake: Callable[[], Any], names: str, remedy: str, here: Path
) -> None:
    with pytest.raises(Exception) as why:
        mistake()
    assert isinstance(why.value, sw.SeekwiseError), _describe(why.value)
    for wanted in (names, remedy):
        assert re.search(wanted, str(why.value)), f"{_describe(why.value)}: no {wanted}"


def test_an_unknown_keyword_names_the_nearest() -> None:
    mistakes: list[tuple[Any, dict[str, Any], str]] = [
        (ANY.run, {"runtme": "60s"}, "runtime"),
        (ANY.compare, {"varry": {}}, "vary"),
        (ANY.power_cut, {"cut": 3}, "cuts"),
        (ANY.serve, {"sped": 2}, "speed"),
        (ANY.stack, {"sets": {}}, "set"),
        (ANY.sweep, {"engin": "ray"}, "engine"),
        (ANY.choose, {"prizes": {}}, "prices"),
        (ANY.search, {"trial": 3}, "trials"),
    ]
    for call, given, nearest in mistakes:
        with pytest.raises(TypeError, match=f"did you mean '{nearest}'"):
            call("random-read", DRIVE, **given)
    assert "runtime" in inspect.signature(sw.run).parameters, "tools see the arguments"


def test_values_of_pandas_are_values_or_errors() -> None:
    pandas = pytest.importorskip("pandas")
    grid = ANY.grid({"job.depth": pandas.Series([1, 2])})
    assert grid.levels == (("job.depth", ("1", "2")),)
    for value in (pandas.Series([1, 2]), pandas.NA, pandas.NaT):
        with pytest.raises(sw.SeekwiseError, match="job.depth"):
            _run(set={"job.depth": value})


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    plain = _run(seed=3, requests=False)
    assert _run(seed=numpy.int64(3), requests=numpy.bool_(False)) == plain
    with pytest.raises(sw.SeekwiseError, match="seed"):
        _run(seed=numpy.float64(3))


def test_numbers_and_texts_are_alike() -> None:
    for number, text in ((2, "2s"), (0.5, "0.5s")):
        assert _run(runtime=number) == _run(runtime=text)
    assert _run(max_memory=2 << 30) == _run(max_memory="2g")
    cut = ANY.power_cut("random-write", on=DRIVE, at=[0.5, 1], runtime=2)
    assert cut == ANY.power_cut("random-write", on=DRIVE, at=["0.5s", "1s"], runtime="2s")
