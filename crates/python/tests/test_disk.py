"""Tests of the modelled disk for simulators: its answers, its refusals, its copies, and a simulator that uses it."""

from __future__ import annotations

import pickle
import re
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import seekwise as sw
from conftest import DRIVE

DOCS = Path(__file__).parents[3] / "docs"


def drained(disk: sw.Disk) -> list[sw.Completion]:
    """Lets the disk work until nothing is going on."""
    completions: list[sw.Completion] = []
    while (at := disk.next()) is not None:
        disk.advance(at)
        completions += disk.completions()
    return completions


def test_requests_are_answered_with_their_parts() -> None:
    disk = sw.Disk(DRIVE, seed=1)
    reads = [disk.submit(0, "read", lba, 8) for lba in (1_000_000, 150_000_000)]
    write = disk.submit(0, "write", lba=2_000_000, sectors=64)
    assert [*reads, write] == [1, 2, 3]
    done = drained(disk)
    # The write is acknowledged from the buffer.
    assert [completion.tag for completion in done] == [3, 1, 2]
    for completion in done:
        assert completion.status == "done" and completion.response_ns == completion.finished_ns - completion.submitted_ns
        assert sum(completion.parts_ns.values()) == completion.response_ns > 0
    assert done[1].parts_ns["seek"] > 0 and done[0].parts_ns["seek"] == 0
    assert pickle.loads(pickle.dumps(done)) == done and hash(done[0]) != hash(done[1])


def test_a_full_disk_says_so() -> None:
    disk = sw.Disk(DRIVE)
    taken = [disk.submit(0, "read", at << 16, 8) for at in range(64)]
    assert [tag is not None for tag in taken].count(True) == disk.limits.depth == 32
    assert taken[32:] == [None] * 32
    at = disk.next()
    assert at is not None
    disk.advance(at)
    while not (completions := disk.completions()):
        later = disk.next()
        assert later is not None
        disk.advance(later)
    assert disk.submit(disk.now_ns, "read", 0, 8) == 33 and completions[0].tag in taken


def test_a_power_cut_and_the_landings() -> None:
    disk = sw.Disk(DRIVE, landings=True)
    first = disk.submit(0, "write", 4096, 16)
    drained(disk)
    assert {(it.tag, it.kind) for it in disk.landings()} == {(first, "landed")}
    second = disk.submit(disk.now_ns, "write", 8192, 16)
    while not disk.completions():
        at = disk.next()
        assert at is not None
        disk.advance(at)
    disk.control("power-cut")
    lost = disk.landings()
    assert [(it.tag, it.lba, it.sectors, it.kind, it.role) for it in lost] == [(second, 8192, 16, "discarded", "copy")]
    off = disk.submit(disk.now_ns, "read", 8192, 16)
    assert [(it.tag, it.status) for it in disk.completions()] == [(off, "power-lost")]
    disk.control("power-on", disk.now_ns + 10**9)
    again = disk.submit(disk.now_ns, "read", 8192, 16)
    assert [(it.tag, it.status) for it in drained(disk)] == [(again, "done")]


def test_settings_and_aborts() -> None:
    disk = sw.Disk(sw.stack(DRIVE, {"driver": "linux-mq-deadline"}), settings={"drive.cache.segments": 4})
    assert disk.limits.volatile_cache
    disk.set("drive.cache.write_back", False)
    drained(disk)
    assert not disk.limits.volatile_cache
    tags = [disk.submit(disk.now_ns, "read", at << 20, 8) for at in range(40)]
    last = tags[-1]
    assert last is not None
    disk.abort(last)
    assert {completion.tag: completion.status for completion in drained(disk)}[last] == "aborted"


def scripted(disk: sw.Disk, first: int, last: int) -> list[sw.Completion]:
    """Reads, writes and flushes that depend on their numbers alone."""
    completions: list[sw.Completion] = []
    for at in range(first, last):
        now = at * 1_500_000
        if at % 17 == 5:
            disk.submit(now, "flush")
        else:
            disk.submit(now, "write" if at % 3 else "read", at * 7919 * 64 % 200_000_000, 8 + at % 5, fua=at % 11 == 0)
        if at == 150:
            disk.set("drive.cache.write_back", False)
        if at % 4 == 0:
            completions += disk.completions()
    return completions


def test_a_disk_is_saved_and_restored_exactly(here: Path) -> None:
    disk = sw.Disk(DRIVE, seed=7, landings=True, savable=True)
    scripted(disk, 0, 200)
    saved = disk.save()
    copies = [sw.Disk.restore(saved), pickle.loads(pickle.dumps(disk))]
    ends = [(scripted(it, 200, 400), drained(it), it.landings(), it.now_ns, it.save()) for it in (disk, *copies)]
    assert ends[0] == ends[1] == ends[2] and len(ends[0][0]) > 30
    assert len(saved) < 200 * 20
    with pytest.raises(sw.SeekwiseError, match="sum"):
        sw.Disk.restore(saved[:-1])
    # A disk of another version, with its sum: its answers might differ.
    head, _, body = saved.partition(b"\n")
    body = body.partition(b"\n")[2].replace(sw.__version__.encode(), b"0.1.9", 1).replace(sw.__build__.encode(), b"0" * 12, 1)
    other = head + b"\n" + sha256(body).hexdigest().encode() + b"\n" + body
    with pytest.raises(sw.SeekwiseError, match=rf"saved by seekwise 0\.1\.9, build 000.*this is {re.escape(sw.__version__)}"):
        sw.Disk.restore(other)
    with pytest.raises(sw.SeekwiseError, match=r"savable=True"):
        sw.Disk(DRIVE).save()
    (here / "s.toml").write_text(f'drive = "{DRIVE}"\n')
    of_file = sw.Disk("s.toml", savable=True).save()
    (here / "s.toml").write_text('drive = "caviar-wd400jb"\n')
    with pytest.raises(sw.SeekwiseError, match="another stack"):
        sw.Disk.restore(of_file)


