"""Deepgram: `STT` and `TTS` by its streaming protocols.

Above: `antiphon.plugins.deepgram`, `antiphon.inference`. Below: `websocket`.

Theory of operation of the recogniser. Audio goes onto a backlog and from there to the service; it is forgotten when a
final transcript covers it. When a connection breaks, the next one begins with what is still on the backlog, so that no
word is lost and none is heard twice. The session's detector knows sooner than the service that somebody has stopped
speaking: its mark becomes a `Finalize`, which is answered with what is still owed. `KeepAlive` holds the line when no
audio flows; `CloseStream` asks for the rest and for the end.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from antiphon import stt, tts
from antiphon.audio import AudioFrame, Resampler
from antiphon.errors import ProviderConnectionError, ProviderError, ProviderTimeout
from antiphon.providers.remote import RemoteProvider
from antiphon.providers.websocket import (
    WebSocketPool,
    WholeSamples,
    open_websocket,
    parsed,
    text_in,
    translated_errors,
    understood,
)
from antiphon.streams import Breaks
from antiphon.stt import SpeechData, SpeechEvent, SpeechEventType
from antiphon.timer import within
from antiphon.vad import SpeechEnded, VADEvent

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_logger = logging.getLogger("antiphon.stt")

_KEEP_ALIVE = 4.0
"""Seconds without audio after which the service is told that we are still there; it hangs up after 10."""
_PATIENCE = 0.8
"""Seconds for an answer to `Finalize`. The service gives none where it has nothing left to say."""
_BACKLOG = 30.0
"""Seconds of audio kept for a service that does not keep up. The oldest is dropped beyond that, with a warning."""
_MAX_FAILURES = 3
"""Connections that fail in a row, without a single transcript, before recognition gives up."""
_MAX_EVENTS = 1000
"""Transcripts that nobody fetches; beyond that, the service is no longer listened to until somebody does."""


class _Vendor(RemoteProvider):
    key_variable = "DEEPGRAM_API_KEY"
    package = "websockets"
    extra = "deepgram"

    _timeout: float

    async def connect(self, url: str) -> ClientConnection:
        return await open_websocket(
            url,
            headers={"Authorization": f"Token {self.require()}"},
            timeout=self._timeout,
            provider=self.label,
            key_variable=self.key_variable,
        )


# -- recognition


class STT(_Vendor, stt.STT):
    """A streaming speech recogniser.

    Args:
        model: For example "nova-3".
        language: A BCP-47 tag, or "multi".
        interim_results: Give transcripts while somebody speaks.
        punctuate, smart_format, filler_words: How the text is written.
        endpointing_ms: Silence after which the service settles a transcript by itself.
        keyterms: Words to expect, for example names.
        sample_rate: Hz at which the audio is sent.
        extra_query: More parameters of the service, by its own names.
        timeout: Seconds to connect, and for the last transcripts after the end of the input.
    """

    adjustable = ("model", "language")
    """From the next connection on."""

    def __init__(
        self,
        *,
        model: str = "nova-3",
        language: str = "en-US",
        interim_results: bool = True,
        punctuate: bool = True,
        smart_format: bool = False,
        filler_words: bool = True,
        endpointing_ms: int = 25,
        keyterms: Sequence[str] = (),
        sample_rate: int = 16_000,
        extra_query: dict[str, str] | None = None,
        api_key: str | None = None,
        base_url: str = "wss://api.deepgram.com/v1/listen",
        timeout: float = 5.0,
    ) -> None:
        self.model = model
        self.language = language
        self.sample_rate = sample_rate
        self._api_key = api_key
        self._base_url = base_url
        self._timeout = timeout
        flags = {
            "interim_results": interim_results,
            "punctuate": punctuate,
            "smart_format": smart_format,
            "filler_words": filler_words,
            "vad_events": True,
        }
        self._query: list[tuple[str, str]] = [
            ("encoding", "linear16"),
            ("sample_rate", str(sample_rate)),
            ("channels", "1"),
            ("endpointing", str(endpointing_ms)),
            *((name, str(value).lower()) for name, value in flags.items()),
            *(("keyterm", term) for term in keyterms),
            *(extra_query or {}).items(),
        ]

    @property
    def timeout(self) -> float:
        """Seconds to connect, and for the last transcripts."""
        return self._timeout

    async def listen(self) -> ClientConnection:
        """A connection to speak into."""
        query = [("model", self.model), ("language", self.language), *self._query]
        return await self.connect(f"{self._base_url}?{urlencode(query)}")

    def stream(self) -> stt.STTStream:
        self.require()
        return _Stream(self)


class _Backlog:
    """Audio that no final transcript covers, and where a transcript was asked for. Positions are bytes of the call."""

    def __init__(self, sample_rate: int) -> None:
        self._rate = 2 * sample_rate
        self._audio = bytearray()
        self._first = 0
        """Position of the oldest byte."""
        self._sent = 0
        """Position up to which this connection got the audio."""
        self._origin = 0
        """Position at which this connection began: its times count from there."""
        self._asked: deque[int] = deque()
        """Where a transcript is asked for and not given yet."""
        self._asked_sent = 0
        """How many of these this connection was told."""

    def push(self, audio: bytes) -> None:
        self._audio += audio
        excess = len(self._audio) - int(_BACKLOG * self._rate)
        if excess > 0:
            # A second at a time, so that the warning is no flood.
            self._forget(self._first + excess + self._rate)
            _logger.warning("deepgram.STT is %g s of audio behind; the oldest was dropped", _BACKLOG)

    def ask(self) -> None:
        """Want a transcript of everything so far."""
        self._asked.append(self._first + len(self._audio))

    def take(self) -> bytes | None:
        """What to send next: audio, or b"" to ask for a transcript here; None if nothing is left."""
        end = self._first + len(self._audio)
        if self._asked_sent < len(self._asked):
            mark = self._asked[self._asked_sent]
            if mark <= self._sent:
                self._asked_sent += 1
                return b""
            end = mark
        if self._sent == end:
            return None
        piece = bytes(self._audio[self._sent - self._first : end - self._first])
        self._sent = end
        return piece

    def covered(self, seconds: float) -> None:
        """A final transcript reaches to this time of the connection."""
        self._forget(min(self._origin + 2 * round(seconds * self._rate / 2), self._sent))

    def answered(self) -> bool:
        """The service gave the transcript that was asked for. False if none was."""
        if not self._asked_sent:
            return False
        self._asked.popleft()
        self._asked_sent -= 1
        return True

    def rewind(self) -> None:
        """A new connection begins: it gets everything that is still here."""
        self._sent = self._origin = self._first
        self._asked_sent = 0
        while self._asked and self._asked[0] <= self._first:
            self._asked.popleft()

    def _forget(self, until: int) -> None:
        if until > self._first:
            del self._audio[: until - self._first]
            self._first = until
            self._sent = max(self._sent, until)


class _Stream(stt.STTStream):
    """One call's recognition. A task of its own speaks with the service; it ends with the iterator or `aclose`."""

    def __init__(self, owner: STT) -> None:
        self._owner = owner
        self._resampler = Resampler(owner.sample_rate)
        self._backlog = _Backlog(owner.sample_rate)
        self._wake = asyncio.Event()
        self._events: asyncio.Queue[SpeechEvent | None] = asyncio.Queue(_MAX_EVENTS)
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._closed = False
        self._speaking = False
        """Between the service's start and end of speech."""
        self._interim = ""
        """Text that is not final yet."""
        self._heard = False
        """This connection has given a transcript."""
        self._messages = 0
        """Heard of the service so far."""
        self._patience: deque[asyncio.TimerHandle] = deque()
        """For each transcript that this connection was asked for, when not to wait for it any more."""

    # -- in

    def push(self, frame: AudioFrame) -> None:
        if self._closed or self._ended:
            return
        self._backlog.push(self._resampler.push(frame).data)
        self._wake.set()

    def mark(self, event: VADEvent) -> None:
        if isinstance(event, SpeechEnded):
            self.flush()

    def flush(self) -> None:
        if self._closed or self._ended:
            return
        self._backlog.ask()
        self._wake.set()

    def end_input(self) -> None:
        self._ended = True
        self._wake.set()

    async def aclose(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        while not self._events.empty():
            self._events.get_nowait()
        self._events.put_nowait(None)

    # -- out

    async def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        if self._closed:
            return
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="deepgram.STT")
        while (event := await self._events.get()) is not None:
            yield event
        if not self._closed:
            await self._task

    # -- the service

    async def _run(self) -> None:
        try:
            await self._connect_and_reconnect()
        finally:
            self._forget_answers()
            if not self._closed:
                await self._events.put(None)

    async def _connect_and_reconnect(self) -> None:
        breaks = Breaks(most_mute=_MAX_FAILURES, delay=0.25)
        clock = asyncio.get_running_loop().time
        while True:
            self._heard, began = False, clock()
            try:
                return await self._converse()
            except ProviderError as error:
                wait = breaks.broke(held=clock() - began, gave=self._heard)
                if wait is None and breaks.in_a_row > 1:
                    error.add_note(f"The connection broke {breaks.in_a_row} times in a row.")
                if wait is None or not error.retryable:
                    raise
                _logger.warning(
                    "%s Connecting again in %g s, for the %d. time in a row.", error.message, wait, breaks.in_a_row
                )
            await asyncio.sleep(wait)

    async def _converse(self) -> None:
        """Speak with the service until it has given everything. Raises `ProviderError` if it breaks off before."""
        connection = await self._owner.listen()
        self._forget_answers()
        self._backlog.rewind()
        try:
            with translated_errors(self._owner.label, timeout=self._owner.timeout):
                async with asyncio.timeout(None) as deadline:
                    sending = asyncio.create_task(self._send(connection, deadline), name="deepgram.STT sending")
                    try:
                        async for message in connection:
                            await self._hear(parsed(message, self._owner.label))
                    finally:
                        sending.cancel()
                        await asyncio.gather(sending, return_exceptions=True)
        except ProviderTimeout as error:
            error.retryable = False  # it had its time for the last words
            raise
        finally:
            connection.transport.abort()
        if deadline.when() is None:
            raise ProviderConnectionError(
                f"{self._owner.label}: the service hung up in the middle.", provider=self._owner.label
            )

    async def _send(self, connection: ClientConnection, deadline: asyncio.Timeout) -> None:
        while True:
            self._wake.clear()
            while (piece := self._backlog.take()) is not None:
                if piece:
                    await connection.send(piece)
                else:
                    self._expect_answer()
                    await connection.send(_message("Finalize"))
            if self._ended:
                await connection.send(_message("CloseStream"))
                deadline.reschedule(asyncio.get_running_loop().time() + self._owner.timeout)
                return
            try:
                async with asyncio.timeout(_KEEP_ALIVE):
                    await self._wake.wait()
            except TimeoutError:
                await connection.send(_message("KeepAlive"))

    def _expect_answer(self) -> None:
        self._patience.append(asyncio.get_running_loop().call_later(_PATIENCE, self._give_up_answer, self._messages))

    def _give_up_answer(self, messages: int) -> None:
        # With words pending the service still owes their final form; without, it has nothing left to say: but only one
        # that speaks. Of one that has fallen silent nobody knows what it heard.
        is_alive = self._messages > messages
        if not self._interim and self._answered() and is_alive and not self._events.full():
            self._events.put_nowait(SpeechEvent.final(""))

    def _answered(self) -> bool:
        if not self._backlog.answered():
            return False
        self._patience.popleft().cancel()
        return True

    def _forget_answers(self) -> None:
        for timer in self._patience:
            timer.cancel()
        self._patience.clear()

    async def _hear(self, message: dict[str, Any]) -> None:
        self._messages += 1
        match message.get("type"):
            case "Results":
                with understood(message, self._owner.label):
                    events = self._results(message)
                for event in events:
                    await self._events.put(event)
            case "SpeechStarted":
                await self._set_speaking(True)
            case "UtteranceEnd":
                await self._set_speaking(False)
            case "Error":
                said = message.get("description") or message.get("message") or "no reason given"
                raise ProviderError(f"{self._owner.label}: the service says: {said}", provider=self._owner.label)

    def _results(self, message: dict[str, Any]) -> list[SpeechEvent]:
        alternatives = [self._reading(reading) for reading in message["channel"]["alternatives"]]
        text = alternatives[0].text
        events: list[SpeechEvent] = []
        if text and not self._speaking:
            self._speaking = True
            events.append(SpeechEvent(SpeechEventType.START_OF_SPEECH))
        if not message.get("is_final"):
            self._interim = text
            self._heard = True
            return [*events, SpeechEvent(SpeechEventType.INTERIM_TRANSCRIPT, alternatives)] if text else events
        self._backlog.covered(float(message["start"]) + float(message["duration"]))
        self._interim = ""
        self._heard = True
        answers = bool(message.get("from_finalize")) and self._answered()
        if text or answers:
            events.append(SpeechEvent(SpeechEventType.FINAL_TRANSCRIPT, alternatives))
        if self._speaking and (message.get("speech_final") or answers):
            self._speaking = False
            events.append(SpeechEvent(SpeechEventType.END_OF_SPEECH))
        return events

    def _reading(self, reading: dict[str, Any]) -> SpeechData:
        languages = reading.get("languages") or [self._owner.language]
        confidence = float(reading.get("confidence", 0.0))
        return SpeechData(
            text_in(reading, "transcript").strip(),
            language=text_in({"languages": languages[0]}, "languages"),
            confidence=min(max(confidence, 0.0), 1.0) if math.isfinite(confidence) else 0.0,
        )

    async def _set_speaking(self, speaking: bool) -> None:
        if speaking is not self._speaking:
            self._speaking = speaking
            kind = SpeechEventType.START_OF_SPEECH if speaking else SpeechEventType.END_OF_SPEECH
            await self._events.put(SpeechEvent(kind))


