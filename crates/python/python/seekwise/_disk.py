"""The modelled disk for simulators: `Disk`. A simulator submits requests in its own time, in nanoseconds, and asks when
something happens next. The disk itself, its calls and its log are in the compiled part (`crates/python/src/disk.rs`)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from seekwise import _checks, _native
from seekwise._error import SeekwiseError
from seekwise._setup import Settings, Target, Value, setting_words, target_and_settings, to_word

if TYPE_CHECKING:
    from typing_extensions import Self

#: The first line of a saved disk.
HEAD = b"seekwise disk 1\n"

#: The length of the line with the sum.
SUM_BYTES = 65


@dataclass(frozen=True, slots=True)
class DiskLimits:
    """The limits of a disk.

    Example:
        >>> sw.Disk("exos-x18").limits.depth
        32
    """

    #: Capacity in sectors of 512 bytes.
    sectors: int
    #: Bytes of a logical sector; requests are whole multiples of it.
    logical_bytes: int
    #: Bytes of a physical sector; writes of less cost a read.
    physical_bytes: int
    #: The longest request in sectors of 512 bytes.
    max_transfer_sectors: int
    #: Requests that it takes at once.
    depth: int
    #: It knows forced writes.
    fua: bool
    #: It acknowledges writes before they are durable.
    volatile_cache: bool


class Disk(_native.ModelDisk):
    """A modelled disk in the caller's own time. It starts no thread, reads no clock and holds no data.

    Equal calls and an equal seed give equal answers on every machine. A disk stays on the thread that made it.

    Args:
        on: a drive of `drives()` or a profile, with nothing above it; or a stack file, or a `stack`.
        settings: dotted keys of `keys()` with values.
        seed: the seed of all chance, a whole number from 0.
        landings: True reports what becomes of written sectors (`landings`).
        savable: True keeps each call, some ten bytes a request, so that `save` and `pickle` work.

    Returns:
        The disk, at instant 0 with power.

    Raises:
        SeekwiseError: an argument, file or key is wrong.

    Example:
        >>> disk = sw.Disk("exos-x18", settings={"drive.cache.write_back": False})
        >>> tag = disk.submit(0, "read", lba=4096, sectors=8)
        >>> while (at := disk.next()) is not None:
        ...     disk.advance(at)
        >>> [done.status for done in disk.completions() if done.tag == tag]
        ['done']
    """

    _origin: dict[str, Any]

    def __new__(
        cls, on: Target, *, settings: Settings | None = None, seed: int = 1, landings: bool = False, savable: bool = False
    ) -> Self:
        target, stack_settings = target_and_settings(on)
        words = [*stack_settings, *setting_words(settings, "settings")]
        _checks.whole("seed", seed, (1 << 64) - 1)
        _checks.flag("landings", landings)
        _checks.flag("savable", savable)
        disk = super().__new__(cls, target, words, seed, landings, savable)
        disk._origin = {"on": target, "settings": words, "seed": int(seed), "landings": bool(landings)}
        return disk

    @property
    def limits(self) -> DiskLimits:
        """Its limits; settings may change them."""
        return DiskLimits(*self.limits_tuple())

    def set(self, key: str, value: Value, now_ns: int | None = None) -> None:
        """Changes a setting while the disk works.

        Args:
            key: a dotted key that a running stack takes, such as "drive.cache.write_back".
            value: its value.
            now_ns: the instant in nanoseconds; by default the present.

        Returns:
            None.

        Raises:
            SeekwiseError: no layer takes the key now, or the value does not fit.

        Example:
            >>> disk.set("drive.cache.write_back", False)
        """
        self.set_word(_checks.text("key", key, '"drive.cache.write_back"'), to_word(value, key), now_ns)

    def save(self) -> bytes:
        """The state of the disk, which `restore` makes again by its calls.

        Returns:
            Bytes with a sum over them.

        Raises:
            SeekwiseError: the disk was made without `savable=True`.

        Example:
            >>> disk = sw.Disk("exos-x18", savable=True)
            >>> sw.Disk.restore(disk.save()).now_ns
            0
        """
        saved = self.saved_calls()
        if saved is None:
            raise SeekwiseError("save: the calls of this disk are not kept; expected Disk(…, savable=True)")
        calls, now_ns, completions, landings = saved
        facts = {"version": _native.VERSION, "build": _native.BUILD, "stack": self.fingerprint(), "now_ns": now_ns, **self._origin}
        head = json.dumps(facts | {"collected": [completions, landings]}).encode()
        body = head + b"\n" + calls
        return HEAD + sha256(body).hexdigest().encode() + b"\n" + body

    @staticmethod
    def restore(data: bytes) -> Disk:
        """Makes a saved disk again: each of its calls is made once more.

        Args:
            data: what `save` returned.

        Returns:
            A disk in that state, savable too.

        Raises:
            SeekwiseError: the bytes are damaged, of another build, or their drive's file has changed.

        Example:
            >>> disk = sw.Disk.restore(sw.Disk("exos-x18", savable=True).save())
        """
        if not isinstance(data, bytes) or not data.startswith(HEAD):
            raise SeekwiseError("data: is no saved disk; expected the bytes of Disk.save()")
        rest = data[len(HEAD) :]
        body = rest[SUM_BYTES:]
        if rest[:SUM_BYTES] != sha256(body).hexdigest().encode() + b"\n":
            raise SeekwiseError("data: contradicts its sum; expected all bytes of Disk.save(), unchanged")
        head, _, calls = body.partition(b"\n")
        facts: dict[str, Any] = json.loads(head)
        if facts["build"] != _native.BUILD:
            why = (
                f"data: saved by seekwise {facts['version']}, build {facts['build']}, and this is {_native.VERSION}, build "
                f"{_native.BUILD}, whose answers may differ; expected the same build, such as by `pip install "
                f"seekwise=={facts['version']}`"
            )
            raise SeekwiseError(why)
        disk = Disk(
            facts["on"], settings=dict(facts["settings"]), seed=facts["seed"], landings=facts["landings"], savable=True
        )
        if disk.fingerprint() != facts["stack"]:
            raise SeekwiseError(f"{facts['on']}: is another stack than when the disk was saved; expected the same file")
        disk.make_calls(calls, facts["now_ns"], *facts["collected"])
        return disk

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return (Disk.restore, (self.save(),))

    def __repr__(self) -> str:
        return f"<Disk {self._origin['on']} at {self.now_ns} ns>"
