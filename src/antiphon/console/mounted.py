"""The page as a part of another ASGI application: `app.mount("/agent", page.app)`.

Above: applications (FastAPI, Starlette). Below: the page's own application and its calls. Ports, certificates and
signals are the affair of whoever serves the application.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from antiphon.calls.models import ModelChoice
from antiphon.console.access import Access, Limits
from antiphon.console.app import page_app
from antiphon.console.archive import Archive
from antiphon.console.calls import Calls, Models
from antiphon.console.reload import AgentFile
from antiphon.server.agent_file import load_agent_file
from antiphon.server.process import longest_write_grace

if TYPE_CHECKING:
    from starlette.applications import Starlette

STOP_TIMEOUT = 5.0
"""Seconds that calls have to end when the application stops; tools that write have theirs beside."""


class MountedPage:
    """The page of one agent file, to be mounted. `async with page:` around the application's life ends its calls.

    Without a token only this machine may call. Models are those of the file, or local ones in the place of what cannot
    be used. `folder` keeps recordings and reports; without it there are none. Raises `AgentFileError` for a file that
    cannot be served.
    """

    def __init__(
        self,
        agent_file: Path | str,
        *,
        token: str | None = None,
        limits: Limits | None = None,
        folder: Path | None = None,
    ) -> None:
        path = Path(agent_file)
        self._calls = Calls(
            AgentFile(path, server=load_agent_file(path)),
            models=Models(voice=ModelChoice(), text=ModelChoice(voice=False)),
            access=Access(token or None),
            archive=Archive(folder),
            limits=limits,
        )
        self.app: Starlette = page_app(self._calls)
        """What to mount. Its paths are its own: the page finds them wherever it is mounted."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End all calls: no new ones, and those that run have five seconds."""
        await self._calls.end_all("the server stops", timeout=STOP_TIMEOUT + longest_write_grace())
