"""A call that goes on in another process: read from its store, and what its session begins with.

Resuming is by value: the history as it was heard, the agent in charge, what tools that write did, and what the caller
is owed. Nothing is played back.

Above: the call store of a session. Below: the contract of stores, and those who write what is read here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from antiphon.agent import Agent
from antiphon.application.snapshot import PART as APPLICATION
from antiphon.application.snapshot import Snapshot
from antiphon.application.userdata import FieldsCodec, loaded
from antiphon.chat import ChatContext, ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core import texts
from antiphon.core.codec import reader
from antiphon.core.facts import Call, CallResumed, CutCall, KeptWrite, WriteOutcome
from antiphon.core.lines import FORMAT, version
from antiphon.errors import JournalError, LeaseHeld, StoreError, UsageError, pass_on
from antiphon.options import ToolPolicy
from antiphon.protocols import UserdataCodec
from antiphon.runtime.kept_state import PART as AT_WORK
from antiphon.runtime.kept_state import AtWork
from antiphon.store import HISTORY, LEASE, WORKER, Lease, Row, RowState, Store, StoredCall
from antiphon.vault import PLACEHOLDER

logger = logging.getLogger("antiphon")

KnownAgents: TypeAlias = Sequence[Agent] | Callable[[str], Agent | None]
"""Agents that may have been in charge, or what makes the one of an id (None: there is none)."""

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


class Candidates:
    """Agents that may go on with a call. `first`: who begins if none of `known` has the id; None: the first of them."""

    def __init__(self, first: Agent | None, known: KnownAgents) -> None:
        self._known = known
        self.listed: list[Agent] = [] if first is None else [first]
        """All but those that are made."""
        if not callable(known):
            self.listed += [agent for agent in known if agent not in self.listed]
        if not self.listed and not callable(known):
            raise UsageError("session.resume: expected an agent or more, got none. Give agents=[...].")

    def of(self, agent_id: str) -> Agent | None:
        """The one with that id. A second agent of a session that has an id is known as `id_2`."""
        for wanted in (agent_id, re.sub(r"_\d+$", "", agent_id)):
            found = next((agent for agent in self.listed if agent.id == wanted), None)
            if found is None and callable(self._known):
                found = self._known(wanted)
            if found is not None:
                return found
        return None

    def first(self, agent_id: str) -> Agent:
        """Who begins where none has the id. Raises `UsageError` if that is nobody."""
        if not self.listed:
            raise UsageError(
                f"session.resume: agents= gave no agent for {agent_id!r}, which was in charge. Have it return another"
                " one for ids that it does not know."
            )
        return self.listed[0]


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A call as its store has it."""

    stored: StoredCall
    lease: Lease
    items: tuple[ChatItem, ...]
    """Its history: what was heard, and what tools came to."""
    snapshot: Snapshot
    at_work: AtWork

    @property
    def turns(self) -> int:
        """How many the caller took."""
        return sum(isinstance(item, ChatMessage) and item.role == "user" for item in self.items)

    @property
    def owes_turn(self) -> bool:
        """No answer was heard to what came last, and none is made to tell what tools did."""
        if any(row.closed_at is None and row.state is not RowState.INTENDED for row in self.stored.rows):
            return False
        if self.at_work.open:
            return False
        if self.at_work.heard or self.at_work.asks:
            return True
        for item in reversed(self.items):
            if isinstance(item, ChatMessage):
                return item.role == "user"
            if isinstance(item, FunctionCallOutput) and item.reply_required:
                return True
        return False

    @property
    def placeholders(self) -> set[str]:
        """What stands for secrets, which its process knew alone."""
        texts = [row.arguments for row in self.stored.rows]
        for item in self.items:
            match item:
                case ChatMessage():
                    texts.append(item.text_content or "")
                case FunctionCall():
                    texts.append(item.arguments)
                case FunctionCallOutput():
                    texts.append(item.output)
        return {found for text in texts for found in PLACEHOLDER.findall(text)}

    async def taken_up_by(self, agents: Candidates) -> Agent:
        """The agent that was in charge, or the first one if none has its id. It knows what was said.

        Of agents on top of one another it is the lowest: what awaited the others is gone.
        """
        wanted = next(iter(self.stored.info.meta.agents), "")
        agent = agents.of(wanted)
        if agent is None:
            agent = agents.first(wanted)
            known = ", ".join(one.id for one in agents.listed)
            logger.warning("call %s: agent %r was in charge, and is not among %s", self.stored.info.id, wanted, known)
        else:
            agent.resumes()
        for one in {id(one): one for one in (*agents.listed, agent)}.values():
            self._load_state(one, wanted if one is agent else one.id)
        await agent.update_chat_ctx(ChatContext([*agent.chat_ctx.items, *self.items]))
        return agent

    def _load_state(self, agent: Agent, agent_id: str) -> None:
        if agent_id in self.snapshot.agents:
            try:
                agent.load_state(self.snapshot.agents[agent_id])
            except BaseException as error:
                pass_on(error)
                logger.exception("agent %r: load_state() raised, and it goes on without what was kept", agent_id)

    def userdata(self, codec: UserdataCodec[Any] | FieldsCodec, given: Any) -> Any:
        """What was kept of it, in the place of what the session was given. Raises `UsageError`."""
        if self.snapshot.userdata is None:
            if not isinstance(given, Mapping):
                logger.warning(
                    "call %s: userdata of type %s was not kept; give AgentSession(userdata_codec=)",
                    self.stored.info.id,
                    type(given).__name__,
                )
            return given
        return loaded(codec, self.snapshot.userdata, given)

    def fact(self, numbers: Mapping[str, int], line: str = "") -> CallResumed:
        """What the core is told. `numbers`: one for each row, by key. `line` is said first."""
        recorded = {item.call_id: item.output for item in self.items if isinstance(item, FunctionCallOutput)}
        writes = [
            _kept(row, numbers[row.key], recorded)
            for row in self.stored.rows
            if row.key in numbers and row.state is not RowState.INTENDED
        ]
        cut = [_aside(one, recorded) for one in self.at_work.open]
        return CallResumed(tuple(writes), tuple(cut), self.at_work.heard, line)


