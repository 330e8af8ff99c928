"""The calls of the module, in the words of the command line. Each hands texts to the compiled part, which runs while
the interpreter is free, and makes a value of what it returns."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seekwise import _checks, _native, _progress
from seekwise._arguments import (
    CompareCall,
    FitCall,
    PowerCutCall,
    RebuildCall,
    RunCall,
    StudyCall,
    ValidateCall,
)
from seekwise._error import SeekwiseError, keeping
from seekwise._figures import Interval
from seekwise._progress import Progress, ProgressFunction
from seekwise._results import (
    Comparison,
    ComparisonAnswer,
    Finding,
    FitResult,
    PowerCut,
    Rebuild,
    Report,
    Review,
    RunResult,
    Study,
    StudyAnswer,
    Validation,
)
from seekwise._setup import (
    Job,
    Settings,
    Size,
    Target,
    Text,
    Time,
    Value,
    key_and_levels,
    path_text,
    setting_words,
    setup_call,
    to_tuple,
    to_words,
)
from seekwise._stores import (
    copy_result_folder,
    folder_until_exit,
    is_url,
    local_folder,
    printable_url,
    temporary_folder,
)

#: A file's name.
File = str | os.PathLike[str]


def _optional_path(file: File | None, name: str = "out") -> str | None:
    return None if file is None else path_text(file, name, '"out"')


def _resume_hint(folder: File) -> str:
    """What an interruption says about runs that are kept in a folder, and how to go on."""
    name = path_text(folder)
    return f"the runs that ended are kept in {name}: study({name!r}, out={name!r}, resume=True) goes on"


def _origin_stamp(folder: str) -> tuple[int, int] | None:
    """Identifies the file of a folder that tells the origin of its results (inode, time of modification); None if there is no
    such file."""
    try:
        status = os.stat(os.path.join(folder, "made-from.json"))
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _read_results_so_far(folder: str) -> Study | Review | None:
    """Reads the results that a folder holds so far; None if no run ended."""
    result = open(local_folder(folder))
    parts = [part for _, part in result.parts] if isinstance(result, Review) else [result]
    return result if any(len(part.cells) for part in parts) else None


@_checks.named
def run(
    job: Job,
    on: Target,
    *,
    set: Settings | None = None,
    seed: int = 1,
    runtime: Time | None = None,
    destroy: str | None = None,
    trace_format: str | None = None,
    requests: bool = False,
    log: File | None = None,
    out: File | None = None,
    force: bool = False,
    max_memory: Size | None = None,
    progress: Progress = True,
) -> RunResult:
    """Runs a job on a target once. Ctrl-C keeps nothing of it.

    Args:
        job: a job of `patterns()`, a job file, a trace, or a text in memory (`fio`, `scene`).
        on: a drive of `drives()`, a profile or stack file, a place such as "file:PATH", or a `stack`.
        set: dotted keys of `keys()` with values, such as {"job.depth": 32}.
        seed: the seed of all chance, a whole number from 0.
        runtime: how long each worker runs: "60s", "500 ms" or seconds as a number; without it as the job says.
        destroy: of a real place, the serial number, name or address of what may be overwritten.
        trace_format: the format of a trace, if it is not the one that it looks like.
        requests: True keeps every request as a table in memory, 168 bytes each.
        log: a Parquet file for every request.
        out: a folder for results and report; without it none are kept.
        force: True replaces what is there.
        max_memory: refuses to start if it may need more: bytes, or "2g"; by default a quarter of the machine's.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `RunResult`: rates, response times in milliseconds, and their parts.

    Raises:
        SeekwiseError: an argument, file or key is wrong, or results are in the way.
        RunError: the run began and did not end.

    Example:
        >>> result = sw.run("random-read", on="exos-x18", runtime="2s", set={"job.depth": 4})
        >>> result.iops > 100
        True
    """
    call = RunCall(
        setup=setup_call(job, on, set, seed, runtime, destroy, trace_format),
        log=_optional_path(log, "log"),
        requests=requests,
        out=_optional_path(out),
        force=force,
        max_memory=_checks.size("max_memory", max_memory),
    )
    with _progress.progress_function(progress) as report:
        json, command, page, table, curve = _native.run(call, report)
    return RunResult(json, command, table, curve, page)


@_checks.named
def replay(
    trace: File,
    on: Target,
    *,
    format: str | None = None,
    limit: Time | None = None,
    loop: str | None = None,
    speed: float | None = None,
    map: str | None = None,
    set: Settings | None = None,
    seed: int = 1,
    requests: bool = False,
    log: File | None = None,
    out: File | None = None,
    force: bool = False,
    max_memory: Size | None = None,
    progress: Progress = True,
) -> RunResult:
    """Plays a recorded trace on a target.

    Args:
        trace: the trace's file.
        on: a drive of `drives()`, a profile or stack file, a place such as "file:PATH", or a `stack`.
        format: the format of the trace, if it is not the one that it looks like.
        limit: ends it after this much time: "60s" or seconds as a number.
        loop: `trace.loop`: how often the trace is played.
        speed: `trace.speed`: 2 plays it at double speed.
        map: `trace.map`: how its addresses fit the target.
        set: dotted keys of `keys()` with values, such as {"job.depth": 32}.
        seed: the seed of all chance, a whole number from 0.
        requests: True keeps every request as a table in memory, 168 bytes each.
        log: a Parquet file for every request.
        out: a folder for results and report; without it none are kept.
        force: True replaces what is there.
        max_memory: refuses to start if it may need more: bytes, or "2g"; by default a quarter of the machine's.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `RunResult`, whose `certificate` says how the trace was read and how closely it was played.

    Raises:
        SeekwiseError: an argument or the trace is wrong.

    Example:
        >>> sw.replay("trace.csv", on="exos-x18", limit="5s").certificate["format"]
        'msr'
    """
    trace = path_text(trace, "trace", '"trace.csv"')
    trace_keys: dict[str, Value | None] = {"trace.loop": loop, "trace.speed": speed, "trace.map": map}
    all_settings: dict[str, Value] = {key: value for key, value in trace_keys.items() if value is not None}
    all_settings.update(set or {})
    return run(
        trace,
        on,
        set=all_settings,
        seed=seed,
        runtime=_checks.length("limit", limit),
        trace_format=format,
        requests=requests,
        log=log,
        out=out,
        force=force,
        max_memory=max_memory,
        progress=progress,
    )


@_checks.named
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
    runtime: Time | None = None,
    destroy: str | None = None,
    trace_format: str | None = None,
    out: File | None = None,
    force: bool = False,
    max_memory: Size | None = None,
    progress: Progress = True,
) -> Comparison:
    """Runs a job on two or more values of one setting, and judges each metric.

    Args:
        job: a job of `patterns()`, a job file, a trace, or a text in memory (`fio`, `scene`).
        on: a drive of `drives()`, a profile or stack file, a place such as "file:PATH", or a `stack`.
        vary: one key with two or more values, the base first, such as {"job.depth": [1, 32]}.
        metric: what is judged: "iops", "mean", "p99", "read.p99", … (docs/statistics.md); by default requests a second.
        runs: runs of each side.
        until_decided: True makes short, warmed runs, and stops each pair when its verdict stands.
        set: dotted keys of `keys()` with values, such as {"job.depth": 32}.
        seed: the seed of all chance, a whole number from 0.
        runtime: how long each worker runs: "60s", "500 ms" or seconds as a number; without it as the job says.
        destroy: of a real place, the serial number, name or address of what may be overwritten.
        trace_format: the format of a trace, if it is not the one that it looks like.
        out: a folder for results and report; without it none are kept.
        force: True replaces what is there.
        max_memory: refuses to start if it may need more: bytes, or "2g"; by default a quarter of the machine's.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `Comparison`. A refused one is a value: `refused`.

    Raises:
        SeekwiseError: an argument, file or key is wrong, or results are in the way.
        Interrupted: Ctrl-C; its `partial` has the runs that ended, and the findings of sides that are complete.

    Example:
        >>> c = sw.compare("random-read", on="exos-x18", vary={"job.depth": [1, 8]}, runs=3, runtime="2s")
        >>> c.verdict, c.ratio > 1.5
        ('faster', True)
    """
    key, levels = key_and_levels(vary)
    setup = setup_call(job, on, set, seed, runtime, destroy, trace_format)

    def run_or_read(folder: str, report: ProgressFunction | None, reads_kept: bool) -> Comparison:
        call = CompareCall(
            setup=setup,
            key=key,
            levels=levels,
            metrics=to_words("metric", metric),
            runs=runs,
            until_decided=until_decided,
            out=_optional_path(out),
            beside=folder,
            kept=reads_kept,
            force=force,
            max_memory=_checks.size("max_memory", max_memory),
        )
        return _to_comparison(_native.compare(call, report))

    def read_so_far(folder: str) -> Comparison | None:
        so_far = run_or_read(folder, None, True)
        return so_far if len(so_far.cells) else None

    with _progress.progress_function(progress) as report:
        if out is not None:
            folder = path_text(out, "out")
            stamp_before = _origin_stamp(folder)
            with keeping(_resume_hint(folder), lambda: read_so_far(folder), lambda: _origin_stamp(folder) != stamp_before):
                return run_or_read(folder, report, False)
        with temporary_folder() as folder:
            kept_message = f"until the process ends, {_resume_hint(folder)}"
            with keeping(kept_message, lambda: read_so_far(folder), lambda: _origin_stamp(folder) is not None):
                return run_or_read(folder, report, False)


def _to_comparison(answer: ComparisonAnswer) -> Comparison:
    """Makes a value of what the compiled part returns about a comparison."""
    result = Comparison(
        answer["json"], answer["command"], (), answer["cells"], answer["intervals"], answer["curves"], answer["page"]
    )
    pairs = zip(result.to_dict()["comparisons"], answer["reasons"], strict=True)
    findings = tuple(
        Finding(
            metric=comparison["metric"],
            from_=comparison["from"],
            to=comparison["to"],
            ratio=Interval.of(comparison["ratio"]),
            verdict=comparison["verdict"],
            refused=comparison["refused"],
            said=f"refused: {comparison['refused']}" if comparison["refused"] else comparison["said"],
            why=why,
            beside=tuple(beside),
            p=comparison["p"],
            p_adjusted=comparison["p_adjusted"],
        )
        for comparison, (why, beside) in pairs
    )
    return replace(result, findings=findings)


def to_study_or_review(answer: StudyAnswer, command: str) -> Study | Review:
    """Makes a value of what the compiled part returns about a study or a review."""
    json, refused, is_review, page, parts = answer
    if not is_review:
        (study,) = parts
        figures = (study["cells"], study["intervals"], study["curves"])
        return Study(json, command, study["title"], study["question"], refused, *figures, study["page"])
    # Each part has a result folder of its own, below the review's.
    part_studies = tuple((part["name"], _open_part(page.parent / part["name"])) for part in parts)
    return Review(json, command, refused, part_studies, page)


def _open_part(folder: Path) -> Study:
    study = open(folder)
    assert isinstance(study, Study), "a review's parts are studies"
    return study


@_checks.named
def study(
    study: File | Text,
    *,
    out: File = "out",
    resume: bool = False,
    force: bool = False,
    until_decided: bool | None = None,
    threads: int = 0,
    max_memory: Size | None = None,
    progress: Progress = True,
) -> Study | Review:
    """Runs a study or a review. Its folder is complete after each run.

    Args:
        study: a study of `studies()`, a study file, a text in memory (`Text`), or a result folder.
        out: the folder for results and report.
        resume: True goes on where the folder stopped.
        force: True replaces what is there.
        until_decided: False makes all runs that the study asks for, True refuses a study in real time.
        threads: threads at work; 0 for all cores.
        max_memory: refuses to start if it may need more: bytes, or "2g"; by default a quarter of the machine's.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `Study`, or a `Review` of several.

    Raises:
        SeekwiseError: the study is wrong, or the folder holds other results.
        Interrupted: Ctrl-C; its `partial` is what the folder holds.

    Example:
        >>> sw.study("ncq-alone", out="out").cells  # doctest: +SKIP
    """
    text = study.text if isinstance(study, Text) else None
    name = "-" if isinstance(study, Text) else path_text(study, "study", '"ncq-alone" (`sw.studies()` lists studies)')
    folder = path_text(out, "out")
    stamp_before = None if resume else _origin_stamp(folder)
    kept = keeping(_resume_hint(folder), lambda: _read_results_so_far(folder), lambda: _origin_stamp(folder) != stamp_before)
    call = StudyCall(
        name=name,
        text=text,
        out=folder,
        resume=resume,
        force=force,
        until_decided=until_decided,
        threads=threads,
        max_memory=_checks.size("max_memory", max_memory),
    )
    with _progress.progress_function(progress) as report, kept:
        answer, command = _native.study(call, report)
    return to_study_or_review(answer, command)


@_checks.named
def open(folder: File, *, storage: Mapping[str, Any] | None = None) -> Study | Review:
    """Opens a result folder: of a run, a comparison, a study, a sweep or a review. Nothing is written to it.

    Args:
        folder: the folder; of a sweep also its URL, which is copied to here for as long as the process lasts.
        storage: options of fsspec for a URL.

    Returns:
        A `Study`, or a `Review` of several.

    Raises:
        SeekwiseError: it holds no results, or a line of them contradicts its sum.

    Example:
        >>> sw.open("kept").complete
        True
    """
    name = path_text(folder, "folder")
    if not is_url(name):
        if not os.path.isdir(local_folder(name)):
            raise SeekwiseError(f"folder: {name!r}: there is no such folder; expected the `out` of a run, comparison, study or sweep")
        answer, command = _native.open(local_folder(name))
        result = to_study_or_review(answer, command)
        if isinstance(result, Study):
            _refuse_torn(result, local_folder(name))
        return result
    copy = folder_until_exit()
    copy_result_folder(name, Path(copy), storage)
    answer, _ = _native.open(copy)
    return to_study_or_review(answer, f"seekwise report {shlex.quote(printable_url(name))} --json")


def _refuse_torn(result: Study, folder: str) -> None:
    """Raises an error if lines of results are lost: the page is written when all are there, and removed before others."""
    if not result.complete and Path(folder, "report.html").exists():
        again = f"study({folder!r}, out={folder!r}, resume=True) makes them again"
        raise SeekwiseError(f"{folder}: results.jsonl is torn: {result.missing_runs} runs are missing; {again}")


@_checks.named
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
    """Plays a measured trace on a modelled drive, and compares response times.

    Args:
        trace: a file with measured response times (docs/validation.md).
        drive: a drive of `drives()`, or a profile.
        set: dotted keys of `keys()` with values, such as {"job.depth": 32}.
        replay: "think" issues a request so long after the one before as measured, "arrival" at its own instant.
        seed: the seed of all chance, a whole number from 0.
        log: a Parquet file for every request.
        force: True replaces what is there.
        at_most: a bound for the demerit, in per cent of the measured mean; `ok` answers it.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `Validation`.

    Raises:
        SeekwiseError: an argument or the trace is wrong.

    Example:
        >>> sw.validate("measured.csv", "atlas-10k-v-300", at_most=5).ok
        False
    """
    call = ValidateCall(
        trace=path_text(trace, "trace", '"measured.csv"'),
        drive=path_text(drive, "drive", '"exos-x18"'),
        set=setting_words(set),
        replay=replay,
        seed=seed,
        log=_optional_path(log, "log"),
        force=force,
        at_most=at_most,
    )
    with _progress.progress_function(progress) as report:
        json, command, samples = _native.validate(call, report)
    return Validation(json, command, samples, at_most)


@_checks.named
def fit(
    data: File | Sequence[File],
    drive: File,
    *,
    hold: str = "50%",
    only: str | Sequence[str] = (),
    out: File | None = None,
    page: File | None = None,
    generations: int | None = None,
    time: Time = "30 m",
    points: int | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Progress = True,
) -> FitResult:
    """Fits the inferred figures of a drive to measurements.

    Args:
        data: files, each FILE or "FILE,KEY=VALUE,…" with the settings that held meanwhile.
        drive: the drive or profile to begin with.
        hold: the share of the data that judges the fit: "50%", or "none".
        only: names of the figures that may move, such as "overhead"; by default all that are inferred.
        out: the file of the fitted profile; without it `save` writes one.
        page: a file for the fit as a page.
        generations: bound of generations.
        time: bound of time: "30 m" or seconds as a number.
        points: bound of points that are tried.
        resume: True goes on with the points that are beside `out`.
        force: True replaces what is there.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `FitResult`.

    Raises:
        SeekwiseError: an argument or a file is wrong.
        Interrupted: Ctrl-C; it says where the points are kept.

    Example:
        >>> fitted = sw.fit("measured.csv", "atlas-10k-v-300", only="overhead", points=25)
        >>> fitted.complete
        False
    """
    files = [path_text(file, "data", '"measured.csv"') for file in to_tuple("data", data)]
    most_time = _checks.length("time", time)

    def fit_into(profile_file: str, kept_message: str) -> FitResult:
        call = FitCall(
            data=files,
            drive=path_text(drive, "drive", '"exos-x18"'),
            hold=hold,
            only=to_words("only", only),
            out=profile_file,
            page=_optional_path(page, "page"),
            generations=generations,
            time=most_time or "30 m",
            points=points,
            resume=resume,
            force=force,
        )
        with _progress.progress_function(progress) as report, keeping(kept_message):
            json, command, profile = _native.fit(call, report)
        # The temporary file is gone by now; the command names a file of the reader's.
        shown_command = command if out is not None else command.replace(profile_file, Path(profile_file).name)
        return FitResult(json, shown_command, profile)

    if out is not None:
        return fit_into(path_text(out), f"the points that were tried are kept beside {path_text(out)}: resume=True goes on")
    with temporary_folder() as folder:
        profile_file = os.path.join(folder, "fitted.toml")
        resume_hint = f"out={profile_file!r}, resume=True goes on"
        kept_message = f"until the process ends, the points that were tried are kept beside {profile_file}: {resume_hint}"
        return fit_into(profile_file, kept_message)


@_checks.named
def power_cut(
    job: Job,
    on: Target,
    *,
    cuts: int = 1000,
    at: Time | Sequence[Time] = (),
    after: Time | None = None,
    shutdown: bool = False,
    set: Settings | None = None,
    seed: int = 1,
    runtime: Time | None = None,
    trace_format: str | None = None,
    max_memory: Size | None = None,
    progress: Progress = True,
) -> PowerCut:
    """Runs a job and works out what power cuts would lose.

    Args:
        job: a job of `patterns()`, a job file, a trace, or a text in memory (`fio`, `scene`).
        on: a drive of `drives()`, a profile or stack file, a place such as "file:PATH", or a `stack`.
        cuts: cuts at random instants of one run, or after so many runs.
        at: instants instead: "1.5s" or seconds as a number, or a list of them.
        after: cuts so long after the end of each of several runs.
        shutdown: True powers off in order instead.
        set: dotted keys of `keys()` with values, such as {"job.depth": 32}.
        seed: the seed of all chance, a whole number from 0.
        runtime: how long each worker runs: "60s", "500 ms" or seconds as a number; without it as the job says.
        trace_format: the format of a trace, if it is not the one that it looks like.
        max_memory: refuses to start if it may need more: bytes, or "2g"; by default a quarter of the machine's.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `PowerCut`. A broken promise is a value: `promise_kept`.

    Raises:
        SeekwiseError: an argument, file or key is wrong.

    Example:
        >>> sw.power_cut("random-write", on="barracuda-7200.7", cuts=20, runtime="1s").promise_kept
        True
    """
    call = PowerCutCall(
        setup=setup_call(job, on, set, seed, runtime, None, trace_format),
        cuts=cuts,
        at=[_checks.length("at", instant) or "" for instant in to_tuple("at", at)],
        after=_checks.length("after", after),
        shutdown=shutdown,
        max_memory=_checks.size("max_memory", max_memory),
    )
    with _progress.progress_function(progress) as report:
        json, command, kept, curve = _native.power_cut(call, report)
    return PowerCut(json, command, kept, curve)


@_checks.named
def rebuild(
    on: Target,
    array: str | None = None,
    drives: int | None = None,
    *,
    users: int | None = None,
    load: Job | None = None,
    policy: str | Sequence[str] = "md",
    lose: int = 1,
    together: bool = False,
    spare_after: float = 0.0,
    next_loss: float | None = None,
    working_hours: tuple[float, float] | None = None,
    live: float | None = None,
    whole: bool = False,
    set: Settings | None = None,
    seed: int = 1,
    progress: Progress = True,
) -> Rebuild:
    """Hours that the rebuild of an array takes by policy, and what its users feel meanwhile.

    Args:
        on: a drive of `drives()`, a profile or stack file, a place such as "file:PATH", or a `stack`.
        array: an array such as "raid-6"; without it as the stack says.
        drives: its drives.
        users: requests a second that users make meanwhile.
        load: a job of the users instead.
        policy: "md", "zfs", "idle", … (docs/how-to/rebuild.md), or a list of them.
        lose: drives that are lost.
        together: True rebuilds all new drives at once.
        spare_after: hours until a new drive is there.
        next_loss: hours after which another drive is lost.
        working_hours: hours of the day in which users work, such as (8, 18).
        live: the share that holds data, such as 0.6.
        whole: True simulates it from end to end.
        set: dotted keys of `keys()` with values, such as {"job.depth": 32}.
        seed: the seed of all chance, a whole number from 0.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `Rebuild`: hours and what users feel, by policy.

    Raises:
        SeekwiseError: an argument is wrong, or there is no array.

    Example:
        >>> sw.rebuild("barracuda-7200.7-ncq", "raid-1", 2, users=20, live=0.01).hours() < 1
        True
    """
    call = RebuildCall(
        setup=setup_call("random-read" if load is None else load, on, set, seed, None, None, None),
        has_load=load is not None,
        array=array,
        drives=drives,
        users=users,
        policies=to_words("policy", policy),
        scrub=False,
        lose=lose,
        together=together,
        spare_after=spare_after,
        next_loss=next_loss,
        working_hours=_hours_of_day(working_hours),
        live=live,
        whole=whole,
    )
    return _rebuild(call, progress)


@_checks.named
def scrub(
    on: Target,
    array: str | None = None,
    drives: int | None = None,
    *,
    users: int | None = None,
    load: Job | None = None,
    policy: str | Sequence[str] = "md",
    working_hours: tuple[float, float] | None = None,
    live: float | None = None,
    whole: bool = False,
    set: Settings | None = None,
    seed: int = 1,
    progress: Progress = True,
) -> Rebuild:
    """Hours that a scrub of an array takes by policy, and what its users feel meanwhile.

    Args:
        on: a drive of `drives()`, a profile or stack file, a place such as "file:PATH", or a `stack`.
        array: an array such as "raid-6"; without it as the stack says.
        drives: its drives.
        users: requests a second that users make meanwhile.
        load: a job of the users instead.
        policy: "md", "zfs", "idle", … (docs/how-to/rebuild.md), or a list of them.
        working_hours: hours of the day in which users work, such as (8, 18).
        live: the share that holds data, such as 0.6.
        whole: True simulates it from end to end.
        set: dotted keys of `keys()` with values, such as {"job.depth": 32}.
        seed: the seed of all chance, a whole number from 0.
        progress: False for no bar, or a function of (total, done, unit, doing).

    Returns:
        A `Rebuild`: hours and what users feel, by policy.

    Raises:
        SeekwiseError: an argument is wrong, or there is no array.

    Example:
        >>> sw.scrub("barracuda-7200.7-ncq", "raid-1", 2, live=0.01).hours() < 1
        True
    """
    call = RebuildCall(
        setup=setup_call("random-read" if load is None else load, on, set, seed, None, None, None),
        has_load=load is not None,
        array=array,
        drives=drives,
        users=users,
        policies=to_words("policy", policy),
        scrub=True,
        lose=0,
        together=False,
        spare_after=0.0,
        next_loss=None,
        working_hours=_hours_of_day(working_hours),
        live=live,
        whole=whole,
    )
    return _rebuild(call, progress)


def _hours_of_day(hours: object) -> tuple[float, float] | None:
    """The beginning and the end of the working day."""
    if hours is None:
        return None
    if not isinstance(hours, tuple | list) or len(hours) != 2:
        raise _checks.wrong("working_hours", hours, "a pair of hours of the day", "working_hours=(8, 18)")
    return _checks.number("working_hours", hours[0]), _checks.number("working_hours", hours[1])


def _rebuild(call: RebuildCall, progress: Progress) -> Rebuild:
    with _progress.progress_function(progress) as report:
        json, command, page = _native.rebuild(call, report)
    return Rebuild(json, command, Report(page))
