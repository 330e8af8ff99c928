"""The arguments of calls into the compiled part (`_native`): one value for each call, whose fields it reads by name
(`calls.rs`). Nothing is checked or computed here."""

from __future__ import annotations

from dataclasses import dataclass

#: Dotted keys and values, in order.
SettingWords = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupCall:
    """A job on a target."""

    job: str
    target: str
    set: SettingWords
    seed: int
    runtime: str | None
    destroy: str | None
    trace_format: str | None
    #: The job's text, if it is in memory; `job` is then `-`.
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCall:
    """A run to make."""

    setup: SetupCall
    log: str | None
    requests: bool
    out: str | None
    force: bool
    max_memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareCall:
    """A job on two or more values of one setting. Runs are kept in the folder `out`, with a page, or in
    the folder `beside`, without one. With `kept` nothing runs: an interrupted comparison is read from that folder."""

    setup: SetupCall
    key: str
    levels: list[str]
    metrics: list[str]
    runs: int
    until_decided: bool
    out: str | None
    beside: str
    kept: bool
    force: bool
    max_memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCall:
    """A study or a review to run."""

    name: str
    #: The study's text, if it is in memory; `name` is then `-`.
    text: str | None
    out: str
    resume: bool
    force: bool
    until_decided: bool | None
    threads: int
    max_memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateCall:
    """A measured trace to play on a modelled drive."""

    trace: str
    drive: str
    set: SettingWords
    replay: str
    seed: int
    log: str | None
    force: bool
    at_most: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCall:
    """A drive to fit to what was measured."""

    data: list[str]
    drive: str
    hold: str
    only: list[str]
    out: str
    page: str | None
    generations: int | None
    time: str
    points: int | None
    resume: bool
    force: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildCall:
    """A rebuild or a scrub of an array."""

    #: Its job is that of the users, if `has_load`.
    setup: SetupCall
    has_load: bool
    array: str | None
    drives: int | None
    users: int | None
    policies: list[str]
    scrub: bool
    lose: int
    together: bool
    spare_after: float
    next_loss: float | None
    working_hours: tuple[float, float] | None
    live: float | None
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCutCall:
    """Power cuts of a job's run."""

    setup: SetupCall
    cuts: int
    at: list[str]
    after: str | None
    shutdown: bool
    max_memory: int | None
