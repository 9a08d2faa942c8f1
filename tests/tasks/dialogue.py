"""Dialogues with the ready tasks: the table entry, and how to hold one with a scripted model or with the stand-in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from antiphon import Agent, AgentSession, ToolError
from antiphon.chat import ChatMessage
from antiphon.llm import LLM, ChatRequest
from antiphon.tasks import CaptureTask
from antiphon.testing import FakeLLM, Reply, transcript
from antiphon_standin import StandInLLM

NOON = dt.datetime(2026, 11, 21, 12, 0)

Action: TypeAlias = str | Mapping[str, str] | Literal["confirm", "decline"]
"""What the model does with a turn: the words it puts into the update tool, all its arguments, or another tool.

"": it is not asked.
"""


@dataclass(frozen=True)
class Dialogue:
    """What a caller says, what a good model does with each turn, and what comes of it."""

    about: str
    turns: Sequence[tuple[str, Action]]
    result: object
    """What the task returns; None: the caller declined."""
    make: Callable[[], CaptureTask[Any]] | None = None
    """Another task than the table's."""


@dataclass(frozen=True)
class Ended:
    """What came of a dialogue."""

    result: object
    """None: the caller declined; `...`: it did not end."""
    lines: list[str]


class Host(Agent):
    """Awaits one task, and keeps what comes of it."""

    def __init__(self, task: CaptureTask[Any]) -> None:
        super().__init__(instructions="Find out one thing.")
        self.task = task
        self.result: object = ...

    async def on_enter(self) -> None:
        try:
            self.result = await self.task
        except ToolError:
            self.result = None
        self.session.say("Thank you.")


def scripted(task: CaptureTask[Any], turns: Sequence[tuple[str, Action]]) -> FakeLLM:
    """A model that does with each turn what the table says, and apologises for errors."""
    tool = task.words.tool
    actions = iter([action for _, action in turns if action])
    argument = next(iter(_update(task).spec.parameters["properties"]))

    def answer(request: ChatRequest) -> Reply:
        last = request.chat_ctx.items[-1]
        if not isinstance(last, ChatMessage) or last.role != "user":
            return Reply("Sorry, could you say that again?")
        action = next(actions)
        if action in ("confirm", "decline"):
            return Reply(calls=[(f"{action}_{tool}", {})])
        return Reply(calls=[(f"update_{tool}", {argument: action} if isinstance(action, str) else action)])

    return FakeLLM(answer)


def stand_in() -> LLM:
    return StandInLLM(now=lambda: NOON)


def _update(task: CaptureTask[Any]) -> Any:
    return next(tool for tool in task.tools if tool.id.startswith("update_"))


async def hold(task: CaptureTask[Any], llm: LLM, words: Sequence[str], **options: Any) -> Ended:
    """The caller says `words`, turn by turn, until the task has ended. `options` are the session's."""
    host = Host(task)
    async with AgentSession[Any](llm=llm, **options) as session:
        await session.start(host)
        await session.wait_for_idle()
        for text in words:
            if host.result is not ...:
                break
            await session.run(user_input=text)
        return Ended(host.result, transcript(session.history))
