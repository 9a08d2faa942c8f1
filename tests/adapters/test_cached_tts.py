"""What was said before is said again from memory, and nothing that was not said to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentSession
from antiphon.adapters import CachedTTS
from antiphon.errors import ProviderError, UsageError
from antiphon.testing import FakeLLM, FakeSpeaker, FakeTTS, check_tts, now, run_virtual
from antiphon.tts import TTS, SynthesizedAudio, closing


class Writing(FakeTTS):
    """A voice that takes text as it is written: each sentence-like piece as it comes."""

    streaming = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.streams: list[str] = []

    async def stream(self, text: AsyncIterable[str]) -> AsyncIterator[SynthesizedAudio]:
        given = ""
        self.streams.append("")
        async for piece in text:
            self.streams[-1] += piece
            given += piece
            if piece.rstrip()[-1:] in ".!?":
                async with closing(self.synthesize(given)) as spoken:
                    async for audio in spoken:
                        yield audio
                given = ""
        if given.strip():
            async for audio in self.synthesize(given):
                yield audio


async def say(voice: TTS, text: str) -> list[SynthesizedAudio]:
    return [audio async for audio in voice.synthesize(text)]


async def tokens(text: str, pace: float = 0.01) -> AsyncGenerator[str, None]:
    for word in text.split(" "):
        await asyncio.sleep(pace)
        yield word if text.startswith(word) else f" {word}"


async def write(voice: TTS, text: str) -> list[SynthesizedAudio]:
    return [audio async for audio in voice.stream(tokens(text))]


async def first(sound: AsyncIterator[SynthesizedAudio]) -> None:
    """Listen to the first piece, and leave."""
    async with closing(sound) as pieces:
        await anext(pieces)


def words_of(audio: list[SynthesizedAudio]) -> str:
    return "".join(piece.text for piece in audio)


def sound(audio: list[SynthesizedAudio]) -> bytes:
    return b"".join(piece.frame.data for piece in audio)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run_virtual(test())


def test_it_keeps_the_promises_of_a_voice(tmp_path: Path) -> None:
    run_virtual(check_tts(lambda: CachedTTS(FakeTTS(words=True))))
    run_virtual(check_tts(lambda: CachedTTS(Writing(words=True))))
    for _ in range(2):
        run_virtual(check_tts(lambda: CachedTTS(FakeTTS(words=True), directory=tmp_path)))


# -- whole texts


def test_a_text_said_before_comes_at_once_and_is_the_same() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS(ttfb=0.5, words=True))
        once = await say(voice, "One moment, please.")
        began = now()
        assert await say(voice, "One moment, please.") == once
        assert now() == began
        assert inner.said == ["One moment, please."]
        await voice.aclose()

    run(test)


def test_white_space_around_a_text_is_no_difference_and_is_kept_as_it_is() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS())
        await say(voice, "One moment, please. ")
        assert words_of(await say(voice, "  One moment, please.\n")) == "  One moment, please.\n"
        assert len(inner.said) == 1
        await voice.aclose()

    run(test)


def test_sentences_of_a_written_text_are_kept_one_by_one() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS())
        await write(voice, "One moment, please. I look it up.")
        await write(voice, "One moment, please. It is there.")
        assert inner.said == ["One moment, please.", "I look it up.", "It is there."]
        await voice.aclose()

    run(test)


def test_equal_texts_at_the_same_time_are_synthesized_once() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS(speed=1.0))
        early = asyncio.create_task(say(voice, "One moment, please."))
        await asyncio.sleep(0.3)
        late = await say(voice, "One moment, please.")
        assert late == await early
        assert len(inner.said) == 1
        await voice.aclose()

    run(test)


def test_the_first_sound_is_passed_on_before_the_last_is_there() -> None:
    async def test() -> None:
        voice = CachedTTS(FakeTTS(ttfb=0.1, speed=1.0))
        await first(voice.synthesize("A sentence of some length."))
        assert now() == pytest.approx(0.1)
        await voice.aclose()

    run(test)


def test_what_is_broken_off_stops_the_voice_and_is_not_kept() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS(speed=1.0))
        await first(voice.synthesize("A sentence of some length."))
        assert inner.stopped == 1
        await say(voice, "A sentence of some length.")
        assert len(inner.said) == 2
        await voice.aclose()

    run(test)


def test_one_who_leaves_does_not_stop_it_for_the_others() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS(speed=1.0))
        stays = asyncio.create_task(say(voice, "A sentence of some length."))
        leaves = asyncio.create_task(say(voice, "A sentence of some length."))
        await asyncio.sleep(0.3)
        leaves.cancel()
        assert words_of(await stays) == "A sentence of some length."
        assert inner.stopped == 0
        assert len(inner.said) == 1
        await voice.aclose()

    run(test)


def test_one_who_comes_while_it_is_given_up_gets_it_all() -> None:
    async def test() -> None:
        voice = CachedTTS(FakeTTS(speed=1.0))
        leaves = asyncio.create_task(say(voice, "A sentence of some length."))
        await asyncio.sleep(0.3)
        leaves.cancel()
        await asyncio.sleep(0)
        assert words_of(await say(voice, "A sentence of some length.")) == "A sentence of some length."
        await voice.aclose()

    run(test)


def test_a_failure_reaches_everybody_and_is_not_kept() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS(fail_on="moment", fail_after=0.2, speed=1.0))
        both = await asyncio.gather(*(say(voice, "One moment.") for _ in range(2)), return_exceptions=True)
        assert [type(one) for one in both] == [ProviderError, ProviderError]
        with pytest.raises(ProviderError):
            await say(voice, "One moment.")
        assert len(inner.said) == 2
        await voice.aclose()

    run(test)


def test_settings_that_change_are_heard() -> None:
    class Settable(FakeTTS):
        voice = "Ann"
        speed = 1.0

    async def test() -> None:
        voice = CachedTTS(inner := Settable())
        await say(voice, "Hello.")
        inner.voice = "Bob"
        await say(voice, "Hello.")
        inner.speed = 1.2
        await say(voice, "Hello.")
        inner.voice, inner.speed = "Ann", 1.0
        await say(voice, "Hello.")
        assert len(inner.said) == 3
        await voice.aclose()

    run(test)


# -- the bound


def test_what_was_not_said_for_longest_goes_first() -> None:
    async def test() -> None:
        second = 2 * 24_000
        voice = CachedTTS(inner := FakeTTS(seconds_per_character=1.0), max_bytes=3 * second)
        for text in ("a", "b", "c", "a", "d", "a", "b"):
            await say(voice, text)
        assert inner.said == ["a", "b", "c", "d", "b"]
        await say(voice, "much too long")
        await say(voice, "a")
        assert inner.said == ["a", "b", "c", "d", "b", "much too long"]
        await voice.aclose()

    run(test)


def test_a_shelf_without_room_is_refused() -> None:
    with pytest.raises(UsageError, match="max_bytes above 0, got 0"):
        CachedTTS(FakeTTS(), max_bytes=0)


# -- ahead of time


def test_what_was_prepared_is_said_at_once() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS(ttfb=0.5), texts=["Welcome. What can I do for you?"])
        await voice.prewarm(["One moment, please."])
        began = now()
        assert words_of(await write(voice, "Welcome. What can I do for you?")).split(".")[0] == "Welcome"
        await say(voice, "One moment, please.")
        assert now() - began == pytest.approx(0.07)  # the pace of the writer
        assert len(inner.said) == 3
        await voice.aclose()

    run(test)


def test_preparing_raises_what_the_voice_raises_and_prewarming_goes_on() -> None:
    async def test() -> None:
        voice = CachedTTS(FakeTTS(fail_on="moment"), texts=["One moment."])
        with pytest.raises(ProviderError):
            await voice.prepare(["One moment.", "Hello."])
        await voice.prewarm()
        began = now()
        await say(voice, "Hello.")
        assert now() == began
        await voice.aclose()

    run(test)


# -- text as it is written


def test_a_voice_that_takes_text_as_it_is_written_is_not_kept_waiting() -> None:
    async def test() -> None:
        voice = CachedTTS(Writing(ttfb=0.1), texts=["One moment, please."])
        await voice.prewarm()
        began = now()
        async with aclosing(tokens("Only this. And that comes much later.", pace=1.0)) as text:
            await first(voice.stream(text))
        assert now() - began == pytest.approx(2.1)
        await voice.aclose()

    run(test)


def test_a_known_beginning_is_said_at_once_and_the_rest_by_the_voice() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := Writing(), texts=["One moment, please.", "Thank you."])
        await voice.prewarm()
        said = await write(voice, "One moment, please. Thank you. I look it up.")
        assert words_of(said) == "One moment, please. Thank you. I look it up."
        assert inner.streams == [" I look it up."]
        await voice.aclose()

    run(test)


def test_a_known_text_is_said_before_it_is_clear_that_nothing_follows() -> None:
    async def text() -> AsyncIterator[str]:
        yield "One moment, please."
        await asyncio.sleep(5.0)
        yield " Here it is."

    async def test() -> None:
        voice = CachedTTS(Writing(), texts=["One moment, please."])
        await voice.prewarm()
        began = now()
        await first(voice.stream(text()))
        assert now() == began
        await voice.aclose()

    run(test)


def test_words_that_go_on_are_not_cut_from_what_follows() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := Writing(), texts=["Thank you", "Yes.", "No."])
        await voice.prewarm()
        for text in ("Thank you for calling.", "Thank yous are due.", "Yes.It is."):
            assert words_of(await write(voice, text)) == text
        assert inner.streams == ["Thank you for calling.", "Thank yous are due.", "Yes.It is."]
        assert words_of(await write(voice, "Thank you")) == "Thank you"
        assert len(inner.streams) == 3
        await voice.aclose()

    run(test)


def test_a_written_text_is_kept_as_a_whole_once_it_was_said() -> None:
    async def test() -> None:
        voice = CachedTTS(inner := Writing())
        once = await write(voice, "Hello there. How are you?")
        began = now()
        assert sound(await write(voice, "Hello there. How are you?")) == sound(once)
        assert now() - began == pytest.approx(0.05)
        assert len(inner.streams) == 1
        async with aclosing(tokens("Something else. And more.")) as text:
            await first(voice.stream(text))
        await write(voice, "Something else. And more.")
        assert len(inner.streams) == 3
        await voice.aclose()

    run(test)


# -- the directory


def files(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


async def say_once(inner: FakeTTS, directory: Path, *texts: str, **options: Any) -> list[list[SynthesizedAudio]]:
    voice = CachedTTS(inner, directory=directory, **options)
    said = [await say(voice, text) for text in texts]
    await voice.aclose()
    return said


def test_the_next_run_finds_what_was_said(tmp_path: Path) -> None:
    async def test() -> None:
        directory = tmp_path / "made" / "anew"
        said = await say_once(FakeTTS(words=True), directory, "One moment, please.", "Hello.")
        assert len(files(directory)) == 2
        again = await say_once(later := FakeTTS(words=True), directory, "One moment, please.", "Hello.")
        assert again == said
        assert later.said == []

    run(test)


def test_another_voice_or_rate_finds_its_own(tmp_path: Path) -> None:
    async def test() -> None:
        for options in ({}, {"key": "Ann"}, {"key": "Bob"}):
            await say_once(voice := FakeTTS(), tmp_path, "Hello.", **options)
            assert voice.said == ["Hello."]
        await say_once(low := FakeTTS(sample_rate=8_000), tmp_path, "Hello.")
        assert low.said == ["Hello."]
        assert len(files(tmp_path)) == 4

    run(test)


@pytest.mark.parametrize(
    "broken",
    [
        lambda data: b"",
        lambda data: data[:-100],
        lambda data: data[: data.index(b"\n")],
        lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
        lambda data: data.replace(b'"version": 1', b'"version": 2'),
        lambda data: data.replace(b"Hello", b"Holla"),
        lambda data: b"[1, 2]\n" + data,
        lambda data: b"\xff\xfe" + data,
    ],
)
def test_a_broken_file_is_ignored_and_written_anew(
    tmp_path: Path, broken: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        await say_once(FakeTTS(), tmp_path, "Hello.")
        (file,) = files(tmp_path)
        whole = file.read_bytes()
        file.write_bytes(broken(whole))
        await say_once(again := FakeTTS(), tmp_path, "Hello.")
        assert again.said == ["Hello."]
        assert "is ignored" in caplog.text
        assert file.read_bytes() == whole

    run(test)


def test_the_directory_is_bounded_too_and_keeps_what_was_used(tmp_path: Path) -> None:
    async def test() -> None:
        room = 3 * 2 * 24_000 + 2000  # three seconds
        for text in ("a", "b", "c", "a", "d"):
            await say_once(FakeTTS(seconds_per_character=1.0), tmp_path, text, max_bytes=room)
        await say_once(voice := FakeTTS(seconds_per_character=1.0), tmp_path, "a", "c", "d", max_bytes=room)
        assert voice.said == []
        assert len(files(tmp_path)) == 3

    run(test)


def test_a_directory_that_cannot_be_written_costs_nothing_but_the_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        (tmp_path / "file").write_text("not a directory")
        ((audio, *_),) = await say_once(FakeTTS(), tmp_path / "file", "Hello.")
        assert audio.text == "Hello."
        assert "could not be brought up to date" in caplog.text

    run(test)


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    async def test() -> None:
        voice = CachedTTS(FakeTTS(speed=1.0), directory=tmp_path)
        await first(voice.synthesize("A sentence of some length."))
        await voice.aclose()
        assert files(tmp_path) == []

    run(test)


def test_it_is_called_what_its_voice_is_called() -> None:
    assert CachedTTS(FakeTTS()).label == FakeTTS().label


# -- in a call


def test_in_a_call_a_line_said_before_begins_at_once_and_is_cut_where_it_was_heard() -> None:
    line = "One moment, please, while I have a look at the book of reservations."

    async def test() -> None:
        voice = CachedTTS(inner := FakeTTS(ttfb=0.5))
        speaker = FakeSpeaker()
        async with AgentSession[Any](llm=FakeLLM(), tts=voice) as session:
            await session.start(Agent(), output=speaker)
            await session.say(line)
            await asyncio.sleep(1.0)
            began = now()
            handle = session.say(line)
            await asyncio.sleep(1.0)
            await handle.interrupt()
        assert inner.said == [line]
        assert speaker.sounds[1].start - began < 0.05
        whole, cut = session.history.messages()
        assert whole.text_content == line
        assert cut.interrupted and cut.text_content and line.startswith(cut.text_content)
        assert 10 <= len(cut.text_content) <= 20

    run(test)
