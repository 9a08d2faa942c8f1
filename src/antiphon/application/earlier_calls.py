"""A caller who rings again: what tools did for them in earlier calls, and they have not heard, or nobody knows.

The model of the next call reads it before its first word: a call and its output each, as from a tool, for a stranger
may have written what it gave. Once a reply of that model was heard, it counts as told.

Above: the call store of a session. Below: the contract of stores.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.agent import Agent
from antiphon.chat import ChatContext, ChatItem, ChatMessage, Clock, FunctionCall, FunctionCallOutput
from antiphon.core.commands import Adopt, Command, Generate, Record, message_id
from antiphon.core.texts import unknown_outcome
from antiphon.errors import StoreError
from antiphon.runtime.observers import Observer
from antiphon.store import WORKER, CallInfo, Row, RowState, Store

logger = logging.getLogger("antiphon")

WINDOW = 24 * 3600.0
"""Seconds for which a caller may be told of earlier calls."""

_MOST = 20
"""Rows that are told: the latest."""

_BEFORE = (
    "The user called before. What follows was done for them then: they have not heard what came of it, or nobody knows"
    " it. Tell them so first. Do not do it again unless they ask for another."
)


@dataclass(frozen=True, slots=True)
class EarlierCalls:
    """What is open of a caller."""

    store: Store
    rows: tuple[tuple[CallInfo, Row], ...]
    """The oldest first."""

    async def told_to(self, agent: Agent) -> None:
        """The agent knows of it."""
        if self.rows:
            items: list[ChatItem] = [ChatMessage(role="system", content=_BEFORE)]
            for info, row in self.rows:
                call_id, name = f"{info.id}/{row.call_id}", str(row.extra.get("name", row.tool))
                items.append(FunctionCall(call_id=call_id, name=name, arguments=row.arguments))
                items.append(FunctionCallOutput(call_id=call_id, name=name, output=_output(row, name)))
            context = ChatContext([*agent.chat_ctx.items, *items])
            await agent.update_chat_ctx(context, exclude_invalid_function_calls=False)

    async def close(self) -> None:
        """The caller was told. A call that goes on elsewhere by now tells it itself."""
        for info, row in self.rows:
            try:
                now = await self.store.load(info.id)
                if now is None or now.info.is_held:
                    continue
                lease = await self.store.lease(info.id, WORKER)
                known = row if row.state is not RowState.STARTED else row.settled(RowState.UNKNOWN, "", at=Clock.wall())
                self.store.settle(lease, known.closed(Clock.wall()))
                self.store.release(lease)
            except StoreError as error:
                logger.warning("%s: that the caller was told of an earlier call is not written down", error)


def _output(row: Row, name: str) -> str:
    if row.state in (RowState.SUCCEEDED, RowState.FAILED):
        return row.output
    return row.output or unknown_outcome(name)


async def earlier_calls(store: Store, caller: str, window: float) -> EarlierCalls:
    """What is open of a caller, within so many seconds. Raises `StoreError`."""
    found = await store.rows(caller=caller, since=Clock.wall() - window)
    rows = [(info, row) for info, row in reversed(found) if _is_open(info, row)]
    return EarlierCalls(store, tuple(rows[-_MOST:]))


def _is_open(info: CallInfo, row: Row) -> bool:
    """What a tool does within itself it tells by itself, and a call that goes on its own."""
    return row.is_open and row.state is not RowState.INTENDED and "within" not in row.extra and not info.is_held


class Telling(Observer):
    """Of one call: `told()` runs once, when a reply of a model was heard."""

    def __init__(
        self,
        mark: str,
        told: Callable[[], Coroutine[Any, Any, None]],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
    ) -> None:
        self._mark = mark
        self._told = told
        self._spawn = spawn
        self._replies: set[str] | None = set()
        """Ids of what models wrote in this call; None: it is told."""

    def command(self, at: float, command: Command) -> None:
        if self._replies is None:
            return
        match command:
            case Generate() | Adopt():
                self._replies.add(message_id(command.segment, self._mark))
            case Record(item=ChatMessage(id=heard)) if heard in self._replies:
                self._replies = None
                self._spawn(self._told(), "store: the caller was told of earlier calls")


def first_of(agents: Sequence[Agent] | Callable[[str], Agent | None]) -> Agent | None:
    """The agent that a new call begins with."""
    return next(iter(agents), None) if not callable(agents) else agents("")
