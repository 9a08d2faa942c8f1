"""The recorded command streams: what may change in the core without a difference, and what may not."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from antiphon.core.conversation import Conversation
from antiphon.core.promises import Outbox
from tests.core.streams import Comparison, compare, main, record

SEEDS = 12


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a few sessions."""
    path = tmp_path_factory.mktemp("streams") / "streams.json.gz"
    record(path, SEEDS, "tests")
    return path


def _compared(path: Path) -> list[Comparison]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    return [compare(stream, data["defaults"], Counter()) for stream in data["streams"]]


def test_the_core_that_was_recorded_does_not_differ(recorded: Path) -> None:
    results = _compared(recorded)

    assert len(results) > SEEDS
    assert [one for one in results if one.commands or one.deadline] == []


def test_a_core_that_numbers_in_another_way_does_not_differ(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Outbox.__init__

    def every_third(self: Outbox, now: float = 0.0) -> None:
        made(self, now)
        self.new_id = count(1003, 3).__next__

    monkeypatch.setattr(Outbox, "__init__", every_third)
    assert [one.commands for one in _compared(recorded) if one.commands] == []


def test_a_core_whose_application_numbers_by_itself_does_not_differ(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Conversation, "new_id", raising=False)
    assert [one.commands for one in _compared(recorded) if one.commands] == []


def test_the_first_entry_in_which_a_core_differs_is_named(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    take = Conversation.take_commands
    monkeypatch.setattr(
        Conversation, "take_commands", lambda self: [one for one in take(self) if type(one).__name__ != "StopPlayout"]
    )

    assert main(["compare", str(recorded), "--show", "1"]) == 1

    told = capsys.readouterr().out
    assert ", entry " in told
    assert '- {"is": "StopPlayout"' in told


def test_a_core_that_forgets_to_ask_for_a_tick_differs(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conversation, "deadline", None)

    differences = [one.commands for one in _compared(recorded) if one.commands]

    assert any(one.got[0]["is"] == "no tick was asked for" for one in differences)


def test_an_error_of_the_core_is_a_difference(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("gone")

    monkeypatch.setattr(Conversation, "advance", broken)
    assert any(one.commands and one.commands.got[0]["is"] == "raised" for one in _compared(recorded))
