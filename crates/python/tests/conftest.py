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
sampling = "fixed"
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


#: Seconds that Ctrl-C may take on whatever machine runs the tests. That it takes a tenth of one where cores are free is measured
#: and told at the end, not judged: a busy machine is no fault of the module's. What is interrupted would take far longer.
PATIENCE = 20.0

#: How long each Ctrl-C took, in seconds.
took: list[float] = []


@contextmanager
def interrupted_when(ready: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Ctrl-C as soon as something is so. What is handed out answers whether it ended the work before long."""
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
        yield lambda: took[-1] < PATIENCE
    finally:
        took.append(time.monotonic() - sent[0])
        over.set()
        watcher.join()
        signal(SIGINT, before)


def interrupting(at: int) -> Callable[[int | None, int, str, str], None]:
    """A progress function that is Ctrl-C when so much is done."""

    def told(total: int | None, done: int, unit: str, doing: str) -> None:
        if done >= at:
            raise KeyboardInterrupt

    return told


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tells how long Ctrl-C took."""
    if took:
        ms = sorted(round(1000 * it) for it in took)
        terminalreporter.write_line(f"Ctrl-C ended {len(ms)} calls after {', '.join(map(str, ms))} ms")
