"""What `benchmarks.beside` has run by two trees: turns in text, facts, calls by voice, crowds, an import, memory.

    python -P benchmarks/workloads.py NAME COUNT      prints one figure; lower is better

Only names that both trees have; models, ears and voices are of this file, and no tree's own. Nobody waits: time is
virtual. A text turn asks for a reply; its model answers at once, in one chunk, or calls a tool and answers then: in
each turn another call, as callers ask for other things.
"""

from __future__ import annotations

import sys
import time

_BEGUN = time.process_time()

import antiphon  # noqa: E402
from antiphon import Agent, AgentSession, function_tool  # noqa: E402

IMPORTED = time.process_time() - _BEGUN
"""Processor seconds that importing the names took."""

import asyncio  # noqa: E402
import gc  # noqa: E402
import selectors  # noqa: E402
import statistics  # noqa: E402
import tracemalloc  # noqa: E402
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from antiphon.audio import AudioFrame  # noqa: E402
from antiphon.chat import FunctionCallOutput  # noqa: E402
from antiphon.llm import LLM, ChatChunk, ChatRequest, ChoiceDelta, FunctionToolCall  # noqa: E402
from antiphon.stt import STT, SpeechEvent, STTStream  # noqa: E402
from antiphon.transport import AudioInput, AudioOutput  # noqa: E402
from antiphon.tts import TTS, SynthesizedAudio  # noqa: E402
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADStream  # noqa: E402

ANSWER = "The weather in Paris is sunny with a high of twenty five degrees and a light wind from the west. "
ASKED = "What is the weather in Paris?"
ARGUMENTS = '{"city": "Paris", "unit": "%s"}'
WARM = 30
"""Turns that are not counted."""
CALLS = 20
"""Calls by voice at once."""
MICROPHONE, LOUDSPEAKER, FRAME = 16_000, 24_000, 0.02
SPOKEN, PAUSE = 1.5, 6.0
"""Seconds of a caller's turn, and of the time in which the agent answers it."""


# -- time


