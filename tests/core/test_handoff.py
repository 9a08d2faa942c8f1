"""Hand-offs and agents on top of one another: no turn is lost between them."""

from __future__ import annotations

import pytest

from antiphon.core.commands import Generate, Play, Record, RunHook, RunTool, Speak, StopPlayout
from antiphon.core.facts import (
    AgentTaskFinished,
    AgentTaskStarted,
    HandOffRequested,
    HookReturned,
    InterruptRequested,
    PlayoutFinished,
    SpeechRequested,
    StepGenerated,
    TextStarted,
    ToolUpdated,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnSubmitted,
)
from antiphon.core.notices import TaskDropped
from antiphon.options import ToolPolicy
from tests.core.dialogue import Dialogue, policy


def hooks(d: Dialogue) -> list[tuple[str, str]]:
    return [(hook.kind, hook.agent) for hook in d.all(RunHook) if hook.kind != "on_user_turn_completed"]


def transferring(*calls: str) -> Dialogue:
    d = Dialogue()
    d.types("transfer me")
    d.model("", *(calls or ("transfer",)))
    return d


def test_a_bare_agent_takes_over_without_a_word() -> None:
    d = transferring()
    d.returns("", reply=False, handoff="b")
    assert hooks(d) == [("on_enter", "a"), ("on_exit", "a"), ("on_enter", "b")]
    assert len(d.all(Generate)) == 1
    assert d.lines[-1] == "agent_handoff"


def test_with_a_result_the_old_agent_says_farewell_without_tools() -> None:
    d = transferring()
    d.returns("Transferring you.", handoff="b")
    farewell = d.last(Generate)
    assert farewell.agent == "a" and not farewell.tools
    d.model("I am putting you through.")
    assert ("on_exit", "a") not in hooks(d)
    d.played()
    assert hooks(d)[1:] == [("on_exit", "a"), ("on_enter", "b")]


def test_nobody_apologises_for_an_empty_farewell() -> None:
    d = transferring()
    d.returns("Transferring you.", handoff="b")
    d.model("")
    assert d.last(Generate).retry
    d.model("")
    assert ("on_enter", "b") in hooks(d) and not d.all(Speak)


def test_a_barge_in_on_the_farewell_cuts_it_and_the_next_agent_answers() -> None:
    d = transferring()
    d.returns("Transferring you.", handoff="b")
    d.model("I am putting you through to my colleague.")
    d.tell(UserSpeechStarted(), Transcribed("quick question", True), UserSpeechEnded())
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "I am"))
    d.wait(0.3)
    answer = d.last(Generate)
    assert answer.agent == "b"
    assert d.context()[-1] == "user: quick question"


def test_the_first_of_two_handoffs_wins_and_the_other_is_told() -> None:
    d = transferring("to_b", "to_c")
    first, second = (run.run for run in d.all(RunTool))
    d.returns("going to c", run=second, handoff="c")
    d.returns("going to b", run=first, handoff="b")
    assert "output Hand-off to C not made: B was first." in d.lines
    d.model("Goodbye.")
    d.played()
    assert hooks(d)[-1] == ("on_enter", "b")


def test_a_plain_result_beside_a_handoff_does_not_cancel_it() -> None:
    d = transferring("transfer", "look")
    first, second = (run.run for run in d.all(RunTool))
    d.returns("", run=first, reply=False, handoff="b")
    d.returns("found", run=second)
    d.model("Found it, and goodbye.")
    d.played()
    assert hooks(d)[-1] == ("on_enter", "b")


def test_no_turn_is_committed_while_the_agents_change() -> None:
    d = Dialogue(hooks=False)
    d.tell(HookReturned(d.last(RunHook).hook), HandOffRequested("b"))
    leaving = d.last(RunHook)
    assert leaving.kind == "on_exit"
    d.tell(UserTurnSubmitted("hello?"))
    assert d.last(RunHook) is leaving
    d.tell(HookReturned(leaving.hook))
    committed = d.last(RunHook)
    assert (committed.kind, committed.agent) == ("on_user_turn_completed", "b")


def test_an_unanswered_turn_is_carried_to_the_next_agent() -> None:
    d = Dialogue()
    d.types("first")
    d.tell(HandOffRequested("b"))
    d.tell(UserTurnSubmitted("second"))
    d.model("One moment.")
    d.played()
    assert d.last(Generate).agent == "b"
    assert "user: second" in d.context()


