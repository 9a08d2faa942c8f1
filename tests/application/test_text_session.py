"""Whole conversations in text: what a session promises to the application."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentSession,
    ChatContext,
    ChatMessage,
    RunContext,
    SessionClosed,
    StopResponse,
    Toolset,
    UsageError,
    function_tool,
)
from antiphon.errors import ProviderError
from antiphon.runtime.instructions import instructions_told
from antiphon.testing import Fail, FakeLLM, Hang, Reply, now, run_virtual, transcript


@function_tool
async def weather(city: str) -> str:
    """Look up the weather."""
    return f"sunny in {city}"


@pytest.mark.parametrize("tools", [[], [Toolset(id="some", tools=[weather])]])
def test_what_on_enter_says_comes_before_what_the_application_says_next(tools: list[Toolset]) -> None:
    class Greeter(Agent):
        async def on_enter(self) -> None:
            self.session.say("Hello.")

    async def main() -> None:
        async with AgentSession(llm=FakeLLM()) as session:
            await session.start(Greeter(instructions="Be brief.", tools=tools))
            await session.say("And welcome.")
            assert transcript(session.history) == ["assistant: Hello.", "assistant: And welcome."]

    run_virtual(main())


def test_nobody_is_greeted_after_they_were_answered() -> None:
    class Greeter(Agent):
        async def on_enter(self) -> None:
            self.session.generate_reply(instructions="Greet.")

    async def main() -> None:
        async with AgentSession(llm=FakeLLM(["It is nine."])) as session:
            await session.start(Greeter(instructions="Be brief."))
            await session.run(user_input="What time is it?")
            assert transcript(session.history) == ["user: What time is it?", "assistant: It is nine."]

    run_virtual(main())


def test_a_turn_is_answered_with_the_result_of_a_tool() -> None:
    async def main() -> None:
        llm = FakeLLM([Reply("Let me see.", [("weather", {"city": "Paris"})]), "It is sunny."])
        async with AgentSession(llm=llm) as session:
            await session.start(Agent(instructions="Be brief.", tools=[weather]))
            result = await session.run(user_input="Weather in Paris?")
            result.expect.next_event().is_message(role="assistant")
            result.expect.next_event().is_function_call(name="weather", arguments={"city": "Paris"})
            result.expect.next_event().is_function_call_output(output="sunny in Paris", is_error=False)
            result.expect.next_event().is_message(role="assistant")
            result.expect.no_more_events()
            assert transcript(session.history) == [
                "user: Weather in Paris?",
                "assistant: Let me see.",
                'call weather({"city": "Paris"})',
                "output weather: sunny in Paris",
                "assistant: It is sunny.",
            ]
        assert llm.histories[0] == [
            "system: " + instructions_told("Be brief.", has_tools=True),
            "user: Weather in Paris?",
        ]

    run_virtual(main())


def test_the_next_request_shows_the_whole_history() -> None:
    async def main() -> None:
        llm = FakeLLM(["One.", "Two."])
        async with AgentSession(llm=llm) as session:
            await session.start(Agent())
            await session.run(user_input="a")
            await session.run(user_input="b")
        assert llm.histories[1] == ["user: a", "assistant: One.", "user: b"]

    run_virtual(main())


def test_say_is_recorded_and_its_handle_is_done_when_it_was_said() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM()) as session:
            await session.start(Agent())
            handle = session.say("Hello.")
            assert await handle is handle
            assert handle.done() and not handle.interrupted
            assert [item.content for item in handle.chat_items if isinstance(item, ChatMessage)] == [["Hello."]]
            assert transcript(session.history) == ["assistant: Hello."]

    run_virtual(main())


def test_say_may_stay_out_of_the_history() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM()) as session:
            await session.start(Agent())
            await session.say("Psst.", add_to_chat_ctx=False)
            assert transcript(session.history) == []

    run_virtual(main())


def test_say_takes_text_as_it_is_written() -> None:
    async def text() -> Any:
        yield "Hello "
        await asyncio.sleep(1)
        yield "world."

    async def main() -> None:
        async with AgentSession(llm=FakeLLM()) as session:
            await session.start(Agent())
            await session.say(text())
            assert transcript(session.history) == ["assistant: Hello world."]
            assert now() == pytest.approx(1.0)

    run_virtual(main())


def test_generate_reply_carries_its_instructions_in_this_request_only() -> None:
    async def main() -> None:
        llm = FakeLLM(["Welcome.", "Yes."])
        async with AgentSession(llm=llm) as session:
            await session.start(Agent(instructions="Role."))
            await session.generate_reply(instructions="Greet them.")
            await session.generate_reply(user_input="Are you there?")
        assert llm.histories[0] == ["system: Role.", "system: Greet them."]
        assert llm.histories[1] == ["system: Role.", "assistant: Welcome.", "user: Are you there?"]

    run_virtual(main())


def test_runs_cannot_be_nested() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM(["One."])) as session:
            await session.start(Agent())
            result = session.run(user_input="a")
            with pytest.raises(UsageError, match="nested"):
                session.run(user_input="b")
            await result
            assert result.done()

    run_virtual(main())


def test_a_failing_model_is_told_as_an_error_and_the_caller_hears_why() -> None:
    async def main() -> None:
        errors: list[Any] = []
        session = AgentSession(llm=FakeLLM([Fail(ProviderError("no luck", provider="fake"))]), failure_line="Sorry.")
        session.on("error", errors.append)
        async with session:
            await session.start(Agent())
            result = await session.run(user_input="a")
            assert [e.item.content for e in result.events if e.type == "message"] == [["Sorry."]]
        assert [str(event.error) for event in errors] == ["no luck"]
        assert errors[0].source is session.llm

    run_virtual(main())


def test_a_model_that_hangs_delays_the_turn_and_does_not_end_it() -> None:
    async def main() -> None:
        session = AgentSession(llm=FakeLLM([Hang()]), failure_line="Sorry.")
        async with session:
            await session.start(Agent())
            await session.run(user_input="a")
            assert transcript(session.history)[-1] == "assistant: Sorry."
            assert now() == pytest.approx(session.options.generation_timeout)

    run_virtual(main())


def test_userdata_is_a_dict_from_the_first_read() -> None:
    session = AgentSession[dict[str, int]]()
    assert hasattr(session, "userdata")
    session.userdata["x"] = 1
    assert session.userdata == {"x": 1} and AgentSession().userdata == {}
    assert AgentSession(userdata=None).userdata is None


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="max_silense"):
        AgentSession(max_silense=2.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="min_dellay"):
        AgentSession(turn_handling={"endpointing": {"min_dellay": 1}})


def test_a_way_of_taking_turns_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="expected 'vad', 'stt', 'manual' or a TurnDetector, got 'telepathy'"):
        AgentSession(turn_detection="telepathy")


def test_options_may_be_given_as_a_dict() -> None:
    session = AgentSession(turn_handling={"turn_detection": "manual", "endpointing": {"min_delay": 0.7}})
    assert session.options.turns.detection == "manual"
    assert session.options.turns.endpointing.min_delay == 0.7


def test_a_session_speaks_only_between_start_and_end() -> None:
    async def main() -> None:
        session = AgentSession(llm=FakeLLM())
        with pytest.raises(SessionClosed, match="not been started"):
            session.say("Hello.")
        await session.start(Agent())
        await session.aclose()
        with pytest.raises(SessionClosed, match="ended"):
            session.say("Hello.")
        await session.aclose()

    run_virtual(main())


def test_a_model_given_as_dots_is_not_given() -> None:
    async def main() -> None:
        async with AgentSession(llm=...) as session:
            llm = FakeLLM(["One."])
            await session.start(Agent(llm=..., tts=...), llm=llm)
            await session.run(user_input="a")
            assert session.llm is llm and session.current_agent.llm is llm

    run_virtual(main())


def test_a_model_given_by_name_needs_somebody_who_knows_names() -> None:
    async def main() -> None:
        with pytest.raises(UsageError, match="expected a model object"):
            await AgentSession(llm="openai/gpt").start(Agent())

    run_virtual(main())


def test_a_session_without_a_model_tells_what_is_missing() -> None:
    async def main() -> None:
        errors: list[Any] = []
        session = AgentSession()
        session.on("error", errors.append)
        async with session:
            await session.start(Agent())
            await session.run(user_input="a")
        assert "has no llm" in str(errors[0].error)

    run_virtual(main())


def test_the_turn_hook_may_change_the_words_and_add_knowledge_for_one_reply() -> None:
    class Knowing(Agent):
        async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None:
            turn_ctx.add_message(role="system", content="It is Monday.")
            new_message.content = [f"{new_message.text_content}!"]

    async def main() -> None:
        llm = FakeLLM(["One.", "Two."])
        async with AgentSession(llm=llm) as session:
            await session.start(Knowing())
            await session.run(user_input="a")
            await session.run(user_input="b")
            assert transcript(session.history) == ["user: a!", "assistant: One.", "user: b!", "assistant: Two."]
        assert llm.histories[0] == ["system: It is Monday.", "user: a!"]
        assert llm.histories[1] == ["user: a!", "assistant: One.", "system: It is Monday.", "user: b!"]

    run_virtual(main())


def test_the_turn_hook_may_leave_a_turn_unanswered() -> None:
    class Silent(Agent):
        async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None:
            raise StopResponse

    async def main() -> None:
        llm = FakeLLM()
        async with AgentSession(llm=llm) as session:
            await session.start(Silent())
            await session.run(user_input="a")
            assert transcript(session.history) == ["user: a"]
        assert llm.requests == []

    run_virtual(main())


def test_a_hook_that_raises_is_told_and_the_turn_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Agent):
        async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None:
            raise RuntimeError("oops")

    async def main() -> None:
        errors: list[Any] = []
        session = AgentSession(llm=FakeLLM(["One."]))
        session.on("error", errors.append)
        async with session:
            await session.start(Broken())
            await session.run(user_input="a")
            assert transcript(session.history) == ["user: a", "assistant: One."]
        assert str(errors[0].error) == "oops"

    run_virtual(main())
    assert "on_user_turn_completed" in caplog.text


def test_start_can_wait_for_what_on_enter_does() -> None:
    class Greeter(Agent):
        async def on_enter(self) -> None:
            self.session.generate_reply(instructions="Greet.")

    async def main() -> None:
        async with AgentSession(llm=FakeLLM(["Hello."])) as session:
            result = await session.start(Greeter(), capture_run=True)
            assert result is not None
            result.expect.next_event().is_message(role="assistant")
            result.expect.no_more_events()

    run_virtual(main())


def test_an_interrupted_reply_keeps_what_was_written() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM([Hang("I was about to")])) as session:
            await session.start(Agent())
            session.submit_user_turn("a")
            await asyncio.sleep(1)
            handle = session.current_speech
            assert handle is not None
            session.interrupt()
            await handle
            assert handle.interrupted
            message = session.history.messages()[-1]
            assert message.content == ["I was about to"] and message.interrupted
            assert session.current_speech is None

    run_virtual(main())


def test_a_speech_may_refuse_to_be_interrupted() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM()) as session:
            await session.start(Agent())

            async def text() -> Any:
                yield "Please "
                await asyncio.sleep(1)
                yield "listen."

            handle = session.say(text(), allow_interruptions=False)
            with pytest.raises(UsageError, match="force=True"):
                handle.interrupt()
            await handle
            assert not handle.interrupted

    run_virtual(main())


def test_the_context_names_the_call_the_agent_and_the_data() -> None:
    seen: list[Any] = []

    class Booking(Agent):
        @function_tool
        async def book(self, context: RunContext[dict[str, int]], seats: int) -> str:
            """Book."""
            seen.extend([context.agent, context.session, context.userdata, context.tool_call.arguments])
            assert context.function_call.call_id == "call_1" and context.speech_handle.num_steps == 1
            return "booked"

    async def main() -> None:
        agent = Booking()
        session = AgentSession(llm=FakeLLM([Reply(calls=[("book", {"seats": 2})]), "Done."]), userdata={"a": 1})
        async with session:
            await session.start(agent)
            await session.run(user_input="Two seats.")
        assert seen == [agent, session, {"a": 1}, '{"seats": 2}']

    run_virtual(main())


def test_a_turn_with_a_tool_leaves_nothing_for_the_garbage_collector() -> None:
    async def main() -> None:
        turn: list[Any] = [Reply("", [("weather", {"city": "Paris"})]), "It is sunny."]
        async with AgentSession(llm=FakeLLM(turn + turn)) as session:
            await session.start(Agent(instructions="Be brief.", tools=[weather]))
            await session.generate_reply(user_input="Weather in Paris?")
            gc.collect()
            gc.disable()
            try:
                await session.generate_reply(user_input="And now?")
                await asyncio.sleep(0)  # the last task of the turn goes
                assert gc.collect() == 0
            finally:
                gc.enable()

    run_virtual(main())
