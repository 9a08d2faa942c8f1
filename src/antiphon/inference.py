"""Models by "vendor/model" strings, without choosing a plugin: `inference.LLM("openai/gpt-4o-mini")`.

Thin, over `antiphon.providers`: each class is a provider's under another name, chosen by the string. A name without a
vendor is OpenAI's for language models, Deepgram's for recognition, Cartesia's for voices.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from typing import Any, Generic, TypeVar

from antiphon import stt, tts
from antiphon.errors import ProviderError
from antiphon.providers import cartesia, deepgram, openai
from antiphon.providers.remote import RemoteProvider

Model = TypeVar("Model", bound=deepgram.STT | openai.STT | cartesia.TTS | deepgram.TTS | openai.TTS)


class LLM(openai.LLM):
    """A language model: "openai/gpt-4.1-mini", or any name together with `base_url`, the endpoint that knows it.

    `extra_kwargs` go with every request, for example `{"parallel_tool_calls": False}`. Other options are those of
    `openai.LLM`. A model of another vendor can be named, but not used: `unusable()` says so.
    """

    def __init__(
        self, model: str, *, extra_kwargs: Mapping[str, Any] | None = None, base_url: str | None = None, **options: Any
    ) -> None:
        vendor, name, _ = _parts(model, "openai")
        self._absent = vendor != "openai" and base_url is None and "client" not in options
        # An endpoint of yours may well have names with a slash in them.
        name = name if vendor == "openai" else model
        super().__init__(model=name, extra_kwargs=extra_kwargs, base_url=base_url, **options)

    def unusable(self) -> str | None:
        return _reason(self.model) if self._absent else super().unusable()

    def require(self) -> str:
        if self._absent:
            vendor, name, _ = _parts(self.model, "")
            raise ProviderError(
                f"{self.label}: {_reason(self.model)}. Give base_url= of an endpoint that has it, or use"
                f" antiphon.providers.pydantic_ai.LLM({f'{vendor}:{name}'!r}).",
                provider=self.label,
                retryable=False,
            )
        return super().require()


class _Chosen(RemoteProvider, Generic[Model]):
    """A model of one of these vendors under its full name, and of none of them if the name has another."""

    def __init__(
        self, model: str, vendor: str, vendors: Mapping[str, Callable[..., Model]], options: Mapping[str, Any]
    ) -> None:
        self.model = model
        self._vendors = tuple(vendors)
        self._behind = vendors[vendor](**options) if vendor in vendors else None
        if self._behind is not None:
            self.key_variable = self._behind.key_variable

    @property
    def behind(self) -> Model:
        """The vendor's model. Raises `ProviderError` if nothing here speaks to that vendor."""
        if self._behind is None:
            raise ProviderError(
                f"{self.label}: {_reason(self.model)}. Use one of {', '.join(self._vendors)}.",
                provider=self.label,
                retryable=False,
            )
        return self._behind

    def unusable(self) -> str | None:
        return self._behind.unusable() if self._behind is not None else _reason(self.model)

    def require(self) -> str:
        return self.behind.require()

    def update_options(self, **options: Any) -> None:
        """As the vendor's model does."""
        if self._behind is None:
            super().update_options(**options)
        else:
            self._behind.update_options(**options)

    async def prewarm(self) -> None:
        """As the vendor's model does; nothing without one."""
        if self._behind is not None:
            await self._behind.prewarm()

    async def aclose(self) -> None:
        """Release what the vendor's model holds."""
        if self._behind is not None:
            await self._behind.aclose()


class STT(_Chosen[deepgram.STT | openai.STT], stt.STT):
    """A recogniser: "deepgram/nova-3", "openai/gpt-4o-mini-transcribe". "nova-3:de" names the language, too.

    Options are those of the vendor's class.
    """

    def __init__(self, model: str = "deepgram/nova-3", *, language: str | None = None, **options: Any) -> None:
        vendor, name, suffix = _parts(model, "deepgram")
        if language := language or suffix:
            options["language"] = language
        vendors = {"deepgram": deepgram.STT, "openai": openai.STT}
        super().__init__(model, vendor, vendors, {"model": name, **options})

    def stream(self) -> stt.STTStream:
        return self.behind.stream()


class TTS(_Chosen[cartesia.TTS | deepgram.TTS | openai.TTS], tts.TTS):
    """A voice: "cartesia/sonic-3", "deepgram/aura-2-andromeda-en", "openai/tts-1". "sonic-3:<id>" names the voice.

    Options are those of the vendor's class.
    """

    sample_rate = 24_000

    def __init__(self, model: str = "cartesia/sonic-3", *, voice: str | None = None, **options: Any) -> None:
        vendor, name, suffix = _parts(model, "cartesia")
        if vendor != "deepgram" and (voice := voice or suffix):  # whose models are its voices
            options["voice"] = voice
        vendors = {"cartesia": cartesia.TTS, "deepgram": deepgram.TTS, "openai": openai.TTS}
        super().__init__(model, vendor, vendors, {"model": name, **options})
        if self._behind is not None:
            self.sample_rate = self._behind.sample_rate
            self.streaming = self._behind.streaming

    def synthesize(self, text: str) -> AsyncIterator[tts.SynthesizedAudio]:
        return self.behind.synthesize(text)

    def stream(self, text: AsyncIterable[str]) -> AsyncIterator[tts.SynthesizedAudio]:
        return self.behind.stream(text)


def _parts(model: str, default: str) -> tuple[str, str, str | None]:
    """Vendor, name, and what stands behind a colon."""
    whole, _, suffix = model.partition(":")
    vendor, _, name = whole.rpartition("/")
    return vendor or default, name, suffix or None


def _reason(model: str) -> str:
    return f"no provider for {model!r}"
