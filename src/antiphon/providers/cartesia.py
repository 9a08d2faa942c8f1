"""Cartesia: `TTS` by its WebSocket protocol.

Above: `antiphon.plugins.cartesia`, `antiphon.inference`. Below: `websocket`.

A reply is a *context* of the service: its sentences are sent one after another as they are written, and spoken with one
intonation. Behind each sentence stands a flush, whose answer tells where in the sound the sentence ends; so text and
sound stay together. A connection serves one context at a time and then waits for the next. A reply that is stopped is
cancelled at the service; what still comes of it has another context id than the next one, and is passed over.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

from antiphon import tts
from antiphon.audio import AudioFrame
from antiphon.errors import ProviderError, ProviderStatusError, ProviderTimeout
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
from antiphon.text import SentenceSplitter

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_VERSION = "2026-03-01"
"""Of the service's protocol."""


class TTS(RemoteProvider, tts.TTS):
    """A voice that speaks text as it is being written.

    Args:
        model: For example "sonic-3".
        voice: Cartesia's id of a voice.
        language: Of the text, for example "en".
        speed: 1.0 is the voice's own; models that know no speed ignore it.
        emotion: For example "calm"; the same.
        sample_rate: Hz of the sound.
        timeout: Seconds to connect, and for sound to follow text.
    """

    key_variable = "CARTESIA_API_KEY"
    package = "websockets"
    extra = "cartesia"
    streaming = True
    adjustable = ("voice", "language", "speed", "emotion")

    def __init__(
        self,
        *,
        model: str = "sonic-3",
        voice: str = "f786b574-daa5-4673-aa0c-cbe3e8534c02",
        language: str = "en",
        speed: float | None = None,
        emotion: str | None = None,
        sample_rate: int = 24_000,
        api_key: str | None = None,
        base_url: str = "wss://api.cartesia.ai/tts/websocket",
        timeout: float = 5.0,
    ) -> None:
        self.model = model
        self.voice = voice
        self.language = language
        self.speed = speed
        self.emotion = emotion
        self.sample_rate = sample_rate
        self._api_key = api_key
        self._base_url = base_url
        self._timeout = timeout
        self._pool = WebSocketPool(self._connect)

    def synthesize(self, text: str) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        return self._speak(_one(text))

    def stream(self, text: AsyncIterable[str]) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        return self._speak(_sentences(text))

    async def prewarm(self) -> None:
        """Open a connection, so that the first reply need not wait for it. Does nothing without a key.

        Nor does it fail if the service cannot be had: that may have passed until there is something to say.
        """
        if self.unusable() is None:
            with contextlib.suppress(ProviderError):
                await self._pool.give_back(await self._pool.take())

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _connect(self) -> ClientConnection:
        return await open_websocket(
            self._base_url,
            headers={"X-API-Key": self.require(), "Cartesia-Version": _VERSION},
            timeout=self._timeout,
            provider=self.label,
            key_variable=self.key_variable,
        )

    async def _speak(self, sentences: AsyncIterator[str]) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        self.require()
        script = _Script()
        writing = asyncio.create_task(script.fill(sentences), name="cartesia.TTS text")
        try:
            if not await script.has_begun():
                await writing
                return
            async with contextlib.aclosing(self._pool.perform(partial(self._perform, script, writing))) as sound:
                async for audio in sound:
                    yield audio
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    async def _perform(
        self, script: _Script, writing: asyncio.Task[None], connection: ClientConnection
    ) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        """Speak the script on one connection."""
        context = _Context(self, script)
        sending = asyncio.create_task(context.send(connection), name="cartesia.TTS sending")
        try:
            with translated_errors(self.label, timeout=self._timeout):
                while not context.done:
                    message = await self._next(connection, context, {writing, sending})
                    if message is not None and (audio := context.hear(message)):
                        yield audio
            if context.silent:
                raise ProviderError(f"{self.label}: the service gave no sound.", provider=self.label)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await self._leave(connection, context)

    async def _next(
        self, connection: ClientConnection, context: _Context, beside: set[asyncio.Task[None]]
    ) -> dict[str, Any] | None:
        """What the service says next; None if only a task beside has ended. Raises what those raise."""
        receiving = asyncio.ensure_future(connection.recv())
        try:
            await asyncio.wait(
                {receiving, *(task for task in beside if not task.done())},
                timeout=self._timeout,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in beside:
                if task.done():
                    task.result()
            if receiving.done():
                return parsed(receiving.result(), self.label)
            if context.overdue(self._timeout):
                raise ProviderTimeout(
                    f"{self.label}: no sound within {self._timeout:g} s. Check the service, or raise timeout=.",
                    provider=self.label,
                )
            return None
        finally:
            if not receiving.done():
                receiving.cancel()
                await asyncio.gather(receiving, return_exceptions=True)

    async def _leave(self, connection: ClientConnection, context: _Context) -> None:
        if not context.done:
            try:
                async with asyncio.timeout(0.2):
                    await connection.send(json.dumps({"context_id": context.id, "cancel": True}))
            except Exception:  # whatever it is: this connection is of no more use, and why was told already
                connection.transport.abort()
                return
        await self._pool.give_back(connection)


class _Script:
    """The sentences of a reply as they are written."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.complete = False
        self.changed = asyncio.Event()

    async def fill(self, sentences: AsyncIterator[str]) -> None:
        try:
            async for sentence in sentences:
                if sentence.strip():
                    self.sentences.append(sentence)
                    self.changed.set()
        finally:
            self.complete = True
            self.changed.set()

    async def has_begun(self) -> bool:
        """Wait for the first sentence. False if there is none."""
        await self.changed.wait()
        return bool(self.sentences)


class _Context:
    """One reply on one connection."""

    def __init__(self, voice: TTS, script: _Script) -> None:
        self.id = uuid.uuid4().hex
        self.done = False
        """The service has said all."""
        self.silent = True
        """No sound has come."""
        self._script = script
        self._label = voice.label
        self._rate = voice.sample_rate
        self._request: dict[str, Any] = {
            "context_id": self.id,
            "model_id": voice.model,
            "voice": {"mode": "id", "id": voice.voice},
            "language": voice.language,
            "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": voice.sample_rate},
            "max_buffer_delay_ms": 0,  # whole sentences: nothing to wait for
        }
        config = {"speed": voice.speed, "emotion": voice.emotion}
        if given := {name: value for name, value in config.items() if value is not None}:
            self._request["generation_config"] = given
        self._unsaid: list[str] = []
        """Sentences that were sent, whose sound has not begun."""
        self._soundless = ""
        """Sentences before those, of which no sound came."""
        self._sounding = False
        """Sound of the oldest sentence that is not ended has come."""
        self._samples = WholeSamples()
        self._since = asyncio.get_running_loop().time()
        """When there was last a reason to wait."""

    async def send(self, connection: ClientConnection) -> None:
        sent = 0
        while True:
            self._script.changed.clear()
            while sent < len(self._script.sentences):
                sentence = self._script.sentences[sent]
                sent += 1
                if not self._unsaid:
                    self._since = asyncio.get_running_loop().time()
                self._unsaid.append(sentence)
                spaced = sentence if sentence[-1:].isspace() else sentence + " "
                await connection.send(self._message(transcript=spaced, **{"continue": True}))
                await connection.send(self._message(transcript="", flush=True, **{"continue": True}))
            if self._script.complete:
                await connection.send(self._message(transcript="", **{"continue": False}))
                return
            await self._script.changed.wait()

    def _message(self, **fields: Any) -> str:
        return json.dumps(self._request | fields)

    def overdue(self, timeout: float) -> bool:
        """True if the service owes something for longer than `timeout` seconds."""
        owing = bool(self._unsaid) or self._sounding or self._script.complete
        return owing and asyncio.get_running_loop().time() - self._since >= timeout

    def hear(self, message: dict[str, Any]) -> tts.SynthesizedAudio | None:
        """The sound in a message, if there is any. Raises `ProviderError`."""
        if message.get("context_id", self.id) != self.id:
            return None  # of a reply that was stopped
        self._since = asyncio.get_running_loop().time()
        with understood(message, self._label):
            return self._read(message)

    def _read(self, message: dict[str, Any]) -> tts.SynthesizedAudio | None:
        match message.get("type"):
            case "chunk":
                return self._sound(message)
            case "flush_done":
                if not self._sounding and self._unsaid:
                    self._soundless += self._unsaid.pop(0) + " "
                self._sounding = False
            case "done":
                self.done = True
            case "error":
                self._fail(message)
        return None

    def _sound(self, message: dict[str, Any]) -> tts.SynthesizedAudio | None:
        data = self._samples.push(base64.b64decode(text_in(message, "data"), validate=True))
        if not data:
            return None
        text = ""
        if not self._sounding and self._unsaid:
            text, self._soundless = self._soundless + self._unsaid.pop(0), ""
        self._sounding = True
        self.silent = False
        return tts.SynthesizedAudio(AudioFrame(data, self._rate), text)

    def _fail(self, message: dict[str, Any]) -> None:
        said = message.get("message") or message.get("error") or message.get("title") or "no reason given"
        status = message.get("status_code")
        if isinstance(status, int) and status >= 400:
            raise ProviderStatusError(
                f"{self._label}: the service answered {status}: {said}",
                status=status,
                body=message,
                provider=self._label,
            )
        raise ProviderError(f"{self._label}: the service says: {said}", provider=self._label)


async def _one(text: str) -> AsyncIterator[str]:
    yield text


async def _sentences(text: AsyncIterable[str]) -> AsyncIterator[str]:
    splitter = SentenceSplitter()
    async for piece in text:
        for sentence in splitter.push(piece):
            yield sentence
    for sentence in splitter.flush():
        yield sentence
