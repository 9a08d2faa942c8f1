"""A line in virtual time: a caller at one end, an ear at the other, and what became of the call between them.

Above: `SimulatedCall`, which puts an agent on it, and scenarios, whose agents come from files. Below: the caller, the
loudspeaker, the timeline. Of the session it knows whether it runs, and whether it has something to do.
"""

from __future__ import annotations

import asyncio
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.session import AgentSession
from antiphon.testing.audio import FakeSpeaker, Sound, stereo
from antiphon.testing.caller import RATE, Caller
from antiphon.testing.timeline import Timeline
from antiphon.tools.latency import latencies

_LOOK = 0.02
"""Seconds from one look at the session to the next, in `settled`."""

_UNDERSTOOD = 0.6
"""Seconds from a sound to its words, at most."""


class CallLine:
    """Both ends of a call, recorded. `begins` says which session is on it; the session's end is the line's."""

    def __init__(self, caller: Caller | None = None) -> None:
        self.caller = caller or Caller()
        self.speaker = FakeSpeaker(sample_rate=RATE)
        self.pending: list[Sound] = []
        """When the session had something to do: a turn, a reply, a tool that is waited for. To one frame (20 ms)."""
        self._session: AgentSession[Any] | None = None
        self._busy_since: float | None = None
        self._begin = 0.0
        self._end: float | None = None

    def begins(self, session: AgentSession[Any]) -> None:
        """This session is about to start. How long tools took in calls before it is forgotten."""
        latencies.clear()
        self._session = session
        self._begin = asyncio.get_running_loop().time()
        self.caller.microphone.watch(self.look)
        session.once("close", lambda _: self.ends())

    async def settled(self, *, quiet: float = 0.0) -> None:
        """Until the caller is silent, everything they said is dealt with, and nothing happens for `quiet` seconds.

        Or until the call has ended.
        """
        loop = asyncio.get_running_loop()
        while (session := self._session) is not None and session.is_running:
            if self.caller.utterances:
                await self.caller.utterances[-1]
            # Their last words are still on their way through the detector and the recogniser.
            await asyncio.sleep(_UNDERSTOOD)
            if not session.is_running:
                return
            await session.wait_for_idle()
            since = loop.time()
            while session.idle and not self.caller.microphone.queued:
                if loop.time() - since >= quiet:
                    return
                await asyncio.sleep(_LOOK)

    def ends(self) -> None:
        """The call is over. What was recorded stays."""
        if self._end is None:
            self._end = asyncio.get_running_loop().time()
            if self._busy_since is not None:
                self.pending.append(Sound(self._busy_since, self._end))

    @property
    def timeline(self) -> Timeline:
        """Who was audible when, up to now or to the end of the call."""
        end = asyncio.get_running_loop().time() if self._end is None else self._end
        agent = self.speaker.track.sounds if self.speaker.closed else self.speaker.sounds
        return Timeline(self.caller.microphone.sounds, agent, self._begin, end)

    def audio(self) -> AudioFrame:
        """The call as a third party hears it: the caller left, the agent right."""
        line = self.timeline
        return stereo(self.caller.microphone, self.speaker, begin=line.begin, duration=line.end - line.begin)

    def look(self) -> None:
        """Note whether the session has something to do. Each frame of the microphone does so, too."""
        if self._session is None or self._end is not None or self._session.idle is (self._busy_since is None):
            return  # there is no call, or nothing has changed
        now = asyncio.get_running_loop().time()
        if self._busy_since is None:
            self._busy_since = now
        else:
            self.pending.append(Sound(self._busy_since, now))
            self._busy_since = None
