"""Where the parts of a sweep are kept: a folder, which may be shared, or what fsspec opens (`s3://`, `gs://`, `memory://`). A
part is written whole or not at all."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from seekwise._error import SeekwiseError

#: Files of a result folder. Where parts are in no folder, they stand beside them.
KEPT = ("study.toml", "made-from.json", "sums.txt", "results.jsonl", "report.html")

#: Bytes of a file of a result folder at most: more is none of ours.
MOST = 1 << 32

#: A store's options with such words in their names are secret.
SECRET = re.compile("key|secret|token|pass|cred|auth|sas|connection", re.IGNORECASE)

#: How a file of others is opened: a link is not followed, and a pipe is not waited for.
GUARDED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class UnusableFile(SeekwiseError):
    """Something lies under a name that cannot be taken for a file of ours: a link, a folder, a pipe, or too much."""


class Store(Protocol):
    """What keeps files by name. It travels to the workers, so it is to be pickled."""

    def names(self) -> set[str]:
        """What is kept."""
        ...

    def read(self, name: str, most: int = MOST) -> bytes | None:
        """A file's bytes; None where there is none of that name. Raises `UnusableFile` for what is no file, and for one of more
        than `most` bytes."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Keeps a file, whole or not at all, whatever lies under its name."""
        ...


def _kind(place: Path) -> str:
    """The kind of what is no file."""
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(place.lstat().st_mode), "a device")


def _check_size(place: object, size: int, most: int) -> None:
    if size > most:
        raise UnusableFile(f"{place}: has {size} bytes; expected at most {most}")


