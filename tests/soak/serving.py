"""The page server of a soak, in a process of its own: it tells its level when it is asked, once its calls are over."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from antiphon import AgentServer, AgentSession
from antiphon.console.access import Limits
from antiphon.console.reload import AgentFile
from antiphon.console.serve import PageServer, Place, page_server
from antiphon.testing import FakeSTT, FakeTTS, FakeVAD, wait_until
from tests.console.serving import AS_GIVEN
from tests.runtime.test_soak import First, model, sentence
from tests.soak.level import level

TOKEN = "right"
LIMITS = Limits(max_calls=60, start_timeout=1.0, offer_timeout=1.0)
SETTLING = 20.0
"""Seconds that calls have to end once their pages are gone."""

agents = AgentServer()


@agents.rtc_session
async def answer(session: AgentSession[Any]) -> None:
    """Any call: another agent each time, which does anything."""
    rng = random.Random()
    await session.start(
        First(rng),
        room=session.room,
        llm=model(rng, wordless=0.0),
        stt=FakeSTT([sentence(rng, 6) for _ in range(20)]),
        vad=FakeVAD(),
        tts=FakeTTS(),
    )


async def serve() -> None:
    """Print the address; then for each line on standard input, which is a number of calls, the level."""
    questions = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        file = AgentFile(Path(folder) / "agent.py", server=agents)
        place = Place(port=0, token=TOKEN)
        kept = Path(folder) / "calls"
        async with page_server(file, place, models=AS_GIVEN, limits=LIMITS, folder=kept, reload=False) as server:
            await wait_until(lambda: server.server.started)
            print(server.url, flush=True)
            while line := await questions.readline():
                await _settle(server)
                print(json.dumps(asdict(level(int(line)))), flush=True)


async def _settle(server: PageServer) -> None:
    """Wait until no call runs and no socket is open. A call that stays is seen in the level."""
    state = server.server.server_state
    try:
        await wait_until(
            lambda: not (server.calls.running or state.connections or state.tasks), timeout=SETTLING, interval=0.05
        )
    except AssertionError:
        print(f"{server.calls.running} calls, {len(state.connections)} connections stay", file=sys.stderr)
    await asyncio.sleep(0.3)  # what closes behind them: files, peers
