"""The program `seekwise`, which the package brings along: the same build as the module."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the program with this process's arguments and answers its exit code."""
    if sys.argv[1:2] == ["sweep"]:
        from seekwise._sweep_command import main as sweep

        return sweep(sys.argv[2:])
    from seekwise import _native

    return _native.program(["seekwise", *sys.argv[1:]])
