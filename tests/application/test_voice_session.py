"""Whole conversations by voice, in virtual time: what the caller hears, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AudioFrame, ModelSettings, RunContext, SpeechEvent, UsageError, function_tool
from antiphon.errors import ProviderError
from antiphon.testing import (
    Fail,
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    FakeVAD,
    Reply,
    now,
    run_virtual,
    speech,
    transcript,
)

LONG = "This is a rather long answer that goes on for quite a while, so that there is time enough to interrupt it."


class Call:
    """A session with a caller at the other end."""

    def __init__(self, llm: FakeLLM, heard: list[Any], **options: Any) -> None:
        self.microphone = FakeMicrophone()
        self.speaker = FakeSpeaker()
        options.setdefault("tts", FakeTTS())
        self.session = AgentSession[Any](llm=llm, stt=FakeSTT(heard), vad=FakeVAD(), **options)

    async def __aenter__(self) -> Call:
        return self

    async def begin(self, agent: Agent) -> None:
        await self.session.start(agent, input=self.microphone, output=self.speaker)

    async def __aexit__(self, *_: object) -> None:
        await self.session.aclose()

    @property
    def said(self) -> list[str | None]:
        return [message.text_content for message in self.session.history.messages()]


def test_a_spoken_turn_is_answered_aloud() -> None:
    async def main() -> None:
        async with Call(FakeLLM(["It is noon."]), ["what time is it"]) as call:
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(1.0)
            await call.session.wait_for_idle()
            assert call.said == ["what time is it", "It is noon."]
            (caller,), (agent,) = call.microphone.sounds, call.speaker.sounds
            # endpointing 0.55 + model 0.1 + voice, from the last sound of the caller
            assert 0.65 <= agent.start - caller.end <= 0.95

    run_virtual(main())


def test_an_answer_to_a_tool_follows_the_words_before_it_without_a_gap() -> None:
    class Clock(Agent):
        @function_tool
        async def time(self) -> str:
            """Time."""
            await asyncio.sleep(0.3)
            return "noon"

    async def main() -> None:
        llm = FakeLLM([Reply("Let me have a look at the clock.", [("time", {})]), "It is noon."])
        async with Call(llm, ["what time is it"]) as call:
            await call.begin(Clock())
            await call.microphone.speak(1.0)
            await asyncio.sleep(1.0)
            await call.session.wait_for_idle()
            assert len(call.speaker.sounds) == 1
            assert call.said[1:] == ["Let me have a look at the clock.", "It is noon."]

    run_virtual(main())


def test_a_voice_silences_the_agent_in_the_frame_that_lets_it_be_heard() -> None:
    async def main() -> None:
        async with Call(FakeLLM(), ["wait a second please"]) as call:
            await call.begin(Agent())
            call.session.say(LONG)
            await asyncio.sleep(2.0)
            began = now()
            await call.microphone.speak(0.3)
            time, what = call.speaker.log[0]
            # The detector needs 0.05 s of voice, and frames are 0.02 s long.
            assert what == "pause" and time - began <= 0.08

    run_virtual(main())


def test_words_cut_the_agent_and_only_what_was_heard_is_kept() -> None:
    async def main() -> None:
        llm = FakeLLM(["Yes?"])
        async with Call(llm, ["wait a second please"]) as call:
            await call.begin(Agent())
            handle = call.session.say(LONG)
            await asyncio.sleep(2.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(1.0)
            await call.session.wait_for_idle()
            assert handle.interrupted
            cut = call.session.history.messages()[0]
            assert cut.interrupted and cut.text_content and LONG.startswith(cut.text_content)
            assert len(cut.text_content) < len(LONG) / 2
            assert call.said[1:] == ["wait a second please", "Yes?"]
            assert llm.histories[0][0] == f"assistant: {cut.text_content} [cut]"

    run_virtual(main())


def test_a_cough_pauses_and_the_agent_goes_on_at_the_cut_word() -> None:
    async def main() -> None:
        resumed: list[Any] = []
        async with Call(FakeLLM(), [""]) as call:
            call.session.on("agent_false_interruption", resumed.append)
            await call.begin(Agent())
            handle = call.session.say(LONG)
            await asyncio.sleep(2.0)
            await call.microphone.speak(0.2)
            await handle
            assert not handle.interrupted and len(resumed) == 1
            assert call.said == [LONG]
            before, after = call.speaker.sounds
            assert after.start - before.end >= 0.5
            # Nothing is lost, and what sounds twice is less than a word.
            await call.session.say(LONG)
            whole = call.speaker.sounds[-1]
            assert 0 <= before.duration + after.duration - whole.duration < 0.5

    run_virtual(main())


def test_what_is_said_over_protected_speech_is_answered_after_it() -> None:
    async def main() -> None:
        async with Call(FakeLLM(["Noted."]), ["one more thing please"]) as call:
            await call.begin(Agent())
            handle = call.session.say(LONG, allow_interruptions=False)
            await asyncio.sleep(1.0)
            await call.microphone.speak(1.0)
            await handle
            await call.session.wait_for_idle()
            assert not handle.interrupted
            assert call.said == [LONG, "one more thing please", "Noted."]
            assert "pause" not in [what for _, what in call.speaker.log]

    run_virtual(main())


def test_a_tool_that_was_spoken_over_leaves_the_history_and_learns_of_it() -> None:
    noticed: list[bool] = []

    class Slow(Agent):
        @function_tool
        async def search(self, ctx: RunContext) -> str | None:
            """Search."""
            work = asyncio.ensure_future(asyncio.sleep(20))
            await ctx.speech_handle.wait_if_not_interrupted([work])
            noticed.append(ctx.speech_handle.interrupted)
            work.cancel()
            late = ctx.session.say("Found it.")
            assert late.interrupted and late.done()
            return None

    async def main() -> None:
        dropped: list[Any] = []
        llm = FakeLLM([Reply("I will have a look.", [("search", {})]), "Alright."])
        async with Call(llm, ["search for a table", "never mind that"]) as call:
            call.session.on("tool_dropped", dropped.append)
            await call.begin(Slow())
            await call.microphone.speak(1.0)
            await asyncio.sleep(4.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.session.wait_for_idle()
            assert noticed == [True]
            assert [event.function_call.name for event in dropped] == ["search"]
            assert not any("call" in line for line in transcript(call.session.history))
            assert call.said[-1] == "Alright."

    run_virtual(main())


def test_a_call_that_must_not_be_interrupted_is_finished_and_answered_together_with_the_turn() -> None:
    class Writing(Agent):
        @function_tool
        async def order(self, ctx: RunContext) -> str:
            """Order."""
            ctx.disallow_interruptions()
            await asyncio.sleep(5)
            return "ordered"

    async def main() -> None:
        llm = FakeLLM([Reply("I order it.", [("order", {})]), "It is ordered, and yes, with cheese."])
        async with Call(llm, ["order a pizza", "and with cheese please"]) as call:
            await call.begin(Writing())
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(6.0)
            await call.session.wait_for_idle()
            assert transcript(call.session.history) == [
                "user: order a pizza",
                "assistant: I order it.",
                "call order({})",
                "output order: ordered",
                "user: and with cheese please",
                "assistant: It is ordered, and yes, with cheese.",
            ]

    run_virtual(main())


def test_markup_is_neither_spoken_nor_kept_but_the_raw_text_is() -> None:
    async def main() -> None:
        async with Call(FakeLLM(["It is **noon** now."]), []) as call:
            await call.begin(Agent())
            await call.session.generate_reply(user_input="Time?")
            message = call.session.history.messages()[-1]
            assert message.text_content == "It is noon now."
            assert message.extra["raw"] == "It is **noon** now."

    run_virtual(main())


class Shouting(Agent):
    def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        async def louder() -> AsyncIterator[str]:
            async for piece in text:
                yield piece.upper()

        return Agent.default.tts_node(self, louder(), model_settings)


def test_words_that_a_tts_node_changes_are_those_that_count() -> None:
    async def main() -> None:
        llm = FakeLLM(["It is noon."])
        async with Call(llm, []) as call:
            await call.begin(Shouting())
            await call.session.generate_reply(user_input="Time?")
            message = call.session.history.messages()[-1]
            assert message.text_content == "IT IS NOON." and not message.interrupted
            await call.session.say("Bye.")
            assert call.said[-1] == "BYE."

    run_virtual(main())


def test_a_slow_voice_does_not_delay_what_the_tools_say() -> None:
    asked: list[float] = []

    class Looking(Shouting):
        @function_tool
        async def look(self) -> str:
            """Look."""
            asked.append(now())
            return "found"

    async def main() -> None:
        llm = FakeLLM([Reply("One sentence. Another one. And a third one.", [("look", {})]), "Found."])
        async with Call(llm, [], tts=FakeTTS(ttfb=1.0, speed=1.0)) as call:
            await call.begin(Looking())
            await call.session.generate_reply(user_input="Look.")
            assert len(llm.requests) == 2 and asked[0] < 1.0
            assert len(call.speaker.sounds) >= 1 and call.said[-1] == "FOUND."

    run_virtual(main())


def test_a_text_that_fails_inside_a_tts_node_is_told() -> None:
    class Failing(Agent):
        def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
            async def broken() -> AsyncIterator[str]:
                async for piece in text:
                    yield piece
                    raise ValueError("lost for words")

            return Agent.default.tts_node(self, broken(), model_settings)

    async def main() -> None:
        errors: list[Any] = []
        async with Call(FakeLLM(), []) as call:
            call.session.on("error", errors.append)
            await call.begin(Failing())
            await call.session.say("Hello there.")
            await call.session.wait_for_idle()
            assert [str(event.error) for event in errors] == ["lost for words"]

    run_virtual(main())


def test_a_tts_node_may_make_sound_of_its_own() -> None:
    class Beeping(Agent):
        async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
            async def beep() -> AsyncIterator[AudioFrame]:
                async for _ in text:
                    pass
                yield speech(1.0, 24_000)

            return beep()

    async def main() -> None:
        async with Call(FakeLLM(), [], tts=None) as call:
            await call.begin(Beeping())
            await call.session.say("Beep.")
            assert call.said == ["Beep."]
            (sound,) = call.speaker.sounds
            assert sound.duration == pytest.approx(1.0)

    run_virtual(main())


def test_ready_made_sound_is_played_for_its_text() -> None:
    async def frames() -> AsyncIterator[AudioFrame]:
        yield speech(0.5, 24_000)
        yield speech(0.5, 16_000)

    async def main() -> None:
        async with Call(FakeLLM(), [], tts=None) as call:
            await call.begin(Agent())
            await call.session.say("Please hold the line.", audio=frames())
            assert call.said == ["Please hold the line."]
            assert sum(sound.duration for sound in call.speaker.sounds) == pytest.approx(1.0, abs=0.01)

    run_virtual(main())


def test_saying_something_without_a_voice_is_an_error() -> None:
    async def main() -> None:
        async with Call(FakeLLM(), [], tts=None) as call:
            await call.begin(Agent())
            with pytest.raises(UsageError, match="no voice"):
                call.session.say("Hello.")

    run_virtual(main())


def test_a_voice_that_fails_is_told_and_the_call_goes_on() -> None:
    class Broken(FakeTTS):
        async def stream(self, text: AsyncIterable[str]) -> AsyncIterator[Any]:
            raise ProviderError("no voice today")
            yield

    async def main() -> None:
        errors: list[Any] = []
        async with Call(FakeLLM(["One."]), [], tts=Broken()) as call:
            call.session.on("error", errors.append)
            await call.begin(Agent())
            await call.session.generate_reply(user_input="a")
            await call.session.wait_for_idle()
            # the answer, the same once more, and the apology for it
            assert [str(event.error) for event in errors] == ["no voice today"] * 3
            assert errors[0].source is call.session.tts

    run_virtual(main())


def test_a_recogniser_that_fails_is_started_again_and_hears_the_caller_who_speaks_meanwhile() -> None:
    async def main() -> None:
        errors: list[Any] = []
        async with Call(FakeLLM(["It is noon."]), [Fail(ProviderError("lost")), "what time is it"]) as call:
            call.session.on("error", errors.append)
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.session.wait_for_idle()
            assert [str(event.error) for event in errors] == ["lost"]
            assert call.said == ["what time is it", "It is noon."]

    run_virtual(main())


def test_a_recogniser_that_fails_is_told_once_and_the_next_is_not_blamed_for_the_words_it_lost() -> None:
    async def main() -> None:
        errors: list[Any] = []
        async with Call(FakeLLM(["It is noon."]), [Fail(ProviderError("lost"), after=1.3), "what time is it"]) as call:
            call.session.on("error", errors.append)
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            await call.session.wait_for_idle()
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.session.wait_for_idle()
            assert [str(event.error) for event in errors] == ["lost"]
            assert call.said[1:] == ["what time is it", "It is noon."]
            assert len(call.session.stt.streams) == 2

    run_virtual(main())


def test_an_stt_node_of_the_agent_hears_the_frames() -> None:
    class Listening(Agent):
        async def stt_node(self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings) -> Any:
            async for event in Agent.default.stt_node(self, audio, model_settings):
                yield event

    async def main() -> None:
        stt = FakeSTT(interims=False, timeline=[(1.2, SpeechEvent.final("what time is it"))])
        async with Call(FakeLLM(["It is noon."]), []) as call:
            await call.session.start(Listening(), input=call.microphone, output=call.speaker, stt=stt)
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.session.wait_for_idle()
            assert call.said == ["what time is it", "It is noon."]

    run_virtual(main())


class Filtering(Agent):
    """Changes every frame on its way to the built-in node."""

    async def stt_node(self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings) -> Any:
        async def filtered() -> AsyncIterator[AudioFrame]:
            async for frame in audio:
                yield frame

        return Agent.default.stt_node(self, filtered(), model_settings)


class Passing(Agent):
    def stt_node(self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings) -> Any:
        return Agent.default.stt_node(self, audio, model_settings)


@pytest.mark.parametrize("agent", [Filtering, Passing])
def test_a_recogniser_behind_an_stt_node_knows_where_the_voice_detector_heard_speech(agent: type[Agent]) -> None:
    async def main() -> None:
        async with Call(FakeLLM(["It is noon.", "It is five."]), ["what time is it", "and in Oslo"]) as call:
            await call.session.start(agent(), input=call.microphone, output=call.speaker)
            for _ in range(2):
                await call.microphone.speak(1.0)
                await asyncio.sleep(4.0)
            assert call.said == ["what time is it", "It is noon.", "and in Oslo", "It is five."]

    run_virtual(main())


def test_push_to_talk_reaches_a_recogniser_behind_an_stt_node() -> None:
    async def main() -> None:
        stt = FakeSTT(["what time is it"], delay=5.0)
        async with Call(FakeLLM(["It is noon."]), [], turn_detection="manual") as call:
            await call.session.start(Passing(), input=call.microphone, output=call.speaker, stt=stt)
            await call.microphone.speak(1.0)
            call.session.commit_user_turn()
            await asyncio.sleep(3.0)
            assert call.said == ["what time is it", "It is noon."]

    run_virtual(main())


def test_a_caller_who_hangs_up_in_mid_word_is_not_speaking_any_more() -> None:
    async def main() -> None:
        async with Call(FakeLLM(["Bye."]), ["good bye then"]) as call:
            await call.begin(Agent())
            call.microphone.speak(2.0)
            await asyncio.sleep(1.0)
            states: list[str] = []
            call.session.on("user_state_changed", lambda event: states.append(event.new_state))
            call.microphone.end()
            assert states == ["listening"]
            await call.session.wait_for_idle()

    run_virtual(main())


def test_captions_follow_the_sound() -> None:
    async def main() -> None:
        captions: list[Any] = []
        async with Call(FakeLLM(), []) as call:
            call.session.on("agent_output_transcribed", captions.append)
            await call.begin(Agent())
            await call.session.say("One two three four five six seven.")
            texts = [caption.transcript for caption in captions]
            assert texts == sorted(texts, key=len) and len(set(texts)) > 3
            assert captions[-1].is_final and texts[-1] == "One two three four five six seven."

    run_virtual(main())
