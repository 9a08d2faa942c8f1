"""What is found in requests that do not begin with the one before them."""

from __future__ import annotations

import pytest

from antiphon.chat import NOTE_ID, ChatItem, ChatMessage, FunctionCall, FunctionCallOutput, new_id
from antiphon.sim.prefixes import Prefixes


def said(text: str, item_id: str = "m", *, raw: str = "", cut: bool = False) -> ChatMessage:
    return ChatMessage("assistant", text, item_id, cut, {"raw": raw} if raw else {}, 0.0)


ASKED = ChatMessage("user", "Go.", "u", False, {}, 0.0)
CALL = FunctionCall(call_id="c", name="f", arguments="{}")
PAIR: list[ChatItem] = [CALL, FunctionCallOutput(call_id="c", output="o")]
NOTE = ChatMessage("system", "Be brief.", new_id(NOTE_ID), False, {}, 0.0)


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [
        ([ASKED], [ASKED, said("Hi."), *PAIR], 0),
        ([ASKED, said("Hi."), NOTE], [ASKED, said("Hi."), *PAIR], 0),
        ([ASKED, said("Hi.", raw="*Hi*.")], [ASKED, said("Hi.", raw="*Hi*."), *PAIR], 0),
        ([ASKED, said("Hi.")], [ASKED, said("Hi.", raw="*Hi*."), *PAIR], 1),
        ([ASKED, said("Hi there."), *PAIR], [ASKED, said("Hi", cut=True), *PAIR], 0),
        ([ASKED, said("Hi there."), *PAIR], [ASKED, *PAIR], 0),
        ([ASKED, *PAIR], [ASKED, said("Hi."), *PAIR], 1),
        ([ASKED, *PAIR], [ASKED], 1),
    ],
)
def test_what_was_shown_stays_but_for_what_was_cut(first: list[ChatItem], second: list[ChatItem], wrong: int) -> None:
    prefixes = Prefixes()
    prefixes.asked("agent", first)
    prefixes.asked("agent", second)
    prefixes.asked("another", [])
    assert len(prefixes.unstable) == wrong
