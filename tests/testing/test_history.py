"""What a model was shown, as lines, and whether calls and outputs are paired."""

from __future__ import annotations

import pytest

from antiphon.chat import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatContext,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
)
from antiphon.testing import check_pairs, transcript

CALL = FunctionCall(call_id="1", name="book", arguments='{"day": "Tue"}')
OUTPUT = FunctionCallOutput(call_id="1", name="book", output="ok")
SAID = ChatMessage(role="assistant", content=["One moment"], interrupted=True)


def test_a_transcript_shows_every_kind_of_item_in_one_line() -> None:
    items: list[ChatItem] = [
        SAID,
        CALL,
        OUTPUT,
        FunctionCallOutput(call_id="2", name="pay", output="declined", is_error=True),
        AgentHandoff(old_agent_id="a", new_agent_id="b"),
        AgentConfigUpdate(tools_added=["pay"]),
    ]
    assert transcript(ChatContext(items)) == [
        "assistant: One moment [cut]",
        'call book({"day": "Tue"})',
        "output book: ok",
        "error pay: declined",
        "handoff: a -> b",
        "note: Tools added: pay.",
    ]


def test_paired_calls_are_accepted() -> None:
    check_pairs([SAID, CALL, OUTPUT, SAID])


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ([CALL], "'1' has no output"),
        ([CALL, SAID, OUTPUT], "'1' has no output directly behind it"),
        ([OUTPUT], "'1' has no call"),
        ([CALL, OUTPUT, CALL, OUTPUT], "used twice"),
    ],
)
def test_an_unpaired_item_is_named(items: list[FunctionCall | FunctionCallOutput], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_pairs(items)
