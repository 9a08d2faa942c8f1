"""A record has what models were asked, exactly, and what they answered, as it came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import ProviderError
from antiphon.records import read
from antiphon.records import requests as log
from antiphon.records.requests import RequestsError, requests_in
from antiphon.testing import Fail, FakeLLM
from antiphon.testing.fakes import Reply
from tests.records.recorded import recorded


def test_each_request_has_its_instructions_messages_and_tools(tmp_path: Path) -> None:
    record = recorded(tmp_path)
    first, second = record.requests
    assert [part["kind"] for part in first.parts] == ["instructions", "user"]
    assert first.parts[0]["text"].startswith("You take reservations.")
    assert [part["kind"] for part in second.parts] == ["instructions", "user", "call", "output"]
    assert second.parts[3]["text"] == "Booked for 4 on Friday."
    assert [tool["name"] for tool in first.tools] == ["book", "look"]
    assert first.tools[0]["parameters"]["properties"]["people"]["type"] == "integer"
    assert (first.agent, first.model, first.outcome) == ("desk", "fakes.FakeLLM", "done")


def test_each_answer_has_its_words_and_calls_and_when_they_came(tmp_path: Path) -> None:
    record = recorded(tmp_path, Reply("One moment.", calls=[("look", {"day": "Friday"})]), "At seven.")
    first, second = record.requests
    assert (first.text, second.text) == ("One moment.", "At seven.")
    (call,) = first.calls
    assert (call["name"], json.loads(call["arguments"])) == ("look", {"day": "Friday"})
    assert first.pieces == [[0.1, 3], [0.11, len(" moment.")], [0.11, "call"]]
    assert second.ended == pytest.approx(second.at + 0.11)
    assert first.ended <= second.at


def test_what_stands_in_several_requests_is_written_once(tmp_path: Path) -> None:
    record = recorded(tmp_path, *["Yes."] * 30, says=["And now?"] * 30)
    lines = (tmp_path / record.name / "requests.jsonl").read_text().splitlines()
    assert sum("You take reservations." in line for line in lines) == 1
    assert len(record.requests) == 30 and len(record.requests[-1].parts) == 60


def test_a_model_that_fails_is_told_with_what_it_had_said(tmp_path: Path) -> None:
    record = recorded(tmp_path, Fail(ProviderError("it broke", provider="x"), text="Well"), "Yes.")
    assert (record.requests[0].outcome, record.requests[0].text) == ("failed", "Well")
    assert "it broke" in record.requests[0].error


def test_words_that_a_record_is_to_hide_stand_in_no_request(tmp_path: Path) -> None:
    says = ["I am jo@example.com", "Yes"]
    record = recorded(tmp_path, "I write to jo@example.com.", "Done.", says=says, redact=("email",))
    assert record.requests
    assert "jo@example.com" not in (tmp_path / record.name / "requests.jsonl").read_text()


def test_their_size_is_bounded_and_what_is_left_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LONGEST", 2_000)
    record = recorded(tmp_path, *["Yes."] * 30, says=["And now?"] * 30)
    assert 0 < len(record.requests) < 30
    assert any("requests.jsonl" in one for one in record.head["missing"])


def test_a_record_without_requests_is_read(tmp_path: Path) -> None:
    record = recorded(tmp_path)
    (tmp_path / record.name / "requests.jsonl").unlink()
    assert read(tmp_path / record.name).requests == []


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"requests": 99}], "format 1 or before, got '99'"),
        ([{"what": 1}], "got 'None'"),
        ([{"requests": 1}, {"request": 1, "parts": [7]}], "Was it changed"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(lines: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(RequestsError, match=words):
        requests_in(lines, "record x")


def test_a_model_that_asks_others_is_told_of_once(tmp_path: Path) -> None:
    from antiphon import AgentSession
    from antiphon.adapters.fallback import FallbackLLM
    from antiphon.testing import run_virtual
    from tests.records.recorded import agent

    told: list[str] = []

    async def held() -> None:
        model = FallbackLLM([FakeLLM([Fail(ProviderError("down", provider="x"))]), FakeLLM(["Yes."])])
        async with AgentSession[Any](llm=model) as session:
            session.on("model_answered", lambda event: told.append(event.exchange.model))
            await session.start(agent())
            await session.run(user_input="Hi")

    run_virtual(held())
    assert len(told) == 1 and "FallbackLLM" in told[0]
