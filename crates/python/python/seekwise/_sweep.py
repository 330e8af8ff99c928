"""Sweeps: a job with each combination of levels, in parts that an engine runs anywhere. The bytes of a sweep are those of
`seekwise study`, whatever the engine, the number of workers, and what became of them meanwhile."""

from __future__ import annotations

import itertools
import json
import logging
import os
import shlex
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from seekwise import _progress
from seekwise._calls import studied
from seekwise._engines import Engine, Work, engine_of
from seekwise._error import SeekwiseError, keeping
from seekwise._native import Plan
from seekwise._progress import Progress, ProgressFunction
from seekwise._results import Study
from seekwise._setup import Job, PartWords, Settings, Stack, Target, Value, path, setup_call, texts
from seekwise._stores import KEPT, Store, UnusableFile, folder_of, folder_until_exit, is_url, shown, store

#: A file's name.
File = str | os.PathLike[str]

#: Seconds that a part is to take: long enough that sending it is nothing, short enough that a lost one is not much.
PART_S = 10.0

#: Bytes of a part to aim at: its lines are some four times as many, and are in memory at once.
PART_BYTES = 32 << 20

#: Bytes of the file with the number of cells in a part, at most.
BATCH_BYTES = 1 << 10

#: Parts for each slot of an engine at least, so that the last one to end is not waited for long.
PARTS_A_SLOT = 4

#: How often what was lost is handed out again. An engine that loses a part so often loses each.
ROUNDS = 5


_log = logging.getLogger("seekwise")


@dataclass(frozen=True, slots=True)
class Grid:
    """Settings and their levels: each combination is a cell. The first setting varies slowest."""

    levels: tuple[tuple[str, tuple[str, ...]], ...]

    def __len__(self) -> int:
        count = 1
        for _, values in self.levels:
            count *= len(values)
        return count

    def __iter__(self) -> Iterator[dict[str, str]]:
        keys = [key for key, _ in self.levels]
        for values in itertools.product(*(values for _, values in self.levels)):
            yield dict(zip(keys, values, strict=True))


#: What `grid` takes of a setting: its levels, or its one level.
Levels = Value | Iterable[Value]


def grid(
    levels: Mapping[str, Levels] | None = None, *, on: File | Iterable[File] | None = None, **more: Levels
) -> Grid:
    """All combinations of the levels of dotted keys; `on` are drives. A text is one level."""
    given: list[tuple[str, object]] = [] if on is None else [("drive", on)]
    given += [*(levels or {}).items(), *more.items()]
    keys = [key for key, _ in given]
    for key in keys:
        if keys.count(key) > 1:
            raise SeekwiseError(f"grid: {key} is given twice")
    all_levels = tuple((key, tuple(texts(f"grid: {key}", values))) for key, values in given)
    for key, values in all_levels:
        if not values:
            raise SeekwiseError(f"grid: {key} has no level; expected one or more")
    return Grid(all_levels)


def sweep(
    job: Job,
    grid: Grid,
    *,
    on: Target | None = None,
    out: File,
    runs: int = 5,
    engine: str | Engine = "threads",
    address: str | None = None,
    storage: Mapping[str, Any] | None = None,
    batch: int | None = None,
    set: Settings | None = None,
    seed: int = 1,
    runtime: str | None = None,
    force: bool = False,
    progress: Progress = True,
) -> Study:
    """Runs a job with each combination of a grid, and keeps it as a result folder.

    `out` is a folder, or an URL that fsspec opens (with `storage` as its options). Parts are kept there as they end: called
    again, after whatever end, a sweep makes only those that are missing. After Ctrl-C, `Interrupted.partial` has the runs of
    those that ended. `engine` is `threads`, `ray` (at `address`), or
    an object with its three methods. `batch` is the number of cells in a part; by default some ten seconds' worth.
    """
    drives = dict(grid.levels).get("drive")
    target = on if on is not None else (drives[0] if drives else None)
    if target is None:
        raise SeekwiseError("a sweep needs a drive: expected on=, here or in the grid")
    if isinstance(target, Stack) and drives:
        raise SeekwiseError("the grid has drives, and `on` is a stack: one of them would count for nothing")
    plan = Plan.of_setup(setup_call(job, target, set, seed, runtime), list(grid.levels), runs)
    return run_plan(plan, path(out), engine, address, storage, batch, force, progress)


