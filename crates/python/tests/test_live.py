"""Tests of served disks and of the crash laboratory, with real software at work on them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import seekwise as sw
from conftest import DRIVE, missing, no_file_system, shell

#: What was promised is there.
CHECK = '[ -s "$SEEKWISE_PROMISES" ] || exit 0; cmp -n 4096 /dev/zero "$SEEKWISE_MOUNT/kept" || exit 11'


def test_a_disk_takes_orders_and_gives_a_receipt(here: Path) -> None:
    with sw.serve(DRIVE, set={"drive.cache.write_back": True}, speed=100) as disk:
        assert disk.uri is not None and disk.uri.startswith("nbd+unix:///?socket=")
        assert "power on" in disk.status()
        assert disk.set("drive.cache.write_back", False).startswith("drive.cache.write_back = false")
        assert disk.power.cut().startswith("power cut")
        assert disk.power.on().startswith("power is back")
        assert disk.figures()["power_cuts"] == "1"
        address = f"unix:{disk.uri.partition('socket=')[2]}"
        ran = shell(f"seekwise run random-read --on nbd:{address} --runtime 2s --json", here)
        assert ran.returncode == 0, ran.stderr
        place = disk.control.parent
    assert disk.receipt["power_cuts"] == 1 and disk.receipt["reads"] > 0
    assert not place.exists(), "nothing stays behind"
    assert disk.command.startswith(f"seekwise serve {DRIVE} --nbd unix:")


def test_what_is_refused_says_why() -> None:
    with pytest.raises(sw.SeekwiseError, match="barracuda"):
        sw.serve("baracuda-7200.7").__enter__()
    with sw.serve(DRIVE) as disk:
        with pytest.raises(sw.SeekwiseError, match="write_bac"):
            disk.set("drive.cache.write_bac", 1)
    with pytest.raises(ConnectionError):
        disk.status()
    with pytest.raises(sw.SeekwiseError, match="check"):
        sw.crash(DRIVE)


def test_an_error_in_the_block_ends_the_server() -> None:
    disk = sw.serve(DRIVE)
    with pytest.raises(ZeroDivisionError), disk:
        assert disk.control.exists()
        1 / 0
    assert not disk.control.exists() and disk.receipt == {}
    assert disk._process._process.poll() is not None, "it has ended"


def test_a_disk_of_another_server_is_not_taken(here: Path) -> None:
    with sw.serve(DRIVE) as mine:
        with pytest.raises(sw.SeekwiseError, match="another server"):
            sw.serve(DRIVE, control=mine.control).__enter__()
        assert "power on" in mine.status()


def test_a_recipe_is_judged() -> None:
    if lacks := missing("qemu-io"):
        pytest.skip(lacks)
    with sw.crash(DRIVE, recipe="raw-flush", cuts=30, seed=2, speed=20) as lab:
        with pytest.raises(sw.SeekwiseError, match="of its own"):
            lab.promise("mine")
    assert lab.result.consistent and sum(lab.result.at_cuts.values()) == 30 and lab.result.disk_broke == 0
    assert lab.result.at_recovery_cuts == []
    assert lab.result.command is not None and "--recipe raw-flush" in lab.result.command
    with sw.crash(DRIVE, recipe="raw-flush", cuts=60, speed=20, set={"drive.faults.early_flush": True}) as lies:
        pass
    assert not lies.result.consistent and lies.result.disk_broke > 0


def test_only_a_cut_of_its_recovery_breaks_a_program() -> None:
    if lacks := no_file_system():
        pytest.skip(lacks)
    with sw.crash(DRIVE, recipe="log-store-empties-at-once", cuts=8, depth=2, recovery_cuts=6, speed=20) as lab:
        pass
    assert lab.result.at_cuts["lost_promised"] == 0 and not lab.result.consistent
    (recoveries,) = lab.result.at_recovery_cuts
    assert recoveries["lost_promised"] > 0


@pytest.mark.parametrize("flushes", [True, False])
def test_the_block_is_the_workload(flushes: bool) -> None:
    if lacks := no_file_system():
        pytest.skip(lacks)
    with sw.crash(DRIVE, fs="ext4", check=CHECK, cuts=60, speed=20) as lab:
        assert lab.mount is not None
        with open(lab.mount / "kept", "wb") as kept:
            kept.write(bytes(4096))
            kept.flush()
            if flushes:
                os.fsync(kept.fileno())
            lab.promise("the file is there")
            if not flushes:
                os.fsync(kept.fileno())
    assert lab.result.consistent == flushes, lab.result
    assert (lab.result.at_cuts["lost_promised"] > 0) == (not flushes)
