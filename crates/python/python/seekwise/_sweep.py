"""Sweeps: a job with each combination of levels, in parts that an engine runs anywhere. A sweep's bytes are those of
`seekwise study`, whatever the engine, the number of workers, and the workers that were lost."""

from __future__ import annotations

import json
import logging
import os
import shlex
import time
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from seekwise import _checks, _progress
from seekwise._calls import to_study_or_review
from seekwise._engines import Engine, Work, engine_by_name
from seekwise._error import SeekwiseError, keeping
from seekwise._grid import File, Grid, GridPlanner, target_of, to_source
from seekwise._native import Plan
from seekwise._progress import Progress, ProgressFunction
from seekwise._results import Study
from seekwise._setup import Job, PartWords, Settings, Target, Text, path_text, setup_call
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

#: In a refused grid of at most so many cells, the one that cannot run is sought.
MAX_CELLS_TO_NAME = 1000

_log = logging.getLogger("seekwise")


@dataclass(frozen=True, slots=True)
class PlannedParts:
    """A plan in parts, and where their files are kept."""

    plan: Plan
    parts: list[PartWords]
    store: Store


@_checks.named
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
    """Runs a job with each cell of a grid, and keeps the runs as a result folder.

    Parameters:
        job: a pattern, a built-in scene, a file, or a text in memory (`fio`, `scene`).
        grid: the cells, as `grid` makes them.
        on: a drive, a profile, a stack file or a `stack`, if the grid has no drives.
        out: a folder, or a URL that fsspec opens, such as `s3://bucket/sweep`. Parts are kept there as they end: called
            again, after whatever end, a sweep makes only those that are missing.
        runs: runs of each cell, on seeds that all cells share.
        engine: `threads` (all cores), `ray` (the cluster at `address`, or processes of this machine), or an object with
            the three methods of `Engine`.
        address: the address of a Ray cluster; by default that of `RAY_ADDRESS`.
        storage: fsspec's options for `out`.
        batch: the number of cells in a part; by default some ten seconds' worth.
        set: dotted keys that all cells have.
        seed: the seed of all chance, a whole number.
        runtime: virtual time of a run, such as "5s"; by default the job's own.
        force: replaces results of another study in `out`.
        progress: a bar, none (False), or a function.

    Returns:
        a `Study`, whose bytes are equal for equal arguments, whatever the engine.

    Raises:
        SeekwiseError: a cell cannot run, and is named by its levels (`choose` leaves such cells out), or `out` holds
            other results.
        Interrupted: Ctrl-C; its `partial` has the runs of the parts that ended.

    >>> cells = sw.grid(on=["exos-x18", "wd140edfz"], **{"job.depth": [1, 8]})
    >>> swept = sw.sweep("random-read", cells, runs=2, runtime="1s", out="swept", progress=False)
    >>> swept.title, len(swept.cells)
    ('random-read, by drive and job.depth', 8)
    """
    plan = _plan_grid(job, grid, on, set, seed, runtime, runs)
    study = make_results(plan, path_text(out), engine, address, storage, batch, force, progress)
    if not isinstance(job, Text):
        return study
    # No shell line of `seekwise` has a job in memory.
    given = {"on": on, "out": printable_url(path_text(out)), "runs": runs, "set": set, "seed": seed, "runtime": runtime}
    words = [to_source(job), grid.to_source(), *(f"{name}={to_source(one)}" for name, one in given.items() if one is not None)]
    call = f"import seekwise as sw; print(sw.sweep({', '.join(words)}).json)"
    return replace(study, command=f"python3 -c {shlex.quote(call)}")


def _plan_grid(
    job: Job, grid: Grid, on: Target | None, set: Settings | None, seed: int, runtime: str | None, runs: int
) -> Plan:
    """The plan of all cells of a grid. An error about some of them names one."""
    target = target_of(on, grid.settings(next(iter(grid))))
    try:
        setup = setup_call(job, target, set, seed, runtime)
        return Plan.of_setup(setup, grid.factors(), runs)
    except SeekwiseError as error:
        if len(grid) == 1 or len(grid) > MAX_CELLS_TO_NAME:
            raise
        # Raises the refusal itself if no cell can run.
        _, refused = GridPlanner(job, grid, on, set, seed, runtime, runs).plans()
        if not refused:
            raise
        levels = ", ".join(f"{key}={level}" for key, level in refused[0].levels if key in grid.varied)
        why = f"{levels}: {refused[0].why}\n{len(refused)} of {len(grid)} cells cannot run; `choose` leaves them out"
        raise SeekwiseError(why, error.diagnostics) from error