def sweep_study(
    study: File,
    *,
    out: File,
    engine: str | Engine = "threads",
    address: str | None = None,
    storage: Mapping[str, Any] | None = None,
    batch: int | None = None,
    force: bool = False,
    progress: Progress = True,
) -> Study:
    """Runs the cells of a study, a file or a built-in one, in parts, as `sweep` does."""
    return run_plan(Plan.of_study(path(study)), path(out), engine, address, storage, batch, force, progress)


def run_plan(
    plan: Plan,
    out: str,
    engine: str | Engine,
    address: str | None,
    storage: Mapping[str, Any] | None,
    batch: int | None,
    force: bool,
    progress: Progress,
) -> Study:
    """Makes what is missing of a plan's parts, and a result folder of all."""
    place = store(out, dict(storage or {}))
    admit(plan, out, place, force)
    if batch is not None and batch < 1:
        raise SeekwiseError(f"batch: {batch}; expected 1 cell or more in a part")
    parts_in = _store_of_parts(out, storage)
    runner = engine_of(engine, address) if isinstance(engine, str) else engine
    try:
        parts = plan.parts(batch or _batch(plan, parts_in, getattr(runner, "slots", 1)))
        kept = f"the parts that ended are kept in {shown(out)}: the same call goes on"
        with _progress.shown(progress) as tell, keeping(kept, lambda: _so_far(plan, parts, parts_in, out)):
            files = _made(plan, parts, parts_in, runner, tell)
    finally:
        # Of an engine that has nothing left to do, this ends its threads.
        if isinstance(engine, str):
            runner.cancel()
    if is_url(out):
        return _finished_elsewhere(plan, parts, files, place)
    answer = plan.finish(folder_of(out), parts, files, force=True)
    return _study(plan, answer, out)


def _store_of_parts(out: str, storage: Mapping[str, Any] | None) -> Store:
    """Where the parts are kept: a folder of ours, and no link of somebody else's to another."""
    place = f"{out.rstrip('/')}/parts"
    if not is_url(out) and os.path.islink(folder_of(place)):
        raise SeekwiseError(f"{folder_of(place)}: is a link; expected a folder, or none")
    return store(place, dict(storage or {}))


def _study(plan: Plan, answer: Any, out: str) -> Study:
    command = f"printf %s {shlex.quote(plan.study)} | seekwise study - --out {shlex.quote(shown(out))} --json"
    study = studied(answer, command)
    assert isinstance(study, Study), "a plan is of one study"
    return study


def _so_far(plan: Plan, parts: list[PartWords], parts_in: Store, out: str) -> Study | None:
    """The runs of the parts that ended; their page goes away with the process."""
    files, _ = _whole(plan, parts, parts_in)
    ended = [part for part in parts if part[2] in files]
    if not ended:
        return None
    return _study(plan, plan.so_far(folder_until_exit(), ended, [files[part[2]] for part in ended]), out)


def _finished_elsewhere(plan: Plan, parts: list[PartWords], files: list[bytes], place: Store) -> Study:
    """The result folder, made here and copied beside the parts. The one here goes away with the process."""
    folder = folder_until_exit()
    answer = plan.finish(folder, parts, files, force=True)
    for name in KEPT:
        place.write(name, Path(folder, name).read_bytes())
    return _study(plan, answer, folder)


def admit(plan: Plan, out: str, place: Store, force: bool) -> None:
    """An error where `out` holds results of something else."""
    made = place.read("made-from.json")
    if made is None or force or sha256(made).hexdigest() == plan.hash:
        return
    why = "holds results of another study, or of another build; expected another out, or force=True"
    raise SeekwiseError(f"{shown(out)}: {why}")


