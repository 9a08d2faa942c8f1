"""How one voice goes on where another broke off, and that nothing is said twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Coroutine
from typing import Any

import pytest

from antiphon import AudioFrame
from antiphon.adapters.fallback import AllProvidersFailed, AvailabilityChanged, Backoff, FallbackTTS
from antiphon.adapters.fallback.script import Script, Stretch
from antiphon.errors import ProviderError, ProviderTimeout, UsageError
from antiphon.testing import FakeTTS, check_tts, now, run_virtual, speech, transcript
from antiphon.tts import TTS, SynthesizedAudio, WordTiming
from tests.adapters.fallback_calls import Call, pieces

PACE = 0.06
"""Seconds a character of `FakeTTS`."""
CUT = 0.75
"""Seconds after which "is" is being said of `FIRST`."""
FIRST, SECOND = "Your table is booked for two.", "See you on Tuesday."


def run(work: Coroutine[Any, Any, None]) -> None:
    run_virtual(work, timeout=600.0)


class Silent(FakeTTS):
    """A voice that never makes a sound."""

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        await asyncio.sleep(3600)
        yield SynthesizedAudio(speech(0.1, self.sample_rate))


class Streaming(FakeTTS):
    """A voice that takes text as it is written, and may break off after so many seconds of sound, or stop sounding."""

    streaming = True

    def __init__(self, *, dies_after: float | None = None, stalls_after: float | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._dies_after = dies_after
        self._stalls_after = stalls_after
        self.given = ""

    async def stream(self, text: AsyncIterable[str]) -> AsyncIterator[SynthesizedAudio]:
        async def noted() -> AsyncIterator[str]:
            async for piece in text:
                self.given += piece
                yield piece

        sounded = 0.0
        async for audio in super().stream(noted()):
            if self._dies_after is not None and sounded >= self._dies_after - 1e-6:
                raise ProviderError("connection lost", provider="streaming")
            if self._stalls_after is not None and sounded >= self._stalls_after - 1e-6:
                await asyncio.sleep(3600)
            sounded += audio.frame.duration
            yield audio


async def spoken(tts: TTS, *texts: str) -> list[SynthesizedAudio]:
    return [audio async for audio in tts.stream(pieces(*texts))]


def text_of(sound: list[SynthesizedAudio]) -> str:
    return " ".join(audio.text for audio in sound if audio.text)


def seconds_of(sound: list[SynthesizedAudio]) -> float:
    return sum(audio.frame.duration for audio in sound)


def test_it_is_a_voice_like_any_other() -> None:
    run(check_tts(lambda: FallbackTTS([FakeTTS(), FakeTTS()])))


@pytest.mark.parametrize("dies_after", [0.0, 0.3, 1.0])
def test_it_is_one_also_when_the_first_voice_breaks_off(dies_after: float) -> None:
    spare = FakeTTS(sample_rate=16_000)
    run(check_tts(lambda: FallbackTTS([FakeTTS(fail_on="table", fail_after=dies_after), spare])))
    run(check_tts(lambda: FallbackTTS([Streaming(dies_after=dies_after), spare])))


def test_it_needs_a_voice() -> None:
    with pytest.raises(UsageError, match="FallbackTTS: expected one provider or more"):
        FallbackTTS([])


def test_a_voice_that_fails_before_it_sounds_is_followed_with_the_same_text() -> None:
    async def main() -> None:
        first, second = FakeTTS(fail_on="Tuesday"), FakeTTS()
        sound = await spoken(FallbackTTS([first, second]), FIRST, " ", SECOND)
        assert text_of(sound) == f"{FIRST} {SECOND}"
        assert (first.said, second.said) == ([FIRST, SECOND], [SECOND])

    run(main())


def test_a_voice_that_breaks_off_is_followed_from_the_next_word_on() -> None:
    async def main() -> None:
        first, second = FakeTTS(fail_on="table", fail_after=CUT), FakeTTS()
        sound = await spoken(FallbackTTS([first, second]), FIRST, " ", SECOND)
        assert second.said == ["booked for two.", SECOND]
        assert text_of(sound) == f"{FIRST} {SECOND}"
        assert seconds_of(sound) == pytest.approx(CUT + (15 + len(SECOND)) * PACE)

    run(main())


def test_word_timings_tell_where_the_voice_broke_off() -> None:
    class Drawling(FakeTTS):
        async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
            timings = [WordTiming("Your", 0.0, 1.5), WordTiming("table", 1.5, 3.0), WordTiming("is", 3.1, 3.2)]
            yield SynthesizedAudio(speech(2.0, 24_000), text, timings)
            raise ProviderError("lost")

    async def main() -> None:
        second = FakeTTS(words=True)
        sound = await spoken(FallbackTTS([Drawling(), second]), FIRST)
        assert second.said == ["is booked for two."]
        assert text_of(sound) == FIRST
        word = next(word for audio in sound for word in audio.words if word.text == "booked")
        assert word.start == pytest.approx(2.0 + 3 * PACE)  # counted from where the sentence began

    run(main())


def test_a_third_voice_goes_on_where_the_second_broke_off() -> None:
    async def main() -> None:
        voices = [
            FakeTTS(fail_on="table", fail_after=CUT),
            FakeTTS(fail_on="booked", fail_after=5 * PACE),
            FakeTTS(),
        ]
        sound = await spoken(FallbackTTS(voices), FIRST)
        assert voices[2].said == ["for two."] and text_of(sound) == FIRST

    run(main())


def test_a_streaming_voice_goes_on_within_a_sentence() -> None:
    async def main() -> None:
        second = Streaming()
        sound = await spoken(FallbackTTS([Streaming(dies_after=0.8), second]), FIRST, " ", SECOND)
        assert second.said == ["booked for two.", SECOND] and second.given.strip() == SECOND
        assert text_of(sound) == f"{FIRST} {SECOND}"

    run(main())


def test_all_sound_has_one_rate() -> None:
    async def main() -> None:
        voices = [FakeTTS(fail_on="table", fail_after=0.5), FakeTTS(sample_rate=8_000)]
        tts = FallbackTTS(voices, sample_rate=16_000)
        sound = await spoken(tts, FIRST)
        assert {audio.frame.sample_rate for audio in sound} == {tts.sample_rate} == {16_000}
        assert seconds_of(sound) == pytest.approx(0.5 + voices[1].duration(voices[1].said[0]), abs=0.05)

    run(main())


def test_a_silent_voice_is_given_up_after_the_attempt_timeout() -> None:
    async def main() -> None:
        second = FakeTTS()
        await spoken(FallbackTTS([Silent(), second], attempt_timeout=1.0), FIRST)
        assert second.said == [FIRST] and 1.0 <= now() <= 1.2

    run(main())


def test_a_voice_that_stops_sounding_is_given_up_after_the_stall_timeout() -> None:
    async def main() -> None:
        second = FakeTTS()
        await spoken(FallbackTTS([Streaming(stalls_after=0.8), second], stall_timeout=1.0), FIRST)
        assert second.said == ["booked for two."] and 1.0 <= now() <= 1.5

    run(main())


def test_a_voice_that_waits_for_the_model_does_not_stall() -> None:
    async def slowly() -> AsyncIterator[str]:
        yield FIRST[:10]
        await asyncio.sleep(30.0)
        yield FIRST[10:]

    async def main() -> None:
        second = FakeTTS()
        sound = [audio async for audio in FallbackTTS([Streaming(), second]).stream(slowly())]
        assert text_of(sound) == FIRST and second.said == []

    run(main())


def test_all_voices_down_is_one_error() -> None:
    async def main() -> None:
        with pytest.raises(AllProvidersFailed, match=r"told to fail.*expected sound within 2\.5 s") as caught:
            await spoken(FallbackTTS([FakeTTS(fail_on="table"), Silent()]), FIRST)
        assert isinstance(caught.value.errors[1], ProviderTimeout)

    run(main())


def test_a_text_that_fails_is_no_failure_of_the_voice() -> None:
    async def broken() -> AsyncIterator[str]:
        yield FIRST
        raise ValueError("lost for words")

    async def main() -> None:
        second = FakeTTS()
        with pytest.raises(ValueError, match="lost for words"):
            _ = [audio async for audio in FallbackTTS([FakeTTS(), second]).stream(broken())]
        assert second.said == []

    run(main())


def test_a_voice_that_recovered_speaks_the_next_text() -> None:
    async def main() -> None:
        changes: list[tuple[Any, bool]] = []
        first, second = FakeTTS(fail_on="table"), FakeTTS()

        def note(change: AvailabilityChanged) -> None:
            changes.append((change.provider, change.available))

        tts = FallbackTTS([first, second], backoff=Backoff(first=5.0), on_availability_changed=note)
        await spoken(tts, FIRST)
        await spoken(tts, SECOND)
        assert second.said == [FIRST, SECOND]
        await asyncio.sleep(5.0)
        await spoken(tts, SECOND)
        assert first.said[-1] == SECOND and changes == [(first, False), (first, True)]

    run(main())


def test_stopping_stops_the_voice_and_the_text() -> None:
    async def main() -> None:
        first = FakeTTS(speed=1.0)
        sound = FallbackTTS([first]).stream(pieces(FIRST))
        async for _ in sound:
            break
        await sound.aclose()  # type: ignore[attr-defined]
        assert first.stopped == 1

    run(main())


def test_closing_closes_every_voice() -> None:
    async def main() -> None:
        voices = [FakeTTS(), FakeTTS(sample_rate=8_000)]
        tts = FallbackTTS(voices)
        await tts.prewarm()
        await tts.aclose()
        assert [voice.closed for voice in voices] == [True, True]

    run(main())


# -- where a stretch was broken off


@pytest.mark.parametrize(("seconds", "rest"), [(0.0, 0), (0.1, 5), (0.3, 5), (0.5, 11), (9.0, 14)])
def test_the_rest_begins_with_the_first_word_that_did_not_sound(seconds: float, rest: int) -> None:
    assert Stretch(0, 14, "Your table is.", seconds).rest(pace=15.0) == rest


def test_a_voice_may_space_its_text_as_it_likes() -> None:
    script = Script()
    script.push("  One two.\n\n Three.")
    assert script.find(0, "One  two.") == (2, 10)
    assert script.find(10, "Three.") == (13, 19)
    assert script.find(19, "more") == (19, 19)


# -- in a session


def test_a_voice_that_dies_in_mid_sentence_is_heard_to_the_end_and_recorded_once() -> None:
    async def main() -> None:
        voices = [FakeTTS(fail_on="table", fail_after=CUT, speed=1.0), FakeTTS(sample_rate=16_000)]
        async with Call(tts=FallbackTTS(voices)) as call:
            await call.begin()
            await call.session.say(f"{FIRST} {SECOND}")
            assert transcript(call.session.history) == [f"assistant: {FIRST} {SECOND}"]
            whole = sum(sound.duration for sound in call.speaker.sounds)
            assert whole == pytest.approx(CUT + (15 + len(SECOND)) * PACE, abs=0.1)
            assert call.errors == []

    run(main())


def test_what_was_heard_of_a_sentence_in_two_voices_is_told_by_words() -> None:
    async def main() -> None:
        voices = [FakeTTS(fail_on="table", fail_after=CUT, speed=1.0), FakeTTS(speed=1.0)]
        async with Call(tts=FallbackTTS(voices)) as call:
            await call.begin()
            handle = call.session.say(f"{FIRST} {SECOND}")
            await asyncio.sleep(1.4)
            await handle.interrupt()
            (message,) = call.session.history.messages()
            assert message.interrupted
            assert message.text_content in ("Your table is booked", "Your table is booked for")

    run(main())


def test_a_voice_that_stalls_is_followed_while_the_speech_goes_on() -> None:
    async def main() -> None:
        second = FakeTTS()
        async with Call(tts=FallbackTTS([Silent(), second])) as call:
            await call.begin()
            await call.session.say(FIRST)
            assert transcript(call.session.history) == [f"assistant: {FIRST}"]
            assert second.said == [FIRST] and call.speaker.sounds

    run(main())


def test_all_voices_down_is_told_to_the_application_and_the_call_goes_on() -> None:
    async def main() -> None:
        async with Call(tts=FallbackTTS([FakeTTS(fail_on="table"), FakeTTS(fail_on="table")])) as call:
            await call.begin()
            await call.session.say(FIRST)
            assert [type(error) for _, error in call.errors] == [AllProvidersFailed] * 2  # it was tried once more
            await call.session.say(SECOND)
            assert transcript(call.session.history)[-1] == f"assistant: {SECOND}"

    run(main())


def test_frames_of_several_channels_come_out_with_one() -> None:
    class Stereo(FakeTTS):
        async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
            yield SynthesizedAudio(AudioFrame(bytes(9_600), 24_000, 2), text)

    async def main() -> None:
        (audio,) = await spoken(FallbackTTS([Stereo()]), FIRST)
        assert audio.frame.num_channels == 1 and audio.frame.duration == pytest.approx(0.1)

    run(main())
