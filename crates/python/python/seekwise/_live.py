"""Disks that real software uses: `serve` and `crash` as context managers. Both are the program that the package brings along, in
a process of its own: a served disk has to answer while this interpreter is at work. Linux, and for `serve` other Unixes.

Nothing is modelled here: orders go to the disk's control socket, answers are what the program prints as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from seekwise import _html
from seekwise._error import RunError, SeekwiseError
from seekwise._program import program
from seekwise._results import Result
from seekwise._setup import Settings, Stack, Target, Value, path, settings, word

#: How long a process that was told to end may take before it is killed, in seconds: well beyond the 30 that it gives itself to
#: unmount, and as long again for the loop device.
PATIENCE = 120.0

#: How often a process is looked at that is about to begin, in seconds.
LOOK = 0.01


def _target(on: Target, set: Settings | None) -> tuple[str, list[str]]:
    """The target, and the options for its settings."""
    target, below = (on.target, on.settings) if isinstance(on, Stack) else (path(on), ())
    both = [*below, *settings(set)]
    return target, [part for key, value in both for part in ("--set", f"{key}={value}")]


def _options(given: Mapping[str, Value | None]) -> list[str]:
    """Options as the command line has them; what is `None` is left out."""
    said = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value is not None]
    return [part for name, value in said for part in (name, word(value, name))]


class _Process:
    """The program at work, with what it says kept in files, so that no pipe can fill."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        self.command = shlex.join(["seekwise", *arguments, "--json"])
        self._said = folder / "said"
        self._told = folder / "told"
        with open(self._said, "wb") as said, open(self._told, "wb") as told:
            # A group of its own: Ctrl-C is for this interpreter, which ends it in order.
            self._process = subprocess.Popen(
                program([*arguments, "--json"]),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=told,
                start_new_session=True,
            )

    def check(self) -> None:
        """Raises if it has ended."""
        if self._process.poll() is not None:
            raise self._failure()

    def looks(self) -> Iterator[None]:
        """Yields again and again; raises once it has ended."""
        while True:
            self.check()
            yield
            time.sleep(LOOK)

    def wait(self) -> str:
        """Its answer as JSON, once it has ended. A "no" is an answer."""
        if self._process.wait() not in (0, 1):
            raise self._failure()
        answer = self._said.read_text(encoding="utf-8")
        if not answer:
            raise self._failure()
        return answer

    def end(self) -> None:
        """Tells it to end, and sees that it does."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        except BaseException as error:
            self._process.kill()
            self._process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def _failure(self) -> SeekwiseError:
        told = self._told.read_text(encoding="utf-8", errors="replace").strip()
        code = self._process.wait()
        message = told.removeprefix("error: ") or f"`{self.command}` ended with {code}"
        return RunError(message) if code != 2 else SeekwiseError(message)


@dataclass(frozen=True, slots=True)
class Power:
    """The power of a served disk."""

    disk: ServedDisk

    def cut(self) -> str:
        """Cuts it: what is not on the medium is lost, requests fail until it is back."""
        return self.disk.order("cut")

    def off(self) -> str:
        """Switches it off in order: the drive writes what it holds first."""
        return self.disk.order("off")

    def on(self) -> str:
        """Switches it on again."""
        return self.disk.order("on")


class ServedDisk:
    """A modelled disk that real software uses in real time, from the beginning of a `with` block to its end."""

    #: The shell line that serves the same disk.
    command: str
    #: Its address for NBD clients, if it has one.
    uri: str | None
    #: Its socket for orders (`seekwise disk`).
    control: Path
    #: How well this machine kept up, once the block has ended.
    receipt: dict[str, Any]

    def __init__(self, arguments: Sequence[str], uri: str | None, control: Path, folder: tempfile.TemporaryDirectory[str]):
        self._folder = folder
        self._arguments = arguments
        self.command = shlex.join(["seekwise", *arguments])
        self.uri = uri
        self.control = control
        self.receipt = {}

    def __enter__(self) -> ServedDisk:
        with contextlib.suppress(ConnectionError):
            self.order("status")
            raise SeekwiseError(f"{self.control}: another server takes orders there")
        self._process = _Process(self._arguments, Path(self._folder.name))
        try:
            for _ in self._process.looks():
                with contextlib.suppress(OSError):
                    self.order("status")
                    break
        except BaseException:
            self._process.end()
            self._folder.cleanup()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._process.end()
            if kind is None:
                self.receipt = json.loads(self._process.wait())
        finally:
            self._folder.cleanup()

    @property
    def power(self) -> Power:
        """Its power."""
        return Power(self)

    def set(self, key: str, value: Value) -> str:
        """Changes a setting while the disk works, such as `drive.cache.write_back`."""
        return self.order(f"set {key}={word(value, key)}")

    def reset_link(self) -> str:
        """Resets the link: outstanding requests fail, cached data stay."""
        return self.order("reset")

    def status(self) -> str:
        """What the disk is doing, in words."""
        return self.order("status")

    def figures(self) -> dict[str, str]:
        """The receipt so far."""
        return dict(pair.split("=", 1) for pair in self.order("receipt").split())

    def order(self, order: str) -> str:
        """Sends an order of `seekwise disk`, and answers what was done; raises if it was refused."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
            try:
                wire.connect(os.fspath(self.control))
            except OSError as error:
                raise ConnectionError(f"{self.control}: nobody takes orders there") from error
            wire.sendall(f"{order}\n".encode())
            wire.shutdown(socket.SHUT_WR)
            said = b"".join(iter(lambda: wire.recv(65536), b"")).decode("utf-8", "replace").strip()
        if said.startswith("refused: "):
            raise SeekwiseError(said.removeprefix("refused: "))
        if not said.startswith("done: "):
            raise ConnectionError(f"{self.control}: nobody takes orders there")
        return said.removeprefix("done: ")


