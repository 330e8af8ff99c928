"""The types of the compiled part of the module (`crates/python/src`): calls of the library, tables, and the program."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final, overload

from typing_extensions import Self, disjoint_base

from seekwise._arguments import (
    CompareCall,
    FitCall,
    PowerCutCall,
    RebuildCall,
    RunCall,
    SetupCall,
    StudyCall,
    ValidateCall,
)
from seekwise._progress import ProgressFunction
from seekwise._results import ComparisonAnswer, StudyAnswer
from seekwise._setup import PartWords

__all__ = [
    "BUILD",
    "CancelFlag",
    "Completion",
    "Landing",
    "ModelDisk",
    "Plan",
    "Table",
    "VERSION",
    "compare",
    "drives",
    "fit",
    "keys",
    "open",
    "patterns",
    "power_cut",
    "program",
    "rebuild",
    "render_page",
    "run",
    "student_t",
    "studies",
    "study",
    "table_of_bytes",
    "validate",
    "write_file",
]

VERSION: str
BUILD: str

@final
class Table:
    """A table: pyarrow, polars, duckdb and pandas read it as it is."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A stream of Arrow record batches, which share the table's memory."""
    def __arrow_c_schema__(self) -> object:
        """The schema alone."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> tuple[Any, ...]:
        """A row by its number, or a column by its name."""
    @overload
    def __getitem__(self, key: str, /) -> list[Any]: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def _repr_html_(self) -> str: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    @property
    def units(self) -> dict[str, str]:
        """The unit of each column that has one."""
    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of each column, if its name does not say it."""
    def rows_from(self, first: int = 0, count: int = 20) -> list[tuple[Any, ...]]:
        """The rows from `first` on, at most `count` of them."""
    def row(self, row: int) -> tuple[Any, ...]:
        """One row."""
    def to_bytes(self) -> bytes:
        """Its bytes as an Arrow IPC stream."""
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

@disjoint_base
class ModelDisk:
    """A modelled disk, without the checks and values of `seekwise.Disk`."""

    def __new__(
        cls, target: str, settings: Sequence[tuple[str, str]], seed: int, landings: bool, savable: bool
    ) -> Self: ...
    def submit(
        self,
        now_ns: int,
        op: str,
        lba: int | None = None,
        sectors: int | None = None,
        *,
        fua: bool = False,
        ordered: bool = False,
        head_of_queue: bool = False,
        priority: bool = False,
    ) -> int | None:
        """Offers a request at an instant; returns its tag, or None if the disk is full."""
    def next(self) -> int | None:
        """When something happens next by itself."""
    def advance(self, now_ns: int) -> None:
        """Does all that is due by an instant."""
    def completions(self) -> list[Completion]:
        """Collects the completions that are ready."""
    def landings(self) -> list[Landing]:
        """Collects what became of written sectors."""
    def control(self, control: str, now_ns: int | None = None) -> None:
        """Does what a word says: power-cut, power-off, power-on or reset."""
    def abort(self, tag: int, now_ns: int | None = None) -> None:
        """Aborts a request in flight."""
    def set_word(self, key: str, value: str, now_ns: int | None = None) -> None:
        """Sets a key to a word."""
    @property
    def now_ns(self) -> int:
        """The present, in nanoseconds."""
    def limits_tuple(self) -> tuple[int, int, int, int, int, bool, bool]:
        """The limits, as `DiskLimits` names them."""
    def fingerprint(self) -> int:
        """A hash of the stack."""
    def saved_calls(self) -> tuple[bytes, int, int, int] | None:
        """The calls so far, the present, and how many completions and landings were collected."""
    def make_calls(self, calls: bytes, now_ns: int, completions: int, landings: int) -> None:
        """Makes the calls of another disk on this one, which is new."""

@final
class Completion:
    """The answer to a request."""

    def __new__(
        cls, tag: int, status: str, submitted_ns: int, finished_ns: int, parts: Sequence[int]
    ) -> Completion: ...
    def __getnewargs__(self) -> tuple[int, str, int, int, list[int]]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def tag(self) -> int:
        """The number that submit() returned."""
    @property
    def status(self) -> str:
        """`done`, `aborted`, `power-lost`, `out-of-range`, `unsupported` or `medium-error`."""
    @property
    def submitted_ns(self) -> int:
        """When the disk took the request, in nanoseconds."""
    @property
    def finished_ns(self) -> int:
        """When it was done, in nanoseconds."""
    @property
    def response_ns(self) -> int:
        """The response time in nanoseconds."""
    @property
    def parts_ns(self) -> dict[str, int]:
        """The parts of the response in nanoseconds, by name; they add up to it."""

@final
class Landing:
    """The fate of a run of sectors that were written."""

    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def tag(self) -> int:
        """The tag of the write."""
    @property
    def lba(self) -> int:
        """The first sector of 512 bytes."""
    @property
    def sectors(self) -> int:
        """Sectors of 512 bytes."""
    @property
    def kind(self) -> str:
        """`landed`, `torn`, `discarded` or `dropped`; of an array also `taken`, `gone` or `whole`."""
    @property
    def from_ns(self) -> int:
        """When the head reached the first sector, in nanoseconds."""
    @property
    def to_ns(self) -> int:
        """When the head left the last sector, in nanoseconds."""
    @property
    def member(self) -> int:
        """The drive of an array, from 0."""
    @property
    def role(self) -> str:
        """`copy` or `parity`, with `rebuilt-` before it if a rebuild wrote it; `every` if no drive has it yet."""
    @property
    def which(self) -> int:
        """Which copy or parity, from 0."""

