"""Where the parts of a sweep are kept: a folder, which may be shared, or what fsspec opens (`s3://`, `gs://`, `memory://`). A
part is written whole or not at all."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from seekwise._error import SeekwiseError


class Store(Protocol):
    """What keeps texts by name. It travels to the workers, so it is to be pickled."""

    def names(self) -> set[str]:
        """What is kept."""
        ...

    def read(self, name: str) -> str | None:
        """A text; None where there is none of that name."""
        ...

    def write(self, name: str, text: str) -> None:
        """Keeps a text, whole or not at all."""
        ...


@dataclass(frozen=True, slots=True)
class FolderStore:
    """A folder. A text is written beside its name and takes its place when it is complete."""

    folder: str

    def names(self) -> set[str]:
        """What is kept."""
        try:
            return set(os.listdir(self.folder))
        except FileNotFoundError:
            return set()

    def read(self, name: str) -> str | None:
        """A text; None where there is none of that name."""
        try:
            return Path(self.folder, name).read_bytes().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        """Keeps a text, whole or not at all."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        # Two workers may write the same part at once: each has a file of its own.
        beside = Path(self.folder, f"{name}.{secrets.token_hex(4)}.unfinished")
        try:
            with beside.open("wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            beside.replace(Path(self.folder, name))
        finally:
            beside.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class UrlStore:
    """What fsspec opens. A text is one object, written by one call: object stores keep it whole or not at all."""

    url: str
    #: What fsspec's file system is made with, such as an address or keys.
    options: tuple[tuple[str, Any], ...] = ()

    def _opened(self) -> tuple[Any, str]:
        try:
            fsspec: Any = import_module("fsspec.core")
        except ImportError as error:
            raise SeekwiseError(f"{self.url}: needs fsspec; expected a folder, or `pip install seekwise[stores]`") from error
        try:
            system, root = fsspec.url_to_fs(self.url, **dict(self.options))
        except (ImportError, ValueError) as error:
            raise SeekwiseError(f"{self.url}: {error}") from error
        return system, str(root).rstrip("/")

    def names(self) -> set[str]:
        """What is kept."""
        system, root = self._opened()
        system.invalidate_cache()
        try:
            return {str(path).rsplit("/", 1)[-1] for path in system.ls(root, detail=False)}
        except FileNotFoundError:
            return set()

    def read(self, name: str) -> str | None:
        """A text; None where there is none of that name."""
        system, root = self._opened()
        try:
            return bytes(system.cat_file(f"{root}/{name}")).decode("utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        """Keeps a text, whole or not at all."""
        system, root = self._opened()
        system.pipe_file(f"{root}/{name}", text.encode())


def is_url(out: str) -> bool:
    """Whether results go elsewhere than to a folder."""
    return "://" in out and not out.startswith("file://")


def folder_of(out: str) -> str:
    """The folder that a name or a `file://` stands for."""
    return out.removeprefix("file://")


def store(out: str, options: dict[str, Any] | None = None) -> Store:
    """The store for a folder or an URL."""
    if is_url(out):
        return UrlStore(out.rstrip("/"), tuple(sorted((options or {}).items())))
    return FolderStore(folder_of(out))
