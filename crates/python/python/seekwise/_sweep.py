"""Sweeps: a job with each combination of levels, in parts that an engine runs anywhere. A sweep's bytes are those of
`seekwise study`, whatever the engine, the number of workers, and the workers that were lost."""

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
from seekwise._calls import to_study_or_review
from seekwise._engines import Engine, Work, engine_by_name
from seekwise._error import SeekwiseError, keeping
from seekwise._native import Plan
from seekwise._progress import Progress, ProgressFunction
from seekwise._results import Study
from seekwise._setup import Job, PartWords, Settings, Stack, Target, Value, path_text, setup_call, to_words
from seekwise._stores import (
    RESULT_FILES,
    Store,
    UnusableFile,
    folder_until_exit,
    is_url,
    local_folder,
    printable_url,
    store_at,
)

#: A file's name.
File = str | os.PathLike[str]

#: The seconds that a part is to take: long compared with sending it, and short if it is lost.
PART_TARGET_S = 10.0

#: The bytes that the file of a part may have: its lines are some four times as many, and are all in memory at once.
PART_TARGET_BYTES = 32 << 20

#: The most bytes of the file with the number of cells in a part.
MAX_BATCH_FILE_BYTES = 1 << 10

#: An engine gets at least so many parts for each slot, so that the wait for the last part is short.
MIN_PARTS_PER_SLOT = 4

#: Missing parts are handed out so often. An engine that has lost a part each time will lose it again.
MAX_ROUNDS = 5


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


#: A setting's levels, or its only level, as `grid` takes them.
Levels = Value | Iterable[Value]


