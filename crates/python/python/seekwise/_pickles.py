"""Pickles of results, stacks and jobs: each names the version that wrote it, and no other version loads it. The fields of
a value are no format that is promised; `json`, `to_dict()` and result folders are, and they are for keeping."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from seekwise import _native
from seekwise._error import SeekwiseError


class Versioned:
    """The base of dataclasses whose pickles name their version."""

    __slots__ = ()

    # Python loads the arguments before the fields: a field that this version does not know is never loaded.
    def __reduce__(self) -> tuple[Any, tuple[str, str, str], list[Any]]:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        kind = type(self)
        return (begin_loading, (_native.VERSION, kind.__module__, kind.__qualname__), [getattr(self, name) for name in names])

    def __setstate__(self, values: list[Any]) -> None:
        for field, value in zip(fields(self), values, strict=True):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, value)


def begin_loading(version: str, module: str, kind: str) -> Any:
    """A value of this kind before its fields are loaded; refuses what another version wrote."""
    if version != _native.VERSION:
        why = (
            f"a {kind} was pickled by seekwise {version}, and this is {_native.VERSION}; expected the same version "
            f"(`pip install seekwise=={version}`), or a result that is kept for longer: out=FOLDER, which `open` reads"
        )
        raise SeekwiseError(why)
    found = getattr(import_module(module), kind)
    return found.__new__(found)
