from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import MissingKey, ProviderConnectionError, ProviderError, ProviderStatusError, ProviderTimeout
from antiphon.providers.deepgram import STT, TTS
from antiphon.stt import SpeechEvent, SpeechEventType, STTStream
from antiphon.testing.audio import silence
from antiphon.testing.contract import check_stt, check_tts
from antiphon.vad import SpeechEnded

pytest.importorskip("websockets", reason="needs websockets: pip install 'antiphon[deepgram]'")

from tests.providers.websocket_double import Service, WebSocketDouble, cut, garble, hang

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

RATE = 16_000


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPGRAM_API_KEY", raising=False)


def results(text: str, *, start: float = 0.0, duration: float = 0.0, **fields: Any) -> str:
    """A message as the service documents it."""
    return json.dumps(
        {
            "type": "Results",
            "channel_index": [0, 1],
            "start": start,
            "duration": duration,
            "is_final": False,
            "speech_final": False,
            "channel": {"alternatives": [{"transcript": text, "confidence": 0.98, "words": []}]},
            "metadata": {"request_id": "r"},
            **fields,
        }
    )


class Listener:
    """A service that hears `says`: interims as audio comes, the final when it is asked for it, or at the end."""

    def __init__(self, says: str = "hello there", *, cut_after: float | None = None) -> None:
        self.messages: list[str] = []
        """What it was told, audio aside."""
        self.audio = bytearray()
        """Of all connections."""
        self._says = says
        self._cut_after = cut_after

    async def __call__(self, connection: ServerConnection) -> None:
        heard = 0
        settled = 0
        async for message in connection:
            if isinstance(message, bytes):
                self.audio += message
                heard += len(message)
                if self._cut_after is not None and heard >= 2 * RATE * self._cut_after:
                    self._cut_after = None
                    connection.transport.abort()
                    return
                await connection.send(results(self._says.split()[0], duration=heard / (2 * RATE)))
                continue
            kind = json.loads(message)["type"]
            self.messages.append(kind)
            if kind not in ("Finalize", "CloseStream"):
                continue
            span = {"start": settled / (2 * RATE), "duration": (heard - settled) / (2 * RATE)}
            if heard > settled:
                final = {"is_final": True, "from_finalize": kind == "Finalize"}
                await connection.send(results(self._says, **span, **final))
                settled = heard
            if kind == "CloseStream":
                await connection.send(json.dumps({"type": "Metadata", "request_id": "r", "duration": heard}))
                return


Use = Callable[[WebSocketDouble, STT], Awaitable[Any]]


def _options(double: WebSocketDouble) -> dict[str, Any]:
    return {"api_key": "k", "base_url": double.url, "timeout": 2.0}


def with_double(*services: Service, use: Use, refuse: tuple[int, ...] = (), **options: Any) -> WebSocketDouble:
    async def run() -> WebSocketDouble:
        async with WebSocketDouble(*services, refuse=refuse) as double:
            stt = STT(**(_options(double) | options))
            async with asyncio.timeout(15):
                await use(double, stt)
        return double

    return asyncio.run(run())


async def transcribe(stt: STT, seconds: float = 0.5) -> list[SpeechEvent]:
    """Speak, mark the end of speech, hang up."""
    async with stt.stream() as stream:
        say(stream, seconds)
        stream.mark(SpeechEnded(seconds))
        stream.end_input()
        return [event async for event in stream]


