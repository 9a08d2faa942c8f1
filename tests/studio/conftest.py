"""A browser, and a studio over a place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from antiphon.console.serve import Place
from antiphon.console.studio.live import FindStore
from antiphon.console.studio.serve import studio_server
from antiphon.records.places import place_of
from antiphon.store import Store, open_store
from tests.console.page_browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def _finds(store: Store) -> FindStore:
    async def find() -> Store:
        return store

    return find


@contextmanager
def studio_of(
    folder: Path | None, *, token: str | None = None, store: Path | None = None, find_store: FindStore | None = None
) -> Iterator[str]:
    """A studio in a thread, as long as this lasts: its address, the token included."""
    urls: list[str] = []
    is_up, is_over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        records = None if folder is None else place_of(folder)
        async with AsyncExitStack() as stack:
            find = find_store
            if store is not None:
                find = _finds(await stack.enter_async_context(open_store(f"sqlite:///{store}")))
            studio = await stack.enter_async_context(studio_server(Place(port=0, token=token), records, find))
            urls.append(studio.url)
            is_up.set()
            await is_over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert is_up.wait(20)
    try:
        yield urls[0]
    finally:
        loops[0].call_soon_threadsafe(is_over.set)
        thread.join(20)
