"""What a session tells of its replies to those who listen, in true audio time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, function_tool
from antiphon.chat import ChatContext, ChatMessage
from antiphon.events import ErrorEvent, TurnMetricsEvent
from antiphon.runtime.meter import Meter
from antiphon.testing import FakeLLM, FakeTTS, Reply, run_virtual
from tests.calls import VoiceCall


@function_tool
async def find(context: RunContext, day: str) -> str:
    """Find.

    Args:
        day: The day
    """
    await asyncio.sleep(1.0)
    return "nine"


def heard_by(session: AgentSession[Any]) -> list[TurnMetricsEvent]:
    events: list[TurnMetricsEvent] = []
    session.on("turn_metrics", events.append)
    return events


def test_a_spoken_reply_is_told_with_what_it_took() -> None:
    async def main() -> list[TurnMetricsEvent]:
        llm = FakeLLM([Reply("One moment.", calls=[("find", {"day": "Monday"})]), "Nine is free."], ttft=0.3)
        async with VoiceCall(llm, ["on monday"], tts=FakeTTS(ttfb=0.1)) as call:
            events = heard_by(call.session)
            await call.begin(Agent(tools=[find]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(1.0)
            await call.session.wait_for_idle()
            (caller,), (words, answer) = call.microphone.sounds, call.speaker.sounds
            reply = events[0].metrics
            assert reply.speech_ended == pytest.approx(caller.end, abs=0.02)
            assert reply.first_audio == pytest.approx(words.start, abs=0.02)
            assert reply.first_answer == pytest.approx(answer.start, abs=0.02)
            assert reply.dead_air == pytest.approx(words.start - caller.end + answer.start - words.end, abs=0.04)
        return events

    (event,) = run_virtual(main())
    reply = event.metrics
    assert reply.ttft == pytest.approx(0.3, abs=0.01)
    assert reply.ttfb == pytest.approx(0.1, abs=0.02)
    assert [(tool.name, tool.status) for tool in reply.tools] == [("find", "done")]
    assert (event.call.turns, event.call.replies, event.call.tools) == (1, 1, 1)
    assert event.call.median_response_delay == reply.response_delay
    assert reply.prompt_tokens > 0


class Thorough(Agent):
    async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None:
        await asyncio.sleep(0.2)


@pytest.mark.parametrize(("agent", "took"), [(Thorough, 0.2), (Agent, None)])
def test_the_hook_is_told_of_agents_that_have_one(agent: type[Agent], took: float | None) -> None:
    async def main() -> TurnMetricsEvent:
        async with AgentSession[Any](llm=FakeLLM(["Hi."])) as session:
            events = heard_by(session)
            await session.start(agent(instructions=""))
            await session.run(user_input="Hello")
        return events[0]

    assert run_virtual(main()).metrics.hook == (took and pytest.approx(took, abs=0.01))


def test_a_session_that_nobody_listens_to_measures_nothing() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["One."])) as session:
            await session.start(Agent())
            assert session.metrics is None

    run_virtual(main())


def test_who_listens_late_is_told_of_the_replies_that_follow() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["One.", "Two."])) as session:
            await session.start(Agent())
            await session.run(user_input="a")
            events = heard_by(session)
            await session.run(user_input="b")
            assert [event.metrics.origin for event in events] == ["typed"]

    run_virtual(main())


def test_a_listener_that_raises_disturbs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Any) -> None:
        raise ValueError("oops")

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["One.", "Two."])) as session:
            session.on("turn_metrics", broken)
            await session.start(Agent())
            await session.run(user_input="a")
            assert (await session.run(user_input="b")).events

    run_virtual(main())
    assert caplog.text.count("a callback for 'turn_metrics' raised") == 2


def test_a_stopwatch_that_breaks_does_not_break_the_call(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("stuck")

    monkeypatch.setattr(Meter, "fact", broken)

    async def main() -> list[ErrorEvent]:
        errors: list[ErrorEvent] = []
        async with AgentSession[Any](llm=FakeLLM(["One.", "Two."])) as session:
            session.on("error", errors.append)
            events = heard_by(session)
            await session.start(Agent())
            await session.run(user_input="a")
            await session.run(user_input="b")
            assert events == []
        return errors

    errors = run_virtual(main())
    assert [error.source for error in errors] == ["Meter"]
    assert "shown nothing more" in caplog.text