class _Selector(selectors.SelectSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            return super().select(1.0)
        self.now += max(0.0, timeout)
        return []


class _Loop(asyncio.SelectorEventLoop):
    """Nobody waits: the clock goes on to the next timer."""

    def __init__(self) -> None:
        self.clock = _Selector()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now


def run(work: Coroutine[Any, Any, float]) -> float:
    """The result of `work`, in virtual time."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


# -- text


class _Model(LLM):
    """Calls a tool if it is to, and then answers; `pace` is the seconds that either takes."""

    def __init__(self, calls: bool, pace: float = 0.0) -> None:
        self.calls = calls
        self.pace = pace
        self.made = 0

    async def generate(self, request: ChatRequest) -> Any:
        await asyncio.sleep(self.pace)
        if self.calls and not isinstance(request.chat_ctx.items[-1], FunctionCallOutput):
            self.made += 1
            call = FunctionToolCall("get_weather", ARGUMENTS % self.made, f"c{self.made}")
            yield ChatChunk("r", ChoiceDelta(tool_calls=(call,)))
        else:
            yield ChatChunk("r", ChoiceDelta(content=ANSWER))

    _generate = generate  # what it was called before


async def get_weather(city: str, unit: str) -> str:
    """Get the current weather in a city."""
    return "sunny, 25 degrees"


def _tools(effect: str) -> list[Any]:
    if not effect:
        return []
    return [function_tool(get_weather) if effect == "unsaid" else function_tool(effect=effect)(get_weather)]  # type: ignore[call-overload]


async def _session(effect: str, pace: float = 0.0) -> AgentSession[Any]:
    session: AgentSession[Any] = AgentSession(llm=_Model(bool(effect), pace))
    await session.start(Agent(instructions="Answer in one sentence.", tools=_tools(effect)))
    return session


async def turns(effect: str, count: int) -> float:
    """Processor microseconds of a turn: the median."""
    session = await _session(effect)
    costs = []
    for _ in range(WARM + count):
        begun = time.process_time()
        await session.generate_reply(user_input=ASKED)
        costs.append(time.process_time() - begun)
    await session.aclose()
    return 1e6 * statistics.median(costs[WARM:])


async def crowd(sessions: int) -> float:
    """Processor milliseconds of 5 turns with a tool on a session, of many at once."""
    from antiphon.server.memory import settle_memory

    made = [await _session("unsaid", 0.05) for _ in range(sessions)]
    settle_memory()

    async def call(number: int, session: AgentSession[Any]) -> None:
        await asyncio.sleep(0.1 * number / sessions)
        for _ in range(5):
            await session.generate_reply(user_input=ASKED)

    begun = time.process_time()
    await asyncio.gather(*(call(number, session) for number, session in enumerate(made)))
    return 1e3 * (time.process_time() - begun) / sessions


async def memory(sessions: int) -> float:
    """Kilobytes that a session keeps after 5 turns with a tool."""
    first = await _session("unsaid")
    await first.generate_reply(user_input=ASKED)
    gc.collect()
    tracemalloc.start()
    made = [await _session("unsaid") for _ in range(sessions)]
    for session in made:
        for _ in range(5):
            await session.generate_reply(user_input=ASKED)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept / 1024 / len(made)


# -- the core


def facts(count: int) -> float:
    """Processor microseconds of a fact of the tree's own demo call: the median of the replays."""
    from benchmarks import core_facts

    load: Callable[[Path], Any] = getattr(core_facts, "read", None) or core_facts.load
    journal = load(core_facts.RECORDED)
    costs = [core_facts.replay(journal) / len(journal.entries) for _ in range(count)]
    return 1e6 * statistics.median(costs)


def core_turns(count: int) -> float:
    """Processor microseconds of the facts of a turn with a tool, in a conversation of its own: the median."""
    from benchmarks import core_facts

    costs = []
    for _ in range(count):
        begun = time.process_time()
        core_facts.facts_of_a_text_turn()
        costs.append(time.process_time() - begun)
    return 1e6 * statistics.median(costs)


# -- voice


class _Microphone(AudioInput):
    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        self.push = on_frame


class _Loudspeaker(AudioOutput):
    sample_rate = LOUDSPEAKER

    def __init__(self) -> None:
        self.clock = asyncio.get_running_loop().time
        self.since, self.left, self.written = 0.0, 0.0, 0.0

    def _remaining(self) -> float:
        return max(0.0, self.left - (self.clock() - self.since))

    def write(self, frame: AudioFrame) -> None:
        self.left = self._remaining() + frame.duration
        self.since = self.clock()
        self.written += frame.duration

    @property
    def played(self) -> float:
        return self.written - self._remaining()

    def pause(self) -> None:
        self.clear()

    def resume(self) -> None: ...

    def clear(self) -> float:
        gone, self.left = self._remaining(), 0.0
        self.written -= gone
        return gone


class _Detector(VADStream):
    """Sound is speech."""

    def __init__(self) -> None:
        self.heard = 0.0
        self.voiced = False

    def push(self, frame: AudioFrame) -> Sequence[Any]:
        self.heard += frame.duration
        voiced = frame.data[0] != 0
        if voiced is self.voiced:
            return ()
        self.voiced = voiced
        return (SpeechStarted(self.heard) if voiced else SpeechEnded(self.heard - frame.duration),)


class _VAD(VAD):
    def stream(self) -> VADStream:
        return _Detector()


class _Ear(STTStream):
    """Says what it always says when the sound ends."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[SpeechEvent | None] = asyncio.Queue()
        self.voiced = False

    def push(self, frame: AudioFrame) -> None:
        voiced = frame.data[0] != 0
        if self.voiced and not voiced:
            self.events.put_nowait(SpeechEvent.final(ASKED))
        self.voiced = voiced

    async def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        while (event := await self.events.get()) is not None:
            yield event

    async def aclose(self) -> None:
        self.events.put_nowait(None)


class _STT(STT):
    def stream(self) -> STTStream:
        return _Ear()


class _Voice(TTS):
    sample_rate = LOUDSPEAKER
    chunk = bytes(2 * LOUDSPEAKER // 10)

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        for n in range(30):
            await asyncio.sleep(0.02)
            yield SynthesizedAudio(AudioFrame(self.chunk, LOUDSPEAKER), "" if n else text)


async def voice(seconds: int) -> float:
    """Processor milliseconds of a second of a call, of 20 at once, each with a tool in each turn."""
    await _calls(1, SPOKEN + PAUSE)  # what is loaded with the first call
    begun = time.process_time()
    await _calls(CALLS, seconds)
    return 1e3 * (time.process_time() - begun) / (CALLS * seconds)


async def _calls(number: int, seconds: float) -> None:
    samples = round(MICROPHONE * FRAME)
    silence, speech = AudioFrame(bytes(2 * samples), MICROPHONE), AudioFrame(b"\1\0" * samples, MICROPHONE)

    async def call(offset: float) -> None:
        microphone, loop = _Microphone(), asyncio.get_running_loop()
        session: AgentSession[Any] = AgentSession(
            llm=_Model(True, 0.1), stt=_STT(), tts=_Voice(), vad=_VAD(), max_silence=None
        )
        agent = Agent(instructions="Answer in one sentence.", tools=_tools("reads"))
        await session.start(agent, input=microphone, output=_Loudspeaker())
        began = loop.time()
        for n in range(round(seconds / FRAME)):
            await asyncio.sleep(began + n * FRAME - loop.time())
            at = (n * FRAME + offset) % (SPOKEN + PAUSE)
            microphone.push(speech if at < SPOKEN else silence)
        await session.aclose()

    await asyncio.gather(*(call(one * (SPOKEN + PAUSE) / number) for one in range(number)))


WORKLOADS: dict[str, tuple[int, Callable[[int], float]]] = {
    "text": (400, lambda count: run(turns("", count))),
    "reads": (300, lambda count: run(turns("reads", count))),
    "unsaid": (300, lambda count: run(turns("unsaid", count))),
    "writes": (300, lambda count: run(turns("writes", count))),
    "fact": (41, facts),
    "core-turn": (300, core_turns),
    "voice": (30, lambda count: run(voice(count))),
    "crowd": (1000, lambda count: run(crowd(count))),
    "import": (1, lambda _: 1e3 * IMPORTED),
    "memory": (100, lambda count: run(memory(count))),
}
"""How many of it are enough, and what measures it."""


def main() -> None:
    """Print the figure."""
    name, count = sys.argv[1], int(sys.argv[2])
    print(WORKLOADS[name][1](count or WORKLOADS[name][0]), antiphon.__file__)


if __name__ == "__main__":
    main()
