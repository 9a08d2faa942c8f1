from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.errors import MissingKey, ProviderConnectionError, ProviderError, ProviderStatusError, ProviderTimeout
from antiphon.providers.cartesia import TTS
from antiphon.testing.contract import check_tts
from antiphon.tts import SynthesizedAudio

pytest.importorskip("websockets", reason="needs websockets: pip install 'antiphon[cartesia]'")

from tests.providers.websocket_double import Service, WebSocketDouble, cut, garble, hang

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARTESIA_API_KEY", raising=False)


class Speaker:
    """The service as documented: contexts, continuations and flushes. 50 ms of sound for each letter."""

    def __init__(self, *, endless: bool = False, once: bool = False, mute: str = "", status: int = 0) -> None:
        self.messages: list[dict[str, Any]] = []
        self.cancelled = asyncio.Event()
        self.endless = endless
        self._once = once
        self._mute = mute
        self._status = status

    async def __call__(self, connection: ServerConnection) -> None:
        flushes = 0
        async for text in connection:
            told = json.loads(text)
            self.messages.append(told)
            common = {"context_id": told["context_id"], "status_code": 206, "done": False}
            if told.get("cancel"):
                self.cancelled.set()
                continue
            if self._status:
                failed = {"type": "error", "title": "Bad", "message": "voice not found", "status_code": self._status}
                await connection.send(json.dumps(common | failed))
                continue
            if told["transcript"].strip() != self._mute:
                for _ in told["transcript"].strip():
                    chunk = {"type": "chunk", "data": base64.b64encode(bytes(2400)).decode()}
                    await connection.send(json.dumps(common | chunk))
            if told.get("flush"):
                flushes += 1
                flushed = {"type": "flush_done", "flush_done": True, "flush_id": flushes}
                await connection.send(json.dumps(common | flushed))
            if not told["continue"] and not self.endless:
                await connection.send(json.dumps(common | {"type": "done", "done": True}))
                if self._once:
                    return


Use = Callable[[WebSocketDouble, TTS], Awaitable[Any]]


def _options(double: WebSocketDouble) -> dict[str, Any]:
    return {"api_key": "k", "base_url": double.url, "timeout": 2.0}


def with_double(*services: Service, use: Use, refuse: tuple[int, ...] = (), **options: Any) -> WebSocketDouble:
    async def run() -> WebSocketDouble:
        async with WebSocketDouble(*services, refuse=refuse) as double:
            tts = TTS(**(_options(double) | options))
            try:
                async with asyncio.timeout(15):
                    await use(double, tts)
            finally:
                await tts.aclose()
        return double

    return asyncio.run(run())


async def given(*pieces: str) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece


def spoken(audio: list[SynthesizedAudio]) -> list[tuple[str, float]]:
    """Each stretch of text with the seconds of sound that belong to it."""
    stretches: list[tuple[str, float]] = []
    for piece in audio:
        if piece.text or not stretches:
            stretches.append((piece.text.strip(), 0.0))
        text, length = stretches[-1]
        stretches[-1] = (text, round(length + piece.frame.duration, 3))
    return stretches


def test_the_service_is_told_key_version_voice_and_format() -> None:
    speaker = Speaker()

    async def use(_: WebSocketDouble, tts: TTS) -> None:
        [audio async for audio in tts.synthesize("Hello.")]

    double = with_double(speaker, use=use, model="sonic-3", voice="v-1", language="de", speed=0.9)
    assert double.attempts[0].headers["X-API-Key"] == "k"
    assert double.attempts[0].headers["Cartesia-Version"]
    first = speaker.messages[0]
    assert first["model_id"] == "sonic-3"
    assert first["voice"] == {"mode": "id", "id": "v-1"}
    assert first["language"] == "de"
    assert first["generation_config"] == {"speed": 0.9}
    assert first["output_format"] == {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24_000}


def test_the_sentences_of_a_reply_share_a_context_and_keep_their_sound() -> None:
    speaker = Speaker()
    audio: list[SynthesizedAudio] = []

    async def use(_: WebSocketDouble, tts: TTS) -> None:
        audio.extend([one async for one in tts.stream(given("This is the first sentence. ", "And th", "e other one."))])

    with_double(speaker, use=use)
    assert len({message["context_id"] for message in speaker.messages}) == 1
    assert speaker.messages[-1]["continue"] is False
    assert "".join(message["transcript"] for message in speaker.messages).split() == (
        "This is the first sentence. And the other one.".split()
    )
    assert spoken(audio) == [("This is the first sentence.", 27 * 0.05), ("And the other one.", 18 * 0.05)]


def test_a_sentence_without_sound_goes_with_the_next() -> None:
    audio: list[SynthesizedAudio] = []

    async def use(_: WebSocketDouble, tts: TTS) -> None:
        audio.extend([one async for one in tts.stream(given("Soundless is this one. ", "But the other one is not."))])

    with_double(Speaker(mute="Soundless is this one."), use=use)
    assert [text.split() for text, _ in spoken(audio)] == ["Soundless is this one. But the other one is not.".split()]


def test_sound_comes_while_the_text_is_still_being_written() -> None:
    async def use(_: WebSocketDouble, tts: TTS) -> None:
        heard = asyncio.Event()

        async def writing() -> AsyncIterator[str]:
            yield "This is the first sentence. And"
            await heard.wait()
            yield " the rest."

        async for _audio in tts.stream(writing()):
            heard.set()

    with_double(Speaker(), use=use)


def test_replies_share_a_connection_one_after_another() -> None:
    async def use(_: WebSocketDouble, tts: TTS) -> None:
        for _i in range(3):
            [audio async for audio in tts.synthesize("Hello.")]

    assert len(with_double(Speaker(), use=use).connections) == 1


