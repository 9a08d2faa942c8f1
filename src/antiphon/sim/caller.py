"""A caller's voice, left to itself: turns with pauses in them, coughs, hums, and barge-ins at any instant.

Above: random calls. Below: the caller of `antiphon.testing`, who says what they are told to.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from antiphon.sim.caller_log import CallerLog
from antiphon.testing import SimulatedCall, Utterance

HUMS = ["uh-huh", "yeah", "okay", "mm hmm"]
"""What is hummed."""


class RandomCaller:
    """Somebody on the line who speaks when and as `rng` has it. What they did is in `log`.

    Args:
        call: It must have been started.
        rng: The same seed makes the same call, to the sample.
        log: Where what they do is kept, and the words come from; None: a new one.
        shortest_part: How many words at least come before and after a pause inside a turn.
        before_turn: Called before each turn of `talk`.
        after_turn: Called with each turn as soon as it is under way.
    """

    def __init__(
        self,
        call: SimulatedCall,
        rng: random.Random,
        *,
        log: CallerLog | None = None,
        shortest_part: int = 1,
        before_turn: Callable[[], None] = lambda: None,
        after_turn: Callable[[Utterance], None] = lambda _: None,
    ) -> None:
        self.log = CallerLog() if log is None else log
        self._call = call
        self._rng = rng
        self._shortest_part = shortest_part
        self._before_turn = before_turn
        self._after_turn = after_turn

    async def talk(self) -> None:
        """Say 2 to 15 turns, of which some barge in, with noises and hums between them."""
        rng = self._rng
        barges_in = False
        await asyncio.sleep(rng.uniform(0.0, 2.0))
        for _ in range(rng.randint(2, 15)):
            self._before_turn()
            await self.say(barged_in=barges_in)
            for _ in range(rng.choice([0, 0, 0, 1, 2])):
                await self.make_a_sound()
            barges_in = rng.random() < 0.3
            if barges_in:
                await asyncio.sleep(rng.uniform(0.0, 8.0))
            else:
                await self._call.settled()
                await asyncio.sleep(rng.uniform(0.0, 1.5))

    def say(self, *, barged_in: bool = False, pauses: bool = True) -> Utterance:
        """Say a turn, in which there may be a pause or two. Awaiting what is returned waits until it is over."""
        rng = self._rng
        words = self.log.next_turn(rng)
        parts: list[str | float] = []
        for count, word in enumerate(words):
            if pauses and self._shortest_part <= count <= len(words) - self._shortest_part and rng.random() < 0.06:
                parts.append(rng.uniform(0.25, 1.0))
            parts.append(word)
        utterance = self._call.caller.says(*parts)
        self.log.spoke(words, utterance, barged_in=barged_in)
        self._after_turn(utterance)
        return utterance

    async def make_a_sound(self) -> None:
        """Cough or hum, after a while."""
        await asyncio.sleep(self._rng.uniform(0.3, 4.0))
        if self._rng.random() < 0.5:
            self.log.coughed(await self._call.caller.coughs(self._rng.uniform(0.1, 0.7)))
        else:
            self.log.hummed(await self._call.caller.says(self._rng.choice(HUMS)))