def say(stream: STTStream, seconds: float) -> None:
    for _ in range(round(seconds / 0.02)):
        stream.push(AudioFrame(b"\1\0" * (RATE // 50), RATE))


def finals(events: list[SpeechEvent]) -> list[str]:
    return [event.text for event in events if event.type is SpeechEventType.FINAL_TRANSCRIPT]


# -- what is said to the service


def test_the_service_is_told_key_model_and_format() -> None:
    async def use(_: WebSocketDouble, stt: STT) -> None:
        await transcribe(stt)

    double = with_double(Listener(), use=use, model="nova-3", language="de", keyterms=["Antiphon"])
    assert double.attempts[0].headers["Authorization"] == "Token k"
    expected = {"model": "nova-3", "language": "de", "encoding": "linear16", "sample_rate": "16000", "channels": "1"}
    assert expected.items() <= double.query.items()
    assert double.query["interim_results"] == "true"
    assert double.query["keyterm"] == "Antiphon"


def test_all_audio_arrives_then_what_asks_for_the_rest() -> None:
    listener = Listener()

    async def use(_: WebSocketDouble, stt: STT) -> None:
        await transcribe(stt, 0.5)

    with_double(listener, use=use)
    assert len(listener.audio) == RATE
    assert listener.messages == ["Finalize", "CloseStream"]


def test_audio_of_another_rate_is_resampled() -> None:
    listener = Listener()

    async def use(_: WebSocketDouble, stt: STT) -> None:
        async with stt.stream() as stream:
            for _frame in range(50):
                stream.push(silence(0.02, 48_000))
            stream.end_input()
            [event async for event in stream]

    with_double(listener, use=use)
    assert len(listener.audio) == pytest.approx(2 * RATE, rel=0.05)


def test_the_line_is_kept_alive_while_no_audio_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.providers.deepgram._KEEP_ALIVE", 0.01)
    alive = asyncio.Event()

    async def service(connection: ServerConnection) -> None:
        async for message in connection:
            if isinstance(message, str) and json.loads(message)["type"] == "KeepAlive":
                alive.set()

    async def use(_: WebSocketDouble, stt: STT) -> None:
        async with stt.stream() as stream:
            listening = asyncio.create_task(_all(stream))
            await alive.wait()
            await stream.aclose()
            await listening

    with_double(service, use=use)


async def _all(stream: STTStream) -> list[SpeechEvent]:
    return [event async for event in stream]


# -- what comes back


def test_interim_transcripts_come_before_the_final_one() -> None:
    events: list[SpeechEvent] = []

    async def use(_: WebSocketDouble, stt: STT) -> None:
        events.extend(await transcribe(stt))

    with_double(Listener("hello there"), use=use)
    kinds = [event.type for event in events]
    assert kinds[0] is SpeechEventType.START_OF_SPEECH
    assert SpeechEventType.INTERIM_TRANSCRIPT in kinds
    assert kinds[-2:] == [SpeechEventType.FINAL_TRANSCRIPT, SpeechEventType.END_OF_SPEECH]
    assert finals(events) == ["hello there"]
    assert events[-2].alternatives[0].confidence == 0.98


def test_silence_is_answered_with_an_empty_final_transcript() -> None:
    events: list[SpeechEvent] = []

    async def use(_: WebSocketDouble, stt: STT) -> None:
        events.extend(await transcribe(stt))

    async def quiet(connection: ServerConnection) -> None:
        async for message in connection:
            if isinstance(message, str):
                kind = json.loads(message)["type"]
                if kind == "Finalize":
                    await connection.send(results("", is_final=True, from_finalize=True))
                elif kind == "CloseStream":
                    return

    with_double(quiet, use=use)
    assert finals(events) == [""]


def test_a_service_with_nothing_left_to_say_is_not_waited_for() -> None:
    """`Finalize` may stay without an answer; the session still gets its final transcript, an empty one."""

    async def wordless(connection: ServerConnection) -> None:
        async for _ in connection:
            await connection.send(json.dumps({"type": "Metadata"}))

    async def use(_: WebSocketDouble, stt: STT) -> None:
        async with stt.stream() as stream:
            say(stream, 0.1)
            stream.mark(SpeechEnded(0.1))
            async for event in stream:
                assert (event.type, event.text) == (SpeechEventType.FINAL_TRANSCRIPT, "")
                break

    with_double(wordless, use=use)


def test_no_transcript_is_made_up_for_a_service_that_hangs() -> None:
    async def hung(connection: ServerConnection) -> None:
        async for _ in connection:
            pass

    async def use(_: WebSocketDouble, stt: STT) -> None:
        heard: list[SpeechEvent] = []
        async with stt.stream() as stream:
            say(stream, 0.1)
            stream.mark(SpeechEnded(0.1))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.5):
                    async for event in stream:
                        heard.append(event)  # noqa: PERF401 - a comprehension would lose what came before
        assert heard == []

    with_double(hung, use=use)


def test_it_keeps_the_promises_of_a_recogniser() -> None:
    async def use(double: WebSocketDouble, _: STT) -> None:
        await check_stt(lambda: STT(api_key="k", base_url=double.url), expect="hello there", timeout=5)

    class Once(Listener):
        pass

    async def service(connection: ServerConnection) -> None:
        await Once()(connection)

    with_double(service, use=use)


# -- keys


def test_it_is_made_without_key_and_asks_for_it_at_the_first_use() -> None:
    assert STT().unusable() == TTS().unusable() == "no DEEPGRAM_API_KEY"
    with pytest.raises(MissingKey, match="DEEPGRAM_API_KEY"):
        STT().stream()


# -- bad days


def test_no_word_is_lost_when_the_connection_breaks() -> None:
    listener = Listener("hello there", cut_after=0.2)
    events: list[SpeechEvent] = []

    async def use(_: WebSocketDouble, stt: STT) -> None:
        events.extend(await transcribe(stt, 0.5))

    double = with_double(listener, use=use)
    assert len(double.connections) == 2
    assert finals(events) == ["hello there"]
    assert len(listener.audio) > RATE, "what was not transcribed yet is sent again"


def test_what_was_transcribed_is_not_sent_again() -> None:
    sent: list[int] = []

    async def first(connection: ServerConnection) -> None:
        heard = 0
        while heard < RATE:
            heard += len(await connection.recv())
        await connection.send(results("one", start=0.0, duration=0.5, is_final=True))
        await connection.recv()
        connection.transport.abort()

    async def second(connection: ServerConnection) -> None:
        async for message in connection:
            if isinstance(message, bytes):
                sent.append(len(message))
            elif json.loads(message)["type"] == "CloseStream":
                return

    async def use(_: WebSocketDouble, stt: STT) -> None:
        async with stt.stream() as stream:
            say(stream, 0.5)
            async for event in stream:
                if event.text == "one":
                    say(stream, 0.1)
                    stream.end_input()

    with_double(first, second, use=use)
    assert sum(sent) == RATE // 5


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_service_that_is_busy_for_a_moment_is_tried_again(status: int) -> None:
    events: list[SpeechEvent] = []

    async def use(_: WebSocketDouble, stt: STT) -> None:
        events.extend(await transcribe(stt))

    with_double(Listener(), use=use, refuse=(status,))
    assert finals(events) == ["hello there"]


def failing(*services: Service, error: type[ProviderError], **options: Any) -> tuple[ProviderError, WebSocketDouble]:
    errors: list[ProviderError] = []

    async def use(_: WebSocketDouble, stt: STT) -> None:
        with pytest.raises(error) as raised:
            await transcribe(stt)
        errors.append(raised.value)

    double = with_double(*services, use=use, **options)
    return errors[0], double


def test_a_refused_key_is_named_and_not_tried_again() -> None:
    error, double = failing(hang, error=ProviderStatusError, refuse=(401,))
    assert isinstance(error, ProviderStatusError)
    assert (error.status, error.retryable, len(double.attempts)) == (401, False, 1)
    assert "DEEPGRAM_API_KEY" in str(error)


@pytest.mark.parametrize("status", [429, 500])
def test_a_service_that_stays_busy_is_an_error(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.providers.deepgram._MAX_FAILURES", 1)
    error, double = failing(hang, error=ProviderStatusError, refuse=(status,) * 9)
    assert error.retryable
    assert len(double.attempts) == 2


def test_a_service_that_breaks_again_and_again_is_an_error_though_it_gives_something(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("antiphon.streams.MAX_BREAKS", 3)

    async def a_word(connection: ServerConnection) -> None:
        await connection.send(results("hello", is_final=True))
        connection.transport.abort()

    _, double = failing(a_word, error=ProviderConnectionError)

    assert len(double.connections) == 4
    assert "for the 3. time in a row" in caplog.text


@pytest.mark.parametrize("service", [cut, garble])
def test_a_service_that_always_breaks_is_an_error(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.providers.deepgram._MAX_FAILURES", 1)
    error, double = failing(service, error=ProviderConnectionError)
    assert "deepgram.STT" in str(error)
    assert len(double.connections) == 2


def test_results_of_another_form_are_a_broken_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.providers.deepgram._MAX_FAILURES", 0)

    async def odd(connection: ServerConnection) -> None:
        await connection.send(json.dumps({"type": "Results", "channel": []}))
        await connection.wait_closed()

    failing(odd, error=ProviderConnectionError)


def test_a_service_that_never_ends_is_a_timeout() -> None:
    async def endless(connection: ServerConnection) -> None:
        async for _ in connection:
            pass

    failing(endless, error=ProviderTimeout, timeout=0.2)


def test_an_error_of_the_service_is_told() -> None:
    async def refusing(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(json.dumps({"type": "Error", "description": "model not found"}))
        await connection.wait_closed()

    error, _ = failing(refusing, error=ProviderError)
    assert "model not found" in str(error)


def test_a_stream_is_closed_at_once_even_while_it_connects() -> None:
    async def use(_: WebSocketDouble, stt: STT) -> None:
        stream = stt.stream()
        listening = asyncio.create_task(_all(stream))
        await asyncio.sleep(0)
        async with asyncio.timeout(0.5):
            await stream.aclose()
            assert await listening == []

    with_double(hang, use=use)


# -- voice


async def speaker(connection: ServerConnection) -> None:
    """Speaks what it is told when it is flushed: 50 ms for each letter."""
    text = ""
    sequence = 0
    async for message in connection:
        told = json.loads(message)
        if told["type"] == "Speak":
            text += told["text"]
        elif told["type"] == "Flush":
            for _ in text:
                await connection.send(bytes(2400))
            await connection.send(json.dumps({"type": "Flushed", "sequence_id": sequence}))
            text, sequence = "", sequence + 1


def speaking(
    *services: Service, use: Callable[[WebSocketDouble, TTS], Awaitable[Any]], refuse: tuple[int, ...] = ()
) -> WebSocketDouble:
    async def run() -> WebSocketDouble:
        async with WebSocketDouble(*services, refuse=refuse) as server:
            tts = TTS(api_key="k", base_url=server.url, timeout=0.5)
            async with asyncio.timeout(15):
                await use(server, tts)
            await tts.aclose()
        return server

    return asyncio.run(run())


def test_it_keeps_the_promises_of_a_voice() -> None:
    async def use(double: WebSocketDouble, _: TTS) -> None:
        await check_tts(lambda: TTS(api_key="k", base_url=double.url), timeout=5)

    speaking(speaker, use=use)


def test_sentences_share_a_connection() -> None:
    async def use(_: WebSocketDouble, tts: TTS) -> None:
        for _i in range(3):
            [audio async for audio in tts.synthesize("Hello.")]

    double = speaking(speaker, use=use)
    assert len(double.connections) == 1
    assert double.query == {"model": "aura-2-andromeda-en", "encoding": "linear16", "sample_rate": "24000"}


@pytest.mark.parametrize(
    ("service", "refuse", "error"),
    [
        (cut, (), ProviderConnectionError),
        (garble, (), ProviderConnectionError),
        (hang, (), ProviderTimeout),
        (hang, (401,), ProviderStatusError),
        (hang, (429,), ProviderStatusError),
        (hang, (500,), ProviderStatusError),
    ],
)
def test_a_voice_that_fails_says_how(service: Service, refuse: tuple[int, ...], error: type[ProviderError]) -> None:
    async def use(_: WebSocketDouble, tts: TTS) -> None:
        with pytest.raises(error, match=r"deepgram\.TTS"):
            [audio async for audio in tts.synthesize("Hello.")]

    speaking(service, use=use, refuse=refuse)
