"""A service that hears and speaks hangs: what is told, and when, and that the call goes on or ends."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from antiphon import Agent
from antiphon.realtime import RealtimeCapabilities, RealtimeSetup
from antiphon.testing import Caller, FakeVAD, Hang, SimulatedCall, run_virtual
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


class HungModel(FakeRealtimeModel):
    """A model whose first `times` sessions hang, when they are opened or once they are there."""

    def __init__(self, caller: Caller, where: Literal["connects", "listens"], times: int) -> None:
        super().__init__(["It is noon.", "It is one.", "It is two."], hears=caller)
        self.where = where
        self.times = times

    def session(self, setup: RealtimeSetup) -> FakeRealtimeSession:
        self.times -= 1
        if self.times < 0:
            return super().session(setup)
        return (_NeverThere if self.where == "connects" else _Deaf)(self, setup)


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
