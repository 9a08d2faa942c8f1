"""Models by "vendor/model" strings, without choosing a plugin: `inference.LLM("openai/gpt-4o-mini")`.

Thin, over `antiphon.providers`. So far names with their contract: constructing one works without key and network.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

from antiphon import llm, stt, tts
from antiphon.providers.remote import RemoteProvider


class LLM(llm.LLM, RemoteProvider):
    """A language model. `extra_kwargs` go with every request, for example `{"parallel_tool_calls": False}`."""

    key_variable = "OPENAI_API_KEY"
    built = False

    def __init__(
        self, model: str, *, extra_kwargs: Mapping[str, Any] | None = None, api_key: str | None = None
    ) -> None:
        self.model = model
        self.extra_kwargs = dict(extra_kwargs or {})
        if "parallel_tool_calls" in self.extra_kwargs:
            self.parallel_tool_calls = bool(self.extra_kwargs["parallel_tool_calls"])
        self._api_key = api_key

    async def _generate(self, request: llm.ChatRequest) -> AsyncGenerator[llm.ChatChunk, None]:
        self.require()
        yield llm.ChatChunk("")


class STT(stt.STT, RemoteProvider):
    """A speech recogniser."""

    key_variable = "DEEPGRAM_API_KEY"
    built = False

    def __init__(self, model: str, *, language: str = "en", api_key: str | None = None) -> None:
        self.model = model
        self.language = language
        self._api_key = api_key

    def stream(self) -> stt.STTStream:
        self.require()
        raise NotImplementedError


class TTS(tts.TTS, RemoteProvider):
    """A voice."""

    key_variable = "CARTESIA_API_KEY"
    built = False
    sample_rate = 24_000

    def __init__(self, model: str, *, voice: str = "", api_key: str | None = None) -> None:
        self.model = model
        self.voice = voice
        self._api_key = api_key

    async def synthesize(self, text: str) -> AsyncIterator[tts.SynthesizedAudio]:
        self.require()
        return
        yield
