"""The module's calls, in the words of the command line. Each hands texts to the library, which runs with the interpreter let
go, and wraps what comes back."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seekwise import _native, _progress
from seekwise._arguments import (
    CompareCall,
    FitCall,
    PowerCutCall,
    RunCall,
    StudyCall,
    ValidateCall,
)
from seekwise._error import keeping
from seekwise._figures import Interval
from seekwise._progress import Progress, ProgressFunction
from seekwise._results import (
    Comparison,
    ComparisonAnswer,
    Finding,
    FitResult,
    PowerCut,
    Review,
    RunResult,
    Study,
    StudyAnswer,
    Validation,
)
from seekwise._setup import Job, Settings, Target, Text, Value, path, settings, setup_call, texts, values, varied
from seekwise._stores import fetch, folder_for_now, folder_of, folder_until_exit, is_url, shown

#: A file's name.
File = str | os.PathLike[str]


def _file(given: File | None) -> str | None:
    return None if given is None else path(given)


def _of_folder(folder: File) -> str:
    """What Ctrl-C leaves of work whose runs go to a folder."""
    name = path(folder)
    return f"the runs that ended are kept in {name}: study({name!r}, out={name!r}, resume=True) goes on"


def _said(folder: str) -> tuple[int, int] | None:
    """When a folder said what makes its results; None where it does not."""
    try:
        made = os.stat(os.path.join(folder, "made-from.json"))
    except OSError:
        return None
    return made.st_ino, made.st_mtime_ns


def _partial(folder: str) -> Study | Review | None:
    """What a result folder holds so far; None where no run ended."""
    kept = open(folder_of(folder))
    parts = [part for _, part in kept.parts] if isinstance(kept, Review) else [kept]
    return kept if any(len(part.cells) for part in parts) else None


def run(
    job: Job,
    on: Target,
    *,
    set: Settings | None = None,
    seed: int = 1,
    runtime: str | None = None,
    destroy: str | None = None,
    trace_format: str | None = None,
    requests: bool = False,
    log: File | None = None,
    out: File | None = None,
    force: bool = False,
    max_memory: int | None = None,
    progress: Progress = True,
) -> RunResult:
    """Runs a job on a target once.

    `requests=True` keeps every request as a table in memory (168 bytes each), `log=` writes them to a Parquet file, `out=`
    keeps results and a report in a folder. A run is complete or nothing: Ctrl-C keeps none of it.
    """
    call = RunCall(
        setup=setup_call(job, on, set, seed, runtime, destroy, trace_format),
        log=_file(log),
        requests=requests,
        out=_file(out),
        force=force,
        max_memory=max_memory,
    )
    with _progress.shown(progress) as tell:
        json, command, page, table, curve = _native.run(call, tell)
    return RunResult(json, command, table, curve, page)


def replay(
    trace: File,
    on: Target,
    *,
    format: str | None = None,
    limit: str | None = None,
    loop: str | None = None,
    speed: float | None = None,
    map: str | None = None,
    set: Settings | None = None,
    seed: int = 1,
    requests: bool = False,
    log: File | None = None,
    out: File | None = None,
    force: bool = False,
    max_memory: int | None = None,
    progress: Progress = True,
) -> RunResult:
    """Plays a recorded trace on a target; the result's `certificate` says how it was read and how closely it was played.

    `limit` ends it after this much time. `loop`, `speed` and `map` are the keys of the same names below `trace.`; others go
    into `set`.
    """
    given: dict[str, Value | None] = {"trace.loop": loop, "trace.speed": speed, "trace.map": map}
    both: dict[str, Value] = {key: value for key, value in given.items() if value is not None}
    both.update(set or {})
    return run(
        trace,
        on,
        set=both,
        seed=seed,
        runtime=limit,
        trace_format=format,
        requests=requests,
        log=log,
        out=out,
        force=force,
        max_memory=max_memory,
        progress=progress,
    )


def compare(
    job: Job,
    on: Target,
    *,
    vary: Mapping[str, Sequence[Value]],
    metric: str | Sequence[str] = (),
    runs: int = 10,
    until_decided: bool = False,
    set: Settings | None = None,
    seed: int = 1,
    runtime: str | None = None,
    destroy: str | None = None,
    trace_format: str | None = None,
    out: File | None = None,
    force: bool = False,
    max_memory: int | None = None,
    progress: Progress = True,
) -> Comparison:
    """Runs a job on two or more values of one setting, the first of which is the base, and judges each metric.

    `until_decided=True` makes short, warmed runs, and stops each pair when its verdict stands.

    After Ctrl-C, `Interrupted.partial` is the comparison so far: all runs that ended, and the findings of those values whose
    runs are all there. They are kept in `out`, and without that until the process ends.
    """
    key, levels = varied(vary)
    setup = setup_call(job, on, set, seed, runtime, destroy, trace_format)

    def compared(folder: str, tell: ProgressFunction | None, kept: bool) -> Comparison:
        call = CompareCall(
            setup=setup,
            key=key,
            levels=levels,
            metrics=texts("metric", metric),
            runs=runs,
            until_decided=until_decided,
            out=_file(out),
            beside=folder,
            kept=kept,
            force=force,
            max_memory=max_memory,
        )
        return _compared(_native.compare(call, tell))

    def partial(folder: str) -> Comparison | None:
        so_far = compared(folder, None, True)
        return so_far if len(so_far.cells) else None

    with _progress.shown(progress) as tell:
        if out is not None:
            folder = path(out)
            before = _said(folder)
            with keeping(_of_folder(folder), lambda: partial(folder), lambda: _said(folder) != before):
                return compared(folder, tell, False)
        with folder_for_now() as folder:
            kept = f"until the process ends, {_of_folder(folder)}"
            with keeping(kept, lambda: partial(folder), lambda: _said(folder) is not None):
                return compared(folder, tell, False)


def _compared(answer: ComparisonAnswer) -> Comparison:
    """What came of a comparison, as a value."""
    result = Comparison(
        answer["json"], answer["command"], (), answer["cells"], answer["intervals"], answer["curves"], answer["page"]
    )
    pairs = zip(result.to_dict()["comparisons"], answer["reasons"], strict=True)
    findings = tuple(
        Finding(
            metric=it["metric"],
            from_=it["from"],
            to=it["to"],
            ratio=Interval.of(it["ratio"]),
            verdict=it["verdict"],
            refused=it["refused"],
            why=why,
            beside=tuple(beside),
            p=it["p"],
            p_adjusted=it["p_adjusted"],
        )
        for it, (why, beside) in pairs
    )
    return replace(result, findings=findings)


def studied(answer: StudyAnswer, command: str) -> Study | Review:
    """What came of a study, as a value."""
    json, refused, is_review, page, parts = answer
    if not is_review:
        (it,) = parts
        figures = (it["cells"], it["intervals"], it["curves"])
        return Study(json, command, it["title"], it["question"], refused, *figures, it["page"])
    # Each part has a result folder of its own, below the review's.
    opened = tuple((part["name"], _study_in(page.parent / part["name"])) for part in parts)
    return Review(json, command, refused, opened, page)


def _study_in(folder: Path) -> Study:
    opened = open(folder)
    assert isinstance(opened, Study), "a review's parts are studies"
    return opened


def study(
    study: File | Text,
    *,
    out: File = "out",
    resume: bool = False,
    force: bool = False,
    until_decided: bool | None = None,
    threads: int = 0,
    max_memory: int | None = None,
    progress: Progress = True,
) -> Study | Review:
    """Runs a study or a review: a file, a built-in one by its name, a text in memory, or what a result folder keeps.

    Results and report go to the folder `out`; it is complete after each run, and `resume=True` goes on where it stopped.
    Runs are short and warmed where they may be, and each pair stops when its verdict stands, unless the study says otherwise.
    `until_decided=False` makes all runs that the study asks for, `True` refuses a study in real time.

    After Ctrl-C, `Interrupted.partial` is what `out` holds so far: all runs that ended.
    """
    text = study.text if isinstance(study, Text) else None
    name = "-" if isinstance(study, Text) else path(study)
    folder = path(out)
    before = None if resume else _said(folder)
    kept = keeping(_of_folder(folder), lambda: _partial(folder), lambda: _said(folder) != before)
    call = StudyCall(
        name=name,
        text=text,
        out=folder,
        resume=resume,
        force=force,
        until_decided=until_decided,
        threads=threads,
        max_memory=max_memory,
    )
    with _progress.shown(progress) as tell, kept:
        answer, command = _native.study(call, tell)
    return studied(answer, command)


def open(folder: File, *, storage: Mapping[str, Any] | None = None) -> Study | Review:
    """Opens a result folder: of a run, a comparison, a study, a sweep or a review. Nothing is written to it.

    Of a sweep it may be an URL, with `storage` as fsspec's options: it is copied to here for as long as the process lasts.
    """
    name = path(folder)
    if not is_url(name):
        answer, command = _native.open(folder_of(name))
        return studied(answer, command)
    copy = folder_until_exit()
    fetch(name, Path(copy), storage)
    answer, _ = _native.open(copy)
    return studied(answer, f"seekwise report {shlex.quote(shown(name))} --json")


def validate(
    trace: File,
    drive: File,
    *,
    set: Settings | None = None,
    replay: str = "think",
    seed: int = 1,
    log: File | None = None,
    force: bool = False,
    at_most: float | None = None,
    progress: Progress = True,
) -> Validation:
    """Plays a measured trace on a modelled drive and compares response times. `at_most` is a bound for the demerit in per cent
    of the measured mean; the result's `ok` answers it."""
    call = ValidateCall(
        trace=path(trace),
        drive=path(drive),
        set=settings(set),
        replay=replay,
        seed=seed,
        log=_file(log),
        force=force,
        at_most=at_most,
    )
    with _progress.shown(progress) as tell:
        json, command, samples = _native.validate(call, tell)
    return Validation(json, command, samples, at_most)


