"""Copies files for the command `seekwise report`: a result folder from an object store to this machine, or the page
that the program made back to the store."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from seekwise._error import SeekwiseError
from seekwise._native import BUILD
from seekwise._stores import copy_result_folder, store_at

#: The name of a folder's page.
PAGE = "report.html"


def main(words: list[str]) -> int:
    """Copies what the program asks for and returns the program's exit code."""
    request: dict[str, Any] = json.loads(words[0])
    if request["build"] != BUILD:
        print(f"error: report: the module is of build {BUILD}, the program of {request['build']}", file=sys.stderr)
        return 2
    url, folder = request["url"], Path(request["folder"])
    try:
        if request["copy"] == "fetch":
            copy_result_folder(url, folder)
        else:
            store_at(url).write(PAGE, (folder / PAGE).read_bytes())
    except SeekwiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