def test_what_on_enter_says_gives_way_to_a_turn_that_was_carried_over() -> None:
    d = Dialogue(hooks=False)
    d.tell(HookReturned(d.last(RunHook).hook), HandOffRequested("b"), UserTurnSubmitted("help"))
    d.tell(HookReturned(d.last(RunHook).hook))
    enter = next(h for h in d.all(RunHook) if h.kind == "on_enter" and h.agent == "b")
    d.tell(HookReturned(d.last(RunHook).hook))
    d.tell(UserSpeechStarted())
    greeting = d.core.new_id()
    d.tell(UserSpeechEnded(), SpeechRequested(greeting, "reply", agent="b"), HookReturned(enter.hook))
    replies = [g for g in d.all(Generate) if g.agent == "b"]
    assert len(replies) >= 1
    d.model("I can help.")
    d.played()
    assert d.lines[-2:] == ["user: help", "assistant: I can help."]


def test_a_hook_that_hangs_holds_the_handoff_no_longer_than_its_time() -> None:
    d = Dialogue(hooks=False)
    d.tell(HookReturned(d.last(RunHook).hook), HandOffRequested("b"))
    d.wait(5.01)
    assert d.last(RunHook).kind == "on_enter" and d.last(RunHook).agent == "b"


# -- agent tasks


def in_task() -> Dialogue:
    """A tool of agent a awaits a task of agent t."""
    d = Dialogue()
    d.types("book")
    d.model("", ("book", ToolPolicy(timeout=5.0)))
    d.tell(AgentTaskStarted(900, "t", run=d.last(RunTool).run))
    return d


def test_a_task_takes_the_floor_and_the_callers_turns() -> None:
    d = in_task()
    assert ("on_enter", "t") in hooks(d)
    d.types("my name is Ann")
    assert d.last(Generate).agent == "t"
    assert d.context() == ["user: my name is Ann"]  # the parent's open call is not shown


def test_the_parents_tool_is_neither_interrupted_nor_timed_out_meanwhile() -> None:
    d = in_task()
    d.types("hello")
    d.model("Your name?")
    d.played()
    d.wait(100)
    assert d.core.idle
    d.tell(AgentTaskFinished(900))
    d.returns("Ann")
    assert d.last(Generate).agent == "a"
    assert d.context()[-2:] == ["call book c1", "output Ann"]


def test_the_tool_that_completes_a_task_keeps_its_place_in_the_history() -> None:
    d = in_task()
    parent = d.last(RunTool).run
    d.types("Ann")
    d.model("", "record_name")
    d.tell(AgentTaskFinished(900))
    d.returns("recorded")
    d.returns("booked", run=parent)
    assert d.lines[-4:] == ["call record_name c2", "output recorded", "call book c1", "output booked"]
    assert d.last(Generate).agent == "a"


def test_siblings_that_await_tasks_are_served_one_at_a_time() -> None:
    d = Dialogue()
    d.types("both")
    d.model("", "one", "two")
    first, second = (run.run for run in d.all(RunTool))
    d.tell(AgentTaskStarted(901, "t1", run=first), AgentTaskStarted(902, "t2", run=second))
    assert ("on_enter", "t2") not in hooks(d)
    d.tell(AgentTaskFinished(901))
    assert ("on_enter", "t2") in hooks(d)
    d.tell(AgentTaskFinished(902))
    d.returns(run=first)
    d.returns(run=second)
    assert d.last(Generate).agent == "a"


def test_of_siblings_that_wait_the_first_in_call_order_is_served_next() -> None:
    d = Dialogue()
    d.types("all")
    d.model("", "one", "two", "three")
    first, second, third = (run.run for run in d.all(RunTool))
    d.tell(AgentTaskStarted(903, "t3", run=third), AgentTaskStarted(902, "t2", run=second))
    d.tell(AgentTaskStarted(901, "t1", run=first), AgentTaskFinished(903), AgentTaskFinished(901))
    assert [agent for kind, agent in hooks(d) if kind == "on_enter"] == ["a", "t3", "t1", "t2"]


