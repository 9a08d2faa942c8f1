"""A service that hears and speaks hangs: what is told, and when, and that the call goes on or ends."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from antiphon import Agent
from antiphon.audio import AudioFrame
from antiphon.realtime import RealtimeCapabilities, RealtimeSetup, SpeechStarted
from antiphon.testing import Caller, FakeVAD, Hang, SimulatedCall, now, run_virtual
from antiphon.testing.realtime import FakeRealtimeModel, FakeRealtimeSession
from tests.situations.calls import said
from tests.situations.test_stalled_models import FOR_EVER, Errors
from tests.situations.test_stalled_voices import ends


class _NeverThere(FakeRealtimeSession):
    async def __aenter__(self) -> Any:
        await asyncio.sleep(FOR_EVER)


class _Deaf(FakeRealtimeSession):
    """Takes sound and requests, and says nothing."""

    def _give(self, event: object) -> None:
        pass


class _HearsNothing(FakeRealtimeSession):
    """Answers what it is asked for, and hears no sound."""

    def push_audio(self, frame: AudioFrame) -> None:
        pass


class _Gone(FakeRealtimeSession):
    """Shows that it is there until a moment, and is gone behind it."""

    gone_at = FOR_EVER

    @property
    def silence(self) -> float | None:
        return max(0.0, now() - self.gone_at)


SESSIONS = {"connects": _NeverThere, "listens": _Deaf, "hears": _HearsNothing}


class HungModel(FakeRealtimeModel):
    """A model whose first `times` sessions hang, when they are opened or once they are there."""

    def __init__(self, caller: Caller, where: Literal["connects", "listens", "hears"], times: int) -> None:
        super().__init__(["It is noon.", "It is one.", "It is two."], hears=caller)
        self.where = where
        self.times = times

    def session(self, setup: RealtimeSetup) -> FakeRealtimeSession:
        self.times -= 1
        if self.times < 0:
            return super().session(setup)
        return SESSIONS[self.where](self, setup)


def test_a_service_that_hangs_when_it_is_opened_is_told_and_opened_anew() -> None:
    async def main() -> None:
        caller = Caller()
        llm = HungModel(caller, "connects", 1)
        async with SimulatedCall(llm, caller=caller) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            await asyncio.sleep(8.0)
            assert errors[0][0] < 3.0 and "HungModel" in str(errors[0][1])
            await caller.says("what time is it")
            await call.settled(quiet=1.0)
            assert said(call.session)[-1] == "It is noon."
            assert not closed

    run_virtual(main())


@pytest.mark.parametrize("where", ["connects", "listens"])
def test_a_service_that_hangs_for_good_ends_the_call(where: Literal["connects", "listens"]) -> None:
    async def main() -> None:
        caller = Caller()
        async with SimulatedCall(HungModel(caller, where, 99), caller=caller) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            call.session.generate_reply()
            await asyncio.sleep(60.0)
            assert errors[0][0] < 3.0
            assert [reason for _, reason in closed] == ["error"]
            assert closed[0][0] < 40.0

    run_virtual(main())


def test_a_service_that_hangs_in_the_middle_of_a_response_is_told_and_stopped() -> None:
    async def main() -> None:
        caller = Caller()
        llm = FakeRealtimeModel([Hang("It is"), "I am sorry.", "It is one.", "It is two."], hears=caller)
        async with SimulatedCall(llm, caller=caller) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            asked = await caller.says("what time is it")
            await call.settled(quiet=1.0)
            assert errors[0][0] - asked.end < 4.5 and "FakeRealtimeModel" in str(errors[0][1])
            assert sum("stood still" in str(error) for _, error in errors) == 1
            await caller.says("what time is it")
            await call.settled(quiet=1.0)
            assert said(call.session)[-1] in ("It is one.", "It is two.")
            assert not closed

    run_virtual(main())


def test_a_commit_that_is_never_answered_is_told_and_the_next_turn_is_heard() -> None:
    async def main() -> None:
        caller = Caller()
        llm = HungModel(caller, "listens", 1)
        llm.capabilities = RealtimeCapabilities(turn_detection=False, auto_reply=False)
        async with SimulatedCall(llm, caller=caller, vad=FakeVAD(), turn_detection="vad") as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            asked = await caller.says("what time is it")
            await asyncio.sleep(20.0)
            assert errors[0][0] - asked.end < 3.5
            await caller.says("what time is it")
            await call.settled(quiet=1.0)
            assert said(call.session)[-1].startswith("It is")
            assert not closed

    run_virtual(main())


def test_a_service_that_is_gone_while_nobody_speaks_is_told_and_opened_anew() -> None:
    class Model(FakeRealtimeModel):
        opened = 0

        def session(self, setup: RealtimeSetup) -> FakeRealtimeSession:
            made = _Gone(self, setup)
            made.gone_at = FOR_EVER if self.opened else 5.0
            self.opened += 1
            return made

    async def main() -> None:
        caller = Caller()
        llm = Model(["It is noon."], hears=caller)
        async with SimulatedCall(llm, caller=caller) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            await asyncio.sleep(4.9)
            assert not errors
            await asyncio.sleep(8.0)
            assert 7.0 < errors[0][0] < 8.0 and "Model: expected a sign" in str(errors[0][1])
            assert (len(errors), llm.opened) == (2, 2)
            await caller.says("what time is it")
            await call.settled(quiet=1.0)
            assert said(call.session)[-1] == "It is noon."
            assert not closed

    run_virtual(main())


def test_a_service_that_does_not_hear_the_caller_is_told_and_the_next_session_hears_what_was_said() -> None:
    async def main() -> None:
        caller = Caller()
        async with SimulatedCall(HungModel(caller, "hears", 1), caller=caller, vad=FakeVAD()) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            asked = await caller.says("what time is it please")
            await asyncio.sleep(12.0)
            assert errors[0][0] - asked.end < 3.0 and "HungModel" in str(errors[0][1])
            assert said(call.session)[-1] == "It is noon."
            begins = call.timeline.agent_begins(asked.end)
            assert begins is not None and begins - asked.end < 8.0
            assert not closed

    run_virtual(main())


def test_a_service_that_never_hears_the_caller_is_told_each_time_and_ends_the_call_in_the_end() -> None:
    async def main() -> None:
        caller = Caller()
        async with SimulatedCall(HungModel(caller, "hears", 99), caller=caller, vad=FakeVAD()) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            for turn in range(3):
                asked = await caller.says("what time is it please")
                await asyncio.sleep(7.0)
                assert errors[2 * turn][0] - asked.end < 3.0
                assert not closed
            await caller.says("what time is it please")
            await asyncio.sleep(7.0)
            assert [reason for _, reason in closed] == ["error"]

    run_virtual(main())


def test_a_noise_that_a_service_does_not_take_for_a_voice_ends_no_call() -> None:
    async def main() -> None:
        caller = Caller()
        model = HungModel(caller, "hears", 2)
        async with SimulatedCall(model, caller=caller, vad=FakeVAD()) as call:
            closed = ends(call)
            await call.start(Agent())
            for _ in range(2):
                await caller.says("what a noise there is")
                await asyncio.sleep(20.0)
            assert not closed
            await caller.says("what time is it please")
            await call.settled(quiet=1.0)
            assert said(call.session)[-1].startswith("It is")

    run_virtual(main())


def test_a_cough_is_nothing_that_a_service_has_to_hear() -> None:
    async def main() -> None:
        caller = Caller()
        async with SimulatedCall(HungModel(caller, "hears", 1), caller=caller, vad=FakeVAD()) as call:
            errors = Errors(call)
            await call.start(Agent())
            await caller.says("hm")
            await asyncio.sleep(12.0)
            assert not errors

    run_virtual(main())


def test_a_service_that_takes_its_time_with_a_turn_that_it_noticed_first_is_waited_for() -> None:
    class Slow(FakeRealtimeSession):
        """Hears the voice before our detector does, and does not end the turn."""

        begun = False

        def push_audio(self, frame: AudioFrame) -> None:
            if not self.begun and frame.to_float32().any():
                self.begun = True
                self._give(SpeechStarted())

    class Model(FakeRealtimeModel):
        def session(self, setup: RealtimeSetup) -> FakeRealtimeSession:
            return Slow(self, setup)

    async def main() -> None:
        caller = Caller()
        detector = FakeVAD(start_delay=0.3)
        async with SimulatedCall(Model([], hears=caller), caller=caller, vad=detector) as call:
            errors = Errors(call)
            await call.start(Agent())
            await asyncio.sleep(2.0)
            await caller.says("what time is it please")
            await asyncio.sleep(12.0)
            assert not errors

    run_virtual(main())
