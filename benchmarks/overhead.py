"""What the framework itself costs: text turns with one tool call, beside a hand-written loop that does the same.

    python -m benchmarks.overhead [--turns 1000] [--sessions 1000]

The model is a fake that answers at once (first part) or at the pace of a quick one (second part). Processor time,
the median of three runs, as ratios to the loop: a slow or busy machine makes both slower.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from antiphon import Agent, AgentSession, function_tool
from antiphon.chat import FunctionCallOutput
from antiphon.llm import LLM, ChatChunk, ChatRequest, ChoiceDelta, FunctionToolCall
from antiphon.server.memory import settle_memory

ARGUMENTS = ("", '{"city": ', '"Paris", ', '"unit": ', '"c"}')
ANSWER = "The weather in Paris is sunny with a high of twenty five degrees and a light wind from the west.".split(" ")
FIRST, NEXT = 0.05, 0.01
"""Seconds to the first token of a paced model, and from token to token."""

Turn = Callable[[], Awaitable[None]]


async def _wait(since: float, token: int, paced: bool) -> None:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(max(0.0, since + FIRST + token * NEXT - loop.time()) if paced else 0)


async def _calling(paced: bool) -> AsyncGenerator[str, None]:
    since = asyncio.get_running_loop().time()
    for token, piece in enumerate(ARGUMENTS):
        await _wait(since, token, paced)
        yield piece


async def _answering(paced: bool) -> AsyncGenerator[str, None]:
    since = asyncio.get_running_loop().time()
    for token, piece in enumerate(ANSWER):
        await _wait(since, token, paced)
        yield f"{piece} "


class _Model(LLM):
    def __init__(self, paced: bool) -> None:
        self.paced = paced
        self.calls = 0

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        self.calls += 1
        if isinstance(request.chat_ctx.items[-1], FunctionCallOutput):
            async for piece in _answering(self.paced):
                yield ChatChunk("r", ChoiceDelta(content=piece))
            return
        arguments = "".join([piece async for piece in _calling(self.paced)])
        call = FunctionToolCall("get_weather", arguments, f"c{self.calls}")
        yield ChatChunk("r", ChoiceDelta(tool_calls=(call,)))


@function_tool
async def get_weather(city: str, unit: str) -> str:
    """Get the current weather in a city."""
    return "sunny, 25 degrees"


async def ours(paced: bool) -> Turn:
    """A turn of a session."""
    session: AgentSession[Any] = AgentSession(llm=_Model(paced))
    await session.start(Agent(instructions="Answer in one sentence.", tools=[get_weather]))

    async def turn() -> None:
        await session.generate_reply(user_input="What is the weather in Paris?")

    return turn


async def loop_by_hand(paced: bool) -> Turn:
    """The same without a framework."""
    items: list[dict[str, Any]] = []

    async def turn() -> None:
        items.append({"role": "user", "content": "What is the weather in Paris?"})
        arguments = "".join([piece async for piece in _calling(paced)])
        items.append({"role": "assistant", "call": "get_weather", "arguments": arguments})
        output = await asyncio.create_task(get_weather.function(**json.loads(arguments)))
        items.append({"role": "tool", "content": output})
        items.append({"role": "assistant", "content": "".join([piece async for piece in _answering(paced)])})

    return turn


async def turns(make: Callable[[bool], Awaitable[Turn]], count: int) -> list[float]:
    """Processor milliseconds of each of `count` turns on one session."""
    turn = await make(False)
    costs = []
    for _ in range(count):
        begun = time.process_time()
        await turn()
        costs.append(1e3 * (time.process_time() - begun))
    return costs


async def crowd(make: Callable[[bool], Awaitable[Turn]], sessions: int) -> tuple[float, float]:
    """Wall seconds of 5 turns each on many sessions at once, and kilobytes a session."""
    await (await make(False))()
    settle_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = [await make(True) for _ in range(sessions)]
    pace = random.Random(1)

    async def call(turn: Turn) -> None:
        await asyncio.sleep(pace.random() * ideal_turn())
        for _ in range(5):
            await turn()

    begun = time.perf_counter()
    await asyncio.gather(*map(call, made))
    wall = time.perf_counter() - begun
    return wall, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / sessions


def ideal_turn() -> float:
    """Seconds that the paced model needs for a turn."""
    return 2 * FIRST + (len(ARGUMENTS) - 1 + len(ANSWER) - 1) * NEXT


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=1000)
    options = parser.parse_args()
    ratios, growth, ms = [], [], []
    for _ in range(3):
        mine, floor = asyncio.run(turns(ours, options.turns)), asyncio.run(turns(loop_by_hand, options.turns))
        ratios.append(statistics.median(mine) / statistics.median(floor))
        growth.append(statistics.median(mine[-50:]) / statistics.median(mine[10:60]))
        ms.append(statistics.median(mine))
    print(f"a text turn with one tool call: {statistics.median(ms):.2f} ms of processor time", end=", ")
    print(f"{statistics.median(ratios):.1f} x the loop by hand", end="; ")
    print(f"turn {options.turns} costs {statistics.median(growth):.2f} x turn 10")
    ideal = 6 * ideal_turn()
    floor_wall, _ = asyncio.run(crowd(loop_by_hand, options.sessions))
    wall, memory = asyncio.run(crowd(ours, options.sessions))
    print(f"{options.sessions} sessions x 5 turns: {wall:.1f} s, {wall / ideal:.2f} x the model's own time", end=" ")
    print(f"(the loop by hand {floor_wall / ideal:.2f}); {memory:.0f} kB a session afterwards")


if __name__ == "__main__":
    main()
