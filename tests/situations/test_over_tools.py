"""The caller speaks while a tool runs, before it does, or while an agent hands over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, RunContext, function_tool
from antiphon.testing import FakeLLM, Reply, SimulatedCall, now, run_virtual
from antiphon.testing.fakes import Turn
from tests.situations.calls import (
    FRAME,
    LONG,
    PACE,
    REACTION,
    TTFB,
    TTFT,
    Lookup,
    calling,
    lines,
    model,
    on_the_frame,
    reaction,
    said,
    until,
    voiced,
)
from tests.situations.figures import measured

LOOK = Reply(calls=[("look", {"what": "tables"})])


async def usual_reaction() -> float:
    """How soon the caller is answered when nothing else goes on."""
    async with calling(model(["As you like."])) as call:
        await call.start(Agent())
        await until(on_the_frame(9.0))
        asked = await call.caller.says("never mind that now")
        await call.settled()
    return reaction(call, asked)


async def over_a_silent_tool(lookup: Lookup, llm: FakeLLM, words: str) -> tuple[SimulatedCall, float]:
    """Have the tool called, then speak over it. Returns the call, settled, and how much later the answer came."""
    usual = await usual_reaction()
    begin = now()
    async with calling(llm, max_silence=None) as call:
        await call.start(Agent(tools=[lookup.tool]))
        await call.caller.says("find me a table")
        await until(begin + on_the_frame(5.0))
        assert lookup.words == ["began"]
        spoken = await call.caller.says(words)
        await call.settled()
        await asyncio.sleep(15.0)
        await call.settled()
    return call, reaction(call, spoken) - usual


def test_a_barge_in_while_a_reading_tool_runs_is_answered_at_once_and_the_tool_is_cancelled() -> None:
    lookup = Lookup(12.0, effect="reads")

    async def main() -> None:
        call, extra = await over_a_silent_tool(lookup, model([LOOK, "As you like."]), "never mind that now")
        measured("barge-in while a 12 s `reads` tool runs silently", "later than without it", extra, at_most=0.0)
        assert lookup.words == ["began", "cancelled"]
        assert voiced(call.session, "tables") == 0
        assert lines(call.session) == ["user: find me a table", "user: never mind that now", "assistant: As you like."]

    run_virtual(main())


def test_a_barge_in_while_an_unsaid_tool_runs_is_answered_at_once_and_the_run_is_adopted_when_asked_again() -> None:
    lookup = Lookup(12.0)

    async def main() -> None:
        usual = await usual_reaction()
        llm = model([LOOK, "As you like.", LOOK, "Two tables are free."])
        begin = now()
        async with calling(llm, max_silence=None) as call:
            dropped: list[str] = []
            call.session.on("tool_dropped", lambda event: dropped.append(event.function_call.name))
            await call.start(Agent(tools=[lookup.tool]))
            await call.caller.says("find me a table")
            await until(begin + on_the_frame(5.0))
            spoken = await call.caller.says("never mind that now")
            await call.settled()
            assert dropped == ["look"] and not any("look" in line for line in llm.histories[1])
            await call.caller.says("do look for a table")
            await call.settled()
            await asyncio.sleep(15.0)
            await call.settled()
        row = "the same, unsaid tool"
        measured(row, "later than without it", reaction(call, spoken) - usual, at_most=0.0)
        answered = call.timeline.agent_begins(lookup.at("ended"))
        assert answered is not None
        measured(row, "result to its answer", answered - lookup.at("ended"), at_most=TTFT + TTFB + FRAME)
        assert lookup.words == ["began", "ended"]
        assert said(call.session, "assistant") == ["As you like.", "Two tables are free."]

    run_virtual(main())


def test_did_you_book_it_over_a_writing_tool_is_answered_at_once_and_the_result_is_voiced_once() -> None:
    lookup = Lookup(12.0, "booking 4711 confirmed", effect="writes")

    async def main() -> None:
        llm = model([LOOK, "I am still at it.", "Booking 4711 is confirmed."])
        call, extra = await over_a_silent_tool(lookup, llm, "did you book it")
        row = 'the same, `writes` tool, "did you book it?"'
        measured(row, "later than without it", extra, at_most=0.0)
        assert any("still running (started " in line for line in llm.histories[1])
        assert lookup.words == ["began", "ended"]
        assert voiced(call.session, "4711") == 1 and llm.remaining == 0
        told = call.timeline.agent_begins(lookup.at("ended"))
        assert told is not None
        measured(row, "result to its delivery", told - lookup.at("ended"), at_most=TTFT + TTFB + FRAME)

    run_virtual(main())


@pytest.mark.parametrize("takes", [0.2, 0.7, 1.6, 1.9, 2.05, 2.2, 3.0])
def test_a_tool_that_ends_while_the_words_before_it_play_is_answered_without_a_gap(takes: float) -> None:
    lookup = Lookup(takes)
    before = "Let me have a look at the tables."

    async def main() -> None:
        async with calling(model([Reply(before, LOOK.calls), "Two are free."])) as call:
            await call.start(Agent(tools=[lookup.tool]))
            asked = await call.caller.says("find me a table")
            await call.settled()
        start = call.timeline.agent_begins(asked.end)
        assert start is not None
        finished, ended = start + len(before) * PACE, lookup.at("ended")
        sounds = call.timeline.agent
        gap = sounds[1].start - max(sounds[0].end, ended) if len(sounds) > 1 else 0.0
        answer = TTFT + TTFB + FRAME / 2
        row = "tool ends while pre-tool speech plays"
        if finished >= ended + answer:
            measured(row, "gap with more speech left than the answer takes", gap, at_most=0.02)
        elif finished >= ended:
            left = finished - ended
            measured(row, f"gap with {1000 * left:.0f} ms of speech left", gap, at_most=max(0.02, answer - left))
        else:
            measured(row, "gap from the result, with none left", gap, at_most=answer)

    run_virtual(main())


@pytest.mark.parametrize("why", ["the model still writes", "a call before it runs"])
def test_a_barge_in_before_the_tool_started_keeps_it_from_starting(why: str) -> None:
    first, second = Lookup(6.0, effect="reads"), Lookup(1.0, effect="writes")

    async def main() -> None:
        slow = Reply(LONG, [("look", {})], tokens_per_second=3.0)
        both = Reply("One moment.", [("first", {}), ("look", {})])
        script: list[Turn] = [both, "As you like.", "Two tables are free."]
        llm = model([slow, "As you like."] if why == "the model still writes" else script)
        agent = Agent(tools=[renamed(first, "first"), second.tool])
        async with calling(llm, max_silence=None) as call:
            await call.start(agent)
            await call.caller.says("find me a table")
            await asyncio.sleep(3.0)
            spoken = await call.caller.says("never mind that now")
            await call.settled()
            await asyncio.sleep(40.0)
        measured("barge-in before the tool started", "answer after the end", reaction(call, spoken), at_most=REACTION)
        assert second.words == []
        assert "As you like." in said(call.session, "assistant") and llm.remaining == 0

    run_virtual(main())


def renamed(lookup: Lookup, name: str) -> Any:
    async def look() -> str:
        """Look something up."""
        return await lookup.run()

    return function_tool(look, name=name, effect="writes")


def test_what_the_caller_says_while_interruptions_are_disallowed_is_answered_by_one_reply_with_the_tool() -> None:
    async def main() -> None:
        call, llm, ended = await over_a_protected_tool()
        row = "caller speaks under `disallow_interruptions()`"
        assert said(call.session) == [
            "order a pizza",
            "I am ordering it for you now.",
            "with cheese please",
            "Ordered, and with cheese.",
        ]
        assert llm.histories[1][-2:] == ["output order: ordered", "user: with cheese please"]
        answered = call.timeline.agent_begins(ended)
        assert answered is not None
        measured(row, "result to the one reply", answered - ended, at_most=TTFT + TTFB + FRAME)

    run_virtual(main())


async def over_a_protected_tool() -> tuple[SimulatedCall, FakeLLM, float]:
    """A caller who speaks over the words before a tool that must not be interrupted, and when it ended."""
    ended: list[float] = []

    @function_tool
    async def order(ctx: RunContext[Any]) -> str:
        """Order."""
        ctx.disallow_interruptions()
        await asyncio.sleep(5.0)
        ended.append(now())
        return "ordered"

    llm = model([Reply("I am ordering it for you now.", [("order", {})]), "Ordered, and with cheese."])
    async with calling(llm, max_silence=None) as call:
        await call.start(Agent(tools=[order]))
        await call.caller.says("order a pizza")
        await asyncio.sleep(1.2)
        await call.caller.says("with cheese please")
        await call.settled()
    return call, llm, ended[0]


def test_what_plays_while_interruptions_are_disallowed_goes_on_while_the_caller_speaks() -> None:
    async def main() -> None:
        call, _, _ = await over_a_protected_tool()
        assert call.timeline.agent[0].duration == pytest.approx(len("I am ordering it for you now.") * PACE, abs=0.001)

    run_virtual(main())


@pytest.mark.parametrize("at", [0.9, 1.4, 2.0, 2.6])
def test_what_the_caller_says_during_a_hand_off_is_answered_by_the_next_agent(at: float) -> None:
    billing = Agent(instructions="Billing.", id="billing")

    @function_tool
    async def transfer() -> tuple[Agent, str]:
        """Transfer."""
        await asyncio.sleep(0.5)
        return billing, "say that billing takes over"

    async def main() -> None:
        def script(request: Any) -> Turn:
            asked = [item.text_content for item in request.chat_ctx.messages() if item.role == "user"]
            outputs = [item for item in request.chat_ctx.items if item.type == "function_call_output"]
            if call.session.current_agent is billing:
                return "Billing here, about your invoice." if "about my invoice" in asked else "Billing here."
            return "I am putting you through to our billing department." if outputs else Reply(calls=[("transfer", {})])

        call = calling(model(script))
        async with call:
            await call.start(Agent(tools=[transfer], instructions="Reception."))
            await call.caller.says("billing please")
            await asyncio.sleep(at)
            spoken = await call.caller.says("about my invoice")
            await call.settled()
        row = "caller speaks during a hand-off"
        assert call.session.current_agent is billing
        assert lines(call.session)[-1] == "assistant: Billing here, about your invoice."
        assert said(call.session).count("about my invoice") == 1
        measured(row, "answer after the end", reaction(call, spoken), at_most=REACTION + FRAME)

    run_virtual(main())
