"""What the caller says over the agent and in passing: a sign of listening while the agent goes on, else an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from antiphon.core.commands import Close, Generate, PausePlayout, Play, ResumePlayout, RunHook, RunTool, StopPlayout
from antiphon.core.facts import (
    EndRequested,
    HookReturned,
    InterruptionsDisallowed,
    InterruptRequested,
    PlayoutFinished,
    PlayoutProgressed,
    SpeechRequested,
    StepGenerated,
    TextStarted,
    Transcribed,
    TurnTaken,
    UserSpeechEnded,
    UserSpeechStarted,
)
from antiphon.core.listening import A_BREATH
from antiphon.options import Interruption, ToolPolicy, TurnHandling
from tests.core.dialogue import SILENCE, Dialogue

QUESTION = "I have a table on Friday. Shall I book it?"


def speaking(text: str, **options: Any) -> Dialogue:
    """The agent says this."""
    d = Dialogue(**options)
    d.types("a table please")
    d.model(text)
    return d


def hums(d: Dialogue, word: str = "okay", *, heard: str = "") -> Dialogue:
    """The caller says a word over the agent, of whom so much was heard, and is silent."""
    d.tell(PlayoutProgressed(d.last(Play).segment, heard), UserSpeechStarted()).wait(0.3)
    return d.tell(Transcribed(word, True), UserSpeechEnded()).wait(SILENCE)


def turns(d: Dialogue) -> list[str]:
    """What became a turn, behind the first one."""
    return [hook.text for hook in d.all(RunHook) if hook.kind == "on_user_turn_completed"][1:]


def test_over_the_last_words_of_the_agent_it_is_an_answer() -> None:
    d = speaking("It is booked for you.")
    hums(d, heard="It is booked")
    assert turns(d) == []
    d.wait(A_BREATH - 0.01).played()
    assert turns(d) == ["okay"]
    assert d.lines == ["user: a table please", "assistant: It is booked for you.", "user: okay"]


def test_while_the_agent_goes_on_for_a_breath_it_is_none() -> None:
    d = speaking("It is booked. You will find us behind the church.")
    hums(d, heard="It is").wait(A_BREATH).played()
    assert turns(d) == [] and d.core.idle


def test_the_agent_goes_on_while_it_is_not_known_what_it_was() -> None:
    d = speaking("It is booked for you.")
    hums(d, heard="It is")
    assert len(d.all(PausePlayout)) == len(d.all(ResumePlayout)) == 1


def test_over_the_question_with_which_the_agent_ends_it_is_an_answer_however_long_that_takes() -> None:
    d = speaking(QUESTION)
    hums(d, heard="I have a table on Friday. Shall").wait(3.0)
    assert turns(d) == []
    d.played()
    assert turns(d) == ["okay"]


def test_before_a_question_that_is_still_to_come_it_is_none() -> None:
    d = speaking(QUESTION)
    hums(d, heard="I have a table").played()
    assert turns(d) == [] and d.core.idle


def test_a_question_that_was_never_asked_is_not_still_to_come() -> None:
    d = speaking(QUESTION)
    sounding = d.last(Generate).segment
    d.tell(PlayoutProgressed(sounding, "I have"), UserSpeechStarted()).wait(0.2)
    d.tell(Transcribed("okay", True), UserSpeechEnded()).played(heard="I have a table").wait(SILENCE)
    assert turns(d) == ["okay"]


def test_a_question_that_is_cut_before_it_was_asked_is_not_still_to_come() -> None:
    d = speaking(QUESTION)
    hums(d, heard="I have").tell(InterruptRequested()).played(heard="I have a table")
    assert turns(d) == ["okay"]


def test_a_question_that_gave_no_sound_and_is_said_once_more_is_still_to_come() -> None:
    d = speaking(QUESTION)
    hums(d).tell(PlayoutFinished(d.last(Play).segment, "", unsaid=QUESTION))
    d.voice(QUESTION)
    d.played()
    assert turns(d) == [] and d.core.idle


def test_over_a_question_behind_which_the_agent_goes_on_it_is_none() -> None:
    d = speaking("Shall I book it? We are open until ten, and on Friday even until midnight.")
    hums(d, heard="Shall I").wait(A_BREATH).played()
    assert turns(d) == [] and d.core.idle


def test_words_that_follow_it_make_a_turn_of_both() -> None:
    d = speaking(QUESTION)
    hums(d, heard="I have a table on Friday. Shall")
    d.tell(UserSpeechStarted()).wait(0.3)
    d.tell(Transcribed("book it", True), UserSpeechEnded()).wait(SILENCE)
    assert turns(d) == ["okay book it"]


def test_two_of_them_over_the_end_are_one_answer() -> None:
    d = speaking(QUESTION)
    hums(d, "mm hmm", heard="I have a table on Friday. Shall")
    hums(d, heard="I have a table on Friday. Shall I").played()
    assert turns(d) == ["mm hmm okay"]


def test_over_the_words_before_a_tool_it_is_answered_with_the_result() -> None:
    d = Dialogue()
    d.types("a table please")
    d.model("Let me look.", "look")
    hums(d).played()
    assert turns(d) == ["okay"] and not d.all(StopPlayout)
    d.returns("free at seven").wait(0.1)
    assert d.context()[-3:] == ["call look c1", "output free at seven", "user: okay"]
    assert len(d.all(Generate)) == 2


def test_over_a_line_that_bridges_a_wait_it_waits_for_the_reply_which_goes_on() -> None:
    d = Dialogue()
    d.types("a table please")
    d.model("It is", complete=False)
    hums(d).wait(A_BREATH)
    d.tell(StepGenerated(d.last(Generate).gen, "It is booked.")).played()
    assert turns(d) == []


def test_a_reply_that_comes_to_nothing_leaves_it_an_answer() -> None:
    d = Dialogue()
    d.types("a table please")
    d.model("Let me look.", "look")
    d.returns("", reply=False)
    hums(d).played()
    assert turns(d) == ["okay"]


def test_over_the_last_words_of_an_agent_that_hands_over_it_is_for_the_next_who_is_silent() -> None:
    d = Dialogue(hooks=False)
    d.tell(HookReturned(d.last(RunHook).hook)).types("billing please")
    d.tell(HookReturned(d.last(RunHook).hook))
    d.model("", "transfer")
    d.returns("ok", handoff="b")
    d.model("I will put you through.")
    hums(d, heard="I will put you").played()
    assert turns(d) == []
    d.tell(HookReturned(d.last(RunHook).hook))
    enter = d.last(RunHook)
    assert (enter.kind, enter.agent) == ("on_enter", "b") and turns(d) == []
    d.tell(HookReturned(enter.hook))
    assert turns(d) == ["okay"] and d.last(RunHook).agent == "b"


def test_the_greeting_of_the_next_agent_is_no_silence_behind_it() -> None:
    d = Dialogue(hooks=False)
    d.tell(HookReturned(d.last(RunHook).hook)).types("billing please")
    d.tell(HookReturned(d.last(RunHook).hook))
    d.model("", "transfer")
    d.returns("ok", handoff="b")
    d.model("I will put you through.")
    hums(d, heard="I will put you").played()
    d.tell(HookReturned(d.last(RunHook).hook))
    greeting = d.core.new_id()
    d.tell(SpeechRequested(greeting, "say", agent="b"), HookReturned(d.last(RunHook).hook))
    d.voice("Billing here, good morning, what can I do for you today?")
    d.wait(A_BREATH).played()
    assert turns(d) == [] and d.lines[-1].startswith("assistant: Billing here")


def test_over_a_goodbye_it_agrees_when_that_has_ended() -> None:
    d = Dialogue()
    d.types("that was all")
    d.model("", "end_call")
    goodbye = d.say()
    d.tell(EndRequested(goodbye, 2.0)).voice("Goodbye, take care.")
    d.returns("", reply=False)
    hums(d, heard="Goodbye,").played()
    assert d.lines[-1] == "user: okay"
    d.tell(HookReturned(d.last(RunHook).hook)).wait(0.1)
    assert d.all(Close)


def test_a_model_that_takes_it_for_a_turn_answers_it_over_a_question_only() -> None:
    for heard, answered in (("I have a table on Friday. Shall", True), ("I have", False)):
        d = speaking(QUESTION, model_hears=True, has_stt=False, turns=TurnHandling(detection="realtime_llm"))
        d.tell(PlayoutProgressed(d.last(Generate).segment, heard), UserSpeechStarted()).wait(0.3)
        d.tell(UserSpeechEnded(), TurnTaken(d.core.new_id(), "okay", False)).wait(0.1).played()
        assert turns(d) == (["okay"] if answered else [])


# -- fewer words than an interruption takes

TWO_WORDS = TurnHandling(interruption=replace(Interruption(), min_words=2))


def test_fewer_words_than_an_interruption_takes_do_not_cut_the_agent_when_their_turn_is_over() -> None:
    d = speaking("It is booked. You will find us behind the church.", turns=TWO_WORDS)
    hums(d, "stop", heard="It is").wait(A_BREATH + 1.0)
    assert turns(d) == [] and not d.all(StopPlayout)


def test_they_are_answered_when_the_agent_has_ended() -> None:
    d = speaking("It is booked. You will find us behind the church.", turns=TWO_WORDS)
    hums(d, "stop", heard="It is").wait(A_BREATH + 1.0).played()
    assert turns(d) == ["stop"]


def test_with_the_words_that_follow_they_cut_the_agent() -> None:
    d = speaking("It is booked. You will find us behind the church.", turns=TWO_WORDS)
    hums(d, "stop", heard="It is")
    d.tell(UserSpeechStarted()).wait(0.3)
    d.tell(Transcribed("please", False))
    assert d.all(StopPlayout)


def test_where_the_agent_is_silent_they_are_a_turn_like_any_other() -> None:
    d = Dialogue(turns=TWO_WORDS)
    d.says("stop")
    assert [hook.text for hook in d.all(RunHook) if hook.kind == "on_user_turn_completed"] == ["stop"]


def test_a_text_of_which_nothing_was_written_yet_asks_nothing() -> None:
    d = Dialogue()
    d.types("a table please")
    d.tell(TextStarted(d.last(Generate).gen))
    hums(d).wait(A_BREATH)
    assert turns(d) == []


def test_while_a_protected_tool_works_it_is_answered_with_what_the_tool_comes_to() -> None:
    d = Dialogue()
    d.types("a table please")
    d.model("", ("book", ToolPolicy(effect="writes")))
    run = d.last(RunTool).run
    d.tell(InterruptionsDisallowed(run), UserSpeechStarted()).wait(0.3)
    d.tell(Transcribed("okay", True))
    d.returns("booked", run=run)
    asked = len(d.all(Generate))
    d.tell(UserSpeechEnded()).wait(SILENCE + 2.0)
    assert len(d.all(Generate)) == asked + 1
    assert {"output booked", "user: okay"} <= set(d.context())
