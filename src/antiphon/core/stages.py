"""How far things are: speeches, calls, segments, and the runs of tools.

Above: `state`, whose records are in these stages. Below: nothing.
"""

from __future__ import annotations

import enum


class Kind(enum.Enum):
    """Why a speech exists."""

    SAY = enum.auto()
    """Text that the application gave."""
    REPLY = enum.auto()
    """A model's answer: to the caller, or because the application asked for one."""
    DELIVERY = enum.auto()
    """Results from the background, told unasked."""
    FILLER = enum.auto()
    """A line that bridges a wait: said before anything else that waits, ended at a word by anything better."""


class Rank(enum.IntEnum):
    """The order of what is not yet played."""

    NOTICE = enum.auto()
    """What must be heard before anything is done."""
    FILLER = enum.auto()
    REPLY = enum.auto()
    """Replies, and what their tools say."""
    ANNOUNCEMENT = enum.auto()
    """What the application asks for by itself."""


class Stage(enum.Enum):
    """How far a speech is."""

    WAITING = enum.auto()
    """Not begun: its turn has not come."""
    HELD = enum.auto()
    """Made ahead, before it is known to be wanted: nothing of it is played, run or told."""
    GENERATING = enum.auto()
    """A model (or a synthesis) is at work on a step."""
    TOOLS = enum.auto()
    """The step is written; its calls are not all closed."""
    SPEAKING = enum.auto()
    """Nothing more will be generated; what is on the line still sounds."""
    DONE = enum.auto()


class Gate(enum.Enum):
    """How far a call is."""

    WAITING = enum.auto()
    """It may not run yet: calls before it come first."""
    CONSENT = enum.auto()
    """It waits for the caller's yes to what is read back of it."""
    RUNNING = enum.auto()
    CLOSED = enum.auto()
    """Its output is known."""
    DROPPED = enum.auto()
    """The caller spoke over it; it leaves no trace."""


class Sound(enum.Enum):
    """Where a segment is."""

    OPEN = enum.auto()
    """No text yet; it may never get any."""
    QUEUED = enum.auto()
    PLAYING = enum.auto()
    """Given to the loudspeaker."""
    STOPPING = enum.auto()
    """Silenced; what was heard of it is not known yet."""
    GONE = enum.auto()


class Voice(enum.Enum):
    """What there is to hear of a segment."""

    SILENT = enum.auto()
    """No sound yet, or none at the moment."""
    READY = enum.auto()
    """Sound is there, and would be heard if the segment were played now."""
    SOUNDING = enum.auto()
    """It is heard, unless the line is paused."""


class Bond(enum.Enum):
    """What ties a run to the conversation."""

    ATTACHED = enum.auto()
    """A call of a speech waits for it."""
    BACKGROUND = enum.auto()
    """Its call has its output; the result will be told when it comes."""
    ORPHAN = enum.auto()
    """Its call was dropped."""
    GONE = enum.auto()
    """Nobody waits for it."""
