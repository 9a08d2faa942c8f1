"""One wish, one action: what the ledger promises, seen from outside.

Nothing here knows how the core counts. A write that ended is done again only when a request that was made in a later
turn of the caller asks for it; one of which nobody knows whether it happened is not done again at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told


@dataclass(slots=True)
class Done:
    """One start of a tool that writes."""

    run: int
    call: f.Call
    turn: int
    """Turns that the caller had taken when it was asked for."""
    ended: str = ""
    """How; "" while it works."""
    until: int = 0
    """Turns that they had taken when it ended."""


class Wishes:
    """Watches what is started. `fail` is told the promise that was broken, and how."""

    def __init__(self, fail: Callable[[str, str], None]) -> None:
        self._fail = fail
        self._turns = 0
        self._asked: dict[int, int] = {}
        """By generation: the turns that the caller had taken when it was asked for."""
        self._done: list[Done] = []
        self._passed_on: set[int] = set()
        """Speeches for which the application passed on words of the caller, and that nobody was asked for yet."""

    def told(self, fact: f.Fact | None) -> None:
        """One fact, before what comes of it."""
        if isinstance(fact, f.SpeechRequested) and fact.user_input is not None:
            self._passed_on.add(fact.speech)

    def observe(self, command: do.Command) -> None:
        """One command or notice, in order."""
        match command:
            case told.TurnCommitted():
                self._turns += 1
            case do.Generate(gen=gen, speech=speech, ahead=ahead):
                self._heard_words(speech)
                self._asked[gen] = self._turns + ahead
            case told.SpeechInterrupted(speech=speech):
                self._heard_words(speech)
            case do.Adopt(gen=gen):
                self._asked[gen] = self._turns
            case do.RunTool() if command.policy.effect == "writes":
                self._started(command)
            case told.ToolEnded(run=run, outcome=outcome):
                for one in self._done:
                    if one.run == run:
                        one.ended, one.until = outcome, self._turns

    def _heard_words(self, speech: int) -> None:
        self._turns += speech in self._passed_on
        self._passed_on.discard(speech)

    def _started(self, command: do.RunTool) -> None:
        call, turn = command.call, self._asked.get(command.gen, self._turns)
        equal = [one for one in self._done if _wish(one.call) == _wish(call)]
        is_confirmed = command.policy.on_duplicate == "confirm" and call.confirmed
        is_another = is_confirmed and not any(one.call.confirmed and one.turn == turn for one in equal)
        for one in equal:
            if one.ended in ("unknown", "cancelled"):
                self._fail("wishes", f"{command}, and nobody knows whether {one.run} did it")
            if command.policy.on_duplicate == "allow" or is_another:
                continue
            if not one.ended:
                self._fail("wishes", f"{command} while {one.run} does it")
            if one.ended == "done" and (one.until >= turn or command.policy.repeat == "once"):
                self._fail("wishes", f"{command}, which was asked for in turn {turn}; {one.run} did it by {one.until}")
        self._done.append(Done(command.run, call, turn))


def _wish(call: f.Call) -> tuple[str, str, str]:
    return call.origin, call.name, call.canonical
