"""Seekwise, a laboratory for hard-disk stacks: runs, comparisons, studies, fits, power cuts and sweeps as typed values.

    import seekwise as sw

    result = sw.run("file-server", on="exos-x18", runtime="60s")
    result.iops, result.read.p99, result.command

The words are those of the command line, and each result has `.command`, the shell line that gives the same bytes.
"""

from seekwise._calls import compare, fit, open, power_cut, rebuild, replay, run, scrub, study, validate
from seekwise._catalogue import drives, keys, patterns, studies
from seekwise._choose import Candidate, Choice, Condition, Goal, Verdict, choose
from seekwise._disk import Disk, DiskLimits
from seekwise._engines import Engine, Outcome, RayEngine, ThreadEngine, Work
from seekwise._error import Diagnostic, Interrupted, RunError, SeekwiseError
from seekwise._figures import Interval, Parts, Requests, Response
from seekwise._grid import Bundle, Grid, Refused, grid
from seekwise._live import CrashLab, CrashResult, Power, ServedDisk, crash, serve
from seekwise._native import BUILD as __build__
from seekwise._native import VERSION as __version__
from seekwise._native import Completion, Landing, Table
from seekwise._results import (
    Comparison,
    Distance,
    Finding,
    FitResult,
    PowerCut,
    Rebuild,
    Report,
    Result,
    Review,
    RunResult,
    Study,
    Validation,
)
from seekwise._search import Search, Trial, Winner, search
from seekwise._setup import Stack, Text, fio, scene, stack
from seekwise._space import Span, span
from seekwise._stores import FolderStore, Store, UrlStore
from seekwise._sweep import sweep, sweep_study

__all__ = [
    "Bundle",
    "Candidate",
    "Choice",
    "Comparison",
    "Completion",
    "Condition",
    "CrashLab",
    "CrashResult",
    "Diagnostic",
    "Disk",
    "DiskLimits",
    "Distance",
    "Engine",
    "Finding",
    "FitResult",
    "FolderStore",
    "Goal",
    "Grid",
    "Interrupted",
    "Interval",
    "Landing",
    "Outcome",
    "Parts",
    "Power",
    "PowerCut",
    "RayEngine",
    "Rebuild",
    "Refused",
    "Report",
    "Requests",
    "Response",
    "Result",
    "Review",
    "RunError",
    "RunResult",
    "Search",
    "SeekwiseError",
    "ServedDisk",
    "Span",
    "Stack",
    "Store",
    "Study",
    "Table",
    "Text",
    "ThreadEngine",
    "Trial",
    "UrlStore",
    "Validation",
    "Verdict",
    "Winner",
    "Work",
    "__build__",
    "__version__",
    "choose",
    "compare",
    "crash",
    "drives",
    "fio",
    "fit",
    "grid",
    "keys",
    "open",
    "patterns",
    "power_cut",
    "rebuild",
    "replay",
    "run",
    "scene",
    "scrub",
    "search",
    "serve",
    "span",
    "stack",
    "studies",
    "study",
    "sweep",
    "sweep_study",
    "validate",
]
