"""Columns of a grid's cells that no run has to measure: prices, and functions of the settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from seekwise._error import SeekwiseError
from seekwise._grid import PRICE, Grid, to_value
from seekwise._setup import Value

#: The settings of a cell, numbers and booleans as such.
CellSettings = Mapping[str, Value]

#: A figure of a cell that follows from its settings: a function, or a number for each cell in the grid's order.
Column = Callable[[CellSettings], float] | Sequence[float]

#: What a cell costs: the price of one drive, by its name; or a column.
Prices = Mapping[str, float] | Column


def cell_settings(grid: Grid, common: Mapping[str, str]) -> Iterator[dict[str, Value]]:
    """The settings of each cell in order, with those that all cells have."""
    for cell in grid:
        yield {key: to_value(word) for key, word in {**common, **grid.settings(cell)}.items()}


def _drives_in(settings: CellSettings) -> int:
    """How many drives a cell has."""
    if settings.get("array", "none") == "none" and "array.level" not in settings:
        return 1
    drives = settings.get("array.drives")
    if not isinstance(drives, int) or isinstance(drives, bool):
        raise SeekwiseError(
            f"prices: array={settings.get('array')}: the number of drives is not set; expected array.drives beside it"
        )
    return drives


def _price_by_drive(prices: Mapping[str, float], settings: CellSettings) -> float:
    drive = str(settings["drive"])
    if drive not in prices:
        raise SeekwiseError(f"prices: {drive}: no price; expected one for each drive, such as prices={{{drive!r}: 300}}")
    return prices[drive] * _drives_in(settings)


def _values(name: str, column: Column, settings: Sequence[CellSettings]) -> tuple[float, ...]:
    values: Sequence[Any] = [column(one) for one in settings] if callable(column) else tuple(column)
    if len(values) != len(settings):
        raise SeekwiseError(f"{name}: {len(values)} numbers; expected one for each of the {len(settings)} cells")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise SeekwiseError(f"{name}: {value!r}; expected a number")
    return tuple(values)


def column_values(
    grid: Grid, common: Mapping[str, str], prices: Prices | None, columns: Mapping[str, Column] | None
) -> dict[str, tuple[float, ...]]:
    """The numbers of each column, in the grid's order: `price`, if anything has one, and the others."""
    settings = list(cell_settings(grid, common))
    values = {name: _values(f"columns: {name}", column, settings) for name, column in (columns or {}).items()}
    added = [sum(bundle.price or 0 for bundle in grid.bundles_of(cell)) for cell in grid]
    has_bundle_prices = any(bundle.price is not None for _, bundles in grid.bundles for bundle in bundles)
    if prices is None and not has_bundle_prices:
        return values
    if PRICE in values:
        raise SeekwiseError("columns: price is given twice: here, and by prices or a bundle")
    if isinstance(prices, Mapping):
        own: tuple[float, ...] = tuple(_price_by_drive(prices, one) for one in settings)
    else:
        own = (0.0,) * len(settings) if prices is None else _values("prices", prices, settings)
    return {PRICE: tuple(one + more for one, more in zip(own, added, strict=True)), **values}
