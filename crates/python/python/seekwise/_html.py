"""HTML of results in notebooks: a verdict, an interval as a bar, a table of at most twenty rows, a report in a frame. Text is
escaped, there is no script, and colours are the page's own, so that it can be read on a dark one too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seekwise._figures import Interval
    from seekwise._native import Table

#: Rows of a table that are shown.
ROWS = 20

#: Height of a report's frame, in pixels.
HEIGHT = 640


def cell(value: object) -> str:
    """A value as a table shows it."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return str(value)


def rows(heads: Sequence[str], body: Iterable[Sequence[object]], units: dict[str, str]) -> str:
    """A table of these rows."""

    def head(name: str) -> str:
        unit = units.get(name)
        small = f'<br><small style="opacity:.7">{escape(unit)}</small>' if unit else ""
        return f'<th style="text-align:left">{escape(name)}{small}</th>'

    def line(values: Sequence[object]) -> str:
        return "<tr>" + "".join(f"<td>{escape(cell(value))}</td>" for value in values) + "</tr>"

    top = "".join(head(name) for name in heads)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(map(line, body))}</tbody></table>"


def table(of: Table) -> str:
    """The first rows of a table, and how many there are."""
    shown = rows(of.columns, of.rows_from(0, ROWS), of.units)
    more = len(of) - ROWS
    return shown + (f"<p>{more:,} more rows</p>" if more > 0 else "")


def bar(interval: Interval) -> str:
    """A ratio's interval as a bar, on a scale about 1 that holds it; of one run its estimate alone."""
    low, high = interval.ends or (interval.estimate, interval.estimate)
    reach = max(abs(low - 1), abs(high - 1), 0.05) * 1.15

    def at(ratio: float) -> float:
        return 50 + 50 * (ratio - 1) / reach

    left, right = at(low), at(high)
    place = "position:absolute;top:0;bottom:0;"
    width = max(right - left, 0.5)
    return (
        f'<div title="{escape(str(interval))}" style="position:relative;height:1em;width:24em;max-width:100%;'
        'border-bottom:1px solid currentColor">'
        f'<div style="{place}left:50%;border-left:1px dashed currentColor"></div>'
        f'<div style="{place}left:{left:.2f}%;width:{width:.2f}%;background:currentColor;opacity:.35"></div>'
        f'<div style="{place}left:{at(interval.estimate):.2f}%;border-left:2px solid currentColor"></div></div>'
    )


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def frame(page: str) -> str:
    """A page in a frame of its own."""
    return (
        f'<iframe srcdoc="{escape(page, quote=True)}" sandbox="allow-scripts" '
        f'style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
    )
