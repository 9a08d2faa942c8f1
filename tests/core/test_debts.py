"""What the caller is owed: who tells a result, and when it counts as told."""

from __future__ import annotations

from antiphon.core.commands import Generate, Play, RunTool
from antiphon.core.facts import (
    AgentTaskFinished,
    AgentTaskStarted,
    GenerationFailed,
    InterruptionsDisallowed,
    PlayoutProgressed,
    SpeechRequested,
)
from tests.core.dialogue import Dialogue, policy

BOOK, LOOK = ("book", policy("writes")), ("look", policy("reads"))


def booked() -> Dialogue:
    """A write is done, and the model is asked to tell what came of it."""
    d = Dialogue()
    d.types("book it")
    d.model("", BOOK)
    return d.returns("number 4711")


def cut_after(heard: str) -> Dialogue:
    """The caller goes on while one call of a round is done and the next runs. `heard`: of the text before them."""
    d = Dialogue()
    d.types("book it, and look")
    d.model("One moment please.", BOOK, LOOK)
    d.tell(PlayoutProgressed(d.last(Play).segment, heard))
    d.returns("number 4711")
    d.types("wait")
    return d.played(heard=heard)


def test_the_failure_line_tells_no_result() -> None:
    d = booked()
    d.tell(GenerationFailed(d.last(Generate).gen, "broken"))
    d.voice("Something went wrong.")
    d.played()
    assert d.last(Generate).delivery
    assert d.last(Generate).unheard == ("c1",)


def test_the_line_of_an_answer_that_stays_out_tells_no_result() -> None:
    d = booked()
    d.model()
    d.model()
    d.voice("I could not work that out.")
    d.played()
    assert d.last(Generate).delivery
    assert d.last(Generate).unheard == ("c1",)


def test_the_result_of_a_round_that_is_cut_is_told_by_the_next_reply() -> None:
    d = cut_after("One moment please.")
    assert "output number 4711" in d.context()
    assert d.last(Generate).unheard == ("c1",)
    d.model("It is number 4711.")
    d.played()
    assert d.last(Generate).delivery  # its model may have answered the turn only, and is asked whether it has
    d.model()
    assert d.core.idle


def test_what_was_heard_before_a_round_tells_nothing_of_it() -> None:
    assert cut_after("One moment").last(Generate).unheard == ("c1",)


def test_a_result_told_in_part_by_a_task_is_known_to_the_agent_after_it() -> None:
    d = Dialogue()
    d.tell(AgentTaskStarted(900, "t"))
    d.types("book it")
    d.model("", BOOK)
    d.returns("number 4711")
    d.model("It is number 4711.")
    d.types("what?")
    d.played(heard="It is")
    d.tell(AgentTaskFinished(900))
    assert "output number 4711" in d.context()


def test_a_round_is_written_before_a_turn_is_answered() -> None:
    d = booked()
    d.model("It is number 4711.")
    unheard = d.last(Play).segment
    d.tell(SpeechRequested(900, "reply", user_input="and charge it"))
    d.model("", ("charge", policy("writes")))
    d.tell(InterruptionsDisallowed(d.last(RunTool).run))
    d.types("hang on")
    d.played(unheard, heard="")
    asked = len(d.all(Generate))
    d.returns("charged 99")
    assert len(d.all(Generate)) == asked + 1
    assert "output charged 99" in d.context()
    assert d.context()[-1] == "user: hang on"
    assert d.last(Generate).unheard == ("c1",)


def test_what_an_agent_that_leaves_without_a_word_did_is_told_by_the_next() -> None:
    d = Dialogue()
    d.types("book it and put me through")
    d.model("", ("book", policy("writes")), "transfer")
    d.returns("number 4711")
    d.returns("", reply=False, handoff="b")
    d.model("")
    d.model("")  # it is asked once more
    request = d.last(Generate)
    assert (request.agent, request.unheard) == ("b", ("c1",))
    assert "output number 4711" in d.context(request)
