"""Pictures of results, drawn by matplotlib on request. Each function draws into axes and returns them, so that the
caller can go on drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from seekwise._error import SeekwiseError
from seekwise._native import Table


def given_or_current_axes(ax: Any) -> Any:
    """The axes to draw into: those that are given, or matplotlib's current ones."""
    if ax is not None:
        return ax
    try:
        return import_module("matplotlib.pyplot").gca()
    except ImportError as error:
        raise SeekwiseError("a picture needs matplotlib: `pip install seekwise[plot]`") from error


def _select_columns(table: Table, *names: str) -> list[tuple[Any, ...]]:
    indices = [table.columns.index(name) for name in names]
    return [tuple(row[index] for index in indices) for row in table.rows_from(0, len(table))]


def escape_dollars(word: str) -> str:
    """A word for a label, in which matplotlib does not take text between two dollar signs for a formula."""
    return word.replace("$", r"\$")


def draw_response_curves(table: Table, ax: Any) -> Any:
    """Draws shares of requests by response time: a step curve for each run, in the colour of its cell."""
    axes = given_or_current_axes(ax)
    points_by_run: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for cell, run, edge, share in _select_columns(table, "cell", "run", "response_ns", "share"):
        points_by_run.setdefault((cell, run), []).append((edge / 1e6, share))
    for (cell, run), points in points_by_run.items():
        label_option = {"label": f"cell {cell}"} if run == 0 else {}
        axes.step(*zip(*points, strict=True), where="post", color=f"C{cell % 10}", alpha=0.7, **label_option)
    axes.set_xscale("log")
    axes.set_xlabel("response time, ms")
    axes.set_ylabel("share of requests")
    if len({cell for cell, _ in points_by_run}) > 1:
        axes.legend()
    return axes


def draw_intervals(rows: Sequence[tuple[str, float, float | None, float | None]], ax: Any) -> Any:
    """Draws ratios with their intervals of 95 %, one below the other. A row is (label, estimate, low, high); without an
    interval the ratio is drawn alone."""
    axes = given_or_current_axes(ax)
    for index, (_, estimate, low, high) in enumerate(rows):
        error_bars = None if low is None or high is None else [[estimate - low], [high - estimate]]
        axes.errorbar(estimate, index, xerr=error_bars, fmt="o", capsize=3, color="C0")
    axes.axvline(1, color="grey", linewidth=1)
    axes.set_yticks(range(len(rows)), [escape_dollars(label) for label, *_ in rows])
    axes.invert_yaxis()
    axes.set_xlabel("ratio, with its interval of 95 %")
    return axes


def draw_comparisons(table: Table, ax: Any) -> Any:
    """Draws the ratios of a table of comparisons; comparisons that were refused have none."""
    rows = _select_columns(table, "comparison", "cell", "to", "metric", "ratio", "low", "high")
    judged_rows = [(_label(row[:4]), *row[4:]) for row in rows if row[4] is not None]
    return draw_intervals(judged_rows, ax)


def _label(words: Iterable[str]) -> str:
    return ", ".join(word for word in words if word)


def draw_data_at_risk(table: Table, ax: Any) -> Any:
    """Draws over time how much data was acknowledged and not on the medium."""
    axes = given_or_current_axes(ax)
    rows = _select_columns(table, "t_s", "bytes_mean", "bytes_max")
    times_s, mean_kib, max_kib = ([row[index] / scale for row in rows] for index, scale in enumerate((1, 1024, 1024)))
    axes.plot(times_s, mean_kib, label="mean")
    axes.fill_between(times_s, mean_kib, max_kib, alpha=0.3, label="up to the most")
    axes.set_xlabel("time, s")
    axes.set_ylabel("at risk, KiB")
    axes.legend()
    return axes


def draw_validation(table: Table, ax: Any) -> Any:
    """Draws simulated against measured response times, both sorted: on the diagonal they are distributed alike."""
    axes = given_or_current_axes(ax)
    rows = _select_columns(table, "measured_ns", "simulated_ns")
    measured_ms, simulated_ms = (sorted(row[index] / 1e6 for row in rows) for index in (0, 1))
    axes.plot(measured_ms, simulated_ms, ".", markersize=3)
    axes.axline((0, 0), slope=1, color="grey", linewidth=1)
    axes.set_xlabel("measured response time, ms")
    axes.set_ylabel("simulated response time, ms")
    return axes
