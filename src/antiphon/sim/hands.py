"""The caller's hands: what they type and press beside what they say, at moments of which most are the wrong ones.

Above: random calls. Below: the session, as applications have it, and the keys of its room.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from antiphon.server.room import Room
from antiphon.sim.caller_log import CallerLog
from antiphon.testing import SimulatedCall, now

Moment: TypeAlias = Literal["any", "while the agent speaks", "while a tool runs", "in a hand-off", "for a tool"]

MOMENTS: dict[Moment, float] = {
    "any": 0.2,
    "while the agent speaks": 0.3,
    "while a tool runs": 0.3,
    "in a hand-off": 0.2,
}
"""What the hands wait for, with how often."""

PATIENCE = 20.0
"""Seconds that they wait for a moment."""
LOOK = 0.05
"""Seconds from one look for it to the next."""


class Hands:
    """One caller's. What they do is kept in `log`.

    Args:
        call: It must have been started, in `room` if keys are to be pressed.
        room: Whose keys are pressed.
        rng: The same seed makes the same call.
        log: The caller's, where their voice keeps what it does, too.
        moments: How to know that a moment has come: "while a tool runs" and "in a hand-off", which is otherwise never.
    """

    def __init__(
        self,
        call: SimulatedCall,
        room: Room,
        rng: random.Random,
        log: CallerLog,
        moments: Mapping[Moment, Callable[[], bool]] | None = None,
    ) -> None:
        self._session = call.session
        self._room = room
        self._rng = rng
        self._log = log
        self._moments: dict[Moment, Callable[[], bool]] = {
            "any": lambda: True,
            "while the agent speaks": lambda: self._session.agent_state == "speaking",
            "while a tool runs": lambda: bool(self._session.running_tools),
            "in a hand-off": lambda: False,
            **(moments or {}),
        }

    # -- whatever they feel like

    async def fidget(self) -> None:
        """Type turns and press keys, now and then, until cancelled."""
        rng = self._rng
        while True:
            await asyncio.sleep(rng.uniform(1.0, 15.0))
            moment: Moment = rng.choices(list(MOMENTS), list(MOMENTS.values()))[0]
            if not await self._comes(moment):
                continue
            await asyncio.sleep(rng.choice([0.0, rng.uniform(0.0, 1.0)]))
            moment = moment if self._moments[moment]() else "any"
            match rng.choice(["type", "type", "put", "press"]):
                case "type":
                    self.type(moment)
                case "put":
                    self.put(moment)
                case _:
                    await self.press("".join(rng.choice("0123456789*#") for _ in range(rng.randint(1, 5))), moment)

    async def _comes(self, moment: Moment) -> bool:
        until = now() + PATIENCE
        while not self._moments[moment]():
            if now() > until:
                return False
            await asyncio.sleep(LOOK)
        return True

    def type(self, moment: Moment = "any") -> None:
        """Send a turn in text. `moment`: what it was typed for, for the log."""
        words = self._log.next_turn(self._rng)
        reply = self._session.current_speech
        self._log.wrote(words, "typed", now(), moment, reply if reply is not None and reply.num_steps else None)
        self._session.submit_user_turn(" ".join(words))

    def put(self, moment: Moment = "any") -> None:
        """Have the application ask for a reply to a turn."""
        words = self._log.next_turn(self._rng)
        self._log.wrote(words, "put", now(), moment, self._session.generate_reply(user_input=" ".join(words)))

    async def press(self, keys: str, moment: Moment = "any") -> None:
        """Press keys of the telephone, up to a second apart."""
        for key in keys:
            self._log.pressed(key, now(), moment)
            self._room.receive_dtmf(key)
            await asyncio.sleep(self._rng.uniform(0.05, 1.0))

    # -- what they are asked to

    async def enter_codes(self, digits: int, is_asked: Callable[[], bool]) -> None:
        """Enter codes where they are asked for, mostly, and in full, mostly; until cancelled."""
        rng = self._rng
        while True:
            await asyncio.sleep(rng.uniform(0.2, 5.0))
            if not is_asked():
                continue
            match rng.choice(["all", "all", "all", "some", "stop", "nothing"]):
                case "all":
                    await self.press(self._digits(digits), "for a tool")
                case "some":
                    await self.press(self._digits(rng.randint(1, digits - 1)), "for a tool")
                case "stop":
                    await self.press("#", "for a tool")
                case _:
                    pass

    def _digits(self, count: int) -> str:
        return "".join(self._rng.choice("0123456789") for _ in range(count))
