"""Tests of tables in pyarrow, pandas, polars and duckdb: equal figures, their units, and no copy."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import seekwise as sw
from conftest import DRIVE

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def run() -> sw.RunResult:
    # Reads of a cached block: two batches of requests in little time.
    fio = sw.fio("[a]\nrw=read\nbs=512\nsize=64k\nloops=600\n")
    return sw.run(fio, on=DRIVE, requests=True)


@pytest.fixture(scope="module")
def comparison() -> sw.Comparison:
    return sw.compare("random-read", on=DRIVE, vary={"job.depth": [1, 4, 8]}, runtime="1s", runs=3)


def requests(run: sw.RunResult) -> sw.Table:
    assert run.requests is not None
    return run.requests


def test_requests_come_in_batches_and_add_up(run: sw.RunResult) -> None:
    table = pa.table(requests(run))
    assert table.num_rows == run.all.ios == len(requests(run)) > 65_536
    assert [len(chunk) for chunk in table.column("lba").chunks][0] == 65_536
    frame = table.to_pydict()
    parts = table.column_names[9:]
    for row in (0, 65_535, 65_536, table.num_rows - 1):
        response = frame["finished_ns"][row] - frame["issued_ns"][row]
        assert sum(frame[part][row] for part in parts) == response > 0
        assert requests(run).row(row) == tuple(frame[name][row] for name in table.column_names)


def test_units_are_in_the_metadata(run: sw.RunResult, comparison: sw.Comparison) -> None:
    field = pa.table(requests(run)).schema.field("finished_ns")
    assert field.metadata[b"unit"] == b"ns of virtual time" and b"done" in field.metadata[b"meaning"]
    cells = pa.table(comparison.cells).schema
    assert cells.field("p99_ms").metadata[b"unit"] == b"ms"
    assert cells.field("iops").metadata[b"unit"] == b"requests/s"
    assert comparison.cells.units["bytes_per_s"] == "bytes/s"
    assert "response time" in comparison.cells.meanings["read_p99_ms"]
    assert pa.schema(comparison.cells) == cells


def test_nothing_is_copied(run: sw.RunResult) -> None:
    def addresses(table: Any) -> list[int]:
        return [chunk.buffers()[1].address for column in table.columns for chunk in column.chunks]

    assert addresses(pa.table(requests(run))) == addresses(pa.table(requests(run)))
    polars = pytest.importorskip("polars")
    series = polars.DataFrame(requests(run))["lba"]
    ours = [chunk.buffers()[1].address for chunk in pa.table(requests(run)).column("lba").chunks]
    # polars hands on what it has, without a copy either.
    theirs = [chunk.buffers()[1].address for chunk in pa.chunked_array(series).chunks]
    assert theirs == ours


def test_the_memory_outlives_the_result() -> None:
    table = pa.table(requests(sw.run("random-read", on=DRIVE, runtime="1s", requests=True)))
    again = requests(sw.run("random-read", on=DRIVE, runtime="1s", requests=True))
    assert table.to_pydict() == pa.table(again).to_pydict()


def test_pandas_polars_and_duckdb_read_them(run: sw.RunResult, comparison: sw.Comparison) -> None:
    table = pa.table(requests(run))
    pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pandas", "polars", "duckdb"))
    expected = sum(table.column("finished_ns").to_pylist())
    assert int(pandas.DataFrame.from_arrow(requests(run))["finished_ns"].sum()) == expected
    assert polars.DataFrame(requests(run))["finished_ns"].sum() == expected
    log = requests(run)
    assert duckdb.sql("select sum(finished_ns), count(*) from log").fetchall() == [(expected, len(log))]
    cells = polars.DataFrame(comparison.cells)
    assert cells["job.depth"].to_list() == [1, 1, 1, 4, 4, 4, 8, 8, 8]
    assert cells["write_mean_ms"].null_count() == 9, "nothing was written, so there are no times"


def test_intervals_and_curves(run: sw.RunResult, comparison: sw.Comparison) -> None:
    intervals = pa.table(comparison.intervals).to_pylist()
    assert [row["verdict"] for row in intervals] == [finding.verdict for finding in comparison.findings]
    assert [row["ratio"] for row in intervals] == [finding.ratio.estimate for finding in comparison.findings]
    curve = pa.table(run.curve).to_pydict()
    assert sum(curve["count"]) == run.all.ios and curve["share"][-1] == 1.0
    assert curve["response_ns"] == sorted(curve["response_ns"])
    assert set(pa.table(comparison.curves).to_pydict()["cell"]) == {0, 1, 2}


def test_tables_are_pickled_and_compared(run: sw.RunResult, comparison: sw.Comparison) -> None:
    for table in (requests(run), comparison.cells, comparison.intervals, run.curve):
        again = pickle.loads(pickle.dumps(table))
        assert again == table and hash(again) == hash(table) and again.units == table.units
    assert comparison.cells != comparison.intervals
    with pytest.raises(IndexError):
        comparison.cells.row(9)
    assert len(comparison.cells.rows_from(7, 20)) == 2
