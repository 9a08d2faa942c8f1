"""Pauses within a turn."""

from __future__ import annotations

import asyncio

from antiphon import Agent
from antiphon.testing import FakeTurnDetector, Reply, SimulatedCall, run_virtual
from tests.situations.calls import LONG, REACTION, calling, hush, lines, model, reaction, said
from tests.situations.figures import measured

UNFINISHED = FakeTurnDetector(lambda turn: 0.1 if turn.text.endswith("and") else 0.9)


def test_a_pause_of_0_8_s_in_an_unfinished_text_is_one_turn_and_the_agent_is_silent() -> None:
    async def main() -> None:
        llm = model(["A table and a high chair."])
        async with calling(llm, turn_detector=UNFINISHED) as call:
            await call.start(Agent())
            asked = await call.caller.says("I need a table and", 0.8, "a high chair")
            await call.settled()
        row = "pause of 0.8 s, text unfinished"
        assert lines(call.session) == ["user: I need a table and a high chair", "assistant: A table and a high chair."]
        assert len(llm.requests) == 1
        measured(row, "agent audible before the end of the turn", _sound_before(call, asked.end), at_most=0.0)
        measured(row, "answer after the end", reaction(call, asked), at_most=REACTION)

    run_virtual(main())


def _sound_before(call: SimulatedCall, time: float) -> float:
    return sum(max(0.0, min(sound.end, time) - sound.start) for sound in call.timeline.agent)


def test_when_the_caller_goes_on_after_0_8_s_a_begun_reply_stops_and_one_reply_answers_both_halves() -> None:
    async def main() -> None:
        llm = model([LONG, "A table for two, by the window."])
        async with calling(llm) as call:
            await call.start(Agent())
            first = await call.caller.says("I need a table for two")
            await asyncio.sleep(0.8)
            second = await call.caller.says("by the window please")
            await call.settled()
        row = "pause of 0.8 s, text complete, caller goes on"
        assert call.timeline.agent_begins(first.end) is not None  # it did begin to answer the first half
        measured(row, "begun reply audible after the caller goes on", hush(call, second), at_most=0.15)
        measured(row, "answer to both halves after the end", reaction(call, second), at_most=REACTION)
        assert said(call.session, "user") == ["I need a table for two", "by the window please"]
        assert [line for line in llm.histories[-1] if line.startswith("user")] == [
            "user: I need a table for two",
            "user: by the window please",
        ]
        assert said(call.session, "assistant")[-1] == "A table for two, by the window."
        assert llm.remaining == 0

    run_virtual(main())


def test_a_reply_that_was_not_heard_yet_leaves_no_trace_when_the_caller_goes_on() -> None:
    async def main() -> None:
        llm = model([Reply(LONG, ttft=0.4), "A table for two, by the window."])
        async with calling(llm) as call:
            await call.start(Agent())
            await call.caller.says("I need a table for two")
            await asyncio.sleep(0.8)
            second = await call.caller.says("by the window please")
            await call.settled()
        row = "pause of 0.8 s, text complete, caller goes on, slow model"
        assert call.timeline.agent_begins(0.0) == call.timeline.agent_begins(second.end)
        measured(row, "answer to both halves after the end", reaction(call, second), at_most=REACTION)
        assert said(call.session, "assistant") == ["A table for two, by the window."]
        assert llm.histories[-1] == ["user: I need a table for two", "user: by the window please"]

    run_virtual(main())
