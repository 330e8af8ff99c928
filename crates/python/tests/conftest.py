"""Shared by all tests: a folder of their own, shell lines with the program of the same environment, and Ctrl-C at a
chosen moment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
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


#: Seconds that Ctrl-C may take, on any machine. Interrupted work would take far longer. With free cores Ctrl-C takes a
#: tenth of a second; that is measured and reported at the end, and not judged, since a busy machine is no fault of the
#: module.
MAX_CTRL_C_S = 20.0

#: How long each Ctrl-C took, in seconds.
ctrl_c_seconds: list[float] = []


@contextmanager
def interrupted_when(ready: Callable[[], object]) -> Generator[Callable[[], bool]]:
    """Sends Ctrl-C as soon as `ready` is true. Yields a function that says whether it ended the work in time."""
    sent = [0.0]
    is_over = threading.Event()

    def send_when_ready() -> None:
        while not is_over.wait(0.005):
            if ready():
                sent[0] = time.monotonic()
                os.kill(os.getpid(), SIGINT)
                return

    # If a shell started the tests in the background, the signal is ignored.
    previous_handler = signal(SIGINT, default_int_handler)
    watcher = threading.Thread(target=send_when_ready)
    watcher.start()
    try:
        yield lambda: ctrl_c_seconds[-1] < MAX_CTRL_C_S
    finally:
        ctrl_c_seconds.append(time.monotonic() - sent[0])
        is_over.set()
        watcher.join()
        signal(SIGINT, previous_handler)


def interrupting(at: int) -> Callable[[int | None, int, str, str], None]:
    """A progress function that acts like Ctrl-C when so many steps are done."""

    def interrupt(total: int | None, done: int, unit: str, doing: str) -> None:
        if done >= at:
            raise KeyboardInterrupt

    return interrupt


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Reports how long Ctrl-C took."""
    if ctrl_c_seconds:
        times_ms = sorted(round(1000 * seconds) for seconds in ctrl_c_seconds)
        terminalreporter.write_line(f"Ctrl-C ended {len(times_ms)} calls after {', '.join(map(str, times_ms))} ms")
