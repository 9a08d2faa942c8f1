"""Who was audible when: questions to ask of a call that is over.

`Timeline` is plain data, made from the intervals that the two ends of a call remember (`SimulatedCall.timeline`), or
measured on a stereo recording (`Timeline.from_audio`), which knows nothing of sessions, turns or tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing.audio import Sound


@dataclass(slots=True, frozen=True)
class Timeline:
    """The sound of both sides from `begin` to `end`, in seconds of one clock. Each side's sounds are in order."""

    caller: Sequence[Sound]
    agent: Sequence[Sound]
    begin: float
    end: float

    @classmethod
    def from_audio(cls, audio: AudioFrame, *, begin: float = 0.0) -> Timeline:
        """Measure a recording, the caller left and the agent right, to the sample: what is not zero is sound.

        Raises `UsageError` for a recording that is not in stereo.
        """
        if audio.num_channels != 2:
            raise UsageError(
                f"Timeline.from_audio: expected two channels, caller and agent, got {audio.num_channels}; see stereo()"
            )
        import numpy as np

        samples = np.frombuffer(audio.data, "<i2").reshape(-1, 2)
        sides: list[list[Sound]] = []
        for channel in (0, 1):
            loud = np.concatenate(([False], samples[:, channel] != 0, [False]))
            edges = (np.flatnonzero(loud[1:] != loud[:-1]) / audio.sample_rate + begin).tolist()
            sides.append([Sound(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True)])
        return cls(sides[0], sides[1], begin, begin + audio.duration)

    # -- silence

    def silences(self, within: Iterable[Sound] | None = None) -> list[Sound]:
        """When neither side was audible, longest stretches whole, oldest first.

        `within`: only the parts of silences that lie in these stretches of time (when work was pending, say).
        """
        sounds = sorted((*self.caller, *self.agent), key=lambda sound: sound.start)
        silences: list[Sound] = []
        quiet_since = self.begin
        for sound in sounds:
            if sound.start > quiet_since:
                silences.append(Sound(quiet_since, min(sound.start, self.end)))
            quiet_since = max(quiet_since, sound.end)
        if quiet_since < self.end:
            silences.append(Sound(quiet_since, self.end))
        return silences if within is None else overlap(silences, within)

    # -- one after the other

    def agent_begins(self, after: float) -> float | None:
        """When the agent was next audible at or after a time; None if never."""
        return _next_sound(self.agent, after)

    def caller_begins(self, after: float) -> float | None:
        """When the caller was next audible at or after a time; None if never."""
        return _next_sound(self.caller, after)

    def agent_falls_silent(self, after: float) -> float:
        """When the sound of the agent that was audible at a time ended. That time itself if none was."""
        return next((sound.end for sound in self.agent if sound.start <= after < sound.end), after)

    def gaps(self, after: float = 0.0) -> list[float]:
        """Seconds between each sound of the agent and its next one, from the first that ends after a time."""
        later = [sound for sound in self.agent if sound.end >= after]
        return [following.start - sound.end for sound, following in pairwise(later)]

    def crosstalk(self) -> float:
        """Seconds in which both were audible."""
        return sum(both.duration for both in overlap(self.caller, self.agent))


def _next_sound(sounds: Sequence[Sound], after: float) -> float | None:
    return next((max(sound.start, after) for sound in sounds if sound.end > after), None)


def overlap(first: Iterable[Sound], second: Iterable[Sound]) -> list[Sound]:
    """Where two rows of stretches of time, each in order and free of overlaps, have both something."""
    ours, theirs = list(first), list(second)
    both: list[Sound] = []
    i = j = 0
    while i < len(ours) and j < len(theirs):
        start, end = max(ours[i].start, theirs[j].start), min(ours[i].end, theirs[j].end)
        if start < end:
            both.append(Sound(start, end))
        if ours[i].end < theirs[j].end:
            i += 1
        else:
            j += 1
    return both
