"""Tests of the calls: their results, and that the shell line of each result prints equal bytes."""

from __future__ import annotations

import copy
import json
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import seekwise as sw
from conftest import DRIVE, STUDY, interrupted_when, interrupting, shell

FIO = "[a]\nioengine=libaio\nrw=randread\nbs=4k\niodepth=8\nsize=1g\ntime_based\nruntime=2\n; it's a comment\n"


def trace(folder: Path, rows: int = 400) -> str:
    """A measured trace of so many reads, in a file."""
    lines = [f"R,{at * 7919 % 400_000_000},8,{4 + at % 7},0" for at in range(rows)]
    head = "op,lba,sectors,measured_response_ms,think_ms"
    (folder / "t.csv").write_text("\n".join([head, *lines]) + "\n")
    return "t.csv"


def check(result: sw.Result, folder: Path, code: int = 0) -> None:
    """The shell line of a result prints its bytes."""
    ran = shell(result.command, folder)
    assert ran.returncode == code, ran.stderr
    assert ran.stdout == result.json + "\n"


def test_a_run(here: Path) -> None:
    result = sw.run("random-read", on=DRIVE, runtime="2s", seed=3)
    assert result.iops > 50 and result.seed == 3 and result.read.ios == result.all.ios
    assert result.read.response_ms is not None and result.write.response_ms is None
    assert result.anatomy["seek"] > 5 and result.read.p99 is not None and result.read.p50 is not None and result.read.p99 > result.read.p50
    assert abs(sum(ms for _, ms in result.anatomy.items()) - result.read.response_ms.mean) < 1e-6
    check(result, here)


def test_a_run_on_a_stack_of_a_job_in_memory(here: Path) -> None:
    stack = sw.stack(DRIVE, {"drive.cache.segments": 4, "drive.cache.write_back": False})
    result = sw.run(sw.fio(FIO), on=stack, set={"job.depth": 2})
    assert result.job == "standard input"
    check(result, here)


def test_a_run_that_is_kept(here: Path) -> None:
    (here / "again").mkdir()
    result = sw.run("random-read", on=DRIVE, runtime="1s", out="kept", log="log.parquet")
    assert result.page == Path("kept/report.html") and "Seekwise" in result.report().html
    check(result, here / "again")
    assert (here / "log.parquet").read_bytes() == (here / "again/log.parquet").read_bytes()
    opened = sw.open("kept")
    assert isinstance(opened, sw.Study) and len(opened.cells) == 1
    check(opened, here)
    with pytest.raises(sw.SeekwiseError, match="already holds results"):
        sw.run("random-read", on=DRIVE, runtime="1s", out="kept")
    sw.run("random-read", on=DRIVE, runtime="1s", out="kept", force=True)


def test_a_comparison(here: Path) -> None:
    result = sw.compare(
        "random-read", on=DRIVE, vary={"drive.firmware.depth": [1, 32]}, set={"job.depth": 32}, runtime="2s", runs=4
    )
    assert result.verdict == "faster" and result.interval.low is not None and result.interval.low > 1.5 < result.ratio
    assert result.said.startswith("faster, ") and result.said in repr(result) and result.said in result._repr_html_()
    assert result.why is not None and "queue" in result.why and not result.refused
    assert len(result.cells) == 8 and len(result.intervals) == 1
    check(result, here)


def test_a_comparison_by_several_metrics_of_several_values(here: Path) -> None:
    result = sw.compare(
        sw.fio(FIO), on=DRIVE, vary={"job.depth": [1, 4, 8]}, metric=["p99", "iops"], runs=2, out="kept"
    )
    assert [(it.metric, it.to) for it in result.findings] == [
        ("p99", "job.depth=4"),
        ("p99", "job.depth=8"),
        ("iops", "job.depth=4"),
        ("iops", "job.depth=8"),
    ]
    (here / "again").mkdir()
    check(result, here / "again")


def test_a_comparison_of_one_run_a_side_can_be_shown(here: Path) -> None:
    result = sw.compare("random-read", on=DRIVE, vary={"job.depth": [1, 4]}, runs=1, runtime="1s", out="kept")
    assert result.interval == sw.Interval(result.ratio, None, None) and result.interval.ends is None
    assert "one run a side: no interval" in repr(result) and "one run a side: no interval" in result._repr_html_()
    assert "inf" not in repr(result) + result._repr_html_()
    row = dict(zip(result.intervals.columns, result.intervals.row(0), strict=True))
    assert row["ratio"] == result.ratio and row["low"] is row["high"] is None
    study = sw.open("kept")
    assert "<table>" in study._repr_html_() and pickle.loads(pickle.dumps(result)) == result
    (here / "again").mkdir()
    check(result, here / "again")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = pytest.importorskip("matplotlib.figure").Figure
    for shown in (result, study):
        assert len(shown.plot(figure().subplots()).get_yticklabels()) == 1  # type: ignore[union-attr]


