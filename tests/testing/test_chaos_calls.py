"""`antiphon.testing.chaos`: what goes wrong in a call, and that what is wrong with it is found."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, ToolError, function_tool
from antiphon.application.resuming import KeptCall
from antiphon.chat import ChatMessage
from antiphon.core.facts import CallResumed
from antiphon.errors import UsageError
from antiphon.replay import read
from antiphon.testing.chaos import (
    KILLS,
    KINDS,
    Bench,
    Case,
    Errand,
    Fault,
    Verdict,
    Wish,
    World,
    judge,
    make_call,
    points,
)
from antiphon.testing.chaos.call import Medium
from antiphon.testing.chaos.errand import heard, said
from antiphon.testing.chaos.many import Job, Summary, do, do_all, in_parts, proof, try_case
from antiphon.testing.chaos.shrink import shrink

NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


class Kiosk(World):
    """Sells things by number, and tells how many it has sold."""

    def __init__(self, effect: str = "writes") -> None:
        self.sold: Counter[int] = Counter()
        self._effect = effect

    def agent(self, bench: Bench) -> Agent:
        buy = bench.tool("buy", description="Buy one.", parameters=NUMBER, effect=self._effect)
        count = bench.tool("count", description="How many were sold.", parameters=NUMBER, effect="reads")
        return Agent(instructions="You sell.", tools=[buy, count])

    def writes(self, tool: str) -> bool:
        return tool == "buy"

    async def act(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.sold[arguments["number"]] += tool == "buy"
        return {"sold": self.sold[arguments["number"]]}

    def state(self) -> str:
        return str(sorted((+self.sold).items()))


class Careless(Kiosk):
    """Does not say that it writes, and wants equal calls to run beside one another."""

    def agent(self, bench: Bench) -> Agent:
        @function_tool(on_duplicate="allow")
        async def buy(number: int) -> str:
            """Buy one."""
            return await bench.perform("buy", {"number": number})

        return Agent(instructions="You sell.", tools=[buy])


class Closed(Kiosk):
    """Sells nothing, and does not say that."""

    def agent(self, bench: Bench) -> Agent:
        @function_tool(effect="writes")
        async def buy(number: int) -> str:
            """Buy one."""
            return "Sold."

        return Agent(instructions="You sell.", tools=[buy])


class Mute(Kiosk):
    """Says of what breaks that nothing was done."""

    def agent(self, bench: Bench) -> Agent:
        @function_tool(effect="writes")
        async def buy(number: int) -> str:
            """Buy one."""
            try:
                return await bench.perform("buy", {"number": number})
            except RuntimeError:
                raise ToolError("Nothing was done.") from None

        return Agent(instructions="You sell.", tools=[buy])


def buy(number: int) -> Wish:
    return Wish("buy", {"number": number})


SHOPPING = Errand("shopping", ((buy(1), Wish("count", {"number": 1})), (buy(2),), (buy(1),)), Kiosk)
ONE = Errand("one", ((buy(1),),), Kiosk)


def judged(case: Case) -> Verdict:
    return asyncio.run(judge(make_call(case)))


def wrongs(case: Case) -> set[str]:
    return {finding.wrong for finding in judged(case).findings}


@pytest.mark.parametrize("medium", ["text", "voice"])
@pytest.mark.parametrize("at_once", [False, True])
def test_without_faults_everything_is_done_once_and_told(medium: Medium, at_once: bool) -> None:
    verdict = judged(Case(SHOPPING, (), medium, at_once))
    assert not verdict.findings
    assert verdict.writes == 3
    assert verdict.made.world.state() == "[(1, 2), (2, 1)]"


@pytest.mark.parametrize("medium", ["text", "voice"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault_comes_and_does_no_harm(kind: Any, medium: Medium) -> None:
    case = Case(SHOPPING, (Fault(kind, 2),), medium, stored=True)
    verdict = judged(case)
    assert not verdict.findings
    assert verdict.made.came == case.faults


@pytest.mark.parametrize("medium", ["text", "voice"])
@pytest.mark.parametrize("kind", KILLS)
def test_a_process_may_end_anywhere_and_another_goes_on(kind: Any, medium: Medium) -> None:
    for at in (2, 5):
        case = Case(
            replace(SHOPPING, turns=(*SHOPPING.turns, (buy(3), buy(4)))), (Fault(kind, at),), medium, stored=True
        )
        verdict = judged(case)
        assert not verdict.findings
        assert verdict.made.came == case.faults
        said = [one.text_content for one in verdict.made.history if isinstance(one, ChatMessage)]
        assert any("cut off" in (text or "") for text in said)


def test_what_a_call_that_goes_on_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(ONE, (Fault("killed-after", 1),), stored=True)
    assert judged(case).unknown == 1
    monkeypatch.setattr(KeptCall, "fact", lambda self, *of: CallResumed(()))
    assert wrongs(case) == {"doubled", "unsaid"}


@pytest.mark.parametrize("kind", ["crashed", "crashed-after", "timed-out"])
def test_what_nobody_can_know_is_counted_apart(kind: Any) -> None:
    verdict = judged(Case(ONE, (Fault(kind, 1),)))
    assert not verdict.findings
    assert verdict.unknown == 1


def test_what_is_known_late_is_known() -> None:
    verdict = judged(Case(ONE, (Fault("late", 1),)))
    assert not verdict.findings
    assert verdict.unknown == 0
    assert verdict.made.told["receipt1"] == 1


def test_a_call_is_the_same_every_time() -> None:
    case = Case(SHOPPING, (Fault("barge-in", 9), Fault("slow", 2)), "voice")
    first, second = make_call(case), make_call(case)
    assert [one.at for one in first.journal] == [one.at for one in second.journal]


@pytest.mark.parametrize(
    ("world", "kind", "wrong"),
    [(Careless, "twice", "doubled"), (Closed, "slow", "lost"), (Mute, "crashed-after", "unsaid")],
)
def test_what_is_wrong_is_found(world: type[World], kind: Any, wrong: str) -> None:
    assert wrong in wrongs(Case(replace(ONE, world=world), (Fault(kind, 1),)))


def test_a_call_that_breaks_is_a_finding() -> None:
    verdict = try_case(Case(Errand("nothing", ((Wish("buy", {}),),), Broken)))
    assert [finding.wrong for finding in verdict.findings] == ["broken"]


class Broken(Kiosk):
    """Has no agent."""

    def agent(self, bench: Bench) -> Agent:
        raise ValueError("closed today")


def test_what_is_wrong_is_made_short_and_replays(tmp_path: Path) -> None:
    errand = replace(SHOPPING, world=Careless, turns=((buy(1),), (buy(2),), (buy(3),)))
    case = Case(errand, (Fault("slow", 1), Fault("twice", 2)), "voice")
    finding = next(one for one in judged(case).findings if one.wrong == "doubled")
    short = shrink(finding)
    assert str(short.finding.case) == "shopping/text/twice@1"
    assert len(list(short.finding.case.errand.wishes)) == 1
    assert short.journal is not None
    assert len(short.journal.entries) < 8
    short.journal.save(tmp_path / "journal.jsonl")
    assert read(tmp_path / "journal.jsonl") == short.journal


def test_the_points_of_a_call_are_its_occasions() -> None:
    met = make_call(Case(ONE)).met
    assert met["call"] == met["start"] == 1
    single = list(points(met))
    assert len(single) == 2 * met["fact"] + 5 + 6
    assert make_call(Case(ONE, stored=True)).met["row"] >= 3
    assert Fault("barge-in", met["fact"]) in single


def test_a_fault_is_read_from_its_text() -> None:
    assert Fault.parse(str(Fault("timed-out", 12))) == Fault("timed-out", 12)
    for text in ("timed-out", "timed-out@0", "nothing@1", "slow@x"):
        with pytest.raises(UsageError, match="expected KIND@NUMBER"):
            Fault.parse(text)


@pytest.mark.parametrize("turn", [1, 9, 10, 21, 40])
def test_a_model_knows_which_turn_was_said(turn: int) -> None:
    assert heard(f"Well, {said(turn)}.") == [turn]


def test_jobs_try_every_point_and_pairs() -> None:
    met = make_call(Job(ONE, "none", "text", "1").base).met
    every = do(Job(ONE, "every", "text", "1"))
    assert every.calls == len(list(points(met)))
    assert not every.findings
    pairs = Summary()
    for job in in_parts(Job(ONE, "pairs", "text", "1", kinds=("twice", "slow", "cancelled")), 3):
        pairs.merge(do(job))
    few = len(list(points(met, ("twice", "slow", "cancelled"))))
    assert pairs.calls == few * (few - 1) // 2
    assert not pairs.findings


def test_a_proof_has_the_same_jobs_for_a_seed_and_its_figures_in_words() -> None:
    jobs = proof([ONE, SHOPPING], "7", every=1, pairs=2, media=("text",))
    assert jobs == proof([ONE, SHOPPING], "7", every=1, pairs=2, media=("text",))
    total = Summary()
    for summary in do_all([job for job in jobs if job.want in ("none", "one")], 1):
        total.merge(summary)
    assert total.calls == 4
    assert "0 doubled, 0 lost, 0 unequal" in total.sentence
