"""Objects that agent files construct as a matter of course, and that do nothing here: each tells so once."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from antiphon_livekit.notices import notice

logger = logging.getLogger("antiphon.livekit")

# -- noise cancellation


class _NoiseCancellation:
    def __init__(self, **_: Any) -> None:
        notice(f"noise_cancellation.{type(self).__name__}: no noise cancellation here; audio is heard as it comes")


class NC(_NoiseCancellation):
    """Would take noise away."""


class BVC(_NoiseCancellation):
    """Would take noise and other voices away."""


class BVCTelephony(_NoiseCancellation):
    """The same, for telephones."""


# -- metrics


@dataclass
class UsageSummary:
    """What calls have cost, as far as it was collected."""

    llm_prompt_tokens: int = 0
    llm_prompt_cached_tokens: int = 0
    llm_completion_tokens: int = 0
    llm_total_tokens: int = 0
    tts_characters_count: int = 0
    tts_audio_duration: float = 0.0
    stt_audio_duration: float = 0.0

    def add(self, metrics: Any) -> None:
        """Add one measurement: the fields that it has."""
        self.llm_prompt_tokens += getattr(metrics, "prompt_tokens", 0)
        self.llm_prompt_cached_tokens += getattr(metrics, "prompt_cached_tokens", 0)
        self.llm_completion_tokens += getattr(metrics, "completion_tokens", 0)
        self.llm_total_tokens += getattr(metrics, "total_tokens", 0)
        self.tts_characters_count += getattr(metrics, "characters_count", 0)


class UsageCollector:
    """Adds up measurements: those of the fields of `UsageSummary` that they have."""

    def __init__(self) -> None:
        self._summary = UsageSummary()

    def __call__(self, metrics: Any) -> None:
        self.collect(metrics)

    def collect(self, metrics: Any) -> None:
        """Add one."""
        self._summary.add(metrics)

    def get_summary(self) -> UsageSummary:
        """The sums so far."""
        return self._summary


def log_metrics(metrics: Any, *, logger: logging.Logger = logger) -> None:
    """Log one."""
    logger.info("%s", metrics)
