"""One wish, one action: what the ledger promises, seen from outside.

Nothing here knows how the core counts. A write that ended is done again only when a request that was made in a later
turn of the caller asks for it; one of which nobody knows whether it happened, only if the caller, who has heard that,
agrees to another try, which has its key.
"""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise


@dataclass(slots=True)
class Done:
    """One start of a tool that writes."""

    run: int
    call: f.Call
    turn: int
    """Turns that the caller had taken when it was asked for."""
    undo: str | None = None
    """What undoes it."""
    undoes_something: bool = False
    ended: str = ""
    """How; "" while it works."""
    until: int = 0
    """Turns that they had taken when it ended."""
    ended_as: int = 0
    """Its place among all that ended."""
    is_final: bool = False
    """What it did is known, or it has said that it does not know either."""
    key: int = 0
    """What its key is made of."""
    tries_again: bool = False
    """Nobody knew what a start before it did, whose key it has."""
    is_found_undone: bool = False
    """Nobody knew what it did, and who was asked says that it did not happen."""


class OneWishOneAction(Promise):
    """A write is started at most once for one wish; in doubt, again with its key after a spoken yes (design 4).

    What it came to after all settles it, and enters the history, whether the tool says so or who is asked. What did not
    happen is tried again with the same key.
    """

    def start(self) -> None:
        self._turns = 0
        self._asked: dict[int, int] = {}
        """By generation: the turns that the caller had taken when it was asked for."""
        self._ends = 0
        self._known: dict[int, int] = {}
        """By generation: how many had ended when it was asked for."""
        self._done: list[Done] = []
        self._heard: dict[int, int] = {}
        """By run: the turns that the caller had taken when they heard what came of it, or that nobody knows."""
        self._agreed: set[str] = set()
        """Calls that they said yes to."""
        self._corrected: set[str] = set()
        """What is to enter the history."""
        self._passed_on: set[int] = set()
        """Speeches for which the application passed on words of the caller, and that nobody was asked for yet."""

    @on(f.SpeechRequested)
    def requested(self, fact: f.SpeechRequested) -> None:
        if fact.user_input is not None:
            self._passed_on.add(fact.speech)

    @on(told.TurnCommitted)
    def committed(self, _: told.TurnCommitted) -> None:
        self._turns += 1

    @on(do.Generate, do.Adopt)
    def asked(self, command: do.Generate | do.Adopt) -> None:
        if isinstance(command, do.Generate):
            self.interrupted(command)
        self._asked[command.gen] = self._turns + getattr(command, "ahead", False)
        self._known[command.gen] = self._ends

    @on(told.SpeechInterrupted)
    def interrupted(self, notice: told.SpeechInterrupted | do.Generate) -> None:
        self._turns += notice.speech in self._passed_on
        self._passed_on.discard(notice.speech)

    @on(told.ToolEnded)
    def ended(self, notice: told.ToolEnded) -> None:
        for one in self._done:
            if one.run == notice.run:
                self._ends += 1
                one.ended, one.until, one.ended_as = notice.outcome, self._turns, self._ends

    @on(told.WriteTold)
    def heard(self, notice: told.WriteTold) -> None:
        self._heard[notice.run] = self._turns

    @on(told.ConsentDecided)
    def decided(self, notice: told.ConsentDecided) -> None:
        if notice.decision == "yes":
            self._agreed.add(notice.call.call_id)

    @on(f.ToolReturned)
    def returned(self, fact: f.ToolReturned) -> None:
        for one in self._done:
            if one.run != fact.run or one.is_final or (one.ended and one.tries_again and fact.is_error):
                continue
            self._happened(one, known=not fact.unknown and not fact.is_error)
            one.is_final = True
            if one.ended in ("unknown", "cancelled") and not fact.unknown:
                self._ends += 1
                one.ended, one.until = "error" if fact.is_error else "done", self._turns
                one.ended_as = self._ends
                self._corrected.add(f"{one.call.call_id}/late")

    @on(f.OutcomeFound)
    def found(self, fact: f.OutcomeFound) -> None:
        for one in self._done:
            if one.run == fact.run:
                self._happened(one, known=fact.happened)
            if one.run == fact.run and one.ended in ("unknown", "cancelled"):
                self._ends += 1
                one.ended, one.until, one.ended_as = "done" if fact.happened else "error", self._turns, self._ends
                one.is_final, one.is_found_undone = True, not fact.happened
                self._corrected.add(f"{one.call.call_id}/late")

    def _happened(self, one: Done, *, known: bool) -> None:
        """What a try did that another has taken the place of, that one has done, if nobody knows of it."""
        last = [other for other in self._done if (_wish(other.call), other.key) == (_wish(one.call), one.key)][-1]
        if known and one.ended == "tried again" and last.ended in ("unknown", "cancelled"):
            self._ends += 1
            last.ended, last.until, last.ended_as, last.is_final = "done", self._turns, self._ends, True

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        self._corrected.discard(getattr(command.item, "call_id", ""))

    def at_rest(self) -> None:
        if self._corrected:
            self.broken(f"{sorted(self._corrected)} are not in the history, although it is known what the tools did")

    @on(do.RunTool)
    def started(self, command: do.RunTool) -> None:
        call, policy, turn = command.call, command.policy, self._asked.get(command.gen, self._turns)
        if policy.effect not in ("writes", "irreversible"):
            return
        equal = [one for one in self._done if _wish(one.call) == _wish(call)]
        is_confirmed = policy.on_duplicate == "confirm" and call.confirmed
        is_another = is_confirmed and not any(one.call.confirmed and one.turn == turn for one in equal)
        tries_again = False
        for one in equal:
            if one.ended in ("unknown", "cancelled"):
                if call.call_id not in self._agreed or self._heard.get(one.run, turn) >= turn or one is not equal[-1]:
                    self.broken(f"{command}, and nobody knows whether {one.run} did it")
                one.ended, tries_again = "tried again", True
            if policy.on_duplicate == "allow" or is_another:
                continue
            if not one.ended:
                self.broken(f"{command} while {one.run} does it")
            if one.ended == "done" and (one.until >= turn or policy.repeat == "once"):
                if not self._is_undone(one, self._known.get(command.gen, self._ends)):
                    self.broken(f"{command}, which was asked for in turn {turn}; {one.run} did it by {one.until}")
        self._has_its_key(command, equal)
        if policy.on_duplicate != "allow" and not is_another:
            self._undoes_once(command, [one for one in equal if one.ended != "error"])
        undoes_something = command.undoes is not None
        self._done.append(
            Done(command.run, call, turn, policy.undo, undoes_something, key=command.number, tries_again=tries_again)
        )

    def _has_its_key(self, command: do.RunTool, equal: list[Done]) -> None:
        """What did not happen, or perhaps did, is tried again with its key; every other start has a new one."""
        same = [one for one in equal if one.key == command.number]
        if any(not (one.is_found_undone or one.ended == "tried again") for one in same):
            self.broken(f"{command} has the key of {[one.run for one in same]}")
        leaves_key = bool(equal) and (equal[-1].is_found_undone or equal[-1].ended == "tried again")
        if leaves_key and equal[-1] not in same:
            self.broken(f"{command} tries {equal[-1].run} again, with another key than {equal[-1].key}")

    def _is_undone(self, one: Done, known: int) -> bool:
        """Its inverse was started since, and who asks knew that it ended well: the same may be wished in that turn."""
        return any(
            other.run > one.run
            and other.call.name == one.undo
            and other.undoes_something
            and other.ended == "done"
            and other.ended_as <= known
            for other in self._done
        )

    def _undoes_once(self, command: do.RunTool, before: list[Done]) -> None:
        """What undoes others is started once for each of them, beside the times at which there was nothing to undo."""
        done = sum(one.undo == command.call.name and one.ended == "done" for one in self._done)
        others = sum(not one.undoes_something for one in before)
        if done and len(before) - others >= done:
            self.broken(f"{command}, which {[one.run for one in before]} did already, and {done} could be undone")


def _wish(call: f.Call) -> tuple[str, str, str]:
    return call.origin, call.name, call.canonical
