"""A model, a voice or a recogniser dies or stalls; a tool hangs; a model does not obey."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest

from antiphon import Agent
from antiphon.adapters.fallback import FallbackLLM, FallbackSTT, FallbackTTS
from antiphon.errors import ProviderError
from antiphon.testing import Caller, CallerSTT, Fail, FakeTTS, Fault, Hang, Reply, now, run_virtual
from antiphon.testing.caller import RATE
from antiphon.testing.fakes import Turn
from antiphon.tts import SynthesizedAudio
from tests.situations.calls import (
    FRAME,
    REACTION,
    TTFB,
    TTFT,
    Lookup,
    calling,
    lines,
    longest_silence,
    model,
    reaction,
    said,
)
from tests.situations.figures import measured

SORRY = "I'm sorry, something went wrong on my side. Could you say that again?"
LOST = ProviderError("connection lost")

ROW = "LLM, TTS or STT dies or stalls mid-turn"


class BrokenTTS(FakeTTS):
    """A voice that breaks once, after `after` seconds of sound: it raises, or gives nothing more."""

    def __init__(self, kind: Literal["dies", "stalls"], after: float) -> None:
        super().__init__(sample_rate=RATE)
        self.kind = kind
        self.after = after
        self.broke_at: float | None = None

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        given = 0.0
        async for audio in super().synthesize(text):
            if self.broke_at is None and given >= self.after:
                self.broke_at = now()
                if self.kind == "stalls":
                    await asyncio.get_running_loop().create_future()
                raise LOST
            given += audio.frame.duration
            yield audio


# -- the model


@pytest.mark.parametrize("text", ["", "Let me see what there"])
def test_a_model_that_dies_is_followed_by_a_spoken_apology(text: str) -> None:
    async def main() -> None:
        failed: list[float] = []
        async with calling(model([Fail(LOST, text=text)])) as call:
            call.session.on("error", lambda _: failed.append(now()))
            await call.start(Agent())
            await call.caller.says("find me a table")
            await call.settled()
        assert said(call.session)[-1] == SORRY
        measured(ROW, "the LLM dies, to the apology", longest_silence(call, failed[0]), at_most=2.0)

    run_virtual(main())


@pytest.mark.parametrize("turn", [Hang(), Hang("Let me see what there")])
def test_a_model_that_stalls_is_followed_by_a_spoken_apology(turn: Turn) -> None:
    async def main() -> None:
        failed: list[float] = []
        async with calling(model([turn])) as call:
            call.session.on("error", lambda _: failed.append(now()))
            await call.start(Agent())
            await call.caller.says("find me a table")
            await call.settled()
        assert said(call.session)[-1] == SORRY
        what = "the LLM stalls, from its deadline to the apology"
        measured(ROW, what, longest_silence(call, failed[0]), at_most=2.0)

    run_virtual(main())


@pytest.mark.parametrize("turn", [Fail(LOST), Hang()])
def test_the_next_model_answers_when_one_fails(turn: Turn) -> None:
    async def main() -> None:
        llm = FallbackLLM([model([turn]), model(["Two are free."])], attempt_timeout=1.0)
        async with calling(llm) as call:
            await call.start(Agent())
            asked = await call.caller.says("find me a table")
            await call.settled()
        assert said(call.session)[1:] == ["Two are free."]
        silence = longest_silence(call, asked.end) - 0.55
        measured(ROW, "the LLM fails, to the next one's voice", silence, at_most=2.0)

    run_virtual(main())


# -- the voice


def test_an_answer_whose_voice_dies_before_the_first_sound_is_said_once_more() -> None:
    async def main() -> None:
        voice = BrokenTTS("dies", 0.0)
        async with calling(model(["There are two tables free tonight."]), tts=voice) as call:
            await call.start(Agent())
            await call.caller.says("find me a table")
            await call.settled()
        assert voice.broke_at is not None
        assert said(call.session)[1:] == ["There are two tables free tonight."]
        measured(ROW, "the TTS dies, to the answer", longest_silence(call, voice.broke_at), at_most=2.0)

    run_virtual(main())


@pytest.mark.parametrize(("after", "kind"), [(0.0, "stalls"), (1.0, "dies"), (1.0, "stalls")])
def test_a_voice_that_fails_is_followed_by_a_spoken_apology(kind: Literal["dies", "stalls"], after: float) -> None:
    async def main() -> None:
        voice = BrokenTTS(kind, after)
        async with calling(model(["There are two tables free tonight."]), tts=voice) as call:
            await call.start(Agent())
            await call.caller.says("find me a table")
            await call.settled()
        assert voice.broke_at is not None
        apology = said(call.session)[-1]
        assert apology.startswith("I'm sorry")
        # A stall is an error once nothing came for `stall_timeout`.
        deadline = call.session.options.stall_timeout if kind == "stalls" else 0.0
        silence = longest_silence(call, voice.broke_at) - deadline
        measured(ROW, f"the TTS {kind}, to the apology", silence, at_most=2.0)

    run_virtual(main())


@pytest.mark.parametrize("kind", ["dies", "stalls"])
@pytest.mark.parametrize("after", [0.0, 1.0])
def test_the_next_voice_goes_on_when_one_fails(kind: Literal["dies", "stalls"], after: float) -> None:
    async def main() -> None:
        voice = BrokenTTS(kind, after)
        both = FallbackTTS([voice, FakeTTS(sample_rate=RATE)], attempt_timeout=1.0, stall_timeout=1.0)
        async with calling(model(["There are two tables free tonight."]), tts=both) as call:
            await call.start(Agent())
            await call.caller.says("find me a table")
            await call.settled()
        assert voice.broke_at is not None
        assert said(call.session)[-1] == "There are two tables free tonight."
        measured(ROW, f"the TTS {kind}, to the next one", longest_silence(call, voice.broke_at), at_most=2.0)

    run_virtual(main())


# -- the recogniser


@pytest.mark.parametrize("kind", ["dies", "stalls"])
@pytest.mark.parametrize("at", [1.2, 2.5, 3.6])
def test_the_next_recogniser_hears_the_turn_in_which_one_fails(kind: Literal["dies", "stalls"], at: float) -> None:
    async def main() -> None:
        caller = Caller()
        broken = CallerSTT(caller, faults=[Fault(at, kind)])
        both = FallbackSTT([broken, CallerSTT(caller)])
        async with calling(model(["Six, tonight."]), caller=caller, stt=both) as call:
            await call.start(Agent())
            await asyncio.sleep(1.0)
            asked = await caller.says("find me a table for six tonight")
            await call.settled(quiet=3.0)
        assert said(call.session) == ["find me a table for six tonight", "Six, tonight."]
        stalled = 1.3 if kind == "stalls" else 0.0
        measured(ROW, f"the STT {kind}, to the answer", reaction(call, asked) - stalled, at_most=2.0)

    run_virtual(main())


def test_a_recogniser_that_heard_nothing_in_a_cough_takes_over_the_words_behind_it() -> None:
    async def main() -> None:
        caller = Caller()
        asked_about_the_cough = CallerSTT(caller, faults=[Fault(4.0, "dies")])
        both = FallbackSTT([CallerSTT(caller), asked_about_the_cough])
        async with calling(model(["Six, tonight."]), caller=caller, stt=both) as call:
            await call.start(Agent())
            await asyncio.sleep(1.0)
            await caller.coughs(0.2)
            await asyncio.sleep(2.0)
            asked = await caller.says("for six tonight")
            await call.settled(quiet=3.0)
        assert said(call.session) == ["for six tonight", "Six, tonight."]
        measured(ROW, "the STT dies, to the answer", reaction(call, asked), at_most=2.0)

    run_virtual(main())


@pytest.mark.parametrize("kind", ["dies", "stalls"])
def test_without_another_recogniser_the_turn_ends_with_the_words_there_are(kind: Literal["dies", "stalls"]) -> None:
    async def main() -> None:
        caller = Caller()
        stt = CallerSTT(caller, faults=[Fault(2.5, kind, duration=5.0)])
        async with calling(model(["For how many?", "Six."]), caller=caller, stt=stt) as call:
            await call.start(Agent())
            await asyncio.sleep(1.0)
            asked = await caller.says("find me a table for six tonight")
            await call.settled(quiet=5.0)
            again = await caller.says("six people")
            await call.settled()
        first = said(call.session, "user")[0]
        assert "find me a table for six tonight".startswith(first) or first.startswith("find me a")
        row = "a stalled STT cannot hold a turn" if kind == "stalls" else "a dead STT cannot hold a turn"
        deadline = call.session.options.transcript_timeout + TTFT + TTFB + 2 * FRAME
        measured(row, "its end to the answer", reaction(call, asked), at_most=deadline)
        measured(row, "the next turn is answered after", reaction(call, again), at_most=REACTION)
        assert said(call.session, "assistant") == ["For how many?", "Six."]

    run_virtual(main())


# -- tools, and a model that does not obey


@pytest.mark.parametrize("options", [{}, {"effect": "reads"}, {"effect": "writes"}])
def test_a_tool_that_hangs_is_timed_out_and_spoken_of(options: dict[str, Any]) -> None:
    lookup = Lookup(1e6, timeout=5.0, **options)

    async def main() -> None:
        llm = model([Reply(calls=[("look", {})]), "I could not reach the kitchen."])
        async with calling(llm) as call:
            await call.start(Agent(tools=[lookup.tool]))
            await call.caller.says("find me a table")
            await call.settled()
        row = "tool hangs for ever"
        output = next(line for line in lines(call.session) if line.startswith("error look:"))
        assert ("It is unknown whether `look` happened" in output) == (options != {"effect": "reads"})
        assert said(call.session)[-1] == "I could not reach the kitchen."
        limit = lookup.at("began") + 5.0
        spoken = call.timeline.agent_begins(limit)
        assert spoken is not None
        measured(row, "time limit to the reply", spoken - limit, at_most=TTFT + TTFB + FRAME)

    run_virtual(main())


@pytest.mark.parametrize("options", [{}, {"effect": "reads"}, {"effect": "writes"}])
def test_a_session_closes_within_a_second_although_a_tool_hangs(options: dict[str, Any]) -> None:
    async def main() -> None:
        lookup = Lookup(1e6, **options)
        call = calling(model([Reply(calls=[("look", {})])]))
        await call.start(Agent(tools=[lookup.tool]))
        await call.caller.says("find me a table")
        await asyncio.sleep(3.0)
        began = now()
        await call.aclose()
        measured("tool hangs for ever", "aclose()", now() - began, at_most=1.0)
        assert lookup.words == ["began", "cancelled"]

    run_virtual(main())


def test_a_disobedient_model_at_the_step_limit_is_followed_by_the_fallback_line() -> None:
    lookup = Lookup(0.5, effect="reads")

    async def main() -> None:
        look = Reply(calls=[("look", {})])
        async with calling(model([look] * 5), max_tool_steps=3, fallback_line="Let me start over.") as call:
            await call.start(Agent(tools=[lookup.tool]))
            asked = await call.caller.says("find me a table")
            await call.settled()
        row = "disobedient model at the step limit"
        assert lookup.words.count("began") == 3
        assert said(call.session) == ["find me a table", "Let me start over."]
        measured(row, "last result to the line", reaction(call, asked) - 0.55 - 3 * (TTFT + 0.5), at_most=2.0)

    run_virtual(main())
