"""The agent file while somebody works on it: what it serves now, or why it cannot be served.

Above: calls, which ask for the server of the moment, and pages, which are told of every change. Below: the loader of
agent files, and the file system. A file that breaks takes nothing down: running calls go on with the code they began
with, and new ones are refused with what is wrong until it is mended.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from antiphon.errors import AgentFileError
from antiphon.events import EventEmitter
from antiphon.server.agent_file import load_agent_file
from antiphon.server.entrypoint import AgentServer

logger = logging.getLogger("antiphon")

_NOT_THEIRS = frozenset({"site-packages", "dist-packages", "node_modules"})
"""Folders beside an agent file in which nobody edits the agent."""


class AgentFile:
    """An agent file. `server` is what it serves; where that is None, `problem` says why, file and line first."""

    def __init__(self, path: Path, *, livekit: bool = False, server: AgentServer | None = None) -> None:
        self.path = path
        self.server = server
        self.problem = "" if server is not None else "the agent file has not been loaded yet"
        self._livekit = livekit
        self._folder = path.resolve().parent
        self._folders = {self._folder}
        self._events = EventEmitter()

    def on_change(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback()` after every loading, whatever came of it. Returns how to stop that."""
        self._events.on("change", callback)
        return lambda: self._events.off("change", callback)

    async def load(self) -> None:
        """Load it, and the modules beside it that it imports, anew. Raises nothing: see `server` and `problem`."""
        # In a thread: the file may do anything, and other calls go on meanwhile.
        self.server, self.problem = await asyncio.to_thread(self._load)
        self._events.emit("change")

    def _load(self) -> tuple[AgentServer | None, str]:
        for name, file in self._modules_beside():
            del sys.modules[name]  # calls that run keep theirs
            # Compiled code is told from new by second and length: two saves in a row may look the same.
            with contextlib.suppress(OSError):
                Path(importlib.util.cache_from_source(file)).unlink(missing_ok=True)
        try:
            return load_agent_file(self.path, livekit=self._livekit), ""
        except AgentFileError as error:
            return None, " ".join(str(error).split())

    async def watch(self) -> None:
        """Load anew whenever the file, or a module beside it that it imports, is saved. Never returns.

        Other files in its folder do nothing, unless the file cannot be served: they may be what it lacks.
        """
        from watchfiles import Change, awatch

        def is_ours(_: Change, path: str) -> bool:
            if self.server is None:
                return path.endswith(".py")
            return Path(path).resolve() in {self.path.resolve(), *self._files_beside()}

        while True:
            watched = self._folders | {Path(file).parent for _, file in self._modules_beside()}
            self._folders = watched
            # Not the folders below: beside an agent there may be anything, a whole home directory even.
            async for _ in awatch(*watched, watch_filter=is_ours, recursive=False, step=50, debounce=400):
                await self.load()
                if not watched.issuperset(Path(file).parent for _, file in self._modules_beside()):
                    break

    def _modules_beside(self) -> Iterator[tuple[str, str]]:
        """Names and files of the imported modules that live with the agent file, itself included."""
        for name, module in list(sys.modules.items()):
            file = self._file_beside(name, module)
            if file is not None:
                yield name, file

    def _files_beside(self) -> set[Path]:
        return {Path(file).resolve() for _, file in self._modules_beside()}

    def _file_beside(self, name: str, module: ModuleType) -> str | None:
        file = getattr(module, "__file__", None)
        if not file or name == "__main__" or name.partition(".")[0] == "antiphon":
            return None
        path = Path(file)
        if not path.is_relative_to(self._folder) or _NOT_THEIRS.intersection(path.relative_to(self._folder).parts):
            return None
        return str(path)
