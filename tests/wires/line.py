"""A WebSocket connection that gives what it was made with, without a network; and a client of HTTP that does so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

Data = str | bytes


class Line:
    """What a service says in one connection. Behind the last message it hangs up."""

    def __init__(self, messages: Sequence[Data]) -> None:
        self.sent: list[Data] = []
        self.state = SimpleNamespace(name="OPEN")
        self.transport = SimpleNamespace(abort=self._close)
        self._messages = list(messages)

    def __aiter__(self) -> Line:
        return self

    async def __anext__(self) -> Data:
        await asyncio.sleep(0)
        if not self._messages:
            raise StopAsyncIteration
        return self._messages.pop(0)

    async def recv(self) -> Data:
        """The next message; at the end the error that a broken connection raises."""
        from websockets.exceptions import ConnectionClosedError

        await asyncio.sleep(0)
        if not self._messages:
            self._close()
            raise ConnectionClosedError(None, None)
        return self._messages.pop(0)

    async def send(self, message: Data) -> None:
        await asyncio.sleep(0)
        self.sent.append(message)

    async def close(self) -> None:
        self._close()

    def _close(self) -> None:
        self.state.name = "CLOSED"


def answers(messages: Sequence[Data]) -> Callable[..., Any]:
    """A function that connects, in the place of a provider's own: the first connection speaks, later ones are mute."""
    lines = [Line(messages)]

    async def connect(*_: Any, **__: Any) -> Line:
        return lines.pop() if lines else Line(())

    return connect
