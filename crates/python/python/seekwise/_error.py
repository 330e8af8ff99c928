"""The exceptions of the module. Each has diagnostics, which say what could not be done, and why. A negative answer,
such as a refused comparison, is a value and no exception."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from seekwise._results import Comparison, Review, Study
    from seekwise._search import Search

#: What an interrupted call has made so far.
Partial = Union["Comparison", "Study", "Review", "Search", None]


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

    def __init__(self, message: str, partial: Partial | Callable[[], Partial] = None) -> None:
        super().__init__(message)
        self._partial = partial

    @property
    def partial(self) -> Partial:
        """What came of the work so far, as the value that the call would have answered; None where no part of it is
        complete.

        Its `complete` is False. It is made of what is kept when it is first asked for, and stays as it is then.
        """
        if callable(self._partial):
            self._partial = self._partial()
        return self._partial

    def __reduce__(self) -> tuple[type[Interrupted], tuple[str, Partial]]:
        return (type(self), (str(self.args[0]), self.partial))


@contextmanager
def keeping(
    message: str | None,
    read_partial: Callable[[], Partial] = lambda: None,
    has_begun: Callable[[], bool] = lambda: True,
) -> Iterator[None]:
    """Turns Ctrl-C in this block into `Interrupted` with a message about what is kept, and with what `read_partial`
    reads of it. Without a message, or before anything is kept, Ctrl-C stays a `KeyboardInterrupt`."""
    try:
        yield
    except KeyboardInterrupt:
        if message is None or not has_begun():
            raise
        raise Interrupted(message, read_partial) from None
