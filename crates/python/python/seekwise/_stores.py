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
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote, unquote_plus

from seekwise import _native
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
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        place = Path(self.folder, name)
        try:
            usual = stat.S_ISREG(place.lstat().st_mode)
        except FileNotFoundError:
            usual = True
        if not usual:
            # No file takes the place of a folder, a link or a pipe, and it is somebody's. Another worker may have done this.
            with suppress(FileNotFoundError):
                place.rename(place.with_name(f"{name}.{secrets.token_hex(4)}.set-aside"))
        _native.write_file(place, content)


#: A URL in a text.
URL = re.compile(r"[\w.+-]+://[^\s'\"<>]+")


def shown(url: str) -> str:
    """A URL for whatever is printed: scheme, host and path alone. All before the last `@` counts as a user and a password, which
    may hold a `/`. Query and fragment are left out: keys are in them."""
    if not is_url(url):
        return url
    scheme, _, rest = url.partition("://")
    place, mark, more = _parted(rest)
    if "@" in more:
        # Nothing tells a query from a password that holds a `?`.
        return f"{scheme}://***"
    _, at, place = place.rpartition("@")
    return f"{scheme}://{at and '***@'}{place}{mark and mark + '***'}"


def _parted(rest: str) -> tuple[str, str, str]:
    """What comes before the query or the fragment, its mark, and what comes after that."""
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    return place, rest[len(place) : len(place) + 1], rest[len(place) + 1 :]


def _keys(url: str) -> Iterator[str]:
    """The parts of a URL that are secret: as they are, decoded and encoded."""
    rest = url.partition("://")[2]
    before = rest.rpartition("@")[0]
    _, _, more = _parted(rest)
    values = (part.partition("=")[2] or part for part in re.split(r"[&;#]", more))
    for key in (before, before.partition(":")[2], *values):
        yield from {key, unquote(key), unquote_plus(key), quote(unquote(key), safe="")} - {""}


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
            text = str(error).replace(self.url, shown(self.url)) or type(error).__name__
            # The longest first: a shorter one may be a part of it.
            for secret in sorted((*_secrets(self.options), *_keys(self.url)), key=len, reverse=True):
                text = text.replace(secret, "***")
            text = URL.sub(lambda found: shown(found[0]), text)
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
            _native.write_file(folder / name, content)


def store(out: str, options: dict[str, Any] | None = None) -> Store:
    """The store for a folder or an URL."""
    if is_url(out):
        return UrlStore(out.rstrip("/"), tuple(sorted((options or {}).items())))
    return FolderStore(folder_of(out))
