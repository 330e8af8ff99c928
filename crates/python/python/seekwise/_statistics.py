"""Intervals of means by Student's t, and the number of runs that would decide on which side of a limit a mean lies. It
knows no runs. The quantiles are the laboratory's."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise._figures import Interval
from seekwise._native import student_t

#: More runs than these are not worth a forecast.
MAX_FORECAST_RUNS = 10_000


def each_of(count: int, confidence: float = 0.95) -> float:
    """The confidence of each of `count` intervals that hold the truth all together with `confidence` (Bonferroni)."""
    return 1 - (1 - confidence) / max(count, 1)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1))


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """The mean with its interval; of one value there is none."""
    mean, deviation = _mean_and_deviation(values)
    if len(values) < 2:
        return Interval(mean, None, None)
    half_width = student_t(confidence, len(values) - 1) * deviation / math.sqrt(len(values))
    return Interval(mean, mean - half_width, mean + half_width)


def geometric_mean_interval(log_ratios: Sequence[float], confidence: float = 0.95) -> Interval:
    """The geometric mean of ratios with its interval, by Student's t on their logarithms."""
    mean = mean_interval(log_ratios, confidence)
    low, high = mean.ends or (None, None)
    ends = (None if end is None else math.exp(end) for end in (low, high))
    return Interval(math.exp(mean.estimate), *ends)


def runs_to_decide(values: Sequence[float], limit: float, confidence: float) -> int | None:
    """The least number of runs whose interval would leave out `limit`, if mean and deviation stayed as in `values`; None
    if that is more than `MAX_FORECAST_RUNS`."""
    mean, deviation = _mean_and_deviation(values)
    distance = abs(mean - limit)

    def is_decided(runs: int) -> bool:
        return student_t(confidence, runs - 1) * deviation < distance * math.sqrt(runs)

    low, high = len(values), 2 * len(values)
    while not is_decided(high):
        if high > MAX_FORECAST_RUNS:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_decided(middle) else (middle, high)
    return high
