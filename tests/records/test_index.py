"""Records are found again: by an index that is made of them, and made anew when it is gone, older or broken."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from antiphon.records import Index, Search, search
from antiphon.records.findings import ENOUGH_REPLIES
from antiphon.records.places import place_of
from tests.records.recorded import head_of, laid, seconds, tool_call

RESPONSE = {
    "by_model": True, "asked": 0.0, "first_token": 0.1, "first_text": 0.1, "done": 0.2, "first_byte": None,
    "first_audio": None, "calls": 0, "characters": 10, "filler": False,
}  # fmt: skip


def reply(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "turn": 1, "origin": "typed", "asked": 1.0, "rounds": 0, "responses": [RESPONSE], "tools": [],
        "max_tool_steps_reached": False, "response_delay": 0.5,
    }  # fmt: skip
    return values | changes


def figures(*replies: dict[str, Any]) -> dict[str, Any]:
    return {"metrics": {"median_response_delay": 0.5, "prompt_tokens": 10}, "replies": list(replies)}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Five calls, each with something of its own."""
    cut = head_of(3)
    cut["turns"][1] |= {"interrupted": True}
    laid(tmp_path, head_of(0), figures(reply()))
    laid(tmp_path, head_of(1, agents=["desk", "kitchen"], errors=["ValueError: no stove"]), figures(reply()))
    laid(tmp_path, head_of(2, tool_calls=[tool_call("pay", 2.0, status="unknown", is_error=True)]), figures(reply()))
    laid(tmp_path, cut, figures(reply(response_delay=2.5)))
    laid(tmp_path, head_of(4, caller="ann", tool_calls=[tool_call("look", 2.0)]), figures(reply()))
    return tmp_path


def found(place: Path, **wanted: Any) -> list[int]:
    index = Index(place_of(place))
    index.sync()
    return [int(one.id.removeprefix("call-")) for one in search(index, Search(**wanted))]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({}, [4, 3, 2, 1, 0]),
        ({"most": 2}, [4, 3]),
        ({"id": "call-00003"}, [3]),
        ({"agent": "kitchen"}, [1]),
        ({"agent": "kit"}, []),
        ({"tool": "look"}, [4]),
        ({"tool": "pay", "outcome": "unknown"}, [2]),
        ({"tool": "look", "outcome": "unknown"}, []),
        ({"outcome": "unknown"}, [2]),
        ({"error": ""}, [2, 1]),
        ({"error": "STOVE"}, [1]),
        ({"said": "please NUMBER 3,"}, [3]),
        ({"said": "nobody said this"}, []),
        ({"since": 1_790_000_000 + 150.0}, [4, 3]),
        ({"until": 1_790_000_000 + 60.0}, [0]),
        ({"slower": 2.0}, [3]),
        ({"cut": True}, [3]),
        ({"caller": "ann"}, [4]),
        ({"caller": "ann", "cut": True}, []),
    ],
)
def test_it_is_searched_by(wanted: dict[str, Any], numbers: list[int], place: Path) -> None:
    assert found(place, **wanted) == numbers


@pytest.mark.parametrize("damage", ["gone", "older", "no database", "torn"])
def test_it_is_made_anew_from_the_folders(damage: str, place: Path) -> None:
    assert len(found(place)) == 5
    path = place / "index.db"
    match damage:
        case "gone":
            path.unlink()
        case "older":
            with sqlite3.connect(path) as connection:
                connection.execute("DELETE FROM records")
                connection.execute("PRAGMA user_version = 0")
            connection.close()
        case "no database":
            path.write_bytes(b"nothing of the kind" * 100)
        case _:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert found(place) == [4, 3, 2, 1, 0]


def test_what_came_and_went_behind_its_back_is_noticed(place: Path) -> None:
    assert len(found(place)) == 5
    shutil.rmtree(next(place.glob("*call-00002")))
    laid(place, head_of(9))
    assert found(place) == [9, 4, 3, 1, 0]


def test_a_record_that_cannot_be_read_is_told_of_and_hides_no_other(place: Path) -> None:
    (next(place.glob("*call-00002")) / "record.json").write_text("{")
    assert found(place) == [4, 3, 1, 0]
    (broken,) = Index(place_of(place)).ask("SELECT why FROM broken")
    assert "record.json is no JSON" in broken["why"]


def test_nothing_of_a_forgotten_record_stays_in_its_file(place: Path) -> None:
    name = laid(place, head_of(7, errors=["a word like Xylophon"]))
    assert 7 in found(place)
    assert b"xylophon" in (place / "index.db").read_bytes()
    Index(place_of(place)).forget(name)
    assert b"xylophon" not in (place / "index.db").read_bytes()


def test_more_rounds_than_its_agent_usually_takes_are_found(tmp_path: Path) -> None:
    for number in range(ENOUGH_REPLIES):
        laid(tmp_path, head_of(number), figures(reply(rounds=1)))
    laid(tmp_path, head_of(50), figures(reply(rounds=3, asked=4.0)))
    laid(tmp_path, head_of(51, agents=["other"]), figures(reply(rounds=3)))
    assert found(tmp_path, finding="more-rounds") == found(tmp_path, finding="redundant") == [50]
    index = Index(place_of(tmp_path))
    (one,) = next(one.findings for one in search(index, Search()) if one.id == "call-00050")
    assert (one.kind, one.at, one.text) == ("redundant", 4.0, "3 rounds of calls, where one is usual")


def test_of_few_replies_nothing_is_usual(tmp_path: Path) -> None:
    for number in range(ENOUGH_REPLIES - 2):
        laid(tmp_path, head_of(number), figures(reply(rounds=1)))
    laid(tmp_path, head_of(50), figures(reply(rounds=3)))
    assert found(tmp_path, finding="") == []


def test_a_thousand_records_are_searched_within_a_fifth_of_a_second(tmp_path: Path) -> None:
    for number in range(1000):
        head = head_of(number, tool_calls=[tool_call("look", 2.0)])
        head["turns"] *= 15
        laid(tmp_path, head, figures(*[reply(rounds=1)] * 10))
    index = Index(place_of(tmp_path))
    index.sync()

    def asked() -> None:
        index.sync()
        assert len(search(index, Search(said="number 99 please", tool="look", finding=None, slower=0.1))) > 0

    assert seconds(asked) < 0.2
