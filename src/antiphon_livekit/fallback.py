"""`FallbackAdapter` of models, recognisers and voices: those of its members that can be used here.

Below: `antiphon.adapters.fallback`, which does the work. Where no member can be used, the whole gives way to a local
model, as a single one would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from antiphon.adapters import fallback
from antiphon.protocols import ModelKind
from antiphon.providers.remote import RemoteProvider
from antiphon_livekit.models import model_for
from antiphon_livekit.notices import without_effect

_WITHOUT_EFFECT = (
    "max_retry_per_llm",
    "max_retry_per_stt",
    "max_retry_per_tts",
    "no_fallback_after_audio_duration",
    "retry_interval",
    "retry_on_chunk_sent",
    "sticky",
    "vad",
)


def _is_usable(model: Any) -> bool:
    return not isinstance(model, RemoteProvider) or model.unusable() is None


class _Fallback(RemoteProvider):
    _has_usable: bool

    def _members(self, kind: ModelKind, given: Sequence[Any]) -> list[Any]:
        """Those that can be used; all of them if none can, for their error to be told."""
        models = [model_for(kind, model) for model in given]
        usable = [model for model in models if _is_usable(model)]
        self._has_usable = bool(usable)
        return usable or models

    def _options(self, kind: ModelKind, options: dict[str, Any]) -> dict[str, Any]:
        return without_effect(f"{kind}.FallbackAdapter", options, _WITHOUT_EFFECT)

    def unusable(self) -> str | None:
        return None if self._has_usable else "none of its models can be used"


class FallbackLLM(_Fallback, fallback.FallbackLLM):
    """Language models, each in the place of the one before it."""

    @property
    def label(self) -> str:
        return "llm.FallbackAdapter"

    def __init__(self, llm: Sequence[Any], **options: Any) -> None:
        super().__init__(self._members("llm", llm), **self._options("llm", options))


class FallbackSTT(_Fallback, fallback.FallbackSTT):
    """Recognisers, each in the place of the one before it."""

    @property
    def label(self) -> str:
        return "stt.FallbackAdapter"

    def __init__(self, stt: Sequence[Any], **options: Any) -> None:
        timeout = {"transcript_timeout": options.pop("attempt_timeout")} if "attempt_timeout" in options else {}
        super().__init__(self._members("stt", stt), **timeout, **self._options("stt", options))


class FallbackTTS(_Fallback, fallback.FallbackTTS):
    """Voices, each in the place of the one before it."""

    @property
    def label(self) -> str:
        return "tts.FallbackAdapter"

    def __init__(self, tts: Sequence[Any], **options: Any) -> None:
        super().__init__(self._members("tts", tts), **self._options("tts", options))
