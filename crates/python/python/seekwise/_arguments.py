"""The arguments of calls into the compiled part (`_native`): one value for each call, whose fields it reads by name
(`calls.rs`). Fields that are the caller's own arguments are checked by their declared types; nothing is computed."""

from __future__ import annotations

from dataclasses import dataclass, fields

from seekwise._checks import check_field

#: Dotted keys and values, in order.
SettingWords = tuple[tuple[str, str], ...]


class _Checked:
    """Arguments whose fields are checked by their types."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            check_field(field.name, str(field.type), getattr(self, field.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupCall(_Checked):
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
class RunCall(_Checked):
    """A run to make."""

    setup: SetupCall
    log: str | None
    requests: bool
    out: str | None
    force: bool
    max_memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareCall(_Checked):
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
class StudyCall(_Checked):
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
class ValidateCall(_Checked):
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
class FitCall(_Checked):
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
class RebuildCall(_Checked):
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
class PowerCutCall(_Checked):
    """Power cuts of a job's run."""

    setup: SetupCall
    cuts: int
    at: list[str]
    after: str | None
    shutdown: bool
    max_memory: int | None