def test_what_has_no_reads_or_no_writes_can_be_shown(here: Path) -> None:
    pytest.importorskip("pyarrow")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = pytest.importorskip("matplotlib.figure").Figure
    reads, writes = (sw.run(f"random-{kind}", on=DRIVE, runtime="1s", requests=True) for kind in ("read", "write"))
    for result in (reads, writes):
        assert repr(result) and result._repr_html_()
        drawn = figure()
        result.plot(drawn.subplots())
        drawn.savefig("drawn.png")
    assert reads.write.p99 is None and writes.read.p99 is None
    rows = pytest.importorskip("pyarrow").table(reads.curve).num_rows
    assert rows == len(reads.curve) > 0


def test_a_label_is_no_formula(here: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from seekwise import _plots

    _plots.draw_intervals([("$\\nothing$ of $x", 1.0, 0.9, 1.1)], figure.subplots())
    figure.savefig(here / "drawn.png")


def test_a_comparison_that_is_refused_is_a_value(here: Path) -> None:
    result = sw.compare(
        "random-write", on=DRIVE, vary={"drive.cache.write_back": [True, False]}, runtime="1s", runs=2
    )
    check(result, here, code=1 if result.refused else 0)


def test_a_study_goes_on_where_it_stopped(here: Path) -> None:
    whole = sw.study(sw.Text(STUDY), out="whole")
    assert isinstance(whole, sw.Study) and len(whole.cells) == 6 and whole.title.startswith("The write cache")
    assert whole.comparisons[0]["name"] == "off against on" and whole.claims == []
    lines = (here / "whole/results.jsonl").read_bytes()
    (here / "again").mkdir()
    check(whole, here / "again")
    assert (here / "again/whole/results.jsonl").read_bytes() == lines
    # As after a kill in the fourth run.
    (here / "whole/results.jsonl").write_bytes(lines[: len(lines) * 5 // 8])
    sw.study("whole", out="whole", resume=True)
    assert (here / "whole/results.jsonl").read_bytes() == lines


def test_what_is_sampled_until_it_is_decided(here: Path) -> None:
    text = STUDY.replace("2 s", "60 s")
    study = sw.study(sw.Text(text), out="until", until_decided=True)
    assert isinstance(study, sw.Study) and " --until-decided" in study.command
    assert study.to_dict()["sampling"]["virtual_s"] > 0
    fixed = sw.study(sw.Text(text), out="fixed")
    assert "sampling" not in fixed.to_dict()
    unsaid = text.replace('sampling = "fixed"\n', "")
    assert sw.study(sw.Text(unsaid), out="unsaid").to_dict()["sampling"] == study.to_dict()["sampling"]
    fixed = sw.study(sw.Text(unsaid), out="all", until_decided=False)
    assert "sampling" not in fixed.to_dict() and " --fixed" in fixed.command
    with pytest.raises(sw.SeekwiseError, match="until-decided"):
        (here / "s.toml").write_text(text.replace("fixed", "until-decided"))
        sw.sweep_study("s.toml", out="swept")


def test_a_study_of_levels_has_them_as_numbers(here: Path) -> None:
    (here / "s.toml").write_text(STUDY.replace("drive.cache.write_back", "job.depth").replace("[true, false]", "[1, 8]")
                                 .replace('"true"', '"1"').replace('"false"', '"8"'))
    study = sw.study("s.toml", out="o", threads=1)
    assert isinstance(study, sw.Study)
    place = study.cells.columns.index("cache")
    assert [row[place] for row in study.cells.rows_from()] == [1, 1, 1, 8, 8, 8]


def test_a_validation(here: Path) -> None:
    file = trace(here)
    result = sw.validate(file, drive="atlas-10k-v-300", at_most=5)
    assert result.all.n == result.reads.n == len(result.samples) == 400 and result.writes.mean_measured_ms is None
    assert result.ok is False
    check(result, here, code=1)
    assert sw.validate(file, drive="atlas-10k-v-300").ok is None


def test_a_replay(here: Path) -> None:
    rows = [f"{128166372003061629 + at * 200000},h,0,Read,{at * 8192 * 37},4096,1" for at in range(300)]
    (here / "t.csv").write_text("\n".join(rows) + "\n")
    result = sw.replay("t.csv", on=DRIVE, format="msr", limit="5s", speed=2)
    assert result.certificate is not None and result.certificate["format"] == "msr"
    assert result.certificate["speed"] == 2
    check(result, here)


def test_a_fit(here: Path) -> None:
    file = trace(here)
    result = sw.fit(file, drive="atlas-10k-v-300", only=["overhead"], generations=1, points=25, out="f.toml")
    assert result.profile == (here / "f.toml").read_text() and not result.complete
    (here / "again").mkdir()
    trace(here / "again")
    check(result, here / "again")
    assert (here / "again/f.toml").read_bytes() == (here / "f.toml").read_bytes()
    kept_nowhere = sw.fit(file, drive="atlas-10k-v-300", only=["overhead"], generations=1, points=25)
    (here / "elsewhere").write_text("somebody's")
    (here / "g.toml").symlink_to("elsewhere")
    with pytest.raises(sw.SeekwiseError, match="it is a link to elsewhere"):
        kept_nowhere.save("g.toml")
    assert (here / "elsewhere").read_text() == "somebody's"
    (here / "g.toml").unlink()
    kept_nowhere.save("g.toml")
    assert sw.run("random-read", on="g.toml", runtime="1s").iops > 0
    assert not list(here.glob("fitted*"))


def test_power_cuts(here: Path) -> None:
    result = sw.power_cut("random-write", on="barracuda-7200.7", cuts=40, runtime="2s")
    assert result.promise_kept and result.broken == 0 and result.cuts == 40
    assert result.acknowledged_lost["writes"] > 0 and len(result.at_risk) > 10
    check(result, here)
    check(sw.power_cut("random-write", on="barracuda-7200.7", at=["1 s", "1.5s"], runtime="2s"), here)
    with pytest.raises(sw.SeekwiseError, match="expected 1 or more"):
        sw.power_cut("random-write", on=DRIVE, cuts=0, runtime="2s")
    with pytest.raises(sw.SeekwiseError, match="conflict"):
        sw.power_cut("random-write", on=DRIVE, at=["1 s"], after="1 s")


def test_rebuilds_and_scrubs(here: Path) -> None:
    result = sw.rebuild(DRIVE, "raid-1", 2, users=20, policy=["md", "idle"], live=0.01)
    assert result.policies == ["md", "idle"]
    md, idle, before = result.users("md"), result.users("idle"), result.users_before()
    assert md is not None and idle is not None and before is not None
    hours = [result.hours(policy) for policy in result.policies]
    assert hours[0] is not None and hours[1] is not None and 0 < hours[0] < hours[1]
    assert before["p99_ms"] < idle["p99_ms"] < md["p99_ms"]
    assert list(result.exposure("md")) == [0] and "idle" in result.report.html
    assert "md" in repr(result) and "idle" in result._repr_html_()
    check(result, here)
    check(sw.scrub(DRIVE, "raid-1", 2, live=0.01, load="random-read", working_hours=None, whole=True), here)
    for fault, expected in (
        (lambda: sw.rebuild(DRIVE, "raid-1", 2, policy="fast"), "expected md"),
        (lambda: sw.rebuild(DRIVE, "raid-0", 2), "no redundancy"),
        (lambda: sw.rebuild(DRIVE), "no array"),
        (lambda: sw.rebuild(DRIVE, "raid-1", 2, users=3, load="random-read"), "conflict"),
        (lambda: sw.rebuild(DRIVE, "raid-1", 2, policy=[]), "at least one"),
        (lambda: sw.rebuild(DRIVE, "raid-1", 2, lose=0), "at least 1"),
        (lambda: sw.rebuild(DRIVE, "raid-1", 2, live=60), "1 to 100 %"),
        (lambda: sw.rebuild(DRIVE, "raid-1", 2, users=5, working_hours=(18, 8)), "such as 8-18"),
        (lambda: result.hours("zfs"), "expected one of md, idle"),
    ):
        with pytest.raises(sw.SeekwiseError, match=expected):
            fault()


def test_errors_have_fields(here: Path) -> None:
    with pytest.raises(sw.SeekwiseError) as unknown_job:
        sw.run("random-raed", on=DRIVE)
    assert unknown_job.value.suggestion == "random-read"
    with pytest.raises(sw.SeekwiseError) as unknown_key:
        sw.run("random-read", on=DRIVE, set={"drive.cache.segmnets": 3})
    assert unknown_key.value.key == "drive.cache.segmnets"
    assert unknown_key.value.suggestion is not None and "segments" in unknown_key.value.suggestion
    (here / "s.toml").write_text(STUDY.replace("runs = 3", "runz = 3"))
    with pytest.raises(sw.SeekwiseError) as unknown_line:
        sw.study("s.toml", out="o")
    assert (unknown_line.value.file, unknown_line.value.line) == ("s.toml", 4)
    again = pickle.loads(pickle.dumps(unknown_line.value))
    assert (str(again), again.diagnostics) == (str(unknown_line.value), unknown_line.value.diagnostics)
    with pytest.raises(sw.SeekwiseError, match="expected one key"):
        sw.compare("random-read", on=DRIVE, vary={})
    for one in ("32", 32, "1,32", ["32"]):
        with pytest.raises(sw.SeekwiseError, match=r'one value, .*32.* such as vary={"job.depth": \["1", "32"\]}'):
            sw.compare("random-read", on=DRIVE, vary={"job.depth": one})  # type: ignore[dict-item]
    with pytest.raises(sw.SeekwiseError, match="a list or a range"):
        sw.compare("random-read", on=DRIVE, vary={"job.depth": ["1,2", "3"]})
    with pytest.raises(sw.SeekwiseError, match="expected out=FOLDER"):
        sw.run("random-read", on=DRIVE, runtime="1s").report()


def test_a_text_is_one_value_wherever_a_list_stands(here: Path) -> None:
    assert sw.grid(on="exos-x18").levels == (("drive", ("exos-x18",)),)
    assert sw.grid({"job.depth": "32"}, on=Path("my.toml")).levels == (("drive", ("my.toml",)), ("job.depth", ("32",)))
    assert sw.grid({"job.depth": 8, "drive.cache.write_back": True}).levels[1][1] == ("true",)
    file = trace(here)
    one = sw.fit(file, drive="atlas-10k-v-300", only="overhead", generations=1, points=25)
    assert one == sw.fit([file], drive="atlas-10k-v-300", only=["overhead"], generations=1, points=25)
    cut = sw.power_cut("random-write", on=DRIVE, at="1 s", runtime="2s")
    assert cut == sw.power_cut("random-write", on=DRIVE, at=["1 s"], runtime="2s")
    compared = sw.compare("random-read", on=DRIVE, vary={"job.depth": [1, 4]}, metric="p99", runs=2, runtime="1s")
    assert compared == sw.compare(
        "random-read", on=DRIVE, vary={"job.depth": ["1", "4"]}, metric=["p99"], runs=2, runtime="1s"
    )


def test_what_is_no_list_of_values_is_told() -> None:
    for call in (
        lambda: sw.grid(on={"exos-x18", "wd140edfz"}),
        lambda: sw.grid({"job.depth": {"1": 2}}),
        lambda: sw.grid({"job.depth": [[1, 2]]}),  # type: ignore[list-item]
        lambda: sw.grid({"job.depth": []}),
        lambda: sw.grid({"drive": [DRIVE]}, on=DRIVE),
        lambda: sw.compare("random-read", on=DRIVE, vary="job.depth=1,32"),  # type: ignore[arg-type]
        lambda: sw.compare("random-read", on=DRIVE, vary={"job.depth": None}),  # type: ignore[dict-item]
        lambda: sw.run("random-read", on=DRIVE, set="job.depth=1"),  # type: ignore[arg-type]
        lambda: sw.run("random-read", on=DRIVE, set={"job.depth": [1, 2]}),  # type: ignore[dict-item]
        lambda: sw.stack(DRIVE, {"drive.cache.segments": None}),  # type: ignore[dict-item]
    ):
        with pytest.raises(sw.SeekwiseError, match="expected|twice"):
            call()


def test_values_of_numpy_are_values() -> None:
    numpy = pytest.importorskip("numpy")
    grid = sw.grid({"job.depth": numpy.arange(1, 4), "drive.cache.write_back": numpy.array([True, False])})
    assert grid.levels == (("job.depth", ("1", "2", "3")), ("drive.cache.write_back", ("true", "false")))
    assert sw.stack(DRIVE, {"a": numpy.float64(0.5), "b": numpy.bool_(True)}).settings == (("a", "0.5"), ("b", "true"))


def test_a_run_that_does_not_end_is_a_run_error() -> None:
    with pytest.raises(sw.SeekwiseError) as nothing:
        sw.run(sw.fio("[a]\nrw=read\nsize=4k\nramp_time=5\nruntime=1\n"), on=DRIVE)
    assert "request" in str(nothing.value)


def test_results_are_frozen_equal_and_travel() -> None:
    one, two = (sw.run("random-read", on=DRIVE, runtime="1s", requests=True) for _ in range(2))
    other = sw.run("random-read", on=DRIVE, runtime="1s", seed=2, requests=True)
    assert one == two and hash(one) == hash(two) and one != other
    assert one.requests == two.requests != other.requests
    with pytest.raises(AttributeError):
        one.json = ""  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(sw.Interval(1.0, None, None))) == sw.Interval(1.0, None, None)
    for value in (one, sw.stack(DRIVE, {"array": "raid-5"}), sw.fio(FIO), one.all, one.anatomy):
        assert pickle.loads(pickle.dumps(value)) == value and isinstance(hash(value), int)
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer).iops)"
    sent = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(one), capture_output=True, check=True)
    assert float(sent.stdout) == one.iops


