"""Replies and what is told of them: what the model is asked with, where things stand, states, runs, the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AgentTask, FunctionToolsExecutedEvent, RunContext, function_tool
from antiphon.chat import ChatContext, ChatMessage
from antiphon.testing import Caller, CallerSTT, FakeLLM, FakeTTS, Reply, SimulatedCall, now, run_virtual, transcript
from antiphon.testing.caller import RATE


def calling(script: Any, **options: Any) -> SimulatedCall:
    options.setdefault("max_silence", None)
    return SimulatedCall(FakeLLM(script, ttft=0.1, tokens_per_second=1e6), **options)


# -- generate_reply


def test_instructions_of_a_reply_stand_before_what_its_tools_came_to() -> None:
    requests: list[list[str]] = []

    @function_tool
    async def look() -> str:
        """Look."""
        return "two tables"

    def script(request: Any) -> Reply | str:
        items = request.chat_ctx.items
        requests.append([item.text_content or "" if isinstance(item, ChatMessage) else item.type for item in items][1:])
        return "Two tables." if requests[-1][-1] == "function_call_output" else Reply(calls=[("look", {})])

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(script)) as session:
            await session.start(Agent(tools=[look]))
            await session.generate_reply(user_input="Hello?", instructions="Look, and tell them.")

    run_virtual(main())
    asked = ["Hello?", "Look, and tell them."]
    assert requests == [asked, [*asked, "function_call", "function_call_output"]]


def test_what_a_turn_hook_says_stands_behind_the_words_that_it_is_about() -> None:
    class Host(Agent):
        async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None:
            await self.session.say("One moment.")

    async def main() -> None:
        async with calling(["It is booked."]) as call:
            await call.start(Host())
            await call.caller.says("book a table")
            await call.settled()
            expected = ["user: book a table", "assistant: One moment.", "assistant: It is booked."]
            assert transcript(call.session.history) == expected
            assert transcript(call.session.current_agent.chat_ctx) == expected

    run_virtual(main())


# -- what is told


def test_the_agent_counts_as_speaking_when_there_is_sound() -> None:
    async def main() -> None:
        states: list[tuple[str, float]] = []
        async with calling(["It is booked."], tts=FakeTTS(sample_rate=RATE, ttfb=1.3)) as call:
            call.session.on("agent_state_changed", lambda event: states.append((event.new_state, now())))
            await call.start(Agent())
            await call.caller.says("book a table")
            await call.settled()
        (sound,) = call.timeline.agent
        assert [state for state, _ in states] == ["listening", "thinking", "speaking", "listening"]
        assert states[2][1] == pytest.approx(sound.start, abs=0.03)

    run_virtual(main())


def test_a_round_is_told_with_its_calls_and_outputs_while_the_words_before_them_sound() -> None:
    @function_tool
    async def look() -> str:
        """Look."""
        return "two tables"

    async def main() -> None:
        told: list[tuple[list[str], list[str]]] = []

        def executed(event: FunctionToolsExecutedEvent) -> None:
            outputs = [output.output for output in event.function_call_outputs if output is not None]
            told.append(([call.name for call in event.function_calls], outputs))

        async with calling([Reply("Let me look that up for you now.", [("look", {})]), "Two tables."]) as call:
            call.session.on("function_tools_executed", executed)
            await call.start(Agent(tools=[look]))
            await call.caller.says("book a table")
            await call.settled()
        assert told == [(["look"], ["two tables"])]

    run_virtual(main())


@pytest.mark.parametrize("left", [0.15, 0.12, 0.1, 0.08])
def test_a_reply_that_was_heard_whole_was_not_interrupted(left: float) -> None:
    line = "It is booked for you."

    async def main() -> None:
        async with calling(["Six, then."]) as call:
            await call.start(Agent())
            handle = call.session.say(line)
            await asyncio.sleep(0.2)
            await asyncio.sleep(call.speaker.sounds[0].start + len(line) * 0.06 - left - now())
            await call.caller.says("for six")
            await call.settled()
            assert not handle.interrupted
            assert transcript(call.session.history) == [f"assistant: {line}", "user: for six", "assistant: Six, then."]
            assert not any(message.interrupted for message in call.session.history.messages())

    run_virtual(main())


# -- runs


class Ask(AgentTask[str]):
    async def on_enter(self) -> None:
        self.session.say("For whom?")

    @function_tool
    async def named(self, name: str) -> None:
        """They said it."""
        self.complete(name)


def test_a_run_shows_the_call_that_awaits_a_task_and_who_has_the_floor() -> None:
    @function_tool
    async def book(ctx: RunContext) -> str:
        """Book."""
        return f"booked for {await Ask()}"

    async def main() -> None:
        script: list[Any] = [Reply(calls=[("book", {})]), Reply(calls=[("named", {"name": "Ann"})]), "It is booked."]
        async with AgentSession[Any](llm=FakeLLM(script)) as session:
            await session.start(Agent(tools=[book]))
            first = await session.run(user_input="book a table")
            first.expect.next_event().is_function_call(name="book")
            first.expect.next_event().is_agent_handoff(new_agent_type=Ask)
            first.expect.next_event().is_message(role="assistant")
            first.expect.no_more_events()
            second = await session.run(user_input="Ann")
            kinds = [event.type for event in second.events]
            assert kinds.count("function_call") == 1 and kinds.count("function_call_output") == 2
            second.expect.contains_function_call(name="named")
            second.expect.contains_function_call_output(output="booked for Ann")
            second.expect.contains_agent_handoff(new_agent_type=Agent)

    run_virtual(main())


# -- the end


@pytest.mark.parametrize("hangs_up", [False, True])
def test_words_on_their_way_when_the_call_is_closed_are_kept(hangs_up: bool) -> None:
    async def main() -> None:
        caller = Caller()
        stt = CallerSTT(caller, interims=False, delay=0.4)
        async with calling(["Fine."], caller=caller, stt=stt) as call:
            await call.start(Agent())
            await caller.says("please call me back tonight")
            await asyncio.sleep(0.25)
            if hangs_up:
                caller.hangs_up()
            await call.session.aclose()
            assert transcript(call.session.history) == ["user: please call me back tonight"]

    run_virtual(main())


# -- contexts


def test_a_message_that_is_made_later_is_later_in_virtual_time_too() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["Hello."], ttft=2.0)) as session:
            await asyncio.sleep(100.0)
            await session.start(Agent())
            await session.run(user_input="hi")
            context = session.history.copy()
            context.insert(ChatMessage(role="user", content="later"))
            assert transcript(context) == ["user: hi", "assistant: Hello.", "user: later"]

    run_virtual(main())
