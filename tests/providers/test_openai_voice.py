"""`openai.TTS` and `openai.STT` against a double of the endpoints."""

from __future__ import annotations

import asyncio
import email.parser
import io
import wave
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import MissingKey, ProviderConnectionError, ProviderError, ProviderStatusError, ProviderTimeout
from antiphon.providers.openai import STT, TTS
from antiphon.stt import SpeechEvent, SpeechEventType
from antiphon.testing.audio import silence, speech
from antiphon.testing.contract import check_stt, check_tts
from antiphon.vad import SpeechEnded, SpeechStarted

pytest.importorskip("openai", reason="needs the openai package: pip install 'antiphon[openai]'")

from tests.providers.http_double import Answer, HTTPDouble, Request, hang_up, pieces, status
from tests.providers.http_double import silence as no_answer


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def with_double(*answers: Answer, use: Callable[[str], Awaitable[Any]]) -> list[Request]:
    async def run() -> list[Request]:
        async with HTTPDouble(*answers) as double, asyncio.timeout(15):
            await use(double.url)
        return double.requests

    return asyncio.run(run())


# -- voice


def sound(*parts: bytes, then: str = "end") -> Answer:
    return pieces(*parts, content_type="audio/pcm", then=then)


SECOND = bytes(48_000)


def speak(*answers: Answer, text: str = "Hello.", **options: Any) -> tuple[bytes, list[Request]]:
    """The sound, and the requests for it."""
    data: list[bytes] = []

    async def use(url: str) -> None:
        tts = TTS(base_url=url, **({"max_retries": 0} | options))
        try:
            async for audio in tts.synthesize(text):
                data.append(audio.frame.data)  # noqa: PERF401 - what came before an error counts, too
        finally:
            await tts.aclose()

    requests = with_double(*answers, use=use)
    return b"".join(data), requests


def test_it_keeps_the_promises_of_a_voice() -> None:
    async def use(url: str) -> None:
        await check_tts(lambda: TTS(base_url=url))

    with_double(sound(SECOND, SECOND), use=use)


def test_the_endpoint_is_told_text_voice_and_instructions() -> None:
    _, requests = speak(sound(SECOND), voice="coral", instructions="Warmly.", speed=1.1)
    assert requests[0].path == "/audio/speech"
    assert requests[0].json == {
        "input": "Hello.",
        "model": "gpt-4o-mini-tts",
        "voice": "coral",
        "instructions": "Warmly.",
        "speed": 1.1,
        "response_format": "pcm",
    }


def test_new_instructions_hold_from_the_next_sentence_on() -> None:
    async def use(url: str) -> None:
        tts = TTS(base_url=url, instructions="Calmly.")
        [audio async for audio in tts.synthesize("One.")]
        tts.update_options(instructions="Gladly.", voice="ash")
        [audio async for audio in tts.synthesize("Two.")]
        await tts.aclose()

    requests = with_double(sound(SECOND), use=use)
    said = [(request.json["instructions"], request.json["voice"]) for request in requests]
    assert said == [("Calmly.", "alloy"), ("Gladly.", "ash")]


def test_samples_cut_in_two_on_the_way_are_put_together() -> None:
    data, _ = speak(sound(b"\1", b"\2\3", b"\4\5\6"))
    assert data == b"\1\2\3\4\5\6"


def test_a_text_of_white_space_is_not_sent() -> None:
    assert speak(sound(SECOND), text=" \n") == (b"", [])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status(401, {"error": {"message": "no"}}), ProviderStatusError),
        (status(429, {"error": {"message": "no"}}), ProviderStatusError),
        (status(500, {"error": {"message": "no"}}), ProviderStatusError),
        (hang_up, ProviderConnectionError),
        (sound(SECOND, then="cut"), ProviderConnectionError),
        (sound(), ProviderConnectionError),
        (no_answer, ProviderTimeout),
        (sound(SECOND, then="hang"), ProviderTimeout),
    ],
)
def test_a_voice_that_fails_says_how(answer: Answer, error: type[ProviderError]) -> None:
    with pytest.raises(error, match=r"openai\.TTS"):
        speak(answer, timeout=0.3)


def test_a_voice_that_is_busy_for_a_moment_is_asked_again() -> None:
    data, requests = speak(status(503, headers="retry-after-ms: 1\r\n"), sound(SECOND), max_retries=1)
    assert (data, len(requests)) == (SECOND, 2)


# -- recognition


def form(request: Request) -> dict[str, bytes]:
    """The fields of a form as browsers send them."""
    head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
    message = email.parser.BytesParser().parsebytes(head + request.body)
    fields: dict[str, bytes] = {}
    for part in message.get_payload():
        assert not isinstance(part, str)
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        fields[str(name)] = payload
    return fields


def hear(*answers: Answer, **options: Any) -> tuple[list[SpeechEvent], list[Request]]:
    """The transcripts of one utterance, and the requests for them."""
    events: list[SpeechEvent] = []

    async def use(url: str) -> None:
        stt = STT(base_url=url, **({"max_retries": 0} | options))
        try:
            async with stt.stream() as stream:
                stream.push(speech(1.0, 16_000))
                stream.mark(SpeechStarted(0.0))
                stream.push(silence(0.1, 16_000))
                stream.mark(SpeechEnded(1.0))
                stream.end_input()
                events.extend([event async for event in stream])
        finally:
            await stt.aclose()

    requests = with_double(*answers, use=use)
    return events, requests


def test_an_utterance_is_sent_as_a_recording_and_comes_back_as_text() -> None:
    events, requests = hear(status(200, {"text": "hello there"}), language="en", prompt="Antiphon")
    assert [(event.type, event.text) for event in events] == [(SpeechEventType.FINAL_TRANSCRIPT, "hello there")]
    fields = form(requests[-1])
    assert fields["model"] == b"gpt-4o-mini-transcribe"
    assert fields["language"] == b"en"
    assert fields["prompt"] == b"Antiphon"
    with wave.open(io.BytesIO(fields["file"])) as recording:
        assert (recording.getnchannels(), recording.getsampwidth(), recording.getframerate()) == (1, 2, 16_000)
        assert recording.getnframes() / 16_000 == pytest.approx(1.1, abs=0.15)


def test_sound_too_short_for_the_endpoint_is_not_sent() -> None:
    async def use(url: str) -> None:
        assert await STT(base_url=url).recognize(AudioFrame(bytes(320), 16_000)) == ""

    assert with_double(status(200, {"text": "hello"}), use=use) == []


def test_it_keeps_the_promises_of_a_recogniser() -> None:
    async def use(url: str) -> None:
        await check_stt(lambda: STT(base_url=url), expect="hello there")

    with_double(status(200, {"text": "hello there"}), use=use)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status(401, {"error": {"message": "no"}}), ProviderStatusError),
        (status(500, {"error": {"message": "no"}}), ProviderStatusError),
        (hang_up, ProviderConnectionError),
        (no_answer, ProviderTimeout),
        (pieces(b"{nonsense", content_type="application/json"), ProviderConnectionError),
    ],
)
def test_a_recogniser_that_fails_says_how(answer: Answer, error: type[ProviderError]) -> None:
    with pytest.raises(error, match=r"openai\.STT"):
        hear(answer, timeout=0.3)


def test_voice_and_recogniser_are_made_without_key_and_ask_for_it_at_the_first_use() -> None:
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        STT().stream()

    async def first_use() -> None:
        with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
            [audio async for audio in TTS().synthesize("Hello.")]

    asyncio.run(first_use())