def test_late_calls_change_nothing() -> None:
    often, seldom = sw.Disk(DRIVE), sw.Disk(DRIVE)
    for disk in (often, seldom):
        for at in range(20):
            disk.submit(0, "read", at * 10_000_000, 8)
    many = drained(often)
    seldom.advance(10**10)
    assert seldom.completions() == many and len(many) == 20


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    disk: Any = sw.Disk(DRIVE)
    disk.advance(5)
    for call, expected in (
        (lambda: disk.submit(4, "read", 0, 8), "now_ns: 4: time never runs back; expected 5 or later"),
        (lambda: disk.submit(-1, "read", 0, 8), "now_ns: -1: expected a whole number"),
        (lambda: disk.submit(1.5, "read", 0, 8), "now_ns: 1.5: expected a whole number"),
        (lambda: disk.submit(5, "raed", 0, 8), "op: 'raed': expected one of read, write"),
        (lambda: disk.submit(5, None, 0, 8), "op: None: expected one of"),
        (lambda: disk.submit(5, "read", 0), "sectors: 0: expected 1 to 65536"),
        (lambda: disk.submit(5, "read", 0, 65_537), "sectors: 65537"),
        (lambda: disk.submit(5, "read"), "lba: is missing"),
        (lambda: disk.submit(5, "read", 1 << 60, 8), "lba: 1152921504606846976: expected an end"),
        (lambda: disk.submit(5, "flush", 0, 8), "a flush has none"),
        (lambda: disk.advance("now"), "now_ns: 'now'"),
        (lambda: disk.control("explode"), "control: 'explode': expected one of power-cut"),
        (lambda: disk.abort(7), "tag: 7: no such request"),
        (lambda: disk.set("drive.colour", "red"), "drive.colour"),
        (lambda: disk.set("drive.cache.write_back", "maybe"), "write_back: maybe: the value does not fit"),
        (lambda: disk.set("landings", True), r"expected Disk\(…, landings=True\)"),
        (lambda: disk.landings(), r"landings: are off; expected Disk\(…, landings=True\)"),
        (lambda: sw.Disk("exos-x81"), "exos-x18"),
        (lambda: sw.Disk(DRIVE, settings={"job.depth": 3}), "there is no job"),
        (lambda: sw.Disk(DRIVE, settings="job.depth=3"), "settings: 'job.depth=3': expected keys"),  # type: ignore[arg-type]
        (lambda: sw.Disk(DRIVE, seed=-1), "seed: -1"),
        (lambda: sw.Disk.restore(b"?"), "data: is no saved disk"),
    ):
        with pytest.raises(sw.SeekwiseError, match=expected):
            call()
    assert disk.next() is None and disk.now_ns == 5 and disk.submit(5, "read", 0, 8) == 1
    past_the_end = disk.submit(5, "read", 1 << 40, 8)
    assert {it.tag: it.status for it in drained(disk)}[past_the_end] == "out-of-range"


def test_the_simulator_of_the_manual_runs() -> None:
    pytest.importorskip("simpy")
    (block,) = re.findall(r"^```python\n(import simpy.*?)^```", (DOCS / "embed.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len([line for line in block.splitlines() if line.strip() and not line.startswith("#")]) < 20
    known: dict[str, Any] = {}
    exec(compile(block, "docs/embed.md", "exec"), known)
    assert known["disk"].submit(known["disk"].now_ns, "flush") == 41 and known["env"].now > 10**8
    again: dict[str, Any] = {}
    exec(compile(block, "docs/embed.md", "exec"), again)
    assert again["env"].now == known["env"].now


def closed_loop(disk: sw.Disk, requests: int, depth: int) -> int:
    """Keeps `depth` reads in flight; returns the instant of the end."""
    place, offered = 1, 0
    while True:
        while offered < requests and offered - len(served) < depth:
            place = place * 48271 % 2147483647
            disk.submit(disk.now_ns, "read", place % 250_000 * 8, 8)
            offered += 1
        at = disk.next()
        if at is None:
            return disk.now_ns
        disk.advance(at)
        served.extend(disk.completions())


served: list[sw.Completion] = []


def test_requests_a_second_are_reported(record_property: Any) -> None:
    """Measures and judges nothing but the answers: times are the machine's."""
    served.clear()
    begin = time.perf_counter()
    closed_loop(sw.Disk(DRIVE), 20_000, 1)
    rate = 20_000 / (time.perf_counter() - begin)
    record_property("requests_per_s", round(rate))
    assert len(served) == 20_000 and all(completion.status == "done" for completion in served)
