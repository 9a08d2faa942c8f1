"""What the situations have in common: an agent with tools that take their time, and what was said in a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from antiphon import AgentSession, function_tool
from antiphon.llm import LLM
from antiphon.testing import FakeLLM, SimulatedCall, Sound, Utterance, now, transcript
from antiphon.testing.fakes import Script

LONG = "This is a rather long answer that goes on for quite a while, so that there is time enough to interrupt it."

TTFT = 0.1
"""Seconds to the first token of the model."""
TTFB = 0.05
"""Seconds to the first sound of a `FakeTTS`."""
PACE = 0.06
"""Seconds that a `FakeTTS` takes for a character."""
FRAME = 0.02
"""Seconds between two looks at the sound, on either side."""
REACTION = 0.55 + TTFT + TTFB + 2 * FRAME
"""Seconds from the caller's last sound to the agent's first, at most: endpointing, model, voice, a frame each way."""


def model(script: Script = ()) -> FakeLLM:
    """A model whose sentences come at once, after `TTFT`."""
    return FakeLLM(script, ttft=TTFT, tokens_per_second=1e6)


def calling(llm: LLM, **options: Any) -> SimulatedCall:
    """A call whose model is asked when a turn is over and not before, so that what it takes adds up."""
    options.setdefault("turn_handling", {"preemptive_generation": {"enabled": False}})
    return SimulatedCall(llm, **options)


class Lookup:
    """A tool that takes its time, and remembers what became of it."""

    def __init__(self, seconds: float, result: str = "two tables are free", **options: Any) -> None:
        self.seconds = seconds
        self.result = result
        self.log: list[tuple[str, float]] = []
        """(began | cancelled | ended, time), oldest first."""

        async def look(what: str = "tables") -> str:
            """Look something up."""
            return await self.run()

        self.tool = function_tool(look, **options)

    async def run(self) -> str:
        """What the tool does."""
        self.log.append(("began", now()))
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.log.append(("cancelled", now()))
            raise
        self.log.append(("ended", now()))
        return self.result

    @property
    def words(self) -> list[str]:
        """What became of it, without the times."""
        return [what for what, _ in self.log]

    def at(self, what: str) -> float:
        """When that happened last."""
        return next(time for word, time in reversed(self.log) if word == what)


def said(session: AgentSession[Any], role: str | None = None) -> list[str]:
    """What was said, by both or by one of them, in order."""
    return [m.text_content or "" for m in session.history.messages() if role is None or m.role == role]


def voiced(session: AgentSession[Any], words: str) -> int:
    """How many times the agent was heard to say these words."""
    return sum(text.count(words) for text in said(session, "assistant"))


def lines(session: AgentSession[Any]) -> list[str]:
    """The history, a line for each item."""
    return transcript(session.history)


def reaction(call: SimulatedCall, to: Utterance) -> float:
    """Seconds from the caller's last sound to the agent's next."""
    begins = call.timeline.agent_begins(to.end)
    assert begins is not None, f"nobody answered {to.text!r}"
    return begins - to.end


def longest_silence(call: SimulatedCall, since: float) -> float:
    """Seconds of the longest silence from a time to the end of all that the agent says afterwards."""
    last = call.timeline.agent[-1].end
    assert last > since, "nothing was heard afterwards"
    return max((silence.duration for silence in call.timeline.silences([Sound(since, last)])), default=0.0)


def hush(call: SimulatedCall, to: Utterance) -> float:
    """Seconds from the caller's first sound to the agent's silence."""
    return call.timeline.agent_falls_silent(to.start) - to.start


def on_the_frame(time: float, frame: float = FRAME) -> float:
    """The next time at which a frame of the microphone begins, so that two measurements have the same phase."""
    return (int(time / frame) + 1) * frame


async def until(time: float) -> None:
    """Wait for a time of the loop's clock."""
    await asyncio.sleep(max(0.0, time - now()))


async def until_heard(call: SimulatedCall, condition: Callable[[], object], *, within: float = 30.0) -> float:
    """Wait until something is true, and return the time."""
    deadline = now() + within
    while not condition():
        assert now() < deadline, f"did not come true within {within} s; the call so far: {lines(call.session)}"
        await asyncio.sleep(0.01)
    return now()


def agent_sounds(call: SimulatedCall) -> bool:
    """The agent is audible right now."""
    sounds: list[Sound] = call.speaker.sounds
    return bool(sounds) and now() - sounds[-1].end < 0.001
