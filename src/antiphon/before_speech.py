"""What the agent is about to say, as an application sees it that may hold or change it. Vocabulary (layer 0)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from antiphon.options import Effect
from antiphon.record import record

DeedState: TypeAlias = Literal["working", "done", "failed", "unknown"]


@record
class Deed:
    """One start of a tool, and what is known of it."""

    call_id: str
    name: str
    arguments: str
    """JSON text."""
    effect: Effect
    state: DeedState = "working"
    """failed: it did not happen. unknown: it may have happened."""
    output: str = ""
    """What the model was told of it, 2,000 characters of it at most."""
    told: bool = False
    """Of a tool that writes: the caller has heard what came of it."""


@record
class Sentence:
    """A sentence of a model's response, before it is spoken."""

    text: str
    """As it was written, markup included."""
    agent_id: str
    speech_id: str
    """The id of the `SpeechHandle`."""
    deeds: tuple[Deed, ...]
    """What tools have done in this call, oldest first: the last thousand."""
    unbacked: tuple[str, ...] = ()
    """What it claims was done ("booked") and no tool has done."""


BeforeSpeech: TypeAlias = Callable[[Sentence], Awaitable[str | None]]
"""Gives what is to be said in the place of a sentence: "" for nothing, None for the sentence as it is."""
