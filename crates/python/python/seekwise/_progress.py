"""Progress of a call: a bar of `tqdm.auto` if that is installed, or a function of the caller's. No result depends on
it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from seekwise import _checks

#: `progress(total, done, unit, doing)`: `total` is None where nobody knows it.
ProgressFunction = Callable[[int | None, int, str, str], object]

#: What the argument `progress` takes: a bar if there can be one, none, or a function.
Progress = bool | ProgressFunction

#: Seconds before a bar is shown: shorter work needs none.
BAR_DELAY_S = 1.0


@contextmanager
def progress_function(progress: Progress) -> Iterator[ProgressFunction | None]:
    """The function to which a call reports its progress, for the length of the call; None if nobody wants to know."""
    if callable(progress):
        yield progress
        return
    if not isinstance(progress, bool):
        raise _checks.wrong("progress", progress, "True, False or a function of (total, done, unit, doing)", "progress=False")
    if not progress:
        yield None
        return
    try:
        with warnings.catch_warnings():
            # In notebooks without widgets tqdm warns each time that its bar is a text.
            warnings.simplefilter("ignore")
            tqdm: Any = import_module("tqdm.auto").tqdm
    except ImportError:
        yield None
        return
    bar: Any = None

    def update_bar(total: int | None, done: int, unit: str, doing: str) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(total=total, unit=f" {unit}", delay=BAR_DELAY_S, leave=False)
        bar.total, bar.unit = total, f" {unit}"
        if doing:
            bar.set_description(doing, refresh=False)
        bar.update(done - bar.n)

    try:
        yield update_bar
    finally:
        if bar is not None:
            bar.close()