@final
class CancelFlag:
    """A flag by which one thread ends the work of another."""

    def __new__(cls) -> CancelFlag: ...
    def set(self) -> None:
        """Ends the work."""
    def is_set(self) -> bool:
        """Whether it is set."""

@final
class Plan:
    """The plan of a sweep. It is made of texts, so that it can be sent to other machines."""

    @staticmethod
    def of_setup(
        setup: SetupCall,
        factors: Sequence[tuple[str, Sequence[str] | Sequence[tuple[str, Sequence[tuple[str, str]]]]]],
        runs: int,
    ) -> Plan:
        """The plan of a job on a target with each combination of levels: values, or bundles with their settings."""
    @staticmethod
    def of_study(name: str) -> Plan:
        """The plan of a study: a file, or a built-in one."""
    @staticmethod
    def from_text(text: str) -> Plan:
        """Reads a plan that another machine sent; one of another build is refused."""
    @property
    def text(self) -> str:
        """The plan as a text, to be sent."""
    @property
    def hash(self) -> str:
        """SHA-256 of the origin of its results."""
    @property
    def study(self) -> str:
        """The study's text."""
    @property
    def cells(self) -> int:
        """How many cells it has."""
    @property
    def runs(self) -> int:
        """Runs of each cell."""
    def parts(self, cells: int) -> list[PartWords]:
        """Parts of so many cells each: (first cell, cell after the last, name of the file)."""
    def run(self, part: PartWords, cancel: CancelFlag | None = None) -> bytes:
        """Runs a part and returns the bytes of its file."""
    def max_part_bytes(self, part: PartWords) -> int:
        """The most bytes that the file of a part may have."""
    def part_fault(self, part: PartWords, file: bytes) -> str | None:
        """What is wrong with the file of a part; None if the file is whole."""
    def results(self, parts: Sequence[PartWords], files: Sequence[bytes]) -> tuple[list[str], Table]:
        """The runs of these parts: their lines in `results.jsonl`, and their response times. Nothing is written."""
    def finish(
        self, folder: str, parts: Sequence[PartWords], files: Sequence[bytes], *, force: bool
    ) -> StudyAnswer:
        """Makes a result folder of the files of all parts, in order."""
    def write_page_so_far(
        self, folder: str, parts: Sequence[PartWords], files: Sequence[bytes]
    ) -> StudyAnswer:
        """The results of the files of some parts, or of all, in order; only the page goes to the folder."""

def program(words: Sequence[str]) -> int:
    """Runs the program `seekwise`, whose name and arguments are `words`; returns its exit code."""

def write_file(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all, under the rules of all outputs; one that is there is replaced."""
def student_t(confidence: float, degrees: float) -> float:
    """The t between whose negative and itself a share `confidence` (0 to 1) of Student's distribution with so many
    degrees of freedom (1 or more) lies."""

def table_of_bytes(bytes: bytes) -> Table:
    """A table of the bytes of an Arrow IPC stream, as `Table.to_bytes` writes them."""

def run(
    call: RunCall, progress: ProgressFunction | None
) -> tuple[str, str, Path | None, Table | None, Table]:
    """Runs a job on a target: JSON, shell line, page, requests, curve."""

def compare(call: CompareCall, progress: ProgressFunction | None) -> ComparisonAnswer:
    """Makes a comparison."""

def study(call: StudyCall, progress: ProgressFunction | None) -> tuple[StudyAnswer, str]:
    """Runs a study or a review; the text is the shell line."""

def open(folder: str) -> tuple[StudyAnswer, str]:
    """Opens a result folder."""

def render_page(folder: str) -> str:
    """Makes the page of the results that a study's folder keeps."""

def validate(call: ValidateCall, progress: ProgressFunction | None) -> tuple[str, str, Table]:
    """Plays a measured trace on a modelled drive: JSON, shell line, the times of each request."""

def fit(call: FitCall, progress: ProgressFunction | None) -> tuple[str, str, str]:
    """Fits a drive to what was measured: JSON, shell line, the profile's text."""

def power_cut(
    call: PowerCutCall, progress: ProgressFunction | None
) -> tuple[str, str, bool, Table]:
    """Computes losses by power cuts: JSON, shell line, whether promises were kept, data at risk over time."""

def rebuild(call: RebuildCall, progress: ProgressFunction | None) -> tuple[str, str, str]:
    """Computes how long a rebuild or a scrub takes, and what users feel: JSON, shell line, page."""

def drives(words: str) -> Table:
    """The modelled drives, or those that words mean."""

def patterns() -> Table:
    """The built-in patterns, fio jobs and scenes."""

def keys(words: str) -> Table:
    """The keys of settings, or those that words mean."""

def studies() -> Table:
    """The built-in studies, and the reviews that join them."""
