"""The steps of a call's model: what was new at each, for whom, and where only the metrics know of them."""

from __future__ import annotations

from typing import Any

from antiphon.records.requests import requests_in
from antiphon.records.steps import handoffs_in, ledger_rows, request_data, steps_in, steps_of_requests

PARTS = [
    {"part": 1, "kind": "instructions", "text": "You are the desk."},
    {"part": 2, "kind": "user", "text": "yes"},
    {"part": 3, "kind": "tool", "name": "book"},
    {"part": 4, "kind": "tool", "name": "look"},
    {"part": 5, "kind": "assistant", "text": "Shall I?"},
    {"part": 6, "kind": "instructions", "text": "You are billing."},
]


def asked(number: int, parts: list[int], tools: list[int], agent: str = "desk") -> dict[str, Any]:
    return {
        "request": number, "id": f"gen_{number}", "agent": agent, "model": "m", "at": float(number), "parts": parts,
        "tools": tools, "outcome": "done", "text": "Yes.", "calls": [], "pieces": [[0.25, 4]], "ended": number + 0.5,
    }  # fmt: skip


REQUESTS = requests_in(
    [
        {"requests": 1},
        *PARTS,
        asked(1, [1, 2], [3]),
        asked(2, [1, 2, 5, 2], [3, 4]),
        asked(3, [6, 2], [], agent="billing"),
        asked(4, [1, 2], [4]),
    ],
    "test",
)


def test_what_is_new_is_what_the_agents_request_before_did_not_have_as_often() -> None:
    steps = steps_of_requests(REQUESTS)
    assert [[part["text"] for part in step["gained"]] for step in steps] == [
        ["You are the desk.", "yes"],
        ["Shall I?", "yes"],  # the same word, said again
        ["You are billing.", "yes"],
        [],
    ]
    assert [step["is_first"] for step in steps] == [True, False, True, False]
    assert [step["left_out"] for step in steps] == [0, 0, 0, 2]
    assert (steps[1]["tools_gained"], steps[3]["tools_left"]) == (["look"], ["book"])
    assert (steps[0]["first_token"], steps[0]["done"]) == (1.25, 1.5)


def test_the_whole_input_says_what_of_it_is_new() -> None:
    whole = request_data(REQUESTS, 2)
    assert whole is not None
    assert [part["is_new"] for part in whole["items"]] == [False, False, True, True]
    assert [tool["name"] for tool in whole["tools"]] == ["book", "look"]
    assert request_data(REQUESTS, 9) is None


def test_without_requests_a_step_gained_what_the_history_had_by_then() -> None:
    history = [
        {"type": "message", "role": "user", "content": ["Hi"], "created_at": 100.5},
        {"type": "function_call", "name": "look", "arguments": "{}", "created_at": 101.5},
        {"type": "function_call_output", "name": "look", "output": "7 PM", "created_at": 101.6},
    ]
    responses = [{"by_model": True, "asked": 1.0, "calls": 1}, {"by_model": False, "asked": 1.2}]
    replies = [{"responses": responses}, {"responses": [{"by_model": True, "asked": 2.0, "done": 2.5}]}]
    first, second = steps_in(replies, history, 100.0)
    assert [part["text"] for part in first["gained"]] == ["Hi"]
    assert [part["kind"] for part in second["gained"]] == ["call", "output"]
    assert (first["outcome"], second["outcome"], first["recorded"]) == ("stopped", "done", False)


def test_hand_offs_are_those_after_the_first_agent() -> None:
    taken = [(None, "desk", 100.0), ("desk", "billing", 112.5)]
    history = [
        {"type": "agent_handoff", "old_agent_id": old, "new_agent_id": new, "created_at": at} for old, new, at in taken
    ]
    assert handoffs_in(history, 100.0) == [{"at": 12.5, "agent": "billing"}]


def test_a_row_says_whether_the_caller_was_told() -> None:
    rows: list[dict[str, Any]] = [
        {"call_id": "c1", "state": "succeeded", "attempt": 2, "closed_at": 5.0},
        {"call_id": "c2", "state": "started"},
    ]
    assert [(row["told"], row["attempt"]) for row in ledger_rows(rows)] == [(True, 2), (False, 1)]