def test_a_pickle_of_another_version_names_both() -> None:
    run = sw.run("random-read", on=DRIVE, runtime="1s", requests=True)
    review = sw.Review("{}", "seekwise study", False, (), Path("report.html"))
    for value in (run, review, sw.stack(DRIVE, {"array": "raid-5"}), sw.fio(FIO), sw.grid({"job.depth": [1, 2]})):
        pickled = pickle.dumps(value)
        assert pickle.loads(pickled) == value == copy.deepcopy(value)
        # Lengths stand in a pickle: the other version has as many characters. Its own name comes first in it.
        other = "9" * len(sw.__version__)
        with pytest.raises(sw.SeekwiseError) as refused:
            pickle.loads(pickled.replace(sw.__version__.encode(), other.encode(), 1))
        for words in (type(value).__name__, f"seekwise {other}", f"this is {sw.__version__}", f"pip install seekwise=={other}", "out=FOLDER"):
            assert words in str(refused.value)
    # Figures that were computed from the fields are computed anew.
    assert run.iops and len(pickle.dumps(run)) == len(pickled_fields(run))


def pickled_fields(run: sw.RunResult) -> bytes:
    """The pickle of an equal run whose figures nobody has asked for."""
    return pickle.dumps(sw.RunResult(run.json, run.command, run.requests, run.curve, run.page))


