"""A recogniser hangs: what the caller hears, and when; what is told; and that the next turn is understood."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any, Literal

import pytest

from antiphon import Agent
from antiphon.adapters.fallback import FallbackSTT
from antiphon.audio import AudioFrame
from antiphon.errors import ProviderTimeout
from antiphon.options import ModelSettings
from antiphon.stt import STT, SpeechEvent, STTStream
from antiphon.testing import Caller, CallerSTT, Fault, run_virtual
from antiphon.vad import VADEvent
from tests.situations.calls import calling, model, said, voiced
from tests.situations.test_stalled_models import Errors

UNHEARD = "I'm sorry, I didn't catch that. Could you say it again?"
FOR_EVER = 3600.0


class DeafSTT(STT):
    """A recogniser that hears nothing in its first `deaf` streams, and then what `then` hears."""

    def __init__(self, then: STT, deaf: int = 1, *, where: Literal["connects", "listens", "ends"] = "listens") -> None:
        self.streams = 0
        self._then = then
        self._deaf = deaf
        self._where = where

    def stream(self) -> STTStream:
        self.streams += 1
        return _DeafStream(self._where) if self.streams <= self._deaf else self._then.stream()


class _DeafStream(STTStream):
    def __init__(self, where: str) -> None:
        self._where = where

    def push(self, frame: AudioFrame) -> None:
        pass

    def mark(self, event: VADEvent) -> None:
        pass

    async def __aenter__(self) -> _DeafStream:
        if self._where == "connects":
            await asyncio.sleep(FOR_EVER)
        return self

    async def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        if self._where == "listens":
            await asyncio.sleep(FOR_EVER)
        nothing: list[SpeechEvent] = []
        for event in nothing:
            yield event

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("where", ["connects", "listens", "ends"])
def test_a_recogniser_that_never_answers_is_told_and_the_next_turn_is_understood(
    where: Literal["connects", "listens", "ends"],
) -> None:
    async def main() -> None:
        caller = Caller()
        stt = DeafSTT(CallerSTT(caller), where=where)
        async with calling(model(["Six, tonight."]), caller=caller, stt=stt) as call:
            errors = Errors(call)
            await call.start(Agent())
            asked = await caller.says("find me a table for six")
            await call.settled(quiet=1.0)
            assert [type(error) for _, error in errors] == [ProviderTimeout]
            assert errors[0][0] - asked.end < 3.0
            assert "DeafSTT" in str(errors[0][1]) and "FallbackSTT" in str(errors[0][1])
            assert said(call.session) == [UNHEARD]
            assert call.timeline.agent_begins(asked.end) < asked.end + 3.0  # type: ignore[operator]
            await caller.says("for six tonight")
            await call.settled()
            assert said(call.session) == [UNHEARD, "for six tonight", "Six, tonight."]
            assert stt.streams == 2

    run_virtual(main())


@pytest.mark.parametrize("interims", [True, False])
def test_a_final_transcript_without_words_is_a_turn_that_was_not_understood(interims: bool) -> None:
    async def main() -> None:
        caller = Caller()
        stt = CallerSTT(caller, faults=[Fault(0.0, "mishears", 4.0)], interims=interims)
        async with calling(model(["For how many?"]), caller=caller, stt=stt) as call:
            errors = Errors(call)
            await call.start(Agent())
            asked = await caller.says("please book a table for me")
            await call.settled(quiet=3.0)
            begins = call.timeline.agent_begins(asked.end)
            assert said(call.session) == [UNHEARD] and not errors
            assert begins is not None and begins - asked.end < 1.7
            await caller.says("please book a table for me")
            await call.settled()
            assert said(call.session)[1:] == ["please book a table for me", "For how many?"]

    run_virtual(main())


def test_words_that_a_recogniser_never_ended_do_not_hide_the_same_words_said_again() -> None:
    async def main() -> None:
        caller = Caller()
        stt = CallerSTT(caller, faults=[Fault(0.4, "stalls", FOR_EVER)], lag=0.0)
        async with calling(model(["Shall I book it?", "It is booked."]), caller=caller, stt=stt) as call:
            await call.start(Agent())
            await caller.says("yes please")
            await call.settled(quiet=3.0)
            await caller.says("yes")
            await call.settled()
            assert said(call.session) == ["yes", "Shall I book it?", "yes", "It is booked."]

    run_virtual(main())


def test_a_caller_who_goes_on_at_once_is_heard_by_the_next_recogniser() -> None:
    async def main() -> None:
        caller = Caller()
        async with calling(model(["Six, tonight."]), caller=caller, stt=DeafSTT(CallerSTT(caller))) as call:
            await call.start(Agent())
            await caller.says("find me a table for six", 2.6, "hello for six tonight")
            await call.settled(quiet=1.0)
            assert said(call.session)[-2:] == ["hello for six tonight", "Six, tonight."]

    run_virtual(main())


def test_a_recogniser_that_hangs_is_told_although_the_caller_is_never_silent_for_long() -> None:
    async def main() -> None:
        caller = Caller()
        stt = DeafSTT(CallerSTT(caller))
        async with calling(model(lambda _: "Six, tonight."), caller=caller, stt=stt) as call:
            errors = Errors(call)
            await call.start(Agent())
            said_first = caller.says("find me a table for six")
            caller.says(1.3, "hello", 1.3, "are you there", 1.3, "is anybody there at all", 1.3, "for six tonight")
            await call.settled(quiet=2.0)
            assert len(errors) == 1 and errors[0][0] - said_first.end < 3.0
            assert stt.streams == 2
            assert said(call.session)[-1] == "Six, tonight."

    run_virtual(main())


def test_a_recogniser_that_falls_silent_in_mid_call_is_opened_anew() -> None:
    async def main() -> None:
        caller = Caller()
        stt = CallerSTT(caller, faults=[Fault(6.0, "stalls", FOR_EVER)])
        async with calling(model(["For how many?", "Six, tonight."]), caller=caller, stt=stt) as call:
            errors = Errors(call)
            await call.start(Agent())
            await caller.says("find me a table")
            await call.settled()
            await asyncio.sleep(7.0)
            await caller.says("for six of us tonight")
            await call.settled(quiet=1.5)
            assert len(errors) == 1
            await caller.says("for six tonight")
            await call.settled()
            assert said(call.session)[-3:] == [UNHEARD, "for six tonight", "Six, tonight."]

    run_virtual(main())


def test_words_that_are_never_settled_are_answered_and_the_recogniser_is_opened_anew() -> None:
    async def main() -> None:
        caller = Caller()
        stt = CallerSTT(caller, faults=[Fault(2.6, "stalls", FOR_EVER)])
        async with calling(model(["For how many?", "Six."]), caller=caller, stt=stt) as call:
            errors = Errors(call)
            await call.start(Agent())
            await asyncio.sleep(1.0)
            asked = await caller.says("find me a table for six tonight")
            await call.settled(quiet=2.0)
            assert len(errors) == 1 and errors[0][0] - asked.end < 3.0
            await caller.says("for six tonight")
            await call.settled()
            assert said(call.session)[-2:] == ["for six tonight", "Six."]
            assert voiced(call.session, UNHEARD) == 0

    run_virtual(main())


def test_words_that_come_late_are_answered() -> None:
    async def main() -> None:
        caller = Caller()
        stt = CallerSTT(caller, delay=2.5, interims=False)
        async with calling(model(["Six, tonight."]), caller=caller, stt=stt) as call:
            await call.start(Agent())
            await caller.says("find me a table for six")
            await call.settled(quiet=1.0)
            assert said(call.session)[-2:] == ["find me a table for six", "Six, tonight."]

    run_virtual(main())


@pytest.mark.parametrize("both", [False, True])
def test_a_fallback_makes_no_transcript_up(both: bool) -> None:
    async def main() -> None:
        caller = Caller()
        second = DeafSTT(CallerSTT(caller), deaf=99 if both else 0)
        stt = FallbackSTT([DeafSTT(CallerSTT(caller), deaf=99), second])
        async with calling(model(["Six, tonight."]), caller=caller, stt=stt) as call:
            errors = Errors(call)
            await call.start(Agent())
            asked = await caller.says("find me a table for six")
            await call.settled(quiet=2.0)
            if both:
                assert len(errors) == 1 and errors[0][0] - asked.end < 3.0
                assert said(call.session) == [UNHEARD]
            else:
                assert not errors
                assert said(call.session) == ["find me a table for six", "Six, tonight."]

    run_virtual(main())


def test_a_cough_is_no_reason_to_open_a_recogniser_anew() -> None:
    async def main() -> None:
        caller = Caller()
        async with calling(model([]), caller=caller) as call:
            errors = Errors(call)
            await call.start(Agent())
            await caller.coughs(0.5)
            await call.settled(quiet=3.0)
            assert not errors and not said(call.session)

    run_virtual(main())


def test_an_stt_node_that_hangs_is_told_and_begun_anew() -> None:
    class Listener(Agent):
        begun = 0

        async def stt_node(self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings) -> Any:
            self.begun += 1
            if self.begun == 1:
                await asyncio.sleep(FOR_EVER)
            async for event in Agent.default.stt_node(self, audio, model_settings):
                yield event

    async def main() -> None:
        caller, agent = Caller(), Listener()
        async with calling(model(["Six, tonight."]), caller=caller) as call:
            errors = Errors(call)
            await call.start(agent)
            await caller.says("find me a table for six")
            await call.settled(quiet=1.0)
            assert len(errors) == 1 and "stt_node" in str(errors[0][1])
            assert said(call.session) == [UNHEARD]
            await caller.says("for six tonight")
            await call.settled()
            assert said(call.session)[-1] == "Six, tonight."

    run_virtual(main())
