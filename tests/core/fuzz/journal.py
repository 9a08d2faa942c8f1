"""The journal of a session: its options, and every `(now, fact or None)` the conversation was given, ticks included.

A journal is all that is needed to have the same session again. `dump` and `load` keep it as JSON, one entry a line;
recorded defects live in `tests/core/regressions/`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from antiphon import chat, options
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.options import SessionOptions

_CLASSES: dict[str, type] = {
    name: value
    for module in (f, options, chat)
    for name, value in vars(module).items()
    if isinstance(value, type) and is_dataclass(value)
}

OPENERS = (f.SpeechRequested, f.AgentTaskStarted, f.TurnTaken, f.ResponseBegan)
"""Facts that carry an id which the application took from `new_id()` just before."""


@dataclass(slots=True)
class Journal:
    """What a conversation was told, and when."""

    options: SessionOptions
    entries: list[tuple[float, f.Fact | None]] = field(default_factory=list)
    about: str = ""
    """What went wrong with it, or what it shows."""
    at_rest: bool = False
    """The world had answered everything when it ended."""
    prompt_voice: float | None = None
    """Seconds after which a line that was made ahead could surely be heard; facts came in time, no sound was stuck."""
    agent: str = "a1"
    """The agent that the session began with."""
    drawn: list[int] | None = None
    """How many ids the application took before each entry; None: one before each of `OPENERS`."""

    def drawn_before(self, number: int) -> int:
        """How many ids the application took just before an entry."""
        if self.drawn is not None:
            return self.drawn[number]
        return int(isinstance(self.entries[number][1], OPENERS))


def dump(journal: Journal, path: Path) -> None:
    """Write the journal as JSON."""
    lines = ",\n".join(json.dumps([now, _plain(fact)]) for now, fact in journal.entries)
    about = {"about": journal.about, "at_rest": journal.at_rest, "prompt_voice": journal.prompt_voice}
    head = json.dumps({**about, "options": _plain(journal.options)})[:-1]
    path.write_text(f'{head}, "entries": [\n{lines}\n]}}\n')


def load(path: Path) -> Journal:
    """Read what `dump` wrote, or `antiphon call --journal`, which tells where ids were taken."""
    data = json.loads(path.read_text())
    journal = Journal(_rich(data["options"]), [], data["about"], data["at_rest"], data.get("prompt_voice"))
    journal.agent = data.get("agent", journal.agent)
    drawn = [0]
    for now, fact in data["entries"]:
        if fact == {"is": "NewId"}:
            drawn[-1] += 1
        else:
            journal.entries.append((now, _rich(fact)))
            drawn.append(0)
    if data.get("draws_ids"):
        journal.drawn = drawn
    return journal


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        plain = {"is": type(value).__name__}
        for one in fields(value):
            if one.name not in ("wire", "created_at", "type"):
                plain[one.name] = _plain(getattr(value, one.name))
        return plain
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def _rich(value: Any) -> Any:
    if isinstance(value, dict) and "is" in value:
        kind = _CLASSES[value["is"]]
        return kind(**{name: _rich(one) for name, one in value.items() if name != "is"})
    if isinstance(value, list):
        return tuple(_rich(one) for one in value)
    return value


def bare(command: do.Command) -> Any:
    """The command without what differs between two runs of one journal: ids and times of items."""
    if type(command) is do.Record:
        return ("Record", command.agent, command.carried, _item(command.item))
    if type(command) is do.Generate:
        return (
            "Generate", command.gen, command.speech, command.segment, command.agent, command.tools,
            command.tool_choice, command.instructions, command.unheard, command.delivery, command.retry,
            command.on_enter, command.ahead,
            tuple(_item(item) for item in command.open),
        )  # fmt: skip
    return command


def _item(item: chat.ChatItem) -> tuple[Any, ...]:
    skipped = ("id", "created_at", "wire", "group_id", "extra")
    return tuple(repr(value) for name, value in item.model_dump().items() if name not in skipped)
