"""The program `seekwise`, which the package brings along: the same build as the module."""

from __future__ import annotations

import os
import signal
import sys

from seekwise import _native


def main() -> int:
    """Runs the program with this process's arguments and answers its exit code."""
    # Ctrl-C is the program's affair: Python would raise once it has ended in order.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What the program asks of Python, it asks of this one.
    os.environ["SEEKWISE_PYTHON"] = sys.executable
    return _native.program(["seekwise", *sys.argv[1:]])
