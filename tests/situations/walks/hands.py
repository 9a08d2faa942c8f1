"""The caller's hands: what they type and press beside what they say, at moments of which most are the wrong ones."""

from __future__ import annotations

import asyncio
import random
from typing import Literal, TypeAlias

from antiphon.server.room import Room
from antiphon.testing import now
from tests.situations.walks.walked import Said, Walk
from tests.situations.walks.world import DIGITS

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
    """One caller's. What they do is noted in the walk."""

    def __init__(self, rng: random.Random, walk: Walk, room: Room) -> None:
        self._rng = rng
        self._walk = walk
        self._room = room

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
            moment = moment if self._is_now(moment) else "any"
            match rng.choice(["type", "type", "put", "press"]):
                case "type":
                    self.type(moment)
                case "put":
                    self._put(moment)
                case _:
                    await self._press("".join(rng.choice("0123456789*#") for _ in range(rng.randint(1, 5))), moment)

    async def _comes(self, moment: Moment) -> bool:
        until = now() + PATIENCE
        while not self._is_now(moment):
            if now() > until:
                return False
            await asyncio.sleep(LOOK)
        return True

    def _is_now(self, moment: Moment) -> bool:
        match moment:
            case "while the agent speaks":
                return bool(self._walk.call.session.agent_state == "speaking")
            case "while a tool runs":
                return self._walk.world.is_working
            case "in a hand-off":
                return self._walk.world.is_handing_off(within=0.5)
            case _:
                return True

    def type(self, moment: Moment = "any") -> Said:
        """Send a turn in text."""
        said = self._note("typed", moment)
        reply = self._walk.call.session.current_speech
        said.reply = reply if reply is not None and reply.num_steps else None
        self._walk.call.session.submit_user_turn(" ".join(said.words))
        return said

    def _put(self, moment: Moment) -> None:
        said = self._note("put", moment)
        said.reply = self._walk.call.session.generate_reply(user_input=" ".join(said.words))

    def _note(self, way: Literal["typed", "put"], moment: Moment) -> Said:
        walk = self._walk
        said = Said(len(walk.said), walk.next_turn(self._rng), way, now(), now(), False, moment)
        walk.said.append(said)
        return said

    async def _press(self, keys: str, moment: Moment) -> None:
        for key in keys:
            self._walk.keys.append((now(), key, moment))
            self._room.receive_dtmf(key)
            await asyncio.sleep(self._rng.uniform(0.05, 1.0))

    # -- what they are asked to

    async def answer(self) -> None:
        """Enter the codes that tools ask for, mostly, and in full, mostly; until cancelled."""
        rng, world = self._rng, self._walk.world
        while True:
            await asyncio.sleep(rng.uniform(0.2, 5.0))
            if not world.is_asking_for_keys:
                continue
            match rng.choice(["all", "all", "all", "some", "stop", "nothing"]):
                case "all":
                    await self._press("".join(rng.choice("0123456789") for _ in range(DIGITS)), "for a tool")
                case "some":
                    await self._press("".join(rng.choice("0123456789") for _ in range(rng.randint(1, 3))), "for a tool")
                case "stop":
                    await self._press("#", "for a tool")
                case _:
                    pass
