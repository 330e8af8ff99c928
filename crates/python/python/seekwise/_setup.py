"""Jobs, targets and settings, in the words of the command line: classes for them, and functions that turn arguments of
calls into such words. The classes hold texts alone, so that they are hashable and can be sent to other processes and
machines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from numbers import Number
from typing import Any

from seekwise import _checks
from seekwise._arguments import SettingWords, SetupCall
from seekwise._checks import Size as Size
from seekwise._checks import Time as Time
from seekwise._error import SeekwiseError
from seekwise._pickles import Versioned

#: A value of a setting.
Value = str | int | float | bool

#: Dotted keys and values.
Settings = Mapping[str, Value]

#: A part of a sweep: its first cell, the cell after its last, the name of its file.
PartWords = tuple[int, int, str]


def to_word(value: object, name: str = "") -> str:
    """A value as the command line has it; `name` names the value in an error."""
    if getattr(value, "shape", None) == ():
        # A value of numpy's, such as its own True.
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | Number | os.PathLike):
        return str(value)
    raise SeekwiseError(f"{name}{': ' if name else ''}{value!r}: expected one value: a text, a number, True or False")


def to_tuple(name: str, given: object) -> tuple[Any, ...]:
    """The values of an argument that may be a list or one value; `name` names it in an error. A text, a number and a
    path are one value."""
    if isinstance(given, str | bytes | Number | os.PathLike):
        return (given,)
    # Mappings and sets have no order, by which bases, seeds and results go.
    if isinstance(given, Iterable) and not isinstance(given, Mapping | Set):
        return tuple(given)
    raise SeekwiseError(f"{name}: {given!r}: expected a list, or one value")


def to_words(name: str, given: object) -> list[str]:
    """The values of an argument that may be a list or one value, as the command line has them."""
    return [to_word(value, name) for value in to_tuple(name, given)]


def key_and_levels(vary: object) -> tuple[str, list[str]]:
    """The argument `vary` of a comparison: its key, and the values of it, the base first."""
    example = 'such as vary={"job.depth": ["1", "32"]}'
    if not isinstance(vary, Mapping):
        raise SeekwiseError(f"vary: {vary!r}: expected one key with its values, {example}")
    if len(vary) != 1:
        raise SeekwiseError(f"vary: expected one key with its values, not {len(vary)}; a study varies several")
    ((key, given),) = vary.items()
    levels = to_words(f"vary: {key}", given)
    if len(levels) < 2:
        found = f"one value, {levels[0]!r}" if levels else "no value"
        raise SeekwiseError(f"vary: {key} has {found}; expected a list of two or more, the base first, {example}")
    return key, levels


def setting_words(settings: Settings | None, name: str = "set") -> SettingWords:
    """Settings as the command line has them: keys and values, in order; `name` is the argument's, for an error."""
    if not isinstance(settings, Mapping | None):
        raise SeekwiseError(f'{name}: {settings!r}: expected keys with their values, such as {name}={{"job.depth": 32}}')
    for key in settings or {}:
        _checks.text(f"{name}: a key", key, '{"job.depth": 32}')
    return tuple((key, to_word(value, f"{name}: {key}")) for key, value in (settings or {}).items())


def path_text(name: str | os.PathLike[str], argument: str = "file", example: str = '"out"') -> str:
    """A file's name as the command line has it; `argument` names it in an error."""
    return _checks.path(argument, name, example)


def target_and_settings(on: object) -> tuple[str, SettingWords]:
    """The name of a target, and the settings of a stack."""
    if isinstance(on, Stack):
        return on.target, on.settings
    return path_text(on, "on", '"exos-x18" (`sw.drives()` lists drives)'), ()  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Stack(Versioned):
    """A drive or a stack file, with settings on top: what a job runs on."""

    target: str
    settings: tuple[tuple[str, str], ...] = ()


@_checks.named
def stack(target: str | os.PathLike[str], set: Settings | None = None) -> Stack:
    """Names what a job runs on, with settings on top.

    Args:
        target: a drive of `drives()`, a profile, or a stack file.
        set: dotted keys of `keys()` with values.

    Returns:
        A `Stack`, which `on=` takes.

    Raises:
        SeekwiseError: an argument is of a wrong kind; keys are judged when the stack is used.

    Example:
        >>> sw.stack("exos-x18", {"driver": "linux-none"}).target
        'exos-x18'
    """
    return Stack(path_text(target, "target", '"exos-x18"'), setting_words(set))


@dataclass(frozen=True, slots=True)
class Text(Versioned):
    """A job that is in memory: a fio job, an Iometer configuration or a scene."""

    text: str


def _job_text(name: str, content: object) -> Text:
    if not isinstance(content, str):
        raise _checks.wrong(name, content, "the job itself as a text; a file goes to run() by its name", 'run("a.fio", …)')
    return Text(content)


@_checks.named
def fio(text: str) -> Text:
    """A fio job in memory. On the command line it stands on standard input.

    Args:
        text: the job, as a job file has it.

    Returns:
        A `Text`, which `run` and others take for a job.

    Raises:
        SeekwiseError: it is no text; a job file is given by its name.

    Example:
        >>> sw.run(sw.fio("[a]\\nrw=randread\\nsize=1m\\n"), on="exos-x18").read.ios
        256
    """
    return _job_text("text", text)


@_checks.named
def scene(text: str) -> Text:
    """A scene in memory. On the command line it stands on standard input.

    Args:
        text: the scene, as docs/scenes.md describes it.

    Returns:
        A `Text`, which `run` and others take for a job.

    Raises:
        SeekwiseError: it is no text; a scene's file is given by its name.

    Example:
        >>> job = sw.scene(open("copy.toml").read())  # doctest: +SKIP
    """
    return _job_text("text", text)


#: What runs: a pattern, a built-in scene, a file, or a text in memory.
Job = str | os.PathLike[str] | Text

#: What it runs on.
Target = str | os.PathLike[str] | Stack


def setup_call(
    job: Job,
    on: Target,
    set: Settings | None,
    seed: int,
    runtime: Time | None,
    destroy: str | None = None,
    trace_format: str | None = None,
) -> SetupCall:
    """A job on a target, as the compiled part takes it."""
    target, stack_settings = target_and_settings(on)
    text = job.text if isinstance(job, Text) else None
    name = "-" if isinstance(job, Text) else path_text(job, "job", '"random-read" (`sw.patterns()` lists jobs)')
    if text is not None and target == "-":
        raise SeekwiseError("a job in memory stands on standard input; expected a file or a drive for `on`")
    return SetupCall(
        job=name,
        target=target,
        set=(*stack_settings, *setting_words(set)),
        seed=seed,
        runtime=_checks.length("runtime", runtime),
        destroy=destroy,
        trace_format=trace_format,
        text=text,
    )
