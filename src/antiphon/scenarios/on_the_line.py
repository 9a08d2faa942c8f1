"""The caller's end of a call: what they hear, what they can do. Scripts, personas and Python scenarios act through it.

Above: whoever plays a caller. Below: their ear and mouth, and the room whose keys they press.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from antiphon.scenarios.definition import Script, found
from antiphon.scenarios.ear import Ear
from antiphon.scenarios.mouths import Mouth
from antiphon.server.room import Room
from antiphon.session import AgentSession

_LOOK = 0.1
"""Seconds from one look at the call to the next, where nothing wakes who waits."""
_UNDERSTOOD = 0.6
"""Seconds from a caller's last sound to its words, at most."""
_KEY = 0.25
"""Seconds from one key to the next."""


class CallerGaveUp(Exception):
    """The caller does not go on: the call has failed, and this says why."""


class OnTheLine:
    """One caller's. What they say and do takes the call's own time.

    `says`, `hums`, `coughs`, `presses`, `hangs_up` do; `listens`, `hears`, `starts` (of a tool) and `waits` wait.
    """

    def __init__(self, *, ear: Ear, mouth: Mouth, room: Room, manner: Script, rng: random.Random) -> None:
        self.rng = rng
        """Where chance comes from: the same seed makes the same call."""
        self.manner = manner
        self.failures: list[str] = []
        self.last_said = ""
        self.has_hung_up = False
        self.silent_at_the_end = 0.0
        """Seconds of silence in which they hung up."""
        self._ear = ear
        self._mouth = mouth
        self._room = room
        self._session: AgentSession[Any] | None = None
        self._began = _clock()
        self._changed = asyncio.Event()
        ear.on_change(self._changed.set)

    def is_answered_by(self, session: AgentSession[Any]) -> None:
        """This session took the call."""
        self._session = session

    # -- what is so

    @property
    def now(self) -> float:
        """Seconds since the call began."""
        return _clock() - self._began

    @property
    def is_open(self) -> bool:
        """Nobody has ended the call."""
        return not self.has_hung_up and self._session is not None and self._session.is_running

    @property
    def heard(self) -> str:
        """What the agent was heard to say since the caller last spoke."""
        return self._ear.news

    @property
    def heard_in_all(self) -> str:
        """What the agent was heard to say in this call."""
        return self._ear.heard

    @property
    def agent_speaks(self) -> bool:
        """The agent is heard now."""
        return self._ear.is_speaking

    @property
    def replies(self) -> int:
        """How often the agent began to speak."""
        return len(self._ear.replies)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that began to run, in order."""
        return tuple(name for _, name in self._ear.tools)

    @property
    def silent_for(self) -> float:
        """Seconds since anybody was last heard."""
        if self._ear.is_speaking or self._mouth.is_speaking:
            return 0.0
        return _clock() - max(self._ear.fell_silent, self._mouth.fell_silent)

    # -- what they do

    async def says(self, words: str) -> None:
        """Say this now, whoever speaks; "..." is a pause. Returns when it is said."""
        if not self.is_open:
            return
        self._ear.answered()
        self.last_said = words
        await self._mouth.says(words)

    async def hums(self, words: str = "mm hmm") -> None:
        """Let the agent know that one listens, in passing."""
        if self.is_open:
            await self._mouth.says(words)

    async def coughs(self, seconds: float = 0.3) -> None:
        """Make a noise without words."""
        if self.is_open:
            await self._mouth.coughs(seconds)

    async def presses(self, keys: str) -> None:
        """Press keys of the telephone."""
        self._ear.answered()
        for key in keys:
            if self.is_open:
                self._room.receive_dtmf(key)
                await asyncio.sleep(_KEY)

    def hangs_up(self) -> None:
        """Leave. What is said afterwards, nobody hears."""
        if self.is_open:
            self.silent_at_the_end = self.silent_for
            self.has_hung_up = True
            self._mouth.hangs_up()
            self._changed.set()

    def requires(self, is_so: object, why: str) -> None:
        """Say that the call has failed, unless something is so."""
        if not is_so:
            self.failures.append(why)

    # -- what they wait for

    async def waits(self, seconds: float) -> None:
        """Let time pass; less, if the call ends."""
        await self.until(lambda: False, within=seconds)

    async def until(self, is_so: Callable[[], object], *, within: float) -> bool:
        """Wait until something is so. False: it was not within so many seconds, or the call is over."""
        deadline = self.now + within
        while not is_so():
            if not self.is_open or self.now >= deadline - 1e-9:
                return False
            self._changed.clear()
            try:
                async with asyncio.timeout(min(_LOOK, deadline - self.now)):
                    await self._changed.wait()
            except TimeoutError:
                pass
        return True

    async def listens(self) -> str:
        """Until the agent has answered and is silent, or nobody was heard for as long as the caller is patient.

        Returns what was heard since the caller last spoke; "": nothing.
        """
        await self.until(self._is_their_turn, within=float("inf"))
        return self.heard

    async def hears(self, pattern: str, *, within: float = 60.0) -> str:
        """Wait until the agent is heard to say this, in the middle of it or before, since the caller last spoke.

        Returns the words that fit. Raises `CallerGaveUp` after `within` seconds, or when the call is over.
        """
        if not await self.until(lambda: found(pattern, self.heard), within=within):
            raise CallerGaveUp(f"expected to hear {pattern!r}, got {self.heard!r}")
        match = found(pattern, self.heard)
        return match[0] if match is not None else ""

    async def starts(self, tool: str, *, within: float = 60.0) -> None:
        """Wait until this tool has begun to run. Raises `CallerGaveUp` after `within` seconds, or at the end."""
        if not await self.until(lambda: tool in self.tools, within=within):
            raise CallerGaveUp(f"expected {tool} to be called, got {', '.join(self.tools) or 'no call'}")

    def _is_their_turn(self) -> bool:
        if self.silent_for >= self.manner.patience:
            return True
        session = self._session
        quiet = session is not None and session.idle and not self._ear.is_speaking and not self._mouth.is_speaking
        understood = _clock() - self._mouth.fell_silent >= _UNDERSTOOD
        return bool(quiet and understood and (self.heard or not self.last_said))


def _clock() -> float:
    return asyncio.get_running_loop().time()
