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
from dataclasses import replace
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
from antiphon.replay import Journal, read

RECORDED = Path(__file__).parent / "demo_call.jsonl"
LIMIT = 10.0
"""Microseconds a fact."""


def record() -> None:
    """Make the demo call, with its facts written down."""
    from antiphon.cli.demo import BARGE_IN, demo_files
    from antiphon.cli.main import main

    file, recordings = demo_files()
    with contextlib.suppress(SystemExit):
        main(["call", str(file), "--caller", *map(str, recordings), "--barge-in", BARGE_IN, "--journal", str(RECORDED)])
    journal = read(RECORDED)
    head = replace(journal.head, about="the demo call", commands=False)
    Journal(head, [replace(entry, commands=()) for entry in journal.entries]).save(RECORDED)


def replay(journal: Journal) -> float:
    """Processor seconds that the core needs for the whole call."""
    conversation = Conversation(journal.head.options, journal.head.agent)
    entries = journal.entries
    begun = time.process_time()
    conversation.start(entries[0].at)
    for entry in entries[1:]:
        for _ in range(entry.drawn):
            conversation.new_id()
        if entry.fact is None:
            conversation.advance(entry.at)
        else:
            conversation.receive(entry.fact, entry.at)
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
    journal = read(RECORDED)
    costs = [1e6 * replay(journal) / len(journal.entries) for _ in range(41)]
    print(f"{len(journal.entries)} facts and ticks in the demo call")
    print(f"{facts_of_a_text_turn()} facts in a text turn with a tool call")
    print(f"{statistics.median(costs):.1f} us a fact (best {min(costs):.1f}); at most {LIMIT:.0f} wanted")


if __name__ == "__main__":
    main()
