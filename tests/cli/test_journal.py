"""The journal of a call: replayed through the core, it gives the same call again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent
from antiphon.audio import AudioFrame
from antiphon.chat import ChatMessage
from antiphon.cli.call import Call, text_call, voice_call
from antiphon.cli.journal import Journal
from antiphon.cli.models import ModelChoice
from antiphon.cli.screen import Screen
from antiphon.core.commands import Record
from antiphon.events import ConversationItemAddedEvent
from antiphon.server.server import AgentServer
from antiphon.session import AgentSession
from antiphon.testing import FakeLLM, run_virtual, speech
from tests.cli.test_call import script, server
from tests.core.fuzz.fuzz import check_journal, commands_of
from tests.core.fuzz.journal import load


def by_voice(made: AgentServer, turns: list[AudioFrame], **options: Any) -> Call:
    async def call() -> Call:
        screen, models = Screen(to_stderr=True), ModelChoice()
        return await voice_call(made, turns, models=models, screen=screen, journal=Journal(), **options)

    return run_virtual(call(), timeout=300)


def in_text(made: AgentServer, *texts: str) -> Call:
    async def call() -> Call:
        screen, models = Screen(to_stderr=True), ModelChoice(voice=False)
        return await text_call(made, texts, models=models, screen=screen, journal=Journal())

    return run_virtual(call(), timeout=300)


def said_again(path: Path) -> list[tuple[str, str | None]]:
    """What the replay of a journal records as said."""
    items = [one.item for commands in commands_of(load(path)) for one in commands if isinstance(one, Record)]
    return [(item.role, item.text_content) for item in items if isinstance(item, ChatMessage)]


def said(call: Call) -> list[tuple[str, str | None]]:
    return [(item["role"], item["content"][0]) for item in call.report.history if item["type"] == "message"]


def saved(call: Call, path: Path) -> Path:
    call.save(title="Call", recording=None, page=None, journal=path)
    return path


def test_a_call_by_voice_is_replayed_word_for_word(tmp_path: Path) -> None:
    made = server(script(), heard=["On Tuesday", "Stop, Sunday"], greeting="Welcome to the desk.")
    call = by_voice(made, [speech(1.0), speech(1.0)], barge_in={2: 2.0})
    path = saved(call, tmp_path / "new" / "journal.json")
    assert any(turn.interrupted for turn in call.report.turns)
    assert said_again(path) == said(call)


def test_the_promises_of_the_core_can_be_checked_on_a_call(tmp_path: Path) -> None:
    made = server(script(), heard=["On Tuesday", "Stop, Sunday"], greeting="Welcome to the desk.")
    call = by_voice(made, [speech(1.0), speech(1.0)], barge_in={2: 2.0})
    check_journal(load(saved(call, tmp_path / "journal.json")))


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

    call = in_text(made, "Hi", "On Tuesday")
    path = saved(call, tmp_path / "journal.json")
    assert [text for role, text in said(call) if text == "Hm."] == ["Hm."] * 2
    assert said_again(path) == said(call)
    assert '{"is": "NewId"}' in path.read_text()


def test_a_journal_is_one_entry_a_line(tmp_path: Path) -> None:
    path = saved(in_text(server(script()), "Hi"), tmp_path / "journal.json")
    head, *entries, end = path.read_text().splitlines()
    assert json.loads(head + "]}")["about"] == "Call"
    assert end == "]}"
    assert all(len(json.loads(entry.rstrip(","))) == 2 for entry in entries)


def test_who_begins_to_listen_late_is_told_nothing() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["One."])) as session:
            await session.start(Agent())
            session.on("journal", lambda event: pytest.fail("told"))
            await session.run(user_input="a")

    run_virtual(main())
