"""The end: everything is stopped, nothing is waited for too long, nothing is lost."""

from __future__ import annotations

import pytest

from antiphon.core.commands import CancelTool, Close, Generate, RunHook, RunTool, StopPlayout
from antiphon.core.facts import (
    AgentTaskStarted,
    CloseRequested,
    EndRequested,
    OutcomeFound,
    PlayoutFinished,
    SpeechRequested,
    ToolReturned,
    ToolUpdated,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnSubmitted,
)
from antiphon.core.notices import SpeechDone
from tests.core.dialogue import Dialogue, policy


def test_an_idle_session_closes_at_once_after_on_exit() -> None:
    d = Dialogue()
    d.tell(CloseRequested())
    assert d.all(RunHook)[-1].kind == "on_exit"
    assert isinstance(d.commands[-1], Close)


@pytest.mark.parametrize("effect", ["reads", "unsaid", "writes"])
def test_closing_takes_no_longer_than_its_grace_whatever_runs(effect: str) -> None:
    d = Dialogue(hooks=False)
    d.wait(6)
    d.tell(UserTurnSubmitted("go"))
    d.wait(6)
    d.model("", ("work", policy(effect)))  # type: ignore[arg-type]
    d.tell(CloseRequested())
    d.wait(1.0)
    assert d.closed
    assert d.core.deadline is None


def test_a_reading_tool_is_stopped_at_once_and_a_writing_one_gets_the_grace() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", ("look", policy("reads")), ("book", policy("writes")))
    d.returns(run=d.all(RunTool)[0].run)
    d.tell(CloseRequested())
    assert not d.all(CancelTool)
    d.tell(ToolReturned(d.last(RunTool).run, "booked"))
    assert d.closed
    assert d.lines[-2:] == ["call book c2/finished", "output booked"]


def test_a_tool_is_stopped_after_the_tools_of_the_task_that_it_awaits() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", "register")
    parent = d.last(RunTool).run
    d.tell(AgentTaskStarted(900, "t", run=parent))
    d.types("Ada").model("", "check")
    child = d.last(RunTool).run
    d.tell(CloseRequested())
    assert [command.run for command in d.all(CancelTool)] == [child, parent]


def test_a_write_that_does_not_end_in_time_is_recorded_as_unknown() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", ("book", policy("writes")))
    d.tell(CloseRequested()).wait(1.0)
    assert d.lines[-1].startswith("error It is unknown whether `book` happened; do not repeat it")
    assert d.closed


def test_what_the_caller_was_saying_is_kept() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted(), Transcribed("my last words", True), CloseRequested()).wait(1)
    assert d.lines == ["user: my last words"]


@pytest.mark.parametrize("drain", [True, False])
def test_a_turn_that_is_typed_while_the_session_closes_is_in_the_history(drain: bool) -> None:
    d = Dialogue(hooks=False)
    d.wait(6)
    d.tell(CloseRequested(drain=drain)).tell(UserTurnSubmitted("one last thing"))
    assert not d.closed
    d.wait(1.0)
    assert d.closed and d.lines == ["user: one last thing"]


def test_nothing_happens_after_the_close() -> None:
    d = Dialogue()
    d.tell(CloseRequested())
    count = len(d.commands)
    d.tell(UserTurnSubmitted("hello?"), UserSpeechStarted(), CloseRequested()).wait(10)
    assert len(d.commands) == count


def test_speech_asked_for_after_the_close_is_done_at_once() -> None:
    d = Dialogue()
    d.tell(CloseRequested(), SpeechRequested(77, "say"))
    assert [e.speech for e in d.all(SpeechDone)] == [77]


def test_draining_finishes_what_is_being_said_and_takes_no_new_turn() -> None:
    d = Dialogue()
    d.types("go")
    d.model("Goodbye then.")
    d.tell(CloseRequested(drain=True))
    d.tell(UserTurnSubmitted("wait"))
    assert not d.closed
    d.played()
    assert d.closed
    assert d.lines == ["user: go", "assistant: Goodbye then.", "user: wait"]
    assert len(d.all(Generate)) == 1


def test_draining_does_not_wait_for_ever() -> None:
    d = Dialogue(drain_timeout=5.0)
    d.types("go")
    d.model("", "hang")
    d.tell(CloseRequested(drain=True)).wait(6.0)
    assert d.closed


def test_a_hard_close_hastens_a_drain() -> None:
    d = Dialogue()
    d.types("go")
    d.model("A long story.")
    d.tell(CloseRequested(drain=True), CloseRequested()).wait(1.0)
    assert d.closed


def test_every_handle_is_done_when_the_session_is_closed() -> None:
    d = Dialogue()
    speeches = [d.say() for _ in range(3)]
    d.tell(CloseRequested()).wait(1.0)
    assert sorted(e.speech for e in d.all(SpeechDone)) == speeches


# -- goodbyes


def saying_goodbye(linger: float = 2.0) -> Dialogue:
    d = Dialogue()
    d.types("that is all")
    d.model("", "end_call")
    d.tell(EndRequested(d.last(Generate).speech, linger))
    d.returns("say goodbye to the user")
    d.model("Goodbye, and have a nice day.")
    return d


