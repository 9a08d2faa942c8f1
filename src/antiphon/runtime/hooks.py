"""Runs the hooks of agents: `on_enter`, `on_exit`, `on_user_turn_completed`, and the toolsets that live between them.

A hook that the agent does not override costs nothing: it has returned before it began. What a hook raises is logged and
told as an error event, and the conversation goes on.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.chat import ChatContext, ChatItem, ChatMessage
from antiphon.core.commands import HookKind, RunHook
from antiphon.core.facts import HookReturned
from antiphon.tools.function import StopResponse

if TYPE_CHECKING:
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.generation import Generation
    from antiphon.runtime.host import Host

logger = logging.getLogger("antiphon")


@dataclass(slots=True, frozen=True)
class HookScope:
    """The hook that the running code belongs to."""

    driver: Driver
    agent: str
    kind: HookKind


current_hook: ContextVar[HookScope | None] = ContextVar("antiphon_hook", default=None)


class Hooks:
    """Performs `RunHook`."""

    def __init__(self, driver: Driver, host: Host, generation: Generation) -> None:
        self._driver = driver
        self._host = host
        self._generation = generation

    def run(self, command: RunHook) -> None:
        """Run a hook; it closes with `HookReturned`, at once if there is nothing to run."""
        ready = self._host.setup_toolsets(command.agent) if command.kind == "on_enter" else None
        if command.kind in self._host.agent(command.agent).overridden:
            self._driver.spawn(self._run(command, ready), f"{command.kind} of {command.agent}")
            return
        self._returned(command, HookReturned(command.hook))

    async def _run(self, command: RunHook, ready: asyncio.Future[None] | None) -> None:
        current_hook.set(HookScope(self._driver, command.agent, command.kind))
        outcome = HookReturned(command.hook)
        try:
            if ready is not None:
                await asyncio.shield(ready)
            outcome = await self._call(command)
        except Exception as error:
            logger.exception("%s of agent %r raised", command.kind, command.agent)
            self._host.failed(error, self._host.agent(command.agent))
        finally:
            self._returned(command, outcome)

    def _returned(self, command: RunHook, outcome: HookReturned) -> None:
        if command.kind == "on_exit":
            self._host.close_toolsets(command.agent)
        self._driver.report(outcome)

    async def _call(self, command: RunHook) -> HookReturned:
        agent = self._host.agent(command.agent)
        if command.kind == "on_enter":
            await agent.on_enter()
        elif command.kind == "on_exit":
            await agent.on_exit()
        else:
            return await self._turn_completed(command)
        return HookReturned(command.hook)

    async def _turn_completed(self, command: RunHook) -> HookReturned:
        agent = self._host.agent(command.agent)
        before = agent.context_items()
        turn_ctx = ChatContext(before)
        words = command.text
        if not words and command.heard_as is not None:
            words = await self._driver.realtime.words_of(command.heard_as)
        message = ChatMessage(role="user", content=[words])
        try:
            await agent.on_user_turn_completed(turn_ctx, message)
        except StopResponse:
            return HookReturned(command.hook, veto=True)
        added = _added(before, turn_ctx.items)
        if added:
            self._generation.add_for_turn(command.agent, added)
        text = message.text_content or ""
        return HookReturned(command.hook, text=None if text == words else text, context_changed=bool(added))


def _added(before: list[ChatItem], after: list[ChatItem]) -> list[ChatItem]:
    known = {id(item) for item in before}
    return [item for item in after if id(item) not in known]
