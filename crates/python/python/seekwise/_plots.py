"""Pictures on request: each draws into matplotlib's axes and answers them, so that whoever asked can go on with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from seekwise._error import SeekwiseError
from seekwise._native import Table


def axes(ax: Any) -> Any:
    """The axes to draw into: those given, or matplotlib's present ones."""
    if ax is not None:
        return ax
    try:
        return import_module("matplotlib.pyplot").gca()
    except ImportError as error:
        raise SeekwiseError("a picture needs matplotlib: `pip install seekwise[plot]`") from error


def _columns(table: Table, *names: str) -> list[tuple[Any, ...]]:
    places = [table.columns.index(name) for name in names]
    return [tuple(row[place] for place in places) for row in table.rows_from(0, len(table))]


def text(word: str) -> str:
    """A word as a label: matplotlib would set what stands between two dollars as a formula."""
    return word.replace("$", r"\$")


def curves(table: Table, ax: Any) -> Any:
    """Shares of requests by response time: a step curve a cell, its runs over one another."""
    drawn = axes(ax)
    runs: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for cell, run, edge, share in _columns(table, "cell", "run", "response_ns", "share"):
        runs.setdefault((cell, run), []).append((edge / 1e6, share))
    for (cell, run), points in runs.items():
        named = {"label": f"cell {cell}"} if run == 0 else {}
        drawn.step(*zip(*points, strict=True), where="post", color=f"C{cell % 10}", alpha=0.7, **named)
    drawn.set_xscale("log")
    drawn.set_xlabel("response time, ms")
    drawn.set_ylabel("share of requests")
    if len({cell for cell, _ in runs}) > 1:
        drawn.legend()
    return drawn


def intervals(rows: Sequence[tuple[str, float, float | None, float | None]], ax: Any) -> Any:
    """Ratios with their intervals of 95 %, one below the other: label, estimate, low, high. Of one run there is the ratio alone."""
    drawn = axes(ax)
    for place, (_, estimate, low, high) in enumerate(rows):
        reach = None if low is None or high is None else [[estimate - low], [high - estimate]]
        drawn.errorbar(estimate, place, xerr=reach, fmt="o", capsize=3, color="C0")
    drawn.axvline(1, color="grey", linewidth=1)
    drawn.set_yticks(range(len(rows)), [text(label) for label, *_ in rows])
    drawn.invert_yaxis()
    drawn.set_xlabel("ratio, with its interval of 95 %")
    return drawn


def intervals_of(table: Table, ax: Any) -> Any:
    """The same of a table of comparisons; those that were refused have none."""
    rows = _columns(table, "comparison", "cell", "to", "metric", "ratio", "low", "high")
    told = [(_label(row[:4]), *row[4:]) for row in rows if row[4] is not None]
    return intervals(told, ax)


def _label(words: Iterable[str]) -> str:
    return ", ".join(word for word in words if word)


def at_risk(table: Table, ax: Any) -> Any:
    """Data that were acknowledged and not on the medium, over time."""
    drawn = axes(ax)
    rows = _columns(table, "t_s", "bytes_mean", "bytes_max")
    times, mean, most = ([row[place] / scale for row in rows] for place, scale in enumerate((1, 1024, 1024)))
    drawn.plot(times, mean, label="mean")
    drawn.fill_between(times, mean, most, alpha=0.3, label="up to the most")
    drawn.set_xlabel("time, s")
    drawn.set_ylabel("at risk, KiB")
    drawn.legend()
    return drawn


def samples(table: Table, ax: Any) -> Any:
    """Measured and simulated response times, each sorted: on the diagonal they are distributed alike."""
    drawn = axes(ax)
    rows = _columns(table, "measured_ns", "simulated_ns")
    measured, simulated = (sorted(row[place] / 1e6 for row in rows) for place in (0, 1))
    drawn.plot(measured, simulated, ".", markersize=3)
    drawn.axline((0, 0), slope=1, color="grey", linewidth=1)
    drawn.set_xlabel("measured response time, ms")
    drawn.set_ylabel("simulated response time, ms")
    return drawn
