"""Keys that the agent presses on the telephone."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, AgentSession
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from antiphon.toolkit import send_dtmf_events


class Telephone:
    """A room with a telephone on its line, which may be dead."""

    def __init__(self, *, dead: bool = False) -> None:
        self.pressed: list[tuple[int, str]] = []
        self.dead = dead

    async def publish_dtmf(self, *, code: int, digit: str) -> None:
        if self.dead:
            raise ConnectionError("no line")
        self.pressed.append((code, digit))


async def pressing(room: object, events: list[Any]) -> str:
    """What the model is told when it presses these keys."""
    llm = FakeLLM([Reply(calls=[("send_dtmf_events", {"events": events})]), "Done."])
    async with AgentSession[Any](llm=llm) as session:
        await session.start(Agent(tools=[send_dtmf_events]), room=room)
        await session.run(user_input="Press them.")
        return transcript(session.history)[2]


def test_keys_are_pressed_in_order_with_the_codes_of_the_standard() -> None:
    room = Telephone()
    told = run_virtual(pressing(room, ["1", "0", "*", "#", "A", "D"]))
    assert room.pressed == [(1, "1"), (0, "0"), (10, "*"), (11, "#"), (12, "A"), (15, "D")]
    assert told == "output send_dtmf_events: Pressed 1 0 * # A D."


def test_what_is_no_key_is_not_pressed_and_the_model_is_told() -> None:
    room = Telephone()
    told = run_virtual(pressing(room, ["1", "E"]))
    assert room.pressed == []
    assert told.startswith("error send_dtmf_events: Error parsing arguments for `send_dtmf_events`: ")


@pytest.mark.parametrize("room", [None, object()])
def test_without_a_telephone_on_the_line_the_model_is_told(room: object) -> None:
    told = run_virtual(pressing(room, ["1"]))
    assert told == "error send_dtmf_events: There is no telephone on this call, so keys cannot be pressed."


def test_a_line_that_breaks_is_an_error_of_ours() -> None:
    told = run_virtual(pressing(Telephone(dead=True), ["1"]))
    assert told == "error send_dtmf_events: An internal error occurred"
