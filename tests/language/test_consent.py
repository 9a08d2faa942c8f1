"""What a reply to a read-back means."""

from __future__ import annotations

import pytest

from antiphon.language import ENGLISH, Asked, Reply, decide

TABLE = Asked("Table for four on Friday at seven, shall I book it?", ("four", "Friday", "seven"))


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Yes.", Reply.YES),
        ("Yes, please.", Reply.YES),
        ("Go ahead!", Reply.YES),
        ("That\u2019s right.", Reply.YES),
        ("Mm-hmm.", Reply.BACKCHANNEL),
        ("No.", Reply.NO),
        ("Hold on.", Reply.NO),
        ("Yes, but at three.", None),
        ("Actually, make it three.", None),
        ("Yes?", None),
        ("", None),
    ],
)
def test_what_is_a_yes_and_what_is_none(said: str, reply: Reply | None) -> None:
    decided = decide(said, TABLE, ENGLISH.consent)
    if reply is None:
        assert decided not in (Reply.YES, Reply.YES_AND, Reply.BACKCHANNEL)
    else:
        assert decided is reply
