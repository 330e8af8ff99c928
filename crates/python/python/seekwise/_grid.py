"""Grids: settings with their levels, and bundles, whose settings vary together. A grid makes plans of sweeps; it runs
nothing."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from seekwise._error import SeekwiseError
from seekwise._native import Plan
from seekwise._pickles import Versioned
from seekwise._setup import Job, Settings, Stack, Target, Text, Value, setup_call, to_word, to_words

#: A file's name.
File = str | os.PathLike[str]

#: Keys and values as words, in order.
Words = tuple[tuple[str, str], ...]

#: A bundle's entry that is no setting: what its level adds to the price.
PRICE = "price"

#: A setting's levels or its only level; or a bundle: the settings of each named level.
Levels = Value | Iterable[Value] | Mapping[str, Mapping[str, Value]]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A named level of a factor that sets several keys together."""

    name: str
    #: Its settings, as words.
    settings: Words
    #: What it adds to the price of a cell.
    price: float | None = None


def _bundle_named(name: str | None, factor: str, bundles: tuple[Bundle, ...]) -> Bundle:
    for bundle in bundles:
        if bundle.name == name:
            return bundle
    names = ", ".join(bundle.name for bundle in bundles)
    raise SeekwiseError(f"{factor}={name}: no such level; expected one of {names}")


@dataclass(frozen=True, slots=True)
class Grid(Versioned):
    """Factors and their levels: each combination is a cell. The first factor varies slowest.

    Iterating yields a dictionary a cell: the level of each factor, as a word. `len` counts cells without making them.
    `grid` makes one.
    """

    #: The names of the levels, by factor: a dotted key, or the name of a bundle.
    levels: tuple[tuple[str, tuple[str, ...]], ...]
    #: The levels of those factors that are bundles.
    bundles: tuple[tuple[str, tuple[Bundle, ...]], ...] = ()

    def __len__(self) -> int:
        count = 1
        for _, values in self.levels:
            count *= len(values)
        return count

    def __iter__(self) -> Iterator[dict[str, str]]:
        keys = [key for key, _ in self.levels]
        for values in itertools.product(*(values for _, values in self.levels)):
            yield dict(zip(keys, values, strict=True))

    def bundles_of(self, cell: Mapping[str, str]) -> list[Bundle]:
        """The bundles of a cell.

        Parameters:
            cell: the level of each factor.

        Returns:
            the bundle of each factor that has bundles, in order.

        Raises:
            SeekwiseError: the cell has no level of a factor with bundles, or an unknown one.

        >>> layouts = sw.grid(layout={"one": {"array": "none"}, "two": {"array": "raid-1", "array.drives": 2}})
        >>> layouts.bundles_of({"layout": "two"})[0].settings
        (('array', 'raid-1'), ('array.drives', '2'))
        """
        return [_bundle_named(cell.get(factor), factor, bundles) for factor, bundles in self.bundles]

    def settings(self, cell: Mapping[str, str]) -> dict[str, str]:
        """The dotted keys that a cell sets, those of its bundles included.

        Parameters:
            cell: the level of each factor.

        Returns:
            the values of the keys, as words.

        Raises:
            SeekwiseError: the cell has no level of a factor with bundles, or an unknown one.

        >>> layouts = sw.grid({"job.depth": [1, 4]}, layout={"one": {"array": "none"}})
        >>> [layouts.settings(cell) for cell in layouts]
        [{'job.depth': '1', 'array': 'none'}, {'job.depth': '4', 'array': 'none'}]
        """
        names = dict(self.bundles)
        plain = {key: level for key, level in cell.items() if key not in names}
        return plain | dict(setting for bundle in self.bundles_of(cell) for setting in bundle.settings)

    def factors(self) -> list[tuple[str, Sequence[str] | Sequence[tuple[str, Words]]]]:
        """The factors as plans take them.

        Returns:
            each factor with its levels, or with its bundles and their settings.

        Raises:
            nothing.

        >>> sw.grid({"job.depth": [1, 4]}).factors()
        [('job.depth', ('1', '4'))]
        """
        bundles = {factor: [(one.name, one.settings) for one in of_factor] for factor, of_factor in self.bundles}
        return [(factor, bundles.get(factor, values)) for factor, values in self.levels]

    @property
    def varied(self) -> tuple[str, ...]:
        """The factors with more than one level."""
        return tuple(key for key, values in self.levels if len(values) > 1)

    def to_source(self) -> str:
        """The expression of Python that makes this grid.

        Returns:
            source text; evaluated, it is an equal grid.

        Raises:
            nothing.

        >>> sw.grid({"job.depth": [1, 4]}).to_source()
        'sw.grid({"job.depth": ["1", "4"]})'
        """
        bundles = {
            factor: {one.name: dict(one.settings) | ({} if one.price is None else {PRICE: one.price}) for one in levels}
            for factor, levels in self.bundles
        }
        return f"sw.grid({to_source({key: bundles.get(key, list(levels)) for key, levels in self.levels})})"


