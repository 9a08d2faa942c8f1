"""Which models run: the command line's, else the agent file's if they are usable, else the local ones.

`ModelChoice` is the `ModelResolver` of one call. It makes models by name and knows where the local ones live; it
imports a vendor's module only when its name is used.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from antiphon.discovery import found, load
from antiphon.errors import ProviderError, UsageError
from antiphon.options import is_given
from antiphon.protocols import ModelKind
from antiphon.providers import endpoints
from antiphon.providers.remote import RemoteProvider

VENDORS: Mapping[ModelKind, tuple[str, ...]] = {
    "llm": ("openai",),
    "stt": ("deepgram", "openai"),
    "tts": ("cartesia", "deepgram", "openai"),
}
"""Our own vendors by kind of model."""

_CLASSES: Mapping[ModelKind, str] = {
    "llm": "LLM",
    "stt": "STT",
    "tts": "TTS",
}
"""What an entry of `antiphon.providers` calls its model of a kind."""
_VOICE: tuple[ModelKind, ...] = ("stt", "tts", "vad", "turn_detector")


@cache
def local_model(kind: ModelKind) -> Any:
    """The model of this kind that runs on this machine. One serves all calls: it keeps nothing of them."""
    match kind:
        case "llm":
            return load("antiphon.providers", "standin").LLM()
        case "stt":
            from antiphon.providers.local import MoonshineSTT

            return MoonshineSTT()
        case "tts":
            from antiphon.providers.local import HibariTTS

            return HibariTTS()
        case "vad":
            from antiphon.providers.local import SileroVAD

            return SileroVAD()
        case "turn_detector":
            from antiphon.providers.local import TextTurnDetector

            return TextTurnDetector()


def named_model(kind: ModelKind, name: str) -> Any:
    """The model called `name`: "local", a provider, "provider/model", or the address of an endpoint ("...#model").

    Raises `UsageError` for an unknown name.

    Providers are the entries of `antiphon.providers` (`antiphon.discovery`): ours, and those of installed packages.
    """
    if name == "local":
        return local_model(kind)
    if kind == "llm" and endpoints.is_named(name):
        return endpoints.LLM(name)
    provider, _, model = name.partition("/")
    make = None
    if provider in found("antiphon.providers"):
        make = getattr(load("antiphon.providers", provider), _CLASSES[kind], None)
    if make is None:
        others = set(found("antiphon.providers")) - set().union(*VENDORS.values()) - {"standin"}
        more = endpoints.ENDPOINTS if kind == "llm" else ()
        known = ["local", *VENDORS.get(kind, ()), *more, *sorted(others)]
        raise UsageError(f"no {kind.upper()} called {name!r}: expected {', '.join(known)}, or vendor/model.")
    return make(model=model) if model else make()


class ModelChoice:
    """Chooses the models of one call.

    Args:
        named: What the command line names, by kind.
        strict: Raise instead of giving way to a local model.
        voice: False in a text call, which needs a language model only.
        notice: Called with one line for each model that gives way.
    """

    def __init__(
        self,
        *,
        named: Mapping[ModelKind, str] | None = None,
        strict: bool = False,
        voice: bool = True,
        notice: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._strict = strict
        self._voice = voice
        self._notice = notice
        self._noticed: set[str] = set()
        self._named = {kind: named_model(kind, name) for kind, name in (named or {}).items()}
        for model in self._named.values():
            # A model asked for by name never gives way: better no call than one with another model.
            if isinstance(model, RemoteProvider) and model.unusable():
                model.require()

    def __call__(self, given: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
        """What to run with, for what a session or an agent was given. Raises `ProviderError` if strict."""
        return {kind: self._choose(kind, model) for kind, model in given.items()}

    async def prewarm(self) -> None:
        """Load what calls will need, whatever the file says: what was named, and local models that nothing replaces.

        What cannot be loaded is told by the first call that wants it.
        """
        kinds: tuple[ModelKind, ...] = ("llm", *_VOICE) if self._voice else ("llm",)
        certain = [
            self._named.get(kind) or local_model(kind) for kind in kinds if kind in self._named or _is_local(kind)
        ]
        await asyncio.gather(*(model.prewarm() for model in certain), return_exceptions=True)

    def _choose(self, kind: ModelKind, given: Any) -> Any:
        if kind in _VOICE and not self._voice:
            return None
        if kind in self._named:
            return self._named[kind]
        if isinstance(given, str):
            given = named_model(kind, given)
        if not is_given(given) or given is ...:
            return local_model(kind)
        reason = given.unusable() if isinstance(given, RemoteProvider) else None
        if reason is None:
            return given
        if self._strict:
            raise ProviderError(
                f"{given.label}: {reason}. Set it, or run without --strict-models to use the local {kind.upper()}.",
                provider=given.label,
                retryable=False,
            )
        line = f"{given.label}: {reason}, using local {kind.upper()}"
        if line not in self._noticed:
            self._noticed.add(line)
            self._notice(line)
        return local_model(kind)


def runs_local_models(named: Mapping[ModelKind, str]) -> bool:
    """Whether local models are loaded for calls by voice, if the command line names these: each process has its own."""
    return any(named.get(kind, "local" if _is_local(kind) else "") == "local" for kind in _CLASSES)


def _is_local(kind: ModelKind) -> bool:
    """Whether only the local model can serve: no vendor's key is set."""
    return not any(os.environ.get(f"{vendor.upper()}_API_KEY") for vendor in VENDORS.get(kind, ()))
