"""Callers who decide for themselves: with any agent, the same from the same seed."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from antiphon import Agent
from antiphon.server.room import Room
from antiphon.sim import CallerLog, Hands, RandomCaller
from antiphon.testing import FakeLLM, SimulatedCall, run_virtual, transcript


def talk(seed: str, **options: Any) -> tuple[RandomCaller, list[str]]:
    """A caller who talks to an agent that always says the same. Returns them, and the call in lines."""

    async def main() -> tuple[RandomCaller, list[str]]:
        async with SimulatedCall(FakeLLM(lambda _: "A table for two it is.")) as call:
            await call.start(Agent(instructions="You take reservations."))
            caller = RandomCaller(call, random.Random(seed), **options)
            await caller.talk()
            await call.settled()
            return caller, transcript(call.session.history)

    return run_virtual(main())


def test_what_they_say_is_kept_and_understood() -> None:
    caller, lines = talk("7")
    heard = " ".join(line for line in lines if line.startswith("user:")).split()
    assert len(caller.log.said) >= 2
    assert [word for said in caller.log.said for word in said.words if heard.count(word) != 1] == []


def test_the_same_seed_is_the_same_call() -> None:
    assert talk("8")[1] == talk("8")[1] != talk("9")[1]


def test_the_words_may_be_yours() -> None:
    caller, lines = talk("7", log=CallerLog(wording=lambda number, _: ["table", "number", str(number)]))
    assert "user: table number 0" in lines
    assert caller.log.said[1].words == ["table", "number", "1"]


def test_hands_type_and_press_keys_meanwhile() -> None:
    async def main() -> tuple[CallerLog, list[str]]:
        pressed: list[str] = []
        room, log = Room(), CallerLog()
        room.on("dtmf", lambda event: pressed.append(event.digit))
        async with SimulatedCall(FakeLLM(lambda _: "A table for two it is.")) as call:
            await call.start(Agent(instructions="You take reservations."), room=room)
            hands = Hands(call, room, random.Random("7"), log)
            fidgeting = asyncio.ensure_future(hands.fidget())
            await asyncio.sleep(1800)
            fidgeting.cancel()
        return log, pressed

    log, pressed = run_virtual(main())
    assert {said.way for said in log.said} == {"typed", "put"}
    assert [key for _, key, _ in log.keys] == pressed != []
