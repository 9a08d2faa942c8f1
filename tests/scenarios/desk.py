"""An agent file for scenarios, with a scripted model, and scenarios that are run with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from antiphon.scenarios import Outcome, Settings, Simulation, simulate

AGENT = '''
import asyncio, time
from antiphon import Agent, AgentServer, AgentSession, RunContext, function_tool
from antiphon.testing import FakeLLM, Hang, Reply
from antiphon.toolkit import EndCallTool

server = AgentServer()

@function_tool(effect="reads")
async def look_up(day: str) -> str:
    """Look up a day."""
    return f"{day} is free at nine, eleven and four"

@function_tool(effect="writes")
async def book(ctx: RunContext, day: str) -> str:
    """Book a day."""
    ctx.userdata["booked"] = day
    return f"Booked for {day}"

@function_tool(effect="reads")
async def block() -> str:
    """Sleep where nobody may."""
    time.sleep(SECONDS)
    return "awake"

def answer(request):
    heard = [one for one in request.chat_ctx.items if getattr(one, "role", "user") == "user"]
    last = [one for one in heard if one.type in ("message", "function_call_output")][-1]
    if last.type == "function_call_output":
        return f"So it is: {last.output}."
    words = (last.text_content or "").casefold()
    for word, turn in {
        "free": Reply(calls=[("look_up", {"day": "Friday"})]),
        "book": "In whose name shall I book it?",
        "ann": Reply(calls=[("book", {"day": "Friday"})]),
        "long": "This is a rather long answer that goes on for quite a while and has many words to be spoken over.",
        "hang": Hang(),
        "block": Reply(calls=[("block", {})]),
        "wait": "One moment.",
        "end": Reply(calls=[("end_call", {})]),
        "bye": "Good bye.",
    }.items():
        if word in words:
            return turn
    return "What can I do for you?"

@server.rtc_session
async def entrypoint(ctx):
    session = AgentSession(llm=FakeLLM(answer, tokens_per_second=1e6), userdata={"keys": ""})

    def pressed(key):
        session.userdata["keys"] += key.digit

    ctx.room.on("dtmf", pressed)
    agent = Agent(instructions="You book.", tools=[look_up, book, block, EndCallTool()])
    await session.start(agent=agent, room=ctx.room)
'''


def agent_file(folder: Path, *, seconds: float = 0.0, text: str = AGENT) -> Path:
    """The agent, in a file."""
    file = folder / "agent.py"
    file.write_text(text.replace("SECONDS", str(seconds)), encoding="utf-8")
    return file


def scenarios_file(folder: Path, *lines: str) -> Path:
    """Scenarios, in a file: each line is one, in YAML's short form."""
    file = folder / "scenarios.yaml"
    file.write_text("scenarios:\n" + "".join(f"  - {line}\n" for line in lines), encoding="utf-8")
    return file


def simulated(folder: Path, *lines: str, **settings: Any) -> Simulation:
    """What comes of these scenarios."""
    return simulate(agent_file(folder), [scenarios_file(folder, *lines)], Settings(**settings))


def called(folder: Path, caller: str, *, expect: str = "{}", more: str = "", **settings: Any) -> Outcome:
    """What comes of one call."""
    line = f"{{name: a call, caller: {caller}, expect: {expect}{', ' if more else ''}{more}}}"
    return simulated(folder, line, **settings).results[0].runs[0]


def said(outcome: Outcome, role: str) -> list[str]:
    """What one side said."""
    return [str(turn["text"]) for turn in outcome.turns if turn["role"] == role]
