"""`antiphon studio`: the calls of a fleet in a browser, those that go on and those that have ended.

Above: `main`. Below: the console's studio, records, the contract of stores. It holds no call.
"""

from __future__ import annotations

import argparse
import contextlib
import os

from antiphon.cli.calls import address_of
from antiphon.cli.records import place_for
from antiphon.cli.screen import Screen
from antiphon.console.serve import Place
from antiphon.console.studio.live import FindStore
from antiphon.console.studio.serve import studio_server
from antiphon.console.tls import given_certificate
from antiphon.errors import UsageError
from antiphon.store import Store, open_store


async def studio(options: argparse.Namespace) -> None:
    """Serve until cancelled. Raises `UsageError` for places that are none, and `StoreError`."""
    screen = Screen()
    records = place_for(options)
    # This folder's store may be another project's.
    is_elsewhere = options.records is not None and options.store is None
    address = None if is_elsewhere else address_of(options.store, is_needed=options.store is not None)
    if records is None and address is None:
        raise UsageError(
            "there are no calls here. Name the place of records with --records, or the store with --store."
        )
    place = Place(
        options.host,
        options.port,
        token=options.token or os.environ.get("ANTIPHON_TOKEN"),
        tls=options.tls,
        certificate=given_certificate(options.tls_cert, options.tls_key),
    )
    async with contextlib.AsyncExitStack() as stack:
        store = None if address is None else await stack.enter_async_context(open_store(address))
        running = await stack.enter_async_context(studio_server(place, records, _finder(store)))
        screen.address(running.url)
        where = [str(one) for one in (records, store) if one is not None]
        screen.notice(f"Calls of {' and '.join(where)}. Ctrl-C ends this, and no call.")
        await running.run()


def _finder(store: Store | None) -> FindStore:
    async def find() -> Store | None:
        return store

    return find
