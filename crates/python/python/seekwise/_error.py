"""What could not be done, and why: exceptions with the fields of each diagnostic. A "no" is a value, never one of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One fault: what is wrong, where, and what would have been right."""

    message: str
    file: str | None = None
    line: int | None = None
    key: str | None = None
    expected: str | None = None
    suggestion: str | None = None


class SeekwiseError(Exception):
    """Something could not be done. The fields are those of the first of its diagnostics."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, message: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics) or (Diagnostic(message=message),)

    @property
    def file(self) -> str | None:
        """The file, as the caller named it."""
        return self.diagnostics[0].file

    @property
    def line(self) -> int | None:
        """The line in that file, from 1."""
        return self.diagnostics[0].line

    @property
    def key(self) -> str | None:
        """The key, option or field concerned."""
        return self.diagnostics[0].key

    @property
    def expected(self) -> str | None:
        """What would have been right."""
        return self.diagnostics[0].expected

    @property
    def suggestion(self) -> str | None:
        """The nearest known word."""
        return self.diagnostics[0].suggestion

    def __reduce__(self) -> tuple[type[SeekwiseError], tuple[str, tuple[Diagnostic, ...]]]:
        return (type(self), (str(self.args[0]), self.diagnostics))


class RunError(SeekwiseError):
    """A run began and did not end: its job does not fit, or the model stopped."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in work of which something is kept: the message says what, and what goes on with it."""


@contextmanager
def keeping(what: str | None) -> Iterator[None]:
    """Work of which this is kept when Ctrl-C ends it."""
    try:
        yield
    except KeyboardInterrupt:
        if what is None:
            raise
        raise Interrupted(what) from None
