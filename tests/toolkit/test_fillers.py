"""Lines that a tool has said while it works."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, RunContext, SaidAsideEvent, SpeechHandle, UsageError, function_tool
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from tests.calls import VoiceCall, converse

CALL = Reply(calls=[("work", {})])


async def captioned(call: VoiceCall, agent: Agent) -> list[str]:
    """Begin the call. What is heard of each line ends up in the list."""
    lines: list[str] = []

    def on_words(event: Any) -> None:
        if event.is_final and event.transcript:
            lines.append(event.transcript)

    call.session.on("agent_output_transcribed", on_words)
    await call.begin(agent)
    return lines


def working(seconds: float, **how: Any) -> Agent:
    @function_tool
    async def work(ctx: RunContext) -> str:
        """Work."""
        async with ctx.with_filler(how.pop("source", "Let me look."), **how):
            await asyncio.sleep(seconds)
        return "done"

    return Agent(tools=[work])


def test_a_line_is_said_while_the_block_runs_and_stays_out_of_the_history() -> None:
    async def main() -> None:
        async with VoiceCall(FakeLLM([CALL, "It is done."]), [], max_silence=None) as call:
            lines = await captioned(call, working(3.0))
            asides: list[SaidAsideEvent] = []
            call.session.on("said_aside", asides.append)
            await call.session.generate_reply(user_input="go")
            assert lines == ["Let me look.", "It is done."]
            assert [aside.text for aside in asides] == ["Let me look."]
            assert "Let me look." not in " ".join(transcript(call.session.history))

    run_virtual(main())


def test_a_block_that_ends_before_the_delay_is_over_says_nothing() -> None:
    async def main() -> None:
        async with VoiceCall(FakeLLM([CALL, "It is done."]), [], max_silence=None) as call:
            lines = await captioned(call, working(0.8, delay=1.0))
            await call.session.generate_reply(user_input="go")
            assert lines == ["It is done."]

    run_virtual(main())


def test_lines_come_again_every_interval_until_the_steps_are_used_up() -> None:
    async def main() -> None:
        async with VoiceCall(FakeLLM([CALL, "It is done."]), [], max_silence=None) as call:
            agent = working(20.0, source=lambda step: f"Line {step}.", delay=1.0, interval=2.0, max_steps=3)
            lines = await captioned(call, agent)
            await call.session.generate_reply(user_input="go")
            assert lines == ["Line 0.", "Line 1.", "Line 2.", "It is done."]

    run_virtual(main())


def test_a_line_that_still_sounds_ends_at_a_word_when_the_answer_can_be_heard() -> None:
    async def main() -> None:
        async with VoiceCall(FakeLLM([CALL, "It is done."]), [], max_silence=None) as call:
            long = "Let me look that up for you in the big book of all appointments that we ever made."
            lines = await captioned(call, working(1.0, source=long))
            await call.session.generate_reply(user_input="go")
            assert lines[1] == "It is done."
            assert long.startswith(lines[0])
            assert lines[0] != long

    run_virtual(main())


def test_a_source_may_speak_by_itself_or_say_nothing() -> None:
    async def main() -> None:
        async with VoiceCall(FakeLLM([CALL, "It is done."]), [], max_silence=None) as call:

            def source(step: int) -> SpeechHandle | None:
                return None if step else call.session.say("I begin.", add_to_chat_ctx=False)

            lines = await captioned(call, working(6.0, source=source, interval=1.0, max_steps=3))
            await call.session.generate_reply(user_input="go")
            assert lines == ["I begin.", "It is done."]

    run_virtual(main())


def test_the_silence_budget_and_a_tools_own_lines_do_not_talk_over_one_another() -> None:
    async def main() -> None:
        async with VoiceCall(FakeLLM([CALL, "It is done."]), []) as call:
            lines = await captioned(call, working(6.0, source="Looking.", interval=1.0))
            await call.session.generate_reply(user_input="go")
            assert set(lines[:-1]) == {"Looking."}
            assert len(lines) >= 4

    run_virtual(main())


def test_in_text_nothing_is_said() -> None:
    async def main() -> None:
        session = await converse(working(3.0), "go", llm=FakeLLM([CALL, "It is done."]))
        assert transcript(session.history) == [
            "user: go",
            "call work({})",
            "output work: done",
            "assistant: It is done.",
        ]

    run_virtual(main())


def test_times_that_make_no_sense_are_refused() -> None:
    async def main() -> None:
        refused: list[str] = []

        @function_tool
        async def work(ctx: RunContext) -> str:
            """Work."""
            with pytest.raises(UsageError) as caught:
                ctx.with_filler("One moment.", interval=0.0)
            refused.append(str(caught.value))
            return "done"

        await converse(Agent(tools=[work]), "go", llm=FakeLLM([CALL, "It is done."]))
        assert "interval" in refused[0]

    run_virtual(main())
