"""Deepgram: `STT`, `TTS`. So far names with their contract; see `antiphon.providers.openai`."""

from __future__ import annotations

from collections.abc import AsyncIterator

from antiphon import stt, tts
from antiphon.providers.remote import RemoteProvider


class STT(stt.STT, RemoteProvider):
    """A streaming speech recogniser."""

    key_variable = "DEEPGRAM_API_KEY"
    built = False

    def __init__(self, *, model: str = "nova-3", language: str = "en-US", api_key: str | None = None) -> None:
        self.model = model
        self.language = language
        self._api_key = api_key

    def stream(self) -> stt.STTStream:
        self.require()
        raise NotImplementedError


class TTS(tts.TTS, RemoteProvider):
    """A voice."""

    key_variable = "DEEPGRAM_API_KEY"
    built = False
    sample_rate = 24_000

    def __init__(self, *, model: str = "aura-2-andromeda-en", api_key: str | None = None) -> None:
        self.model = model
        self._api_key = api_key

    async def synthesize(self, text: str) -> AsyncIterator[tts.SynthesizedAudio]:
        self.require()
        return
        yield
