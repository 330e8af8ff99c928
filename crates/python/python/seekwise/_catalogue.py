"""The built-in lists as tables: those of the commands `drives`, `patterns`, `keys` and `studies`."""

from __future__ import annotations

from seekwise import _checks, _native
from seekwise._native import Table


@_checks.named
def drives(words: str = "") -> Table:
    """The modelled drives.

    Args:
        words: a maker, a line, a capacity or a model number, such as "18tb"; without it all drives.

    Returns:
        A `Table`, a row a drive; `name` is what `on=` takes.

    Raises:
        SeekwiseError: no drive is meant by these words.

    Example:
        >>> "exos-x18" in sw.drives("seagate")["name"]
        True
    """
    return _native.drives(_checks.text("words", words, '"seagate"'))


@_checks.named
def patterns() -> Table:
    """The built-in patterns, fio jobs and scenes.

    Returns:
        A `Table`, a row a job; `name` is what calls take as their job.

    Raises:
        Nothing.

    Example:
        >>> "random-read" in sw.patterns()["name"]
        True
    """
    return _native.patterns()


@_checks.named
def keys(words: str = "") -> Table:
    """The keys of settings.

    Args:
        words: a section, a key, or a word of the field such as "fsync"; without it all keys.

    Returns:
        A `Table`, a row a key, with the values that it takes, unit, default and meaning.

    Raises:
        SeekwiseError: no key is meant by these words.

    Example:
        >>> "drive.cache.write_back" in sw.keys("write cache")["key"]
        True
    """
    return _native.keys(_checks.text("words", words, '"fsync"'))


@_checks.named
def studies() -> Table:
    """The built-in studies, and the reviews that join them.

    Returns:
        A `Table`, a row a study, with its question and the runs of its whole plan.

    Raises:
        Nothing.

    Example:
        >>> "ncq-alone" in sw.studies()["name"]
        True
    """
    return _native.studies()
