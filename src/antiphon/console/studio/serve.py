"""`antiphon studio`: the studio on a port of its own, until it is told to stop.

Above: the command line. Below: uvicorn, the door of the page server, and the routes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from antiphon.console.access import Access
from antiphon.console.app import PageHeaders, page_files
from antiphon.console.serve import DoorServer, Place, connection_config, listen, page_address, sparing_log
from antiphon.console.studio.app import Studio
from antiphon.console.studio.live import FindStore, Live
from antiphon.console.studio.shelf import Shelf
from antiphon.console.tls import own_certificate

if TYPE_CHECKING:
    from starlette.requests import Request

    from antiphon.records.places import Place as RecordsPlace


def studio_app(studio: Studio) -> Starlette:
    """The application around a studio."""
    app = Starlette(routes=[Route("/", _to_studio), *studio.routes(), *page_files()])
    app.add_middleware(PageHeaders)
    return app


async def _to_studio(request: Request) -> Response:
    token = request.query_params.get("token")
    return RedirectResponse("studio/" if token is None else f"studio/?token={quote(token)}")


@dataclass(slots=True, frozen=True)
class StudioServer:
    """A running studio."""

    server: DoorServer
    serving: asyncio.Task[None]
    url: str
    """What to open, the token included."""

    async def run(self) -> None:
        """Wait until this is cancelled. Raises what broke it, if anything did."""
        await asyncio.shield(self.serving)


@contextlib.asynccontextmanager
async def studio_server(
    place: Place, records: RecordsPlace | None, store: FindStore | None = None
) -> AsyncIterator[StudioServer]:
    """A studio that runs inside. Raises `UsageError` if the address cannot be used."""
    access = Access.to("0.0.0.0" if place.is_everywhere else place.host, place.token)
    listening = listen(place)
    with contextlib.ExitStack() as stack:
        stack.enter_context(listening)
        stack.enter_context(sparing_log())
        studio = Studio(None if records is None else Shelf(records), Live(store=store), access)
        certificate = place.certificate or (own_certificate((place.name, "localhost")) if place.tls else None)
        server = DoorServer(connection_config(studio_app(studio), certificate), listening)
        serving = asyncio.create_task(server.serve([]), name="studio")
        try:
            yield StudioServer(server, serving, page_address(place, listening, access.token))
        finally:
            server.should_exit = True
            await asyncio.gather(serving, return_exceptions=True)
            await studio.aclose()
