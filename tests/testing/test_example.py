"""How the kit is meant to be used: a whole agent, in text and on the line, in virtual time."""

from __future__ import annotations

import asyncio

from antiphon import Agent, AgentSession, function_tool
from antiphon.testing import (
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    FakeVAD,
    Reply,
    run_virtual,
    silence,
    speech,
    transcript,
    wait_until,
)


class Host(Agent):
    """Books tables."""

    def __init__(self) -> None:
        super().__init__(instructions="You book tables.")
        self.booked: list[str] = []

    @function_tool
    async def book(self, day: str) -> str:
        """Book a table.

        Args:
            day: The day of the week.
        """
        self.booked.append(day)
        return f"Booked for {day}"


def test_a_typed_turn_books_once_and_answers_from_the_result() -> None:
    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("book", {"day": "Tuesday"})]), "Your table is booked."])
        host = Host()
        session: AgentSession[None] = AgentSession(llm=llm)
        await session.start(agent=host)
        await session.run(user_input="A table on Tuesday, please")
        await session.aclose()
        assert host.booked == ["Tuesday"]
        assert transcript(session.history) == [
            "user: A table on Tuesday, please",
            'call book({"day": "Tuesday"})',
            "output book: Booked for Tuesday",
            "assistant: Your table is booked.",
        ]
        instructions, *items = llm.histories[1]
        assert instructions.startswith("system: You book tables.")
        assert items == transcript(session.history)[:-1]
        assert llm.remaining == 0

    run_virtual(call())


def test_an_interrupted_agent_remembers_what_was_heard() -> None:
    async def call() -> None:
        llm = FakeLLM(["We have a lovely table by the window on Tuesday.", "Sure, take your time."])
        microphone, speaker = FakeMicrophone([silence(0.5), speech(1.0)]), FakeSpeaker()
        session: AgentSession[None] = AgentSession(
            llm=llm,
            stt=FakeSTT(["Do you have a table?", "Wait a moment"]),
            tts=FakeTTS(seconds_per_character=0.1),
            vad=FakeVAD(),
        )
        await session.start(agent=Host(), input=microphone, output=speaker)
        await microphone.finished()
        await wait_until(lambda: speaker.sounds)
        await asyncio.sleep(1.5)  # "We have a lovel"
        await microphone.speak(0.8)
        await asyncio.sleep(1.0)
        await session.wait_for_idle()
        await session.aclose()
        assert transcript(session.history) == [
            "user: Do you have a table?",
            "assistant: We have a lovely [cut]",
            "user: Wait a moment",
            "assistant: Sure, take your time.",
        ]
        cut, answer = speaker.sounds
        assert cut.end - microphone.sounds[1].start < 0.1
        assert answer.start > microphone.sounds[1].end

    run_virtual(call(), timeout=60)
