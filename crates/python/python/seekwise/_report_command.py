"""Of `seekwise report`: copies a result folder from an object store for the program, or the page that it made back to there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from seekwise._error import SeekwiseError
from seekwise._native import BUILD
from seekwise._stores import fetch, store

#: What a folder's page is called.
PAGE = "report.html"


def main(words: list[str]) -> int:
    """Copies what the program asks for and answers the program's exit code."""
    asked: dict[str, Any] = json.loads(words[0])
    if asked["build"] != BUILD:
        print(f"error: report: the module is of build {BUILD}, the program of {asked['build']}", file=sys.stderr)
        return 2
    url, folder = asked["url"], Path(asked["folder"])
    try:
        if asked["copy"] == "fetch":
            fetch(url, folder)
        else:
            store(url).write(PAGE, (folder / PAGE).read_bytes())
    except SeekwiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
