"""A call that goes on in another process: read from its store, and what its session begins with.

Resuming is by value: the history as it was heard, the agent in charge, what tools that write did, and what the caller
is owed. Nothing is played back.

Above: the session. Below: the contract of stores.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.agent import Agent
from antiphon.application.call_store import CallStore
from antiphon.chat import ChatContext, ChatItem, ChatMessage, FunctionCallOutput
from antiphon.core import texts
from antiphon.core.codec import reader
from antiphon.core.facts import Call, CallResumed, KeptWrite, WriteOutcome
from antiphon.errors import JournalError, LeaseHeld, StoreError, UsageError
from antiphon.options import ToolPolicy
from antiphon.runtime.keeping import WORKER
from antiphon.store import HISTORY, LEASE, Lease, Row, RowState, Store, StoredCall
from antiphon.tools.function import Tool
from antiphon.tools.policy import policy_of
from antiphon.tools.proxy import find_tool

logger = logging.getLogger("antiphon")

_AT_ONCE = 1000
"""Entries that are read at a time."""

LOOK = 0.25
"""Seconds between two times at which a call is asked for that another process may hold no more."""

_OUTCOMES: Mapping[RowState, WriteOutcome] = {
    RowState.STARTED: "unknown",
    RowState.UNKNOWN: "unknown",
    RowState.SUCCEEDED: "succeeded",
    RowState.FAILED: "failed",
}


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A call as its store has it."""

    stored: StoredCall
    items: tuple[ChatItem, ...]
    """Its history: what was heard, and what tools came to."""

    @property
    def turns(self) -> int:
        """How many the caller took."""
        return sum(isinstance(item, ChatMessage) and item.role == "user" for item in self.items)

    @property
    def owes_turn(self) -> bool:
        """The caller spoke last: no answer was heard, and none is made to tell what tools did."""
        if any(row.closed_at is None and row.state is not RowState.INTENDED for row in self.stored.rows):
            return False
        messages = (item for item in reversed(self.items) if isinstance(item, ChatMessage))
        return next((item.role == "user" for item in messages), False)

    async def taken_up_by(self, agents: Sequence[Agent]) -> Agent:
        """The agent that was in charge, or the first one if none of these has its id. It knows what was said."""
        wanted = self.stored.info.meta.agents[-1:]
        found = next((agent for agent in agents if agent.id in wanted), None)
        if found is None:
            known = ", ".join(agent.id for agent in agents)
            who = wanted[0] if wanted else "nobody"
            logger.warning("call %s: agent %s was in charge, and is not among %s", self.stored.info.id, who, known)
        else:
            found.overridden = found.overridden - {"on_enter"}
        agent = found or agents[0]
        await agent.update_chat_ctx(ChatContext([*agent.chat_ctx.items, *self.items]))
        return agent

    def fact(self, numbers: Mapping[str, int], tools: Sequence[Tool]) -> CallResumed:
        """What the core is told. `numbers`: one for each row, by key. `tools`: the agent's."""
        recorded = {item.call_id: item.output for item in self.items if isinstance(item, FunctionCallOutput)}
        writes = []
        for row in self.stored.rows:
            if row.key in numbers and row.state is not RowState.INTENDED:
                tool = find_tool(tools, _name(row))
                policy = ToolPolicy(effect="writes", parallel=False) if tool is None else policy_of(tool)
                writes.append(_kept(row, numbers[row.key], policy, recorded))
        return CallResumed(tuple(writes))


async def taken_up(call: str, store: CallStore, agents: Sequence[Agent]) -> tuple[KeptCall, Agent]:
    """A call from its store, and the agent that goes on with it. Closes the store if that fails."""
    opened = await store.open()
    try:
        if opened is None:
            raise UsageError("session.resume: expected a store. Give AgentSession(store=) the one that the call is in.")
        if not agents:
            raise UsageError("session.resume: expected an agent or more, got none. Give agents=[...].")
        lease = await _held(opened, call)
        try:
            kept = await _read(opened, lease.call)
            return kept, await kept.taken_up_by(agents)
        except BaseException:
            opened.release(lease)  # else nobody could try again as long as this process lives
            raise
    except BaseException:
        await store.aclose()
        raise


async def _held(store: Store, call: str) -> Lease:
    """Hold a call, so that what is read from here on is all that there will be. `call`: its id, or its beginning.

    Raises `UsageError` if it is not there, or has ended; `LeaseHeld` if another process holds it; `StoreError`.
    """
    stored = await store.load(call)
    if stored is None:
        found = [info.id for info in await store.calls(most=_AT_ONCE) if info.id.startswith(call)]
        stored = await store.load(found[0]) if call and len(found) == 1 else None
    if stored is None:
        raise UsageError(f"session.resume: {store} has no call {call!r}. See those it has with: antiphon calls")
    if stored.info.meta.ended is not None:
        raise UsageError(f"session.resume: the call {call!r} has come to its end. Begin another one.")
    return await _leased(store, stored.info.id)


async def _read(store: Store, call: str) -> KeptCall:
    stored = await store.load(call)
    if stored is None:
        raise StoreError(f"{store}: the call {call!r} is not there any more. Was it erased?")
    items: list[ChatItem] = []
    while entries := await store.entries(call, HISTORY, len(items), _AT_ONCE):
        items += map(_item, entries)
    return KeptCall(stored, tuple(items))


async def _leased(store: Store, call: str) -> Lease:
    """A process that was killed holds its calls for a moment yet."""
    clock = asyncio.get_running_loop().time
    until = clock() + LEASE + LOOK
    while True:
        try:
            return await store.lease(call, WORKER)
        except LeaseHeld:
            if clock() >= until:
                raise
            await asyncio.sleep(LOOK)


def _item(entry: bytes) -> ChatItem:
    try:
        item: ChatItem = reader(ChatItem)(json.loads(entry)["item"])
    except (ValueError, LookupError, TypeError, JournalError) as error:
        raise StoreError(f"the history of the call cannot be read: {error}. Was the store changed?") from error
    return item


def _name(row: Row) -> str:
    return str(row.extra.get("name", row.tool))


def _kept(row: Row, number: int, policy: ToolPolicy, recorded: Mapping[str, str]) -> KeptWrite:
    ids = [call_id for call_id in recorded if call_id.partition("/")[0] == row.call_id]
    shown = next((call_id for call_id in reversed(ids) if recorded[call_id] == row.output), None)
    output = row.output if row.settled_at is not None and row.output else texts.unknown_outcome(_name(row))
    call = Call(shown or row.call_id, _name(row), row.arguments, row.identity, origin=row.tool, identity=row.identity)
    is_recorded = shown is not None and row.state is not RowState.STARTED
    told = row.closed_at is not None
    return KeptWrite(number, call, policy, _OUTCOMES[row.state], output, row.number, told, is_recorded)