@_checks.named
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
    """Runs the cells of a study in parts, on any engine.

    Parameters:
        study: a file, or the name of a built-in study.
        out: a folder, or a URL that fsspec opens. Parts are kept there as they end, and are not made again.
        engine: `threads`, `ray`, or an object with the three methods of `Engine`.
        address: the address of a Ray cluster; by default that of `RAY_ADDRESS`.
        storage: fsspec's options for `out`.
        batch: the number of cells in a part; by default some ten seconds' worth.
        force: replaces results of another study in `out`.
        progress: a bar, none (False), or a function.

    Returns:
        a `Study` with the bytes that `seekwise study --fixed` would write.

    Raises:
        SeekwiseError: the study has an error, runs in real time, or `out` holds other results.
        Interrupted: Ctrl-C; its `partial` has the runs of the parts that ended.

    >>> sw.sweep_study("study.toml", out="swept-study", progress=False).title
    'The write cache, on and off'
    """
    return make_results(Plan.of_study(path_text(study)), path_text(out), engine, address, storage, batch, force, progress)


@contextmanager
def running(engine: str | Engine, address: str | None) -> Iterator[Engine]:
    """The engine, by its name or as it is. One that was made here ends its threads with the block."""
    running_engine = engine_by_name(engine, address) if isinstance(engine, str) else engine
    try:
        yield running_engine
    finally:
        if isinstance(engine, str):
            running_engine.cancel()


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
    parts_in = parts_store(out, storage)
    keep_study(plan, parts_in)
    with running(engine, address) as running_engine:
        slots = getattr(running_engine, "slots", 1)
        parts = plan.parts(batch or choose_cells_per_part(plan, parts_in, slots, plan.cells))
        planned = PlannedParts(plan, parts, parts_in)
        kept_message = f"the parts that ended are kept in {printable_url(out)}: the same call goes on"
        kept = keeping(kept_message, lambda: _study_so_far(planned, out))
        with _progress.progress_function(progress) as report, kept:
            (files,) = make_missing_parts([planned], running_engine, report)
    return finish_results(planned, files, out, results_store)


def kept_place(out: File | None, engine: str | Engine, address: str | None) -> str:
    """Where runs are kept: `out`, or a folder of this machine until the process ends, which a cluster cannot reach."""
    if out is not None:
        return path_text(out)
    if engine == "ray" and (address or os.environ.get("RAY_ADDRESS")):
        raise SeekwiseError("engine ray: workers of other machines reach no folder of this one; expected out=, a shared folder or a URL")
    return folder_until_exit()


def keep_study(plan: Plan, parts_in: Store) -> None:
    """Keeps the plan's study beside its parts, before the first of them: a store that cannot be written is noticed
    before anything runs."""
    parts_in.write(f"study-{plan.hash[:16]}.toml", plan.study.encode())


def parts_store(out: str, storage: Mapping[str, Any] | None) -> Store:
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


def _study_so_far(planned: PlannedParts, out: str) -> Study | None:
    """The study of the parts that ended; its page is removed with the process. None if no part ended."""
    plan, (files, _) = planned.plan, _read_whole_parts([planned])
    ended = [part for part in planned.parts if part[2] in files]
    if not ended:
        return None
    return _to_study(plan, plan.write_page_so_far(folder_until_exit(), ended, [files[part[2]] for part in ended]), out)


def finish_results(planned: PlannedParts, files: list[bytes], out: str, store: Store) -> Study:
    """Makes the result folder of all parts. For a URL it is made on this machine, until the process ends, and its files
    are copied into the store."""
    plan = planned.plan
    folder = folder_until_exit() if is_url(out) else local_folder(out)
    answer = plan.finish(folder, planned.parts, files, force=True)
    if is_url(out):
        for name in RESULT_FILES:
            store.write(name, Path(folder, name).read_bytes())
    return _to_study(plan, answer, out)


