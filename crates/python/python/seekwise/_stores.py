"""Where the parts of a sweep are kept: a folder, which may be shared, or what fsspec opens (`s3://`, `gs://`, `memory://`). A
part is written whole or not at all."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from seekwise import _native
from seekwise._error import SeekwiseError


#: Files of a result folder. Where parts are in no folder, they stand beside them.
KEPT = ("study.toml", "made-from.json", "sums.txt", "results.jsonl", "report.html")


class Store(Protocol):
    """What keeps files by name. It travels to the workers, so it is to be pickled."""

    def names(self) -> set[str]:
        """What is kept."""
        ...

    def read(self, name: str) -> bytes | None:
        """A file's bytes; None where there is none of that name."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Keeps a file, whole or not at all."""
        ...


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

    def read(self, name: str) -> bytes | None:
        """A file's bytes; None where there is none of that name."""
        try:
            return Path(self.folder, name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Keeps a file, whole or not at all."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        _native.write_file(Path(self.folder, name), content)


@contextmanager
def _told(url: str) -> Iterator[None]:
    """Errors of whatever file system it is say which URL they are of."""
    try:
        yield
    except (SeekwiseError, FileNotFoundError):
        raise
    except Exception as error:
        raise SeekwiseError(f"{url}: {str(error) or type(error).__name__}") from error


@dataclass(frozen=True, slots=True)
class UrlStore:
    """What fsspec opens. A file is one object, written by one call: object stores keep it whole or not at all."""

    url: str
    #: What fsspec's file system is made with, such as an address or keys.
    options: tuple[tuple[str, Any], ...] = ()

    def _opened(self) -> tuple[Any, str]:
        try:
            fsspec: Any = import_module("fsspec.core")
        except ImportError as error:
            raise SeekwiseError(f"{self.url}: needs fsspec; expected a folder, or `pip install seekwise[stores]`") from error
        with _told(self.url):
            system, root = fsspec.url_to_fs(self.url, **dict(self.options))
        return system, str(root).rstrip("/")

    def names(self) -> set[str]:
        """What is kept."""
        system, root = self._opened()
        system.invalidate_cache()
        try:
            with _told(self.url):
                return {str(path).rsplit("/", 1)[-1] for path in system.ls(root, detail=False)}
        except FileNotFoundError:
            return set()

    def read(self, name: str) -> bytes | None:
        """A file's bytes; None where there is none of that name."""
        system, root = self._opened()
        try:
            with _told(self.url):
                return bytes(system.cat_file(f"{root}/{name}"))
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Keeps a file, whole or not at all."""
        system, root = self._opened()
        with _told(self.url):
            system.pipe_file(f"{root}/{name}", content)


def is_url(out: str) -> bool:
    """Whether results go elsewhere than to a folder."""
    return "://" in out and not out.startswith("file://")


def folder_of(out: str) -> str:
    """The folder that a name or a `file://` stands for."""
    return out.removeprefix("file://")


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
        raise SeekwiseError(f"{url}: holds no results; expected what a sweep has kept there")
    for name, content in files.items():
        if content is not None:
            _native.write_file(folder / name, content)


def store(out: str, options: dict[str, Any] | None = None) -> Store:
    """The store for a folder or an URL."""
    if is_url(out):
        return UrlStore(out.rstrip("/"), tuple(sorted((options or {}).items())))
    return FolderStore(folder_of(out))
