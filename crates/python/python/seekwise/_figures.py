"""Figures of results as typed values, read from the JSON that the command line prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval of 95 %. Of one run there is none: its ends are None."""

    estimate: float
    low: float | None
    high: float | None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends, if there is an interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        interval_text = "no interval" if self.ends is None else "{:.4g} to {:.4g}".format(*self.ends)
        return f"{self.estimate:.4g} ({interval_text})"

    @staticmethod
    def of(interval: Mapping[str, Any]) -> Interval:
        """Reads an interval of the JSON, in which an infinite end is null.

        Args:
            interval: an object with estimate, low and high.

        Returns:
            An `Interval`.

        Raises:
            KeyError: a field is missing.

        Example:
            >>> sw.Interval.of({"estimate": 1.5, "low": 1.2, "high": 1.9}).ends
            (1.2, 1.9)
        """
        low, high = interval["low"], interval["high"]
        has_both_ends = None not in (low, high)
        return Interval(interval["estimate"], low, high) if has_both_ends else Interval(interval["estimate"], None, None)


@dataclass(frozen=True, slots=True)
class Response:
    """Response times, in milliseconds."""

    mean: float
    p50: float
    p90: float
    p99: float
    p99_9: float
    p99_99: float
    max: float
    #: None in results of earlier versions, which did not keep it.
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the mean response, in milliseconds. They add up to it."""

    parts: tuple[tuple[str, float], ...]

    def __getitem__(self, name: str) -> float:
        parts = dict(self.parts)
        if name not in parts:
            raise KeyError(f"no part {name!r}; expected one of {', '.join(parts)}")
        return parts[name]

    def items(self) -> tuple[tuple[str, float], ...]:
        """Each part with its time, those that took no time as well.

        Returns:
            Pairs of a name and milliseconds.

        Raises:
            Nothing.

        Example:
            >>> "seek" in dict(result.anatomy.items())
            True
        """
        return self.parts

    def to_dict(self) -> dict[str, float]:
        """The parts by their names.

        Returns:
            A dictionary of milliseconds.

        Raises:
            Nothing.

        Example:
            >>> result.anatomy.to_dict()["seek"] > 1
            True
        """
        return dict(self.parts)

    def __str__(self) -> str:
        longest = sorted((part for part in self.parts if part[1] > 0), key=lambda part: -part[1])
        return ", ".join(f"{name} {ms:.3f} ms" for name, ms in longest)


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one kind in a run. Times are None where there were none."""

    ios: int
    iops: float
    bytes_per_s: float
    response_ms: Response | None
    since_due_ms: Response | None
    anatomy_ms: Parts

    @property
    def mean(self) -> float | None:
        """The mean response, in milliseconds."""
        return None if self.response_ms is None else self.response_ms.mean

    @property
    def p50(self) -> float | None:
        """The median response, in milliseconds."""
        return None if self.response_ms is None else self.response_ms.p50

    @property
    def p90(self) -> float | None:
        """Nine of ten responses are no longer, in milliseconds."""
        return None if self.response_ms is None else self.response_ms.p90

    @property
    def p95(self) -> float | None:
        """All but one in twenty responses are no longer, in milliseconds."""
        return None if self.response_ms is None else self.response_ms.p95

    @property
    def p99(self) -> float | None:
        """All but one in a hundred responses are no longer, in milliseconds."""
        return None if self.response_ms is None else self.response_ms.p99

    @property
    def p99_9(self) -> float | None:
        """All but one in a thousand responses are no longer, in milliseconds."""
        return None if self.response_ms is None else self.response_ms.p99_9

    @property
    def max(self) -> float | None:
        """The longest response, in milliseconds."""
        return None if self.response_ms is None else self.response_ms.max

    @staticmethod
    def of(figures: Mapping[str, Any]) -> Requests:
        """Reads the figures of one kind of requests of the JSON.

        Args:
            figures: an object of the JSON, such as "read".

        Returns:
            `Requests`.

        Raises:
            KeyError: a field is missing.

        Example:
            >>> sw.Requests.of(result.to_dict()["read"]) == result.read
            True
        """

        def response(name: str) -> Response | None:
            times: dict[str, float] | None = figures.get(name)
            return Response(**times) if times else None

        parts = Parts(tuple(figures.get("anatomy_ms", {}).items()))
        ios, iops, rate = figures["ios"], figures["iops"], figures["bytes_per_s"]
        return Requests(ios, iops, rate, response("response_ms"), response("since_due_ms"), parts)
