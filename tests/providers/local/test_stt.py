from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.providers.local import HibariTTS, MoonshineSTT, SileroVAD
from antiphon.providers.local.stt import readable
from antiphon.stt import SpeechEvent, SpeechEventType
from antiphon.transports.wav import read_recording
from tests.providers.local.models import needs_hibari, needs_moonshine, needs_silero
from tests.providers.local.speech import SENTENCES, noise, telephone, words

RECORDINGS = Path(__file__).parents[3] / "examples" / "recordings"


def test_spelling_of_the_last_century_is_mended() -> None:
    assert readable("Can I come to-morrow at two p m?") == "Can I come tomorrow at two p.m.?"
    assert readable("At half-past four p M. Good-by!") == "At half past four p.m. Goodbye!"


def test_quotation_marks_are_dropped_but_apostrophes_stay() -> None:
    assert readable("\"'I'll take the one at nine.'") == "I'll take the one at nine."


def test_a_comma_at_the_end_is_dropped() -> None:
    assert readable("Yes, Tuesday,") == "Yes, Tuesday"


def test_words_said_four_times_over_are_an_invention_but_digits_are_not() -> None:
    assert readable("Here. Here. Here. Here. Here") == "Here"
    assert readable("five, five, five, five") == "five, five, five, five"


def test_words_that_are_only_repeated_are_written_once_but_digits_are_not() -> None:
    assert readable("Jack turner, Jack Turner. Jack turner") == "Jack turner"
    assert readable("It's Jack. It's Jack Turner.") == "It's Jack Turner."
    assert readable("five one five one") == "five one five one"
    assert readable("Monday, or Monday week") == "Monday, or Monday week"


def test_the_verb_am_is_no_time_of_day() -> None:
    assert readable("Yes I am. It is 9 am..") == "Yes I am. It is 9 am."


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(UsageError, match="'huge'"):
        MoonshineSTT(model="huge")  # type: ignore[arg-type]


async def say(text: str) -> AudioFrame:
    silence = AudioFrame.silence(0.6, 24000).data
    data = b"".join([audio.frame.data async for audio in HibariTTS().synthesize(text)])
    return AudioFrame(silence + data + silence, 24000)


async def hear(sound: AudioFrame) -> list[SpeechEvent]:
    """What detector and recogniser make of the sound, given in frames of 20 ms as fast as they take them."""
    detector, stream = SileroVAD().stream(), MoonshineSTT().stream()
    events: list[SpeechEvent] = []

    async def read() -> None:
        events.extend([event async for event in stream])

    async with stream, asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        step = 2 * round(0.02 * sound.sample_rate)
        for at in range(0, len(sound.data), step):
            frame = AudioFrame(sound.data[at : at + step], sound.sample_rate)
            stream.push(frame)
            for event in detector.push(frame):
                stream.mark(event)
            await asyncio.sleep(0)
        stream.end_input()
    return events


def final_text(events: list[SpeechEvent]) -> str:
    return " ".join(event.text for event in events if event.type is SpeechEventType.FINAL_TRANSCRIPT)


@pytest.mark.parametrize("sentence", SENTENCES[:3])
@needs_hibari
@needs_moonshine
@needs_silero
def test_a_sentence_is_understood(sentence: str) -> None:
    async def main() -> list[SpeechEvent]:
        return await hear(await say(sentence))

    assert words(final_text(asyncio.run(main()))) == words(sentence)


@needs_hibari
@needs_moonshine
@needs_silero
def test_a_sentence_is_understood_on_the_telephone_in_a_noisy_room() -> None:
    async def main() -> list[SpeechEvent]:
        return await hear(telephone(await say(SENTENCES[3])))

    assert words(final_text(asyncio.run(main()))) == words(SENTENCES[3])


@needs_moonshine
@needs_silero
def test_noise_says_nothing() -> None:
    sound = AudioFrame.from_float32(noise(3 * 16000, 0.05), 16000)
    assert final_text(asyncio.run(hear(sound))) == ""


@needs_moonshine
def test_what_is_inaudible_or_a_click_is_not_recognised() -> None:
    async def main() -> list[str]:
        recognizer = MoonshineSTT().recognizer
        murmur = AudioFrame.from_float32(noise(16000, 0.0005), 16000)
        click = AudioFrame.from_float32(noise(800, 0.1), 16000)
        return [await recognizer.recognize(sound) for sound in (murmur, click)]

    assert asyncio.run(main()) == ["", ""]


@needs_moonshine
def test_the_event_loop_goes_on_while_the_model_works() -> None:
    async def main() -> float:
        recognizer = MoonshineSTT().recognizer
        await recognizer.prewarm()
        task = asyncio.create_task(recognizer.recognize(AudioFrame.from_float32(noise(8 * 16000, 0.05), 16000)))
        loop, longest = asyncio.get_running_loop(), 0.0
        before = loop.time()
        while not task.done():
            await asyncio.sleep(0.001)
            longest, before = max(longest, loop.time() - before), loop.time()
        return longest

    assert asyncio.run(main()) < 0.1


@pytest.mark.parametrize(
    ("recording", "start", "heard"),
    [("pause-02.wav", 0.2, "you have anything on"), ("pause-15.wav", 0.3, "number is 5 5 5")],
)
@needs_moonshine
def test_no_words_are_lost_where_the_sound_begins_in_the_middle_of_one(
    recording: str, start: float, heard: str
) -> None:
    """The network by itself understands nothing of these sounds."""
    speech = read_recording(RECORDINGS / recording)
    data = speech.data[2 * round(start * 16000) : 2 * round((start + 1.6) * 16000)]

    async def main() -> str:
        return await MoonshineSTT().recognizer.recognize(AudioFrame(data, 16000))

    # Digits are digits, however the network writes them.
    assert heard in " ".join(words(re.sub("five", "5", asyncio.run(main()))))
