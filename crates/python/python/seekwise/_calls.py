"""The calls of the module, in the words of the command line. Each hands texts to the compiled part, which runs while
the interpreter is free, and makes a value of what it returns."""

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
    RebuildCall,
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
    Target,
    Text,
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


def _optional_path(file: File | None) -> str | None:
    return None if file is None else path_text(file)


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

    `requests=True` keeps every request as a table in memory (168 bytes each), `log=` writes them to a Parquet file,
    `out=` keeps results and a report in a folder. A run is complete or nothing: Ctrl-C keeps none of it.
    """
    call = RunCall(
        setup=setup_call(job, on, set, seed, runtime, destroy, trace_format),
        log=_optional_path(log),
        requests=requests,
        out=_optional_path(out),
        force=force,
        max_memory=max_memory,
    )
    with _progress.progress_function(progress) as report:
        json, command, page, table, curve = _native.run(call, report)
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
    """Plays a recorded trace on a target; the result's `certificate` says how it was read and how closely it was
    played.

    `limit` ends it after this much time. `loop`, `speed` and `map` are the keys of the same names below `trace.`;
    others go into `set`.
    """
    trace_keys: dict[str, Value | None] = {"trace.loop": loop, "trace.speed": speed, "trace.map": map}
    all_settings: dict[str, Value] = {key: value for key, value in trace_keys.items() if value is not None}
    all_settings.update(set or {})
    return run(
        trace,
        on,
        set=all_settings,
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

    After Ctrl-C, `Interrupted.partial` is the comparison so far: all runs that ended, and the findings of those values
    whose runs are all there. They are kept in `out`, and without that until the process ends.
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
            max_memory=max_memory,
        )
        return _to_comparison(_native.compare(call, report))

    def read_so_far(folder: str) -> Comparison | None:
        so_far = run_or_read(folder, None, True)
        return so_far if len(so_far.cells) else None

    with _progress.progress_function(progress) as report:
        if out is not None:
            folder = path_text(out)
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

    Results and report go to the folder `out`; it is complete after each run, and `resume=True` goes on where it
    stopped. Runs are short and warmed where they may be, and each pair stops when its verdict stands, unless the study
    says otherwise. `until_decided=False` makes all runs that the study asks for, `True` refuses a study in real time.

    After Ctrl-C, `Interrupted.partial` is what `out` holds so far: all runs that ended.
    """
    text = study.text if isinstance(study, Text) else None
    name = "-" if isinstance(study, Text) else path_text(study)
    folder = path_text(out)
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
        max_memory=max_memory,
    )
    with _progress.progress_function(progress) as report, kept:
        answer, command = _native.study(call, report)
    return to_study_or_review(answer, command)


def open(folder: File, *, storage: Mapping[str, Any] | None = None) -> Study | Review:
    """Opens a result folder: of a run, a comparison, a study, a sweep or a review. Nothing is written to it.

    Of a sweep it may be an URL, with `storage` as fsspec's options: it is copied to here for as long as the process
    lasts.
    """
    name = path_text(folder)
    if not is_url(name):
        answer, command = _native.open(local_folder(name))
        return to_study_or_review(answer, command)
    copy = folder_until_exit()
    copy_result_folder(name, Path(copy), storage)
    answer, _ = _native.open(copy)
    return to_study_or_review(answer, f"seekwise report {shlex.quote(printable_url(name))} --json")


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
    """Plays a measured trace on a modelled drive and compares response times. `at_most` is a bound for the demerit in
    per cent of the measured mean; the result's `ok` answers it."""
    call = ValidateCall(
        trace=path_text(trace),
        drive=path_text(drive),
        set=setting_words(set),
        replay=replay,
        seed=seed,
        log=_optional_path(log),
        force=force,
        at_most=at_most,
    )
    with _progress.progress_function(progress) as report:
        json, command, samples = _native.validate(call, report)
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
    """Fits the inferred figures of a drive to measurements: FILE, or FILE,KEY=VALUE,… with the settings that held
    meanwhile.

    With `out=` the profile is written there, and points that were tried stay beside it if the fit is interrupted;
    without, `save` writes the profile, and points stay until the process ends: the exception says where.
    """
    files = [path_text(file) for file in to_tuple("data", data)]

    def fit_into(profile_file: str, kept_message: str) -> FitResult:
        call = FitCall(
            data=files,
            drive=path_text(drive),
            hold=hold,
            only=to_words("only", only),
            out=profile_file,
            page=_optional_path(page),
            generations=generations,
            time=time,
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
    """Runs a job and works out what power cuts would lose: at random instants of one run, `at` given ones, `after` the
    end of several runs, or in an orderly `shutdown`."""
    call = PowerCutCall(
        setup=setup_call(job, on, set, seed, runtime, None, trace_format),
        cuts=cuts,
        at=to_words("at", at),
        after=after,
        shutdown=shutdown,
        max_memory=max_memory,
    )
    with _progress.progress_function(progress) as report:
        json, command, kept, curve = _native.power_cut(call, report)
    return PowerCut(json, command, kept, curve)


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
    """Hours that the rebuild of an array takes by policy, beside so many `users`' requests a second or a `load`, and
    what the users feel. `live` is the share that holds data, such as 0.6; times are hours."""
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
        working_hours=working_hours,
        live=live,
        whole=whole,
    )
    return _rebuild(call, progress)


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
    """Hours that a scrub of an array takes by policy, and what the users feel; as `rebuild`."""
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
        working_hours=working_hours,
        live=live,
        whole=whole,
    )
    return _rebuild(call, progress)


def _rebuild(call: RebuildCall, progress: Progress) -> Rebuild:
    with _progress.progress_function(progress) as report:
        json, command, page = _native.rebuild(call, report)
    return Rebuild(json, command, Report(page))
