"""A journal replayed: the core is told again what it was told, and does again what it did.

Above: all who look into calls. Below: the journal, and the core, which this module drives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.chat import ChatItem
from antiphon.core.codec import to_data
from antiphon.core.commands import Command, Record
from antiphon.core.conversation import Conversation
from antiphon.core.facts import Call
from antiphon.core.lines import version
from antiphon.core.notices import (
    AgentState,
    AgentStateChanged,
    Closed,
    Notice,
    ToolEnded,
    ToolStarted,
    UserState,
    UserStateChanged,
    is_notice,
)
from antiphon.errors import JournalError
from antiphon.replay.journal import Entry, Journal
from antiphon.visible import one_line, to_json


@dataclass(slots=True, frozen=True)
class Step:
    """One entry of a journal, and what came of it now."""

    entry: Entry
    commands: tuple[Command, ...]
    """In order, notices included."""
    deadline: float | None
    """When the core then wanted to be asked again; None: not before the next fact."""
    idle: bool
    """Nothing was owed, said, done or decided any more."""
    error: Exception | None = None
    """What the core raised, which is a defect of it, or of a journal that no call wrote. The call went on, too."""


@dataclass(slots=True, frozen=True)
class Difference:
    """The first place where a replay is not what the journal tells."""

    entry: int
    """Which entry, from 0."""
    at: float
    recorded: Command | None
    """None: no command was recorded here."""
    replayed: Command | None
    """None: no command came here."""

    def __str__(self) -> str:
        recorded, replayed = (
            "nothing" if one is None else to_json(to_data(one)) for one in (self.recorded, self.replayed)
        )
        return f"entry {self.entry}, at {self.at:.3f} s: recorded {recorded}, replayed {replayed}"


@dataclass(slots=True)
class FinalState:
    """How a conversation stands where its journal ends."""

    agent_state: AgentState = "initializing"
    user_state: UserState = "listening"
    running: dict[int, Call] = field(default_factory=dict)
    """The calls of tools that run, by the number of the run."""
    idle: bool = True
    closed: str | None = None
    """The reason it was closed for; None: it goes on."""

    def take(self, notice: Notice) -> None:
        """What a notice tells of the state."""
        match notice:
            case AgentStateChanged(agent):
                self.agent_state = agent
            case UserStateChanged(user):
                self.user_state = user
            case ToolStarted(run=run, call=call):
                self.running[run] = call
            case ToolEnded(run=run):
                self.running.pop(run, None)
            case Closed(reason):
                self.closed = reason


@dataclass(slots=True, frozen=True)
class Replay:
    """What a journal's call did."""

    steps: Sequence[Step]
    commands: Sequence[Command]
    """All that was to be done, in order."""
    notices: Sequence[Notice]
    """All that was worth telling, in order."""
    history: Sequence[ChatItem]
    """The history of the session."""
    state: FinalState
    difference: Difference | None
    """Where it first differs from the commands in the journal; None: nowhere, or there are none in it."""

    @property
    def errors(self) -> Sequence[Step]:
        """The steps in which the core raised."""
        return [step for step in self.steps if step.error is not None]


def steps(journal: Journal) -> Iterator[Step]:
    """Replay entry by entry, whatever version made the journal. Yields the commands that this version gives."""
    head = journal.head
    conversation = Conversation(head.options, head.agent, head.epoch, head.mark)
    for number, entry in enumerate(journal.entries):
        for _ in range(entry.drawn):
            conversation.new_id()
        error = None
        try:
            if number == 0:
                conversation.start(entry.at)
            elif entry.fact is None:
                conversation.advance(entry.at)
            else:
                conversation.receive(entry.fact, entry.at)
        except Exception as raised:
            error = raised
        yield Step(entry, tuple(conversation.take_commands()), conversation.deadline, conversation.idle, error)


def replay(journal: Journal) -> Replay:
    """Replay a whole journal.

    Raises `JournalError` for one that another version of Antiphon made, which may decide otherwise; `steps` does not.
    """
    if journal.head.antiphon != version():
        raise JournalError(
            f"expected a journal of Antiphon {version()}, got one of {one_line(journal.head.antiphon, 80)}: it may do "
            "otherwise. Replay it with that version, or look at `replay.steps(journal)`."
        )
    taken = list(steps(journal))
    commands, notices, history = [], [], []
    state = FinalState(idle=not taken or taken[-1].idle)
    for command in (one for step in taken for one in step.commands):
        if is_notice(command):
            notices.append(command)
            state.take(command)
            continue
        commands.append(command)
        if isinstance(command, Record) and not command.carried:
            history.append(command.item)
    return Replay(taken, commands, notices, history, state, _difference(journal, taken))


def _difference(journal: Journal, taken: Sequence[Step]) -> Difference | None:
    if not journal.head.commands:
        return None
    for number, step in enumerate(taken):
        recorded, replayed = step.entry.commands, step.commands
        cut = journal.lost is not None and number == len(taken) - 1  # the rest was not written any more
        count = len(recorded) if cut else max(len(recorded), len(replayed))
        for place in range(count):
            was = recorded[place] if place < len(recorded) else None
            now = replayed[place] if place < len(replayed) else None
            if was is None or now is None or _by_the_core(to_data(was)) != _by_the_core(to_data(now)):
                return Difference(number, step.entry.at, was, now)
    return None


def _by_the_core(data: Any) -> Any:
    """A command without what the application wrote on the items in it (`extra`) once they were recorded."""
    if isinstance(data, dict):
        return {name: _by_the_core(one) for name, one in data.items() if name != "extra"}
    if isinstance(data, list):
        return [_by_the_core(one) for one in data]
    return data
