"""A text that its voice gave no sound for was not heard: it is said once more, or a line in its place."""

from __future__ import annotations

import pytest

from antiphon.core.commands import Generate, Play, Speak
from antiphon.core.facts import EndRequested, PlayoutFinished, SpeechRequested
from antiphon.core.notices import SpeechDone
from tests.core.dialogue import Dialogue, policy

JSON = '{"voice_instructions": "warm", "response": "It is noon."}'
FAILURE = "I'm sorry, something went wrong on my side. Could you say that again?"
FALLBACK = "I'm sorry, I couldn't work that out. Could you say it another way?"


def lose(d: Dialogue, text: str) -> Dialogue:
    """What was played last has this text, and gave no sound."""
    return d.tell(PlayoutFinished(d.last(Play).segment, "", unsaid=text))


def asked(text: str) -> Dialogue:
    d = Dialogue()
    d.types("what time is it")
    d.model(text)
    return d


def test_an_answer_without_sound_is_said_once_more_by_the_voice_itself() -> None:
    d = lose(asked("It is noon."), "It is noon.")
    again = d.voice("It is noon.")
    assert (again.text, again.directly) == ("It is noon.", True)
    d.played()
    assert d.lines == ["user: what time is it", "assistant: It is noon."]
    assert len(d.all(SpeechDone)) == 1


def test_an_answer_that_has_no_sound_twice_is_apologised_for_once() -> None:
    d = lose(asked("It is noon."), "It is noon.")
    d.voice("It is noon.")
    lose(d, "It is noon.")
    assert d.voice(FAILURE).text == FAILURE
    lose(d, FAILURE)
    assert len(d.all(Speak)) == 2
    assert len(d.all(SpeechDone)) == 1
    assert d.lines == ["user: what time is it"]


@pytest.mark.parametrize("text", [JSON, JSON[:30], f"```json\n{JSON}\n```", '[{"a": 1}]', "👍", "```\nx = 1\n```"])
def test_what_no_voice_can_say_gives_way_to_a_line(text: str) -> None:
    d = lose(asked(text), text)
    assert d.last(Speak).text == FALLBACK
    assert d.last(Speak).directly


def test_what_the_application_says_is_said_once_more_before_its_handle_is_done() -> None:
    d = Dialogue()
    speech = d.say()
    d.voice("One moment.")
    lose(d, "One moment.")
    assert not d.all(SpeechDone)
    assert d.voice("One moment.").text == "One moment."
    d.played()
    assert [e.speech for e in d.all(SpeechDone)] == [speech]
    assert d.lines == ["assistant: One moment."]


def test_what_came_before_an_answer_that_was_heard_is_not_said_once_more() -> None:
    d = Dialogue()
    d.types("book it")
    d.model("Let me see.", "work")
    lose(d, "Let me see.")
    d.returns("done")
    d.model("It is booked.")
    d.played()
    assert not d.all(Speak)
    assert d.lines[-1] == "assistant: It is booked."


def test_what_came_before_a_tool_that_needs_no_answer_is_said_once_more() -> None:
    d = Dialogue()
    d.types("play it")
    d.model("I play it now.", "work")
    lose(d, "I play it now.")
    d.returns("", reply=False)
    assert d.last(Speak).text == "I play it now."


def test_a_result_told_without_sound_stays_owed() -> None:
    d = Dialogue()
    d.types("book it")
    d.model("", ("book", policy("writes")))
    d.returns("number 4711")
    d.model(JSON)
    lose(d, JSON)
    d.voice(FALLBACK)
    d.played()
    delivery = d.last(Generate)
    assert delivery.delivery and delivery.unheard == ("c1",)


def test_a_goodbye_without_sound_ends_the_call_all_the_same() -> None:
    d = Dialogue()
    goodbye = d.say()
    d.tell(EndRequested(goodbye, 2.0))
    d.voice(JSON)
    lose(d, JSON).wait(2.1)
    assert not any(speak.text for speak in d.all(Speak))
    assert d.closed


def test_a_filler_without_sound_is_let_go() -> None:
    d = Dialogue()
    d.tell(SpeechRequested(d.core.new_id(), "filler", record=False))
    assert d.last(Speak).directly
    d.voice("Just a second.")
    lose(d, "Just a second.")
    assert len(d.all(Speak)) == 1
    assert d.all(SpeechDone)
