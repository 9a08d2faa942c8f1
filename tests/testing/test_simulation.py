"""Simulated calls: a caller whose words are in the sound, and what both sides were heard to say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, UsageError
from antiphon.adapters.fallback import FallbackSTT
from antiphon.audio import AudioFrame
from antiphon.errors import ProviderError
from antiphon.stt import SpeechEvent, STTStream
from antiphon.testing import (
    Caller,
    CallerSTT,
    FakeLLM,
    Fault,
    SimulatedCall,
    Sound,
    Timeline,
    check_stt,
    now,
    overlap,
    run_virtual,
    simulation,
    transcript,
)
from antiphon.vad import SpeechEnded


def finals(events: list[SpeechEvent]) -> list[str]:
    return [event.text for event in events if event.type.value == "final_transcript"]


def heard(stt: CallerSTT, sound: list[AudioFrame], *, marks: bool = True) -> list[SpeechEvent]:
    """What a recogniser makes of some sound, given at once."""

    async def main() -> list[SpeechEvent]:
        async with stt.stream() as stream:
            for frame in sound:
                stream.push(frame)
            if marks:
                stream.mark(SpeechEnded(0.0))
            stream.end_input()
            return [event async for event in stream]

    return run_virtual(main())


def recorded(caller: Caller, seconds: float) -> list[AudioFrame]:
    """The frames that a caller's microphone gives out."""
    frames: list[AudioFrame] = []

    async def main() -> None:
        caller.microphone.start(frames.append, lambda: None)
        caller.says("I need a table", 0.4, "for two two")
        await asyncio.sleep(seconds)
        caller.hangs_up()

    run_virtual(main())
    return frames


def test_an_utterance_begins_at_the_instant_it_is_asked_for_and_its_words_are_timed() -> None:
    async def main() -> None:
        caller = Caller(words_per_second=2.0)
        caller.microphone.start(lambda _: None, lambda: None)
        await asyncio.sleep(1.2345)
        said = await caller.says("one two", 0.25, "three")
        assert said.text == "one two three" and said.start == 1.2345
        assert [word.start - said.start for word in said.words] == pytest.approx([0.0, 0.5, 1.25])
        assert said.end == pytest.approx(said.start + 1.75)
        edges = [edge for sound in caller.microphone.sounds for edge in (sound.start, sound.end)]
        assert edges == pytest.approx([1.2345, 2.2345, 2.4845, 2.9845])

    run_virtual(main())


def test_what_is_said_before_the_last_words_are_over_follows_them() -> None:
    async def main() -> None:
        caller = Caller()
        caller.microphone.start(lambda _: None, lambda: None)
        first = caller.says("one two")
        second = await caller.says("three")
        assert second.start == pytest.approx(first.end)

    run_virtual(main())


@pytest.mark.parametrize("parts", [(), (0.5,), ("  ",)])
def test_saying_nothing_is_an_error(parts: tuple[str | float, ...]) -> None:
    async def main() -> None:
        with pytest.raises(UsageError, match="expected words"):
            Caller().says(*parts)

    run_virtual(main())


def test_the_words_are_in_the_sound_whenever_it_is_heard() -> None:
    caller = Caller()
    sound = recorded(caller, 4.0)
    assert finals(heard(CallerSTT(caller), sound)) == ["I need a table for two two"]
    # late, in one piece, in small pieces, and without its beginning
    whole = AudioFrame(b"".join(frame.data for frame in sound), 16_000)
    assert finals(heard(CallerSTT(caller), [whole])) == ["I need a table for two two"]
    assert finals(heard(CallerSTT(caller), sound[30:])) == ["need a table for two two"]


def test_a_noise_has_no_words() -> None:
    async def main() -> None:
        caller = Caller()
        async with CallerSTT(caller).stream() as stream:
            caller.microphone.start(stream.push, stream.end_input)
            cough = await caller.coughs(0.3)
            assert cough.words == [] and cough.end - cough.start == pytest.approx(0.3)
            caller.hangs_up()
            assert [event async for event in stream] == []

    run_virtual(main())


def test_interim_words_come_after_their_sound() -> None:
    async def main() -> None:
        caller = Caller(words_per_second=2.0)
        came: list[tuple[str, float]] = []
        async with CallerSTT(caller, lag=0.1).stream() as stream:
            caller.microphone.start(stream.push, stream.end_input)
            said = caller.says("one two three")

            async def listen() -> None:
                came.extend([(event.text, now()) async for event in stream])

            listening = asyncio.create_task(listen())
            await said
            await asyncio.sleep(1.0)
            caller.hangs_up()
            await listening
        assert [text for text, _ in came] == ["one", "one two", "one two three", "one two three"]
        for (_, time), word in zip(came, said.words, strict=False):
            assert 0.099 <= time - word.end <= 0.14

    run_virtual(main())


