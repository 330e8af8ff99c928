"""Starts the program `seekwise`, which is in the package: in this process, or as words for a process of its own. It is
the same build as the module."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from seekwise import _native

#: The code that Python runs in a process of its own. It takes the current folder out of the folders from which modules
#: are imported: anybody's `seekwise.py` may lie there. `python -P` does that from 3.11 on.
START_CODE = (
    "import sys; sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]; "
    "from seekwise._program import main; sys.exit(main())"
)


def program_words(arguments: Sequence[str]) -> list[str]:
    """The command that runs the program with these arguments in a process of its own."""
    return [sys.executable, "-c", START_CODE, str(Path(__file__).resolve().parent.parent), *arguments]


def main() -> int:
    """Runs the program with this process's arguments and answers its exit code."""
    # The program handles Ctrl-C itself: Python would raise an exception after it has ended in order.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Python code that the program starts runs in this Python.
    os.environ["SEEKWISE_PYTHON"] = sys.executable
    return _native.program(["seekwise", *sys.argv[1:]])
