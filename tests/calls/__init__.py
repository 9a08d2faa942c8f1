"""Whole calls for tests that need a session: in text, and by voice with a microphone and a loudspeaker."""

from __future__ import annotations

from typing import Any

from antiphon import Agent, AgentSession, FunctionCallOutput
from antiphon.llm import LLM
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD


def outputs(session: AgentSession[Any]) -> list[str]:
    """What the calls of the conversation returned, in the order of the history."""
    return [item.output for item in session.history.items if isinstance(item, FunctionCallOutput)]


async def converse(agent: Agent, *turns: str, llm: FakeLLM, **options: Any) -> AgentSession[Any]:
    """A call in text: one turn of the caller after the other, then the end."""
    async with AgentSession(llm=llm, **options) as session:
        await session.start(agent)
        for turn in turns:
            await session.run(user_input=turn)
    return session


class VoiceCall:
    """A call by voice. `heard` is what the recogniser makes of each utterance, "" of a noise."""

    def __init__(self, llm: LLM, heard: list[str], **options: Any) -> None:
        self.microphone = FakeMicrophone()
        self.speaker = FakeSpeaker()
        options.setdefault("tts", FakeTTS())
        self.session = AgentSession[Any](llm=llm, stt=FakeSTT(heard), vad=FakeVAD(), **options)

    async def __aenter__(self) -> VoiceCall:
        return self

    async def begin(self, agent: Agent) -> None:
        """Put the agent on the line."""
        await self.session.start(agent, input=self.microphone, output=self.speaker)

    async def __aexit__(self, *_: object) -> None:
        await self.session.aclose()