@asynccontextmanager
async def held_call(store: Store, call: str) -> AsyncIterator[KeptCall]:
    """Hold a call, so that what is read is all that there will be. Left by an exception, it is given back.

    Raises `UsageError` if it is not there, or has ended; `LeaseHeld` if another process holds it; `StoreError`.
    """
    lease = await _held(store, call)
    try:
        yield await _read(store, lease)
    except BaseException:
        store.release(lease)  # else nobody could try again as long as this process lives
        raise


async def _held(store: Store, call: str) -> Lease:
    """`call`: its id, or its beginning."""
    stored = await store.load(call)
    if stored is None:
        found = [info.id for info in await store.calls(most=_AT_ONCE) if info.id.startswith(call)]
        stored = await store.load(found[0]) if call and len(found) == 1 else None
    if stored is None:
        raise UsageError(f"session.resume: {store} has no call {call!r}. See those it has with: antiphon calls")
    if stored.info.meta.ended is not None:
        raise UsageError(f"session.resume: the call {call!r} has come to its end. Begin another one.")
    if stored.info.meta.version > FORMAT:
        raise StoreError(
            f"session.resume: expected a call of format {FORMAT} or before, got {stored.info.meta.version}, which"
            f" Antiphon {stored.info.meta.antiphon} wrote. Resume it with that version or a later one."
        )
    return await _leased(store, stored.info.id)


async def history_of(store: Store, stored: StoredCall) -> list[ChatItem]:
    """What was heard in a call, and what its tools came to. Raises `StoreError`."""
    items: list[ChatItem] = []
    while entries := await store.entries(stored.info.id, HISTORY, len(items), _AT_ONCE):
        items += [_item(entry, stored.info.meta.antiphon) for entry in entries]
    return items


async def _read(store: Store, lease: Lease) -> KeptCall:
    call = lease.call
    stored = await store.load(call)
    if stored is None:
        raise StoreError(f"{store}: the call {call!r} is not there any more. Was it erased?")
    items = await history_of(store, stored)
    snapshot, at_work = Snapshot.of_part(stored.parts.get(APPLICATION)), AtWork.of_part(stored.parts.get(AT_WORK))
    heard = "" if _is_said(items, at_work.heard) else at_work.heard
    return KeptCall(stored, lease, tuple(items), snapshot, replace(at_work, heard=heard))


def _is_said(items: Sequence[ChatItem], heard: str) -> bool:
    """The history has it: it was written down after what was at work."""
    last = next((one for one in reversed(items) if isinstance(one, ChatMessage) and one.role == "assistant"), None)
    return last is not None and (last.text_content or "").startswith(heard)


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


def _item(entry: bytes, writer: str) -> ChatItem:
    try:
        item: ChatItem = reader(ChatItem)(json.loads(entry)["item"])
    except (ValueError, LookupError, TypeError, JournalError) as error:
        raise StoreError(
            f"the history of the call cannot be read: {error}. Antiphon {writer} wrote it, and this is {version()}: if"
            " that is the same, the store was changed."
        ) from error
    return item


def _kept(row: Row, number: int, recorded: Mapping[str, str]) -> KeptWrite:
    ids = [call_id for call_id in recorded if call_id.partition("/")[0] == row.call_id]
    shown = next((call_id for call_id in reversed(ids) if recorded[call_id] == row.output), None)
    output = row.output if row.settled_at is not None and row.output else texts.unknown_outcome(row.name)
    call_id = shown or row.call_id
    while shown is None and f"{call_id}/resumed" in recorded:  # it was told otherwise where it was taken up before
        call_id += "/resumed"
    call = Call(call_id, row.name, row.arguments, row.identity, origin=row.tool, identity=row.identity)
    is_recorded = shown is not None and row.state is not RowState.STARTED
    told = row.closed_at is not None
    return KeptWrite(number, call, _policy(row), _OUTCOMES[row.state], output, row.number, told, is_recorded)


def _policy(row: Row) -> ToolPolicy:
    """What its tool promised when it was started, not what it promises today."""
    known = {one.name for one in fields(ToolPolicy)}
    try:
        policy: ToolPolicy = reader(ToolPolicy)(
            {"is": "ToolPolicy", **{name: value for name, value in row.contract.items() if name in known}}
        )
    except JournalError as error:
        logger.warning("row %s of %s: what its tool promised cannot be read: %s", row.key, row.tool, error)
        policy = ToolPolicy(effect="writes", parallel=False)
    return policy if policy.writes else replace(policy, effect="writes", parallel=False)


def _aside(cut: CutCall, recorded: Container[str]) -> CutCall:
    """With an id of its own: an output of the call may stand in the history, and is not its last."""
    call_id = f"{cut.call.call_id}/late"
    while call_id in recorded:
        call_id += "/late"
    return replace(cut, call=replace(cut.call, call_id=call_id))