def to_source(value: object) -> str:
    """The expression of Python that makes a value, with double quotes: shell lines have it in single ones."""
    if isinstance(value, Text):
        return f"sw.fio({to_source(value.text)})"
    if isinstance(value, Stack):
        return f"sw.stack({to_source(value.target)}, {to_source(dict(value.settings))})"
    if isinstance(value, str | os.PathLike):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{to_source(key)}: {to_source(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Iterable):
        return "[" + ", ".join(map(to_source, value)) + "]"
    return repr(to_value(to_word(value)))


def to_value(word: str) -> Value:
    """A word of the command line as the number or boolean that it stands for; else the word."""
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _to_bundles(factor: str, given: Mapping[str, Mapping[str, Value]]) -> tuple[Bundle, ...]:
    def to_bundle(name: str, entries: object) -> Bundle:
        if not isinstance(entries, Mapping):
            example = '{"raid-6 of 8": {"array": "raid-6", "array.drives": 8}}'
            raise SeekwiseError(f"grid: {factor}: {name}: {entries!r}: expected its settings, as in {example}")
        settings = tuple(
            (key, to_word(value, f"grid: {factor}: {name}: {key}")) for key, value in entries.items() if key != PRICE
        )
        price = entries.get(PRICE)
        if price is not None and (isinstance(price, bool) or not isinstance(price, int | float)):
            raise SeekwiseError(f"grid: {factor}: {name}: price: {price!r}; expected a number")
        return Bundle(to_word(name, f"grid: {factor}"), settings, price)

    return tuple(to_bundle(name, entries) for name, entries in given.items())


def grid(
    levels: Mapping[str, Levels] | None = None, *, on: File | Iterable[File] | None = None, **more: Levels
) -> Grid:
    """Makes a grid: all combinations of the levels of its factors.

    Parameters:
        levels: for each dotted key of `seekwise keys` its values, a list or one value; a text is one value. A dictionary
            instead of a list is a bundle: the settings of each named level, which vary together. `price` in a bundle is
            no setting: `choose` adds it to the price.
        on: drives, profiles or stack files: the factor `drive`, which varies slowest.
        more: further factors, as in `levels`.

    Returns:
        the grid.

    Raises:
        SeekwiseError: a factor has no level, or a key is set twice.

    >>> cells = sw.grid(
    ...     on=["exos-x18", "wd140edfz"],
    ...     layout={"raid-6 of 8": {"array": "raid-6", "array.drives": 8}, "one": {"array": "none"}},
    ...     **{"job.depth": [1, 4, 16]},
    ... )
    >>> len(cells), cells.varied
    (12, ('drive', 'layout', 'job.depth'))
    """
    varied: list[tuple[str, object]] = [] if on is None else [("drive", on)]
    varied += [*(levels or {}).items(), *more.items()]
    bundles = tuple((key, _to_bundles(key, given)) for key, given in varied if isinstance(given, Mapping))
    keys = [key for key, given in varied if not isinstance(given, Mapping)]
    for _, of_factor in bundles:
        keys += {key for bundle in of_factor for key, _ in bundle.settings}
    for key in (*keys, *(key for key, _ in varied)):
        if keys.count(key) > 1 or [name for name, _ in varied].count(key) > 1:
            raise SeekwiseError(f"grid: {key} is given twice")
    names = {factor: tuple(bundle.name for bundle in of_factor) for factor, of_factor in bundles}
    all_levels = tuple(
        (key, names[key] if key in names else tuple(to_words(f"grid: {key}", values))) for key, values in varied
    )
    for key, values in all_levels:
        if not values:
            raise SeekwiseError(f"grid: {key} has no level; expected one or more")
    return Grid(all_levels, bundles)


@dataclass(frozen=True)
class PlannedCells:
    """A plan and the cells of the grid that it runs, in its order."""

    plan: Plan
    cells: tuple[dict[str, str], ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A cell that cannot run, by its levels."""

    levels: Words
    why: str


def target_of(on: Target | None, settings: Mapping[str, str]) -> Target:
    """What a cell runs on: `on`, or the drive among its settings."""
    drive = settings.get("drive")
    if drive is None and on is None:
        raise SeekwiseError("a sweep needs a drive: expected on=, here or in the grid")
    if drive is not None and isinstance(on, Stack):
        raise SeekwiseError("the grid has drives, and `on` is a stack: one of them would count for nothing")
    if drive is not None:
        return drive
    assert on is not None, "one of them is given"
    return on


@dataclass(frozen=True)
class GridPlanner:
    """Plans a job with the cells of a grid: a plan for each combination of bundles. Where a plan is refused, its cells
    are parted, so that cells which cannot run do not refuse the others."""

    job: Job
    grid: Grid
    on: Target | None
    set: Settings | None
    seed: int
    runtime: str | None
    runs: int

    def plans(self) -> tuple[list[PlannedCells], list[Refused]]:
        """All plans, and the refused cells. Raises the first refusal if no cell can run."""
        planned: list[PlannedCells] = []
        refused: list[tuple[Refused, SeekwiseError]] = []
        names = [factor for factor, _ in self.grid.bundles]
        choices = (((factor, (bundle.name,)) for bundle in bundles) for factor, bundles in self.grid.bundles)
        for chosen in itertools.product(*choices):
            by_factor = dict(chosen)
            levels = [(key, by_factor[key] if key in names else values) for key, values in self.grid.levels]
            self._plan_or_part(levels, planned, refused)
        if not planned:
            raise refused[0][1]
        return planned, [cell for cell, _ in refused]

    def _plan_or_part(
        self,
        levels: list[tuple[str, tuple[str, ...]]],
        planned: list[PlannedCells],
        refused: list[tuple[Refused, SeekwiseError]],
    ) -> None:
        cells = tuple(Grid(tuple(levels), self.grid.bundles))
        try:
            planned.append(PlannedCells(self._plan(levels, cells[0]), cells))
        except SeekwiseError as error:
            varied = [index for index, (_, values) in enumerate(levels) if len(values) > 1]
            if not varied:
                refused.append((Refused(tuple(cells[0].items()), str(error)), error))
                return
            # Most refusals are due to a few levels of one factor; the first one is parted into its levels.
            key, values = levels[varied[0]]
            for value in values:
                self._plan_or_part([(name, (value,) if name == key else old) for name, old in levels], planned, refused)

    def _plan(self, levels: list[tuple[str, tuple[str, ...]]], first_cell: dict[str, str]) -> Plan:
        bundle_settings = dict(setting for bundle in self.grid.bundles_of(first_cell) for setting in bundle.settings)
        target = target_of(self.on, self.grid.settings(first_cell))
        settings = {**(self.set or {}), **{key: word for key, word in bundle_settings.items() if key != "drive"}}
        names = dict(self.grid.bundles)
        factors = [(key, values) for key, values in levels if key not in names]
        return Plan.of_setup(setup_call(self.job, target, settings, self.seed, self.runtime), factors, self.runs)
