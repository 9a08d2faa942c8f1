"""A session with a model that hears and speaks is over when its agent has left or the call has ended."""

from __future__ import annotations

import asyncio

import pytest

from antiphon import Agent, function_tool
from antiphon.errors import ProviderConnectionError, ProviderError
from antiphon.realtime import RealtimeSetup
from antiphon.testing import FakeVAD, Hang, Reply, run_virtual, wait_until
from antiphon.testing.realtime import FakeRealtimeModel, FakeRealtimeSession, RealtimeTurn
from tests.realtime.test_sessions import LONG, Call


class _BreaksInClosing(FakeRealtimeSession):
    async def aclose(self) -> None:
        await super().aclose()
        raise ProviderConnectionError("the connection broke")


class _Model(FakeRealtimeModel):
    def session(self, setup: RealtimeSetup) -> FakeRealtimeSession:
        session = _BreaksInClosing(self, setup)
        self.sessions.append(session)
        return session


class Host(Agent):
    @function_tool
    async def transfer(self) -> Agent:
        """Transfer."""
        return Agent()


def test_the_session_of_an_agent_that_left_is_over_once_its_words_have_come() -> None:
    async def main() -> None:
        script: list[RealtimeTurn] = [Reply(LONG, [("transfer", {})]), Hang(), *["Here I am."] * 5]
        model = FakeRealtimeModel(script, hears=["to the kitchen please"], delay=1.0)
        async with Call(model, vad=FakeVAD()) as call:
            await call.begin(Host())
            call.session.submit_user_turn("put me through")
            await asyncio.sleep(2.0)
            await call.says(0.3, then=20.0)
            assert "user: to the kitchen please" in call.lines
            assert [session.closed for session in model.sessions] == [True, False]

    run_virtual(main())


def test_a_session_that_breaks_in_being_closed_is_not_opened_anew() -> None:
    async def main() -> None:
        model = _Model()
        async with Call(model) as call:
            await call.begin()
            await asyncio.sleep(1.0)
        await asyncio.sleep(20.0)
        assert len(model.sessions) == 1 and not call.errors

    run_virtual(main())


def test_a_session_that_breaks_in_being_closed_does_not_come_back_after_a_handoff() -> None:
    async def main() -> None:
        model = _Model([Reply("", [("transfer", {})])], hears=["put me through"])
        async with Call(model) as call:
            await call.begin(Host())
            await call.says(then=20.0)
            assert len(model.sessions) == 2 and not call.errors

    run_virtual(main())


@pytest.mark.parametrize("retryable", [True, False])
def test_the_session_of_an_agent_that_left_may_break_and_the_call_goes_on(retryable: bool) -> None:
    async def main() -> None:
        script: list[RealtimeTurn] = [Reply(LONG, [("transfer", {})]), *["Here I am."] * 5]
        model = FakeRealtimeModel(script, hears=["to the kitchen please", "are you there"], delay=3.0)
        async with Call(model, vad=FakeVAD()) as call:
            await call.begin(Host())
            call.session.submit_user_turn("put me through")
            await asyncio.sleep(2.0)
            await call.says(0.3, then=0.0)  # words of it are still to come when the agent has left
            await wait_until(lambda: len(model.sessions) == 2)
            assert not model.sessions[0].closed
            model.sessions[0].hang_up(ProviderError("no more", retryable=retryable))
            await asyncio.sleep(5.0)
            assert len(model.sessions) == 2 and not call.closed
            await call.says(then=8.0)
            assert call.lines[-2:] == ["user: are you there", "assistant: Here I am."]

    run_virtual(main())
