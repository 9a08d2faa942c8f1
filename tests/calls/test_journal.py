"""The journal of a call: replayed through the core, it gives the same call again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent
from antiphon.audio import AudioFrame
from antiphon.calls.models import ModelChoice
from antiphon.chat import ChatMessage
from antiphon.cli.call import Call, text_call, voice_call
from antiphon.cli.screen import Screen
from antiphon.events import ConversationItemAddedEvent
from antiphon.replay import JournalWriter, read, replay
from antiphon.server.entrypoint import AgentServer
from antiphon.session import AgentSession
from antiphon.testing import FakeLLM, run_virtual, speech
from tests.cli.test_call import script, server
from tests.core.fuzz.fuzz import check_journal


def by_voice(path: Path, made: AgentServer, turns: list[AudioFrame], **options: Any) -> Call:
    async def call() -> Call:
        screen, models, journal = Screen(to_stderr=True), ModelChoice(), JournalWriter(path)
        return await voice_call(made, turns, models=models, screen=screen, journal=journal, **options)

    return saved(run_virtual(call(), timeout=300))


def in_text(path: Path, made: AgentServer, *texts: str) -> Call:
    async def call() -> Call:
        screen, models, journal = Screen(to_stderr=True), ModelChoice(voice=False), JournalWriter(path, about="Call")
        return await text_call(made, texts, models=models, screen=screen, journal=journal)

    return saved(run_virtual(call(), timeout=300))


def said_again(path: Path) -> list[tuple[str, str | None]]:
    """What the replay of a journal records as said. It differs in nothing from what the journal tells."""
    again = replay(read(path))
    assert again.difference is None
    return [(item.role, item.text_content) for item in again.history if isinstance(item, ChatMessage)]


def said(call: Call) -> list[tuple[str, str | None]]:
    return [(item["role"], item["content"][0]) for item in call.report.history if item["type"] == "message"]


def saved(call: Call) -> Call:
    call.save(title="Call", recording=None, page=None)
    return call


def test_a_call_by_voice_is_replayed_word_for_word(tmp_path: Path) -> None:
    made = server(script(), heard=["On Tuesday", "Stop, Sunday"], greeting="Welcome to the desk.")
    path = tmp_path / "new" / "journal.jsonl"
    call = by_voice(path, made, [speech(1.0), speech(1.0)], barge_in={2: 2.0})
    assert any(turn.interrupted for turn in call.report.turns)
    assert said_again(path) == said(call)


def test_the_promises_of_the_core_can_be_checked_on_a_call(tmp_path: Path) -> None:
    made = server(script(), heard=["On Tuesday", "Stop, Sunday"], greeting="Welcome to the desk.")
    path = tmp_path / "journal.jsonl"
    by_voice(path, made, [speech(1.0), speech(1.0)], barge_in={2: 2.0})
    check_journal(read(path))


def test_ids_that_a_callback_took_are_taken_again_where_it_took_them(tmp_path: Path) -> None:
    made, plain = AgentServer(), server(script())

    @made.rtc_session
    async def with_callback(session: AgentSession[Any]) -> None:
        def on_item(event: ConversationItemAddedEvent) -> None:
            if isinstance(event.item, ChatMessage) and event.item.role == "user":
                session.say("Hm.")

        session.on("conversation_item_added", on_item)
        assert plain.entrypoint is not None
        await plain.entrypoint(session)

    path = tmp_path / "journal.jsonl"
    call = in_text(path, made, "Hi", "On Tuesday")
    assert [text for role, text in said(call) if text == "Hm."] == ["Hm."] * 2
    assert said_again(path) == said(call)
    assert '"ids": 1' in path.read_text()


def test_a_journal_tells_when_and_of_which_agent_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    call = in_text(path, server(script()), "Hi")
    journal = read(path)
    assert (journal.head.about, journal.lost) == ("Call", None)
    assert journal.head.agent == "desk"
    times = [item["created_at"] for item in call.report.history]
    assert journal.entries[0].at + journal.head.epoch <= times[0] <= times[-1]
    assert times[-1] <= journal.entries[-1].at + journal.head.epoch


def test_who_begins_to_listen_late_is_told_nothing() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["One."])) as session:
            await session.start(Agent())
            session.on("journal", lambda event: pytest.fail("told"))
            await session.run(user_input="a")

    run_virtual(main())
