"""Tests of the lists of what is built in, and of tables as sequences: they hold what the program's commands list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import seekwise as sw
from conftest import shell


def listed(command: str, here: Path) -> Any:
    ran = shell(f"seekwise {command} --json", here)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_drives_are_those_of_the_program(here: Path) -> None:
    table, drives = sw.drives(), listed("drives", here)
    assert table["name"] == [drive["name"] for drive in drives]
    for column in ("title", "year", "interface", "capacity_gb", "rpm", "heads", "cache_kib", "depth", "outer_mb_s"):
        assert table[column] == [drive[column] for drive in drives], column
    assert sw.drives("seagate")["name"] == [drive["name"] for drive in listed("drives seagate", here)]
    assert sw.drives("exos-x18")["name"] == ["exos-x18"] and table.units["capacity_gb"] == "GB"
    with pytest.raises(sw.SeekwiseError) as unknown:
        sw.drives("exos-x81")
    assert unknown.value.suggestion == "exos-x18"


def test_jobs_keys_and_studies_are_those_of_the_program(here: Path) -> None:
    assert sw.patterns()["name"] == [job["name"] for job in listed("patterns", here)]
    assert {"pattern", "fio job", "scene"} == set(sw.patterns()["kind"])
    sections = listed("keys", here)
    assert sw.keys()["key"] == [entry["key"] for section in sections for entry in section["keys"]]
    assert sw.keys("fsync")["key"][0] == "driver.flush"
    with pytest.raises(sw.SeekwiseError, match="zzz"):
        sw.keys("zzz")
    studies = sw.studies()
    everything = [part for study in listed("studies", here) for part in [study, *study["parts"]]]
    assert dict(zip(studies["name"], studies["runs"], strict=True)) == {it["name"]: it["runs"] for it in everything}
    assert dict(zip(studies["name"], studies["review"], strict=True))["d-modes"] == "drivers"


def test_a_table_is_a_sequence_of_rows_with_named_columns() -> None:
    table = sw.drives()
    rows = list(table)
    assert len(rows) == len(table) and rows[0] == table[0] == table.row(0) and rows[-1] == table[-1]
    assert [row[0] for row in table] == table["name"]
    for number in (len(table), -len(table) - 1):
        with pytest.raises(IndexError, match="row"):
            print(table[number])
    with pytest.raises(KeyError, match="capacity_gb"):
        print(table["capacity"])
    with pytest.raises(TypeError, match="number of a row, or the name of a column"):
        print(table[1.5])  # type: ignore[call-overload]
    html = sw.keys()._repr_html_()
    assert html.count("<tr>") == 21 and f"{len(sw.keys()) - 20:,} more rows" in html
