"""The space of a search: ranges, lists of values, and the points next to a point. It proposes nothing; Optuna does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seekwise import _checks
from seekwise._error import SeekwiseError
from seekwise._setup import Value, to_tuple, to_word

#: A whole space is listed, for drawing points that were not tried, up to so many.
MAX_LISTED_POINTS = 1 << 20


@dataclass(frozen=True, slots=True)
class Span:
    """A range of numbers, both ends included; `span` makes it."""

    low: float
    high: float
    #: The distance of its values; None if every number is one.
    step: float | None = None
    #: Whether ratios count alike, rather than differences.
    log: bool = False

    def __str__(self) -> str:
        step = "" if self.step is None else f" by {self.step}"
        return f"{self.low} to {self.high}{step}{', ratios alike' if self.log else ''}"

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int) and (self.step is None or isinstance(self.step, int))

    @property
    def values(self) -> tuple[Value, ...] | None:
        """All its values; None if there are too many."""
        step = 1 if self.is_whole and self.step is None else self.step
        if step is None or (self.high - self.low) / step > MAX_LISTED_POINTS:
            return None
        return tuple(self.low + index * step for index in range(int((self.high - self.low) / step + 1e-9) + 1))


#: A number's range (lowest, highest) or (lowest, highest, step), whole where all are; a `Span`; or a list of values.
Choices = Span | tuple[int, int] | tuple[float, float] | Sequence[Value]

#: The choices for each dotted key.
Space = Mapping[str, Choices]


@_checks.named
def span(low: float, high: float, *, step: float | None = None, log: bool = False) -> Span:
    """A range of numbers for `search`.

    Args:
        low: the lowest number. Whole numbers make whole values.
        high: the highest number, which is included.
        step: the distance of its values; for whole numbers 1 by default, else none.
        log: ratios count alike: from 1 to 64, as many trials lie below 8 as above. Not together with `step`; low is
            above 0.

    Returns:
        The range.

    Raises:
        SeekwiseError: it is empty, or an end is no number.

    Example:
        >>> depths = sw.span(1, 256, log=True)
    """
    ends = (low, high, *(() if step is None else (step,)))
    if any(isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end) for end in ends):
        raise SeekwiseError(f"span({low!r}, {high!r}): expected numbers")
    if low > high or (step is not None and step <= 0):
        raise SeekwiseError(f"span({low}, {high}): expected the lowest first, and a step above 0")
    if log and (step is not None or low <= 0):
        raise SeekwiseError(f"span({low}, {high}, log=True): expected ends above 0, and no step")
    return Span(low, high, step, log)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def parse_space(space: Space) -> dict[str, Span | tuple[Value, ...]]:
    """The choices of each key, ranges as such. A tuple of two numbers is a range; of three, one with a step, if the last
    is smaller than the distance of the others."""

    def parse(key: str, given: Any) -> Span | tuple[Value, ...]:
        if isinstance(given, Span):
            return given
        if isinstance(given, tuple) and len(given) == 2 and all(map(_is_number, given)):
            return span(*given)
        if isinstance(given, tuple) and len(given) == 3 and all(map(_is_number, given)) and given[0] < given[1] > given[2] > 0:
            if given[2] <= given[1] - given[0]:
                return span(given[0], given[1], step=given[2])
        values = to_tuple(f"space: {key}", given)
        if not values:
            raise SeekwiseError(f"space: {key} has no value; expected a range or a list")
        return values

    return {key: parse(key, given) for key, given in space.items()}


def suggest(trial: Any, space: Mapping[str, Span | tuple[Value, ...]]) -> dict[str, Value]:
    """Asks Optuna for the settings of a trial."""

    def suggest_one(key: str, choices: Span | tuple[Value, ...]) -> Value:
        if not isinstance(choices, Span):
            chosen: Value = trial.suggest_categorical(key, list(choices))
            return chosen
        if choices.is_whole:
            whole: int = trial.suggest_int(key, choices.low, choices.high, step=choices.step or 1, log=choices.log)
            return whole
        real: float = trial.suggest_float(key, choices.low, choices.high, step=choices.step, log=choices.log)
        return real

    return {key: suggest_one(key, choices) for key, choices in space.items()}


def listed(space: Mapping[str, Span | tuple[Value, ...]]) -> list[dict[str, Value]] | None:
    """All points of a space, in order; None if there are too many."""
    values = [choices.values if isinstance(choices, Span) else choices for choices in space.values()]
    count = 1
    for of_key in values:
        if of_key is None:
            return None
        count *= len(of_key)
    if count > MAX_LISTED_POINTS:
        return None
    return [dict(zip(space, point, strict=True)) for point in itertools.product(*(of_key or () for of_key in values))]


def neighbours(space: Mapping[str, Span | tuple[Value, ...]], point: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """Points that differ from a point by one step in one key, or in two; of a list without order by another value in
    one. Single steps come first."""
    moves = {key: list(_moves(choices, point[key])) for key, choices in space.items()}
    for key, values in moves.items():
        for value in values:
            yield {**point, key: value}
    for one, other in itertools.combinations(moves, 2):
        for pair in itertools.product(moves[one], moves[other]):
            yield {**point, one: pair[0], other: pair[1]}


def _moves(choices: Span | tuple[Value, ...], value: Value) -> Iterator[Value]:
    values = choices.values if isinstance(choices, Span) else choices
    if values is None:
        assert isinstance(choices, Span) and isinstance(value, int | float), "only ranges have too many values"
        for direction in (-1, 1):
            moved = value * 1.1**direction if choices.log else value + direction * (choices.high - choices.low) / 20
            if choices.low <= moved <= choices.high:
                yield moved
        return
    words = [to_word(one) for one in values]
    at = words.index(to_word(value)) if to_word(value) in words else 0
    if isinstance(choices, Span) and choices.log:
        # As far as a ratio of some ten percent.
        reach = max(1, round(float(value) / 10 / float(choices.step or 1)))
        steps = sorted({1, reach})
    else:
        steps = [1]
    if all(map(_is_number, values)):
        ordered = sorted(range(len(values)), key=lambda index: float(values[index]))
        place = ordered.index(at)
        for step in steps:
            for other in (place - step, place + step):
                if 0 <= other < len(values):
                    yield values[ordered[other]]
        return
    yield from (one for index, one in enumerate(values) if index != at)