def check_same_plan(plan: Plan, out: str, store: Store, force: bool) -> None:
    """Raises an error if `out` holds results of another plan, unless `force` says to replace them."""
    origin = store.read("made-from.json")
    if origin is None or force or sha256(origin).hexdigest() == plan.hash:
        return
    why = "holds results of another study, or of another build; expected another out, or force=True"
    raise SeekwiseError(f"{printable_url(out)}: {why}")


def choose_cells_per_part(plan: Plan, parts_in: Store, slots: int, all_cells: int) -> int:
    """Chooses the number of cells in a part: the one with which a sweep of this plan began here, else as many as take
    some seconds. `all_cells` are those of all plans of the call."""
    name = f"batch-{plan.hash[:16]}.json"
    try:
        kept = parts_in.read(name, MAX_BATCH_FILE_BYTES)
        if kept is not None:
            return _parse_cells_per_part(kept, all_cells)
    except (UnusableFile, ValueError) as error:
        _log.warning("%s: %s: it is made again", name, error)
    start = time.monotonic()
    first_part = plan.run(plan.parts(1)[0])
    seconds = max(time.monotonic() - start, 1e-3)
    max_cells = max(1, all_cells // (slots * MIN_PARTS_PER_SLOT))
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
    planned: Iterable[PlannedParts], among: Container[str] | None = None
) -> tuple[dict[str, bytes], list[str]]:
    """Reads the files of parts that exist and are whole, by their names, of all or of those `among` these; and says what
    is wrong with those that are not."""
    files: dict[str, bytes] = {}
    faults: list[str] = []
    for one in planned:
        kept_names = one.store.names()
        for part in one.parts:
            name = part[2]
            if name not in kept_names or (among is not None and name not in among):
                continue
            try:
                file = one.store.read(name, one.plan.max_part_bytes(part))
            except UnusableFile as error:
                faults.append(str(error))
                continue
            fault = None if file is None else one.plan.part_fault(part, file)
            if fault is not None:
                faults.append(fault)
            elif file is not None:
                files[name] = file
    return files, faults


def make_missing_parts(
    planned: Sequence[PlannedParts], engine: Engine, report: ProgressFunction | None
) -> list[list[bytes]]:
    """Makes the parts that are missing; returns the files of all parts of each plan, in order."""
    files, faults = _read_whole_parts(planned)
    for made in range(MAX_ROUNDS + 1):
        for fault in faults:
            _log.warning("%s: this part is made again", fault)
        missing = [(one, part) for one in planned for part in one.parts if part[2] not in files]
        if not missing:
            return [[files[part[2]] for part in one.parts] for one in planned]
        if made == MAX_ROUNDS:
            break
        try:
            _run_parts(planned, missing, engine, report)
        except BaseException:
            engine.cancel()
            raise
        new_files, faults = _read_whole_parts(planned, {part[2] for _, part in missing})
        files.update(new_files)
    lost = [part[2] for _, part in missing]
    raise SeekwiseError(f"{len(lost)} parts were lost {MAX_ROUNDS} times, such as {lost[0]}: what the engine runs does not keep")


def _run_parts(
    planned: Sequence[PlannedParts],
    missing: Sequence[tuple[PlannedParts, PartWords]],
    engine: Engine,
    report: ProgressFunction | None,
) -> None:
    """Hands parts to the engine: at a time as many as it runs, and as many that wait there."""
    total = sum(one.plan.cells * one.plan.runs for one in planned)
    runs = {part[2]: (part[1] - part[0]) * one.plan.runs for one, part in missing}
    done = total - sum(runs.values())
    works = {one.plan.hash: Work(one.plan.text, one.store) for one in planned}
    waiting = deque((works[one.plan.hash], part) for one, part in missing)
    ended: set[str] = set()
    for _ in range(2 * getattr(engine, "slots", 32)):
        if waiting:
            engine.submit(*waiting.popleft())
    while True:
        for outcome in engine.as_completed():
            if outcome.error is not None and not outcome.lost:
                raise outcome.error
            name = outcome.part[2]
            if outcome.error is None and name not in ended:
                ended.add(name)
                done += runs[name]
                if report is not None:
                    report(total, done, "runs", "")
            if waiting:
                engine.submit(*waiting.popleft())
        if not waiting:
            return
        engine.submit(*waiting.popleft())
