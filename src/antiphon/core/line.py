"""The line: what sounds, what is to sound next, and whether the caller's voice stops it.

    segment   OPEN --text begins--> QUEUED --Play--> PLAYING --ended--> GONE
              QUEUED --stop--> GONE             PLAYING --stop--> STOPPING --ended--> GONE

A segment enters the line when its text begins, so that a slow model blocks nobody. `Play` is given as late as
gapless playout allows: the loudspeaker holds at most two segments, so that an answer can still overtake an
announcement. The line pauses the moment a voice is heard, while it is in doubt (`doubt`) what it means.
"""

from __future__ import annotations

from typing import Final

from antiphon.core.commands import PausePlayout, Play, ResumePlayout, StopPlayout
from antiphon.core.doubt import Doubt
from antiphon.core.facts import PlayoutFinished
from antiphon.core.history import History
from antiphon.core.notices import FalseInterruption
from antiphon.core.promises import Outbox
from antiphon.core.stages import Rank, Sound, Voice
from antiphon.core.state import Segment
from antiphon.options import SessionOptions

_FILLER: Final = Rank.FILLER
_OPEN, _QUEUED, _PLAYING, _STOPPING = Sound.OPEN, Sound.QUEUED, Sound.PLAYING, Sound.STOPPING
_SILENT: Final = Voice.SILENT
"""Asked for with every fact; before Python 3.12 the member of an enum is long in being found."""

STOP_TIMEOUT = 0.5
"""Seconds that a stopped segment has to say what was heard of it."""

FADE_TIMEOUT = 2.0
"""Seconds that a filler has to end with its word."""


