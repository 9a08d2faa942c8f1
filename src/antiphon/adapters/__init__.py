"""Wrappers that give a provider what it lacks: streaming over whole utterances, a spare for a failed one, a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antiphon.adapters.cached_tts import CachedTTS

__all__ = ["CachedTTS"]


def __getattr__(name: str) -> object:
    # Lazily: whoever wants another adapter need not load this one.
    if name != "CachedTTS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    from antiphon.adapters.cached_tts import CachedTTS

    return CachedTTS
