"""Checks of arguments. An error names the argument, what was found and what would be right. Values that only the
library can judge, such as keys, are left to it."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import operator
import os
import re
from collections.abc import Callable
from numbers import Real
from typing import ParamSpec, TypeVar

from seekwise._error import Diagnostic, SeekwiseError

#: A length of time: a text with its unit, such as "60s", or a number of seconds.
Time = str | float

#: A size in bytes: a number, or a text such as "2g".
Size = str | int

#: A text that is a size, as the command line reads it; units are powers of 1024.
SIZE = re.compile(r"([0-9]+)\s*([kmgt]?)i?b?")

P = ParamSpec("P")
R = TypeVar("R")


def wrong(name: str, found: object, expected: str, example: str) -> SeekwiseError:
    """The error about an argument."""
    message = f"{name}: {found!r}: expected {expected}, such as {example}"
    return SeekwiseError(message, [Diagnostic(message=message, key=name, expected=expected)])


def whole(name: str, value: object, most: int = (1 << 32) - 1) -> int:
    """A whole number from 0; numpy's are such too."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(value, bool) or not 0 <= number <= most:
        raise wrong(name, value, f"a whole number from 0 to {most}", f"{name}=1")
    return number


def number(name: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise wrong(name, value, "a number", f"{name}=1.5")
    return float(value)


def flag(name: str, value: object) -> bool:
    """True or False; numpy's are such too."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):
        raise wrong(name, value, "True or False", f"{name}=True")
    return bool(value)


def text(name: str, value: object, example: str = '"…"') -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong(name, value, "a text", f"{name}={example}")
    return value


def length(name: str, value: object) -> str | None:
    """A length of time as the command line has it. A number is seconds, as `--runtime 60` is; the library reads units."""
    if value is None or (isinstance(value, str) and value.strip()[:1].isdigit()):
        return value
    seconds = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise wrong(name, value, "a text with its unit, or seconds", f'{name}="60s"')
    digits = f"{seconds:.9f}".rstrip("0").rstrip(".")
    return f"{digits}s"


def size(name: str, value: object) -> int | None:
    """Bytes: a number, or a text such as `2g`."""
    parts = SIZE.fullmatch(value.strip().lower()) if isinstance(value, str) else None
    found = int(parts[1]) << 10 * "kmgt".find(parts[2]) + 10 if parts and parts[2] else int(parts[1]) if parts else value
    if value is not None and (isinstance(found, bool) or not hasattr(found, "__index__")):
        raise wrong(name, value, "bytes, or a text with its unit", f'{name}="2g"')
    return None if found is None else whole(name, found, (1 << 64) - 1)


def path(name: str, value: object, example: str) -> str:
    """A file's name as the command line has it."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise wrong(name, value, "a name or a path", f"{name}={example}")
    return os.fspath(value)


#: Checks by the declared type of a field.
CHECKS: dict[str, Callable[[str, object], object]] = {
    "int": whole,
    "float": number,
    "bool": flag,
    "str": text,
}

#: Fields with 64 bits.
LONG_FIELDS = ("seed", "max_memory", "points")


def check_field(name: str, declared: str, value: object) -> None:
    """Checks a field of a call's arguments by its declared type, which may end in `| None`."""
    kind = declared.removesuffix(" | None")
    if kind not in CHECKS or (value is None and kind != declared):
        return
    if name in LONG_FIELDS:
        whole(name, value, (1 << 64) - 1)
    else:
        CHECKS[kind](name, value)


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a call name the nearest argument when it gets one that it does not know, as Python 3.13 does."""
    names = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for unknown in kwargs.keys() - names:
            near = difflib.get_close_matches(unknown, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {unknown!r}; {hint}")
        return function(*args, **kwargs)

    return call
