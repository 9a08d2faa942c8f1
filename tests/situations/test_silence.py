"""Nobody waits in silence, and nobody is told to wait without need."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from antiphon import Agent, AgentOutputTranscribedEvent, RunContext, function_tool
from antiphon.llm import ChatRequest
from antiphon.options import Fillers
from antiphon.testing import FakeTurnDetector, Reply, SimulatedCall, Sound, Utterance, now, run_virtual
from tests.situations.calls import (
    FRAME,
    PACE,
    REACTION,
    TTFB,
    TTFT,
    Lookup,
    calling,
    longest_silence,
    model,
    reaction,
    said,
)
from tests.situations.figures import measured

BUDGET = 1.5
TOLERANCE = 0.1
GRACE = 1.0
LINES = Fillers()

LOOK = Reply(calls=[("look", {})])
LADDER = (*LINES.short, *LINES.long, *LINES.progress, LINES.offer)


ANSWER = "Two tables are free."


@dataclass
class Wait:
    """A caller who asked for something that takes its time, and waited."""

    call: SimulatedCall
    asked: Utterance
    heard: list[str]
    """What the agent was heard to say, whole or in part; of fillers only the offer is in the history."""

    @property
    def fillers(self) -> list[str]:
        return self.heard[:-1]


async def waiting(lookup: Lookup, *, ttft: float = TTFT) -> Wait:
    """Ask, and wait for the answer."""
    heard: list[str] = []
    async with calling(model([LOOK, Reply(ANSWER, ttft=ttft)])) as call:

        @call.session.on("agent_output_transcribed")
        def note(event: AgentOutputTranscribedEvent) -> None:
            if event.is_final and event.transcript:
                heard.append(event.transcript)

        await call.start(Agent(tools=[lookup.tool]))
        asked = await call.caller.says("find me a table")
        await call.settled()
    offers = [line for line in heard[:-1] if Fillers().offer.startswith(line)]
    assert heard[-1] == ANSWER and said(call.session) == [asked.text, *offers, ANSWER]
    return Wait(call, asked, heard)


@pytest.mark.parametrize("seconds", [0.5, 2.0, 5.0, 12.0, 25.0])
def test_the_line_is_never_silent_for_longer_than_the_budget_while_a_tool_runs(seconds: float) -> None:
    async def main() -> None:
        wait = await waiting(Lookup(seconds, effect="reads"))
        line = wait.call.timeline
        row = "silence budget while a tool runs"
        *before, last = line.silences([Sound(wait.asked.end, line.agent[-1].end)])
        longest = max((silence.duration for silence in before), default=0.0)
        measured(row, "longest silence before the result", longest, at_most=BUDGET + TOLERANCE)
        measured(row, "silence before the reply to it", last.duration, at_most=BUDGET + TOLERANCE + GRACE)
        assert bool(wait.fillers) == (seconds > 1.0)
        assert wait.fillers[:1] in ([], ["One moment."])
        assert all(filler in LADDER for filler in wait.fillers[:-1])
        assert all(any(whole.startswith(filler) for whole in LADDER) for filler in wait.fillers)  # the last may be cut
        offers = [filler for filler in wait.fillers if LINES.offer.startswith(filler)]
        assert len(offers) == (seconds > LINES.offer_after)

    run_virtual(main())


def test_a_tool_s_own_filler_is_said_first() -> None:
    async def main() -> None:
        wait = await waiting(Lookup(5.0, effect="reads", filler="Let me look into the book."))
        assert wait.fillers[0] == "Let me look into the book." and wait.fillers[1] in LINES.progress

    run_virtual(main())


@pytest.mark.parametrize("before_it_is_due", [0.01, 0.3])
@pytest.mark.parametrize("ttft", [TTFT, 0.8])
def test_a_result_that_is_in_beats_a_filler_that_is_due(before_it_is_due: float, ttft: float) -> None:
    async def main() -> None:
        wait = await waiting(Lookup(BUDGET - 0.55 - TTFT - before_it_is_due), ttft=ttft)
        assert wait.fillers == []
        row = "a result that is in beats a filler that is due"
        measured(row, "silence before the reply", reaction(wait.call, wait.asked), at_most=BUDGET + TOLERANCE + GRACE)

    run_virtual(main())


@pytest.mark.parametrize("after_it_began", [0.05, 0.2, 0.4, 0.6, 1.0])
def test_a_filler_ends_at_a_word_when_the_reply_can_be_heard(after_it_began: float) -> None:
    line = "One moment please, I am looking into the big book now."

    async def main() -> None:
        lookup = Lookup(BUDGET - 0.55 - TTFT + after_it_began, effect="reads", filler=line)
        wait = await waiting(lookup)
        (filler,) = wait.fillers
        assert line.startswith(filler) and line[len(filler)] in " ,"
        reply = wait.call.timeline.agent[-1].end - len(ANSWER) * PACE
        row = "a filler ends at a word for the reply"
        ready = lookup.at("ended") + TTFT + TTFB
        measured(row, "reply that could be heard to its first sound", reply - ready, at_most=0.6)

    run_virtual(main())


def test_a_slow_model_is_bridged() -> None:
    async def main() -> None:
        async with calling(model([Reply("Two tables are free.", ttft=4.0)])) as call:
            await call.start(Agent())
            asked = await call.caller.says("find me a table")
            await call.settled()
        measured("slow model", "longest silence", longest_silence(call, asked.end), at_most=BUDGET + TOLERANCE)
        assert said(call.session) == ["find me a table", "Two tables are free."]

    run_virtual(main())


def test_nothing_is_said_while_nothing_is_owed() -> None:
    @function_tool
    async def work(ctx: RunContext[Any]) -> str:
        """Work."""
        await ctx.update("It is under way.")
        await asyncio.sleep(20.0)
        return "done"

    async def main() -> None:
        llm = model([Reply(calls=[("work", {})]), "I am on it.", "It is done."])
        async with calling(llm) as call:
            await call.start(Agent(tools=[work]))
            await call.caller.says("get it done please")
            await asyncio.sleep(10.0)
            await call.caller.coughs()
            await asyncio.sleep(15.0)
            await call.settled()
        assert len(call.timeline.agent) == 2  # the two replies, and no filler in between

    run_virtual(main())


# -- preemptive generation


async def answered(*, preemptive: bool) -> tuple[SimulatedCall, Any, list[float]]:
    began: list[float] = []

    @function_tool
    async def look() -> str:
        """Look."""
        began.append(now())
        return "two"

    llm = model([Reply("I am looking.", [("look", {})], ttft=0.3), "Two tables are free."])
    async with SimulatedCall(llm, turn_handling={"preemptive_generation": {"enabled": preemptive}}) as call:
        await call.start(Agent(tools=[look]))
        asked = await call.caller.says("find me a table")
        await call.settled()
    return call, asked, began


def test_a_reply_made_ahead_is_heard_sooner_and_its_tools_wait_for_the_end_of_the_turn() -> None:
    async def main() -> None:
        plain, asked, _ = await answered(preemptive=False)
        usual = reaction(plain, asked)
        call, asked, began = await answered(preemptive=True)
        row = "preemptive generation"
        assert said(call.session) == said(plain.session)
        understood = 0.2 + 0.1  # the detector, and the recogniser
        soonest = max(0.55, understood + 0.3 + TTFB)
        what = "end of the turn to the answer of a model that takes 300 ms"
        measured(row, what, reaction(call, asked), at_most=soonest + 2 * FRAME)
        measured(row, "the same with it switched off", usual, at_most=0.55 + 0.3 + TTFB + 2 * FRAME)
        measured(row, "tool before the end of the turn", max(0.0, asked.end + 0.55 - began[0]), at_most=0.0)

    run_virtual(main())


def test_a_reply_made_ahead_leaves_no_trace_when_the_caller_goes_on() -> None:
    async def main() -> None:
        llm = model(lambda request: f"For {count_words(request)} words.")
        async with SimulatedCall(llm, turn_handling={"preemptive_generation": {"enabled": True}}) as call:
            await call.start(Agent())
            asked = await call.caller.says("I need a table", 0.5, "for two")
            await call.settled()
        assert said(call.session) == ["I need a table for two", "For 6 words."]
        assert len(llm.requests) == 2 and len(call.timeline.agent) == 1
        row = "preemptive generation, the caller goes on"
        measured(row, "end of the turn to the answer", reaction(call, asked), at_most=REACTION)

    run_virtual(main())


def count_words(request: ChatRequest) -> int:
    return len((request.chat_ctx.messages()[-1].text_content or "").split())


def test_every_silence_of_an_unfinished_turn_is_within_the_budget() -> None:
    """Endpointing counts: an end of turn that takes 1.4 s leaves 0.1 s of the budget for the model."""

    async def main() -> None:
        unsure = FakeTurnDetector(0.1)
        async with calling(model([Reply("Go on.", ttft=0.6)]), turn_detector=unsure) as call:
            await call.start(Agent())
            asked = await call.caller.says("find me a table and")
            await call.settled()
        row = "unfinished turn, 1.4 s of endpointing, model 600 ms"
        silences = call.timeline.silences([Sound(asked.end, call.timeline.agent[-1].end)])
        measured(row, "longest silence", max(s.duration for s in silences), at_most=BUDGET + TOLERANCE)
        assert said(call.session)[-1] == "Go on."

    run_virtual(main())
