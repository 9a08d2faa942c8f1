"""Where records lie: a folder of this machine, or whatever fsspec reaches (`s3://`, `gs://`, `memory://`, ...).

In a folder a record is a folder that appears as a whole: its files are written and synced beside it, and then it is
renamed. Elsewhere it is one ZIP archive, which object stores show as a whole or not at all; where they are file
systems, it is renamed, too. What a writer left that was killed is removed by the next one.

Above: `Records`, and the index. Below: the file system, and fsspec, which is loaded when an address asks for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import time
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from antiphon import private
from antiphon.errors import UsageError, missing_package
from antiphon.records.format import Files, Record, is_name, record_of

STAGING = ".writing-"
"""How names begin of what is not whole yet."""

STALE = 86_400.0
"""Seconds after which what is not whole counts as left by a process that was killed."""

_ARCHIVE = ".zip"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of the files in an archive: the same content gives the same archive."""


class Place(ABC):
    """Where records are. Its methods wait for a disk or a network: call them in a thread. They raise `OSError`."""

    def __str__(self) -> str:
        """As people are told where it is, without passwords."""
        return type(self).__name__

    @property
    @abstractmethod
    def home(self) -> Path:
        """The folder of this machine for what belongs to the place and is no record: its index, what waits."""

    @abstractmethod
    def put(self, name: str, folder: Path) -> None:
        """Make the files of `folder` the record of this name, as a whole. One that was there before is replaced."""

    @abstractmethod
    def names(self) -> list[str]:
        """All records, the oldest first."""

    @abstractmethod
    def files(self, name: str) -> Files:
        """Those of one record."""

    def record(self, name: str) -> Record:
        """One record. Raises `RecordError` for what is none."""
        return record_of(name, self.files(name))

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is a record of this name."""

    @abstractmethod
    def remove(self, name: str) -> bool:
        """Take a record away, for good. False: there was none."""

    @abstractmethod
    def stage(self, name: str) -> Path:
        """Where on this machine to make a record: a folder that is not there yet, near its place if that is here."""


@dataclass(frozen=True)
class FolderFiles:
    """Files in a folder."""

    folder: Path

    def read(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None


@dataclass(frozen=True)
class ArchiveFiles:
    """Files in a ZIP archive. `open` opens it for reading, at any position."""

    open: Any

    def read(self, name: str) -> bytes | None:
        try:
            with cast("IO[bytes]", self.open()) as file, zipfile.ZipFile(file) as archive:
                return archive.read(name)
        except KeyError:
            return None
        except (zipfile.BadZipFile, EOFError) as error:
            raise OSError(f"it is no ZIP archive, or a broken one: {error}") from error


def files_at(path: Path) -> Files:
    """The files of a record on this machine, folder or archive."""
    return FolderFiles(path) if path.is_dir() else ArchiveFiles(lambda: open(path, "rb"))


def read(path: Path) -> Record:
    """The record in a folder or a ZIP archive. Raises `RecordError` and `OSError`."""
    return record_of(path.name.removesuffix(_ARCHIVE), files_at(path))


class Folder(Place):
    """A folder of this machine. Only its owner may look into what is made there."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    def __str__(self) -> str:
        return str(self.path)

    @property
    def home(self) -> Path:
        return self.path

    def stage(self, name: str) -> Path:
        return self.path / _staging(name)

    def put(self, name: str, folder: Path) -> None:
        if folder.parent != self.path:  # it was made elsewhere, and waited there
            near = self.stage(name)
            private.make_folder(near)
            for file in folder.iterdir():
                shutil.copyfile(file, near / file.name)
                os.chmod(near / file.name, 0o600)
            folder = near
        _sync(folder)
        target, old = self.path / name, self.path / f"{STAGING}old-{name}-{os.urandom(4).hex()}"
        with contextlib.suppress(FileNotFoundError):
            os.rename(target, old)
        try:
            os.rename(folder, target)
        except OSError:
            with contextlib.suppress(OSError):
                os.rename(old, target)
            raise
        if os.name == "posix":
            private.sync_folder(self.path)
        shutil.rmtree(old, ignore_errors=True)

    def names(self) -> list[str]:
        found = []
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    name = entry.name
                    if is_name(name) and entry.is_dir():
                        found.append(name)
                    elif name.endswith(_ARCHIVE) and is_name(name.removesuffix(_ARCHIVE)):
                        found.append(name.removesuffix(_ARCHIVE))  # somebody brought it from elsewhere
        except FileNotFoundError:
            return []
        remove_stale(self.path)
        return sorted(set(found))

    def _at(self, name: str) -> Path:
        folder = self.path / name
        archive = self.path / f"{name}{_ARCHIVE}"
        return archive if not folder.is_dir() and archive.is_file() else folder

    def files(self, name: str) -> Files:
        return files_at(self._at(name))

    def has(self, name: str) -> bool:
        return self._at(name).exists()

    def remove(self, name: str) -> bool:
        path = self._at(name)
        if path.is_file():
            path.unlink()
            return True
        gone = self.path / f"{STAGING}gone-{name}-{os.urandom(4).hex()}"
        try:
            os.rename(path, gone)  # nobody finds half a record
        except FileNotFoundError:
            return False
        shutil.rmtree(gone)
        return True