def test_other_threads_run_meanwhile() -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    def enough(*_: object) -> None:
        if ticks >= 100:
            raise LookupError("enough")

    other = threading.Thread(target=tick)
    other.start()
    try:
        # Where the run held the interpreter, there were no more ticks than times at which it tells how far it is.
        with pytest.raises(LookupError, match="enough"):
            sw.run("file-server", on=DRIVE, runtime="1000h", progress=enough)
    finally:
        done.set()
        other.join()


def test_two_threads_run_at_once() -> None:
    results: dict[int, sw.RunResult] = {}

    def one(seed: int) -> None:
        results[seed] = sw.run("random-read", on=DRIVE, runtime="20s", seed=seed)

    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {seed: sw.run("random-read", on=DRIVE, runtime="20s", seed=seed) for seed in range(1, 5)}


def test_control_c_ends_a_run() -> None:
    told: list[int] = []
    with interrupted_when(lambda: told) as ended, pytest.raises(KeyboardInterrupt):
        sw.run("random-read", on="exos-x18", runtime="10000h", progress=lambda _total, done, _unit, _doing: told.append(done))
    assert ended()


def test_control_c_keeps_what_is_complete_of_a_study(here: Path) -> None:
    text = STUDY.replace("runs = 3", "runs = 40").replace("2 s", "100 s")
    with interrupted_when(lambda: (here / "o/results.jsonl").exists() and (here / "o/results.jsonl").read_bytes()) as ended, pytest.raises(sw.Interrupted, match="kept in o: study") as why:
        sw.study(sw.Text(text), out="o", threads=1)
    assert ended()
    kept = (here / "o/results.jsonl").read_bytes()
    assert 0 < kept.count(b"\n") < 80, "it was interrupted in the middle"
    partial = why.value.partial
    assert isinstance(partial, sw.Study) and not partial.complete and "runs missing" in repr(partial)
    assert len(partial.cells) == kept.count(b"\n") == 80 - partial.missing_runs
    assert "Seekwise" in partial.report().html and not partial.page.exists()
    assert "runs missing" in partial._repr_html_() and len(sw.open("o").cells) == len(partial.cells)  # type: ignore[union-attr]
    sw.study("o", out="o", resume=True)
    whole = (here / "o/results.jsonl").read_bytes()
    assert whole.startswith(kept) and whole.count(b"\n") == 80


