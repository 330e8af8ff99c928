"""Disks that real software uses: `serve` and `crash` as context managers. Both start the program, which is in the
package, in a process of its own: a served disk has to answer while this interpreter is at work. They need Linux;
`serve` runs on other Unixes too.

Nothing is modelled here: orders go to the disk's control socket, and answers are what the program prints as JSON."""

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
from urllib.parse import quote

from seekwise import _checks, _html
from seekwise._error import RunError, SeekwiseError
from seekwise._program import program_words
from seekwise._results import Result
from seekwise._setup import (
    Settings,
    Size,
    Target,
    Time,
    Value,
    path_text,
    setting_words,
    target_and_settings,
    to_word,
)

#: Seconds that a process may take to end before it is killed: well beyond the 30 that it gives itself to unmount, and
#: as many for the loop device.
END_TIMEOUT_S = 120.0

#: Seconds between two checks of a process that is about to begin.
CHECK_S = 0.01


def _target_and_options(on: Target, set: Settings | None, seed: int) -> tuple[str, list[str]]:
    """The target's name, and the options for its settings."""
    target, stack_settings = target_and_settings(on)
    _checks.whole("seed", seed, (1 << 64) - 1)
    all_settings = [*stack_settings, *setting_words(set)]
    return target, [part for key, value in all_settings for part in ("--set", f"{key}={value}")]


def _check_counts(**counts: int | None) -> None:
    """Checks arguments that are whole numbers."""
    for name, count in counts.items():
        if count is not None:
            _checks.whole(name, count)


def _option_words(values: Mapping[str, Value | None]) -> list[str]:
    """Options as the command line has them, without those whose value is `None`."""
    options = [(f"--{name.replace('_', '-')}", value) for name, value in values.items() if value is not None]
    return [part for name, value in options for part in (name, to_word(value, name))]


class _Process:
    """The program in a process of its own. Its output goes to files, so that no pipe can fill."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        self.command = shlex.join(["seekwise", *arguments, "--json"])
        self._stdout_file = folder / "said"
        self._stderr_file = folder / "told"
        with open(self._stdout_file, "wb") as stdout, open(self._stderr_file, "wb") as stderr:
            # A group of its own: Ctrl-C goes to this interpreter alone, which then ends the program in order.
            self._process = subprocess.Popen(
                program_words([*arguments, "--json"]),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )

    def check(self) -> None:
        """Raises an error if the process has ended."""
        if self._process.poll() is not None:
            raise self._failure()

    def until_ended(self) -> Iterator[None]:
        """Yields again and again, for the caller to check something; raises an error when the process has ended."""
        while True:
            self.check()
            yield
            time.sleep(CHECK_S)

    def wait(self) -> str:
        """Waits for the end and returns the answer as JSON. Exit code 1 is a negative answer, and no error."""
        if self._process.wait() not in (0, 1):
            raise self._failure()
        answer = self._stdout_file.read_text(encoding="utf-8")
        if not answer:
            raise self._failure()
        return answer

    def end(self) -> None:
        """Ends the process: by a signal and, if that takes too long, by force."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(END_TIMEOUT_S)
        except BaseException as error:
            self._process.kill()
            self._process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def _failure(self) -> SeekwiseError:
        messages = self._stderr_file.read_text(encoding="utf-8", errors="replace").strip()
        code = self._process.wait()
        message = messages.removeprefix("error: ") or f"`{self.command}` ended with {code}"
        return RunError(message) if code != 2 else SeekwiseError(message)


