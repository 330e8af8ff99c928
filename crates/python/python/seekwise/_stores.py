"""Stores: where the parts of a sweep are kept. A store is a folder, which machines may share, or what fsspec opens
(`s3://`, `gs://`, `memory://`). A file is written whole or not at all."""

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

#: The files of a result folder. Of a sweep with a URL, they are kept beside the parts.
RESULT_FILES = ("study.toml", "made-from.json", "sums.txt", "results.jsonl", "report.html")

#: The most bytes of a file of a result folder: Seekwise writes no longer ones.
MAX_FILE_BYTES = 1 << 32

#: Options of a store are secret if their names have such words.
SECRET_OPTION = re.compile("key|secret|token|pass|cred|auth|sas|connection", re.IGNORECASE)

#: Flags for opening files that others may have put there: links are not followed, and pipes are not waited for.
GUARDED_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class UnusableFile(SeekwiseError):
    """What lies under a name cannot be used as a file: it is a link, a folder or a pipe, or it is too long."""


class Store(Protocol):
    """What keeps files by name. It travels to the workers, so it is to be pickled."""

    def names(self) -> set[str]:
        """The names of all files that are kept.

        Returns:
            the names; none where nothing was kept yet.

        Raises:
            SeekwiseError: the place cannot be read.

        >>> sw.FolderStore("nothing-here").names()
        set()
        """
        ...

    def read(self, name: str, most: int = MAX_FILE_BYTES) -> bytes | None:
        """Reads a file.

        Parameters:
            name: its name.
            most: the most bytes that it may have.

        Returns:
            its bytes; None where there is none of that name.

        Raises:
            SeekwiseError: it is no file (a link, a folder, a pipe), it has more bytes than `most`, or the place cannot be
                read.

        >>> print(sw.FolderStore("nothing-here").read("results.jsonl"))
        None
        """
        ...

    def write(self, name: str, content: bytes) -> None:
        """Keeps a file, whole or not at all, whatever lies under its name.

        Parameters:
            name: its name.
            content: its bytes.

        Returns:
            nothing.

        Raises:
            SeekwiseError: the place cannot be written.

        >>> kept = sw.FolderStore("kept-files")
        >>> kept.write("a-file", b"its bytes")
        >>> kept.read("a-file")
        b'its bytes'
        """
        ...


def _file_kind(path: Path) -> str:
    """What lies at a path that is no file, in words."""
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(path.lstat().st_mode), "a device")


