"""Agents of trades that the stand-in was not written for: it never does the wrong thing.

No wrong write, no word of a deed that was not done, no id read aloud, and where it cannot help it says so or asks. How
much it grants is measured beside that, with a floor under what it reached.

The ten agents of `trades` were written before its source was looked at: at first sight 83 of 204 turns were right, with
54 wrong writes. The five of `fresh_trades` came after it was mended by those: at first sight 96 of 107, with 4 wrong
writes, one thing said that was not so, and one wish passed over.
"""

from __future__ import annotations

import pytest

from antiphon.testing import run_virtual

from . import fresh_dialogues, fresh_trades, trade_dialogues, trades
from .trade_dialogues import Held, do, say
from .trade_talks import Made, Verdict, hold, judge
from .trades import Trade

TRADES = (*trades.TRADES, *fresh_trades.TRADES)
DIALOGUES = (*trade_dialogues.DIALOGUES, *fresh_dialogues.DIALOGUES)
TRADE = {trade.name: trade for trade in TRADES}
FLOOR = 0.9
"""The share of turns that must be right: done or answered as asked, and nothing else."""


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda d: f"{d.trade}: {d.name}")
def test_nothing_wrong_is_done_or_said(dialogue: Held) -> None:
    verdict = run_virtual(hold(TRADE[dialogue.trade], dialogue))
    assert verdict.faults == [], "\n".join(verdict.log)


def test_most_wishes_are_granted() -> None:
    total = Verdict()
    for dialogue in DIALOGUES:
        total.add(run_virtual(hold(TRADE[dialogue.trade], dialogue)))
    assert total.right / total.units >= FLOOR, "\n".join([str(total), *total.missed])


def test_there_are_five_dialogues_with_each_of_fifteen_agents() -> None:
    assert [sum(d.trade == trade.name for d in DIALOGUES) for trade in TRADES] == [5] * 15
    assert all(3 <= len(dialogue.turns) <= 8 for dialogue in DIALOGUES)


BLIND = Trade("blind", TRADES[0].agent, frozenset({"lock"}), frozenset({"k-17"}))


def _judged(said: str, *made: Made, unable: bool = False) -> list[str]:
    turn = say("Lock it.", do("lock", door="front"), unable=unable)
    return [fault.partition(":")[0] for fault in judge(BLIND, turn, made, said, [], {}).faults]


def test_the_judge_sees_what_is_wrong() -> None:
    right = Made("lock", {"door": "front"}, "Locked.")
    assert _judged("Locked.", right) == []
    assert _judged("Locked.", right, right) == ["wrong write"]
    assert _judged("Which door?", Made("lock", {"door": "back"}, "Locked.")) == ["wrong write"]
    assert _judged("Shall I? It has been locked.") == ["not so"]
    assert _judged("Lovely weather.") == ["does not say that it cannot"]
    assert _judged("Locked with k-17.", right) == ["nothing to say aloud"]
    assert _judged('It says {"ok": true}.', right) == ["nothing to say aloud"] * 4
    assert _judged("Locked on tomorrow.", right) == ["nothing to say aloud"]
