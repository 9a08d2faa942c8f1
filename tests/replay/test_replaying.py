"""A journal gives the same call again, in any process, and says where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from antiphon.chat import ChatMessage
from antiphon.core.commands import Generate, Play, Record, RunHook, RunTool
from antiphon.core.conversation import Conversation
from antiphon.core.facts import (
    Call,
    CloseRequested,
    Fact,
    HookReturned,
    PlayoutFinished,
    PlayoutStarted,
    StepGenerated,
    TextStarted,
    ToolCalled,
    UserTurnSubmitted,
)
from antiphon.errors import JournalError
from antiphon.options import SessionOptions, ToolPolicy
from antiphon.replay import Entry, Head, Journal, replay, steps

HEAD = Head(SessionOptions(), "desk", epoch=1_000.0, mark="m_", commands=True)


class Recorded:
    """A dialogue with the core, and its journal."""

    def __init__(self) -> None:
        self._conversation = Conversation(HEAD.options, HEAD.agent, HEAD.epoch, HEAD.mark)
        self._conversation.start(0.0)
        self.journal = Journal(HEAD, [Entry(0.0, None, commands=tuple(self._conversation.take_commands()))])

    def told(self, fact: Fact) -> Recorded:
        at = self.journal.entries[-1].at + 0.1
        self._conversation.receive(fact, at)
        self.journal.entries.append(Entry(at, fact, commands=tuple(self._conversation.take_commands())))
        return self

    def hook_returned(self) -> Recorded:
        hook = self.last(RunHook)
        assert isinstance(hook, RunHook)
        return self.told(HookReturned(hook.hook))

    def last(self, kind: type) -> object:
        return next(one for entry in self.journal.entries[::-1] for one in entry.commands if isinstance(one, kind))


def dialogue() -> Recorded:
    call = Recorded().hook_returned().told(UserTurnSubmitted("Book it")).hook_returned()
    step = call.last(Generate)
    assert isinstance(step, Generate)
    call.told(TextStarted(step.gen)).told(ToolCalled(step.gen, Call("c1", "book", "{}", "{}"), ToolPolicy()))
    call.told(StepGenerated(step.gen, "One moment.")).told(PlayoutStarted(step.segment))
    return call.told(PlayoutFinished(step.segment, "One moment."))


def test_a_replay_gives_commands_notices_history_and_how_it_ended() -> None:
    call = dialogue()
    again = replay(call.journal)
    recorded = [one for entry in call.journal.entries for one in entry.commands]
    assert sorted(map(repr, [*again.commands, *again.notices])) == sorted(map(repr, recorded))
    messages = [item for item in again.history if isinstance(item, ChatMessage)]
    assert [item.text_content for item in messages] == ["Book it", "One moment."]
    assert [round(item.created_at, 3) for item in messages] == [
        1_000.2,
        1_000.4,
    ]
    assert [one.name for one in again.state.running.values()] == ["book"]
    assert (again.state.agent_state, again.state.idle, again.state.closed) == ("thinking", False, None)
    assert again.difference is None


def test_a_closed_call_says_why() -> None:
    call = Recorded().hook_returned().told(CloseRequested(reason="job_shutdown")).hook_returned()
    assert replay(call.journal).state.closed == "job_shutdown"


def test_the_first_command_that_differs_is_told() -> None:
    journal = dialogue().journal
    number, entry = next(
        (number, entry)
        for number, entry in enumerate(journal.entries)
        if any(isinstance(one, RunTool) for one in entry.commands)
    )
    other = tuple(replace(one, agent="x") if isinstance(one, RunTool) else one for one in entry.commands)
    journal.entries[number] = replace(entry, commands=other)
    journal.entries[-1] = replace(journal.entries[-1], commands=(Play(99),))
    difference = replay(journal).difference
    assert difference is not None
    assert (difference.entry, type(difference.recorded), type(difference.replayed)) == (number, RunTool, RunTool)
    assert str(difference).startswith(f"entry {number}, at 0.5")


def test_a_command_that_is_missing_differs_but_not_where_the_journal_was_cut() -> None:
    journal = dialogue().journal
    last = next(n for n in range(len(journal.entries) - 1, 0, -1) if journal.entries[n].commands)
    del journal.entries[last + 1 :]
    journal.entries[last] = replace(journal.entries[last], commands=())
    assert replay(journal).difference is not None
    journal.lost = "cut"
    assert replay(journal).difference is None


def test_what_the_application_wrote_on_an_item_is_no_difference() -> None:
    journal = dialogue().journal
    items = [one.item for entry in journal.entries for one in entry.commands if isinstance(one, Record)]
    for item in items:
        if isinstance(item, ChatMessage):
            item.extra = {"written": "**One** moment."}
    assert items
    assert replay(journal).difference is None


def test_a_journal_without_commands_differs_nowhere() -> None:
    journal = dialogue().journal
    bare = Journal(replace(HEAD, commands=False), [replace(entry, commands=()) for entry in journal.entries])
    assert replay(bare).difference is None
    assert any(isinstance(one, Record) for one in replay(bare).commands)


def test_a_journal_of_another_version_is_refused_and_can_be_looked_at() -> None:
    journal = dialogue().journal
    journal.head = replace(HEAD, antiphon="0.0.9")
    with pytest.raises(JournalError, match=r"expected a journal of Antiphon .*, got one of 0\.0\.9"):
        replay(journal)
    assert len(list(steps(journal))) == len(journal.entries)


def test_a_journal_without_entries_is_a_call_that_never_began() -> None:
    again = replay(Journal(HEAD))
    assert (again.commands, again.state.idle) == ([], True)


def test_a_defect_of_the_core_is_told_and_the_replay_goes_on_as_the_call_did(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = dialogue().journal
    receive = Conversation.receive

    def broken(self: Conversation, fact: Fact, now: float) -> None:
        if isinstance(fact, StepGenerated):
            raise RuntimeError("a defect")
        receive(self, fact, now)

    monkeypatch.setattr(Conversation, "receive", broken)
    again = replay(journal)
    assert [(type(step.entry.fact), str(step.error)) for step in again.errors] == [(StepGenerated, "a defect")]
    assert len(again.steps) == len(journal.entries)
