"""Cartesia: `TTS`. So far a name with its contract; see `antiphon.providers.openai`."""

from __future__ import annotations

from collections.abc import AsyncIterator

from antiphon import tts
from antiphon.providers.remote import RemoteProvider


class TTS(tts.TTS, RemoteProvider):
    """A voice that speaks text as it is being written. `voice` is Cartesia's id of a voice."""

    key_variable = "CARTESIA_API_KEY"
    built = False
    sample_rate = 24_000

    def __init__(self, *, model: str = "sonic-2", voice: str = "", api_key: str | None = None) -> None:
        self.model = model
        self.voice = voice
        self._api_key = api_key

    async def synthesize(self, text: str) -> AsyncIterator[tts.SynthesizedAudio]:
        self.require()
        return
        yield
