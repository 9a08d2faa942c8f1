"""A voice node that gives no sound: the caller never waits in silence, and nothing counts as said that nobody heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from pydantic_core import from_json

from antiphon import (
    Agent,
    AgentSession,
    AgentTask,
    AsyncRunContext,
    AsyncToolset,
    EndCallTool,
    RunContext,
    function_tool,
)
from antiphon.audio import AudioFrame
from antiphon.options import ModelSettings
from antiphon.testing import Fail, FakeLLM, FakeTTS, Reply, SimulatedCall, now, run_virtual
from antiphon.tts import SynthesizedAudio
from tests.situations.calls import REACTION, calling, lines, longest_silence, model, reaction, said

JSON = '{"voice_instructions": "warm", "response": "All right then."}'
FAILURE = "I'm sorry, something went wrong on my side. Could you say that again?"
FALLBACK = "I'm sorry, I couldn't work that out. Could you say it another way?"


class Structured(Agent):
    """Speaks one field of JSON, and tells the voice how, as seed 001 has it printed. All else it swallows."""

    async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        async def spoken() -> AsyncIterator[str]:
            whole = last = ""
            async for chunk in text:
                whole += chunk
                try:
                    said = from_json(whole, allow_partial="trailing-strings")
                except ValueError:
                    continue
                if said.get("voice_instructions") and said.get("response"):
                    self.tts.update_options(instructions=said["voice_instructions"])
                response = said.get("response") or ""
                if new := response[len(last) :]:
                    yield new
                last = response

        return Agent.default.tts_node(self, spoken(), model_settings)


class Swallowing(Agent):
    """Reads all, and gives nothing."""

    async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        async for _ in text:
            pass
        for _ in ():
            yield AudioFrame.silence(0.1, 24_000)


class Raising(Agent):
    async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        raise ValueError("no voice node today")


class Empty(Agent):
    """Gives frames without a sample."""

    async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        async for _ in text:
            yield AudioFrame(b"", 24_000)


class Nothing(Agent):
    def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        return None


class Hanging(Agent):
    """Reads all, and goes on for ever; it does not even end when it is cancelled once."""

    async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        async for _ in text:
            pass
        for _ in range(2):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)
        for _ in ():
            yield AudioFrame.silence(0.1, 24_000)


class FirstLost(Agent):
    """Drops the first text of a call."""

    lost = False

    async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        first, self.lost = not self.lost, True
        async for frame in Agent.default.tts_node(self, text, model_settings):
            if not first:
                yield frame


BROKEN = [Swallowing, Raising, Empty, Nothing, FirstLost]


async def answered(agent: Agent, script: list[Any], *, within: float = REACTION + 0.1, **options: Any) -> SimulatedCall:
    """One turn of the caller; the agent is heard soon after it."""
    async with calling(model(script), **options) as call:
        await call.start(agent)
        asked = await call.caller.says("please do it for me")
        await call.settled()
    assert reaction(call, asked) <= within, lines(call.session)
    return call


# -- the agent of seed 001


@pytest.mark.parametrize(
    ("answer", "heard"),
    [(JSON, "All right then."), ("All right then.", "All right then."), (Fail(RuntimeError("down")), FAILURE)],
    ids=["JSON", "plain text", "no answer"],
)
def test_an_agent_that_speaks_json_is_heard_whatever_the_model_answers(answer: Any, heard: str) -> None:
    call = run_virtual(answered(Structured(), [answer]))
    assert said(call.session, "assistant") == [heard]


def test_what_an_application_says_in_plain_words_is_heard_by_an_agent_that_speaks_json() -> None:
    async def main() -> None:
        async with calling(model()) as call:
            await call.start(Structured())
            asked = now()
            await call.session.say("One moment please.")
            begins = call.timeline.agent_begins(asked)
        assert begins is not None and begins - asked < 0.2
        assert said(call.session) == ["One moment please."]

    run_virtual(main())


def test_a_wait_is_bridged_for_an_agent_that_speaks_json() -> None:
    @function_tool
    async def work() -> str:
        """Do it."""
        await asyncio.sleep(6)
        return "done"

    async def main() -> None:
        async with calling(model([Reply(calls=[("work", {})]), JSON])) as call:
            await call.start(Structured(tools=[work]))
            asked = await call.caller.says("please do it for me")
            await call.settled()
        assert longest_silence(call, asked.end) < 2.6
        assert said(call.session, "assistant") == ["All right then."]

    run_virtual(main())


def test_a_write_told_in_json_that_cannot_be_said_stays_owed() -> None:
    @function_tool(effect="writes")
    async def book() -> str:
        """Book it."""
        return "number 4711"

    broken = '{"voice_instructions": "warm"}'
    script = [Reply(calls=[("book", {})]), broken, '{"response": "It is number 4711."}']
    call = run_virtual(answered(Structured(tools=[book]), script))
    assert said(call.session, "assistant") == [FALLBACK, "It is number 4711."]


# -- nodes that break


@pytest.mark.parametrize("agent", BROKEN)
def test_an_answer_that_the_node_loses_is_said_once_more_by_the_voice(agent: type[Agent]) -> None:
    call = run_virtual(answered(agent(), ["Your booking is done."]))
    assert said(call.session, "assistant") == ["Your booking is done."]


def test_an_answer_whose_node_hangs_is_said_once_more_by_the_voice() -> None:
    call = run_virtual(answered(Hanging(), ["Your booking is done."], max_silence=None, within=5.0))
    assert said(call.session, "assistant") == ["Your booking is done."]


def test_what_comes_after_the_first_word_may_be_lost_too() -> None:
    class SecondLost(Agent):
        texts = 0

        async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
            self.texts += 1
            if self.texts == 2:
                raise ValueError("the second text")
            async for frame in Agent.default.tts_node(self, text, model_settings):
                yield frame

    @function_tool
    async def look() -> str:
        """Look."""
        return "two are free"

    script = [Reply("Let me see.", calls=[("look", {})]), "Two are free."]
    call = run_virtual(answered(SecondLost(tools=[look]), script))
    assert said(call.session, "assistant") == ["Let me see.", "Two are free."]


def test_captions_that_a_node_swallows_take_nothing_from_the_sound() -> None:
    class Uncaptioned(Agent):
        async def transcription_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
            async for _ in text:
                pass
            for _ in ():
                yield ""

    call = run_virtual(answered(Uncaptioned(), ["Two are free."]))
    assert said(call.session, "assistant") == ["Two are free."]


@pytest.mark.parametrize("agent", BROKEN)
def test_a_lost_text_is_an_error_that_names_the_agent(agent: type[Agent]) -> None:
    async def main() -> None:
        errors: list[str] = []
        async with calling(model(["Your booking is done."])) as call:
            call.session.on("error", lambda event: errors.append(str(event.error)))
            await call.start(agent())
            await call.caller.says("please do it for me")
            await call.settled()
        (error,) = errors
        assert "no voice node today" in error or ("no sound" in error and "Your booking is done." in error)

    run_virtual(main())


def test_a_text_that_no_voice_gives_sound_for_is_not_recorded() -> None:
    class Dumb(FakeTTS):
        async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
            for _ in ():
                yield SynthesizedAudio(AudioFrame.silence(0.1, 24_000))

    async def main() -> None:
        async with calling(model(["Your booking is done."]), tts=Dumb()) as call:
            await call.start(Agent())
            await call.caller.says("please do it for me")
            await asyncio.sleep(20)
        assert lines(call.session) == ["user: please do it for me"]
        assert not call.timeline.agent

    run_virtual(main())


@pytest.mark.parametrize("agent", BROKEN)
def test_a_goodbye_that_the_node_loses_is_heard_and_ends_the_call(agent: type[Agent]) -> None:
    async def main() -> None:
        ended: list[float] = []
        async with calling(model([Reply(calls=[("end_call", {})]), "Goodbye, take care."])) as call:
            call.session.on("close", lambda _: ended.append(now()))
            await call.start(agent(tools=[EndCallTool()]))
            asked = await call.caller.says("that is all thank you")
            await asyncio.sleep(10)
            assert ended and ended[0] - asked.end < 8
        assert said(call.session, "assistant") == ["Goodbye, take care."]

    run_virtual(main())


@pytest.mark.parametrize("agent", BROKEN)
def test_a_result_from_the_background_is_heard_through_a_node_that_loses_it(agent: type[Agent]) -> None:
    @function_tool
    async def fetch(ctx: AsyncRunContext) -> str:
        """Fetch it."""
        await ctx.update("I am on it")
        await asyncio.sleep(5)
        return "forty two"

    async def main() -> None:
        script: list[Any] = [Reply(calls=[("fetch", {})]), "I am looking.", "It is forty two."]
        async with calling(model(script)) as call:
            await call.start(agent(tools=[AsyncToolset(id="tools", tools=[fetch])]))
            await call.caller.says("please fetch it for me")
            await asyncio.sleep(15)
        assert said(call.session, "assistant") == ["I am looking.", "It is forty two."]

    run_virtual(main())


@pytest.mark.parametrize("agent", BROKEN)
def test_the_question_of_a_task_is_heard_through_a_node_that_loses_it(agent: type[Agent]) -> None:
    class Name(AgentTask[str]):
        tts_node = agent.tts_node
        lost = False

        def __init__(self) -> None:
            super().__init__(instructions="Ask for the name.")

        async def on_enter(self) -> None:
            self.session.generate_reply(instructions="Ask for the name.")

        @function_tool
        async def take(self, name: str) -> None:
            """Take the name."""
            self.complete(name)

    @function_tool
    async def book(ctx: RunContext) -> str:
        """Book it."""
        return f"booked for {await Name()}"

    async def main() -> None:
        script: list[Any] = [
            Reply(calls=[("book", {})]),
            "What is your name?",
            Reply(calls=[("take", {"name": "Ann"})]),
            "Booked for Ann.",
        ]
        async with calling(model(script)) as call:
            await call.start(agent(tools=[book]))
            await call.caller.says("book it for me please")
            await call.settled()
            await call.caller.says("my name is Ann")
            await call.settled()
        assert said(call.session, "assistant") == ["What is your name?", "Booked for Ann."]

    run_virtual(main())


def test_ready_made_sound_without_a_frame_gives_way_to_the_voice() -> None:
    async def silence() -> AsyncIterator[AudioFrame]:
        for _ in ():
            yield AudioFrame.silence(0.1, 24_000)

    async def main() -> None:
        async with calling(model()) as call:
            await call.start(Agent())
            await call.session.say("Welcome.", audio=silence())
        assert said(call.session) == ["Welcome."]
        assert call.timeline.agent

    run_virtual(main())


# -- read, not heard


@pytest.mark.parametrize("voice", [None, FakeTTS()], ids=["no voice", "a voice"])
def test_in_text_the_words_that_would_be_spoken_are_shown_and_kept(voice: FakeTTS | None) -> None:
    async def main() -> None:
        shown: list[str] = []
        async with AgentSession(llm=FakeLLM([JSON]), tts=voice) as session:
            session.on("agent_output_transcribed", lambda event: shown.append(event.transcript))
            await session.start(Structured())
            result = await session.run(user_input="please do it")
            result.expect.next_event().is_message(role="assistant")
            await session.say("One moment please.")
        assert said(session, "assistant") == ["All right then.", "One moment please."]
        assert session.history.messages()[1].extra["raw"] == JSON
        assert "All right then." in shown and not any("{" in text for text in shown)
        assert voice is None or not voice.said

    run_virtual(main())


@pytest.mark.parametrize(("answer", "read"), [("All is well.", "All is well."), (JSON, FALLBACK)])
def test_in_text_a_node_that_raises_leaves_the_reader_with_words(answer: str, read: str) -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM([answer])) as session:
            await session.start(Raising())
            await session.run(user_input="please do it")
        assert said(session, "assistant") == [read]

    run_virtual(main())


def test_in_text_a_node_with_a_voice_of_its_own_is_not_asked_for_all_its_sound() -> None:
    made: list[str] = []

    class Own(Agent):
        async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
            async for piece in text:
                made.append(piece)
                for _ in range(100):
                    yield AudioFrame.silence(0.1, 24_000)
                    made.append("sound")

    async def main() -> None:
        async with AgentSession(llm=FakeLLM(["All is well."])) as session:
            await session.start(Own())
            await session.run(user_input="please do it")
        assert said(session, "assistant") == ["All is well."]
        assert "sound" not in made

    run_virtual(main())
