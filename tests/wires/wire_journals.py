"""Journals: files that somebody sends with a report of a defect, whoever they are."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from antiphon.chat import ChatMessage, ImageContent
from antiphon.core.commands import Generate, RunTool
from antiphon.core.facts import AgentTaskStarted, Call, ContextChanged, Handoff, SpeechRequested, ToolReturned
from antiphon.core.lines import Head
from antiphon.errors import JournalError
from antiphon.options import SessionOptions, ToolPolicy
from antiphon.replay.journal import Entry, Journal, parse
from antiphon.replay.replaying import replay
from tests.wires import mutate
from tests.wires.wire import Finding, Wire

REGRESSIONS = Path(__file__).parents[1] / "core" / "regressions"


def _rich() -> list[bytes]:
    """A journal with what recorded ones lack."""
    picture = ImageContent(image=b"\x89PNG")
    call = Call("c1", "book", "{}", "{}")
    commands = (
        RunTool(4, call, ToolPolicy(filler="One moment."), 2, 3, "desk"),
        Generate(3, 2, 5, "desk", (ChatMessage("user", ["Hi", picture]),), tools=True, tool_choice={"type": "x"}),
    )
    facts = (
        ToolReturned(4, "done", handoff=Handoff("b", "B"), images=(picture,)),
        SpeechRequested(9, "reply", tool_choice={"type": "function"}),
        AgentTaskStarted(10, "task", parent="desk"),
        ContextChanged("desk"),
    )
    entries = [Entry(0.0, None, commands=commands), *(Entry(1.0, fact, drawn=1) for fact in facts)]
    return [line.encode() for line in Journal(Head(SessionOptions(), "desk", commands=True), entries).lines()]


SEEDS = [path.read_bytes().splitlines(keepends=True) for path in sorted(REGRESSIONS.glob("*.jsonl"))] + [_rich()] * 4


def make(random: Random) -> bytes:
    lines = list(random.choice(SEEDS))
    at = random.randrange(len(lines))
    match random.randrange(8):
        case 0:
            return mutate.torn(random, b"".join(lines))
        case 1:
            lines[at] = mutate.torn_text(random, lines[at].decode()).encode("utf-8", "surrogatepass")
        case 2:
            deep = mutate.deep(random)
            head, tail = (
                '{"at": 9.0, "fact": {"is": "SpeechRequested", "speech": 9, "kind": "say", "tool_choice": ',
                "}}",
            )
            lines.insert(at + 1, random.choice((deep, head + deep + tail)).encode() + b"\n")
        case 3:
            lines.insert(at, lines[random.randrange(len(lines))])
        case 4:
            del lines[at]
        case _:
            for line in {0, at} if random.random() < 0.3 else {at}:
                lines[line] = json.dumps(mutate.changed(random, json.loads(lines[line]))).encode() + b"\n"
    return b"".join(lines)


def feed(given: bytes) -> None:
    journal = parse(given.splitlines(keepends=True))
    again = parse([line.encode() for line in journal.lines()])
    if _shown(again) != _shown(journal):
        raise Finding("what was read is not what comes of writing it down again")
    replay(journal)


def _shown(journal: Journal) -> Any:
    return "".join(journal.lines())


WIRE = Wire("journals", make, feed, declared=(JournalError,), share=0.5)
"""What a reader takes, it can write down again, and what it takes can be replayed."""
