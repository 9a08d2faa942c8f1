"""What is written down of calls that are made from here, so that no process dials one for the second time.

A request is a row of the ledger, as a tool that writes is one (`antiphon.store`): STARTED is on disk before the carrier
is asked. SUCCEEDED holds the carrier's id of the call; FAILED says that nothing rang, and may be tried again; STARTED
and UNKNOWN, of a process that has ended, say that it may ring: the carrier is asked before anything else is done.

Above: `dialing`. Below: the store of the process; without one nothing is written, and only this process knows.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from antiphon.errors import StoreError
from antiphon.protocols import call_store
from antiphon.server.telephone.dialed import DialRequest
from antiphon.store import WORKER, CallMeta, Lease, Row, RowState, Store, acknowledged

TOOL = "telephone.dial"


@dataclass(slots=True)
class Entry:
    """One request's."""

    store: Store
    lease: Lease
    row: Row | None
    """As it was found; None: the request is new."""
    number: str

    @property
    def carrier_call(self) -> str:
        """The call that was made for it; "": none is known."""
        if self.row is None or self.row.state is not RowState.SUCCEEDED:
            return ""
        return _call_in(self.row)

    @property
    def may_ring(self) -> float | None:
        """When it was begun (seconds since the epoch), if nobody knows what came of it."""
        if self.row is None or self.row.state not in (RowState.STARTED, RowState.UNKNOWN):
            return None
        return self.row.started_at or 0.0

    async def begin(self, request: DialRequest, id: str) -> None:
        """The carrier is about to be asked. Raises `StoreError`, and then it must not be."""
        row = self.row or Row(id, TOOL, arguments=json.dumps({"to": request.to, "metadata": request.metadata}))
        self.row = row.started(time.time())
        await acknowledged(self.store.start(self.lease, self.row))

    def came_to(self, state: RowState, output: str) -> None:
        """What came of it."""
        if self.row is not None and self.row.state is not state:
            now = time.time()
            self.row = self.row.settled(state, output, at=now)
            if state is not RowState.UNKNOWN:
                self.row = self.row.closed(now)
            self.store.settle(self.lease, self.row)

    def close(self) -> None:
        """Nothing more is written of it here."""
        now = time.time()
        self.store.keep(self.lease, CallMeta(caller=self.number, began=now, ended=now, reason="dialled"))
        self.store.release(self.lease)


async def entry_of(id: str, number: str) -> Entry | None:
    """The request of this id; None where nothing is kept. Raises `StoreError`: `LeaseHeld` while another dials it."""
    find = call_store.get()
    store = None if find is None else await find()
    if store is None:
        return None
    name = f"dial-{id}"
    lease = await store.lease(name, WORKER)
    stored = await store.load(name)
    return Entry(store, lease, stored.rows[0] if stored is not None and stored.rows else None, number)


async def known_call(id: str) -> tuple[str, str] | None:
    """Number and carrier's id of a request of any process, as it is kept; None: nothing is."""
    find = call_store.get()
    store = None if find is None else await find()
    if store is None:
        return None
    try:
        stored = await store.load(f"dial-{id}")
    except StoreError:
        return None
    if stored is None or not stored.rows:
        return None
    row = stored.rows[0]
    return str(json.loads(row.arguments).get("to", "")), _call_in(row)


def _call_in(row: Row) -> str:
    try:
        return str(json.loads(row.output or "{}").get("call", ""))
    except (ValueError, AttributeError):
        return ""
