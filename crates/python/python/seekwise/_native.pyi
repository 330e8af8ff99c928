"""The compiled part of the module: the library's calls, tables, and the program."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

from seekwise._arguments import (
    CompareCall,
    FitCall,
    PowerCutCall,
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
    "Plan",
    "Table",
    "VERSION",
    "compare",
    "fit",
    "open",
    "page_of",
    "power_cut",
    "program",
    "run",
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
        """What each column means, where its name does not say it."""
    def rows_from(self, first: int = 0, count: int = 20) -> list[tuple[Any, ...]]:
        """The rows from `first` on, at most `count` of them."""
    def row(self, row: int) -> tuple[Any, ...]:
        """One row."""
    def to_bytes(self) -> bytes:
        """Its bytes as an Arrow IPC stream."""
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

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
    """The plan of a sweep: texts alone, so that it travels."""

    @staticmethod
    def of_setup(
        setup: SetupCall, factors: Sequence[tuple[str, Sequence[str]]], runs: int
    ) -> Plan:
        """The plan of a job on a target with each combination of levels."""
    @staticmethod
    def of_study(name: str) -> Plan:
        """The plan of a study: a file, or a built-in one."""
    @staticmethod
    def of_text(text: str) -> Plan:
        """A plan as another machine sent it; one of another build is refused."""
    @property
    def text(self) -> str:
        """As it travels."""
    @property
    def hash(self) -> str:
        """The hash of what made it."""
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
        """Its parts of so many cells: the first cell, the cell behind the last, the name."""
    def run(self, part: PartWords, cancel: CancelFlag | None = None) -> bytes:
        """Runs a part and answers the bytes of its file."""
    def most_bytes(self, part: PartWords) -> int:
        """Bytes of the file of a part at most."""
    def fault(self, part: PartWords, file: bytes) -> str | None:
        """What is wrong with the file of a part; nothing of one that is whole."""
    def finish(
        self, folder: str, parts: Sequence[PartWords], files: Sequence[bytes], *, force: bool
    ) -> StudyAnswer:
        """Makes a result folder of the files of all parts, in order."""
    def so_far(
        self, folder: str, parts: Sequence[PartWords], files: Sequence[bytes]
    ) -> StudyAnswer:
        """What the files of these parts come to, be they all or some; the page alone goes to the folder."""

def program(words: Sequence[str]) -> int:
    """The program `seekwise`: words are its name and its arguments. Answers its exit code."""

def write_file(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all, under the rules of all outputs; one that is there is replaced."""
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

def page_of(folder: str) -> str:
    """The page of what a result folder of a study keeps."""

def validate(call: ValidateCall, progress: ProgressFunction | None) -> tuple[str, str, Table]:
    """Plays a measured trace on a modelled drive: JSON, shell line, the times of each request."""

def fit(call: FitCall, progress: ProgressFunction | None) -> tuple[str, str, str]:
    """Fits a drive to what was measured: JSON, shell line, the profile's text."""

def power_cut(
    call: PowerCutCall, progress: ProgressFunction | None
) -> tuple[str, str, bool, Table]:
    """Computes losses by power cuts: JSON, shell line, whether promises were kept, data at risk over time."""
