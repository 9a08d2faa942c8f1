"""From calls to results to the next response: order, bounds, and never silence."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.core.commands import CancelTool, Generate, Play, RunTool, Speak, StopGenerating
from antiphon.core.facts import (
    Call,
    EndRequested,
    GenerationFailed,
    Handoff,
    RunSuspended,
    StepGenerated,
    TextStarted,
    ToolCalled,
    ToolReturned,
)
from antiphon.core.notices import SpeechFailed, ToolEnded, ToolStepsUsedUp
from antiphon.options import ToolPolicy
from tests.core.dialogue import Dialogue, policy


def asked(*calls: tuple[str, ToolPolicy] | str, text: str = "", **options: Any) -> Dialogue:
    d = Dialogue(**options)
    d.types("go")
    d.model(text, *calls)
    return d


def test_a_call_runs_the_moment_it_is_complete() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", "find", complete=False)
    assert d.last(RunTool).call.name == "find"


def test_the_model_is_asked_again_the_moment_the_results_are_in() -> None:
    d = asked("find", text="Let me look.")
    d.returns("found")
    assert d.context() == ["user: go", "assistant: Let me look.", "call find c1", "output found"]
    assert len(d.all(Generate)) == 2


def test_the_follow_up_waits_for_the_whole_response() -> None:
    d = Dialogue()
    d.types("go")
    gen = d.model("", "find", complete=False)
    d.returns("found")
    assert len(d.all(Generate)) == 1
    d.tell(StepGenerated(gen.gen, ""))
    assert len(d.all(Generate)) == 2


def test_parallel_calls_run_together_and_are_recorded_in_call_order() -> None:
    d = asked("slow", "fast")
    slow, fast = (run.run for run in d.all(RunTool))
    d.returns("fast result", run=fast)
    assert len(d.all(Generate)) == 1
    d.returns("slow result", run=slow)
    assert d.lines == [
        "user: go",
        "call slow c1",
        "output slow result",
        "call fast c2",
        "output fast result",
    ]


def test_calls_that_write_run_one_after_another_in_call_order() -> None:
    d = asked(("first", policy("writes")), ("second", policy("writes")))
    assert [run.call.name for run in d.all(RunTool)] == ["first"]
    d.returns()
    assert [run.call.name for run in d.all(RunTool)] == ["first", "second"]


def test_what_a_tool_says_stands_before_its_round() -> None:
    d = asked("find")
    d.say(run=d.last(RunTool).run)
    d.voice("One second.")
    d.returns("found")
    told = ["user: go", "assistant: One second.", "call find c1", "output found"]
    assert d.context() == told
    d.played()
    assert d.lines == told


def test_a_rejected_call_is_answered_without_running() -> None:
    d = Dialogue()
    d.types("go")
    gen = d.last(Generate)
    d.tell(ToolCalled(gen.gen, Call("c", "nope", "{}"), ToolPolicy(), rejected="Unknown function: nope"))
    d.tell(StepGenerated(gen.gen, ""))
    assert d.lines[1:] == ["call nope c", "error Unknown function: nope"]
    assert not d.all(RunTool)
    assert len(d.all(Generate)) == 2


def test_a_silent_result_needs_no_reply() -> None:
    d = asked("note")
    d.returns("", reply=False)
    assert len(d.all(Generate)) == 1
    assert d.core.idle


def test_after_the_last_round_the_model_must_answer_without_tools() -> None:
    d = Dialogue(max_tool_steps=2)
    d.types("go")
    for _ in range(2):
        assert d.last(Generate).tools
        d.model("", "find")
        d.returns()
    assert not d.last(Generate).tools
    d.model("Done.")
    d.played()
    assert d.lines[-1] == "assistant: Done."


def test_the_request_behind_the_last_round_says_that_there_are_no_more() -> None:
    d = Dialogue(max_tool_steps=2)
    d.types("go")
    for used in (0, 0):
        assert d.last(Generate).steps_used == used
        d.model("", "find")
        assert not d.all(ToolStepsUsedUp)
        d.returns()
    assert d.last(Generate).steps_used == 2
    assert [notice.steps for notice in d.all(ToolStepsUsedUp)] == [2]
    d.model("", "find")
    again = d.last(Generate)
    assert again.retry and again.steps_used == 2
    assert [call.name for call in again.not_made] == ["find"]
    assert len(d.all(ToolStepsUsedUp)) == 1


def test_a_chain_that_ends_with_a_goodbye_or_a_hand_off_is_not_cut() -> None:
    for end in (EndRequested(1), Handoff("b", "b")):
        d = Dialogue(max_tool_steps=1)
        d.types("go")
        d.model("", "leave")
        if isinstance(end, Handoff):
            d.tell(ToolReturned(d.last(RunTool).run, "went", handoff=end))
        else:
            d.tell(EndRequested(d.last(Generate).speech))
            d.returns()
        assert not d.last(Generate).tools
        assert not d.last(Generate).steps_used
        assert not d.all(ToolStepsUsedUp)


def test_a_call_made_where_none_is_allowed_is_dropped() -> None:
    d = Dialogue(max_tool_steps=1)
    d.types("go")
    d.model("", "find")
    d.returns()
    runs = len(d.all(RunTool))
    d.model("Fine.", "find")
    assert len(d.all(RunTool)) == runs
    d.played()
    assert d.lines[-1] == "assistant: Fine."


def test_a_disobedient_model_at_the_step_limit_is_asked_once_more_and_then_the_fallback_line_is_said() -> None:
    d = Dialogue(max_tool_steps=1)
    d.types("go")
    d.model("", "find")
    d.returns()
    d.model("", "find")
    assert d.last(Generate).retry and not d.last(Generate).tools
    d.model("", "find")
    assert "work that out" in (d.last(Speak).text or "")
    d.voice(d.last(Speak).text or "")
    d.played()
    assert d.lines[-1].startswith("assistant: I'm sorry")


def test_an_empty_answer_is_not_left_as_silence() -> None:
    d = Dialogue()
    d.types("go")
    d.model("")
    assert d.last(Generate).retry
    d.model("Here I am.")
    assert d.got(Play) or d.all(Play)


def test_an_empty_follow_up_is_fine_where_the_tool_has_spoken() -> None:
    d = asked("book")
    d.say(run=d.last(RunTool).run)
    d.voice("Booked.")
    d.played()
    d.returns()
    d.model("")
    assert not d.last(Generate).retry
    assert d.core.idle


def test_words_before_a_call_are_no_answer_to_its_result() -> None:
    d = Dialogue()
    d.types("go")
    d.model("Let me look.", "find")
    d.returns()
    d.model("")
    assert d.last(Generate).retry
    d.model("")
    assert "work that out" in (d.last(Speak).text or "")


def test_what_a_tool_said_is_no_answer_to_the_next_one() -> None:
    d = asked("book")
    d.say(run=d.last(RunTool).run)
    d.voice("Booked.")
    d.played()
    d.returns()
    d.model("", "confirm")
    d.returns()
    d.model("")
    assert d.last(Generate).retry


def test_no_tools_at_all_with_a_limit_of_zero() -> None:
    d = Dialogue(max_tool_steps=0)
    d.types("go")
    assert not d.last(Generate).tools


def test_each_turn_has_its_own_rounds() -> None:
    d = Dialogue(max_tool_steps=1)
    for _ in range(2):
        d.types("go")
        assert d.last(Generate).tools
        d.model("", "find")
        d.returns()
        d.model("Done.")
        d.played()


@pytest.mark.parametrize(
    ("effect", "limit", "text", "is_unknown"),
    [("reads", 30.0, "did not answer within 30 seconds", False), ("unsaid", 30.0, "do not repeat it", True)],
)
def test_a_tool_that_hangs_is_stopped_at_its_limit(effect: str, limit: float, text: str, is_unknown: bool) -> None:
    d = asked(("hang", ToolPolicy(effect=effect, timeout=limit)))  # type: ignore[arg-type]
    d.wait(limit - 0.01)
    assert not d.all(CancelTool)
    d.wait(0.02)
    assert d.all(CancelTool)
    assert text in d.lines[-1] and d.lines[-1].startswith("error")
    assert d.all(ToolEnded)[-1].outcome == ("unknown" if is_unknown else "error")
    assert len(d.all(Generate)) == 2


def test_the_clock_stands_while_the_tool_waits_for_the_caller() -> None:
    d = asked(("form", ToolPolicy(timeout=5.0)))
    d.tell(RunSuspended(d.last(RunTool).run)).wait(100)
    assert not d.all(CancelTool)


def test_late_doubled_and_orphaned_facts_are_refused() -> None:
    d = asked("find")
    run = d.last(RunTool).run
    d.returns("first")
    before = list(d.commands)
    d.tell(
        ToolReturned(run, "second"),
        ToolReturned(999, "whose?"),
        StepGenerated(d.all(Generate)[0].gen, "again"),
        TextStarted(d.all(Generate)[0].gen),
    )
    assert d.commands == before


def test_a_model_that_fails_is_spoken_about() -> None:
    d = Dialogue()
    d.types("go")
    d.tell(GenerationFailed(d.last(Generate).gen, "500"))
    d.voice(d.last(Speak).text or "")
    d.played()
    assert "something went wrong" in d.lines[-1]
    assert d.all(SpeechFailed)[0].error == "500"


def test_a_model_that_never_answers_is_stopped_and_spoken_about() -> None:
    d = Dialogue()
    d.types("go")
    d.wait(10.01)
    assert d.all(StopGenerating)
    assert d.all(Speak)


def test_a_model_that_fails_after_its_calls_does_not_make_them_twice() -> None:
    d = Dialogue()
    d.types("go")
    gen = d.model("", "book", complete=False)
    d.tell(GenerationFailed(gen.gen, "cut"))
    d.returns("booked")
    assert len(d.all(RunTool)) == 1
    assert d.context()[-1] == "output booked"


def test_a_failed_line_of_the_core_itself_ends_the_speech() -> None:
    d = Dialogue()
    d.types("go")
    d.tell(GenerationFailed(d.last(Generate).gen, "500"))
    d.tell(GenerationFailed(d.last(Speak).gen, "no voice"))
    assert d.core.idle


@pytest.mark.parametrize(("mode", "runs"), [("allow", 2), ("reject", 1), ("confirm", 1), ("replace", 2)])
def test_duplicate_modes(mode: str, runs: int) -> None:
    d = asked(("fly", ToolPolicy(on_duplicate=mode)), ("fly", ToolPolicy(on_duplicate=mode)))  # type: ignore[arg-type]
    assert len(d.all(RunTool)) == runs
    assert bool(d.all(CancelTool)) == (mode == "replace")


def test_a_confirmed_duplicate_runs() -> None:
    d = Dialogue()
    d.types("go")
    gen = d.model("", ("fly", ToolPolicy(on_duplicate="confirm")), complete=False)
    again = Call("x", "fly", "{}", "{}", confirmed=True)
    d.tell(ToolCalled(gen.gen, again, ToolPolicy(on_duplicate="confirm")))
    assert d.last(RunTool).call is again


def test_a_round_that_wants_no_reply_does_not_end_a_turn_whose_earlier_round_wanted_one() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", "first")
    d.returns("a result to be told")
    d.model("", "second")
    d.returns("", reply=False)
    assert len(d.all(Generate)) == 3
    d.model("Here is what I found.")
    assert d.all(Play)


def test_it_does_once_that_was_said() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", "first")
    d.returns("a result to be told")
    d.model("Here is what I found.", "second")
    d.returns("", reply=False)
    assert len(d.all(Generate)) == 2
