"""Conformance suites: does an implementation keep the promises of its contract?

Each takes a factory that makes a fresh object, uses it as a session would, and raises AssertionError that names the
broken promise. They are plain coroutines: run them with `run_virtual` for fakes, with `asyncio.run` for real engines.

```python
def test_my_voice_keeps_its_promises() -> None:
    asyncio.run(check_tts(MyTTS))
```

`timeout` is what each single step may take, in seconds of the running loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence

from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext
from antiphon.llm import LLM, ChatChunk, LLMStream
from antiphon.stt import STT, SpeechEvent, SpeechEventType, STTStream
from antiphon.testing.audio import silence, speech
from antiphon.testing.checks import close_twice, require, within
from antiphon.testing.fakes import FakeVAD
from antiphon.testing.realtime_contract import check_realtime
from antiphon.testing.store_contract import StoreUnderTest, check_store
from antiphon.testing.sweep import Heard
from antiphon.testing.transport_contract import TransportUnderTest, check_transport, utterance
from antiphon.text import words
from antiphon.transport import AudioOutput
from antiphon.tts import TTS, SynthesizedAudio
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADEvent, VADStream

__all__ = [
    "Heard",
    "StoreUnderTest",
    "TransportUnderTest",
    "check_llm",
    "check_output",
    "check_realtime",
    "check_store",
    "check_stt",
    "check_transport",
    "check_tts",
    "check_vad",
    "utterance",
]


# -- language models


async def check_llm(factory: Callable[[], LLM], *, prompt: str = "Say hello.", timeout: float = 30.0) -> None:
    """A model answers in chunks, can be collected, stopped at any point, cancelled, and shared between calls."""
    llm = factory()
    try:
        await within(timeout, "prewarm()", llm.prewarm())
        _check_chunks(await within(timeout, "a response", _all_chunks(_ask(llm, prompt))))
        collected = await within(timeout, "collect()", _ask(llm, prompt).collect())
        require(collected.text or collected.tool_calls, "collect() gave neither text nor calls")
        await close_twice("a stream that was never iterated: LLMStream", _ask(llm, prompt).aclose, timeout)
        await within(timeout, "stopping after the first chunk", _check_stop(_ask(llm, prompt), timeout))
        await _check_cancel(_ask(llm, prompt), timeout)
        both = await within(
            timeout, "two responses at once", asyncio.gather(*(_all_chunks(_ask(llm, prompt)) for _ in range(2)))
        )
        require(both[0][0].id != both[1][0].id, f"two responses have the same chunk id {both[0][0].id!r}")
    finally:
        await within(timeout, "LLM.aclose()", llm.aclose())


def _ask(llm: LLM, prompt: str) -> LLMStream:
    chat_ctx = ChatContext.empty()
    chat_ctx.add_message(role="user", content=prompt)
    return llm.chat(chat_ctx=chat_ctx)


async def _all_chunks(stream: LLMStream) -> list[ChatChunk]:
    async with stream:
        return [chunk async for chunk in stream]


def _check_chunks(chunks: Sequence[ChatChunk]) -> None:
    require(chunks, "a response has no chunks")
    ids = {chunk.id for chunk in chunks}
    require(len(ids) == 1 and ids != {""}, f"the chunks of one response must share one id, got {sorted(ids)}")
    deltas = [chunk.delta for chunk in chunks if chunk.delta is not None]
    calls = [call for delta in deltas for call in delta.tool_calls]
    require(calls or any(delta.content for delta in deltas), "a response has neither text nor calls")
    require(all(delta.role == "assistant" for delta in deltas), "a delta's role is not 'assistant'")
    call_ids = [call.call_id for call in calls]
    require(all(call_ids) and len(set(call_ids)) == len(call_ids), f"call ids must be unique, got {call_ids}")
    for call in calls:
        require(call.name, "a call has no name")
        require(_is_json(call.arguments), f"a call came with incomplete arguments {call.arguments!r}")
    usages = [chunk.usage for chunk in chunks if chunk.usage is not None]
    require(len(usages) <= 1, f"usage must be given once, got it {len(usages)} times")
    require(all(u.prompt_tokens >= 0 and u.completion_tokens >= 0 for u in usages), "usage counts below zero")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


async def _check_stop(stream: LLMStream, timeout: float) -> None:
    async with stream:
        async for _ in stream:
            break
        await close_twice("an LLMStream stopped after its first chunk", stream.aclose, timeout)
        rest = [chunk async for chunk in stream]
        require(not rest, f"a closed LLMStream still gave {len(rest)} chunks")


async def _check_cancel(stream: LLMStream, timeout: float) -> None:
    task = asyncio.create_task(_all_chunks(stream), name="check_llm: a response to be cancelled")
    await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=timeout)
    require(done, f"a cancelled response did not end within {timeout:g} s")
    require(task.cancelled(), "a response swallowed its cancellation")


# -- speech to text


async def check_stt(
    factory: Callable[[], STT],
    *,
    audio: AudioFrame | None = None,
    expect: str | None = None,
    timeout: float = 30.0,
) -> None:
    """A recogniser takes audio of any rate, ends after its input, and can be closed at any time.

    `audio` is mono, one utterance with at least a second of silence behind it; without it a tone is used, in which real
    engines hear nothing. `expect`: words that the final transcripts must contain, in order.
    """
    sound = audio or _joined(speech(1.0), silence(1.0))
    stt = factory()
    try:
        await within(timeout, "prewarm()", stt.prewarm())
        events = await within(timeout, "a recognition, after end_input()", _recognise(stt.stream(), sound))
        _check_events(events)
        if expect is not None:
            _check_heard(events, expect)
        for rate in (8_000, 48_000):
            stream = stt.stream()
            stream.push(silence(0.1, rate))
            await close_twice(f"an STTStream that took {rate} Hz", stream.aclose, timeout)
        await _check_stt_close(stt.stream(), timeout)
        stream = stt.stream()
        stream.end_input()
        nothing = await within(timeout, "iterating a stream without audio", _events(stream))
        require(not any(event.text for event in nothing), "a stream without audio gave a transcript")
        await close_twice("an STTStream", stream.aclose, timeout)
    finally:
        await within(timeout, "STT.aclose()", stt.aclose())


async def _recognise(stream: STTStream, sound: AudioFrame) -> list[SpeechEvent]:
    async with stream:
        listening = asyncio.create_task(_events(stream), name="check_stt: listening")
        vad = FakeVAD().stream()
        for frame in _slices(sound, 0.02):
            stream.push(frame)
            for event in vad.push(frame):
                stream.mark(event)
            await asyncio.sleep(0)
        for event in vad.end():
            stream.mark(event)
        stream.flush()
        stream.end_input()
        return await listening


async def _events(stream: STTStream) -> list[SpeechEvent]:
    return [event async for event in stream]


def _check_events(events: Sequence[SpeechEvent]) -> None:
    transcripts = (SpeechEventType.INTERIM_TRANSCRIPT, SpeechEventType.FINAL_TRANSCRIPT)
    heard = [event for event in events if event.type in transcripts]
    for event in heard:
        require(event.alternatives, f"a {event.type} has no alternatives")
        require(
            all(0.0 <= data.confidence <= 1.0 for data in event.alternatives),
            f"a confidence is not between 0 and 1: {event.alternatives}",
        )
    if any(event.text for event in heard):
        require(
            heard[-1].type is SpeechEventType.FINAL_TRANSCRIPT,
            f"the input has ended, and {heard[-1].text!r} is still an interim transcript",
        )


def _check_heard(events: Sequence[SpeechEvent], expect: str) -> None:
    final = " ".join(event.text for event in events if event.type is SpeechEventType.FINAL_TRANSCRIPT)
    rest = iter(words(final.casefold()))
    require(all(word in rest for word in words(expect.casefold())), f"expected {expect!r}, got {final!r}")


async def _check_stt_close(stream: STTStream, timeout: float) -> None:
    listening = asyncio.create_task(_events(stream), name="check_stt: listening to a stream that is closed")
    await asyncio.sleep(0)
    stream.push(silence(0.1))
    await close_twice("an STTStream", stream.aclose, timeout)
    done, _ = await asyncio.wait({listening}, timeout=timeout)
    if not done:
        listening.cancel()
    require(done, "the iterator of a closed STTStream did not end")
    listening.result()
    stream.push(silence(0.1))
    late = await within(timeout, "iterating a closed STTStream", _events(stream))
    require(not late, f"a closed STTStream still gave {late}")


# -- text to speech

_LINE = "Hello there. Your table is booked for two."


async def check_tts(factory: Callable[[], TTS], *, text: str = _LINE, timeout: float = 30.0) -> None:
    """A voice says all it is given and nothing else, at the rate it names, and can be stopped at any point."""
    tts = factory()
    try:
        await within(timeout, "prewarm()", tts.prewarm())
        whole = await within(timeout, "synthesize()", _audio(tts.synthesize(text)))
        _check_audio("synthesize()", whole, tts, text)
        pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
        streamed = await within(timeout, "stream()", _audio(tts.stream(_given(pieces))))
        _check_audio("stream()", streamed, tts, text)
        nothing = await within(timeout, "stream() of no text", _audio(tts.stream(_given([]))))
        require(not any(piece.frame.data for piece in nothing), "stream() of no text made a sound")
        await _check_tts_stop(tts.synthesize(text), timeout)
        await within(
            timeout, "two syntheses at once", asyncio.gather(*(_audio(tts.synthesize(text)) for _ in range(2)))
        )
    finally:
        await within(timeout, "TTS.aclose()", tts.aclose())


async def _given(pieces: Sequence[str]) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece


async def _audio(synthesis: AsyncIterator[SynthesizedAudio]) -> list[SynthesizedAudio]:
    return [piece async for piece in synthesis]


def _check_audio(what: str, audio: Sequence[SynthesizedAudio], tts: TTS, text: str) -> None:
    require(audio, f"{what} gave no audio")
    for piece in audio:
        rate, channels = piece.frame.sample_rate, piece.frame.num_channels
        require(rate == tts.sample_rate, f"{what} gave a frame of {rate} Hz, but sample_rate is {tts.sample_rate}")
        require(channels == 1, f"{what} gave a frame of {channels} channels instead of one")
    require(audio[0].text, f"{what}: the first frame does not carry the text that it says")
    said = "".join(piece.text for piece in audio)
    require("".join(said.split()) == "".join(text.split()), f"{what}: expected the text {text!r}, got {said!r}")
    duration = sum(piece.frame.duration for piece in audio)
    least = 0.02 * len(words(text))
    require(duration >= least, f"{what}: {duration:.3f} s of audio cannot be {len(words(text))} words")
    for piece in audio:
        last = 0.0
        for word in piece.words:
            require(last - 1e-6 <= word.start <= word.end <= duration + 1e-6, f"{what}: {word} lies outside its audio")
            last = word.start


async def _check_tts_stop(synthesis: AsyncIterator[SynthesizedAudio], timeout: float) -> None:
    aclose = getattr(synthesis, "aclose", None)
    require(aclose is not None, "synthesize() is not an async generator: it cannot be closed")
    await within(timeout, "the first frame", anext(synthesis))
    assert aclose is not None
    await close_twice("a synthesis after its first frame: the generator", aclose, timeout)
    rest = await within(timeout, "iterating a closed synthesis", _audio(synthesis))
    require(not rest, f"a closed synthesis still gave {len(rest)} frames")


# -- voice activity


async def check_vad(factory: Callable[[], VAD], *, audio: AudioFrame | None = None, timeout: float = 30.0) -> None:
    """A detector gives alternating transitions, in time, however the audio is cut into frames, for each stream alone.

    `audio` is mono, a silence, one utterance, and a silence of a second or more; without it a tone is used, which real
    detectors do not take for a voice.
    """
    sound = audio or _joined(silence(0.5), speech(1.0), silence(1.0))
    vad = factory()
    try:
        events = _transitions(vad.stream(), sound, 0.02)
        require(events, "nobody was heard to speak in the audio; pass audio= with a voice in it")
        _check_transitions(events, sound.duration)
        quiet = silence(2.0, sound.sample_rate)
        require(not _transitions(vad.stream(), quiet, 0.02), "silence was taken for speech")
        for length in (0.007, 0.1, sound.duration):
            other = _transitions(vad.stream(), sound, length)
            require(
                [type(event) for event in other] == [type(event) for event in events],
                f"frames of {length:g} s gave {other}, frames of 0.02 s gave {events}",
            )
        _check_separate(vad, sound, events)
        _check_end(vad.stream(), sound, events[0])
    finally:
        await within(timeout, "VAD.aclose()", vad.aclose())


def _transitions(stream: VADStream, sound: AudioFrame, length: float) -> list[VADEvent]:
    events = [event for frame in _slices(sound, length) for event in stream.push(frame)]
    return events + list(stream.end())


def _check_transitions(events: Sequence[VADEvent], duration: float) -> None:
    last = 0.0
    for number, event in enumerate(events):
        expected = SpeechEnded if number % 2 else SpeechStarted
        require(isinstance(event, expected), f"transitions must alternate, beginning with a start; got {events}")
        require(last - 1e-6 <= event.at <= duration + 1e-6, f"{event} lies before the one before it, or in the future")
        last = event.at
    require(len(events) % 2 == 0, f"the input has ended, and somebody still speaks: {events}")


def _check_separate(vad: VAD, sound: AudioFrame, alone: Sequence[VADEvent]) -> None:
    loud, quiet = vad.stream(), vad.stream()
    heard: list[VADEvent] = []
    misheard: list[VADEvent] = []
    for frame in _slices(sound, 0.02):
        heard += loud.push(frame)
        misheard += quiet.push(silence(frame.duration, sound.sample_rate))
    heard += loud.end()
    require(
        heard == list(alone) and not misheard,
        f"two streams of one VAD are not independent: beside a silent one, {heard} instead of {alone};"
        f" the silent one heard {misheard}",
    )


def _check_end(stream: VADStream, sound: AudioFrame, start: VADEvent) -> None:
    pushed = 0.0
    for frame in _slices(sound, 0.02):
        pushed += frame.duration
        if any(isinstance(event, SpeechStarted) for event in stream.push(frame)):
            break
    ended = list(stream.end())
    require(
        [type(event) for event in ended] == [SpeechEnded],
        f"end() within a speech that began at {start.at:g} s must give SpeechEnded, got {ended}",
    )
    require(ended[0].at <= pushed + 1e-6, f"end(): {ended[0]} lies in the future; {pushed:g} s were pushed")


# -- loudspeakers


async def check_output(factory: Callable[[], AudioOutput], *, tolerance: float = 0.1) -> None:
    """A loudspeaker plays in real time, counts what it played, pauses, and throws away what it is told to.

    For one whose far end cannot be listened to; `check_transport` sees more. Takes about two seconds of the running
    loop. `tolerance`: seconds by which the count may be off.
    """
    output = factory()
    require(output.sample_rate > 0, f"sample_rate must be positive, got {output.sample_rate}")
    output.start()
    try:
        await _check_output(output, tolerance)
    finally:
        await within(10.0, "AudioOutput.aclose()", output.aclose())


async def _check_output(output: AudioOutput, tolerance: float) -> None:
    def near(what: str, seconds: float, expected: float) -> None:
        require(abs(seconds - expected) <= tolerance, f"{what}: expected about {expected:.3f} s, got {seconds:.3f} s")

    require(output.played == 0, f"played must be 0 before anything was written, got {output.played}")
    output.write(speech(0.4, output.sample_rate))
    await _rising(output, 0.6)
    near("played, after 0.4 s were written and had time to sound", output.played, 0.4)

    output.write(speech(1.0, output.sample_rate))
    await _rising(output, 0.3)
    output.pause()
    output.pause()
    paused = output.played
    near("played, 0.3 s after more was written", paused, 0.7)
    await _rising(output, 0.3)
    near("played, 0.3 s after pause()", output.played, paused)

    output.resume()
    output.resume()
    await _rising(output, 0.2)
    near("played, 0.2 s after resume()", output.played, paused + 0.2)

    output.pause()
    before = output.played
    dropped = output.clear()
    near("clear()", dropped, 1.4 - before)
    require(output.clear() <= tolerance, "a second clear() still found something to throw away")
    near("played, after clear(), which throws away and does not play", output.played, before)
    output.write(speech(0.2, output.sample_rate))
    await _rising(output, 0.4)
    near("played, after writing behind clear(), which ends a pause", output.played, before + 0.2)


async def _rising(output: AudioOutput, duration: float) -> None:
    """Wait, and see that `played` never decreases."""
    last = output.played
    for _ in range(round(duration / 0.02)):
        await asyncio.sleep(0.02)
        played = output.played
        require(played >= last - 1e-6, f"played decreased from {last:.3f} s to {played:.3f} s")
        last = played


# -- audio


def _joined(*frames: AudioFrame) -> AudioFrame:
    return AudioFrame(b"".join(frame.data for frame in frames), frames[0].sample_rate)


def _slices(sound: AudioFrame, length: float) -> list[AudioFrame]:
    step = 2 * max(1, round(length * sound.sample_rate))
    return [AudioFrame(sound.data[at : at + step], sound.sample_rate) for at in range(0, len(sound.data), step)]
