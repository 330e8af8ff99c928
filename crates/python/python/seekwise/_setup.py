"""Jobs, targets and settings, in the words of the command line: classes for them, and functions that turn arguments of
calls into such words. The classes hold texts alone, so that they are hashable and can be sent to other processes and
machines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from numbers import Number
from typing import Any

from seekwise._arguments import SettingWords, SetupCall
from seekwise._error import SeekwiseError

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


def setting_words(settings: Settings | None) -> SettingWords:
    """Settings as the command line has them: keys and values, in order."""
    if not isinstance(settings, Mapping | None):
        raise SeekwiseError(f'set: {settings!r}: expected keys with their values, such as set={{"job.depth": 32}}')
    return tuple((key, to_word(value, f"set: {key}")) for key, value in (settings or {}).items())


def path_text(name: str | os.PathLike[str]) -> str:
    """A file's name as the command line has it."""
    return os.fspath(name)


@dataclass(frozen=True, slots=True)
class Stack:
    """A drive or a stack file, with settings on top: what a job runs on."""

    target: str
    settings: tuple[tuple[str, str], ...] = ()


def stack(target: str | os.PathLike[str], set: Settings | None = None) -> Stack:
    """A drive of `seekwise drives`, a profile or a stack file, with dotted keys of `seekwise keys` set."""
    return Stack(path_text(target), setting_words(set))


@dataclass(frozen=True, slots=True)
class Text:
    """A job that is in memory: a fio job, an Iometer configuration or a scene."""

    text: str


def fio(text: str) -> Text:
    """A fio job in memory. On the command line it stands on standard input."""
    return Text(text)


def scene(text: str) -> Text:
    """A scene in memory. On the command line it stands on standard input."""
    return Text(text)


#: What runs: a pattern, a built-in scene, a file, or a text in memory.
Job = str | os.PathLike[str] | Text

#: What it runs on.
Target = str | os.PathLike[str] | Stack


def setup_call(
    job: Job,
    on: Target,
    set: Settings | None,
    seed: int,
    runtime: str | None,
    destroy: str | None = None,
    trace_format: str | None = None,
) -> SetupCall:
    """A job on a target, as the compiled part takes it."""
    target, stack_settings = (on.target, on.settings) if isinstance(on, Stack) else (path_text(on), ())
    text = job.text if isinstance(job, Text) else None
    name = "-" if isinstance(job, Text) else path_text(job)
    if text is not None and target == "-":
        raise SeekwiseError("a job in memory stands on standard input; expected a file or a drive for `on`")
    return SetupCall(
        job=name,
        target=target,
        set=(*stack_settings, *setting_words(set)),
        seed=seed,
        runtime=runtime,
        destroy=destroy,
        trace_format=trace_format,
        text=text,
    )