def _message(kind: str, **fields: str) -> str:
    return json.dumps({"type": kind, **fields})


# -- voice


class TTS(_Vendor, tts.TTS):
    """A voice. `model` names it, for example "aura-2-andromeda-en". Sentences are spoken one by one."""

    def __init__(
        self,
        *,
        model: str = "aura-2-andromeda-en",
        sample_rate: int = 24_000,
        api_key: str | None = None,
        base_url: str = "wss://api.deepgram.com/v1/speak",
        timeout: float = 5.0,
    ) -> None:
        self.model = model
        self.sample_rate = sample_rate
        self._api_key = api_key
        self._timeout = timeout
        query = urlencode({"model": model, "encoding": "linear16", "sample_rate": sample_rate})
        self._pool = WebSocketPool(lambda: self.connect(f"{base_url}?{query}"))

    async def synthesize(self, text: str) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        self.require()
        if not text.strip():
            return
        async with aclosing(self._pool.perform(partial(self._speak, text))) as sound:
            async for audio in sound:
                yield audio

    async def _speak(self, text: str, connection: ClientConnection) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        said = text
        whole = False
        samples = WholeSamples()
        try:
            with translated_errors(self.label, timeout=self._timeout):
                await connection.send(_message("Speak", text=text))
                await connection.send(_message("Flush"))
                while True:
                    async with within(self._timeout):
                        message = await connection.recv()
                    if isinstance(message, bytes):
                        if data := samples.push(message):
                            yield tts.SynthesizedAudio(AudioFrame(data, self.sample_rate), said)
                            said = ""
                        continue
                    match parsed(message, self.label):
                        case {"type": "Flushed"}:
                            break
                        case {"type": "Error", **rest}:
                            why = rest.get("description") or rest.get("message")
                            raise ProviderError(f"{self.label}: the service says: {why}", provider=self.label)
            if said:
                raise ProviderError(f"{self.label}: the service gave no sound for {text!r}.", provider=self.label)
            whole = True
        finally:
            if whole:
                await self._pool.give_back(connection)
            else:
                connection.transport.abort()  # it would go on speaking

    async def aclose(self) -> None:
        await self._pool.aclose()
