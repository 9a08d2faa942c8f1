"""Vendors' models: those that there are, with options that they do not know yet, and names for those that are missing.

A model that cannot be used gives way to a local one, with a line that says so; that is the business of whoever chooses
models, and `RemoteProvider` is how it asks. Here are only the names and shapes that agent files know.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import AsyncGenerator, AsyncIterator
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

from antiphon import llm, stt, tts
from antiphon.errors import ProviderError, UsageError
from antiphon.options import NOT_GIVEN, NotGivenOr, is_given
from antiphon.protocols import ModelKind
from antiphon.providers import pydantic_ai
from antiphon.providers.remote import RemoteProvider
from antiphon_livekit.notices import notice, without_effect

_BUILT: dict[tuple[str, str], str] = {
    ("openai", "LLM"): "antiphon.providers.openai",
    ("openai", "STT"): "antiphon.providers.openai",
    ("openai", "TTS"): "antiphon.providers.openai",
    ("deepgram", "STT"): "antiphon.providers.deepgram",
    ("deepgram", "TTS"): "antiphon.providers.deepgram",
    ("cartesia", "TTS"): "antiphon.providers.cartesia",
}
_BY_PYDANTIC_AI: dict[str, tuple[str, str, str, str]] = {
    "anthropic": ("anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY", "anthropic"),
    "cerebras": ("cerebras", "llama-3.3-70b", "CEREBRAS_API_KEY", "openai"),
    "google": ("google", "gemini-2.5-flash", "GOOGLE_API_KEY", "google.genai"),
    "groq": ("groq", "llama-3.3-70b-versatile", "GROQ_API_KEY", "groq"),
    "mistralai": ("mistral", "mistral-large-latest", "MISTRAL_API_KEY", "mistralai"),
}
"""Language models by way of pydantic-ai: its name for the vendor, a model, the key, and the vendor's own package."""

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
    async def generate(self, request: llm.ChatRequest) -> AsyncGenerator[llm.ChatChunk, None]:
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


class _ByPydanticAI(RemoteProvider, pydantic_ai.LLM):
    """A vendor's language model by way of pydantic-ai."""

    name: str
    prefix: str
    default_model: str

    def __init__(self, *, model: str = "", temperature: NotGivenOr[float] = NOT_GIVEN, **options: Any) -> None:
        settings = {"temperature": temperature} if is_given(temperature) else {}
        super().__init__(f"{self.prefix}:{model or self.default_model}", settings=settings, **options)

    @property
    def label(self) -> str:
        return self.name

    def unusable(self) -> str | None:
        reason = super().unusable()
        missing = [package for package in ("pydantic_ai", self.package) if not _is_installed(package)]
        return reason if reason is not None or not missing else f"no package {missing[0]}"


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def _by_pydantic_ai(vendor: str) -> type[Any]:
    prefix, model, variable, package = _BY_PYDANTIC_AI[vendor]
    names = {"name": f"{vendor}.LLM", "prefix": prefix, "default_model": model}
    return type("LLM", (_ByPydanticAI,), {**names, "key_variable": variable, "package": package})


@cache
def realtime_class(vendor: str) -> type[Any]:
    """A vendor's model that hears and speaks by itself. A local one, with its ears and voice, takes its place."""
    name = f"{vendor}.realtime.RealtimeModel"
    return type("RealtimeModel", (_UnbuiltLLM,), {"name": name, "key_variable": f"{vendor.upper()}_API_KEY"})


@cache
def vendor_class(vendor: str, kind: str) -> type[Any]:
    """The class that `vendor.kind` is, for example ("deepgram", "STT")."""
    home = _BUILT.get((vendor, kind))
    if vendor == "inference":
        behind = [vendor_class(built, kind) for built, sort in _BUILT if sort == kind]
        return lenient(getattr(import_module("antiphon.inference"), kind), *behind)
    if home is not None:
        return lenient(getattr(import_module(home), kind))
    if kind == "LLM" and vendor in _BY_PYDANTIC_AI:
        return lenient(_by_pydantic_ai(vendor))
    return type(kind, (_UNBUILT[kind],), {"name": f"{vendor}.{kind}", "key_variable": f"{vendor.upper()}_API_KEY"})


def lenient(cls: type[Any], *behind: type[Any]) -> type[Any]:
    """A subclass that tells of options that neither `cls` nor those `behind` it have, instead of refusing them."""
    known = set().union(*map(_options_of, (cls, *behind)))

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        given = {name: value for name, value in options.items() if is_given(value)}
        idle = [name for name in given if name not in known]
        cls.__init__(self, *args, **without_effect(self.label, given, idle))

    return type(cls.__name__, (cls,), {"__init__": __init__, "__module__": cls.__module__, "__doc__": cls.__doc__})


def _options_of(cls: type[Any]) -> set[str]:
    """What its constructor takes by name, options included that it passes on to the classes above it."""
    known: set[str] = set()
    for base in cls.__mro__:
        if "__init__" in vars(base):
            parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            known.update(parameter.name for parameter in parameters)
            if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
                break
    return known


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
