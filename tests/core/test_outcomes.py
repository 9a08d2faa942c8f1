"""What came of tools that write, as those who keep a ledger are told it; and outcomes that somebody was asked for."""

from __future__ import annotations

import random
from typing import Any

import pytest

from antiphon.core.commands import Generate, RunTool, Speak
from antiphon.core.facts import OutcomeFound, RunCancelRequested, SpeechRequested, ToolReturned
from antiphon.core.notices import WriteEnded, WriteTold
from antiphon.options import ToolPolicy
from tests.core.dialogue import Dialogue
from tests.core.test_ledger import UNSAID, asked, calls, output, told


def outcomes(d: Dialogue) -> list[str]:
    return [notice.outcome for notice in d.all(WriteEnded)]


def in_doubt() -> Dialogue:
    """A write of which nobody knows whether it happened, and the caller was told so."""
    d = asked("1")
    d.tell(ToolReturned(d.last(RunTool).run, "who knows", is_error=True, unknown=True))
    d.model("I don't know.")
    return d.played()


def test_a_write_is_told_as_it_ends_and_closed_when_it_was_heard() -> None:
    d = asked("1")
    d.returns("number 4711")
    assert d.last(WriteEnded) == WriteEnded(d.last(RunTool).run, d.last(RunTool).call, "succeeded", "number 4711")
    assert d.all(WriteTold) == []
    d.model("It is number 4711.")
    d.played()
    assert [notice.run for notice in d.all(WriteTold)] == [d.last(RunTool).run]


def test_a_write_that_no_reply_is_asked_for_is_closed_at_once() -> None:
    d = asked("1")
    d.returns("", reply=False)
    assert len(d.all(WriteTold)) == 1


def test_tools_that_do_not_write_leave_no_such_traces() -> None:
    d = told("1", policy=UNSAID)
    assert d.all(WriteEnded) == [] and d.all(WriteTold) == []
    assert d.last(RunTool).number == 0


def test_a_write_whose_time_is_over_or_that_is_cancelled_is_unknown() -> None:
    d = asked("1", policy=ToolPolicy(effect="writes", parallel=False, timeout=5.0))
    d.wait(5.1)
    assert outcomes(d) == ["unknown"]
    d = asked("1")
    d.tell(RunCancelRequested(d.last(RunTool).run))
    assert outcomes(d) == ["unknown"]


def test_a_late_outcome_follows_the_unknown_one() -> None:
    d = asked("1", policy=ToolPolicy(effect="writes", parallel=False, timeout=5.0))
    d.wait(5.1)
    d.returns("number 4711")
    assert outcomes(d) == ["unknown", "succeeded"]


def test_each_wish_has_a_number_of_its_own() -> None:
    d = told("1")
    d.types("another one")
    calls(d, "1")
    assert [run.number for run in d.all(RunTool)] == [1, 2]


def test_a_write_that_failed_is_tried_again_under_another_number() -> None:
    d = asked("1")
    d.tell(ToolReturned(d.last(RunTool).run, "no seats", is_error=True))
    calls(d, "1")
    assert [run.number for run in d.all(RunTool)] == [1, 2]


def test_who_was_asked_settles_what_nobody_knew_and_the_caller_is_told() -> None:
    d = in_doubt()
    d.tell(OutcomeFound(d.last(RunTool).run, True, "number 4711"))
    assert outcomes(d) == ["unknown", "succeeded"]
    assert output(d) == "output It is known now what came of `book`: it happened. number 4711"
    assert d.last(Generate).unheard == (f"{d.last(RunTool).call.call_id}/late",)
    d.model("It was booked after all: number 4711.")
    d.played()
    assert len(d.all(WriteTold)) == 2
    d.types("another one")
    assert calls(d, "1") == ["1"]


def test_what_is_known_not_to_have_happened_runs_again_under_the_same_number() -> None:
    d = in_doubt()
    d.tell(OutcomeFound(d.last(RunTool).run, False))
    assert "it did not happen" in output(d)
    assert calls(d, "1") == ["1"]
    assert [run.number for run in d.all(RunTool)] == [1, 1]
    d.tell(ToolReturned(d.last(RunTool).run, "no seats", is_error=True))
    calls(d, "1")
    assert [run.number for run in d.all(RunTool)] == [1, 1, 2]


def test_what_is_known_already_is_not_found_again() -> None:
    d = told("1")
    asked_before = len(d.all(Generate))
    d.tell(OutcomeFound(d.last(RunTool).run, False), OutcomeFound(99, True))
    assert len(d.all(Generate)) == asked_before
    assert outcomes(d) == ["succeeded"]