class Line:
    """The segments in the order of their playing."""

    __slots__ = ("_history", "_options", "_out", "_patience", "doubt", "paused", "segments")

    def __init__(self, out: Outbox, history: History, options: SessionOptions) -> None:
        self._out = out
        self._history = history
        self._options = options
        self.segments: list[Segment] = []
        self.paused = False
        self._patience: dict[Segment, float | None] = {}
        """What the stall clocks of segments showed when something was put before them."""
        self.doubt = Doubt(options)
        """What a voice over the agent means."""

    # -- what is on it

    @property
    def sounding(self) -> Segment | None:
        """The segment that sounds, or would if the line were not paused. What is being silenced does not."""
        for segment in self.segments:
            if segment.sound is not _STOPPING:
                return segment if segment.sound is _PLAYING else None
        return None

    @property
    def is_audible(self) -> bool:
        """The caller hears the agent: also behind what was silenced, and has not said so yet."""
        first = self.sounding
        return first is not None and first.voice is Voice.SOUNDING and not self.paused

    @property
    def has_next(self) -> bool:
        """What sounds next is ready: no silence to bridge."""
        first = self.segments[0] if self.segments else None
        return first is not None and first.sound is _PLAYING and first.voice is not _SILENT

    @property
    def is_stopping(self) -> bool:
        """Something was silenced, and what was heard of it is not known yet."""
        return bool(self.segments) and any(segment.sound is _STOPPING for segment in self.segments)

    def begin(self, segment: Segment, agent: str, *, record: bool) -> None:
        """Its text begins: it takes its place, behind everything of its rank or before."""
        segment.queued(self._history.reserve(segment.id, agent) if record else None, self._out.now)
        at = len(self.segments)
        while at > 0 and self._yields(self.segments[at - 1], segment):
            at -= 1
        self.segments.insert(at, segment)

    @staticmethod
    def _yields(waiting: Segment, newcomer: Segment) -> bool:
        """Whether what waits lets the newcomer by: it ranks lower, or was asked for later and is no part of it."""
        if waiting.sound is not _QUEUED:
            return False
        if waiting.speech.rank != newcomer.speech.rank:
            return waiting.speech.rank > newcomer.speech.rank
        parent = waiting.speech.parent
        is_part = parent is not None and parent.speech is newcomer.speech
        return waiting.speech.id > newcomer.speech.id and not is_part

    def complete(self, segment: Segment, text: str) -> None:
        """All of its text is known."""
        segment.completed(text)
        if segment.slot is not None:
            self._history.known(segment.slot, text)
        self._watch(moved=segment)

    # -- playing

    @property
    def _is_dry(self) -> bool:
        """The loudspeaker waits for sound that is not made yet."""
        first = self.segments[0] if self.segments else None
        return first is not None and first.sound is _PLAYING and first.voice is _SILENT and not first.fading

    def _overtakes(self, segment: Segment) -> bool:
        """A filler goes even before what the loudspeaker has already, once it has sound: it may be the same voice."""
        return segment.speech.rank is _FILLER and self._is_dry and segment.voice is Voice.READY

    def next_to_play(self) -> Segment | None:
        """The segment that `Play` would be given for next, or None.

        At most one is played ahead, behind a complete one.
        """
        if len(self.segments) > 1 and self._is_dry:
            fillers = [one for one in self.segments if one.sound is _QUEUED and one.speech.rank is _FILLER]
            if fillers:  # one that waits for its own voice holds up none that has sound
                return next((one for one in fillers if self._overtakes(one)), None)
        for position, segment in enumerate(self.segments):
            if segment.sound is _QUEUED:
                if position == 0:
                    return segment
                before = self.segments[position - 1]
                if position == 1 and before.sound is _PLAYING and before.text is not None:
                    return segment
                return None
        return None

    def play(self, segment: Segment) -> None:
        """Give it to the loudspeaker."""
        overtakes = self._overtakes(segment)
        if overtakes:
            dry = self.segments[0]
            self._patience[dry] = self._out.remaining(dry.id)
            self._out.rearm(dry.id, None)
            self.segments.remove(segment)
            self.segments.insert(0, segment)
        segment.given()
        self._out.promise(segment.id, PlayoutFinished(segment.id, "", failed=True), None)
        self._out.send(Play(segment.id, overtakes))
        self._watch()

    def fade(self) -> None:
        """End a filler with the word that sounds, once there is something better to hear behind it."""
        first = self.segments[0]
        if first.speech.rank is not _FILLER or first.sound is not _PLAYING or first.fading:
            return
        behind = next((s for s in self.segments[1:] if s.sound is not _STOPPING), None)
        if behind is None or behind.speech.rank is _FILLER:
            return
        if behind.sound is _PLAYING and behind.voice is Voice.READY:
            first.fades()
            self._out.rearm(first.id, FADE_TIMEOUT)
            self._out.send(StopPlayout(first.id, at_word=True))

    def find(self, segment_id: int) -> Segment | None:
        """A segment on it by its id."""
        for segment in self.segments:
            if segment.id == segment_id:
                return segment
        return None

    def started(self, segment_id: int) -> Segment | None:
        """A segment is heard. Returns it."""
        segment = self.find(segment_id)
        if segment is not None:
            segment.was_started()
            self._goes_on(segment)
        return segment

    def _watch(self, moved: Segment | None = None) -> None:
        """The stall clock runs for what sounds, while all its text is known and nothing pauses it.

        It begins anew when that segment `moved`, and goes on where it stood when a filler was put before it: a voice
        that is dead is given up however often its silence is bridged.
        """
        first = self.segments[0] if self.segments else None
        if first is None or first.sound is not _PLAYING or first.fading:
            return
        if first.text is None or self.paused:
            self._out.rearm(first.id, None)
        elif first is moved or self._out.remaining(first.id) is None:
            left = self._patience.pop(first, None)
            self._out.rearm(first.id, self._options.stall_timeout if left is None else left)

    def progressed(self, segment_id: int, heard: str) -> None:
        """It sounds on."""
        segment = self.find(segment_id)
        if segment is not None:
            segment.progressed(heard)
            self._goes_on(segment)

    def _goes_on(self, segment: Segment) -> None:
        self._patience.pop(segment, None)
        self._watch(moved=segment)

    def finished(self, segment_id: int, heard: str, *, failed: bool = False) -> Segment | None:
        """It sounds no more. Returns the segment, which has left the line.

        `failed`: its voice fell silent. What it was put before waited for the same one meanwhile.
        """
        segment = self.find(segment_id)
        if segment is None or not (segment.sound is _PLAYING or segment.sound is _STOPPING):
            return None
        self._leave(segment, heard)
        waiting = self.segments[0] if self.segments else None
        if failed and waiting is not None and waiting.voice is _SILENT and self._patience.get(waiting) is not None:
            self._patience[waiting] = 0.0
        self._watch()
        return segment

    def stop(self, segment: Segment) -> None:
        """Silence it, or take it off the line if it has not sounded."""
        if segment.sound is _PLAYING:
            segment.silenced()
            self._out.send(StopPlayout(segment.id))
            self._out.promise(segment.id, PlayoutFinished(segment.id, segment.heard), STOP_TIMEOUT)
        elif segment.sound is _QUEUED:
            self._out.send(StopPlayout(segment.id))
            self._leave(segment, "")
        elif segment.sound is _OPEN:
            segment.ended("")
        if self.sounding is None:
            self.clear_doubt()

    def _leave(self, segment: Segment, heard: str) -> None:
        segment.ended(heard)
        self.segments.remove(segment)
        self._patience.pop(segment, None)
        if segment.slot is not None:
            self._history.settle(segment.slot, heard, interrupted=segment.was_cut)
        if self.sounding is None:
            self.clear_doubt()

    # -- barge-in

    def suspect(self) -> None:
        """The caller's voice began over the agent, which falls silent until the matter is clear."""
        if self.sounding is None:
            return
        self.doubt.arose(self._out.now)
        if not self.paused:
            self.paused = True
            self._out.send(PausePlayout())
            self._watch()

    def clear_doubt(self) -> None:
        """The matter is settled, or there is nothing left to interrupt."""
        self.doubt.cleared()
        if self.paused:
            self.paused = False
            self._out.send(ResumePlayout())
            self._watch()

    def advance(self, now: float) -> bool:
        """Time passed. True if the voice lasted long enough to interrupt by its duration alone."""
        deadline = self.doubt.deadline
        if deadline is None or now < deadline:
            return False
        if self.doubt.has_fallen_silent:
            self._out.send(FalseInterruption())
            self.clear_doubt()
            return False
        return True
