"""The page inside an application of somebody else."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

import pytest
import uvicorn

from antiphon.console.mounted import MountedPage
from antiphon.errors import AgentFileError
from antiphon.server.agent_file import load_agent_file
from antiphon.testing import wait_until
from tests.console.page import Page
from tests.console.serving import run
from tests.examples.commands import EXAMPLES

FILE = EXAMPLES / "page_in_app.py"


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[str, uvicorn.Server]]:
    """The application of the example, on a free port."""
    load_agent_file(FILE)
    application = sys.modules["_agent_file_page_in_app"].application()
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=0, log_level="error"))
    running = asyncio.create_task(server.serve())
    try:
        await wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", server
    finally:
        server.should_exit = True
        await running


def test_a_call_is_made_where_the_page_is_mounted() -> None:
    async def check() -> None:
        async with serving() as (url, _), Page(f"{url}/agent", audio=False) as page:
            assert "The shop is closed on Sunday." in await page.asks("Are you open on Sunday?")

    run(check)


def test_calls_end_when_the_application_stops() -> None:
    async def check() -> None:
        async with serving() as (url, server):
            page = Page(f"{url}/agent", audio=False)
            async with page:
                assert await page.asks("Are you open on Monday?")
                server.should_exit = True
                assert (await page.closed())[0] == 1012  # service restarts

    run(check)


def test_a_file_that_cannot_be_served_is_told_at_once() -> None:
    with pytest.raises(AgentFileError, match="no such agent file"):
        MountedPage("nowhere.py")
