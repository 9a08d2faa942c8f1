"""A caller who only asks whether somebody is there, while a reply is being made of which nothing has sounded."""

from __future__ import annotations

import pytest

from antiphon.core.commands import CancelTool, Generate, Play, ReleaseRun, RunHook, StopGenerating
from antiphon.core.facts import (
    HookReturned,
    PlayoutProgressed,
    PlayoutStarted,
    StepGenerated,
    TextStarted,
    Transcribed,
    UserSpeechStarted,
)
from antiphon.core.notices import SpeechInterrupted
from antiphon.language import GERMAN
from antiphon.options import Effect
from tests.core.dialogue import Dialogue, policy


def asked() -> Dialogue:
    """The model was asked for a reply."""
    d = Dialogue()
    d.says("a table please")
    return d


@pytest.mark.parametrize("words", ["Hello?", "are you there", "Hello? Hello? Can you hear me?"])
def test_it_does_not_cut_the_reply_which_answers_both(words: str) -> None:
    d = asked()
    d.wait(1.0).says(words)
    assert not d.all(StopGenerating)
    d.model("For how many?")
    d.played()
    assert d.lines == ["user: a table please", f"user: {words}", "assistant: For how many?"]
    assert len(d.all(Generate)) == 1 and d.core.idle


def test_it_stands_before_a_reply_whose_text_has_begun() -> None:
    d = asked()
    d.tell(TextStarted(d.last(Generate).gen)).types("hello?")
    d.tell(StepGenerated(d.last(Generate).gen, "For how many?"))
    d.played()
    assert d.lines == ["user: a table please", "user: hello?", "assistant: For how many?"]
    assert len(d.all(Generate)) == 1 and d.core.idle


@pytest.mark.parametrize("effect", ["reads", "unsaid", "writes"])
def test_it_takes_no_tool_its_call_and_the_request_behind_the_round_knows_it(effect: Effect) -> None:
    d = asked()
    d.model("", ("find", policy(effect)))
    d.says("hello?")
    assert not any(isinstance(command, (ReleaseRun, CancelTool)) for command in d.commands)
    d.returns("a table at eight")
    assert d.context()[-2:] == ["output a table at eight", "user: hello?"]
    d.model("At eight.")
    d.played()
    assert len(d.all(Generate)) == 2 and d.core.idle


def test_a_tool_that_wants_no_reply_leaves_it_to_be_answered() -> None:
    d = asked()
    d.model("", "note")
    d.says("hello?")
    d.returns("", reply=False)
    assert d.context()[-1] == "user: hello?" and len(d.all(Generate)) == 2


def test_words_that_may_become_it_do_not_cut_and_those_that_ask_for_more_do() -> None:
    d = asked()
    d.tell(TextStarted(d.last(Generate).gen), UserSpeechStarted()).wait(0.3)
    d.tell(Transcribed("are you", False))
    assert not d.all(SpeechInterrupted)
    d.tell(Transcribed("are you open", False))
    assert d.got(SpeechInterrupted)


def test_once_anything_of_the_reply_has_sounded_it_cuts() -> None:
    d = asked()
    d.model("For how many people shall it be?")
    segment = d.last(Play).segment
    d.tell(PlayoutStarted(segment), PlayoutProgressed(segment, "For")).types("hello?")
    assert d.got(SpeechInterrupted)


def test_where_nothing_is_made_it_is_a_turn_like_any_other() -> None:
    d = Dialogue()
    d.says("hello?")
    assert len(d.all(Generate)) == 1


def test_a_hook_that_changes_the_words_makes_it_a_turn_of_its_own() -> None:
    d = Dialogue(hooks=False)
    d.types("a table please")
    d.tell(HookReturned(d.last(RunHook).hook))
    d.types("hello?")
    d.tell(HookReturned(d.last(RunHook).hook, text="hello? It is Ann, who called before."))
    assert len(d.all(Generate)) == 2
    assert d.context()[-1] == "user: hello? It is Ann, who called before."


def test_a_reply_that_is_cut_before_it_sounds_leaves_both_to_be_answered() -> None:
    d = asked()
    d.says("hello?")
    d.says("for four people")
    assert d.context() == ["user: a table please", "user: hello?", "user: for four people"]
    assert len(d.all(Generate)) == 2


def test_a_reply_that_comes_to_nothing_is_asked_for_once_more_and_answers_it() -> None:
    d = asked()
    d.says("hello?")
    d.model("")
    assert d.last(Generate).retry and d.context()[-1] == "user: hello?"
    d.model("For how many?")
    d.played()
    assert len(d.all(Generate)) == 2 and d.core.idle


def test_it_is_asked_in_the_language_of_the_caller() -> None:
    d = Dialogue(language=GERMAN.phrases)
    d.says("einen Tisch bitte")
    d.says("Hallo? Sind Sie noch da?")
    d.model("Für wie viele?")
    assert len(d.all(Generate)) == 1
