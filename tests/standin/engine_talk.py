"""Talks with the engine without a session: feeds the history, plays the tools with plain functions."""

from __future__ import annotations

import asyncio
import datetime as dt
import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.chat import INSTRUCTIONS_ID, ChatContext, FunctionCall, FunctionCallOutput
from antiphon.llm import CollectedResponse
from antiphon.options import NOT_GIVEN, NotGivenOr, ToolChoice
from antiphon.tools.function import FunctionTool, ToolError
from antiphon_standin import StandInLLM

SATURDAY = dt.datetime(2026, 11, 21, 12, 0)
"""The day on which all test conversations take place: the Tuesday after it is November 24."""


@dataclass
class Turn:
    """What the engine did in answer to one utterance."""

    said: str
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


class Talk:
    """A conversation with an agent made of instructions and tools. Tools may speak: `talk.tool_says(text)`."""

    def __init__(self, tools: Sequence[FunctionTool[Any]], instructions: str = "", now: dt.datetime = SATURDAY) -> None:
        self.tools = list(tools)
        self.llm = StandInLLM(now=lambda: now)
        self.ctx = ChatContext.empty()
        if instructions:
            self.ctx.add_message(role="system", content=instructions, id=INSTRUCTIONS_ID)

    def tool_says(self, text: str) -> None:
        """Speech that a tool makes while it runs: it stands before the call in the history."""
        self.ctx.add_message(role="assistant", content=text)

    def ask(self, *, tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN) -> CollectedResponse:
        """One request, as it stands."""

        async def run() -> CollectedResponse:
            return await self.llm.chat(chat_ctx=self.ctx, tools=self.tools, tool_choice=tool_choice).collect()

        return asyncio.run(run())

    def say(self, text: str) -> Turn:
        """The caller's turn; runs calls until the engine speaks."""
        self.ctx.add_message(role="user", content=text)
        return self.go_on()

    def go_on(self) -> Turn:
        """Requests and tool runs until the engine speaks."""
        turn = Turn("")
        for _ in range(4):
            response = self.ask()
            for call in response.tool_calls:
                arguments = json.loads(call.arguments)
                turn.calls.append((call.name, arguments))
                output, failed = self._run(call.name, arguments)
                self.ctx.append(FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments))
                self.ctx.append(
                    FunctionCallOutput(call_id=call.call_id, name=call.name, output=output, is_error=failed)
                )
            if response.text:
                turn.said = response.text
                self.ctx.add_message(role="assistant", content=response.text)
            if not response.tool_calls:
                break
        return turn

    def _run(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        tool = next(t for t in self.tools if t.id == name)
        try:
            result = tool.function(**arguments)
            if inspect.isawaitable(result):
                result = asyncio.run(_wait(result))
        except ToolError as error:
            return error.message, True
        return (result if isinstance(result, str) else json.dumps(result)), False


async def _wait(awaitable: Any) -> Any:
    return await awaitable
