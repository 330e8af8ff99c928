"""Student's t: intervals of means, and the number of runs that would decide on which side of a limit a mean lies. It
knows no runs. Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.5 and 26.7."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from seekwise._figures import Interval

#: More runs than these are not worth a forecast.
MAX_FORECAST_RUNS = 10_000

#: From this many degrees of freedom on, the expansion about the normal quantile is right to six digits.
MANY_DEGREES = 200


def _central_probability(t: float, degrees: int) -> float:
    """The probability that Student's t lies between -t and t: the finite series of 26.7.3 and 26.7.4."""
    angle = math.atan2(t, math.sqrt(degrees))
    cosine_squared = math.cos(angle) ** 2
    if degrees % 2:
        term = total = math.cos(angle) if degrees > 1 else 0.0
        for step in range(3, degrees - 1, 2):
            term *= cosine_squared * (step - 1) / step
            total += term
        return 2 / math.pi * (angle + math.sin(angle) * total)
    term = total = 1.0
    for step in range(2, degrees - 1, 2):
        term *= cosine_squared * (step - 1) / step
        total += term
    return math.sin(angle) * total


#: Quantiles that were asked for.
_known: dict[tuple[float, int], float] = {}


def student_t(confidence: float, degrees: int) -> float:
    """The t between whose negative and itself a share `confidence` (0 to 1) of Student's distribution lies."""
    if (confidence, degrees) not in _known:
        _known[confidence, degrees] = _find_t(confidence, degrees)
    return _known[confidence, degrees]


def _find_t(confidence: float, degrees: int) -> float:
    if degrees >= MANY_DEGREES:
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    low, high = 0.0, 1.0
    while _central_probability(high, degrees) < confidence and high < 1e9:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        if _central_probability(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return high


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
