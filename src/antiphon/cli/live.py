"""`antiphon connect`: an agent in a LiveKit room.

Above: `main.py`. Below: `antiphon.server.livekit`. Where the server is, and the keys to it, say LIVEKIT_URL,
LIVEKIT_API_KEY and LIVEKIT_API_SECRET of the environment.
"""

from __future__ import annotations

import asyncio
from functools import partial

from antiphon.calls.models import ModelChoice
from antiphon.cli.screen import Screen
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import Job
from antiphon.server.livekit.hold import hold_call
from antiphon.server.livekit.server import STATE, LiveKitServer
from antiphon.transports.livekit import LiveKitCall


async def connect(server: AgentServer, room: str, *, models: ModelChoice, screen: Screen) -> None:
    """Join one room and stay until the call is over. Raises `AntiphonError` for what makes it impossible."""
    livekit = LiveKitServer.from_environment()
    token = livekit.agent_token(room, attributes={STATE: "initializing"})
    await asyncio.to_thread(LiveKitCall.load)
    try:
        await models.prewarm()
        call = LiveKitCall(livekit.url, token, delete=partial(livekit.delete_room, room))
        screen.notice(f"In the room {room} at {livekit.url}. Ctrl-C ends the call.")
        reason = await hold_call(server, call, room, job=Job(api=livekit.api), models=models)
        screen.notice(f"The call is over: {reason}.")
    finally:
        await livekit.aclose()
