"""HTML for results in notebooks: a verdict, an interval as a bar, a table of at most twenty rows, a report in a frame.
Text is escaped, there is no script, and colours are those of the notebook, so that it can be read on a dark background
too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seekwise._figures import Interval
    from seekwise._native import Table

#: A table is shown up to this row.
MAX_ROWS = 20

#: Height of a report's frame, in pixels.
FRAME_HEIGHT_PX = 640


def cell_text(value: object) -> str:
    """A value as a table shows it."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return str(value)


def html_table(column_names: Sequence[str], values_by_row: Iterable[Sequence[object]], units: dict[str, str]) -> str:
    """A table with these columns and rows; columns may have units."""

    def header_cell(name: str) -> str:
        unit = units.get(name)
        small = f'<br><small style="opacity:.7">{escape(unit)}</small>' if unit else ""
        return f'<th style="text-align:left">{escape(name)}{small}</th>'

    def body_row(values: Sequence[object]) -> str:
        return "<tr>" + "".join(f"<td>{escape(cell_text(value))}</td>" for value in values) + "</tr>"

    header_row = "".join(header_cell(name) for name in column_names)
    return f"<table><thead><tr>{header_row}</tr></thead><tbody>{''.join(map(body_row, values_by_row))}</tbody></table>"


def table_preview(table: Table) -> str:
    """The first rows of a table, and how many there are."""
    preview = html_table(table.columns, table.rows_from(0, MAX_ROWS), table.units)
    hidden_rows = len(table) - MAX_ROWS
    return preview + (f"<p>{hidden_rows:,} more rows</p>" if hidden_rows > 0 else "")


def interval_bar(interval: Interval) -> str:
    """A ratio's interval as a bar, on a scale around 1 that contains it; the estimate alone if there is no interval."""
    low, high = interval.ends or (interval.estimate, interval.estimate)
    scale_reach = max(abs(low - 1), abs(high - 1), 0.05) * 1.15

    def percent_of_width(ratio: float) -> float:
        return 50 + 50 * (ratio - 1) / scale_reach

    left, right, estimate = percent_of_width(low), percent_of_width(high), percent_of_width(interval.estimate)
    full_height = "position:absolute;top:0;bottom:0;"
    bar_width = max(right - left, 0.5)
    return (
        f'<div title="{escape(str(interval))}" style="position:relative;height:1em;width:24em;max-width:100%;'
        'border-bottom:1px solid currentColor">'
        f'<div style="{full_height}left:50%;border-left:1px dashed currentColor"></div>'
        f'<div style="{full_height}left:{left:.2f}%;width:{bar_width:.2f}%;background:currentColor;opacity:.35"></div>'
        f'<div style="{full_height}left:{estimate:.2f}%;border-left:2px solid currentColor"></div></div>'
    )


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def frame(page: str) -> str:
    """A page in a frame of its own."""
    return (
        f'<iframe srcdoc="{escape(page, quote=True)}" sandbox="allow-scripts" '
        f'style="width:100%;height:{FRAME_HEIGHT_PX}px;border:0"></iframe>'
    )
