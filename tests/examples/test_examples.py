"""Each example does what its header says, whether the caller types or speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest

from antiphon.calls.models import ModelChoice
from antiphon.cli.call import Call, text_call, voice_call
from antiphon.cli.screen import Screen
from antiphon.protocols import ModelKind
from antiphon.server.agent_file import load_agent_file
from antiphon.testing import FakeSTT, FakeTTS, FakeVAD, run_virtual, speech, wait_until
from tests.examples.commands import ALL, CAME_OF_IT, EXAMPLES, FILES, Command, commands, header

IN_REAL_TIME = {"bank", "http_tools"}
"""There is a process, or a socket, in them."""
TYPED = [command for command in ALL if not command.by_voice]


class Scripted(ModelChoice):
    """The local dialogue engine, a recogniser that hears the command's words, and a voice that only takes its time."""

    def __init__(self, heard: tuple[str, ...]) -> None:
        super().__init__()
        self._voice_models: dict[str, Any] = {
            "stt": FakeSTT(list(heard)),
            "tts": FakeTTS(seconds_per_character=0.05),
            "vad": FakeVAD(),
            "turn_detector": None,
        }

    def __call__(self, given: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
        language: dict[ModelKind, Any] = {kind: model for kind, model in given.items() if kind == "llm"}
        return {kind: self._voice_models.get(kind) for kind in given} | dict(super().__call__(language))


def children() -> set[str]:
    """The processes that this one started, and that are there."""
    return {pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()}


async def with_its_processes(call: Coroutine[Any, Any, Call]) -> Call:
    """The call, and the end of what it started: on a busy machine that takes longer than the call waits for it."""
    before = children()  # other tests may have left a helper of multiprocessing behind, which stays
    made = await call
    await wait_until(lambda: children() <= before, timeout=60)
    return made


def run(name: str, call: Coroutine[Any, Any, Call]) -> Call:
    return asyncio.run(with_its_processes(call)) if name in IN_REAL_TIME else run_virtual(call, timeout=300)


def typed(command: Command) -> Call:
    server = load_agent_file(EXAMPLES / f"{command.name}.py")
    models = ModelChoice(voice=False)
    return run(command.name, text_call(server, command.said, models=models, screen=Screen(to_stderr=True)))


def spoken(command: Command) -> Call:
    server = load_agent_file(EXAMPLES / f"{command.name}.py")
    turn, _, delay = command.barge_in.partition("@")
    call = voice_call(
        server,
        [speech(0.25 * len(said.split())) for said in command.said],
        barge_in={int(turn): float(delay)} if turn else {},
        models=Scripted(command.said),
        screen=Screen(to_stderr=True),
    )
    return run(command.name, call)


def called(call: Call) -> list[str]:
    return [f"{made.name} {made.status}" for made in call.report.tool_calls]


def said(call: Call) -> list[str]:
    return [turn.text for turn in call.report.turns if turn.role == "assistant"]


@pytest.fixture(autouse=True)
def waits_for_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes long to start the bank's process, and then the agent would begin without it."""
    monkeypatch.setattr("antiphon.application.tool_tables.PATIENCE", 60.0)


@pytest.mark.parametrize("command", TYPED, ids=str)
def test_what_is_typed_comes_to_what_the_header_says(command: Command) -> None:
    call = typed(command)
    calls, words = CAME_OF_IT[command.name, command.said[0]]
    assert called(call) == calls
    assert words in said(call)[-1]
    assert call.report.errors == [] and call.report.failed_tools == []


@pytest.mark.parametrize("command", [c for c in TYPED if c.name not in IN_REAL_TIME], ids=str)
def test_what_is_spoken_comes_to_the_same(command: Command) -> None:
    call = spoken(command)
    calls, words = CAME_OF_IT[command.name, command.said[0]]
    assert called(call) == calls
    assert any(words in text for text in said(call)), said(call)
    assert call.report.errors == [] and call.report.failed_tools == []


@pytest.mark.parametrize("name", FILES)
def test_a_header_says_what_to_type_and_to_watch_and_to_try(name: str) -> None:
    text = header(name)
    assert commands(name) and "Watch:" in text and "Try" in text
    assert f"antiphon dev examples/{name}.py" in text or f"python examples/{name}.py" in text


def test_every_command_of_a_header_is_here() -> None:
    assert {(command.name, command.said[0]) for command in TYPED} == set(CAME_OF_IT)


def by_voice(name: str) -> Command:
    (command,) = (command for command in commands(name) if command.by_voice)
    return command


def test_who_speaks_over_a_search_is_answered_and_the_search_is_called_off() -> None:
    call = spoken(by_voice("long_running"))
    assert "The archive is open from nine to five." in " ".join(said(call))
    assert "three articles" not in " ".join(said(call))
    assert "get_opening_hours done" in called(call) and "search_archive done" not in called(call)


def test_who_asks_something_else_meanwhile_is_answered_before_the_flight_is_booked() -> None:
    texts = said(spoken(by_voice("flight_booking")))
    baggage = next(n for n, text in enumerate(texts) if "Two bags" in text)
    booked = next(n for n, text in enumerate(texts) if "FL-847293" in text)
    assert baggage < booked and sum("FL-847293" in text for text in texts) == 1


def test_only_the_words_of_a_structured_answer_are_spoken() -> None:
    call = spoken(by_voice("emotion"))
    assert all("{" not in text and "voice_instructions" not in text for text in said(call))
