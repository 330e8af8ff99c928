"""`seekwise sweep`: what the program hands over, one JSON object, run as a sweep; exit codes are the program's."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from typing import Any

from seekwise._error import SeekwiseError
from seekwise._native import BUILD
from seekwise._results import Study
from seekwise._stores import shown
from seekwise._sweep import sweep_study


def main(words: list[str]) -> int:
    """Runs the sweep that the program asks for and answers the program's exit code."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    asked: dict[str, Any] = json.loads(words[0])
    if asked["build"] != BUILD:
        print(f"error: sweep: the module is of build {BUILD}, the program of {asked['build']}", file=sys.stderr)
        return 2
    try:
        study = sweep_study(
            asked["study"],
            out=asked["out"],
            engine=asked["engine"],
            address=asked["address"],
            batch=asked["batch"],
            force=asked["force"],
        )
    except SeekwiseError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        out = shlex.quote(shown(asked["out"]))
        line = f"seekwise sweep {shlex.quote(asked['study'])} --engine {asked['engine']} --out {out}"
        print(f"Interrupted: the parts that ended are kept. To continue:\n{line}", file=sys.stderr)
        return 130
    if asked["json"]:
        print(study.json)
    else:
        print(f"{study.title}: {len(study.cells)} runs of {_cells(study)} cells")
        print(f"Report: {study.page}")
    return 1 if study.refused else 0


def _cells(study: Study) -> int:
    return len({row[0] for row in study.cells.rows_from(0, len(study.cells))})
