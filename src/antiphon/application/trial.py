"""A model that takes the place of another in mid-call: until it has done what it is for, the other one stands by.

Above: the session's models. Below: the fallback adapters, which carry what is being said, heard or asked from one to
the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antiphon.adapters.fallback.roster import Backoff, Fallback
from antiphon.llm import LLM
from antiphon.protocols import ModelKind
from antiphon.stt import STT
from antiphon.tts import TTS

CONTRACTS: dict[str, type[Any]] = {"llm": LLM, "stt": STT, "tts": TTS}
"""What a model of each kind that can be changed in mid-call is."""

_FOR_GOOD = Backoff(86_400.0, 86_400.0)
"""One that failed is not tried again in this call."""

_PATIENCE = 1.9
"""Seconds that a recogniser may take for its words: just less than the session waits for them."""


class Trial:
    """One model on trial. `failed` is told of its error once, if it fails before it has done anything."""

    def __init__(self, kind: ModelKind, new: Any, old: Any, failed: Callable[[Exception], None]) -> None:
        self.new = new
        self.is_over = False
        """It did what it is for, or failed."""
        self._failed = failed
        self.both = _both(kind, new, old)
        """What serves meanwhile."""
        self.both.watched_by(self._told)

    def _told(self, provider: Any, error: Exception | None) -> None:
        if self.is_over or provider is not self.new:
            return
        self.is_over = True
        if error is not None:
            self._failed(error)


def _both(kind: ModelKind, new: Any, old: Any) -> Fallback:
    match kind:
        case "llm":
            patience = new.first_chunk_timeout if new.first_chunk_timeout > LLM.first_chunk_timeout else 4.0
            from antiphon.adapters.fallback.llm import FallbackLLM

            return FallbackLLM([new, old], attempt_timeout=patience, backoff=_FOR_GOOD)
        case "stt":
            from antiphon.adapters.fallback.stt import FallbackSTT

            return FallbackSTT([new, old], transcript_timeout=_PATIENCE, backoff=_FOR_GOOD)
        case _:
            from antiphon.adapters.fallback.tts import FallbackTTS

            return FallbackTTS([new, old], backoff=_FOR_GOOD)