def _batch(plan: Plan, parts_in: Store, slots: int) -> int:
    """Cells in a part: as a sweep of this plan had it that began here, else as many as take some seconds."""
    name = f"batch-{plan.hash[:16]}.json"
    try:
        known = parts_in.read(name, BATCH_BYTES)
        if known is not None:
            return _cells(known, plan.cells)
    except (UnusableFile, ValueError) as error:
        _log.warning("%s: %s: it is made again", name, error)
    start = time.monotonic()
    part = plan.run(plan.parts(1)[0])
    seconds = max(time.monotonic() - start, 1e-3)
    most = max(1, plan.cells // (slots * PARTS_A_SLOT))
    cells = min(max(1, int(PART_S / seconds)), max(1, PART_BYTES // len(part)), most)
    # What is there decides: of two that begin at once, both find all parts of either.
    parts_in.write(name, json.dumps({"cells": cells}).encode())
    return cells


def _cells(known: bytes, most: int) -> int:
    """The number of cells in a part that a file has."""
    try:
        cells = json.loads(known)["cells"]
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("it has no cells") from error
    if type(cells) is not int or not 1 <= cells <= most:
        raise ValueError(f"cells are {cells!r}; expected 1 to {most}")
    return cells


def _whole(
    plan: Plan, parts: Iterable[PartWords], parts_in: Store
) -> tuple[dict[str, bytes], list[str]]:
    """The files of parts that are there and whole, and what is wrong with others."""
    there = parts_in.names()
    files: dict[str, bytes] = {}
    faults: list[str] = []
    for part in parts:
        try:
            file = parts_in.read(part[2], plan.most_bytes(part)) if part[2] in there else None
        except UnusableFile as error:
            faults.append(str(error))
            continue
        fault = None if file is None else plan.fault(part, file)
        if fault is not None:
            faults.append(fault)
        elif file is not None:
            files[part[2]] = file
    return files, faults


def _made(
    plan: Plan, parts: list[PartWords], parts_in: Store, engine: Engine, tell: ProgressFunction | None
) -> list[bytes]:
    """The files of all parts, those made that are missing."""
    files, faults = _whole(plan, parts, parts_in)
    work = Work(plan.text, parts_in)
    for _ in range(ROUNDS):
        for fault in faults:
            _log.warning("%s: this part is made again", fault)
        missing = [part for part in parts if part[2] not in files]
        if not missing:
            return [files[part[2]] for part in parts]
        try:
            _run(plan, work, missing, engine, tell)
        except BaseException:
            engine.cancel()
            raise
        more, faults = _whole(plan, missing, parts_in)
        files.update(more)
    lost = [part[2] for part in parts if part[2] not in files]
    if not lost:
        return [files[part[2]] for part in parts]
    raise SeekwiseError(f"{len(lost)} parts were lost {ROUNDS} times, such as {lost[0]}: what the engine runs does not keep")


def _run(
    plan: Plan, work: Work, missing: list[PartWords], engine: Engine, tell: ProgressFunction | None
) -> None:
    """Hands parts out, so many at a time as the engine runs, and as many again that wait."""
    cells = sum(end - first for first, end, _ in missing)
    done = (plan.cells - cells) * plan.runs
    total = plan.cells * plan.runs
    waiting = deque(missing)
    ended: set[str] = set()
    for _ in range(2 * getattr(engine, "slots", 32)):
        if waiting:
            engine.submit(work, waiting.popleft())
    while True:
        for outcome in engine.as_completed():
            if outcome.error is not None and not outcome.lost:
                raise outcome.error
            first, end, name = outcome.part
            if outcome.error is None and name not in ended:
                ended.add(name)
                done += (end - first) * plan.runs
                if tell is not None:
                    tell(total, done, "runs", "")
            if waiting:
                engine.submit(work, waiting.popleft())
        if not waiting:
            return
        engine.submit(work, waiting.popleft())