class Url(Place):
    """A place that fsspec reaches: each record is one archive there."""

    def __init__(self, address: str, home: Path) -> None:
        try:
            import fsspec
        except ModuleNotFoundError:
            raise missing_package("records at a URL", "fsspec", "records") from None
        self._address = address
        self._home = home
        try:
            self._files, root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise UsageError(f"records: {_shown(address)}: {error}. Install what fsspec needs for it.") from None
        self._root = str(root).rstrip("/")

    def __str__(self) -> str:
        return _shown(self._address)

    @property
    def home(self) -> Path:
        return self._home

    def stage(self, name: str) -> Path:
        return self._home / _staging(name)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}{_ARCHIVE}"

    def put(self, name: str, folder: Path) -> None:
        with _told(self):
            self._files.makedirs(self._root, exist_ok=True)
            self._files.pipe_file(self._at(name), archived(folder))
        shutil.rmtree(folder, ignore_errors=True)

    def names(self) -> list[str]:
        with _told(self):
            try:
                found = self._files.ls(self._root, detail=False)
            except FileNotFoundError:
                return []
        ends = (str(path).rstrip("/").rpartition("/")[2] for path in found)
        names = (end.removesuffix(_ARCHIVE) for end in ends if end.endswith(_ARCHIVE))
        return sorted(name for name in names if is_name(name))

    def files(self, name: str) -> Files:
        return ArchiveFiles(lambda: self._files.open(self._at(name), "rb"))

    def has(self, name: str) -> bool:
        with _told(self):
            return bool(self._files.exists(self._at(name)))

    def remove(self, name: str) -> bool:
        with _told(self):
            if not self._files.exists(self._at(name)):
                return False
            self._files.rm_file(self._at(name))
            return True


def place_of(address: str | os.PathLike[str]) -> Place:
    """The place at an address: a path, `file:///path`, or any URL that fsspec knows. Raises `UsageError`."""
    text = os.fspath(address)
    if text.startswith("file://"):
        text = text.removeprefix("file://")
    if "://" not in text:
        if not text:
            raise UsageError("records: expected a folder, or a URL that fsspec knows, got an empty text.")
        return Folder(Path(text))
    import hashlib

    cache = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "antiphon" / "records"
    return Url(text, cache / hashlib.sha256(text.encode()).hexdigest()[:16])


def remove_stale(folder: Path) -> None:
    """Remove what processes left in it that were killed while they made a record, a day ago or more."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(STAGING) and time.time() - entry.stat().st_mtime > STALE:
                shutil.rmtree(entry.path, ignore_errors=True)


def archived(folder: Path) -> bytes:
    """The files of a folder as one ZIP archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(path.name, _EPOCH)
            entry.compress_type = zipfile.ZIP_STORED if path.suffix == ".wav" else zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, path.read_bytes())
    return content.getvalue()


def _staging(name: str) -> str:
    return f"{STAGING}{name}-{os.getpid()}-{os.urandom(4).hex()}"


def _sync(folder: Path) -> None:
    """Have the disk know the files of a folder."""
    if os.name != "posix":
        return
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
    private.sync_folder(folder)


def _shown(address: str) -> str:
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}"


@contextlib.contextmanager
def _told(place: Url) -> Iterator[None]:
    """What a library of a service raises is no `OSError` of ours yet."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        from antiphon.errors import pass_on

        pass_on(error)
        raise OSError(f"{place}: {type(error).__name__}: {error}") from error
