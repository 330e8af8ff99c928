"""What is run on what: a stack, a job, and settings on top, in the words of the command line. Texts and settings alone, so
that all of it is hashable and travels to other processes and machines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from seekwise._error import SeekwiseError

#: A value of a setting.
Value = str | int | float | bool

#: Dotted keys and values.
Settings = Mapping[str, Value]

#: What the module's calls hand to the library: job, target, settings, seed, run time, destroy, trace format, text in memory.
SetupWords = tuple[
    str, str, list[tuple[str, str]], int, str | None, str | None, str | None, str | None
]


#: A part of a sweep: its first cell, the cell behind its last, its name.
PartWords = tuple[int, int, str]


def word(value: Value) -> str:
    """A value as the command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def settings(given: Settings | None) -> tuple[tuple[str, str], ...]:
    """Settings as the command line has them."""
    return tuple((key, word(value)) for key, value in (given or {}).items())


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


def words(
    job: Job,
    on: Target,
    set: Settings | None,
    seed: int,
    runtime: str | None,
    destroy: str | None = None,
    trace_format: str | None = None,
) -> SetupWords:
    """What the library is handed."""
    target, below = (on.target, on.settings) if isinstance(on, Stack) else (path(on), ())
    text = job.text if isinstance(job, Text) else None
    name = "-" if isinstance(job, Text) else path(job)
    if text is not None and target == "-":
        raise SeekwiseError("a job in memory stands on standard input; expected a file or a drive for `on`")
    both = [*below, *settings(set)]
    return (name, target, both, seed, runtime, destroy, trace_format, text)
