"""What should be mended is found in records, with its kind and its remedy; in good calls nothing is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.records import Record
from antiphon.records.findings import KINDS, REMEDIES, Finding, findings_in, usual_rounds
from antiphon.testing import Reply
from tests.records.recorded import head_of, recorded, tool_call
from tests.records.test_index import RESPONSE, reply


def found(record: Record) -> list[tuple[str, str]]:
    return [(one.finding, one.kind) for one in findings_in(record.head, record.metrics)]


def of_calls(*calls: dict[str, Any], **head: Any) -> list[Finding]:
    """What is found in a call of two turns of the caller, at 0 and 10 s, with these calls."""
    made = head_of(1, tool_calls=list(calls), **head)
    made["turns"] = [made["turns"][0], made["turns"][0] | {"started": 10.0, "ended": 11.0}]
    return findings_in(made, {"replies": []})


def names(found: list[Finding]) -> list[str]:
    return [one.finding for one in found]


def test_each_has_a_kind_and_a_remedy() -> None:
    assert KINDS.keys() == REMEDIES.keys()


# -- in calls that were really held


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    wrong = Reply(calls=[("book", {"day": "Friday", "people": "many"})])
    record = recorded(tmp_path, wrong, Reply(calls=[("book", {"day": "Friday", "people": 4})]), "You are booked.")
    assert found(record) == [("wrong-arguments", "invalid")]
    (one,) = findings_in(record.head, record.metrics)
    assert "expected an integer" in one.text and 'people="many"' in one.text and "description" in one.remedy


def test_arguments_that_are_no_json(tmp_path: Path) -> None:
    record = recorded(tmp_path, Reply(calls=[("book", '{"day": ')]), "I am sorry.")
    assert found(record) == [("wrong-arguments", "invalid")]


def test_a_tool_that_does_not_exist(tmp_path: Path) -> None:
    record = recorded(tmp_path, Reply(calls=[("reserve", {})]), "I am sorry.")
    assert found(record) == [("unknown-tool", "wrong tool")]


def test_the_same_question_twice_for_one_turn(tmp_path: Path) -> None:
    again = Reply(calls=[("look", {"day": "Friday"})])
    assert found(recorded(tmp_path, again, again, "At seven.")) == [("repeated-call", "redundant")]


def test_a_write_that_the_ledger_did_not_start_again(tmp_path: Path) -> None:
    again = Reply(calls=[("book", {"day": "Friday", "people": 4})])
    assert found(recorded(tmp_path, again, again, "You are booked.")) == [("repeated-call", "redundant")]


def test_all_the_rounds_that_a_reply_may_have(tmp_path: Path) -> None:
    days = [Reply(calls=[("look", {"day": day})]) for day in ("Monday", "Tuesday", "Friday")]
    assert found(recorded(tmp_path, *days, "Nothing is free.")) == [("more-rounds", "redundant")]


def test_nothing_is_found_in_a_good_call(tmp_path: Path) -> None:
    replies = (
        Reply(calls=[("look", {"day": "Friday"})]),
        "Seven is free. Shall I book it?",
        Reply(calls=[("book", {"day": "Friday", "people": 4})]),
        "You are booked.",
        Reply(calls=[("look", {"day": "Friday"})]),
        "It is gone now.",
    )
    assert found(recorded(tmp_path, *replies, says=("What is free?", "Yes", "And now?"))) == []


def test_a_tool_that_refuses_in_its_own_words_was_not_called_wrongly(tmp_path: Path) -> None:
    record = recorded(tmp_path, Reply(calls=[("book", {"day": "Friday", "people": 40})]), "We seat twelve.")
    assert found(record) == []


# -- in records as they might be


def test_a_call_again_after_a_write_or_another_turn_is_fresh() -> None:
    look, tools = tool_call("look", 1.0), {"pay": {"effect": "writes"}}
    assert names(of_calls(look, tool_call("look", 2.0))) == ["repeated-call"]
    assert of_calls(look, tool_call("pay", 1.5), tool_call("look", 2.0), tools=tools) == []
    assert of_calls(look, tool_call("look", 11.0)) == []
    assert of_calls(look, tool_call("look", 2.0, arguments={"day": "Friday"})) == []


@pytest.mark.parametrize("status", ["error", "dropped", "cancelled", "unknown", "adopted", "refused"])
def test_a_call_again_whose_first_brought_nothing_is_no_repetition(status: str) -> None:
    assert of_calls(tool_call("look", 1.0, status=status), tool_call("look", 2.0)) == []


def test_calls_side_by_side_are_no_repetition() -> None:
    assert of_calls(tool_call("look", 1.0, ended=3.0), tool_call("look", 1.1)) == []


def test_another_tool_did_it_with_the_same_values() -> None:
    by_name = tool_call("by_name", 1.0, status="error", output="No such name.", arguments={"name": "R-1842"})
    by_id = tool_call("by_id", 2.0, arguments={"id": "R-1842"})
    assert [(one.finding, one.kind, one.at) for one in of_calls(by_name, by_id)] == [("wrong-tool", "wrong tool", 1.0)]
    assert of_calls(by_name, tool_call("by_id", 2.0, arguments={"id": "other"})) == []
    assert of_calls(by_name, by_id | {"status": "error"}) == []
    assert of_calls(by_name, by_id | {"started": 12.0}) == []
    assert of_calls(by_name | {"arguments": {}}, by_id | {"arguments": {}}) == []


def test_the_caller_wanted_another_tool_than_the_one_that_was_read_back() -> None:
    tools = {"book": {"effect": "writes"}, "cancel": {"effect": "writes"}, "look": {"effect": "reads"}}
    refused = {"asked": "Shall I book?", "times": 1, "decision": "no", "heard": "No, cancel it", "by": "words"}
    book = tool_call("book", 1.0, status="refused", consent=refused)
    assert names(of_calls(book, tool_call("cancel", 11.0), tools=tools)) == ["wrong-tool"]
    assert of_calls(book, tool_call("book", 11.0), tools=tools) == []
    assert of_calls(book, tool_call("look", 11.0), tool_call("book", 12.0), tools=tools) == []
    assert of_calls(book, tool_call("cancel", 11.0), tool_call("book", 12.0), tools=tools) == []
    assert of_calls(book, tools=tools) == []


def spoken(**changes: Any) -> dict[str, Any]:
    """A reply by voice: a line, a call from 1.0 to 1.2 s, the answer."""
    hold = RESPONSE | {"asked": 0.5, "first_byte": 0.9, "first_audio": 1.5, "calls": 1, "characters": 30}
    answer = RESPONSE | {"asked": 1.2, "first_byte": 1.6, "first_audio": 2.5, "characters": 60}
    tool = {"name": "look", "call_id": "c1", "started": 1.0, "ended": 1.2, "status": "done"}
    return reply(responses=[hold | changes, answer], tools=[tool])


def late(made: dict[str, Any], *, voice: bool = True) -> list[Finding]:
    return findings_in(head_of(1, voice=voice), {"replies": [made]})


def test_a_line_that_asks_for_patience_when_the_result_is_there() -> None:
    (one,) = late(spoken())
    assert (one.finding, one.kind, one.at, one.text) == (
        "hold-after-result",
        "hold line",
        1.5,
        "a line was heard 0.3 s after look had its result",
    )


@pytest.mark.parametrize(
    "changes",
    [{"first_audio": 1.1}, {"first_audio": None}, {"characters": 400}, {"calls": 0}, {"by_model": False}],
)
def test_a_line_in_time_or_with_something_to_say_is_none(changes: dict[str, Any]) -> None:
    assert late(spoken(**changes)) == []


def test_nothing_is_late_in_text() -> None:
    assert late(spoken(), voice=False) == []


def test_a_filler_is_late_only_where_it_kept_the_answer_waiting() -> None:
    filler = {"filler": True, "by_model": False, "calls": 0, "first_audio": 1.8}
    assert names(late(spoken(**filler))) == ["hold-after-result"]
    assert late(spoken(**filler | {"first_audio": 1.5})) == []  # the model was still at work


def test_usual_is_what_nearly_all_replies_stay_within() -> None:
    assert usual_rounds({1: 19}) is None
    assert usual_rounds({1: 20}) == 1
    assert usual_rounds({1: 95, 2: 4, 3: 1}) == 1
    assert usual_rounds({1: 50, 2: 46, 5: 4}) == 2


def test_they_are_data(tmp_path: Path) -> None:
    record = recorded(tmp_path, Reply(calls=[("reserve", {})]), "I am sorry.")
    assert json.dumps(record.head["tool_calls"]) and found(record)
