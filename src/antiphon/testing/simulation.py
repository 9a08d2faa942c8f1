"""A whole call in virtual time, heard from outside: what the caller says and when, what the agent is heard to say.

```python
def test_a_pause_does_not_end_the_turn() -> None:
    async def main() -> None:
        async with SimulatedCall(FakeLLM(["A table for two it is."])) as call:
            await call.start(Host())
            asked = await call.caller.says("I need a table", 0.4, "for two")
            await call.settled()
        assert call.timeline.agent_begins(asked.end) - asked.end < 0.9
        assert max(silence.duration for silence in call.timeline.silences(call.pending)) < 1.6

    run_virtual(main())
```
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from antiphon.agent import Agent
from antiphon.audio import AudioFrame
from antiphon.llm import LLM
from antiphon.realtime import RealtimeModel
from antiphon.session import AgentSession
from antiphon.streams import Closable
from antiphon.stt import STT
from antiphon.testing.audio import FakeSpeaker, Sound, stereo
from antiphon.testing.caller import RATE, Caller, CallerSTT
from antiphon.testing.fakes import FakeTTS, FakeVAD
from antiphon.testing.timeline import Timeline
from antiphon.tools.latency import latencies
from antiphon.tts import TTS


class SimulatedCall(Closable):
    """A session with a caller at the other end, and both ends recorded.

    `llm` is the model, most often a `FakeLLM`. Without others, the caller is understood by a `CallerSTT` and answered
    with the voice of a `FakeTTS`; a model that hears and speaks, such as a `FakeRealtimeModel` that `hears` the caller,
    is alone. `options` are those of `AgentSession`. Leaving the block ends the call.

    A call is the same every time: how long tools took in calls before it is forgotten when it starts.
    """

    def __init__(
        self,
        llm: LLM | RealtimeModel,
        *,
        caller: Caller | None = None,
        stt: STT | None = None,
        tts: TTS | None = None,
        **options: Any,
    ) -> None:
        is_alone = isinstance(llm, RealtimeModel)
        self.caller = caller or Caller()
        self.speaker = FakeSpeaker(sample_rate=RATE)
        self.session = AgentSession[Any](
            llm=llm,
            stt=stt or (None if is_alone else CallerSTT(self.caller)),
            tts=tts or (None if is_alone else FakeTTS(sample_rate=RATE)),
            vad=options.pop("vad", None) or (None if is_alone else FakeVAD()),
            **options,
        )
        self.pending: list[Sound] = []
        """When the session had something to do: a turn, a reply, a tool that is waited for. To one frame (20 ms)."""
        self._busy_since: float | None = None
        self._begin = 0.0
        self._end: float | None = None
        self.session.once("close", lambda _: self._close())

    async def start(self, agent: Agent, *, room: Any = None) -> None:
        """Put the agent on the line. `room`: where the call takes place, if it has keys that the caller may press."""
        self._begins()
        await self.session.start(agent, room=room, input=self.caller.microphone, output=self.speaker)
        self._look()

    async def resume(self, call_id: str, *, agents: Sequence[Agent]) -> None:
        """Go on with a call whose process has ended, on a line of its own (`AgentSession.resume`)."""
        self._begins()
        await self.session.resume(call_id, agents=agents, input=self.caller.microphone, output=self.speaker)
        self._look()

    def _begins(self) -> None:
        latencies.clear()
        self._begin = asyncio.get_running_loop().time()
        self.caller.microphone.after_frame = self._look

    async def settled(self, *, quiet: float = 0.0) -> None:
        """Until the caller is silent, everything they said is dealt with, and nothing happens for `quiet` seconds.

        Or until the call has ended.
        """
        loop = asyncio.get_running_loop()
        while self.session.is_running:
            if self.caller.utterances:
                await self.caller.utterances[-1]
            # Their last words are still on their way through the detector and the recogniser.
            await asyncio.sleep(_UNDERSTOOD)
            if not self.session.is_running:
                return
            await self.session.wait_for_idle()
            since = loop.time()
            while self.session.idle and not self.caller.microphone.queued:
                if loop.time() - since >= quiet:
                    return
                await asyncio.sleep(_LOOK)

    async def aclose(self) -> None:
        """End the call. What was recorded stays."""
        self._close()
        await self.session.aclose()

    def _close(self) -> None:
        if self._end is None:
            self.caller.microphone.after_frame = None
            self._end = asyncio.get_running_loop().time()
            if self._busy_since is not None:
                self.pending.append(Sound(self._busy_since, self._end))

    # -- what happened

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

    def _look(self) -> None:
        if self.session.idle is (self._busy_since is None):
            return  # nothing has changed
        now = asyncio.get_running_loop().time()
        if self._busy_since is None:
            self._busy_since = now
        else:
            self.pending.append(Sound(self._busy_since, now))
            self._busy_since = None


_LOOK = 0.02
"""Seconds from one look at the session to the next, in `settled`."""

_UNDERSTOOD = 0.6
"""Seconds from a sound to its words, at most."""