@pytest.mark.parametrize("kind", ["dies", "stalls"])
def test_a_fault_happens_once(kind: str) -> None:
    async def main() -> None:
        caller = Caller()
        stt = CallerSTT(caller, faults=[Fault(0.5, "dies") if kind == "dies" else Fault(0.5, "stalls", duration=2.0)])
        texts: list[str] = []
        streams: list[STTStream] = []
        caller.microphone.start(lambda frame: streams[-1].push(frame), lambda: None)
        for _ in range(2):
            async with stt.stream() as stream:
                streams.append(stream)
                caller.says("one two three four")
                await asyncio.sleep(2.6)
                stream.end_input()
                try:
                    texts += finals([event async for event in stream])
                except ProviderError:
                    texts.append("died")
        assert texts == (["died", "one two three four"] if kind == "dies" else ["one two three four"])

    run_virtual(main())


def test_the_recogniser_keeps_the_promises_of_its_contract() -> None:
    caller = Caller()
    sound = AudioFrame(b"".join(frame.data for frame in recorded(caller, 4.0)), 16_000)
    run_virtual(check_stt(lambda: CallerSTT(caller), audio=sound))


def test_another_recogniser_can_be_given_the_same_sound() -> None:
    async def main() -> None:
        caller = Caller()
        stt = FallbackSTT([CallerSTT(caller, faults=[Fault(1.5)]), CallerSTT(caller)])
        async with SimulatedCall(FakeLLM(["For two."]), caller=caller, stt=stt) as call:
            await call.start(Agent())
            await caller.says("I need a table for two")
            await call.settled()
        assert transcript(call.session.history) == ["user: I need a table for two", "assistant: For two."]

    run_virtual(main())


# -- time lines


LINE = Timeline(
    caller=[Sound(1.0, 2.0), Sound(6.0, 7.0)], agent=[Sound(2.5, 4.0), Sound(4.5, 6.5)], begin=0.0, end=10.0
)


def test_a_time_line_knows_its_silences() -> None:
    quiet = [Sound(0.0, 1.0), Sound(2.0, 2.5), Sound(4.0, 4.5), Sound(7.0, 10.0)]
    assert LINE.silences() == quiet
    assert LINE.silences([Sound(2.25, 4.25), Sound(8.0, 9.0)]) == [Sound(2.25, 2.5), Sound(4.0, 4.25), Sound(8.0, 9.0)]


def test_a_time_line_knows_who_followed_whom() -> None:
    assert LINE.agent_begins(2.0) == 2.5 and LINE.agent_begins(3.0) == 3.0 and LINE.agent_begins(6.5) is None
    assert LINE.caller_begins(2.0) == 6.0
    assert LINE.agent_falls_silent(3.0) == 4.0 and LINE.agent_falls_silent(4.2) == 4.2
    assert LINE.gaps() == [0.5] and LINE.gaps(5.0) == []
    assert LINE.crosstalk() == 0.5


def test_overlap_of_stretches_that_touch_is_nothing() -> None:
    assert overlap([Sound(0.0, 1.0)], [Sound(1.0, 2.0)]) == []
    assert overlap([Sound(0.0, 5.0)], [Sound(1.0, 2.0), Sound(3.0, 9.0)]) == [Sound(1.0, 2.0), Sound(3.0, 5.0)]


def test_a_recording_gives_the_same_time_line_to_the_sample() -> None:
    async def main() -> None:
        async with SimulatedCall(FakeLLM(["A table for two it is."])) as call:
            await call.start(Agent())
            await asyncio.sleep(0.777)
            await call.caller.says("I need a table", 0.4, "for two")
            await call.settled()
        measured = Timeline.from_audio(call.audio())
        for ours, theirs in ((call.timeline.caller, measured.caller), (call.timeline.agent, measured.agent)):
            assert len(ours) == len(theirs) > 0
            for one, other in zip(ours, theirs, strict=True):
                assert (one.start, one.end) == pytest.approx((other.start, other.end), abs=1 / 16_000)

    run_virtual(main())


def test_only_stereo_can_be_measured() -> None:
    with pytest.raises(UsageError, match="two channels"):
        Timeline.from_audio(AudioFrame(bytes(320), 16_000))


# -- calls


def test_pending_says_when_the_session_had_something_to_do() -> None:
    async def main() -> None:
        async with SimulatedCall(FakeLLM(["A table for two it is."])) as call:
            await call.start(Agent())
            await asyncio.sleep(1.0)
            asked = await call.caller.says("I need a table")
            await call.settled(quiet=2.0)
        (pending,) = [span for span in call.pending if span.end > 0.5]
        assert asked.start <= pending.start <= asked.start + 0.1
        assert pending.end == pytest.approx(call.timeline.agent[-1].end, abs=0.05)
        assert call.timeline.end - pending.end >= 2.0

    run_virtual(main())


def test_a_call_from_which_the_caller_hung_up_settles() -> None:
    async def main() -> None:
        async with SimulatedCall(FakeLLM(["Bye."])) as call:
            await call.start(Agent())
            await call.caller.says("good bye")
            call.caller.hangs_up()
            await call.settled()
        assert transcript(call.session.history) == ["user: good bye", "assistant: Bye."]

    run_virtual(main())


def test_the_example_of_the_module_passes() -> None:
    example = str(simulation.__doc__).split("```python\n", 1)[1].split("```", 1)[0]
    defined: dict[str, Any] = {"SimulatedCall": SimulatedCall, "FakeLLM": FakeLLM, "run_virtual": run_virtual}
    defined["Host"] = Agent
    exec(example, defined)
    defined["test_a_pause_does_not_end_the_turn"]()