def test_what_was_found_is_not_corrected_by_the_tool_itself() -> None:
    d = asked("1", policy=ToolPolicy(effect="writes", parallel=False, timeout=5.0))
    d.wait(5.1)
    d.tell(OutcomeFound(d.last(RunTool).run, True, "number 4711"))
    d.returns("no seats")
    assert outcomes(d) == ["unknown", "succeeded"]


@pytest.mark.parametrize("seed", range(150))
def test_whatever_is_found_and_when_a_write_is_never_doubled_and_keys_are_shared_by_retries_alone(seed: int) -> None:
    """Random calls, outcomes, findings and turns; what was heard is heard at once."""
    rng, d = random.Random(seed), Dialogue()
    working: list[int] = []
    doubted: list[int] = []
    done = wishes = 0
    freed: set[int] = set()
    d.types("book it")
    wishes += 1
    for _ in range(30):
        match rng.choice(("call", "call", "return", "find", "turn")):
            case "call" if not working and d.last(Generate).gen not in d.generated:
                before = len(d.all(RunTool))
                calls(d, "1")
                for run in d.all(RunTool)[before:]:
                    assert not doubted, f"started while nobody knows what {doubted} did"
                    same = [one for one in d.all(RunTool)[:before] if one.number == run.number]
                    assert {one.run for one in same} <= freed, "a key that belongs to something else"
                    working.append(run.run)
            case "return" if working:
                run_id, outcome = working.pop(), rng.choice(("done", "failed", "unknown"))
                d.tell(ToolReturned(run_id, outcome, is_error=outcome != "done", unknown=outcome == "unknown"))
                done += outcome == "done"
                if outcome == "unknown":
                    doubted.append(run_id)
            case "find" if doubted:
                run_id, happened = doubted.pop(), rng.random() < 0.5
                d.tell(OutcomeFound(run_id, happened, "number 4711"), OutcomeFound(run_id, not happened))
                done += happened
                if not happened:
                    freed.add(run_id)
            case "turn" if not working:
                answered(d)
                d.types("another one")
                wishes += 1
        assert done + len(doubted) <= wishes


@pytest.mark.parametrize("seed", range(150))
def test_a_backend_that_honours_keys_does_nothing_twice_however_often_it_is_tried_again(seed: int) -> None:
    """Random outcomes, words to questions and findings. What a start did is drawn apart from what is known of it."""
    rng, d = random.Random(seed), Dialogue()
    happened: set[int] = set()
    """By key."""
    is_known: dict[int, bool] = {}
    """By key: what the caller was told. Not there: that nobody knows."""
    wishes = agreed = tries = 0
    for _ in range(40):
        d.types("one more, or the same again")
        wishes += 1
        starts, questions = len(d.all(RunTool)), len(d.all(Speak))
        calls(d, "1", **READ_BACK)
        if len(d.all(Speak)) > questions:
            said_to_the_end(d)
            yes = rng.random() < 0.7
            d.says("yes" if yes else "no")
            agreed += yes
        for run in d.all(RunTool)[starts:]:
            key, outcome = run.number, rng.choice(("done", "raised", "unknown", "unknown"))
            is_retry = key in {one.number for one in d.all(RunTool)[:starts]}
            tries += is_retry and key not in is_known
            assert not is_known.pop(key, False), f"{key} is done, and done again"
            if outcome == "done" or (outcome == "unknown" and rng.random() < 0.5):
                happened.add(key)
            failed = outcome != "done"
            d.tell(ToolReturned(run.run, outcome, is_error=failed, unknown=outcome == "unknown"))
            if outcome == "done" or (outcome == "raised" and not is_retry):
                is_known[key] = outcome == "done"
            elif rng.random() < 0.3:
                is_known[key] = key in happened
                d.tell(OutcomeFound(run.run, is_known[key]))
        answered(d)
    assert tries == agreed, "each other try has its yes"
    assert len(happened) <= wishes
    assert all(key in happened for key, told_so in is_known.items() if told_so)


def answered(d: Dialogue) -> None:
    """The model says what there is to say, and the caller hears it."""
    for _ in range(5):
        if d.last(Generate).gen in d.generated:
            return
        d.model("This is how it stands.")
        d.played()


READ_BACK: dict[str, Any] = {"read_back": "Book table one.", "spoken": ("one",)}