def write_whole(place: Path, content: bytes) -> None:
    """Writes a file, whole or not at all. A link in its place is replaced, not followed."""
    # Two workers may write the same part at once: each has a file of its own.
    beside = place.with_name(f"{place.name}.{secrets.token_hex(4)}.unfinished")
    made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | GUARDED, 0o666)
    try:
        with open(made, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class FolderStore:
    """A folder. A file is written beside its name and takes its place when it is complete."""

    folder: str

    def names(self) -> set[str]:
        """What is kept."""
        try:
            return set(os.listdir(self.folder))
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise SeekwiseError(f"{self.folder}: {error.strerror}; expected a folder") from error

    def read(self, name: str, most: int = MOST) -> bytes | None:
        """A file's bytes; None where there is none of that name."""
        place = Path(self.folder, name)
        try:
            # Looked at first: to open a device may do something.
            if not stat.S_ISREG(place.lstat().st_mode):
                raise UnusableFile(f"{place}: is {_kind(place)}; expected a file")
            with open(os.open(place, os.O_RDONLY | GUARDED), "rb") as file:
                _check_size(place, os.fstat(file.fileno()).st_size, most)
                content = file.read(most + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnusableFile(f"{place}: {error.strerror}") from error
        _check_size(place, len(content), most)
        return content

    def write(self, name: str, content: bytes) -> None:
        """Keeps a file, whole or not at all, whatever lies under its name."""
        place = Path(self.folder, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            # No file takes a folder's place, and what is in it is somebody's.
            place.rename(place.with_name(f"{name}.{secrets.token_hex(4)}.set-aside"))
        write_whole(place, content)


#: A URL's password, with what stands before it.
PASSWORD = re.compile(r"(://[^/@:\s]*:)([^/@\s]+)@")


def shown(url: str) -> str:
    """A URL without its password, for whatever is printed."""
    return PASSWORD.sub(r"\1***@", url)


def _secrets(options: Iterable[tuple[str, Any]], secret: bool = False) -> Iterator[str]:
    """The values of a store's options that are secret."""
    for name, value in options:
        hidden = secret or SECRET.search(name) is not None
        if isinstance(value, Mapping):
            yield from _secrets(value.items(), hidden)
        elif hidden and isinstance(value, str) and value:
            yield value


@dataclass(frozen=True, slots=True, repr=False)
class UrlStore:
    """What fsspec opens. A file is one object, written by one call: object stores keep it whole or not at all.

    Its options go with it to the workers, secrets too: so they are in its pickles. Nothing that is printed has them.
    """

    url: str
    #: What fsspec's file system is made with, such as an address or keys.
    options: tuple[tuple[str, Any], ...] = ()

    def __repr__(self) -> str:
        named = ", ".join(f"{name}=…" for name, _ in self.options)
        return f"UrlStore({shown(self.url)!r}{', ' if named else ''}{named})"

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of whatever file system it is say which URL they are of, and no secret."""
        try:
            yield
        except (SeekwiseError, FileNotFoundError):
            raise
        except Exception as error:
            text = shown(str(error)) or type(error).__name__
            for secret in (*_secrets(self.options), *(found[2] for found in PASSWORD.finditer(self.url))):
                text = text.replace(secret, "***")
            # An error whose text has a secret is not handed on.
            cause = error if text == str(error) else None
            raise SeekwiseError(f"{shown(self.url)}: {text}") from cause

    def _opened(self) -> tuple[Any, str]:
        try:
            fsspec: Any = import_module("fsspec.core")
        except ImportError as error:
            why = f"{shown(self.url)}: needs fsspec; expected a folder, or `pip install seekwise[stores]`"
            raise SeekwiseError(why) from error
        with self._told():
            system, root = fsspec.url_to_fs(self.url, **dict(self.options))
        return system, str(root).rstrip("/")

    def names(self) -> set[str]:
        """What is kept."""
        system, root = self._opened()
        system.invalidate_cache()
        try:
            with self._told():
                return {str(path).rsplit("/", 1)[-1] for path in system.ls(root, detail=False)}
        except FileNotFoundError:
            return set()

    def read(self, name: str, most: int = MOST) -> bytes | None:
        """A file's bytes; None where there is none of that name."""
        (system, root), place = self._opened(), f"{shown(self.url)}/{name}"
        try:
            with self._told():
                known: Mapping[str, Any] = system.info(f"{root}/{name}")
                if known["type"] != "file" or known.get("islink"):
                    raise UnusableFile(f"{place}: expected a file, found: {known['type']}")
                size = known.get("size")
                _check_size(place, size or 0, most)
                # A range of an empty object is an error in some stores, so one is asked for only where no size is known.
                content = bytes(system.cat_file(f"{root}/{name}", end=None if size is not None else most + 1))
        except FileNotFoundError:
            return None
        _check_size(place, len(content), most)
        return content

    def write(self, name: str, content: bytes) -> None:
        """Keeps a file, whole or not at all, whatever lies under its name."""
        system, root = self._opened()
        place = f"{root}/{name}"
        with self._told():
            try:
                system.pipe_file(place, content)
            except IsADirectoryError:
                # No file takes a folder's place, and what is in it is somebody's.
                system.mv(place, f"{place}.{secrets.token_hex(4)}.set-aside", recursive=True)
                system.pipe_file(place, content)


#: URLs of folders of this machine.
FOLDERS = ("file://", "local://")


def is_url(out: str) -> bool:
    """Whether results go elsewhere than to a folder."""
    return "://" in out and not out.startswith(FOLDERS)


def folder_of(out: str) -> str:
    """The folder that a name or a `file://` stands for."""
    for scheme in FOLDERS:
        out = out.removeprefix(scheme)
    return out


def folder_until_exit() -> str:
    """A folder for a copy, which goes away with the process."""
    folder = tempfile.mkdtemp(prefix="seekwise-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def folder_for_now() -> Iterator[str]:
    """A folder for work, which goes away when that ends; where Ctrl-C ends it, with the process."""
    folder = tempfile.mkdtemp(prefix="seekwise-")
    try:
        yield folder
    except KeyboardInterrupt:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def fetch(url: str, folder: Path, options: Mapping[str, Any] | None = None) -> None:
    """Copies a result folder from where fsspec finds it into a folder of this machine."""
    place = store(url, dict(options or {}))
    files = {name: place.read(name) for name in KEPT}
    if files["made-from.json"] is None or files["results.jsonl"] is None:
        raise SeekwiseError(f"{shown(url)}: holds no results; expected what a sweep has kept there")
    for name, content in files.items():
        if content is not None:
            (folder / name).write_bytes(content)


def store(out: str, options: dict[str, Any] | None = None) -> Store:
    """The store for a folder or an URL."""
    if is_url(out):
        return UrlStore(out.rstrip("/"), tuple(sorted((options or {}).items())))
    return FolderStore(folder_of(out))
