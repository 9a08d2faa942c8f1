"""What the program itself adds to the caller's wait: `python benchmarks/own_latency.py`.

The calls of the demo are made again, in real time and over the same transport, with models that take a fixed time for
everything they do: every turn is as long as its recording, the tools are the receptionist's own. From each voice to
voice latency, as the recording of the call has it, what the models and endpointing must take is subtracted. The rest is
the program's: transport, core, runtime, tools, playout, and how exactly the machine keeps time. Exit code 1 if its 95th
percentile is above 30 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from antiphon import Agent, AgentServer, AgentSession, RunContext, function_tool
from antiphon.audio import AudioFrame
from antiphon.calls.models import ModelChoice
from antiphon.chat import FunctionCallOutput
from antiphon.cli.call import voice_call
from antiphon.cli.screen import Screen
from antiphon.llm import ChatRequest
from antiphon.options import Endpointing
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeTurnDetector, FakeVAD, Reply, speech
from antiphon.transports.wav import read_recording

RECORDINGS: Final = Path(__file__).parents[1] / "examples" / "recordings"
LIMIT: Final = 30.0
"""Milliseconds."""
TTFT, TTFB, HEARD = 0.2, 0.1, 0.1
"""Seconds to the model's first token, to the voice's first audio, and to the final transcript after speech ended."""
FRAME = 0.02


@dataclass(frozen=True, slots=True)
class Turn:
    """A caller's turn, what the model makes of it, and how many responses of the model come before its answer."""

    said: str
    reply: Reply
    responses: int = 1


DATE, BOOKING = {"date": "next Tuesday"}, {"patient_name": "Jordan Park", "date": "next Tuesday", "time": "2:00 PM"}
TURNS: Final = (
    Turn("Hi, I need to schedule an appointment.", Reply("Of course. What day works for you?")),
    Turn("Do you have anything next Tuesday?", Reply(calls=[("check_availability", DATE)]), 2),
    # The tool itself speaks: nothing of the model's second response is waited for.
    Turn("The 2 PM slot, please. My name is Jordan Park.", Reply(calls=[("book_appointment", BOOKING)])),
    Turn("Do you have anything on Wednesday too?", Reply(calls=[("check_availability", {"date": "Wednesday"})]), 2),
    Turn("No, that's everything. Thanks.", Reply("You're welcome. Goodbye.")),
)


@function_tool
async def check_availability(date: str) -> str:
    """Look up free slots.

    Args:
        date: The date
    """
    return f"Available slots for {date}: 9:00 AM, 11:30 AM, 2:00 PM, 4:30 PM"


@function_tool
async def book_appointment(context: RunContext[Any], patient_name: str, date: str, time: str) -> str:
    """Book an appointment.

    Args:
        context: Gives the session
        patient_name: The patient's full name
        date: The date
        time: The time slot
    """
    await context.session.say(f"I have booked {patient_name} on {date} at {time}.", allow_interruptions=False)
    return "Appointment confirmed."


def answer(request: ChatRequest) -> Reply:
    """What the model says: the turn's reply, and after a tool its output."""
    last = request.chat_ctx.items[-1]
    if isinstance(last, FunctionCallOutput):
        return Reply(last.output)
    said = next(item.text_content or "" for item in reversed(request.chat_ctx.messages()) if item.role == "user")
    return next(turn.reply for turn in TURNS if said.endswith(turn.said))


def caller() -> list[AudioFrame]:
    """A voice for each turn of the demo, as long as its recording, in whole frames.

    But for the yes to what was read back (4): the line that asks for it has no model whose time could be taken off.
    """
    durations = [read_recording(RECORDINGS / f"demo-{number}.wav").duration for number in (1, 2, 3, 5, 6)]
    return [speech(round(duration / FRAME) * FRAME) for duration in durations]


def server() -> AgentServer:
    """The receptionist on models with fixed latencies."""
    made = AgentServer()

    @made.rtc_session
    async def entrypoint(session: AgentSession[Any]) -> None:
        await session.start(
            agent=Agent(instructions="You are a receptionist.", tools=[check_availability, book_appointment]),
            room=session.room,
            llm=FakeLLM(answer, ttft=TTFT, tokens_per_second=1e9),
            stt=FakeSTT([turn.said for turn in TURNS], delay=HEARD),
            tts=FakeTTS(ttfb=TTFB, seconds_per_character=0.03),
            vad=FakeVAD(),
            turn_detector=FakeTurnDetector(delay=0.0),
        )

    return made


async def make_call() -> list[float]:
    """Milliseconds of the program's own in each turn of one call."""
    call = await voice_call(server(), caller(), barge_in={}, models=ModelChoice(), screen=Screen(to_stderr=True))
    measured = call.report.latency["voice_to_voice_ms"]["values"]
    if len(measured) != len(TURNS):
        raise SystemExit(f"expected {len(TURNS)} answers, got {len(measured)}; listen to what went wrong")
    fixed = [1000 * (Endpointing().min_delay + turn.responses * TTFT + TTFB) for turn in TURNS]
    return [whole - models for whole, models in zip(measured, fixed, strict=True)]


async def make_calls(rounds: int, at_once: int) -> list[float]:
    """All calls: `at_once` together, `rounds` times."""
    own: list[float] = []
    for _ in range(rounds):
        own += itertools.chain(*await asyncio.gather(*(make_call() for _ in range(at_once))))
    return own


def main() -> None:
    """Make the calls and print the percentiles."""
    parser = argparse.ArgumentParser(description="Measure the latency that is not the models' nor endpointing's.")
    parser.add_argument("--rounds", type=int, default=4, help="calls one after another")
    parser.add_argument("--at-once", type=int, default=1, help="calls at the same time, in this process")
    given = parser.parse_args()
    own = asyncio.run(make_calls(given.rounds, given.at_once))
    p95 = statistics.quantiles(own, n=20, method="inclusive")[-1]
    print(f"{len(own)} turns, load {os.getloadavg()[0]:.1f}; by turn of the first call: ", end="")
    print(", ".join(f"{milliseconds:.1f}" for milliseconds in own[: len(TURNS)]))
    print(f"own latency: median {statistics.median(own):.1f} ms, p95 {p95:.1f} ms, max {max(own):.1f} ms")
    if p95 > LIMIT:
        sys.exit(f"p95 is above {LIMIT:g} ms")


if __name__ == "__main__":
    main()
