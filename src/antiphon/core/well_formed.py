"""Facts that can be sent: what somebody outside wrote, without halves of surrogate pairs.

Above: the driver, through which every fact goes. Below: the vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from antiphon.core.facts import (
    Call,
    CloseRequested,
    ConsentGiven,
    EndRequested,
    Fact,
    GenerationFailed,
    HookReturned,
    OutcomeFound,
    SpeechRequested,
    ToolCalled,
    ToolReturned,
    ToolUpdated,
    Transcribed,
    TurnTaken,
    TurnTranscribed,
    UserTurnSubmitted,
)
from antiphon.visible import well_formed

_FactT = TypeVar("_FactT", bound=Fact | Call)

_WRITTEN: Mapping[type, tuple[str, ...]] = {
    Call: ("call_id", "name", "arguments", "canonical", "read_back"),
    Transcribed: ("text",),
    UserTurnSubmitted: ("text",),
    TurnTaken: ("text",),
    TurnTranscribed: ("text",),
    ToolCalled: ("call", "rejected"),
    GenerationFailed: ("error",),
    ToolUpdated: ("message", "told"),
    ToolReturned: ("output",),
    OutcomeFound: ("output",),
    HookReturned: ("text",),
    SpeechRequested: ("instructions", "user_input"),
    ConsentGiven: ("text",),
    EndRequested: ("reason",),
    CloseRequested: ("reason",),
}
"""By kind: the fields that hold what somebody outside wrote. What is spoken came through a segment, which checks it."""


def well_formed_fact(fact: _FactT) -> _FactT:
    """The fact without halves of surrogate pairs, which nothing that is made of it could be sent with."""
    for name in _WRITTEN.get(type(fact), ()):
        value = getattr(fact, name)
        if not value or (isinstance(value, str) and value.isascii()):
            continue
        whole: Any = well_formed(value) if isinstance(value, str) else well_formed_fact(value)
        if whole is not value:
            fact = replace(fact, **{name: whole})
    return fact