def serve(
    on: Target,
    *,
    nbd: str | None = None,
    fuse: str | os.PathLike[str] | None = None,
    control: str | os.PathLike[str] | None = None,
    image: str | os.PathLike[str] | None = None,
    base: str | os.PathLike[str] | None = None,
    record: str | os.PathLike[str] | None = None,
    set: Settings | None = None,
    seed: int = 1,
    speed: float = 1.0,
    cut_after: str | None = None,
    cut_at_flush: int | None = None,
    cut_at_write: int | None = None,
    max_clients: int | None = None,
    max_memory: str | None = None,
) -> ServedDisk:
    """A modelled stack as a block device in real time, for the length of a `with` block.

    Without `nbd` (`unix:PATH` or `tcp:ADDRESS:PORT`, as in `seekwise serve`) and `fuse` it is served on a socket in a folder of
    its own; `.uri` is what clients take.
    """
    target, said = _target(on, set)
    folder = tempfile.TemporaryDirectory(prefix="seekwise-")
    if nbd is None and fuse is None:
        nbd = f"unix:{folder.name}/disk"
    orders = Path(folder.name) / "control" if control is None else Path(path(control))
    files = {"fuse": fuse, "image": image, "base": base, "record": record}
    options: dict[str, Value | None] = {
        "nbd": nbd,
        **{name: None if file is None else path(file) for name, file in files.items()},
        "control": os.fspath(orders),
        **{"seed": seed, "speed": speed, "cut_after": cut_after, "cut_at_flush": cut_at_flush},
        **{"cut_at_write": cut_at_write, "max_clients": max_clients, "max_memory": max_memory},
    }
    return ServedDisk(["serve", target, *_options(options), *said], _uri(nbd), orders, folder)


def _uri(nbd: str | None) -> str | None:
    """What clients take, of an address."""
    match (nbd or "").split(":", 1):
        case ["unix", socket_path]:
            return f"nbd+unix:///?socket={socket_path}"
        case ["tcp", address]:
            return f"nbd://{address}"
        case _:
            return None


@dataclass(frozen=True)
class CrashResult(Result):
    """What cuts at many instants left of what was promised. Where the block was the workload, `.command` has the shell command
    that joined them, so it asks the same and cannot be repeated alone."""

    @property
    def consistent(self) -> bool:
        """No medium lost a promise or is corrupt."""
        bad = ("lost_promised", "corrupt")
        return not any(self._data[of][verdict] for of in ("at_cuts", "in_orders") for verdict in bad)

    @property
    def at_cuts(self) -> dict[str, int]:
        """How many cuts left a medium with each verdict."""
        return dict(self._data["at_cuts"])

    @property
    def in_orders(self) -> dict[str, int]:
        """The same of the other orders that the standards allow."""
        return dict(self._data["in_orders"])

    @property
    def disk_broke(self) -> int:
        """Cuts at which the disk itself lost what it had to keep."""
        return int(self._data["disk_broke"])

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in self.at_cuts.items() if count)
        return f"<CrashResult: {self._data['cuts']} cuts: {said or 'none'}>"

    def _repr_html_(self) -> str:
        body = [(verdict.replace("_", " "), count) for verdict, count in self.at_cuts.items()]
        return _html.rows(["the medium is", "cuts"], body, {})


