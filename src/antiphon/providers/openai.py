"""OpenAI and every endpoint that speaks its protocol: `LLM`, `STT`, `TTS`.

Above: `antiphon.plugins.openai`, `antiphon.inference`. So far these are names with their contract: constructing one
works without key and network, using one raises `MissingKey` or says that it is not built yet.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from antiphon import llm, stt, tts
from antiphon.providers.remote import RemoteProvider


class LLM(llm.LLM, RemoteProvider):
    """A language model behind the chat completions protocol."""

    key_variable = "OPENAI_API_KEY"
    built = False

    def __init__(self, *, model: str = "gpt-4o-mini", api_key: str | None = None) -> None:
        self.model = model
        self._api_key = api_key

    async def _generate(self, request: llm.ChatRequest) -> AsyncGenerator[llm.ChatChunk, None]:
        self.require()
        yield llm.ChatChunk("")


class STT(stt.STT, RemoteProvider):
    """A speech recogniser."""

    key_variable = "OPENAI_API_KEY"
    built = False

    def __init__(self, *, model: str = "gpt-4o-mini-transcribe", api_key: str | None = None) -> None:
        self.model = model
        self._api_key = api_key

    def stream(self) -> stt.STTStream:
        self.require()
        raise NotImplementedError


class TTS(tts.TTS, RemoteProvider):
    """A voice."""

    key_variable = "OPENAI_API_KEY"
    built = False
    sample_rate = 24_000

    def __init__(self, *, model: str = "gpt-4o-mini-tts", voice: str = "alloy", api_key: str | None = None) -> None:
        self.model = model
        self.voice = voice
        self._api_key = api_key

    async def synthesize(self, text: str) -> AsyncIterator[tts.SynthesizedAudio]:
        self.require()
        return
        yield
