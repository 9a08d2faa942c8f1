"""Whole conversations with a model that hears and speaks, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentSession,
    AgentTask,
    AudioFrame,
    EndCallTool,
    ModelSettings,
    RunContext,
    StopResponse,
    function_tool,
)
from antiphon.chat import ChatContext, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.errors import ProviderConnectionError, ProviderError, UsageError
from antiphon.realtime import RealtimeCapabilities, RealtimeSetup
from antiphon.runtime.instructions import instructions_told
from antiphon.testing import (
    Caller,
    Fail,
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeTTS,
    FakeVAD,
    Hang,
    Reply,
    SimulatedCall,
    check_pairs,
    run_virtual,
    transcript,
)
from antiphon.testing.realtime import Break, FakeRealtimeModel, FakeRealtimeSession, RealtimeRequest, RealtimeTurn

LONG = "This is a rather long answer that goes on for quite a while, so that there is time enough to interrupt it."
SELF_ANSWERING = RealtimeCapabilities(auto_tool_reply_generation=True)
LISTENS_ONLY = RealtimeCapabilities(turn_detection=False, auto_reply=False)


class Call:
    """A session with a caller at the other end."""

    def __init__(self, model: FakeRealtimeModel, **options: Any) -> None:
        self.model = model
        self.microphone = FakeMicrophone()
        self.speaker = FakeSpeaker()
        self.session = AgentSession[Any](llm=model, **options)
        self.errors: list[BaseException] = []
        self.closed: list[str] = []
        self.session.on("error", lambda event: self.errors.append(event.error))
        self.session.on("close", lambda event: self.closed.append(event.reason.value))

    async def __aenter__(self) -> Call:
        return self

    async def begin(self, agent: Agent | None = None) -> None:
        await self.session.start(agent or Agent(), input=self.microphone, output=self.speaker)

    async def __aexit__(self, *_: object) -> None:
        await self.session.aclose()
        check_pairs(self.session.history)

    async def says(self, seconds: float = 1.0, then: float = 3.0) -> None:
        await self.microphone.speak(seconds)
        await asyncio.sleep(then)

    @property
    def lines(self) -> list[str]:
        return transcript(self.session.history)

    @property
    def known(self) -> list[str]:
        """What the model thinks was said and done."""
        return transcript(self.model.sessions[-1].chat_ctx)


class Clock(Agent):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.looked = 0

    @function_tool
    async def time(self, place: str = "here") -> str:
        """Time."""
        self.looked += 1
        await asyncio.sleep(0.3)
        return f"noon {place}"


def test_a_spoken_turn_is_answered_in_the_models_own_voice() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["It is noon."], hears=["what time is it"])
        async with Call(model) as call:
            await call.begin(Agent(instructions="Be brief."))
            await call.says()
            assert call.lines == ["user: what time is it", "assistant: It is noon."]
            assert model.requests[0].unasked and model.sessions[0].instructions == "Be brief."
            (agent,), (caller,) = call.speaker.sounds, call.microphone.sounds
            assert agent.duration == pytest.approx(len("It is noon.") / 15, abs=0.05)
            assert agent.start - caller.end == pytest.approx(0.6, abs=0.1)  # 0.5 of silence, 0.1 to the first sound

    run_virtual(main())


def test_words_that_come_after_the_answer_stand_before_it() -> None:
    async def main() -> None:
        async with Call(FakeRealtimeModel(["Hi."], hears=["hello"], delay=2.5)) as call:
            await call.begin()
            await call.says(then=2.0)
            assert call.lines == []
            await asyncio.sleep(2.0)
            assert call.lines == ["user: hello", "assistant: Hi."]

    run_virtual(main())


def test_without_transcription_the_history_has_the_answers_only() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Hi."], capabilities=RealtimeCapabilities(user_transcription=False))
        async with Call(model) as call:
            await call.begin()
            await call.says()
            assert call.lines == ["assistant: Hi."]

    run_virtual(main())


def test_turns_are_ended_by_the_sessions_detector_where_the_model_does_not() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["It is noon."], hears=["what time is it"], capabilities=LISTENS_ONLY)
        async with Call(model, vad=FakeVAD()) as call:
            await call.begin()
            await call.says()
            assert call.lines == ["user: what time is it", "assistant: It is noon."]
            assert not model.requests[0].unasked
            assert model.requests[0].conversation == ["user: (what time is it)"]

    run_virtual(main())


def test_a_tool_is_called_and_its_result_spoken() -> None:
    async def main() -> None:
        model = FakeRealtimeModel([Reply("Let me see.", [("time", {})]), "It is noon."], hears=["what time is it"])
        async with Call(model) as call:
            await call.begin(Clock())
            await call.says(then=5.0)
            expected = ["call time({})", "output time: noon here", "assistant: It is noon."]
            assert call.lines[-3:] == expected
            assert "assistant: Let me see." in call.lines
            assert [request.unasked for request in model.requests] == [True, False]

    run_virtual(main())


def test_parallel_calls_are_answered_together() -> None:
    async def main() -> None:
        calls = [("time", {"place": "here"}), ("time", {"place": "there"})]
        model = FakeRealtimeModel([Reply("", calls), "Noon in both."], hears=["what time is it"])
        async with Call(model) as call:
            agent = Clock()
            await call.begin(agent)
            await call.says(then=5.0)
            assert agent.looked == 2 and len(model.requests) == 2
            outputs = [line for line in model.requests[1].conversation if line.startswith("output")]
            assert outputs == ["output time: noon here", "output time: noon there"]
            assert call.lines[-1] == "assistant: Noon in both."

    run_virtual(main())


def test_results_that_the_model_answers_by_itself_are_not_asked_about() -> None:
    async def main() -> None:
        script: list[RealtimeTurn] = [Reply("", [("time", {})]), "It is noon."]
        model = FakeRealtimeModel(script, hears=["what time is it"], capabilities=SELF_ANSWERING)
        async with Call(model) as call:
            await call.begin(Clock())
            await call.says(then=5.0)
            assert [request.unasked for request in model.requests] == [True, True]
            assert call.lines[-1] == "assistant: It is noon."

    run_virtual(main())


def test_rounds_of_tools_are_bounded() -> None:
    async def main() -> None:
        again = Reply("", [("time", {})])
        model = FakeRealtimeModel([again, again, "It is noon, I think."], hears=["what time is it"])
        async with Call(model, max_tool_steps=2) as call:
            await call.begin(Clock())
            await call.says(then=6.0)
            assert [request.tool_choice for request in model.requests] == [None, None, "none"]
            assert call.lines[-1] == "assistant: It is noon, I think."

    run_virtual(main())


def test_a_tool_that_asks_for_no_reply_gets_none_and_the_model_its_output() -> None:
    class Quiet(Agent):
        @function_tool
        async def note(self) -> None:
            """Note."""

    async def main() -> None:
        model = FakeRealtimeModel(
            [Reply("Noted.", [("note", {})]), "You are welcome."],
            hears=["write this down"],
            capabilities=SELF_ANSWERING,
            stubborn=True,
        )
        async with Call(model) as call:
            await call.begin(Quiet())
            await call.says(then=5.0)
            assert [line for line in call.known if line.startswith("output")]
            assert "assistant: You are welcome." not in call.lines

    run_virtual(main())


def test_what_was_not_heard_is_cut_from_the_models_memory() -> None:
    async def main() -> None:
        model = FakeRealtimeModel([LONG, "Yes?"], hears=["tell me", "wait"])
        async with Call(model) as call:
            await call.begin()
            await call.says(then=2.5)
            await call.says(then=3.0)
            cut = [item for item in call.session.history.messages() if item.interrupted]
            assert len(cut) == 1 and cut[0].text_content and LONG.startswith(cut[0].text_content)
            (response, heard), *_ = model.sessions[0].truncated
            sounded = call.speaker.sounds[0].duration
            assert response == "response_1" and heard == pytest.approx(sounded, abs=0.1)
            assert call.known[1].startswith("assistant: This is") and len(call.known[1]) < len(LONG) - 20
            assert call.lines[-2:] == ["user: wait", "assistant: Yes?"]

    run_virtual(main())


def test_a_voice_silences_the_agent_before_the_turn_is_over() -> None:
    async def main() -> None:
        model = FakeRealtimeModel([LONG, "Yes?"], hears=["tell me", "wait"])
        async with Call(model) as call:
            await call.begin()
            await call.says(then=2.5)
            began = asyncio.get_running_loop().time()
            await call.says(2.0, then=3.0)
            assert call.speaker.log[0][0] - began < 0.1

    run_virtual(main())


def test_a_call_that_the_caller_spoke_over_gets_an_output_all_the_same() -> None:
    class Slow(Agent):
        @function_tool
        async def look(self) -> str:
            """Look."""
            await asyncio.sleep(30)
            return "found"

    async def main() -> None:
        model = FakeRealtimeModel(
            [Reply("One moment, I will have a look.", [("look", {})]), "Alright."], hears=["look it up", "never mind"]
        )
        async with Call(model) as call:
            await call.begin(Slow())
            await call.says(then=2.0)
            await call.says(then=3.0)
            assert call.lines[-2:] == ["user: never mind", "assistant: Alright."]
            assert not [line for line in call.lines if line.startswith("call")]
            calls = [line for line in call.known if line.startswith(("call look", "error look"))]
            assert len(calls) == 2

    run_virtual(main())


def test_a_model_may_speak_up_by_itself() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Are you still there?"])
        async with Call(model) as call:
            await call.begin()
            await asyncio.sleep(1.0)
            model.sessions[0].speak_up()
            await asyncio.sleep(3.0)
            assert call.lines == ["assistant: Are you still there?"]

    run_virtual(main())


def test_a_model_that_speaks_up_while_the_agent_speaks_is_not_heard() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Are you still there?"])
        async with Call(model, tts=FakeTTS()) as call:
            await call.begin()
            call.session.say(LONG, allow_interruptions=False)
            await asyncio.sleep(1.0)
            model.sessions[0].speak_up()
            await call.session.wait_for_idle()
            await asyncio.sleep(1.0)
            assert call.lines == [f"assistant: {LONG}"]
            assert model.sessions[0].interruptions == 1
            assert model.sessions[0].truncated == [("response_1", 0.0)]

    run_virtual(main())


def test_a_hook_reads_the_words_and_may_leave_the_turn_unanswered() -> None:
    class Deaf(Agent):
        async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None:
            if "secret" in (new_message.text_content or ""):
                raise StopResponse

    async def main() -> None:
        model = FakeRealtimeModel(["I heard that.", "Hi."], hears=["it is a secret", "hello"])
        async with Call(model) as call:
            await call.begin(Deaf())
            await call.says()
            await call.says()
            assert call.lines == ["user: it is a secret", "user: hello", "assistant: Hi."]

    run_virtual(main())


def test_a_typed_turn_is_told_to_the_model() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Noon."])
        async with AgentSession[Any](llm=model) as session:
            await session.start(Agent())
            await session.run(user_input="what time is it")
            assert transcript(session.history) == ["user: what time is it", "assistant: Noon."]
            assert model.requests[0].conversation == ["user: what time is it"]

    run_virtual(main())


def test_a_greeting_is_asked_for_with_instructions() -> None:
    class Polite(Agent):
        async def on_enter(self) -> None:
            self.session.generate_reply(instructions="Greet the caller.")

    async def main() -> None:
        model = FakeRealtimeModel(["Good morning."])
        async with Call(model) as call:
            await call.begin(Polite())
            await asyncio.sleep(2.0)
            assert call.lines == ["assistant: Good morning."]
            assert model.requests[0].instructions == "Greet the caller."

    run_virtual(main())


def test_a_text_to_say_is_spoken_by_the_model_where_there_is_no_other_voice() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Welcome to the bank."])
        async with Call(model) as call:
            await call.begin()
            await call.session.say("Welcome to the bank.")
            assert call.lines == ["assistant: Welcome to the bank."]
            assert "Welcome to the bank." in (model.requests[0].instructions or "")

    run_virtual(main())


def test_a_context_given_at_first_is_told_without_torn_pairs() -> None:
    earlier = ChatContext(
        [
            FunctionCallOutput(call_id="a", name="look", output="Its call was cut off."),
            ChatMessage("user", "Look."),
            FunctionCall(call_id="b", name="look", arguments="{}"),
            FunctionCallOutput(call_id="b", name="look", output="Seen."),
            FunctionCall(call_id="c", name="look", arguments="{}"),
        ]
    )

    async def main() -> None:
        model = FakeRealtimeModel(["Hello."])
        async with Call(model) as call:
            await call.begin(Agent(chat_ctx=earlier))
            await call.session.generate_reply()
            assert transcript(model.sessions[0].chat_ctx)[:3] == ["user: Look.", "call look({})", "output look: Seen."]
            check_pairs(model.sessions[0].chat_ctx)

    run_virtual(main())


def test_an_agent_that_is_handed_over_to_talks_to_a_session_of_its_own() -> None:
    class Second(Agent):
        async def on_enter(self) -> None:
            self.session.generate_reply()

    class First(Agent):
        @function_tool
        async def transfer(self, ctx: RunContext[Any]) -> Agent:
            """Transfer."""
            return Second(instructions="You are the second.", chat_ctx=self.chat_ctx)

    async def main() -> None:
        model = FakeRealtimeModel(
            [Reply("I connect you.", [("transfer", {})]), "Second here.", "Noon."],
            hears=["the second please", "what time is it"],
        )
        async with Call(model) as call:
            await call.begin(First(instructions="You are the first."))
            await call.says(then=5.0)
            await call.says()
            first, second = model.sessions
            assert first.closed and second.instructions == "You are the second."
            assert call.lines[-3:] == ["assistant: Second here.", "user: what time is it", "assistant: Noon."]
            assert "user: (what time is it)" in transcript(second.chat_ctx)

    run_virtual(main())


def test_an_agent_with_another_kind_of_model_is_refused() -> None:
    async def main() -> None:
        async with Call(FakeRealtimeModel()) as call:
            await call.begin()
            with pytest.raises(UsageError, match="cannot be in one session"):
                call.session.update_agent(Agent(llm=FakeLLM()))

    run_virtual(main())


@pytest.mark.parametrize("capabilities", [RealtimeCapabilities(), SELF_ANSWERING])
def test_a_call_ends_after_the_goodbye(capabilities: RealtimeCapabilities) -> None:
    async def main() -> None:
        script: list[RealtimeTurn] = [Reply("", [("end_call", {})]), "Goodbye, and thank you."]
        model = FakeRealtimeModel(script, hears=["that is all"], capabilities=capabilities)
        async with Call(model) as call:
            await call.begin(Agent(tools=[EndCallTool()]))
            await call.says(then=8.0)
            assert call.lines[-1] == "assistant: Goodbye, and thank you."
            assert call.closed == ["user_initiated"]

    run_virtual(main())


def test_a_model_that_is_to_say_goodbye_by_itself_has_five_seconds_for_it() -> None:
    class Mute(FakeRealtimeSession):
        def submit_outputs(self, outputs: Sequence[FunctionCallOutput], *, reply: bool = True) -> None:
            super().submit_outputs(outputs, reply=False)

    class Model(FakeRealtimeModel):
        def session(self, setup: RealtimeSetup) -> FakeRealtimeSession:
            return Mute(self, setup)

    async def main() -> None:
        model = Model([Reply("", [("end_call", {})])], hears=["that is all"], capabilities=SELF_ANSWERING)
        async with Call(model) as call:
            await call.begin(Agent(tools=[EndCallTool()]))
            await call.says(then=4.0)
            assert not call.closed
            await asyncio.sleep(5.0)
            assert call.closed == ["user_initiated"]
            assert not [line for line in call.lines if line.startswith("assistant")]

    run_virtual(main())


def test_a_call_ends_without_a_goodbye_where_none_is_wanted() -> None:
    async def main() -> None:
        script: list[RealtimeTurn] = [Reply("", [("end_call", {})])]
        model = FakeRealtimeModel(script, hears=["that is all"], capabilities=SELF_ANSWERING)
        async with Call(model) as call:
            await call.begin(Agent(tools=[EndCallTool(end_instructions=None)]))
            await call.says(then=6.0)
            assert call.closed == ["user_initiated"]

    run_virtual(main())


def test_goodbye_to_a_goodbye_does_not_keep_the_call_open() -> None:
    async def main() -> None:
        script: list[RealtimeTurn] = [Reply("", [("end_call", {})]), "Goodbye.", "Bye again."]
        model = FakeRealtimeModel(script, hears=["that is all", "bye bye"])
        async with Call(model) as call:
            await call.begin(Agent(tools=[EndCallTool()]))
            await call.says(then=1.6)
            await call.says(0.5, then=3.0)
            assert call.lines[-2:] == ["assistant: Goodbye.", "user: bye bye"]
            assert call.closed == ["user_initiated"]

    run_virtual(main())


def test_a_response_that_fails_is_spoken_about() -> None:
    async def main() -> None:
        error = ProviderError("the model is overloaded")
        model = FakeRealtimeModel([Fail(error), "Sorry, again please."], hears=["hello"])
        async with Call(model, failure_line="Sorry, again please.") as call:
            await call.begin()
            await call.says(then=4.0)
            assert call.errors == [error]
            assert call.lines == ["user: hello", "assistant: Sorry, again please."]

    run_virtual(main())


def test_a_session_that_breaks_is_opened_again_with_what_was_said() -> None:
    async def main() -> None:
        error = ProviderConnectionError("the line is dead")
        model = FakeRealtimeModel(
            ["Hi.", Break(error, "It is"), "Sorry.", "Noon."], hears=["hello", "time", "time?"], delay=0.05
        )
        async with Call(model, failure_line="Sorry.") as call:
            await call.begin()
            await call.says()
            await call.says(then=6.0)
            assert call.errors == [error] and len(model.sessions) == 2
            await call.says()
            assert call.lines[-2:] == ["user: time?", "assistant: Noon."]
            assert call.known[:3] == ["user: hello", "assistant: Hi.", "user: time"]
        assert call.closed == ["user_initiated"]

    run_virtual(main())


def test_a_model_that_cannot_be_used_ends_the_call() -> None:
    async def main() -> None:
        model = FakeRealtimeModel()
        async with Call(model) as call:
            await call.begin()
            await asyncio.sleep(0.1)
            model.sessions[0].hang_up(ProviderError("no such key", retryable=False))
            await asyncio.sleep(3.0)
            assert call.closed == ["error"] and len(call.errors) == 1

    run_virtual(main())


def test_closing_ends_the_models_session() -> None:
    async def main() -> None:
        model = FakeRealtimeModel([Hang("Well, ")], hears=["hello"])
        async with Call(model) as call:
            await call.begin()
            await call.says(then=1.0)
        assert model.sessions[0].closed

    run_virtual(main())


def test_a_detector_of_our_own_silences_the_agent_sooner_than_the_model() -> None:
    async def main() -> None:
        model = FakeRealtimeModel([LONG, "Yes?"], hears=["tell me", "wait"])
        async with Call(model, vad=FakeVAD(start_delay=0.02)) as call:
            await call.begin()
            await call.says(then=2.5)
            await call.says(then=3.0)
            assert [what for _, what in call.speaker.log].count("pause") == 1
            assert call.lines[-2:] == ["user: wait", "assistant: Yes?"]

    run_virtual(main())


def test_a_cough_does_not_end_what_the_agent_says() -> None:
    async def main() -> None:
        model = FakeRealtimeModel([LONG], hears=["tell me"], capabilities=LISTENS_ONLY)
        async with Call(model, vad=FakeVAD()) as call:
            await call.begin()
            await call.says(then=2.5)
            await call.microphone.speak(0.1)
            await asyncio.sleep(9.0)
            assert call.lines == ["user: tell me", f"assistant: {LONG}"]

    run_virtual(main())


def test_push_to_talk_commits_what_the_model_heard() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Noon."], hears=["what time is it"], capabilities=LISTENS_ONLY)
        async with Call(model, vad=FakeVAD(), turn_detection="manual") as call:
            await call.begin()
            await call.says(then=2.0)
            assert not model.requests
            call.session.commit_user_turn()
            await asyncio.sleep(2.0)
            assert call.lines == ["user: what time is it", "assistant: Noon."]

    run_virtual(main())


@pytest.mark.parametrize("mutable", [True, False])
def test_changed_instructions_and_tools_count_from_the_next_response_on(mutable: bool) -> None:
    @function_tool
    async def extra() -> str:
        """Extra."""
        return "done"

    async def main() -> None:
        can = RealtimeCapabilities(mutable_instructions=mutable, mutable_tools=mutable)
        model = FakeRealtimeModel(["One.", "Two."], capabilities=can)
        async with AgentSession[Any](llm=model) as session:
            agent = Agent(instructions="old")
            await session.start(agent)
            await session.run(user_input="first")
            await agent.update_instructions("new")
            await agent.update_tools([extra])
            await session.run(user_input="second")
            latest = model.sessions[-1]
            assert len(model.sessions) == (1 if mutable else 2)
            told = instructions_told("new", has_tools=True)
            assert latest.instructions == told and [tool.id for tool in latest.tools] == ["extra"]
            assert transcript(latest.chat_ctx) == ["user: first", "assistant: One.", "user: second", "assistant: Two."]

    run_virtual(main())


def test_a_model_that_takes_no_items_gets_a_new_session_for_them() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["One.", "Two."], capabilities=RealtimeCapabilities(mutable_chat_context=False))
        async with AgentSession[Any](llm=model) as session:
            await session.start(Agent())
            await session.run(user_input="first")
            await session.run(user_input="second")
            known = transcript(model.sessions[-1].chat_ctx)
            assert known == ["user: first", "assistant: One.", "user: second", "assistant: Two."]

    run_virtual(main())


def test_a_model_that_gives_text_is_spoken_by_the_agents_voice() -> None:
    async def main() -> None:
        can = RealtimeCapabilities(audio_output=False)
        model = FakeRealtimeModel(["It is noon."], hears=["what time is it"], capabilities=can)
        async with Call(model, tts=FakeTTS()) as call:
            await call.begin()
            await call.says()
            assert call.lines == ["user: what time is it", "assistant: It is noon."] and call.speaker.sounds

    run_virtual(main())


def test_an_agents_node_may_change_the_models_sound() -> None:
    class Muffled(Agent):
        async def realtime_audio_output_node(
            self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings
        ) -> AsyncIterator[AudioFrame]:
            async for frame in audio:
                yield frame
                yield frame

    async def main() -> None:
        async with Call(FakeRealtimeModel(["It is noon."], hears=["what time is it"])) as call:
            await call.begin(Muffled())
            await call.says()
            assert call.speaker.sounds[0].duration == pytest.approx(2 * len("It is noon.") / 15, abs=0.05)

    run_virtual(main())


@pytest.mark.parametrize("voice", [None, FakeTTS()], ids=["the model", "a voice"])
def test_an_answer_whose_sound_a_node_swallows_is_said_once_more_past_it(voice: FakeTTS | None) -> None:
    class Swallowing(Agent):
        async def realtime_audio_output_node(
            self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings
        ) -> AsyncIterator[AudioFrame]:
            async for frame in audio:
                if frame.sample_rate == 0:
                    yield frame

    async def main() -> None:
        model = FakeRealtimeModel(["It is noon.", "It is noon."], hears=["what time is it"])
        async with Call(model, **({} if voice is None else {"tts": voice})) as call:
            await call.begin(Swallowing())
            await call.says()
            assert call.lines == ["user: what time is it", "assistant: It is noon."]
            assert call.speaker.sounds
            assert len(call.errors) == 1 and "no sound" in str(call.errors[0])
        assert len(model.script) == (0 if voice is None else 1)

    run_virtual(main())


def test_what_is_thrown_away_is_no_turn() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(hears=["never mind"], capabilities=LISTENS_ONLY)
        async with Call(model, vad=FakeVAD()) as call:
            await call.begin()
            await call.says(then=0.4)
            call.session.clear_user_turn()
            await asyncio.sleep(2.0)
            assert not call.lines and model.hears

    run_virtual(main())


def test_a_task_talks_to_a_session_of_its_own_and_gives_the_floor_back() -> None:
    class AskName(AgentTask[str]):
        def __init__(self) -> None:
            super().__init__(instructions="Ask for the name.")

        async def on_enter(self) -> None:
            self.session.generate_reply()

        @function_tool
        async def set_name(self, name: str) -> None:
            """Name."""
            self.complete(name)

    class Host(Agent):
        @function_tool
        async def book(self) -> str:
            """Book."""
            return f"Booked for {await AskName()}"

    async def main() -> None:
        script: list[RealtimeTurn] = [
            Reply("", [("book", {})]),
            "What is your name?",
            Reply("", [("set_name", {"name": "Ada"})]),
            "Your table is booked, Ada.",
        ]
        model = FakeRealtimeModel(script, hears=["a table please", "Ada"])
        async with Call(model) as call:
            await call.begin(Host())
            await call.says(then=4.0)
            await call.says(then=5.0)
            assert call.lines == [
                "user: a table please",
                "assistant: What is your name?",
                "user: Ada",
                'call set_name({"name": "Ada"})',
                "output set_name: ",
                "call book({})",
                "output book: Booked for Ada",
                "assistant: Your table is booked, Ada.",
            ]
            first, second = model.sessions
            told = instructions_told("Ask for the name.", has_tools=True)
            assert not first.closed and second.closed and second.instructions == told

    run_virtual(main())


def test_what_the_model_says_while_the_caller_goes_on_is_replaced() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(
            ["A table for", "For two, tomorrow."], hears=["a table", "for two, tomorrow"], ttft=0.4
        )
        async with Call(model) as call:
            await call.begin()
            await call.microphone.speak(0.6)
            await asyncio.sleep(0.6)
            await call.microphone.speak(0.8)
            await asyncio.sleep(4.0)
            assert call.lines[-1] == "assistant: For two, tomorrow."
            assert call.lines[:2] == ["user: a table", "user: for two, tomorrow"]

    run_virtual(main())


@pytest.mark.parametrize("listens_only", [False, True])
def test_a_turn_that_begins_before_a_handoff_is_heard_whole_by_the_next_agent(listens_only: bool) -> None:
    class Host(Agent):
        @function_tool
        async def transfer(self) -> Agent:
            """Transfer."""
            await asyncio.sleep(1.0)
            return Agent()

    async def main() -> None:
        caller = Caller()
        capabilities = LISTENS_ONLY if listens_only else RealtimeCapabilities()
        script: list[RealtimeTurn] = [Reply("", [("transfer", {})]), "A table for two.", "As you like."]
        model = FakeRealtimeModel(script, hears=caller, capabilities=capabilities)
        async with SimulatedCall(model, caller=caller, vad=FakeVAD() if listens_only else None) as call:
            await call.start(Host())
            call.session.submit_user_turn("Who takes reservations?")
            await asyncio.sleep(0.5)
            await caller.says("I need a table for two")  # the transfer is made in the middle of it
            await call.settled()
            said = [m.text_content for m in call.session.history.messages() if m.role == "user"]
            assert said == ["Who takes reservations?", "I need a table for two"]
            assert len(model.sessions) == 2

    run_virtual(main())


def test_what_is_said_while_a_broken_session_is_opened_anew_is_heard_by_the_new_one() -> None:
    async def main() -> None:
        caller = Caller()
        model = FakeRealtimeModel(["A table for two."], hears=caller)
        async with SimulatedCall(model, caller=caller) as call:
            await call.start(Agent())
            await asyncio.sleep(1.0)
            model.sessions[0].hang_up()
            await asyncio.sleep(0.1)
            await caller.says("I need a table for two")
            await call.settled()
            assert transcript(call.session.history) == ["user: I need a table for two", "assistant: A table for two."]

    run_virtual(main())


def test_a_model_that_answers_unasked_knows_what_the_agent_said_without_it() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Chess it is."], hears=["the second"])
        async with Call(model, tts=FakeTTS()) as call:
            await call.begin()
            await call.session.say("Cards or chess?")
            await call.says()
            assert model.requests[0].unasked
            assert model.requests[0].conversation == ["assistant: Cards or chess?", "user: (the second)"]

    run_virtual(main())


def test_a_model_that_answers_unasked_knows_what_was_typed_while_the_caller_spoke() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Two notebooks.", ""], hears=["make it two"])
        async with Call(model) as call:
            await call.begin()
            await call.microphone.speak(0.5)
            call.session.submit_user_turn("a notebook")
            await call.says()
            assert model.requests[0].unasked
            assert model.requests[0].conversation == ["user: a notebook", "user: (make it two)"]

    run_virtual(main())


def test_what_the_agent_said_stands_before_the_turn_that_answers_it() -> None:
    async def main() -> None:
        model = FakeRealtimeModel(["Chess it is."], hears=["the second"], capabilities=LISTENS_ONLY)
        async with Call(model, tts=FakeTTS(), vad=FakeVAD()) as call:
            await call.begin()
            await call.session.say("Cards or chess?")
            await call.says()
            assert model.requests[0].conversation == ["assistant: Cards or chess?", "user: (the second)"]

    run_virtual(main())


def test_the_history_of_a_call_has_words_that_were_still_to_come_when_it_ended() -> None:
    async def main() -> None:
        async with Call(FakeRealtimeModel(["Hi."], hears=["hello"], delay=1.5)) as call:
            await call.begin()
            await call.says(then=1.3)
            assert call.lines == []
            await call.session.aclose()
            assert call.lines == ["user: hello", "assistant: Hi."]

    run_virtual(main())


def test_a_voice_that_began_over_another_agent_silences_the_one_that_is_back() -> None:
    class Host(Agent):
        @function_tool
        async def ask(self) -> str:
            """Ask."""
            await asyncio.sleep(1.0)
            return await Question()

    class Question(AgentTask[str]):
        async def on_enter(self) -> None:
            await asyncio.sleep(3.0)
            self.complete("ten")

    async def main() -> None:
        caller = Caller()

        def respond(request: RealtimeRequest) -> RealtimeTurn:
            return Reply("", [("ask", {})]) if request.conversation == ["user: when is it"] else LONG

        model = FakeRealtimeModel(respond, hears=caller)
        async with SimulatedCall(model, caller=caller) as call:
            await call.start(Host())
            call.session.submit_user_turn("when is it")
            await asyncio.sleep(0.9)
            await caller.coughs(0.5)  # it goes on when the question is asked
            await asyncio.sleep(3.0)
            await caller.says("wait a moment please")
            await call.settled()
            assert 0.0 < call.timeline.crosstalk() < 0.2

    run_virtual(main())


def test_a_turn_that_makes_way_for_a_handoff_gets_its_words_later() -> None:
    class Host(Agent):
        @function_tool
        async def transfer(self) -> Agent:
            """Transfer."""
            return Agent()

    async def main() -> None:
        model = FakeRealtimeModel(
            [Reply(LONG, [("transfer", {})]), *["Here I am."] * 5], hears=["to the kitchen please"], delay=0.5
        )
        async with Call(model, vad=FakeVAD()) as call:
            await call.begin(Host())
            call.session.submit_user_turn("put me through")
            await asyncio.sleep(2.0)
            await call.says(0.3, then=5.0)
            users = [message.text_content for message in call.session.history.messages() if message.role == "user"]
            assert users == ["put me through", "to the kitchen please"]

    run_virtual(main())