@pytest.mark.parametrize("background", [False, True])
def test_what_waits_inside_a_task_that_is_over_is_dropped_unless_it_works_in_the_background(background: bool) -> None:
    d = in_task()
    d.types("both")
    d.model("", "one", "two")
    first, second = (run.run for run in d.all(RunTool)[1:])
    if background:
        d.tell(ToolUpdated(second, "Working."))
    d.tell(AgentTaskStarted(901, "t1", run=first), AgentTaskStarted(902, "t2", run=second), AgentTaskFinished(900))
    assert (("on_enter", "t2") in hooks(d)) is background
    assert [notice.task for notice in d.all(TaskDropped)] == ([901] if background else [901, 902])


def test_tasks_nest() -> None:
    d = in_task()
    d.types("hello")
    d.model("", "deeper")
    d.tell(AgentTaskStarted(901, "u", run=d.last(RunTool).run))
    d.types("I am here")
    assert d.last(Generate).agent == "u"
    d.tell(AgentTaskFinished(901)).returns(run=d.all(RunTool)[1].run)
    assert d.last(Generate).agent == "t"
    assert d.context()[-2:] == ["output ok", "user: I am here"]


def cut_in_task(call: str) -> Dialogue:
    """The application cut what the caller had asked for; the task's agent makes the call that still awaits the task."""
    d = in_task()
    d.tell(InterruptRequested(None, force=True))
    d.types("what was that?")
    d.model("", call)
    return d


def test_a_task_never_waits_for_the_tool_that_waits_for_the_task() -> None:
    d = cut_in_task("book")
    assert len(d.all(RunTool)) == 1
    assert d.context()[-1].startswith("output `book` is still running")
    d.model("I am on it. Your name?")
    d.played()
    d.types("Ann")
    assert d.context()[-1] == "user: Ann"


def test_what_a_task_cannot_wait_for_is_told_after_it() -> None:
    d = cut_in_task("book")
    booking = d.last(RunTool).run
    d.model("Your name?")
    d.played()
    d.tell(AgentTaskFinished(900)).returns("booked", run=booking)
    assert d.last(Generate).agent == "a"
    assert d.context()[-2:] == ["call book c2/finished", "output booked"]
    d.model("Booked.")
    d.played()
    assert d.core.idle


def test_a_task_never_waits_for_a_tool_whose_own_task_waits_for_its_end() -> None:
    d = Dialogue()
    d.types("both")
    d.model("", "one", "two")
    first, second = (run.run for run in d.all(RunTool))
    d.tell(AgentTaskStarted(901, "t1", run=first), AgentTaskStarted(902, "t2", run=second))
    d.tell(InterruptRequested(None, force=True))
    d.types("what was that?")
    d.model("", "two")
    assert len(d.all(RunTool)) == 2
    d.model("Your name?")
    d.played()
    d.types("Ann")
    assert d.context()[-1] == "user: Ann"


@pytest.mark.parametrize("tasks", [1, 2])
def test_the_clock_of_a_hook_stands_while_it_awaits_a_task(tasks: int) -> None:
    d = Dialogue(hooks=False)
    for task in range(tasks):
        d.tell(AgentTaskStarted(900 + task, f"t{task}", parent="a"))
    for task in range(tasks):
        d.wait(60)
        d.tell(AgentTaskFinished(900 + task))
    d.wait(4)
    assert not d.core.idle
    d.wait(2)
    assert d.core.idle


def test_a_task_awaited_in_on_enter_does_not_wait_for_itself() -> None:
    d = Dialogue(hooks=False)
    d.tell(AgentTaskStarted(900, "t", parent="a"))
    d.tell(UserTurnSubmitted("hello"))
    assert d.last(RunHook).agent == "t"


def test_what_a_task_was_saying_is_said_to_its_end() -> None:
    d = in_task()
    d.types("Ann")
    d.model("Thank you, Ann.")
    d.tell(AgentTaskFinished(900))
    assert not d.all(StopPlayout)
    d.played()
    assert d.lines[-1] == "assistant: Thank you, Ann."


def test_what_a_task_said_last_is_known_to_the_agent_who_goes_on() -> None:
    d = in_task()
    d.types("Ann")
    d.model("Thank you, Ann.")
    d.tell(AgentTaskFinished(900))
    d.returns("Ann")
    assert d.context()[1:] == ["assistant: Thank you, Ann.", "call book c1", "output Ann"]  # while it still sounds
    d.played()
    told = [command for command in d.all(Record) if command.agent == "a" and command.carried]
    assert [getattr(command.item, "text_content", "") for command in told] == ["Thank you, Ann."]
    d.model("Booked for Ann.")
    d.played()
    d.types("thanks")
    assert d.context()[1:4] == ["assistant: Thank you, Ann.", "call book c1", "output Ann"]


