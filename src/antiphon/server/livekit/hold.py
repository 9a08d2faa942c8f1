"""One call in a LiveKit room, from joining to leaving.

Above: `connect`, which joins one room, and the worker, which is given jobs. Below: the job of an `AgentServer`, and the
room that it takes place in.
"""

from __future__ import annotations

import logging

from antiphon.calls.start import raise_error
from antiphon.protocols import ModelResolver
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import Job
from antiphon.server.livekit.front_end import FrontEnd
from antiphon.server.room import Room
from antiphon.transports.livekit import LiveKitCall

logger = logging.getLogger("antiphon")


async def hold_call(
    server: AgentServer, call: LiveKitCall, name: str, *, job: Job | None = None, models: ModelResolver | None = None
) -> str:
    """Run the entrypoint for one room, to the end of the call. Returns why it ended.

    The agent leaves as soon as the job is told to end; the session closes and the callbacks run after that. Raises what
    the entrypoint raised, as an `AntiphonError` fit to be shown.
    """
    room = Room(name, line=call)
    front_end = FrontEnd(call)
    try:
        async with server.job(room, models=models, job=job) as context:
            context.on_session(front_end.listen)
            try:
                reason = await context.wait_for_shutdown()
            finally:
                await front_end.aclose()
                await room.disconnect("the agent left")
            raise_error(context)
            return reason
    finally:
        await room.disconnect("the agent left")