def _check_size(name: object, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise UnusableFile(f"{name}: has {size} bytes; expected at most {max_bytes}")


@dataclass(frozen=True, slots=True)
class FolderStore(Store):
    """A folder. A file is written beside its name and takes its place when it is complete.

    Parameters:
        folder: its path; it is made with the first file.

    Returns:
        a store.

    Raises:
        nothing: a folder that cannot be used is an error of the first call.

    >>> sw.FolderStore("nothing-here").names()
    set()
    """

    folder: str

    def names(self) -> set[str]:
        try:
            return set(os.listdir(self.folder))
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise SeekwiseError(f"{self.folder}: {error.strerror}; expected a folder") from error

    def read(self, name: str, most: int = MAX_FILE_BYTES) -> bytes | None:
        path = Path(self.folder, name)
        try:
            # Checked before it is opened, as opening a device may have effects.
            if not stat.S_ISREG(path.lstat().st_mode):
                raise UnusableFile(f"{path}: is {_file_kind(path)}; expected a file")
            with open(os.open(path, os.O_RDONLY | GUARDED_OPEN_FLAGS), "rb") as file:
                _check_size(path, os.fstat(file.fileno()).st_size, most)
                content = file.read(most + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnusableFile(f"{path}: {error.strerror}") from error
        _check_size(path, len(content), most)
        return content

    def write(self, name: str, content: bytes) -> None:
        try:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SeekwiseError(f"{self.folder}: {error.strerror}; expected a folder, or a place for one") from error
        path = Path(self.folder, name)
        try:
            is_replaceable = stat.S_ISREG(path.lstat().st_mode)
        except FileNotFoundError:
            is_replaceable = True
        if not is_replaceable:
            # A file cannot replace a folder, a link or a pipe. They are somebody's, so they are moved aside; another
            # worker may have done that already.
            with suppress(FileNotFoundError):
                path.rename(path.with_name(f"{name}.{secrets.token_hex(4)}.set-aside"))
        _native.write_file(path, content)


#: Finds URLs in a text.
URL_PATTERN = re.compile(r"[\w.+-]+://[^\s'\"<>]+")


def printable_url(url: str) -> str:
    """A URL without secrets, for messages: scheme, host and path. All before the last `@` counts as user and password,
    as a password may contain a `/`. Query and fragment are left out, as they may contain keys."""
    if not is_url(url):
        return url
    scheme, _, rest = url.partition("://")
    address, query_mark, query = _split_query(rest)
    if "@" in query:
        # A query and a password with a `?` in it look alike.
        return f"{scheme}://***"
    _, user_mark, address = address.rpartition("@")
    return f"{scheme}://{user_mark and '***@'}{address}{query_mark and query_mark + '***'}"


def _split_query(rest: str) -> tuple[str, str, str]:
    """Splits a URL without its scheme: the part before the query or fragment, the mark (`?` or `#`), the part after
    it."""
    address = re.split(r"[?#]", rest, maxsplit=1)[0]
    return address, rest[len(address) : len(address) + 1], rest[len(address) + 1 :]


def _secret_url_parts(url: str) -> Iterator[str]:
    """The secret parts of a URL: as they are, decoded, and encoded."""
    rest = url.partition("://")[2]
    user_and_password = rest.rpartition("@")[0]
    _, _, query = _split_query(rest)
    query_values = (part.partition("=")[2] or part for part in re.split(r"[&;#]", query))
    for key in (user_and_password, user_and_password.partition(":")[2], *query_values):
        yield from {key, unquote(key), unquote_plus(key), quote(unquote(key), safe="")} - {""}


def _secret_options(options: Iterable[tuple[str, Any]], all_secret: bool = False) -> Iterator[str]:
    """The secret values among a store's options; with `all_secret`, all of their values."""
    for name, value in options:
        is_secret = all_secret or SECRET_OPTION.search(name) is not None
        if isinstance(value, Mapping):
            yield from _secret_options(value.items(), is_secret)
        elif is_secret and isinstance(value, str) and value:
            yield value


@dataclass(frozen=True, slots=True, repr=False)
class UrlStore(Store):
    """A store that fsspec opens. A file is one object, written by one call: object stores keep it whole or not at all.

    Its options, such as `(("anon", True),)`, go with it to the workers, secret ones too, and are in its pickles. No
    message contains secret ones.

    Parameters:
        url: the URL of the place.
        options: fsspec's, as pairs of a name and a value.

    Returns:
        a store.

    Raises:
        nothing: a URL that cannot be opened is an error of the first call.

    >>> sw.UrlStore("memory://lab/swept").names()
    set()
    """

    url: str
    #: What fsspec's file system is made with, such as an address or keys.
    options: tuple[tuple[str, Any], ...] = ()

    def __repr__(self) -> str:
        named = ", ".join(f"{name}=…" for name, _ in self.options)
        return f"UrlStore({printable_url(self.url)!r}{', ' if named else ''}{named})"

    @contextmanager
    def _without_secrets(self) -> Iterator[None]:
        """Turns errors of file systems into `SeekwiseError`s that name the URL and contain no secret."""
        try:
            yield
        except (SeekwiseError, FileNotFoundError):
            raise
        except Exception as error:
            text = str(error).replace(self.url, printable_url(self.url)) or type(error).__name__
            # The longest first: a shorter secret may be part of a longer one.
            for secret in sorted((*_secret_options(self.options), *_secret_url_parts(self.url)), key=len, reverse=True):
                text = text.replace(secret, "***")
            text = URL_PATTERN.sub(lambda found: printable_url(found[0]), text)
            # An error whose text contains a secret is not kept as the cause.
            cause = error if text == str(error) else None
            raise SeekwiseError(f"{printable_url(self.url)}: {text}") from cause

    def _open_file_system(self) -> tuple[Any, str]:
        try:
            fsspec: Any = import_module("fsspec.core")
        except ImportError as error:
            why = f"{printable_url(self.url)}: needs fsspec; expected a folder, or `pip install seekwise[stores]`"
            raise SeekwiseError(why) from error
        with self._without_secrets():
            system, root = fsspec.url_to_fs(self.url, **dict(self.options))
        return system, str(root).rstrip("/")

    def names(self) -> set[str]:
        system, root = self._open_file_system()
        system.invalidate_cache()
        try:
            with self._without_secrets():
                return {str(path).rsplit("/", 1)[-1] for path in system.ls(root, detail=False)}
        except FileNotFoundError:
            return set()

    def read(self, name: str, most: int = MAX_FILE_BYTES) -> bytes | None:
        (system, root), shown_name = self._open_file_system(), f"{printable_url(self.url)}/{name}"
        try:
            with self._without_secrets():
                info: Mapping[str, Any] = system.info(f"{root}/{name}")
                if info["type"] != "file" or info.get("islink"):
                    raise UnusableFile(f"{shown_name}: expected a file, found: {info['type']}")
                size = info.get("size")
                _check_size(shown_name, size or 0, most)
                # Some stores refuse a range of an empty object, so that a range is only asked for if the size is
                # unknown.
                content = bytes(system.cat_file(f"{root}/{name}", end=None if size is not None else most + 1))
        except FileNotFoundError:
            return None
        _check_size(shown_name, len(content), most)
        return content

    def write(self, name: str, content: bytes) -> None:
        system, root = self._open_file_system()
        object_path = f"{root}/{name}"
        with self._without_secrets():
            try:
                system.pipe_file(object_path, content)
            except IsADirectoryError:
                # A file cannot replace a folder, whose content is somebody's, so that the folder is moved aside.
                system.mv(object_path, f"{object_path}.{secrets.token_hex(4)}.set-aside", recursive=True)
                system.pipe_file(object_path, content)
            except FileNotFoundError as error:
                bucket = f"{self.url.partition('://')[0]}://{root.split('/')[0]}"
                why = f"{printable_url(self.url)}: {bucket} does not exist; expected a bucket that does: make it first"
                raise SeekwiseError(why) from error


#: The beginnings of URLs that are folders of this machine.
FOLDER_SCHEMES = ("file://", "local://")


def is_url(out: str) -> bool:
    """Whether a place of results is a URL that is no folder of this machine."""
    return "://" in out and not out.startswith(FOLDER_SCHEMES)


def local_folder(out: str) -> str:
    """The folder of this machine that a name or a `file://` URL stands for."""
    for scheme in FOLDER_SCHEMES:
        out = out.removeprefix(scheme)
    return out


def folder_until_exit() -> str:
    """Creates a folder that is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="seekwise-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Creates a folder that is removed at the end of the block; if Ctrl-C ends the block, at the end of the process."""
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


def copy_result_folder(url: str, folder: Path, options: Mapping[str, Any] | None = None) -> None:
    """Copies a result folder from a URL into a folder of this machine."""
    source = store_at(url, dict(options or {}))
    files = {name: source.read(name) for name in RESULT_FILES}
    if files["made-from.json"] is None or files["results.jsonl"] is None:
        raise SeekwiseError(f"{printable_url(url)}: holds no results; expected what a sweep has kept there")
    for name, content in files.items():
        if content is not None:
            _native.write_file(folder / name, content)


def store_at(out: str, options: dict[str, Any] | None = None) -> Store:
    """The store of a folder or a URL."""
    if is_url(out):
        return UrlStore(out.rstrip("/"), tuple(sorted((options or {}).items())))
    return FolderStore(local_folder(out))
