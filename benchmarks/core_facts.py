"""What a fact costs the core: the facts of a recorded demo call, replayed.

    python -m benchmarks.core_facts              replay, print microseconds a fact and facts a text turn
    python -m benchmarks.core_facts --record     make the demo call again and keep its facts

The median of several replays, in processor time. A replay gives the same commands as the call did.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from pathlib import Path
from typing import Any

from antiphon.core.commands import Generate, RunHook, RunTool
from antiphon.core.conversation import Conversation
from antiphon.core.facts import (
    Call,
    Fact,
    HookReturned,
    PlayoutFinished,
    StepGenerated,
    TextStarted,
    ToolCalled,
    ToolReturned,
    UserTurnSubmitted,
)
from antiphon.options import SessionOptions, ToolPolicy
from tests.core.fuzz.journal import OPENERS, Journal, dump, load

RECORDED = Path(__file__).parent / "demo_call.json"
LIMIT = 10.0
"""Microseconds a fact."""


def record() -> None:
    """Make the demo call, with its facts written down."""
    from antiphon.cli.main import main

    journals: list[Journal] = []
    init, start, receive, advance = (
        Conversation.__init__,
        Conversation.start,
        Conversation.receive,
        Conversation.advance,
    )

    def begin(self: Conversation, options: SessionOptions, agent: str, epoch: float = 0.0) -> None:
        journals.append(Journal(options, about="the demo call"))
        init(self, options, agent, epoch)

    def note(fact: Fact | None, now: float) -> None:
        journals[-1].entries.append((now, fact))

    Conversation.__init__ = begin  # type: ignore[method-assign,assignment]
    Conversation.start = lambda self, now: (note(None, now), start(self, now))[1]  # type: ignore[method-assign,func-returns-value]
    Conversation.receive = lambda self, fact, now: (note(fact, now), receive(self, fact, now))[1]  # type: ignore[method-assign,func-returns-value]
    Conversation.advance = lambda self, now: (note(None, now), advance(self, now))[1]  # type: ignore[method-assign,func-returns-value]
    try:
        with contextlib.suppress(SystemExit):
            main(["demo"])
    finally:
        Conversation.__init__ = init  # type: ignore[method-assign]
        Conversation.start, Conversation.receive, Conversation.advance = start, receive, advance  # type: ignore[method-assign]
    dump(journals[-1], RECORDED)


def replay(journal: Journal) -> float:
    """Processor seconds that the core needs for the whole call."""
    conversation = Conversation(journal.options, agent="a1")
    entries = journal.entries
    begun = time.process_time()
    conversation.start(entries[0][0])
    for now, fact in entries[1:]:
        if fact is None:
            conversation.advance(now)
        else:
            if isinstance(fact, OPENERS):
                conversation.new_id()
            conversation.receive(fact, now)
        conversation.take_commands()
        _ = conversation.deadline
    return time.process_time() - begun


def facts_of_a_text_turn() -> int:
    """How many facts a typed turn with one tool call takes."""
    conversation = Conversation(SessionOptions(), agent="a1")
    told: list[Fact] = []

    def tell(fact: Fact) -> list[Any]:
        told.append(fact)
        conversation.receive(fact, 0.0)
        return conversation.take_commands()

    def first(kind: type, commands: list[Any]) -> Any:
        return next(command for command in commands if isinstance(command, kind))

    conversation.start(0.0)
    tell(HookReturned(first(RunHook, conversation.take_commands()).hook))
    told.clear()
    hook = first(RunHook, tell(UserTurnSubmitted("book it"))).hook
    step = first(Generate, tell(HookReturned(hook)))
    run = first(RunTool, tell(ToolCalled(step.gen, Call("c1", "book", "{}", "{}"), ToolPolicy()))).run
    tell(StepGenerated(step.gen, ""))
    answer = first(Generate, tell(ToolReturned(run, "booked")))
    tell(TextStarted(answer.gen))
    tell(StepGenerated(answer.gen, "It is booked."))
    tell(PlayoutFinished(answer.segment, "It is booked."))
    assert conversation.idle
    return len(told)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    if parser.parse_args().record:
        record()
    journal = load(RECORDED)
    costs = [1e6 * replay(journal) / len(journal.entries) for _ in range(41)]
    print(f"{len(journal.entries)} facts and ticks in the demo call")
    print(f"{facts_of_a_text_turn()} facts in a text turn with a tool call")
    print(f"{statistics.median(costs):.1f} us a fact (best {min(costs):.1f}); at most {LIMIT:.0f} wanted")


if __name__ == "__main__":
    main()