def test_a_reply_that_is_stopped_is_cancelled_at_the_service_and_does_not_sound_in_the_next() -> None:
    speaker = Speaker(endless=True)
    lengths: list[float] = []

    async def use(_: WebSocketDouble, tts: TTS) -> None:
        async with aclosing(tts.synthesize("This is stopped after its first sound.")) as stopped:
            async for _audio in stopped:
                break
        await speaker.cancelled.wait()
        speaker.endless = False
        lengths.append(sum([audio.frame.duration async for audio in tts.synthesize("Hello.")]))

    double = with_double(speaker, use=use)
    assert len(double.connections) == 1
    assert lengths == [pytest.approx(0.3)]


def test_a_connection_can_be_had_ahead() -> None:
    async def use(double: WebSocketDouble, tts: TTS) -> None:
        await tts.prewarm()
        assert len(double.attempts) == 1
        [audio async for audio in tts.synthesize("Hello.")]

    assert len(with_double(Speaker(), use=use).attempts) == 1


def test_a_service_that_cannot_be_had_ahead_may_be_there_when_it_is_needed() -> None:
    async def use(_: WebSocketDouble, tts: TTS) -> None:
        await tts.prewarm()
        assert [audio async for audio in tts.synthesize("Hello.")]

    with_double(Speaker(), use=use, refuse=(503,))


def test_new_options_hold_from_the_next_reply_on() -> None:
    speaker = Speaker()

    async def use(_: WebSocketDouble, tts: TTS) -> None:
        tts.update_options(voice="other", emotion="calm")
        [audio async for audio in tts.synthesize("Hello.")]

    with_double(speaker, use=use)
    assert speaker.messages[0]["voice"]["id"] == "other"
    assert speaker.messages[0]["generation_config"] == {"emotion": "calm"}


def test_it_keeps_the_promises_of_a_voice() -> None:
    async def use(double: WebSocketDouble, _: TTS) -> None:
        await check_tts(lambda: TTS(api_key="k", base_url=double.url), timeout=5)

    with_double(Speaker(), use=use)


# -- keys and bad days


def test_it_is_made_without_key_and_asks_for_it_at_the_first_use() -> None:
    assert TTS().unusable() == "no CARTESIA_API_KEY"

    async def first_use() -> None:
        with pytest.raises(MissingKey, match="CARTESIA_API_KEY"):
            await anext(TTS().synthesize("Hello."))

    asyncio.run(first_use())


def test_a_connection_that_died_while_it_waited_is_replaced() -> None:
    async def use(double: WebSocketDouble, tts: TTS) -> None:
        for _i in range(2):
            assert [audio async for audio in tts.synthesize("Hello.")]
            await double.connections[-1].wait_closed()

    assert len(with_double(Speaker(once=True), use=use).connections) == 2


def failing(service: Service, *, error: type[ProviderError], **options: Any) -> tuple[ProviderError, WebSocketDouble]:
    errors: list[ProviderError] = []

    async def use(_: WebSocketDouble, tts: TTS) -> None:
        with pytest.raises(error, match=r"cartesia\.TTS") as raised:
            [audio async for audio in tts.stream(given("Hello there, ", "this will fail."))]
        errors.append(raised.value)

    double = with_double(service, use=use, **options)
    return errors[0], double


def test_a_refused_key_is_named() -> None:
    error, _ = failing(hang, error=ProviderStatusError, refuse=(401,))
    assert not error.retryable
    assert "CARTESIA_API_KEY" in str(error)


@pytest.mark.parametrize("status", [429, 500])
def test_a_service_that_is_busy_is_an_error_that_may_pass(status: int) -> None:
    error, _ = failing(hang, error=ProviderStatusError, refuse=(status, status))
    assert error.retryable


def test_an_error_of_the_service_is_told() -> None:
    error, _ = failing(Speaker(status=400), error=ProviderStatusError)
    assert "voice not found" in str(error)
    assert not error.retryable


def test_a_service_that_falls_silent_is_a_timeout() -> None:
    failing(hang, error=ProviderTimeout, timeout=0.1)


@pytest.mark.parametrize("service", [cut, garble])
def test_a_service_that_breaks_twice_before_any_sound_is_an_error(service: Service) -> None:
    _, double = failing(service, error=ProviderConnectionError)
    assert len(double.connections) == 2


def test_a_reply_cut_in_the_middle_is_an_error_and_not_said_again() -> None:
    async def breaks(connection: ServerConnection) -> None:
        told = json.loads(await connection.recv())
        chunk = {"type": "chunk", "data": base64.b64encode(bytes(2400)).decode(), "context_id": told["context_id"]}
        await connection.send(json.dumps(chunk))
        await asyncio.sleep(0)
        connection.transport.close()

    _, double = failing(breaks, error=ProviderConnectionError)
    assert len(double.connections) == 1


def test_a_chunk_without_sound_is_a_broken_connection() -> None:
    async def odd(connection: ServerConnection) -> None:
        told = json.loads(await connection.recv())
        await connection.send(json.dumps({"type": "chunk", "data": "%%%", "context_id": told["context_id"]}))
        await connection.wait_closed()

    failing(odd, error=ProviderConnectionError)


def test_a_text_that_fails_fails_the_reply() -> None:
    async def broken() -> AsyncIterator[str]:
        yield "This is the first sentence. And then"
        raise RuntimeError("the model failed")

    async def use(_: WebSocketDouble, tts: TTS) -> None:
        with pytest.raises(RuntimeError, match="the model failed"):
            [audio async for audio in tts.stream(broken())]

    with_double(Speaker(endless=True), use=use)
