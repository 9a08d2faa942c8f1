"""What a reply took, in LiveKit's terms: a few measurements for each reply, once it is over.

They are made of Antiphon's `TurnMetrics`, and only while somebody listens to `metrics_collected`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from antiphon.events import TurnMetricsEvent
from antiphon.metrics import ResponseMetrics

UNKNOWN = -1.0
"""Where LiveKit has a number, and there was nothing to measure."""


@dataclass(slots=True, kw_only=True)
class EOUMetrics:
    """The end of a caller's turn. Seconds."""

    timestamp: float
    """Since the epoch: when the turn was committed."""
    end_of_utterance_delay: float
    transcription_delay: float
    on_user_turn_completed_delay: float
    speech_id: str
    type: Literal["eou_metrics"] = "eou_metrics"


@dataclass(slots=True, kw_only=True)
class LLMMetrics:
    """A response of the model. Seconds, tokens."""

    timestamp: float
    """Since the epoch: when it was asked."""
    duration: float
    ttft: float
    cancelled: bool
    completion_tokens: int
    prompt_tokens: int
    prompt_cached_tokens: int
    total_tokens: int
    tokens_per_second: float
    speech_id: str
    label: str = ""
    request_id: str = ""
    type: Literal["llm_metrics"] = "llm_metrics"


@dataclass(slots=True, kw_only=True)
class TTSMetrics:
    """A text that was spoken. Seconds."""

    timestamp: float
    """Since the epoch: when the voice was given its first text."""
    ttfb: float
    characters_count: int
    cancelled: bool
    speech_id: str
    label: str = ""
    request_id: str = ""
    streamed: bool = True
    type: Literal["tts_metrics"] = "tts_metrics"


AgentMetrics: TypeAlias = EOUMetrics | LLMMetrics | TTSMetrics
"""One measurement."""


def measurements(event: TurnMetricsEvent) -> Iterator[AgentMetrics]:
    """What LiveKit would have told of the reply, in order."""
    reply = event.metrics
    epoch = event.created_at - reply.ended
    if reply.decided is not None and reply.endpointing_delay is not None:
        yield EOUMetrics(
            timestamp=epoch + reply.decided,
            end_of_utterance_delay=reply.endpointing_delay,
            transcription_delay=reply.transcription_delay or 0.0,
            on_user_turn_completed_delay=reply.hook or 0.0,
            speech_id=reply.speech_id,
        )
    for response in reply.responses:
        if response.by_model:
            yield _of_model(response, epoch, reply.ended, reply.speech_id)
        if response.first_byte is not None:
            yield _of_voice(response, response.first_byte, epoch, reply.speech_id)


def _of_model(response: ResponseMetrics, epoch: float, ended: float, speech_id: str) -> LLMMetrics:
    duration = (ended if response.done is None else response.done) - response.asked
    return LLMMetrics(
        timestamp=epoch + response.asked,
        duration=duration,
        ttft=UNKNOWN if response.first_token is None else response.first_token - response.asked,
        cancelled=response.done is None,
        completion_tokens=response.completion_tokens,
        prompt_tokens=response.prompt_tokens,
        prompt_cached_tokens=response.cached_tokens,
        total_tokens=response.prompt_tokens + response.completion_tokens,
        tokens_per_second=response.completion_tokens / duration if duration > 0 else 0.0,
        speech_id=speech_id,
    )


def _of_voice(response: ResponseMetrics, first_byte: float, epoch: float, speech_id: str) -> TTSMetrics:
    began = response.asked if response.first_text is None else response.first_text
    return TTSMetrics(
        timestamp=epoch + began,
        ttfb=first_byte - began,
        characters_count=response.characters,
        cancelled=response.done is None,
        speech_id=speech_id,
    )