@dataclass(frozen=True, slots=True)
class Power:
    """The power of a served disk."""

    disk: ServedDisk

    def cut(self) -> str:
        """Cuts it: data that are not on the medium are lost, and requests fail until it is back.

        Returns:
            The disk's answer, a sentence.

        Raises:
            SeekwiseError: the disk refuses it.

        Example:
            >>> disk.power.cut()  # doctest: +SKIP
        """
        return self.disk.order("cut")

    def off(self) -> str:
        """Switches it off in order: the drive writes what it holds first.

        Returns:
            The disk's answer, a sentence.

        Raises:
            SeekwiseError: the disk refuses it.

        Example:
            >>> disk.power.off()  # doctest: +SKIP
        """
        return self.disk.order("off")

    def on(self) -> str:
        """Switches it on again.

        Returns:
            The disk's answer, a sentence.

        Raises:
            SeekwiseError: the disk refuses it.

        Example:
            >>> disk.power.on()  # doctest: +SKIP
        """
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
            for _ in self._process.until_ended():
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
        """Its power: `cut`, `off`, `on`."""
        return Power(self)

    def set(self, key: str, value: Value) -> str:
        """Changes a setting while the disk works.

        Args:
            key: a dotted key that a running stack takes, such as "drive.cache.write_back".
            value: its value.

        Returns:
            The disk's answer, a sentence.

        Raises:
            SeekwiseError: no layer takes the key now, or the value does not fit.

        Example:
            >>> disk.set("drive.cache.write_back", False)  # doctest: +SKIP
        """
        return self.order(f"set {key}={to_word(value, key)}")

    def reset_link(self) -> str:
        """Resets the link: outstanding requests fail, cached data stay.

        Returns:
            The disk's answer, a sentence.

        Raises:
            SeekwiseError: the disk refuses it.

        Example:
            >>> disk.reset_link()  # doctest: +SKIP
        """
        return self.order("reset")

    def status(self) -> str:
        """What the disk is doing.

        Returns:
            A sentence.

        Raises:
            ConnectionError: the disk is not served any more.

        Example:
            >>> disk.status()  # doctest: +SKIP
        """
        return self.order("status")

    def figures(self) -> dict[str, str]:
        """How well this machine has kept up so far.

        Returns:
            Figures by name, as texts.

        Raises:
            ConnectionError: the disk is not served any more.

        Example:
            >>> disk.figures()["requests"]  # doctest: +SKIP
        """
        return dict(pair.split("=", 1) for pair in self.order("receipt").split())

    def order(self, order: str) -> str:
        """Sends an order of `seekwise disk`.

        Args:
            order: its words, such as "cut" or "set KEY=VALUE".

        Returns:
            The disk's answer, a sentence.

        Raises:
            SeekwiseError: the disk refuses it.
            ConnectionError: the disk is not served any more.

        Example:
            >>> disk.order("status")  # doctest: +SKIP
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.connect(os.fspath(self.control))
            except OSError as error:
                raise ConnectionError(f"{self.control}: nobody takes orders there") from error
            connection.sendall(f"{order}\n".encode())
            connection.shutdown(socket.SHUT_WR)
            reply = b"".join(iter(lambda: connection.recv(65536), b"")).decode("utf-8", "replace").strip()
        if reply.startswith("refused: "):
            raise SeekwiseError(reply.removeprefix("refused: "))
        if not reply.startswith("done: "):
            raise ConnectionError(f"{self.control}: nobody takes orders there")
        return reply.removeprefix("done: ")


@_checks.named
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
    cut_after: Time | None = None,
    cut_at_flush: int | None = None,
    cut_at_write: int | None = None,
    max_clients: int | None = None,
    max_memory: Size | None = None,
) -> ServedDisk:
    """A modelled stack as a block device in real time, for the length of a `with` block (docs/live.md).

    Args:
        on: a drive of `drives()`, a profile or stack file, or a `stack`.
        nbd: the address for clients: "unix:PATH" or "tcp:ADDRESS:PORT"; by default a socket in a folder of its own.
        fuse: an empty folder in which the disk is a file.
        control: the socket for orders; by default in a folder of its own.
        image: a file for the contents of the platters.
        base: a file with the contents at the beginning.
        record: a file for all requests and orders.
        set: dotted keys of `keys()` with values.
        seed: the seed of all chance, a whole number from 0.
        speed: 100 serves a disk that is a hundred times as fast.
        cut_after: cuts the power after this much time: "10s" or seconds as a number.
        cut_at_flush: cuts the power at the flush of this number.
        cut_at_write: cuts the power at the write of this number.
        max_clients: clients at once.
        max_memory: memory for contents: bytes, or "2g".

    Returns:
        A `ServedDisk`; `uri` is what clients take.

    Raises:
        SeekwiseError: an argument is wrong, or, as the block begins, the disk cannot be served.

    Example:
        >>> with sw.serve("exos-x18", speed=100) as disk:  # doctest: +SKIP
        ...     print(disk.uri)
    """
    _check_counts(cut_at_flush=cut_at_flush, cut_at_write=cut_at_write, max_clients=max_clients)
    _checks.number("speed", speed)
    target, setting_options = _target_and_options(on, set, seed)
    folder = tempfile.TemporaryDirectory(prefix="seekwise-")
    if nbd is None and fuse is None:
        nbd = f"unix:{folder.name}/disk"
    control_path = Path(folder.name) / "control" if control is None else Path(path_text(control))
    files = {"fuse": fuse, "image": image, "base": base, "record": record}
    options: dict[str, Value | None] = {
        "nbd": nbd,
        **{name: None if file is None else path_text(file) for name, file in files.items()},
        "control": os.fspath(control_path),
        **{"seed": seed, "speed": speed, "cut_after": _checks.length("cut_after", cut_after), "cut_at_flush": cut_at_flush},
        **{"cut_at_write": cut_at_write, "max_clients": max_clients, "max_memory": _checks.size("max_memory", max_memory)},
    }
    return ServedDisk(["serve", target, *_option_words(options), *setting_options], _uri(nbd), control_path, folder)


def _uri(nbd: str | None) -> str | None:
    """The URI for NBD clients of an address of `--nbd`; None without one."""
    match (nbd or "").split(":", 1):
        case ["unix", socket_path]:
            return f"nbd+unix:///?socket={quote(socket_path)}"
        case ["tcp", address]:
            return f"nbd://{address}"
        case _:
            return None


@dataclass(frozen=True)
class CrashResult(Result):
    """What power cuts at many instants left of the promised data. If the block was the workload, `.command` has the
    shell command that read its promises, so that it cannot be repeated without the block."""

    @property
    def consistent(self) -> bool:
        """No medium lost a promise or is corrupt, after cuts of the workload or of recoveries."""
        groups = [level[name] for level in [self._data, *self._recovery_levels()] for name in ("at_cuts", "in_orders")]
        return not any(group[verdict] for group in groups for verdict in ("lost_promised", "corrupt"))

    @property
    def at_cuts(self) -> dict[str, int]:
        """How many cuts left a medium with each verdict."""
        return dict(self._data["at_cuts"])

    @property
    def at_recovery_cuts(self) -> list[dict[str, int]]:
        """How many cuts of recoveries left a medium with each verdict: first those after one cut, then after two; empty without `depth`."""
        return [dict(level["at_cuts"]) for level in self._recovery_levels()]

    def _recovery_levels(self) -> list[dict[str, dict[str, int]]]:
        recovery = self._data.get("recovery")
        return recovery["levels"] if recovery else []

    @property
    def in_orders(self) -> dict[str, int]:
        """How many of the other orders that the standards allow left a medium with each verdict."""
        return dict(self._data["in_orders"])

    @property
    def disk_broke(self) -> int:
        """Cuts at which the disk itself lost what it had to keep."""
        return int(self._data["disk_broke"])

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in self.at_cuts.items() if count)
        return f"<CrashResult: {self._data['cuts']} cuts: {counts or 'none'}>"

    def _repr_html_(self) -> str:
        body = [(verdict.replace("_", " "), count) for verdict, count in self.at_cuts.items()]
        return _html.html_table(["the medium is", "cuts"], body, {})


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

    def __init__(self, arguments: Sequence[str], folder: tempfile.TemporaryDirectory[str], block_is_workload: bool) -> None:
        self._arguments = arguments
        self._folder = folder
        self._block_is_workload = block_is_workload
        #: Descriptors of two pipes: of promises to the workload, and of its confirmations.
        self._promises = -1
        self._confirmations = -1

    def __enter__(self) -> CrashLab:
        folder = Path(self._folder.name)
        arguments = list(self._arguments)
        if self._block_is_workload:
            os.mkfifo(folder / "promises")
            os.mkfifo(folder / "heard")
            # Opened at both ends, so that neither side waits until the other opens it.
            self._confirmations = os.open(folder / "heard", os.O_RDWR)
            begun, promises, confirmations = (shlex.quote(f"{folder}/{name}") for name in ("begun", "promises", "heard"))
            write_disk = f'printf "%s\\n%s\\n" "$SEEKWISE_URI" "$SEEKWISE_MOUNT" > {begun}.part && mv {begun}.part {begun}'
            confirm_promises = 'while IFS= read -r line; do printf "%s\\n" "$line"; echo >&3; done'
            arguments += ["--workload", f"{write_disk} && {confirm_promises} < {promises} 3> {confirmations}"]
        self._process = _Process(arguments, folder)
        if self._block_is_workload:
            try:
                self._begin(folder)
            except BaseException:
                self._process.end()
                self._folder.cleanup()
                raise
        return self

    def _begin(self, folder: Path) -> None:
        """Waits until the disk exists and the workload reads promises."""
        for _ in self._process.until_ended():
            if (folder / "begun").exists():
                break
        uri, mount = (folder / "begun").read_text(encoding="utf-8").splitlines()[:2]
        self.uri, self.mount = uri, Path(mount) if mount else None
        for _ in self._process.until_ended():
            with contextlib.suppress(OSError):
                self._promises = os.open(folder / "promises", os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(self._promises, True)
                return

    def promise(self, text: str) -> None:
        """Promises that something is on the disk for good. The check finds the promise in SEEKWISE_PROMISES.

        Args:
            text: one line.

        Returns:
            None, when the workload has confirmed it.

        Raises:
            SeekwiseError: it is no line, or the lab has a workload of its own.

        Example:
            >>> lab.promise("row 1")  # doctest: +SKIP
        """
        _checks.text("text", text, '"row 1"')
        if self._promises < 0:
            raise SeekwiseError("a lab with a workload of its own takes its promises from what that prints")
        if "\n" in text:
            raise SeekwiseError("a promise is one line")
        try:
            os.write(self._promises, f"{text}\n".encode())
        except BrokenPipeError:
            self._process.check()
            raise
        while not select.select([self._confirmations], [], [], 1)[0]:
            self._process.check()
        os.read(self._confirmations, 1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            for descriptor in (self._promises, self._confirmations):
                if descriptor >= 0:
                    os.close(descriptor)
            if kind is None:
                self.result = CrashResult(self._process.wait(), self._process.command)
        finally:
            self._process.end()
            self._folder.cleanup()


@_checks.named
def crash(
    on: Target,
    *,
    recipe: str | None = None,
    fs: str | None = None,
    size: Size | None = None,
    prepare: str | None = None,
    workload: str | None = None,
    check: str | None = None,
    env: Mapping[str, str] | None = None,
    depth: int = 1,
    recover: str | None = None,
    recovery_cuts: int | None = None,
    recovery_speed: float | None = None,
    cuts: int = 1000,
    instants: str | None = None,
    may_lose: Time | None = None,
    orders: int = 0,
    set: Settings | None = None,
    seed: int = 1,
    speed: float = 1.0,
    limit: Time | None = None,
    jobs: int = 0,
    keep: str | os.PathLike[str] | None = None,
    max_memory: Size | None = None,
) -> CrashLab:
    """The crash laboratory for the length of a `with` block, whose work on a modelled disk is cut (docs/crash.md).

    Args:
        on: a drive of `drives()`, a profile or stack file, or a `stack`.
        recipe: a built-in program with its check instead of the block.
        fs: the file system: "ext4", … (needs root).
        size: the size of the file system: bytes, or "256m".
        prepare: a shell command before the work, which is not cut.
        workload: a shell command instead of the block.
        check: a shell command that judges a medium; it exits with 0: consistent, 10: lost but allowed, 11: lost after a promise.
        env: variables for these commands.
        depth: 2 also cuts the recovery from each cut, 3 the recovery from that cut too.
        recover: with `depth`, a shell command that opens the program's data so that it recovers.
        recovery_cuts: with `depth`, cuts of each recovery; 20 without it.
        recovery_speed: as `speed`, for recoveries; 10 without it.
        cuts: cuts of the power.
        instants: "time" cuts evenly over time, "mixed" a quarter each at ends of flushes, during writes, after promises, at any time.
        may_lose: what the program may lose: "1s" or seconds as a number.
        orders: other orders of writes to try at each cut.
        set: dotted keys of `keys()` with values.
        seed: the seed of all chance, a whole number from 0.
        speed: 100 works on a disk that is a hundred times as fast.
        limit: ends the work after this much time: "60s" or seconds as a number.
        jobs: checks at once; 0 for all cores.
        keep: a file for the worst find, from which `seekwise crash --again` makes its medium.
        max_memory: memory for contents: bytes, or "2g".

    Returns:
        A `CrashLab`, whose `result` has the verdicts after the block.

    Raises:
        SeekwiseError: nothing judges the media, or an argument is wrong.

    Example:
        >>> with sw.crash("exos-x18", fs="ext4", check="./check") as lab:  # doctest: +SKIP
        ...     (lab.mount / "a").write_text("1")
    """
    _check_counts(depth=depth, recovery_cuts=recovery_cuts, cuts=cuts, orders=orders, jobs=jobs)
    _checks.number("speed", speed)
    if recovery_speed is not None:
        _checks.number("recovery_speed", recovery_speed)
    target, setting_options = _target_and_options(on, set, seed)
    options: dict[str, Value | None] = {
        **{"depth": depth, "recover": recover, "recovery_cuts": recovery_cuts, "recovery_speed": recovery_speed},
        **{"recipe": recipe, "fs": fs, "size": _checks.size("size", size), "prepare": prepare, "workload": workload, "check": check},
        **{"cuts": cuts, "instants": instants, "may_lose": _checks.length("may_lose", may_lose), "orders": orders, "seed": seed, "speed": speed, "limit": _checks.length("limit", limit), "jobs": jobs},
        **{"keep": None if keep is None else path_text(keep), "max_memory": _checks.size("max_memory", max_memory)},
    }
    environment_options = [part for name, value in (env or {}).items() for part in ("--env", f"{name}={value}")]
    block_is_workload = recipe is None and workload is None
    if block_is_workload and check is None:
        raise SeekwiseError("nothing judges what a cut leaves; expected `check`, or a `recipe`")
    folder = tempfile.TemporaryDirectory(prefix="seekwise-")
    arguments = ["crash", "--on", target, *_option_words(options), *environment_options, *setting_options]
    return CrashLab(arguments, folder, block_is_workload)
