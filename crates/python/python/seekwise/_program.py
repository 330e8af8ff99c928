"""The program `seekwise`, which the package brings along: the same build as the module."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from seekwise import _native

#: Python's first words in a process of our own: the current folder is none of those that modules are taken from, since anybody's
#: `seekwise.py` may lie there. `python -P` does so from 3.11 on.
START = (
    "import sys; sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]; "
    "from seekwise._program import main; sys.exit(main())"
)


def program(arguments: Sequence[str]) -> list[str]:
    """The words that run the program with these arguments in a process of its own."""
    return [sys.executable, "-c", START, str(Path(__file__).resolve().parent.parent), *arguments]


def main() -> int:
    """Runs the program with this process's arguments and answers its exit code."""
    # Ctrl-C is the program's affair: Python would raise once it has ended in order.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What the program asks of Python, it asks of this one.
    os.environ["SEEKWISE_PYTHON"] = sys.executable
    return _native.program(["seekwise", *sys.argv[1:]])
