"""`antiphon start` and `antiphon connect`: an agent in LiveKit's rooms, as they come or in one.

Above: `main.py`. Below: `antiphon.server.livekit`. Where the server is, and the keys to it, say LIVEKIT_URL,
LIVEKIT_API_KEY and LIVEKIT_API_SECRET of the environment.
"""

from __future__ import annotations

import asyncio
import importlib
from functools import partial

from antiphon.calls.models import ModelChoice
from antiphon.cli.screen import Screen
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import Job
from antiphon.server.livekit.hold import HeldCall
from antiphon.server.livekit.server import STATE, LiveKitServer
from antiphon.server.livekit.worker import Worker
from antiphon.server.process import ending_takes
from antiphon.session import AgentSession
from antiphon.transports.livekit import LiveKitCall


async def start(
    server: AgentServer, *, models: ModelChoice, screen: Screen, drain: float | None = None, max_calls: int = 1000
) -> None:
    """Take calls until cancelled, then wait `drain` seconds for those that are on, and end the rest.

    `drain`: None is what the server says. Raises `AntiphonError` for what makes it impossible.
    """
    livekit = LiveKitServer.from_environment(server.ws_url, server.api_key, server.api_secret)
    limit = server.drain_timeout if drain is None else drain
    await asyncio.to_thread(LiveKitCall.load)
    await asyncio.to_thread(importlib.import_module, "antiphon.transports.mixer")
    await models.prewarm()
    await server.set_up()
    AgentSession()  # what a session loads late is loaded here, and not while the first caller waits
    server.proc.settle()
    worker = Worker(server, livekit, models=models, max_calls=max_calls)
    screen.notice(f"Taking calls from {livekit.url}. Ctrl-C ends them politely, a second one at once.")
    with ending_takes(limit):
        try:
            await worker.run()
        finally:
            if worker.calls:
                screen.notice(f"No new calls; {len(worker.calls)} may come to their end within {limit:g} s.")
            await worker.drain(limit)
            await worker.aclose()
            await livekit.aclose()


async def connect(server: AgentServer, room: str, *, models: ModelChoice, screen: Screen) -> None:
    """Join one room and stay until the call is over. Raises `AntiphonError` for what makes it impossible."""
    livekit = LiveKitServer.from_environment(server.ws_url, server.api_key, server.api_secret)
    token = livekit.agent_token(room, attributes={STATE: "initializing"})
    await asyncio.to_thread(LiveKitCall.load)
    try:
        await models.prewarm()
        call = LiveKitCall(livekit.url, token, delete=partial(livekit.delete_room, room))
        screen.notice(f"In the room {room} at {livekit.url}. Ctrl-C ends the call.")
        reason = await HeldCall(server, call, room, job=Job(api=livekit.api), models=models).run()
        screen.notice(f"The call is over: {reason}.")
    finally:
        await livekit.aclose()
