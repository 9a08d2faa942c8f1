"""Gives what goes into a conversation and comes out of it to the promises, entry by entry.

Above: `fuzz.py`. Below: the promises, each of which stands in one of the files of `promises/`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from antiphon.options import SessionOptions
from tests.core.fuzz import mechanisms
from tests.core.fuzz.promises import (
    ahead,
    consent,
    ends,
    history,
    line,
    must_hear,
    silence,
    speeches,
    tools,
    turns,
    wishes,
)
from tests.core.fuzz.promises.promise import Promise, Violation
from tests.core.fuzz.trace import Trace

PROMISES: tuple[type[Promise], ...] = tuple(
    one
    for module in (history, line, turns, speeches, ahead, tools, wishes, consent, must_hear, silence, ends)
    for one in vars(module).values()
    if isinstance(one, type) and issubclass(one, Promise) and one.__module__ == module.__name__
)
"""All that stand in these files."""


class Watch:
    """Watches one conversation. `counters` tells how often what happened; `prompt_voice` as in `world`."""

    def __init__(
        self,
        options: SessionOptions,
        agent: str = "a1",
        counters: Counter[str] | None = None,
        prompt_voice: float | None = None,
        mark: str = "",
    ) -> None:
        self.trace = Trace(options, agent, mark, prompt_voice)
        self._is_judged = False
        """`on_user_turn_completed` has a turn before it."""
        self._lost = 0.0
        """Seconds in which everything stood still."""
        self._promises = [promise(self.trace) for promise in PROMISES]
        self._listening: dict[type, list[Callable[[Any], None]]] = {}
        for kind, method in [(k, getattr(p, name)) for p in self._promises for k, name in p.listens.items()]:
            self._listening.setdefault(kind, []).append(method)
        if counters is not None:
            for kind, count in mechanisms.listening(self.trace, counters):
                self._listening.setdefault(kind, []).append(count)
        self._passed = [p.passed for p in self._promises if type(p).passed is not Promise.passed]
        self._settled = [p.settled for p in self._promises if type(p).settled is not Promise.settled]

    def observe(
        self, now: float, fact: f.Fact | None, commands: Iterable[do.Command], deadline: float | None, idle: bool
    ) -> None:
        """One entry of the journal, what came of it, and how the conversation then stands. Raises `Violation`."""
        trace = self.trace
        if isinstance(fact, f.StoodStill):  # promises are measured by the time that counts
            self._lost += fact.seconds
        now = max(trace.now, now - self._lost)
        deadline = None if deadline is None else deadline - self._lost
        for passed in self._passed:
            passed(now)
        trace.begin(now, fact)
        if fact is not None and not trace.is_closed:
            self._tell(fact)
        for command in commands:
            if trace.is_closed and not (type(fact) is f.SpeechRequested and told.is_notice(command)):
                raise Violation(f"nothing follows the end: {command}")
            self._take(command, fact)
            self._tell(command)
            trace.command(command)
        trace.deadline, trace.is_idle = deadline, idle
        if trace.is_closed:
            if deadline is not None:
                raise Violation(f"nothing follows the end: {deadline} is to be waited for")
            return
        for settled in self._settled:
            settled()
        if deadline is None:
            self._check_that_something_follows()

    def _take(self, command: do.Command, fact: f.Fact | None) -> None:
        """A turn that the gate takes is taken as one that the hook is given is."""
        if isinstance(command, do.RunHook) and command.kind == "on_user_turn_completed":
            self._is_judged = True
        elif isinstance(command, (told.TurnCommitted, told.TurnVetoed)):
            is_the_gates = not self._is_judged and type(fact) is not f.ConsentGiven
            self._is_judged = False
            if is_the_gates and isinstance(command, told.TurnCommitted):
                self._tell(do.RunHook(0, "on_user_turn_completed", self.trace.agent, command.text))

    def _tell(self, what: object) -> None:
        for listen in self._listening.get(type(what), ()):
            listen(what)

    def _unfinished(self) -> list[str]:
        return [one for promise in self._promises for one in promise.unfinished()]

    def _check_that_something_follows(self) -> None:
        """Whatever is unfinished has a promise, a timer, or the caller has the floor (design 1)."""
        trace = self.trace
        if trace.is_speaking or trace.ends or trace.is_held_by_the_caller:
            return
        if trace.tasks or any(run.waits for run in trace.live_runs):
            return  # it is up to the application's code
        if self._unfinished():
            raise Violation(
                f"something always follows: nothing will happen any more, and unfinished is {self._unfinished()}"
            )

    def at_rest(self, idle: bool) -> None:
        """Everything was answered and nothing is due. Raises `Violation`."""
        self.trace.is_idle = idle
        if self.trace.is_closed:
            return
        if self._unfinished():
            raise Violation(f"nothing is left over at rest: {self._unfinished()}")
        for promise in self._promises:
            promise.at_rest()

    def at_end(self) -> None:
        """After the last entry. Raises `Violation`."""
        for promise in self._promises:
            promise.at_end()