@pytest.mark.parametrize("out", [None, "kept"])
def test_control_c_keeps_what_is_complete_of_a_comparison(here: Path, monkeypatch: pytest.MonkeyPatch, out: str | None) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    with pytest.raises(sw.Interrupted, match="resume=True") as why:
        sw.compare(
            "random-read",
            on=DRIVE,
            vary={"job.depth": [1, 4]},
            runs=60,
            runtime="1000s",
            out=out,
            progress=interrupting(1),
        )
    partial = why.value.partial
    assert isinstance(partial, sw.Comparison) and partial is why.value.partial
    ended = len(partial.cells)
    assert not partial.complete and 0 < ended < 120 and partial.missing_runs == 120 - ended
    # The first side comes first, and fewer runs than were asked for are not judged.
    assert partial.findings == () and len(partial.to_dict()["sides"]) in (1, 2)
    with pytest.raises(sw.SeekwiseError, match="nothing is judged yet"):
        print(partial.verdict)
    assert partial.cells.row(0)[partial.cells.columns.index("run")] == 0 and len(partial.curves) > 0
    assert "runs missing" in repr(partial) and "runs missing" in partial._repr_html_()
    assert "Seekwise" in partial.report().html
    again = pickle.loads(pickle.dumps(why.value))
    assert (str(again), again.partial) == (str(why.value), partial)
    # As the message says.
    folder = re.search(r"out='([^']*)'", str(why.value))
    assert folder is not None and (out is None) == (here.name in folder[1])
    with pytest.raises(sw.Interrupted) as later:
        sw.study(folder[1], out=folder[1], resume=True, progress=interrupting(ended + 1))
    more = later.value.partial
    assert isinstance(more, sw.Study) and ended < len(more.cells) < 120
    assert more.cells.rows_from(0, ended) == partial.cells.rows_from(0, ended)