def grid(
    levels: Mapping[str, Levels] | None = None, *, on: File | Iterable[File] | None = None, **more: Levels
) -> Grid:
    """All combinations of the levels of dotted keys; `on` are drives. A text is one level."""
    varied: list[tuple[str, object]] = [] if on is None else [("drive", on)]
    varied += [*(levels or {}).items(), *more.items()]
    keys = [key for key, _ in varied]
    for key in keys:
        if keys.count(key) > 1:
            raise SeekwiseError(f"grid: {key} is given twice")
    all_levels = tuple((key, tuple(to_words(f"grid: {key}", values))) for key, values in varied)
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

    `out` is a folder, or an URL that fsspec opens (with `storage` as its options). Parts are kept there as they end:
    called again, after whatever end, a sweep makes only those that are missing. After Ctrl-C, `Interrupted.partial` has
    the runs of those that ended. `engine` is `threads`, `ray` (at `address`), or an object with its three methods.
    `batch` is the number of cells in a part; by default some ten seconds' worth.
    """
    drives = dict(grid.levels).get("drive")
    target = on if on is not None else (drives[0] if drives else None)
    if target is None:
        raise SeekwiseError("a sweep needs a drive: expected on=, here or in the grid")
    if isinstance(target, Stack) and drives:
        raise SeekwiseError("the grid has drives, and `on` is a stack: one of them would count for nothing")
    plan = Plan.of_setup(setup_call(job, target, set, seed, runtime), list(grid.levels), runs)
    return make_results(plan, path_text(out), engine, address, storage, batch, force, progress)


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
    return make_results(Plan.of_study(path_text(study)), path_text(out), engine, address, storage, batch, force, progress)


def make_results(
    plan: Plan,
    out: str,
    engine: str | Engine,
    address: str | None,
    storage: Mapping[str, Any] | None,
    batch: int | None,
    force: bool,
    progress: Progress,
) -> Study:
    """Runs the parts of a plan that are missing, and makes a result folder of all parts."""
    results_store = store_at(out, dict(storage or {}))
    check_same_plan(plan, out, results_store, force)
    if batch is not None and batch < 1:
        raise SeekwiseError(f"batch: {batch}; expected 1 cell or more in a part")
    parts_in = _parts_store(out, storage)
    running_engine = engine_by_name(engine, address) if isinstance(engine, str) else engine
    try:
        parts = plan.parts(batch or _choose_cells_per_part(plan, parts_in, getattr(running_engine, "slots", 1)))
        kept_message = f"the parts that ended are kept in {printable_url(out)}: the same call goes on"
        kept = keeping(kept_message, lambda: _study_so_far(plan, parts, parts_in, out))
        with _progress.progress_function(progress) as report, kept:
            files = _make_missing_parts(plan, parts, parts_in, running_engine, report)
    finally:
        # An engine with nothing left to do ends its threads.
        if isinstance(engine, str):
            running_engine.cancel()
    if is_url(out):
        return _finish_in_store(plan, parts, files, results_store)
    answer = plan.finish(local_folder(out), parts, files, force=True)
    return _to_study(plan, answer, out)


def _parts_store(out: str, storage: Mapping[str, Any] | None) -> Store:
    """The store of the parts, in `out`. It must be no link, which could lead to a folder of somebody else."""
    parts_place = f"{out.rstrip('/')}/parts"
    if not is_url(out) and os.path.islink(local_folder(parts_place)):
        raise SeekwiseError(f"{local_folder(parts_place)}: is a link; expected a folder, or none")
    return store_at(parts_place, dict(storage or {}))


def _to_study(plan: Plan, answer: Any, out: str) -> Study:
    """Makes a value of what the compiled part returns about a sweep."""
    command = f"printf %s {shlex.quote(plan.study)} | seekwise study - --out {shlex.quote(printable_url(out))} --json"
    study = to_study_or_review(answer, command)
    assert isinstance(study, Study), "a plan is of one study"
    return study


def _study_so_far(plan: Plan, parts: list[PartWords], parts_in: Store, out: str) -> Study | None:
    """The study of the parts that ended; its page is removed with the process. None if no part ended."""
    files, _ = _read_whole_parts(plan, parts, parts_in)
    ended = [part for part in parts if part[2] in files]
    if not ended:
        return None
    return _to_study(plan, plan.write_page_so_far(folder_until_exit(), ended, [files[part[2]] for part in ended]), out)


def _finish_in_store(plan: Plan, parts: list[PartWords], files: list[bytes], store: Store) -> Study:
    """Makes the result folder on this machine, and copies its files into a store. The folder is removed with the
    process."""
    folder = folder_until_exit()
    answer = plan.finish(folder, parts, files, force=True)
    for name in RESULT_FILES:
        store.write(name, Path(folder, name).read_bytes())
    return _to_study(plan, answer, folder)


def check_same_plan(plan: Plan, out: str, store: Store, force: bool) -> None:
    """Raises an error if `out` holds results of another plan, unless `force` says to replace them."""
    origin = store.read("made-from.json")
    if origin is None or force or sha256(origin).hexdigest() == plan.hash:
        return
    why = "holds results of another study, or of another build; expected another out, or force=True"
    raise SeekwiseError(f"{printable_url(out)}: {why}")


def _choose_cells_per_part(plan: Plan, parts_in: Store, slots: int) -> int:
    """Chooses the number of cells in a part: the one with which a sweep of this plan began here, else as many as take
    some seconds."""
    name = f"batch-{plan.hash[:16]}.json"
    try:
        kept = parts_in.read(name, MAX_BATCH_FILE_BYTES)
        if kept is not None:
            return _parse_cells_per_part(kept, plan.cells)
    except (UnusableFile, ValueError) as error:
        _log.warning("%s: %s: it is made again", name, error)
    start = time.monotonic()
    first_part = plan.run(plan.parts(1)[0])
    seconds = max(time.monotonic() - start, 1e-3)
    max_cells = max(1, plan.cells // (slots * MIN_PARTS_PER_SLOT))
    cells = min(max(1, int(PART_TARGET_S / seconds)), max(1, PART_TARGET_BYTES // len(first_part)), max_cells)
    # The number is kept, so that a sweep which begins later finds the same parts.
    parts_in.write(name, json.dumps({"cells": cells}).encode())
    return cells


def _parse_cells_per_part(content: bytes, max_cells: int) -> int:
    """Parses the number of cells in a part from its file."""
    try:
        cells = json.loads(content)["cells"]
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("it has no cells") from error
    if type(cells) is not int or not 1 <= cells <= max_cells:
        raise ValueError(f"cells are {cells!r}; expected 1 to {max_cells}")
    return cells


def _read_whole_parts(
    plan: Plan, parts: Iterable[PartWords], parts_in: Store
) -> tuple[dict[str, bytes], list[str]]:
    """Reads the files of parts that exist and are whole, by their names; and says what is wrong with those that are
    not."""
    kept_names = parts_in.names()
    files: dict[str, bytes] = {}
    faults: list[str] = []
    for part in parts:
        try:
            file = parts_in.read(part[2], plan.max_part_bytes(part)) if part[2] in kept_names else None
        except UnusableFile as error:
            faults.append(str(error))
            continue
        fault = None if file is None else plan.part_fault(part, file)
        if fault is not None:
            faults.append(fault)
        elif file is not None:
            files[part[2]] = file
    return files, faults


def _make_missing_parts(
    plan: Plan, parts: list[PartWords], parts_in: Store, engine: Engine, report: ProgressFunction | None
) -> list[bytes]:
    """Makes the parts that are missing; returns the files of all parts, in order."""
    files, faults = _read_whole_parts(plan, parts, parts_in)
    work = Work(plan.text, parts_in)
    for _ in range(MAX_ROUNDS):
        for fault in faults:
            _log.warning("%s: this part is made again", fault)
        missing = [part for part in parts if part[2] not in files]
        if not missing:
            return [files[part[2]] for part in parts]
        try:
            _run_parts(plan, work, missing, engine, report)
        except BaseException:
            engine.cancel()
            raise
        new_files, faults = _read_whole_parts(plan, missing, parts_in)
        files.update(new_files)
    lost = [part[2] for part in parts if part[2] not in files]
    if not lost:
        return [files[part[2]] for part in parts]
    raise SeekwiseError(f"{len(lost)} parts were lost {MAX_ROUNDS} times, such as {lost[0]}: what the engine runs does not keep")


def _run_parts(
    plan: Plan, work: Work, missing: list[PartWords], engine: Engine, report: ProgressFunction | None
) -> None:
    """Hands parts to the engine: at a time as many as it runs, and as many that wait there."""
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
                if report is not None:
                    report(total, done, "runs", "")
            if waiting:
                engine.submit(work, waiting.popleft())
        if not waiting:
            return
        engine.submit(work, waiting.popleft())
