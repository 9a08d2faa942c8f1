"""Wrappers that give a provider what it lacks: streaming over whole utterances, a spare for a failed one, a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.adapters.cached_tts import CachedTTS

__all__ = ["CachedTTS"]

if not TYPE_CHECKING:  # whoever wants another adapter need not load this one
    __getattr__, __dir__ = on_first_use(__name__, {"cached_tts": ("CachedTTS",)})
