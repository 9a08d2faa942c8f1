"""Files of calls, for nobody but who made them: 0600, in folders that are 0700.

What was said in a call is its caller's and its owner's business, whatever the umask of the shell says. Folders that
were there before belong to somebody else and stay as they are.

Above: everything that writes a file about a call. Below: the file system.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import BinaryIO


def make_folder(path: Path) -> None:
    """Make the folder, and those above it, where they are missing. Raises `OSError`."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


def open_to_write(path: Path) -> BinaryIO:
    """The file, empty, in a folder that is made if need be. One that was there is made private. Raises `OSError`."""
    make_folder(path.parent)
    return open(path, "wb", opener=_open)  # it is the caller who closes it


def claim(path: Path) -> None:
    """Make the file, empty, where it is missing, and private, on the disk by then. Raises `OSError`."""
    made = [folder for folder in (*reversed(path.parents), path) if not folder.exists()]
    make_folder(path.parent)
    os.close(_open(str(path), os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)))
    if os.name == "posix":
        for one in made:
            sync_folder(one.parent)


def sync_folder(path: Path) -> None:
    """Have the disk know what is in a folder. Raises `OSError`."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write(path: Path, content: bytes | str) -> None:
    """Write a whole file, text as UTF-8. Raises `OSError`."""
    with open_to_write(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def write_once(path: Path, content: str) -> None:
    """Make the file as a whole, or leave the one that another process made meanwhile. Raises `OSError`."""
    mine = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    write(mine, content)
    try:
        os.link(mine, path)
    except FileExistsError:
        pass
    except OSError:  # there are no links on that disk
        os.replace(mine, path)
    finally:
        mine.unlink(missing_ok=True)


def is_open_to_others(path: Path) -> bool:
    """Whether other users of this machine may look into it."""
    return (
        bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)) and os.name == "posix"
    )


def _open(path: str, flags: int) -> int:
    file = os.open(path, flags, 0o600)
    # A file of somebody else who lets us write it stays as it is; so does what is no file: a pipe, a terminal.
    if os.name == "posix" and stat.S_ISREG(os.fstat(file).st_mode):
        with contextlib.suppress(PermissionError):
            os.fchmod(file, 0o600)
    return file