def fit(
    data: File | Sequence[File],
    drive: File,
    *,
    hold: str = "50%",
    only: str | Sequence[str] = (),
    out: File | None = None,
    page: File | None = None,
    generations: int | None = None,
    time: str = "30 m",
    points: int | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Progress = True,
) -> FitResult:
    """Fits the inferred figures of a drive to measurements: FILE, or FILE,KEY=VALUE,… with what held meanwhile.

    With `out=` the profile is written there, and points that were tried stay beside it if the fit is interrupted; without,
    `save` writes the profile, and points stay until the process ends: the exception says where.
    """
    files = [path(file) for file in values("data", data)]

    def fitted(file: str, kept: str) -> FitResult:
        call = FitCall(
            data=files,
            drive=path(drive),
            hold=hold,
            only=texts("only", only),
            out=file,
            page=_file(page),
            generations=generations,
            time=time,
            points=points,
            resume=resume,
            force=force,
        )
        with _progress.shown(progress) as tell, keeping(kept):
            json, command, profile = _native.fit(call, tell)
        # A file of ours that is gone is not what a reader writes to.
        shown = command if out is not None else command.replace(file, Path(file).name)
        return FitResult(json, shown, profile)

    if out is not None:
        return fitted(path(out), f"the points that were tried are kept beside {path(out)}: resume=True goes on")
    with folder_for_now() as folder:
        beside = os.path.join(folder, "fitted.toml")
        goes_on = f"out={beside!r}, resume=True goes on"
        return fitted(beside, f"until the process ends, the points that were tried are kept beside {beside}: {goes_on}")


def power_cut(
    job: Job,
    on: Target,
    *,
    cuts: int = 1000,
    at: str | Sequence[str] = (),
    after: str | None = None,
    shutdown: bool = False,
    set: Settings | None = None,
    seed: int = 1,
    runtime: str | None = None,
    trace_format: str | None = None,
    max_memory: int | None = None,
    progress: Progress = True,
) -> PowerCut:
    """Runs a job and works out what power cuts would lose: at random instants of one run, `at` given ones, `after` the end
    of several runs, or in an orderly `shutdown`."""
    call = PowerCutCall(
        setup=setup_call(job, on, set, seed, runtime, None, trace_format),
        cuts=cuts,
        at=texts("at", at),
        after=after,
        shutdown=shutdown,
        max_memory=max_memory,
    )
    with _progress.shown(progress) as tell:
        json, command, kept, curve = _native.power_cut(call, tell)
    return PowerCut(json, command, kept, curve)