def test_a_task_that_ends_while_its_model_writes_stops_it() -> None:
    d = in_task()
    d.types("Ann")
    gen = d.last(Generate)
    d.tell(AgentTaskFinished(900), TextStarted(gen.gen), StepGenerated(gen.gen, "x"))
    assert not d.all(Play)


def test_a_result_that_comes_during_a_hand_off_is_told_by_the_next_agent_who_knows_of_it() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", "slow", "leave")
    slow, leave = d.all(RunTool)
    d.tell(ToolUpdated(slow.run, "started"))
    d.returns("", run=leave.run, reply=False, handoff="b")
    d.model("Goodbye then.")  # the old agent still speaks
    d.returns("it is done", run=slow.run)
    d.played()
    delivery = d.last(Generate)
    assert (delivery.agent, delivery.delivery) == ("b", True)
    assert delivery.unheard == ("c1/finished",)
    assert "output it is done" in d.context(delivery)


def test_what_an_agent_knows_already_is_not_carried_to_it_again() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", "slow", "leave")
    slow, leave = d.all(RunTool)
    d.tell(ToolUpdated(slow.run, "started"))
    d.returns("", run=leave.run, reply=False, handoff="b")
    d.model("Goodbye then.")
    d.returns("it is done", run=slow.run)
    d.played()
    d.tell(HandOffRequested("a"))  # back, before the result is told
    d.tell(StepGenerated(d.last(Generate).gen, ""))
    assert [line for line in d.context() if line == "output it is done"] == ["output it is done"]


def test_what_the_old_agent_told_of_a_result_is_known_to_the_next_one() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", ("work", policy("writes")))
    d.types("hurry")  # over the tool, which goes on
    d.model("One second.", "leave")
    d.returns("it is done", run=d.all(RunTool)[0].run)
    d.returns("", run=d.all(RunTool)[1].run, handoff="b")
    d.played()
    d.model("It is done. Goodbye then.")
    d.played()
    assert "assistant: It is done. Goodbye then." in d.context(d.last(Generate))
    assert d.last(Generate).agent == "b"


def test_a_sign_of_listening_during_a_hand_off_does_not_cut_the_farewell() -> None:
    d = Dialogue()
    d.types("transfer me")
    d.model("", "transfer")
    d.returns("you go to b", handoff="b")
    d.model("I transfer you now. Goodbye.")
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(UserSpeechEnded(), Transcribed("uh huh", True)).wait(0.6)
    assert not d.all(StopPlayout)
    d.played()
    assert "assistant: I transfer you now. Goodbye." in d.lines


def half_told() -> Dialogue:
    """The agent was cut while it told of what it has done."""
    d = Dialogue()
    d.types("book it")
    d.model("", ("work", policy("writes")))
    d.returns("it is booked")
    d.model("It is booked for you.")
    d.types("and put me through")
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "It"))
    return d


def test_what_an_agent_began_to_tell_before_a_later_handoff_is_told_by_the_next_one() -> None:
    d = half_told()
    d.model("", "transfer")
    d.returns("", run=d.last(RunTool).run, reply=False, handoff="b")
    delivery = d.last(Generate)
    assert (delivery.agent, delivery.delivery, delivery.unheard) == ("b", True, ("c1",))
    assert d.context(delivery)[-3:] == ["call work c1", "output it is booked", "assistant: It~"]


def test_the_next_agent_knows_all_that_was_heard_of_what_it_is_to_tell() -> None:
    d = half_told()
    d.model("It is booked, and I put you through.")
    d.types("wait")
    d.played(heard="It is booked")
    d.model("", "transfer")
    d.returns("", run=d.last(RunTool).run, reply=False, handoff="b")
    delivery = d.last(Generate)
    assert delivery.delivery
    assert d.context(delivery)[-2:] == ["assistant: It~", "assistant: It is booked~"]


def test_what_was_told_in_a_whole_reply_is_not_told_again_by_the_next_agent() -> None:
    d = half_told()
    d.model("It is booked, and I put you through.")
    d.played()
    d.types("thanks")
    d.model("", "transfer")
    d.returns("", run=d.last(RunTool).run, reply=False, handoff="b")
    assert not d.last(Generate).delivery and d.core.idle
