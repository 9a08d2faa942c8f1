"""Asks models for responses, and has texts said: one task for each.

Above: the driver. Below: what is asked (`requests`), what comes (`responses`), the agent's `llm_node`, and the links to
models that hear and speak (`realtime`). A text that the application or the core gives (`Speak`) goes the same way,
without a model.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from functools import partial
from typing import Any

from antiphon.chat import ChatContext
from antiphon.core.commands import Adopt, Discard, Generate, Release, Speak
from antiphon.llm import watching
from antiphon.runtime.host import Agents, Speeches
from antiphon.runtime.playout import Playout
from antiphon.runtime.realtime import Realtime
from antiphon.runtime.requests import Requests
from antiphon.runtime.responses import Response, Responses
from antiphon.runtime.tool_calls import ToolCalls


class Generation:
    """Performs `Generate`, `Adopt`, `Speak`, `Release`, `Discard` and `StopGenerating`."""

    def __init__(
        self,
        agents: Agents,
        speeches: Speeches,
        requests: Requests,
        responses: Responses,
        calls: ToolCalls,
        playout: Playout,
        realtime: Realtime,
    ) -> None:
        self._agents = agents
        self._speeches = speeches
        self._requests = requests
        self._responses = responses
        self._calls = calls
        self._playout = playout
        self._realtime = realtime
        self._ahead: dict[int, Generate | Speak] = {}
        """By generation: what is made ahead. Nobody outside is told of it before `Release`."""

    def generate(self, command: Generate) -> None:
        """Ask the model; closes with `StepGenerated` or `GenerationFailed`."""
        if command.ahead:
            self._ahead[command.gen] = command
            if self._responses.scrutiny is not None:
                self._responses.scrutiny.made_ahead(command.gen)
        else:
            self._speeches.generating(command)
        link = self._realtime.link(command.agent)
        response = self._response(command, [] if link is None else self._requests.tools(command))
        if link is not None:
            self._responses.asked(response)
            link.generate(response, command, self._requests.news(command), self._requests.notes(command))
            return
        # Now, not when the task runs: what is open in this command may be in the agent's context by then.
        request = self._requests.context(command)
        self._responses.asked(response)
        response.made_by(partial(self._ask, response, command, request), f"reply {command.speech}")

    def adopt(self, command: Adopt) -> None:
        """Take what the model began unasked; closes like `generate`."""
        self._speeches.generating(command)
        tools = self._requests.tools_of_adopted(command.agent) if command.tools else []
        response = self._response(command, tools)
        self._responses.asked(response)
        self._realtime.adopt(response, command)

    def _response(self, command: Generate | Adopt, tools: list[Any]) -> Response:
        return Response(
            self._responses,
            command.gen,
            command.speech,
            command.segment,
            command.agent,
            tools=tools,
        )

    async def _ask(self, response: Response, command: Generate, request: ChatContext) -> None:
        while True:
            tools = self._requests.tools(command)
            self._requests.say_what_results_are(command, request.items, tools)
            self._requests.told(command, request, tools)
            watch = self._requests.watched(command)  # it lives as long as this task keeps it
            if watch is not None:
                watching.set(watch)
            try:
                settings = self._requests.settings(command)
                await response.consume(self._agents.agent(command.agent).llm_node(request, tools, settings), tools)
                break
            except Exception as error:
                if response.has_begun or not self._requests.ask_for_less(command, error, request, tools):
                    raise
            request = self._requests.context_again(command)  # the node may have changed the other one
        window = self._requests.window
        window.answered(command.agent, request.items, tools, response.usage)
        if not response.makes_calls:
            window.rests(command.agent)

    def speak(self, command: Speak) -> None:
        """Say a text without a model; closes with `StepGenerated`."""
        if command.ahead:
            self._ahead[command.gen] = command
            agent = self._agents.current_agent_id
        else:
            agent = self._speeches.speaking(command)
        audio: AsyncIterable[Any] | None = None
        source: str | AsyncIterable[str]
        if command.text is not None:
            source = command.text
        else:
            source, audio = self._speeches.say_source(command.speech)
        response = Response(
            self._responses,
            command.gen,
            command.speech,
            command.segment,
            agent,
            directly=command.directly,
            audio=audio,
        )
        link = self._realtime.link(agent) if audio is None and self._playout.is_mute(agent) else None
        if link is not None and isinstance(source, str):
            self._responses.open(response)
            link.say(response, source)
            return
        respells = audio is None and self._playout.respells(agent, directly=command.directly)
        if isinstance(source, str) and not respells:
            response.say(source)
            return
        self._responses.open(response)
        read: Callable[[], Awaitable[None]] | None = None
        if isinstance(source, str):
            response.write(source, whole=True)  # now: what a tool says stands before what it returns
        else:
            read = partial(response.read, source)
        response.made_by(read, f"say {command.speech}")

    def release(self, command: Release) -> None:
        """What was made ahead is wanted: those who watch hear of it now."""
        asked = self._ahead.pop(command.gen)
        if self._responses.scrutiny is not None:
            self._responses.scrutiny.wanted(command.gen)
        if isinstance(asked, Generate):
            self._speeches.generating(asked)
        else:
            self._speeches.speaking(asked)

    def discard(self, command: Discard) -> None:
        """What was made ahead is not wanted."""
        self._ahead.pop(command.gen, None)
        if self._responses.scrutiny is not None:
            self._responses.scrutiny.unwanted(command.gen)
        self.stop(command.gen)
        self.forget(command.speech)
        self._playout.forget(command.speech)

    def stop(self, gen: int) -> None:
        """Stop the model. What it made sound already is stopped by `StopPlayout`."""
        response = self._responses.over(gen)
        if response is None:
            return
        link = self._realtime.link(response.agent)
        if link is not None:
            link.stop(response)
        response.stop()

    def forget(self, speech: int) -> None:
        """The speech is over."""
        self._calls.forget(speech)
        self._responses.forget(speech)
        self._requests.forget(speech)
