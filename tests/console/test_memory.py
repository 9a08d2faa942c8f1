"""Calls that are over: nothing of them stays, and nothing waits for the garbage collector."""

from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path

from antiphon.testing import wait_until
from antiphon.testing.audio import speech
from tests.console.page import Page
from tests.console.serving import ECHO, VOICE, run, serving, write
from tests.soak.level import OF_A_CALL

AT_WORK = """
import asyncio
from antiphon import Agent, AgentServer, AgentSession, function_tool
from antiphon.testing import FakeLLM, Reply

server = AgentServer()

class Clerk(Agent):
    @function_tool
    async def look(self) -> str:
        "Look for long."
        await asyncio.sleep(3600)
        return "found"

@server.rtc_session
async def entrypoint(session: AgentSession):
    llm = FakeLLM({"": Reply("Let me see.", [("look", {})])}, ttft=0.0)
    await session.start(agent=Clerk(instructions=""), room=session.room, llm=llm)
"""
"""An agent that is still at work when its caller hangs up."""


def left() -> Counter[str]:
    """What there is of calls, collected or not."""
    return Counter(name for thing in gc.get_objects() if (name := type(thing).__name__) in OF_A_CALL)


def check_nothing_stays(code: str, folder: Path, *, audio: bool) -> None:
    async def calls() -> None:
        async with serving(write(folder, code), folder=folder / "calls") as server:

            async def call() -> None:
                async with Page(server.url, rate=16_000, audio=audio) as page:
                    await page.wait_for("ready", timeout=30)
                    if audio:
                        page.speak(speech(0.5, 16_000))
                        await page.until(lambda: page.speaker.heard)
                    else:
                        await page.send("text", text="hello")
                        await page.wait_for("message", role="assistant")

            await call()
            gc.collect()
            gc.disable()
            try:
                before = left()
                for _ in range(3):
                    await call()
                await wait_until(lambda: not server.calls.running, timeout=20.0)
                await wait_until(lambda: not left() - before, timeout=1.0)
            finally:
                gc.enable()

    run(calls)


def test_a_call_by_voice_is_free_at_once(tmp_path: Path) -> None:
    check_nothing_stays(VOICE, tmp_path, audio=True)


def test_a_call_in_text_is_free_at_once(tmp_path: Path) -> None:
    check_nothing_stays(ECHO, tmp_path, audio=False)


def test_a_call_whose_tool_was_at_work_is_free_at_once(tmp_path: Path) -> None:
    check_nothing_stays(AT_WORK, tmp_path, audio=False)
