"""Captions: what those who read along see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import pytest

from antiphon import Agent, AgentSession, ModelSettings
from antiphon.testing import FakeLLM, FakeSpeaker, FakeTTS, run_virtual


class Shouting(Agent):
    async def transcription_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        async def louder() -> AsyncIterator[str]:
            async for piece in text:
                yield piece.upper()

        return louder()


def captions_of(agent: Agent, *, by_voice: bool, cut_after: float | None = None) -> list[tuple[str, bool]]:
    async def main() -> list[tuple[str, bool]]:
        seen: list[tuple[str, bool]] = []
        session = AgentSession[Any](llm=FakeLLM(), tts=FakeTTS())
        session.on("agent_output_transcribed", lambda event: seen.append((event.transcript, event.is_final)))
        async with session:
            await session.start(agent, output=FakeSpeaker() if by_voice else None)
            handle = session.say("One two three four.")
            if cut_after is not None:
                await asyncio.sleep(cut_after)
                handle.interrupt()
            await handle
            assert session.history.messages()[0].text_content in ("One two three four.", "One two")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return seen

    return run_virtual(main())


@pytest.mark.parametrize("by_voice", [True, False])
def test_captions_are_worded_by_the_agents_own_node(by_voice: bool) -> None:
    seen = captions_of(Shouting(), by_voice=by_voice)
    assert seen[-1] == ("ONE TWO THREE FOUR.", True)
    assert [final for _, final in seen].count(True) == 1
    assert len(set(seen)) == len(seen)  # none is told again


def test_the_last_caption_of_a_cut_speech_shows_what_was_heard() -> None:
    assert captions_of(Agent(), by_voice=True, cut_after=0.5)[-1] == ("One two", True)
    assert captions_of(Shouting(), by_voice=True, cut_after=0.5)[-1] == ("ONE TWO", True)


def test_a_node_that_fails_silences_the_captions_only() -> None:
    class Broken(Agent):
        def transcription_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
            raise ValueError("oops")

    assert captions_of(Broken(), by_voice=True)[-1] == ("", True)
