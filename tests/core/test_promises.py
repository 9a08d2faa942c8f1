"""What is open, until when, and what is assumed if nothing comes."""

from __future__ import annotations

from antiphon.core.facts import GenerationFailed, HookReturned, StepGenerated, TextStarted, UserSpeechStarted
from antiphon.core.promises import Outbox

FAILED = GenerationFailed(1, "no answer")


def test_a_fact_without_an_open_promise_is_refused() -> None:
    out = Outbox()
    assert not out.admits(TextStarted(1))


def test_a_fact_that_belongs_to_no_promise_is_admitted() -> None:
    assert Outbox().admits(UserSpeechStarted())


def test_a_closing_fact_is_admitted_once() -> None:
    out = Outbox()
    out.promise(1, FAILED, 5.0)
    assert out.admits(StepGenerated(1, "yes"))
    assert not out.admits(StepGenerated(1, "yes"))


def test_a_closed_promise_does_not_fall_due() -> None:
    out = Outbox()
    out.promise(1, FAILED, 5.0)
    out.admits(StepGenerated(1, "yes"))
    out.it_is(6.0)
    assert not out.is_overdue and out.deadline is None


def test_what_is_longest_overdue_is_assumed_first() -> None:
    out = Outbox()
    out.promise(1, FAILED, 5.0)
    out.promise(2, HookReturned(2), 3.0)
    out.it_is(6.0)
    assert [out.take_overdue(), out.take_overdue()] == [HookReturned(2), FAILED]
    assert not out.is_overdue


def test_of_two_that_fall_due_together_the_older_is_assumed_first() -> None:
    out = Outbox()
    out.promise(1, FAILED, None)
    out.promise(2, HookReturned(2), 5.0)
    out.rearm(1, 5.0)
    out.it_is(5.0)
    assert out.take_overdue() == FAILED


def test_a_clock_that_stands_is_never_overdue_and_goes_on_with_what_it_is_given() -> None:
    out = Outbox()
    out.promise(1, FAILED, 5.0)
    out.rearm(1, None)
    out.it_is(60.0)
    assert out.remaining(1) is None and not out.is_overdue
    out.rearm(1, 2.0)
    assert out.deadline == 62.0


def test_the_clock_of_a_closed_promise_cannot_be_set() -> None:
    out = Outbox()
    out.rearm(1, 5.0)
    assert out.deadline is None


def test_time_never_goes_back() -> None:
    out = Outbox(now=10.0)
    out.it_is(9.0)
    assert out.now == 10.0
