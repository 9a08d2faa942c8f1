"""Those who watch a call: its journal, its meter, its log, and whoever else wants to know all that happens.

Above: whoever makes them; `Driver.observe` takes them. Below: nothing. An observer decides nothing and touches nothing.
One that raises is shown nothing more: the call is worth more than its figures and its log.
"""

from __future__ import annotations

from typing import Protocol

from antiphon.core.commands import Command
from antiphon.core.facts import Fact
from antiphon.core.notices import Notice, is_notice


class Observer(Protocol):
    """Is told of everything as it happens; one that derives from this overrides what it wants to know.

    `at`: seconds on the clock of the session's loop.

    Spans are what the core does not hear of. Names and data: "time" (the core is told the time alone), "number" (the
    core gives a number), "first_byte" (`segment`: there is sound of it), "usage" (`gen`; the tokens that it cost:
    `prompt`, `completion`, `cached`), "context_trimmed" (`gen`: it is asked with less of the talk than those before),
    "unbacked_claim" (`gen`: it claims what no tool has done), "failed" (`gen`: its model raised; `error`: the class).
    More may come.
    """

    def fact(self, at: float, fact: Fact) -> None:
        """Something happened. The core is about to be told."""
        return

    def command(self, at: float, command: Command) -> None:
        """Something is about to be done."""
        return

    def notice(self, at: float, notice: Notice) -> None:
        """Something came to pass."""
        return

    def span(self, name: str, at: float, **data: object) -> None:
        """Something that the core does not hear of."""
        return


def show(observer: Observer, at: float, given: Command) -> None:
    """Show it what the core gave: a notice or a command."""
    if is_notice(given):
        observer.notice(at, given)
    else:
        observer.command(at, given)
