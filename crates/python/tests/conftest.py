"""What the tests share: folders of their own, and the program that stands in the same environment as the module."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT, default_int_handler, signal

import pytest

#: The drive with the least to prepare that has a queue.
DRIVE = "barracuda-7200.7-ncq"

STUDY = """
title = "The write cache, on and off"
question = "What does the write cache cost?"
runs = 3
runtime = "2 s"
job = "random-write"
[stack]
drive = "barracuda-7200.7-ncq"
[[factor]]
name = "cache"
key = "drive.cache.write_back"
levels = [true, false]
[[compare]]
name = "off against on"
factor = "cache"
from = "true"
to = "false"
headline = true
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def missing(*tools: str) -> str | None:
    """Which of these programs the machine lacks."""
    lacks = [tool for tool in tools if shutil.which(tool) is None]
    return f"not installed: {', '.join(lacks)}" if lacks else None


def no_file_system() -> str | None:
    """Why no file system can be mounted on a served disk here."""
    if not (sys.platform == "linux" and os.geteuid() == 0 and os.path.exists("/dev/fuse")):
        return "a file system on a served disk needs Linux, root and /dev/fuse"
    return missing("mkfs.ext4", "losetup")


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a shell line in a folder, with this environment's `seekwise`."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {"PATH": path}
    return subprocess.run(line, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False)


@contextmanager
def interrupted_when(ready: Callable[[], object]) -> Iterator[Callable[[], float]]:
    """Ctrl-C as soon as something is so. What is handed out answers how long ago that was."""
    sent = [0.0]
    over = threading.Event()

    def send() -> None:
        while not over.wait(0.005):
            if ready():
                sent[0] = time.monotonic()
                os.kill(os.getpid(), SIGINT)
                return

    # Where a shell began this in the background, the signal is ignored.
    before = signal(SIGINT, default_int_handler)
    watcher = threading.Thread(target=send)
    watcher.start()
    try:
        yield lambda: time.monotonic() - sent[0]
    finally:
        over.set()
        watcher.join()
        signal(SIGINT, before)
