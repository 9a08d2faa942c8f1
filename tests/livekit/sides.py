"""The two servers that the same tests are run against: the double, and a real one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Protocol, TypeAlias

from antiphon.server.entrypoint import AgentServer
from antiphon.server.livekit.server import LiveKitServer
from antiphon.server.livekit.worker import Worker
from antiphon.testing import wait_until
from antiphon.transports.livekit import LiveKitCall
from tests.livekit.caller import RoomCaller
from tests.livekit.double import KEY, SECRET, Double, DoubleCall, Person
from tests.livekit.real import Address


class Visitor(Protocol):
    """Somebody in a room."""

    def agents(self) -> dict[str, Any]:
        """The agents that they see, by identity: participants."""

    async def leave(self) -> None: ...


class Side(Protocol):
    """A server."""

    is_real: bool
    server: LiveKitServer
    make_call: Callable[..., Any]

    async def visit(self, room: str, identity: str = "caller") -> Visitor: ...
    async def dispatch(self, agent_name: str, room: str, metadata: str = "") -> str: ...
    async def delete_dispatch(self, dispatch: str, room: str) -> None: ...
    async def delete_room(self, room: str) -> None: ...


Check: TypeAlias = Callable[[Side], Awaitable[None]]
"""What is asked of a server."""


class DoubleSide:
    is_real = False

    def __init__(self, double: Double) -> None:
        self.double = double
        self.server = LiveKitServer(double.url, KEY, SECRET)
        self.make_call: Callable[..., Any] = partial(DoubleCall, double)

    async def visit(self, room: str, identity: str = "caller") -> Visitor:
        return _DoubleVisitor(self.double, room, identity)

    async def dispatch(self, agent_name: str, room: str, metadata: str = "") -> str:
        return await self.double.create_dispatch(agent_name, room, metadata)

    async def delete_dispatch(self, dispatch: str, room: str) -> None:
        await self.double.delete_dispatch(dispatch)

    async def delete_room(self, room: str) -> None:
        await self.double.delete_room(room)


class _DoubleVisitor:
    def __init__(self, double: Double, room: str, identity: str) -> None:
        self._double, self._room, self._identity = double, room, identity
        double.join(room, Person(identity))

    def agents(self) -> dict[str, Any]:
        room = self._double.rooms.get(self._room)
        return {p.identity: p for p in room.people.values() if p.kind == 4} if room is not None else {}

    async def leave(self) -> None:
        self._double.leave(self._room, self._identity)


class RealSide:
    is_real = True

    def __init__(self, address: Address) -> None:
        self._address = address
        self.server = LiveKitServer(address.url, address.key, address.secret)
        self.make_call: Callable[..., Any] = LiveKitCall

    async def visit(self, room: str, identity: str = "caller") -> Visitor:
        return _RealVisitor(await RoomCaller(self._address, room, identity).join())

    async def dispatch(self, agent_name: str, room: str, metadata: str = "") -> str:
        from livekit import api

        request = api.CreateAgentDispatchRequest(agent_name=agent_name, room=room, metadata=metadata)
        return str((await self.server.api.agent_dispatch.create_dispatch(request)).id)

    async def delete_dispatch(self, dispatch: str, room: str) -> None:
        await self.server.api.agent_dispatch.delete_dispatch(dispatch, room)

    async def delete_room(self, room: str) -> None:
        await self.server.delete_room(room)


class _RealVisitor:
    def __init__(self, caller: RoomCaller) -> None:
        self._caller = caller

    def agents(self) -> dict[str, Any]:
        kind = self._caller.rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
        return {i: p for i, p in self._caller.room.remote_participants.items() if p.kind == kind}

    async def leave(self) -> None:
        await self._caller.leave()


@contextlib.asynccontextmanager
async def opened(address: Address | None) -> AsyncIterator[Side]:
    """The real server at an address; None: a double."""
    if address is not None:
        real = RealSide(address)
        try:
            yield real
        finally:
            await real.server.aclose()
        return
    double = Double()
    await double.start()
    side = DoubleSide(double)
    try:
        yield side
    finally:
        await side.server.aclose()
        await double.stop()


@contextlib.asynccontextmanager
async def working(side: Side, agent: AgentServer) -> AsyncIterator[Worker]:
    """A worker, registered, as long as this lasts."""
    worker = Worker(agent, side.server, make_call=side.make_call)
    running = asyncio.create_task(worker.run())
    try:
        await wait_until(lambda: worker.is_ready or running.done())
        if running.done():
            running.result()
        yield worker
    finally:
        for call in worker.calls:
            call.end("the test is over")
        await worker.drain(2.0)
        running.cancel()
        await worker.aclose()
        await asyncio.wait([running])
