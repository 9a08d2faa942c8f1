"""Keys of a telephone: sending them down the line.

Above: agents that are given `send_dtmf_events`. Below: the room, which knows whether there is a telephone on it.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from antiphon.run_context import RunContext
from antiphon.tools.function import ToolError, function_tool

DtmfKey: TypeAlias = Literal["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#", "A", "B", "C", "D"]
"""A key as RFC 4733 knows it."""

DTMF_CODES: dict[str, int] = {
    **{str(digit): digit for digit in range(10)},
    "*": 10,
    "#": 11,
    "A": 12,
    "B": 13,
    "C": 14,
    "D": 15,
}
"""The event codes of RFC 4733."""


@runtime_checkable
class TelephoneRoom(Protocol):
    """A room with a telephone on its line."""

    async def publish_dtmf(self, *, code: int, digit: str) -> None:
        """Press a key."""


@function_tool
async def send_dtmf_events(ctx: RunContext[Any], events: list[DtmfKey]) -> str:
    """Press keys on the telephone, for example to go through a menu or to enter an extension.

    Args:
        ctx: The call.
        events: The keys in order, for example ["1", "#"].
    """
    room = ctx.session.room
    if not isinstance(room, TelephoneRoom):
        raise ToolError("There is no telephone on this call, so keys cannot be pressed.")
    for key in events:
        await room.publish_dtmf(code=DTMF_CODES[key], digit=key)
    return f"Pressed {' '.join(events)}."
