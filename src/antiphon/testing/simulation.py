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

from collections.abc import Sequence
from typing import Any

from antiphon.agent import Agent
from antiphon.audio import AudioFrame
from antiphon.llm import LLM
from antiphon.realtime import RealtimeModel
from antiphon.session import AgentSession
from antiphon.streams import Closable
from antiphon.stt import STT
from antiphon.testing.audio import FakeSpeaker, Sound
from antiphon.testing.caller import RATE, Caller, CallerSTT
from antiphon.testing.fakes import FakeTTS, FakeVAD
from antiphon.testing.line import CallLine
from antiphon.testing.timeline import Timeline
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
        self.line = CallLine(caller)
        self.session = AgentSession[Any](
            llm=llm,
            stt=stt or (None if is_alone else CallerSTT(self.line.caller)),
            tts=tts or (None if is_alone else FakeTTS(sample_rate=RATE)),
            vad=options.pop("vad", None) or (None if is_alone else FakeVAD()),
            **options,
        )

    @property
    def caller(self) -> Caller:
        """Who is on the line."""
        return self.line.caller

    @property
    def speaker(self) -> FakeSpeaker:
        """What they hear."""
        return self.line.speaker

    @property
    def pending(self) -> list[Sound]:
        """When the session had something to do: a turn, a reply, a tool that is waited for. To one frame (20 ms)."""
        return self.line.pending

    async def start(self, agent: Agent, *, room: Any = None) -> None:
        """Put the agent on the line. `room`: where the call takes place, if it has keys that the caller may press."""
        self.line.begins(self.session)
        await self.session.start(agent, room=room, input=self.caller.microphone, output=self.speaker)
        self.line.look()

    async def resume(self, call_id: str, *, agents: Sequence[Agent]) -> None:
        """Go on with a call whose process has ended, on a line of its own (`AgentSession.resume`)."""
        self.line.begins(self.session)
        await self.session.resume(call_id, agents=agents, input=self.caller.microphone, output=self.speaker)
        self.line.look()

    async def settled(self, *, quiet: float = 0.0) -> None:
        """Until the caller is silent, everything they said is dealt with, and nothing happens for `quiet` seconds.

        Or until the call has ended.
        """
        await self.line.settled(quiet=quiet)

    async def aclose(self) -> None:
        """End the call. What was recorded stays."""
        self.line.ends()
        await self.session.aclose()

    # -- what happened

    @property
    def timeline(self) -> Timeline:
        """Who was audible when, up to now or to the end of the call."""
        return self.line.timeline

    def audio(self) -> AudioFrame:
        """The call as a third party hears it: the caller left, the agent right."""
        return self.line.audio()