def doubted() -> Dialogue:
    """The caller, who heard that nobody knows whether it was booked, asks to try it again, and the model calls."""
    d = in_doubt()
    d.types("then try again, please")
    assert calls(d, "1", **READ_BACK) == []
    return d


def said_to_the_end(d: Dialogue) -> str:
    """The question sounds to its end."""
    speak = d.last(Speak)
    d.voice(speak.text or "")
    d.played(speak.segment)
    return speak.text or ""


def test_what_nobody_knows_is_tried_again_after_a_spoken_yes_with_its_key() -> None:
    d = doubted()
    assert said_to_the_end(d) == (
        "I still don't know whether that went through. To try it again: Book table one. Shall I go ahead?"
    )
    d.says("yes")
    first, second = d.all(RunTool)
    assert (second.number, second.wish) == (first.number, first.wish)
    d.returns("number 4711")
    d.model("It is number 4711.")
    d.played()
    assert outcomes(d) == ["unknown", "succeeded"]
    d.types("another one")
    assert calls(d, "1", **READ_BACK) == ["1"]
    assert d.last(RunTool).number == first.number + 1


def test_without_a_yes_it_stays_as_it_is() -> None:
    d = doubted()
    said_to_the_end(d)
    d.says("no")
    d.model("All right.")
    d.played()
    assert len(d.all(RunTool)) == 1 and outcomes(d) == ["unknown"]


def test_nobody_is_asked_before_they_have_heard_that_nobody_knows() -> None:
    d = asked("1")
    d.tell(ToolReturned(d.last(RunTool).run, "who knows", is_error=True, unknown=True))
    calls(d, "1", **READ_BACK)
    assert not d.all(Speak)
    assert "1. it is unknown whether it happened; the user has not been told yet" in output(d)


def test_nobody_is_asked_in_the_turn_in_which_it_was_wished() -> None:
    d = in_doubt()
    d.tell(SpeechRequested(900, "reply"))
    assert calls(d, "1", **READ_BACK) == [] and not d.all(Speak)


def test_what_cannot_be_read_back_is_not_tried_again() -> None:
    d = in_doubt()
    d.types("then try again, please")
    assert calls(d, "1") == [] and not d.all(Speak)
    assert output(d).endswith("Do not call it again.")


def test_another_try_that_fails_says_nothing_of_the_one_before() -> None:
    d = doubted()
    said_to_the_end(d)
    d.says("yes")
    d.tell(ToolReturned(d.last(RunTool).run, "No connection.", is_error=True))
    assert output(d) == (
        "error No connection. That was another try. It is still unknown whether `book` happened before."
    )
    assert outcomes(d) == ["unknown", "unknown"]
    d.model("I still don't know.")
    d.played()
    d.types("once more, please")
    assert calls(d, "1", **READ_BACK) == []
    said_to_the_end(d)
    d.says("yes")
    assert [run.number for run in d.all(RunTool)] == [1, 1, 1]


def test_who_was_asked_for_the_key_speaks_for_all_its_tries() -> None:
    d = doubted()
    said_to_the_end(d)
    d.says("yes")
    first, second = d.all(RunTool)
    d.tell(ToolReturned(second.run, "No connection.", is_error=True))
    d.model("I still don't know.")
    d.played()
    d.tell(OutcomeFound(first.run, False))  # the other try may have been on its way by then
    assert outcomes(d) == ["unknown", "unknown"]
    d.tell(OutcomeFound(second.run, False))
    assert outcomes(d) == ["unknown", "unknown", "failed"]
    d.model("It was not booked.")
    d.played()
    d.types("book it then")
    assert calls(d, "1", **READ_BACK) == ["1"]


def test_what_the_first_try_did_after_all_is_told_where_nobody_knows_of_the_second() -> None:
    d = doubted()
    said_to_the_end(d)
    d.says("yes")
    first, second = d.all(RunTool)
    d.tell(ToolReturned(second.run, "No connection.", is_error=True))
    d.model("I still don't know.")
    d.played()
    d.tell(OutcomeFound(first.run, True, "number 4711"))
    assert outcomes(d) == ["unknown", "unknown", "succeeded"] and d.all(WriteEnded)[-1].run == second.run
    assert "number 4711" in output(d)
    d.model("It was booked after all: number 4711.")
    d.played()
    d.types("another one")
    assert calls(d, "1", **READ_BACK) == ["1"]
    assert d.last(RunTool).number == first.number + 1
