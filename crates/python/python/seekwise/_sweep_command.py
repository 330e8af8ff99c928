"""Runs a sweep for the command `seekwise sweep`: the program starts this module with one JSON object, and takes over
its exit code."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from typing import Any

from seekwise._error import SeekwiseError
from seekwise._native import BUILD
from seekwise._results import Study
from seekwise._stores import printable_url
from seekwise._sweep import sweep_study


def main(words: list[str]) -> int:
    """Runs the sweep that the program asks for and returns the program's exit code."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    request: dict[str, Any] = json.loads(words[0])
    if request["build"] != BUILD:
        print(f"error: sweep: the module is of build {BUILD}, the program of {request['build']}", file=sys.stderr)
        return 2
    try:
        study = sweep_study(
            request["study"],
            out=request["out"],
            engine=request["engine"],
            address=request["address"],
            batch=request["batch"],
            force=request["force"],
        )
    except SeekwiseError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        out = shlex.quote(printable_url(request["out"]))
        line = f"seekwise sweep {shlex.quote(request['study'])} --engine {request['engine']} --out {out}"
        print(f"Interrupted: the parts that ended are kept. To continue:\n{line}", file=sys.stderr)
        return 130
    if request["json"]:
        print(study.json)
    else:
        print(f"{study.title}: {len(study.cells)} runs of {_count_cells(study)} cells")
        print(f"Report: {study.page}")
    return 1 if study.refused else 0


def _count_cells(study: Study) -> int:
    return len({row[0] for row in study.cells.rows_from(0, len(study.cells))})
