"""What `AnswerWatch` tells: who answered, and what became of a message. Events of the session, by these names.

Above: `answer_watch`, and whoever listens. Below: nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True, kw_only=True)
class CallAnsweredEvent:
    """Who answered a call that the agent made, or who it turned out to be."""

    who: Literal["person", "voicemail", "screening", "menu", "unavailable"]
    sign: str = ""
    """The words, or the tone, that say so; "" for a person."""
    created_at: float = field(default_factory=time.time)
    """Seconds since the epoch."""
    type: Literal["call_answered"] = "call_answered"


@dataclass(slots=True, kw_only=True)
class MessageLeftEvent:
    """What became of a message for a voicemail."""

    text: str
    """What the line took of it, by the loudspeaker's clock; "": nothing."""
    whole: bool
    """All of it. False: the mailbox cut it, or the call ended before."""
    after_tone: bool
    """A tone was heard before. False: the greeting was over, and none came."""
    created_at: float = field(default_factory=time.time)
    """Seconds since the epoch."""
    type: Literal["message_left"] = "message_left"