def test_what_a_comparison_ran_in_goes_away(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    whole = sw.compare("random-read", on=DRIVE, vary={"job.depth": [1, 4]}, runs=2, runtime="1s")
    assert whole.complete and whole.missing_runs == 0 and "missing" not in repr(whole)
    with pytest.raises(sw.SeekwiseError, match="dpeth"):
        sw.compare("random-read", on=DRIVE, vary={"job.dpeth": [1, 4]}, runs=2, runtime="1s")
    assert list(here.iterdir()) == []


def test_control_c_keeps_what_is_complete_of_a_review(here: Path) -> None:
    for name in ("a", "b"):
        (here / f"{name}.toml").write_text(STUDY.replace("runs = 3", "runs = 30").replace("2 s", "100 s"))
    review = 'title = "Two"\nquestion = "Alike?"\nintroduction = "Two parts."\n' + "".join(
        f'[[part]]\nstudy = "{name}.toml"\nwhy = "one of two"\n' for name in ("a", "b")
    )
    (here / "r.toml").write_text(review)
    with pytest.raises(sw.Interrupted, match="kept in o: study") as why:
        sw.study("r.toml", out="o", threads=1, progress=interrupting(1))
    partial = why.value.partial
    assert isinstance(partial, sw.Review) and not partial.complete and 0 < partial.missing_runs < 120
    assert "Seekwise" in partial["a"].report().html and len(partial["b"].cells) == max(0, 60 - partial.missing_runs)
    with pytest.raises(sw.SeekwiseError, match="each part has a report"):
        partial.report()


def test_what_was_there_before_is_not_what_came_of_a_study(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    sw.study(sw.Text(STUDY), out="o")
    slow = STUDY.replace("runs = 3", "runs = 30").replace("2 s", "100 s")
    with pytest.raises(sw.Interrupted) as why:
        sw.study(sw.Text(slow), out="o", force=True, threads=1, progress=interrupting(1))
    assert isinstance(why.value.partial, sw.Study) and why.value.partial.missing_runs == 60 - len(why.value.partial.cells)
    # Before the new one began, the folder holds the old one's.
    monkeypatch.setattr("seekwise._native.study", interrupted)
    with pytest.raises(KeyboardInterrupt) as early:
        sw.study(sw.Text(STUDY), out="o", force=True)
    assert not isinstance(early.value, sw.Interrupted)


def test_control_c_ends_power_cuts() -> None:
    told: list[int] = []
    with interrupted_when(lambda: told) as ended, pytest.raises(KeyboardInterrupt):
        sw.power_cut("random-write", on=DRIVE, cuts=1000, runtime="10000h", progress=lambda _total, done, _unit, _doing: told.append(done))
    assert ended()


def test_control_c_keeps_the_points_of_a_fit(here: Path) -> None:
    # Long enough that a point takes as long as a look for Ctrl-C.
    file = trace(here, 8000)
    journal = Path("f.toml.journal")
    asked = {"drive": "atlas-10k-v-300", "only": ["overhead"], "generations": 2, "points": 60, "out": "f.toml"}
    with interrupted_when(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 3) as ended, pytest.raises(sw.Interrupted, match="beside f.toml"):
        sw.fit(file, **asked)  # type: ignore[arg-type]
    assert ended() and not Path("f.toml").exists()
    kept = journal.read_bytes()
    again = sw.fit(file, resume=True, **asked)  # type: ignore[arg-type]
    assert set(kept.splitlines()) <= set(journal.read_bytes().splitlines())
    assert sw.fit(file, force=True, **asked).profile == again.profile  # type: ignore[arg-type]


def test_control_c_keeps_the_points_of_a_fit_that_goes_nowhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Long enough that a point takes as long as a look for Ctrl-C.
    file = trace(here, 8000)
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    asked = {"drive": "atlas-10k-v-300", "only": ["overhead"], "generations": 2, "points": 60}

    def tried() -> bool:
        return any(journal.read_bytes().count(b"\n") > 3 for journal in here.glob("seekwise-*/*.journal"))

    with interrupted_when(tried) as ended, pytest.raises(sw.Interrupted, match="until the process ends") as why:
        sw.fit(file, **asked)  # type: ignore[arg-type]
    assert ended() and why.value.partial is None
    place = re.search(r"out='([^']*)'", str(why.value))
    assert place is not None
    again = sw.fit(file, resume=True, out=place[1], **asked)  # type: ignore[arg-type]
    assert sw.fit(file, **asked).profile == again.profile  # type: ignore[arg-type]


def test_progress_is_told_and_its_exceptions_end_the_work() -> None:
    told: list[tuple[int | None, int, str, str]] = []

    def keep(total: int | None, done: int, unit: str, doing: str) -> None:
        told.append((total, done, unit, doing))

    sw.run("random-read", on=DRIVE, runtime="2000s", progress=keep)
    # The run and its warm-up.
    assert told[-1][0] == 2005 and told[-1][2] == "virtual seconds"
    assert [now[1] for now in told] == sorted(now[1] for now in told)

    def enough(*_: object) -> None:
        raise LookupError("enough")

    # The whole run would take an hour.
    with pytest.raises(LookupError, match="enough"):
        sw.run("random-read", on=DRIVE, runtime="10000h", progress=enough)


def test_warnings_come_by_logging(caplog: pytest.LogCaptureFixture, here: Path) -> None:
    sw.run("random-read", on=DRIVE, runtime="1s", log="a.parquet")
    sw.run("random-read", on=DRIVE, runtime="1s", log="b.parquet", force=True)
    with caplog.at_level("INFO", logger="seekwise"):
        sw.run("random-read", on=DRIVE, runtime="1s", log="b.parquet", force=True)
    assert any("overwriting" in record.getMessage() for record in caplog.records)


def test_html_is_escaped_short_and_without_script(here: Path) -> None:
    fio = sw.fio("[<b>a</b>]\nrw=randread\nsize=1g\nruntime=1\ntime_based\n")
    run = sw.run(fio, on=DRIVE, out="kept")
    comparison = sw.compare("random-read", on=DRIVE, vary={"job.depth": [1, 4]}, runtime="1s", runs=2)
    cuts = sw.power_cut("random-write", on=DRIVE, cuts=5, runtime="1s")
    study = sw.open("kept")
    for result in (run, comparison, cuts, study):
        html = result._repr_html_()
        assert "<script" not in html and "<b>a" not in html and html.count("<tr>") <= 21, html
        assert html.count("<p>") == html.count("</p>") and html.count("<div") == html.count("</div>")
    assert run.report()._repr_html_().startswith("<iframe srcdoc=")
    assert "faster" in comparison._repr_html_() or "slower" in comparison._repr_html_()


def test_results_draw_into_axes(here: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = pytest.importorskip("matplotlib.figure").Figure
    drawn = sw.run("random-read", on=DRIVE, runtime="1s", out="kept")
    axes = figure().subplots()
    assert drawn.plot(axes) is axes and max(axes.lines[0].get_ydata()) == 1.0
    compared = sw.compare("random-read", on=DRIVE, vary={"job.depth": [1, 4, 8]}, runtime="1s", runs=3).plot(figure().subplots())
    assert [label.get_text() for label in compared.get_yticklabels()] == ["job.depth=4: iops", "job.depth=8: iops"]
    studied = sw.study(sw.Text(STUDY), out="o")
    assert isinstance(studied, sw.Study)
    study = studied.plot(figure().subplots())
    assert len(study.get_yticklabels()) == 1 and "ratio" in study.get_xlabel()
    kept = sw.open("kept")
    assert isinstance(kept, sw.Study)
    assert "response time" in kept.plot(figure().subplots()).get_xlabel()
    cuts = sw.power_cut("random-write", on=DRIVE, cuts=5, runtime="1s").plot(figure().subplots())
    assert max(cuts.lines[0].get_ydata()) > 0
    measured = sw.validate(trace(here), drive="atlas-10k-v-300").plot(figure().subplots())
    assert len(measured.lines[0].get_xdata()) == 400


def test_a_module_that_lies_in_the_current_folder_is_not_run(here: Path) -> None:
    for name in ("seekwise.py", "json.py", "fsspec.py", "tqdm.py"):
        (here / name).write_text("open('ran', 'w').close()\nraise SystemExit(3)\n")
    (here / "s.toml").write_text(STUDY)
    with sw.serve(DRIVE) as disk:
        assert "power on" in disk.status()
    python = str(Path(sys.executable).parent)
    alone = f"PATH={python}:$PATH seekwise sweep s.toml --out swept"
    ran = shell(alone, here)
    assert ran.returncode == 0, ran.stderr
    assert shell("seekwise report memory://lab/nothing", here).returncode == 2
    assert not (here / "ran").exists()


def test_html_has_all_data_escaped(here: Path) -> None:
    bad = "<img src=x onerror=alert(1)>\"'"
    from seekwise import _html

    interval = sw.Interval(1.0, None, None)
    finding = sw.Finding(
        metric=bad, from_=bad, to=bad, ratio=interval, verdict=bad, said=bad, refused=bad, why=bad, beside=(bad,), p=1, p_adjusted=1
    )
    run = sw.run("random-read", on=DRIVE, runtime="1s")
    data = run.to_dict() | {"job": bad, "target": bad}
    shown: list[Any] = [
        replace(run, json=json.dumps(data)),
        sw.Comparison('{"runs": 1}', "", (finding,), run.curve, run.curve, run.curve, None),
        sw.Study("{}", "", bad, bad, False, run.curve, run.curve, run.curve, here),
        sw.Review("{}", "", False, ((bad, sw.Study("{}", "", bad, bad, False, run.curve, run.curve, run.curve, here)),), here),
        sw.FitResult(json.dumps({"figures": [{"name": bad, "before": bad, "after": 1, "interval": None}]}), "", ""),
        sw.Search((bad,), (), (sw.Winner(((bad, bad),), (1.0,), ()),)),
        sw.CrashResult(json.dumps({"at_cuts": {bad: 1}}), ""),
        sw.Report(bad),
    ]
    for result in shown:
        assert "<img" not in result._repr_html_(), result
    for html in (_html.html_table([bad], [(bad,)], {bad: bad}), _html.paragraph(bad), _html.frame(bad)):
        assert "<img" not in html and "\"'" not in html


def test_the_program_is_of_the_same_build() -> None:
    said = shell("seekwise --version", Path.cwd()).stdout
    assert sw.__version__ in said and sw.__build__ in said
    assert shell("seekwise run x --on y", Path.cwd()).returncode == 2
    assert shell("seekwise drives nothing-like-that", Path.cwd()).returncode == 2
    ran = subprocess.run([sys.executable, "-m", "seekwise", "drives", "--json"], capture_output=True, check=True)
    assert ran.stdout.startswith(b"[") or ran.stdout.startswith(b"{")


def test_a_short_run_does_not_wait_for_the_next_look() -> None:
    def idle() -> float:
        start, worked = time.monotonic(), time.process_time()
        sw.run("random-read", on="fireball-plus-as-30", runtime="0.1s", progress=False)
        return (time.monotonic() - start) - (time.process_time() - worked)

    # The interpreter is looked after every 20 ms, and the run takes a few. The best of many: other work may hold any of
    # them up, and on a slow machine the work itself takes longer, which is not counted.
    assert min(idle() for _ in range(50)) < 0.01


def test_memory_is_flat_over_many_runs() -> None:
    import resource

    def most() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def runs(count: int) -> None:
        for seed in range(count):
            sw.run("random-read", on="fireball-plus-as-30", runtime="0.1s", seed=seed, progress=False)

    runs(100)
    before = most()
    runs(300)
    assert most() - before < 4 << 10, f"KiB: {before} before, {most()} after"
