"""Runs the hooks of agents: `on_enter`, `on_exit`, `on_user_turn_completed`, and the toolsets that live between them.

A hook that the agent does not override costs nothing: it has returned before it began. What a hook raises is logged and
told as an error event, and the conversation goes on.
"""

from __future__ import annotations

import asyncio
import logging

from antiphon.chat import ChatContext, ChatItem, ChatMessage
from antiphon.core.commands import RunHook
from antiphon.core.facts import HookReturned
from antiphon.errors import AntiphonError, pass_on
from antiphon.runtime.host import Agents, Events, Tools
from antiphon.runtime.port import Port
from antiphon.runtime.realtime import Realtime
from antiphon.runtime.requests import Requests
from antiphon.runtime.scope import HookScope, current
from antiphon.tools.function import StopResponse

logger = logging.getLogger("antiphon")


class Hooks:
    """Performs `RunHook`."""

    def __init__(
        self, port: Port, agents: Agents, tools: Tools, events: Events, requests: Requests, realtime: Realtime
    ) -> None:
        self._port = port
        self._agents = agents
        self._tools = tools
        self._events = events
        self._requests = requests
        self._realtime = realtime
        self._running: dict[int, RunHook] = {}

    def run(self, command: RunHook) -> None:
        """Run a hook; it closes with `HookReturned`, at once if there is nothing to run."""
        ready = self._tools.setup_toolsets(command.agent) if command.kind == "on_enter" else None
        agent = self._agents.agent(command.agent)
        name = agent.hook(command.kind)
        if name in agent.overridden:
            self._running[command.hook] = command
            self._port.spawn(self._run(command, name, ready), f"{name} of {command.agent}")
            return
        self._returned(command, HookReturned(command.hook))

    def overdue(self, hook: int) -> None:
        """The call goes on without it. Nothing waits for `on_enter`, which may talk for as long as it likes."""
        command = self._running.get(hook)
        if command is None or command.kind == "on_enter":
            return
        error = AntiphonError(
            f"{command.kind} of agent {command.agent!r} did not return in time, and the call goes on without it."
            f" It has {self._port.options.hook_timeout:g} s, and less when the call ends: have it do less, or start a"
            " task for what takes long."
        )
        logger.warning("%s", error)
        self._events.failed(error, self._agents.agent(command.agent))

    async def _run(self, command: RunHook, name: str, ready: asyncio.Future[None] | None) -> None:
        current.set(HookScope(self._port, command.agent, command.kind))
        outcome = HookReturned(command.hook)
        try:
            if ready is not None:
                await asyncio.shield(ready)
            outcome = await self._call(command, name)
        except BaseException as error:
            pass_on(error)
            logger.exception("%s of agent %r raised", name, command.agent)
            self._events.failed(error, self._agents.agent(command.agent))
        finally:
            self._returned(command, outcome)

    def _returned(self, command: RunHook, outcome: HookReturned) -> None:
        self._running.pop(command.hook, None)
        if command.kind == "on_exit":
            self._tools.close_toolsets(command.agent)
        self._port.report(outcome)

    async def _call(self, command: RunHook, name: str) -> HookReturned:
        agent = self._agents.agent(command.agent)
        if name == "on_enter":
            await agent.on_enter()
        elif name == "on_resume":
            await agent.on_resume()
        elif name == "on_exit":
            await agent.on_exit()
        else:
            return await self._turn_completed(command)
        return HookReturned(command.hook)

    async def _turn_completed(self, command: RunHook) -> HookReturned:
        agent = self._agents.agent(command.agent)
        before = agent.context_items()
        turn_ctx = ChatContext(before)
        words = command.text
        if not words and command.heard_as is not None:
            words = await self._realtime.words_of(command.heard_as)
        message = ChatMessage(role="user", content=[words])
        try:
            await agent.on_user_turn_completed(turn_ctx, message)
        except StopResponse:
            return HookReturned(command.hook, veto=True)
        added = _added(before, turn_ctx.items)
        if added:
            self._requests.add_for_turn(command.agent, added)
        text = message.text_content or ""
        return HookReturned(command.hook, text=None if text == words else text, context_changed=bool(added))


def _added(before: list[ChatItem], after: list[ChatItem]) -> list[ChatItem]:
    known = {id(item) for item in before}
    return [item for item in after if id(item) not in known]
