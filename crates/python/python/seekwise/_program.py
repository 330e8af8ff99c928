"""The program `seekwise`, which the package brings along: the same build as the module."""

from __future__ import annotations

import os
import sys

from seekwise import _native


def main() -> int:
    """Runs the program with this process's arguments and answers its exit code."""
    # What the program asks of Python, it asks of this one.
    os.environ["SEEKWISE_PYTHON"] = sys.executable
    return _native.program(["seekwise", *sys.argv[1:]])
