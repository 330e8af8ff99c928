"""What is run on what: a stack, a job, and settings on top, in the words of the command line. Texts and settings alone, so
that all of it is hashable and travels to other processes and machines."""

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

#: A part of a sweep: its first cell, the cell behind its last, its name.
PartWords = tuple[int, int, str]


def word(value: object, of: str = "") -> str:
    """A value as the command line has it; `of` says what has it, for an error."""
    if getattr(value, "shape", None) == ():
        # A value of numpy's, such as its own True.
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | Number | os.PathLike):
        return str(value)
    raise SeekwiseError(f"{of}{': ' if of else ''}{value!r}: expected one value: a text, a number, True or False")


def values(of: str, given: object) -> tuple[Any, ...]:
    """What a parameter lists. A text is one value, never its letters; so are a number and a path."""
    if isinstance(given, str | bytes | Number | os.PathLike):
        return (given,)
    # Seeds, bases and the order of results go by place.
    if isinstance(given, Iterable) and not isinstance(given, Mapping | Set):
        return tuple(given)
    raise SeekwiseError(f"{of}: {given!r}: expected a list, or one value")


def texts(of: str, given: object) -> list[str]:
    """What a parameter lists, as the command line has it."""
    return [word(value, of) for value in values(of, given)]


def varied(vary: object) -> tuple[str, list[str]]:
    """What a comparison varies: its key, and its values, the base first."""
    example = 'such as vary={"job.depth": ["1", "32"]}'
    if not isinstance(vary, Mapping):
        raise SeekwiseError(f"vary: {vary!r}: expected one key with its values, {example}")
    if len(vary) != 1:
        raise SeekwiseError(f"vary: expected one key with its values, not {len(vary)}; a study varies several")
    ((key, given),) = vary.items()
    levels = texts(f"vary: {key}", given)
    if len(levels) < 2:
        one = f"one value, {levels[0]!r}" if levels else "no value"
        raise SeekwiseError(f"vary: {key} has {one}; expected a list of two or more, the base first, {example}")
    return key, levels


def settings(given: Settings | None) -> SettingWords:
    """Settings as the command line has them."""
    if not isinstance(given, Mapping | None):
        raise SeekwiseError(f'set: {given!r}: expected keys with their values, such as set={{"job.depth": 32}}')
    return tuple((key, word(value, f"set: {key}")) for key, value in (given or {}).items())


def path(given: str | os.PathLike[str]) -> str:
    """A file's name as the command line has it."""
    return os.fspath(given)


@dataclass(frozen=True, slots=True)
class Stack:
    """A drive or a stack file, with settings on top: what a job runs on."""

    target: str
    settings: tuple[tuple[str, str], ...] = ()


def stack(target: str | os.PathLike[str], set: Settings | None = None) -> Stack:
    """A drive of `seekwise drives`, a profile or a stack file, with dotted keys of `seekwise keys` set."""
    return Stack(path(target), settings(set))


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
    """A job on a target as the library takes it."""
    target, below = (on.target, on.settings) if isinstance(on, Stack) else (path(on), ())
    text = job.text if isinstance(job, Text) else None
    name = "-" if isinstance(job, Text) else path(job)
    if text is not None and target == "-":
        raise SeekwiseError("a job in memory stands on standard input; expected a file or a drive for `on`")
    return SetupCall(
        job=name,
        target=target,
        set=(*below, *settings(set)),
        seed=seed,
        runtime=runtime,
        destroy=destroy,
        trace_format=trace_format,
        text=text,
    )