def test_the_call_ends_a_moment_after_the_goodbye() -> None:
    d = saying_goodbye()
    d.played().wait(1.9)
    assert not d.closed
    d.wait(0.2)
    assert d.closed


def test_a_call_that_ends_with_a_goodbye_has_the_reason_of_a_shutdown() -> None:
    d = saying_goodbye()
    d.played().wait(2.1)
    assert d.last(Close).reason == "user_initiated"


def test_one_more_thing_over_the_goodbye_keeps_the_call() -> None:
    d = saying_goodbye()
    d.tell(UserSpeechStarted(), Transcribed("wait, one more thing", True), UserSpeechEnded())
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "Goodbye,")).wait(0.3)
    d.model("Of course.")
    d.played().wait(60)
    assert not d.closed
    assert d.lines[-2:] == ["user: wait, one more thing", "assistant: Of course."]


def test_one_more_thing_just_after_the_goodbye_keeps_the_call() -> None:
    d = saying_goodbye()
    d.played().wait(1.5)
    d.tell(UserSpeechStarted()).wait(1.0)
    d.tell(Transcribed("oh and the address please", True), UserSpeechEnded()).wait(0.3)
    assert d.last(Generate).tools and not d.closed


@pytest.mark.parametrize("words", ["bye-bye", "thanks, take care", "okay", "thank you very much, goodbye"])
def test_a_goodbye_to_the_goodbye_ends_the_call_without_an_answer(words: str) -> None:
    d = saying_goodbye()
    d.tell(UserSpeechStarted(), Transcribed(words, True), UserSpeechEnded()).wait(1.0)
    assert not d.all(StopPlayout)
    d.played().wait(2.1)
    assert d.closed
    assert len(d.all(Generate)) == 2


def test_a_second_end_of_the_call_works_after_the_first_was_called_off() -> None:
    d = saying_goodbye()
    d.types("wait")
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, ""))
    d.model("", "end_call")
    d.tell(EndRequested(d.last(Generate).speech, 0.0))
    d.returns("say goodbye to the user")
    d.model("Bye.")
    d.played().wait(0.1)
    assert d.closed


def writing() -> Dialogue:
    d = Dialogue()
    d.types("book it")
    d.model("", ("book", policy("writes")))
    return d


def test_a_drain_lets_a_write_end_and_tells_what_it_came_to() -> None:
    d = writing()
    d.tell(CloseRequested(drain=True)).wait(8.0)
    assert not d.all(CancelTool)
    d.returns("number 4711")
    d.model("It is number 4711.")
    d.played()
    assert d.closed
    assert d.last(Close).unheard == ()


def test_a_drain_tells_what_a_write_in_the_background_came_to() -> None:
    d = writing()
    d.tell(ToolUpdated(d.last(RunTool).run, "on it", silent=True))
    d.tell(CloseRequested(drain=True)).wait(8.0)
    d.returns("number 4711")
    d.model("It is number 4711.")
    d.played()
    assert d.closed
    assert d.last(Close).unheard == ()


def test_a_write_may_end_when_the_caller_has_hung_up() -> None:
    d = writing()
    d.tell(CloseRequested(hung_up=True)).wait(29.0)
    assert not d.all(CancelTool) and not d.closed
    d.returns("number 4711")
    assert d.closed
    (unheard,) = d.last(Close).unheard
    assert (unheard.call.name, unheard.outcome, unheard.output) == ("book", "done", "number 4711")


def test_what_a_write_came_to_that_never_ends_is_unknown() -> None:
    d = writing()
    d.tell(CloseRequested(hung_up=True)).wait(31.0)
    assert d.closed
    assert [one.outcome for one in d.last(Close).unheard] == ["unknown"]


def test_what_was_unknown_and_did_not_happen_is_known_to_the_application_where_the_caller_has_gone() -> None:
    d = writing()
    d.tell(ToolReturned(d.last(RunTool).run, "", unknown=True))
    d.model("I do not know whether it is booked.")
    d.played()
    d.tell(OutcomeFound(d.last(RunTool).run, False, ""))
    d.tell(CloseRequested(hung_up=True)).wait(3.0)
    assert d.closed
    assert [(one.call.name, one.outcome) for one in d.last(Close).unheard] == [("book", "failed")]


def test_nobody_waits_for_a_tool_that_only_reads_when_the_caller_has_hung_up() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", ("look", policy("reads")))
    d.tell(CloseRequested(hung_up=True))
    assert d.all(CancelTool) and d.closed


def test_a_second_request_hastens_what_still_writes() -> None:
    d = writing()
    d.tell(CloseRequested(hung_up=True)).wait(5.0)
    d.tell(CloseRequested()).wait(1.0)
    assert d.closed


@pytest.mark.parametrize("heard", [None, "Number"])
def test_what_was_heard_in_front_of_a_call_that_still_works_is_not_said_to_be_unheard(heard: str | None) -> None:
    d = Dialogue()
    d.types("go")
    d.model("", ("book", policy("writes")))
    d.tell(ToolUpdated(d.last(RunTool).run, "on it"))
    d.model("On it.")
    d.played()
    d.returns("number 4711")
    d.model("Number 4711. And the weather?", ("look", policy("reads")))
    d.played(heard=heard)
    d.tell(CloseRequested())
    assert [one.output for one in d.last(Close).unheard] == ([] if heard is None else ["number 4711"])
