"""Vendors' models: those that there are, with options that they do not know yet, and names for those that are missing.

A model that cannot be used gives way to a local one, with a line that says so; that is the business of whoever chooses
models, and `RemoteProvider` is how it asks. Here are only the names and shapes that agent files know.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

from antiphon import llm, stt, tts
from antiphon.compat.livekit.notices import notice, without_effect
from antiphon.errors import ProviderError, UsageError
from antiphon.protocols import ModelKind
from antiphon.providers.remote import RemoteProvider

_BUILT: dict[tuple[str, str], str] = {
    ("openai", "LLM"): "antiphon.providers.openai",
    ("openai", "STT"): "antiphon.providers.openai",
    ("openai", "TTS"): "antiphon.providers.openai",
    ("deepgram", "STT"): "antiphon.providers.deepgram",
    ("deepgram", "TTS"): "antiphon.providers.deepgram",
    ("cartesia", "TTS"): "antiphon.providers.cartesia",
    ("inference", "LLM"): "antiphon.inference",
    ("inference", "STT"): "antiphon.inference",
    ("inference", "TTS"): "antiphon.inference",
}
_CLASSES = {"llm": "LLM", "stt": "STT", "tts": "TTS"}


class _Unbuilt(RemoteProvider):
    """A vendor's model that has a name only: it takes whatever it is given, and is never usable."""

    built = False
    name: str

    def __init__(self, *_: Any, **options: Any) -> None:
        self.model = str(options.get("model", ""))

    @property
    def label(self) -> str:
        return self.name

    def unusable(self) -> str | None:
        return "not built yet"

    def require(self) -> NoReturn:
        raise ProviderError(
            f"{self.name} is not built yet. Leave it out to use the local model, or use openai, deepgram or cartesia.",
            provider=self.name,
            retryable=False,
        )


class _UnbuiltLLM(_Unbuilt, llm.LLM):
    async def _generate(self, request: llm.ChatRequest) -> AsyncGenerator[llm.ChatChunk, None]:
        self.require()
        yield llm.ChatChunk("")


class _UnbuiltSTT(_Unbuilt, stt.STT):
    def stream(self) -> stt.STTStream:
        self.require()


class _UnbuiltTTS(_Unbuilt, tts.TTS):
    async def synthesize(self, text: str) -> AsyncIterator[tts.SynthesizedAudio]:
        self.require()
        yield


_UNBUILT = {"LLM": _UnbuiltLLM, "STT": _UnbuiltSTT, "TTS": _UnbuiltTTS}


@cache
def realtime_class(vendor: str) -> type[Any]:
    """A vendor's model that hears and speaks by itself. A local one, with its ears and voice, takes its place."""
    name = f"{vendor}.realtime.RealtimeModel"
    return type("RealtimeModel", (_UnbuiltLLM,), {"name": name, "key_variable": f"{vendor.upper()}_API_KEY"})


@cache
def vendor_class(vendor: str, kind: str) -> type[Any]:
    """The class that `vendor.kind` is, for example ("deepgram", "STT")."""
    home = _BUILT.get((vendor, kind))
    if home is not None:
        return lenient(getattr(import_module(home), kind))
    return type(kind, (_UNBUILT[kind],), {"name": f"{vendor}.{kind}", "key_variable": f"{vendor.upper()}_API_KEY"})


def lenient(cls: type[Any]) -> type[Any]:
    """A subclass that tells of options that `cls` does not have, instead of refusing them."""
    known = inspect.signature(cls.__init__).parameters

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        idle = [name for name in options if name not in known]
        cls.__init__(self, *args, **without_effect(self.label, options, idle))

    return type(cls.__name__, (cls,), {"__init__": __init__, "__module__": cls.__module__, "__doc__": cls.__doc__})


def model_for(kind: ModelKind, given: Any) -> Any:
    """The model for what a session or an agent was given: names become models, everything else stays."""
    if not isinstance(given, str):
        return given
    if kind not in _CLASSES:
        raise UsageError(f"{kind}={given!r}: expected a model object, got a name. Give the object.")
    vendor, _, rest = given.partition("/")
    model, _, variant = rest.partition(":")
    options = {"model": model} if model else {}
    if variant:
        options["voice" if kind == "tts" else "language"] = variant
    return vendor_class(vendor, _CLASSES[kind])(**options)


def __getattr__(name: str) -> Any:
    """`vendor_KIND` is the class of that vendor, so that the table of names can point at it."""
    vendor, _, kind = name.rpartition("_")
    if vendor and kind in _UNBUILT:
        return vendor_class(vendor, kind)
    if vendor and kind == "RealtimeModel":
        return realtime_class(vendor)
    if name == "VAD":
        return _silero()
    if name == "TurnDetector":
        return _turn_detector()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _silero() -> type[Any]:
    from antiphon.plugins.silero import VAD as NativeVAD

    class VAD(NativeVAD):
        """The local voice activity detector. Its options are its own; those given here are told."""

        @classmethod
        def load(cls, **options: Any) -> Any:
            if options:
                notice(f"silero.VAD.load: no effect here: {', '.join(options)}")
            return cls()

    return VAD


@cache
def _turn_detector() -> type[Any]:
    from antiphon.providers.local import TextTurnDetector

    class TurnDetector(TextTurnDetector):
        """The local model that tells from the words whether a turn is complete."""

        def __init__(self, **options: Any) -> None:
            super().__init__()
            if options:
                notice(f"turn detector: no effect here: {', '.join(options)}")

    return TurnDetector