class CrashLab:
    """A `with` block whose work on a modelled disk is cut at many instants, and what is left judged by a check.

    Inside the block, `.mount` is the file system (with `fs`), `.uri` the bare disk, and `.promise(text)` says that
    something is on the disk for good from now on. After it, `.result` has the verdicts.
    """

    #: Where the file system is mounted, if there is one.
    mount: Path | None
    #: The bare disk, for an NBD client.
    uri: str
    #: What came of it, once the block has ended without an error.
    result: CrashResult

    def __init__(self, arguments: Sequence[str], folder: tempfile.TemporaryDirectory[str], own: bool) -> None:
        self._arguments = arguments
        self._folder = folder
        self._own = own
        self._promises = -1
        self._heard = -1

    def __enter__(self) -> CrashLab:
        place = Path(self._folder.name)
        arguments = list(self._arguments)
        if self._own:
            os.mkfifo(place / "promises")
            os.mkfifo(place / "heard")
            # Both ends, so that neither side waits for the other to open it.
            self._heard = os.open(place / "heard", os.O_RDWR)
            begun, promises, heard = (shlex.quote(f"{place}/{name}") for name in ("begun", "promises", "heard"))
            told = f'printf "%s\\n%s\\n" "$SEEKWISE_URI" "$SEEKWISE_MOUNT" > {begun}.part && mv {begun}.part {begun}'
            say = 'while IFS= read -r line; do printf "%s\\n" "$line"; echo >&3; done'
            arguments += ["--workload", f"{told} && {say} < {promises} 3> {heard}"]
        self._process = _Process(arguments, place)
        if self._own:
            try:
                self._begin(place)
            except BaseException:
                self._process.end()
                self._folder.cleanup()
                raise
        return self

    def _begin(self, place: Path) -> None:
        """Waits until the disk is there and the promises are read."""
        for _ in self._process.looks():
            if (place / "begun").exists():
                break
        uri, mount = (place / "begun").read_text(encoding="utf-8").splitlines()[:2]
        self.uri, self.mount = uri, Path(mount) if mount else None
        for _ in self._process.looks():
            with contextlib.suppress(OSError):
                self._promises = os.open(place / "promises", os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(self._promises, True)
                return

    def promise(self, text: str) -> None:
        """Says that something is on the disk for good: one line, which the check finds in SEEKWISE_PROMISES. Comes back when the
        workload has said it."""
        if self._promises < 0:
            raise SeekwiseError("a lab with a workload of its own takes its promises from what that prints")
        if "\n" in text:
            raise SeekwiseError("a promise is one line")
        try:
            os.write(self._promises, f"{text}\n".encode())
        except BrokenPipeError:
            self._process.check()
            raise
        while not select.select([self._heard], [], [], 1)[0]:
            self._process.check()
        os.read(self._heard, 1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            for end in (self._promises, self._heard):
                if end >= 0:
                    os.close(end)
            if kind is None:
                self.result = CrashResult(self._process.wait(), self._process.command)
        finally:
            self._process.end()
            self._folder.cleanup()


def crash(
    on: Target,
    *,
    recipe: str | None = None,
    fs: str | None = None,
    size: str | None = None,
    prepare: str | None = None,
    workload: str | None = None,
    check: str | None = None,
    env: Mapping[str, str] | None = None,
    cuts: int = 1000,
    instants: str | None = None,
    may_lose: str | None = None,
    orders: int = 0,
    set: Settings | None = None,
    seed: int = 1,
    speed: float = 1.0,
    limit: str | None = None,
    jobs: int = 0,
    keep: str | os.PathLike[str] | None = None,
    max_memory: str | None = None,
) -> CrashLab:
    """The crash laboratory for the length of a `with` block: what it does on a modelled disk is recorded, and `check`, a shell
    command, judges what power cuts at many instants leave. Its exit code: 0 consistent, 10 lost but allowed, 11 lost after a
    promise, any other corrupt. It is tried first, on media whose answer is known, and refused with a reason if it answers wrongly.
    `instants="time"` cuts evenly over time; `may_lose="1s"` is for a program that promises to lose no more than a second.

    With a `recipe` or a `workload` the program runs that, and the block has nothing to do. Linux; `fs` needs root.
    """
    target, said = _target(on, set)
    given: dict[str, Value | None] = {
        **{"recipe": recipe, "fs": fs, "size": size, "prepare": prepare, "workload": workload, "check": check},
        **{"cuts": cuts, "instants": instants, "may_lose": may_lose, "orders": orders, "seed": seed, "speed": speed, "limit": limit, "jobs": jobs},
        **{"keep": None if keep is None else path(keep), "max_memory": max_memory},
    }
    named = [part for name, value in (env or {}).items() for part in ("--env", f"{name}={value}")]
    own = recipe is None and workload is None
    if own and check is None:
        raise SeekwiseError("nothing judges what a cut leaves; expected `check`, or a `recipe`")
    folder = tempfile.TemporaryDirectory(prefix="seekwise-")
    return CrashLab(["crash", "--on", target, *_options(given), *named, *said], folder, own)
