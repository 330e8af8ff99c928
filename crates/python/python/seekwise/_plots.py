"""Pictures of results, drawn by matplotlib on request. Each function draws into axes and returns them, so that the
caller can go on drawing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from seekwise._error import SeekwiseError
from seekwise._figures import Interval
from seekwise._native import Table
from seekwise._statistics import mean_interval


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


#: Figures of which the largest is so many times the smallest are drawn on a logarithmic axis.
WIDE_RANGE = 20


def draw_front(
    marks: Sequence[tuple[float, Interval, str]],
    front: Sequence[tuple[float, float]],
    limits: Sequence[float],
    names: tuple[str, str],
    title: str,
    ax: Any,
) -> Any:
    """Draws cells by two figures, in colours by verdict, with the intervals of the second; the front, and limits."""
    axes = given_or_current_axes(ax)
    colours = {"kept": "C0", "not decided": "C1", "broken": "0.7"}
    for verdict, colour in colours.items():
        points = [(x, interval) for x, interval, mark in marks if mark == verdict]
        if points:
            _draw_with_intervals(axes, points, fmt="o", color=colour, label=verdict)
    if front:
        axes.plot(*zip(*sorted(front), strict=True), color="C2", marker="D", label="front" if len(front) > 1 else "chosen")
    for limit in limits:
        axes.axhline(limit, color="grey", linewidth=1, linestyle="--")
    axes.set_xlabel(escape_dollars(names[0]))
    axes.set_ylabel(escape_dollars(names[1]))
    axes.set_title(escape_dollars(title))
    ends = [interval.ends or (interval.estimate, interval.estimate) for _, interval, _ in marks]
    if min(low for low, _ in ends) > 0 and max(high for _, high in ends) > WIDE_RANGE * min(low for low, _ in ends):
        axes.set_yscale("log")
    axes.legend()
    return axes


def _draw_with_intervals(axes: Any, points: Sequence[tuple[float, Interval]], **options: Any) -> None:
    xs, ys = [x for x, _ in points], [interval.estimate for _, interval in points]
    ends = [interval.ends or (interval.estimate, interval.estimate) for _, interval in points]
    errors = [[y - low for y, (low, _) in zip(ys, ends, strict=True)], [high - y for y, (_, high) in zip(ys, ends, strict=True)]]
    axes.errorbar(xs, ys, yerr=errors, capsize=2, **options)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


#: Dashes of lines, for the factor that has no colours.
LINE_STYLES = ("-", "--", ":", "-.", (0, (1, 4)), (0, (6, 2, 1, 2, 1, 2)))


def draw_by_factor(
    points: Sequence[tuple[Mapping[str, str], Interval]],
    varied: Sequence[str],
    over: str | tuple[str, str],
    figure: str,
    title: str,
    ax: Any,
) -> Any:
    """Draws a figure over one factor, a line for each combination of the others; or over two, as a map. A map has the
    mean of the cells that share its two levels."""
    axes = given_or_current_axes(ax)
    factors = (over,) if isinstance(over, str) else tuple(over)
    for factor in factors:
        if factor not in varied or len(factors) > 2:
            raise SeekwiseError(f"plot: over {factor}: expected one or two factors that vary: {', '.join(varied)}")
    axes.set_title(escape_dollars(title))
    axes.set_xlabel(escape_dollars(factors[0]))
    levels = [list(dict.fromkeys(cell[factor] for cell, _ in points)) for factor in factors]
    hidden = [factor for factor in varied if factor not in factors]
    if len(factors) == 2:
        if hidden:
            axes.set_title(escape_dollars(f"{title} (mean over {', '.join(hidden)})"))
        return _draw_map(axes, points, factors, levels, figure)
    _draw_lines(axes, points, [factor for factor in varied if factor != over], factors[0], levels[0])
    axes.set_ylabel(escape_dollars(figure))
    return axes


def _draw_lines(
    axes: Any, points: Sequence[tuple[Mapping[str, str], Interval]], others: Sequence[str], over: str, levels: Sequence[str]
) -> None:
    """Draws a line for each combination of the other factors: the first of them has a colour each, the rest a dash."""
    is_numeric = all(map(_is_number, levels))
    lines: dict[tuple[str, str], list[tuple[float, Interval]]] = {}
    for cell, interval in points:
        names = [cell[factor] for factor in others]
        position = float(cell[over]) if is_numeric else levels.index(cell[over])
        lines.setdefault((_label(names[:1]), _label(names[1:])), []).append((position, interval))
    colours, dashes = (list(dict.fromkeys(names)) for names in zip(*lines, strict=True))
    for (colour, dash), line in lines.items():
        style = {"color": f"C{colours.index(colour) % 10}", "linestyle": LINE_STYLES[dashes.index(dash) % len(LINE_STYLES)]}
        _draw_with_intervals(axes, sorted(line, key=lambda point: point[0]), marker=".", **style)
    if not is_numeric:
        axes.set_xticks(range(len(levels)), [escape_dollars(level) for level in levels])
    if len(colours) > 1:
        for index, name in enumerate(colours):
            axes.plot([], [], color=f"C{index % 10}", label=escape_dollars(name))
    if len(dashes) > 1:
        for index, name in enumerate(dashes):
            axes.plot([], [], color="grey", linestyle=LINE_STYLES[index % len(LINE_STYLES)], label=escape_dollars(name))
    if len(lines) > 1:
        axes.legend(fontsize="small")


def draw_study_by_factor(cells: Table, over: str | tuple[str, str], figure: str, ax: Any) -> Any:
    """Draws a figure of a study's cells over one factor or two. The title names the job and the factors that vary."""
    names = cells.columns
    factors = names[names.index("job") + 1 : names.index("elapsed_s")]
    if figure not in names[names.index("elapsed_s") :]:
        raise SeekwiseError(f"plot: figure {figure}: no such figure; expected a column of cells, such as iops or p99_ms")
    values_by_cell: dict[tuple[str, ...], list[float]] = {}
    for *levels, value in _select_columns(cells, *factors, figure):
        if value is not None:
            values_by_cell.setdefault(tuple(map(str, levels)), []).append(value)
    varied = [name for name, levels in zip(factors, zip(*values_by_cell, strict=True), strict=True) if len(set(levels)) > 1]
    points = [(dict(zip(factors, levels, strict=True)), mean_interval(values)) for levels, values in values_by_cell.items()]
    title = f"{cells.row(0)[names.index('job')]}: {', '.join(varied)}"
    return draw_by_factor(points, varied, over, figure, title, ax)


def _draw_map(
    axes: Any,
    points: Sequence[tuple[Mapping[str, str], Interval]],
    factors: Sequence[str],
    levels: Sequence[list[str]],
    figure: str,
) -> Any:
    def mean_at(x: str, y: str) -> float:
        found = [interval.estimate for cell, interval in points if (cell[factors[0]], cell[factors[1]]) == (x, y)]
        return sum(found) / len(found) if found else float("nan")

    image = axes.imshow([[mean_at(x, y) for x in levels[0]] for y in levels[1]], aspect="auto", origin="lower")
    axes.figure.colorbar(image, ax=axes, label=escape_dollars(figure))
    axes.set_xticks(range(len(levels[0])), [escape_dollars(level) for level in levels[0]])
    axes.set_yticks(range(len(levels[1])), [escape_dollars(level) for level in levels[1]])
    axes.set_ylabel(escape_dollars(factors[1]))
    return axes
