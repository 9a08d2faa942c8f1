"""Callers by script: they decide what they say by what they hear.

Above: calls. Below: the caller's end of the line, and what the script says.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable

from antiphon.scenarios.definition import Act, Moment, Script, Wish, found
from antiphon.scenarios.on_the_line import CallerGaveUp, OnTheLine

HELLO = "Hello? Are you still there?"
"""What a caller says whom nobody answers."""
MOST_UNKNOWN = 3
"""Questions in a row that a caller knows no answer to, before they give up."""
MOST_ASKED = 6
"""Times that they answer the same question."""

_SENTENCE = re.compile(r"[^.!?]*[.!?]+|[^.!?]+$")


async def follow(script: Script, line: OnTheLine) -> None:
    """Play the caller of a script until the call is over for them."""
    async with moments_of(script, line):
        await Follower(script, line).converse()


@contextlib.asynccontextmanager
async def moments_of(script: Script, line: OnTheLine) -> AsyncIterator[None]:
    """While the block runs, what is to happen at given moments happens."""
    tasks = [asyncio.create_task(_at(one, line), name=f"moment {number}") for number, one in enumerate(script.moments)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for failed in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(failed, Exception):
                raise failed


async def _at(moment: Moment, line: OnTheLine) -> None:
    """Wait for a moment, and do what belongs to it; as often as it may be."""
    for count in range(moment.times):
        if not await line.until(_comes(moment, line), within=float("inf")):
            return
        await perform(moment, line)
        if moment.time is not None or moment.reply is not None:
            return
        if count + 1 < moment.times:  # it must pass before it can come again
            await line.until(_is_over(moment, line), within=float("inf"))


def _comes(moment: Moment, line: OnTheLine) -> Callable[[], bool]:
    """How to know that it has come."""
    if (pattern := moment.hears) is not None:
        return lambda: found(pattern, line.heard) is not None
    if (number := moment.reply) is not None:
        return lambda: line.replies >= number
    if (tool := moment.tool) is not None:
        before = line.tools.count(tool)
        return lambda: line.tools.count(tool) > before
    if (seconds := moment.silence) is not None:
        return lambda: line.silent_for >= seconds
    at = moment.time or 0.0
    return lambda: line.now >= at


def _is_over(moment: Moment, line: OnTheLine) -> Callable[[], bool]:
    comes = _comes(moment, line)
    return lambda: not comes()


async def perform(act: Act, line: OnTheLine) -> None:
    """Do one thing."""
    if (seconds := line.rng.uniform(*sorted(act.after))) > 0:
        await line.waits(seconds)
    if act.hang_up:
        line.hangs_up()
    elif act.keys:
        await line.presses(act.keys)
    elif act.cough:
        await line.coughs(act.cough)
    elif act.hum:
        await line.hums(act.hum)
    else:
        await line.says(act.words(line.rng))


class Follower:
    """One caller's thread through the call: which wish they are at, and what they were asked."""

    def __init__(self, script: Script, line: OnTheLine) -> None:
        self._script = script
        self._line = line
        self._left = list(script.wishes)
        self._wish: Wish | None = None
        """The one that is not fulfilled yet."""
        self._old = 0
        """Characters that were heard before it."""
        self._asked: Counter[str] = Counter()
        self._unknown = 0
        self._unanswered = 0

    async def converse(self) -> None:
        """The whole call, from their side. Raises `CallerGaveUp`."""
        line = self._line
        while line.is_open:
            await line.listens()
            if line.silent_for >= self._script.patience and line.last_said:
                await line.says(self._nobody_answers())
            elif await self._is_still_their_turn():
                self._unanswered = 0
                if (act := self._next(line.heard)) is None:
                    break
                await perform(act, line)
        await self._leave()

    async def _leave(self) -> None:
        line, patience = self._line, self._script.patience
        if not self._script.wishes:  # whoever only waits for moments waits for them
            await line.until(lambda: line.silent_for >= patience, within=float("inf"))
        elif line.is_open and self._script.goodbye:
            await line.says(self._script.goodbye)
            await line.listens()
        line.hangs_up()

    async def _is_still_their_turn(self) -> bool:
        """Whether the agent says nothing more until the caller is about to answer."""
        line, before = self._line, self._line.heard
        await line.waits(line.rng.uniform(*sorted(self._script.reaction)))
        if self._waits_for_more(before):
            await line.until(lambda: self._is_news(before), within=float("inf"))
        return line.is_open and not line.agent_speaks and line.heard == before

    def _is_news(self, before: str) -> bool:
        return self._line.heard != before or self._line.silent_for >= self._script.patience

    def _waits_for_more(self, heard: str) -> bool:
        """What was heard is neither what they wait for, nor a question."""
        is_waiting = self._wish is not None and not self._is_fulfilled(self._wish)
        return is_waiting and not _questions(heard) and self._known(heard) is None

    def _next(self, heard: str) -> Act | None:
        """What they do now; None: they have what they wanted."""
        if (pattern := self._known(heard)) is not None:
            self._unknown = 0
            return self._answer(pattern, heard)
        if found(self._script.asked_again, heard) is not None and self._line.last_said:
            return self._repeat(heard)
        if self._wish is not None and not self._is_fulfilled(self._wish):
            return self._cannot_answer(self._wish, heard)
        self._wish, self._unknown = None, 0
        if self._left:
            self._wish, self._old = self._left.pop(0), len(self._line.heard_in_all)
        return self._wish

    def _nobody_answers(self) -> str:
        self._unanswered += 1
        if self._unanswered > 1:
            raise nobody_answered(self._line)
        return HELLO

    def _known(self, heard: str) -> str | None:
        """The pattern of what they were asked last, and know."""
        questions = _questions(heard)
        best: tuple[int, str] | None = None
        for pattern in self._script.knows:
            match = found(pattern, heard)
            if match is None or (questions and match.end() <= questions[0]):
                continue
            if not questions and self._asked[pattern]:
                continue  # it is told, and nobody asks
            if best is None or match.end() > best[0]:
                best = match.end(), pattern
        return None if best is None else best[1]

    def _answer(self, pattern: str, heard: str) -> Act:
        acts = self._script.knows[pattern]
        count = self._asked[pattern]
        if count >= max(MOST_ASKED, len(acts)):
            raise CallerGaveUp(f"asked for {pattern!r} more than {count} times, at last with {heard!r}")
        self._asked[pattern] += 1
        return acts[min(count, len(acts) - 1)]

    def _is_fulfilled(self, wish: Wish) -> bool:
        return wish.until is None or found(wish.until, self._line.heard_in_all[self._old :]) is not None

    def _repeat(self, heard: str) -> Act:
        self._unknown += 1
        if self._unknown > MOST_UNKNOWN:
            raise CallerGaveUp(f"said {self._line.last_said!r} {self._unknown} times, and heard {heard!r}")
        return Act(say=self._line.last_said)

    def _cannot_answer(self, wish: Wish, heard: str) -> Act:
        self._unknown += 1
        if self._unknown > MOST_UNKNOWN:
            raise CallerGaveUp(f"{wish.until!r} was not heard after {_said(wish)!r}; at last: {heard!r}")
        return Act(say=self._script.otherwise)


def nobody_answered(line: OnTheLine) -> CallerGaveUp:
    """Why a caller gives up to whom nobody speaks."""
    return CallerGaveUp(f"nobody answered {line.last_said!r}: nothing was heard for {line.silent_for:.0f} s")


def _said(wish: Wish) -> str:
    return wish.say or " / ".join(wish.one_of) or "what they did"


def _questions(heard: str) -> list[int]:
    """Where each question begins."""
    return [one.start() for one in _SENTENCE.finditer(heard) if one[0].rstrip().endswith("?")]
