"""Progress: a bar of `tqdm.auto` where that is installed, or a function of the caller's. Nothing depends on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

#: `progress(total, done, unit, doing)`: `total` is None where nobody knows it.
ProgressFunction = Callable[[int | None, int, str, str], object]

#: What the argument `progress` takes: a bar if there can be one, none, or a function.
Progress = bool | ProgressFunction

#: Seconds before a bar is shown: what is over sooner needs none.
DELAY = 1.0


@contextmanager
def shown(progress: Progress) -> Iterator[ProgressFunction | None]:
    """The function that a call tells how far it is."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    try:
        with warnings.catch_warnings():
            # That a notebook without widgets gets a bar of text is nothing to be told in each of them.
            warnings.simplefilter("ignore")
            tqdm: Any = import_module("tqdm.auto").tqdm
    except ImportError:
        yield None
        return
    bar: Any = None

    def tell(total: int | None, done: int, unit: str, doing: str) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(total=total, unit=f" {unit}", delay=DELAY, leave=False)
        if bar.total != total:
            bar.total = total
        if doing:
            bar.set_description(doing, refresh=False)
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()
