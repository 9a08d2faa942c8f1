"""Models that take turns and begin responses by themselves."""

from __future__ import annotations

from typing import Any

from antiphon.core.commands import Adopt, CommitAudio, Decline, Generate, Play, Release, RunHook, RunTool, StopPlayout
from antiphon.core.facts import (
    AgentTaskFinished,
    AgentTaskStarted,
    Call,
    CloseRequested,
    EndRequested,
    HandOffRequested,
    HookReturned,
    InterruptionsDisallowed,
    PlayoutStarted,
    ResponseBegan,
    SpeechRequested,
    StepGenerated,
    TextStarted,
    ToolCalled,
    TurnTaken,
    TurnTranscribed,
    UserSpeechEnded,
    UserSpeechStarted,
)
from antiphon.options import Endpointing, SilenceBudget, TurnHandling
from tests.core.dialogue import Dialogue
from tests.core.dialogue import policy as policy_of

LISTENING = {"model_hears": True, "has_stt": False}


class Hearing(Dialogue):
    """A dialogue with a model that ends turns and answers them unasked."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("turns", TurnHandling(detection="realtime_llm"))
        super().__init__(**LISTENING, **options)

    def takes(self, text: str | None = None, *, answered: bool = True) -> int:
        turn = self.core.new_id()
        self.tell(TurnTaken(turn, text, answered))
        return turn

    def begins(self, turn: int | None, *, agent: str = "a", to_results: bool = False) -> int:
        response = self.core.new_id()
        self.tell(ResponseBegan(response, agent, turn, to_results))
        return response

    def adopted(self, text: str) -> Adopt:
        adopt = self.last(Adopt)
        self._texts[adopt.gen] = text
        self.tell(TextStarted(adopt.gen), StepGenerated(adopt.gen, text))
        return adopt

    def heard_all(self, text: str) -> None:
        self.played(self.last(Play).segment, text)


def test_a_response_to_the_callers_turn_is_adopted() -> None:
    d = Hearing()
    response = d.begins(d.takes("what time is it"))
    assert d.last(Adopt).response == response
    d.adopted("It is noon.")
    d.heard_all("It is noon.")
    assert d.lines == ["user: what time is it", "assistant: It is noon."]
    assert not d.all(Generate) and d.core.idle


def test_words_that_come_late_stand_before_the_answer() -> None:
    d = Hearing()
    turn = d.takes()
    d.begins(turn)
    d.adopted("It is noon.")
    d.heard_all("It is noon.")
    assert d.lines == []
    d.tell(TurnTranscribed(turn, "what time is it"))
    assert d.lines == ["user: what time is it", "assistant: It is noon."]


def test_words_that_never_come_hold_the_history_up_for_a_while_only() -> None:
    d = Hearing()
    d.begins(d.takes())
    d.adopted("It is noon.")
    d.heard_all("It is noon.")
    d.wait(5.0)
    assert d.lines == ["assistant: It is noon."]


def test_a_turn_that_is_not_answered_in_time_is_asked_about() -> None:
    d = Hearing(response_timeout=2.0)
    turn = d.takes("hello")
    d.wait(1.9)
    assert not d.all(Generate)
    d.wait(0.2)
    assert d.all(Generate)
    late = d.begins(turn)
    assert d.last(Decline).response == late


def test_a_turn_that_the_model_does_not_answer_unasked_is_asked_about_at_once() -> None:
    d = Hearing()
    d.takes("hello", answered=False)
    assert d.got(Generate)


def test_a_vetoed_turn_is_not_answered() -> None:
    d = Hearing(hooks=False)
    response = d.begins(d.takes("never mind"))
    assert not d.all(Adopt) and not d.all(Decline)
    d.tell(HookReturned(d.last(RunHook).hook, veto=True))
    assert d.last(Decline).response == response and not d.all(Adopt)
    assert d.lines == ["user: never mind"]


def test_what_a_model_says_of_its_own_accord_is_adopted_when_nobody_else_speaks() -> None:
    d = Hearing()
    d.begins(None)
    d.adopted("Are you still there?")
    d.heard_all("Are you still there?")
    assert d.lines == ["assistant: Are you still there?"]


def test_what_a_model_says_of_its_own_accord_is_declined_while_the_agent_speaks() -> None:
    d = Hearing()
    d.say()
    d.voice("Good morning.")
    response = d.begins(None)
    assert d.last(Decline).response == response


def test_an_answer_to_results_that_nobody_asked_for_is_declined() -> None:
    d = Hearing()
    d.begins(None, to_results=True)
    assert d.got(Decline)


def test_nothing_is_adopted_while_the_session_ends() -> None:
    d = Hearing()
    d.tell(CloseRequested(drain=False))
    d.begins(d.takes("wait"))
    assert not d.all(Adopt)


def test_words_that_come_while_their_turn_waits_for_a_protected_tool_are_kept() -> None:
    d = Hearing()
    d.types("book it")
    d.model("", "book")
    d.tell(InterruptionsDisallowed(d.last(RunTool).run))
    turn = d.takes(answered=False)
    d.tell(TurnTranscribed(turn, "for two"))
    d.returns("booked")
    assert d.lines == ["user: book it", "call book c1", "output booked", "user: for two"]


def test_a_turn_over_a_protected_speech_is_asked_about_when_that_is_over() -> None:
    d = Hearing()
    d.say(interruptible=False)
    d.voice("This call may be recorded.")
    segment = d.last(Play).segment
    d.begins(d.takes("hello"))
    assert d.got(Decline) and not d.all(StopPlayout)
    d.played(segment, "This call may be recorded.")
    assert d.all(Generate) and not d.all(Adopt)


def test_the_callers_turn_cuts_the_agent() -> None:
    d = Hearing()
    d.begins(d.takes("tell me a story"))
    d.adopted("Once upon a time there was a king.")
    d.tell(PlayoutStarted(d.last(Play).segment))
    d.tell(UserSpeechStarted()).wait(0.3)
    turn = d.takes("a shorter one")
    assert d.got(StopPlayout)
    d.tell(UserSpeechEnded())
    d.begins(turn)
    assert len(d.all(Adopt)) == 1  # how much was heard of the first is not known yet
    d.played(d.last(StopPlayout).segment, "Once upon")
    assert len(d.all(Adopt)) == 2
    assert d.lines == ["user: tell me a story", "assistant: Once upon~", "user: a shorter one"]


def test_a_voice_cuts_the_agent_by_its_duration() -> None:
    d = Hearing()
    d.begins(d.takes("tell me a story"))
    d.adopted("Once upon a time there was a king.")
    d.tell(PlayoutStarted(d.last(Play).segment), UserSpeechStarted()).wait(0.6)
    assert d.all(StopPlayout)


def test_an_adopted_response_may_call_tools() -> None:
    d = Hearing()
    d.begins(d.takes("what time is it"))
    gen = d.last(Adopt).gen
    d.tell(ToolCalled(gen, Call("c1", "clock", "{}", "{}"), policy_of("reads")), StepGenerated(gen, ""))
    assert d.got(RunTool)
    d.returns("noon")
    assert d.got(Generate)
    d.model("It is noon.")
    d.heard_all("It is noon.")
    assert d.lines == ["user: what time is it", "call clock c1", "output noon", "assistant: It is noon."]


def test_a_pending_response_does_not_survive_a_handoff() -> None:
    d = Hearing()
    d.begins(d.takes("connect me"))
    gen = d.last(Adopt).gen
    d.tell(ToolCalled(gen, Call("c1", "transfer", "{}", "{}"), policy_of()), StepGenerated(gen, ""))
    d.returns("", reply=False, handoff="b")
    d.begins(None)  # by the model of the agent that has left
    assert d.got(Decline)


def test_goodbye_to_a_goodbye_ends_the_call_once_its_words_are_known() -> None:
    d = Hearing()
    speech = d.core.new_id()
    d.tell(SpeechRequested(speech, "say"))
    d.voice("Goodbye.")
    d.tell(EndRequested(speech))
    d.heard_all("Goodbye.")
    turn = d.takes()
    d.begins(turn)
    assert not d.closed and not d.all(Adopt)
    d.tell(TurnTranscribed(turn, "bye"))
    assert d.closed and d.all(Decline)


def test_more_than_goodbye_keeps_the_call_open() -> None:
    d = Hearing()
    speech = d.core.new_id()
    d.tell(SpeechRequested(speech, "say"))
    d.voice("Goodbye.")
    d.tell(EndRequested(speech))
    d.heard_all("Goodbye.")
    turn = d.takes()
    d.begins(turn)
    d.tell(TurnTranscribed(turn, "wait, one more thing"))
    assert d.all(Adopt) and not d.closed


def test_sound_without_words_is_a_turn_for_a_model_that_hears() -> None:
    d = Dialogue(turns=TurnHandling(endpointing=Endpointing(0.5, 1.0)), **LISTENING)
    d.tell(UserSpeechStarted()).wait(0.4)
    d.tell(UserSpeechEnded()).wait(0.4)
    assert not d.all(CommitAudio)
    d.wait(0.2)
    turn = d.last(CommitAudio).turn
    assert d.all(Generate)
    d.tell(TurnTranscribed(turn, "what time is it"))
    assert d.lines == ["user: what time is it"]


def test_a_close_waits_for_words_no_longer_than_its_grace() -> None:
    d = Hearing()
    d.begins(d.takes())
    d.adopted("It is noon.")
    d.heard_all("It is noon.")
    d.tell(CloseRequested(drain=False)).wait(1.0)
    assert d.closed and d.lines == ["assistant: It is noon."]


def test_words_that_come_in_the_grace_of_a_close_are_in_the_history() -> None:
    d = Hearing()
    turn = d.takes()
    d.begins(turn)
    d.adopted("It is noon.")
    d.heard_all("It is noon.")
    d.tell(CloseRequested(drain=False)).wait(0.5)
    assert not d.closed
    d.tell(TurnTranscribed(turn, "what time is it"))
    assert d.closed and d.lines == ["user: what time is it", "assistant: It is noon."]


def test_a_turn_that_nobody_had_looked_at_when_the_call_ended_gets_its_words() -> None:
    d = Hearing(hooks=False)
    d.tell(HookReturned(d.last(RunHook).hook))
    turn = d.takes()
    d.tell(CloseRequested(drain=False), HookReturned(d.last(RunHook).hook), TurnTranscribed(turn, "what time is it"))
    d.wait(1.0)
    assert d.closed and d.lines == ["user: what time is it"]


def test_an_answer_to_the_latest_turn_waits_also_while_an_earlier_one_is_owed() -> None:
    d = Hearing(hooks=False)
    first = d.takes("hello")
    d.tell(HookReturned(d.last(RunHook).hook))
    d.begins(first)
    second = d.takes("what time is it")  # before anything of the answer was heard
    latest = d.begins(second)
    d.tell(HookReturned(d.last(RunHook).hook))
    assert d.last(Adopt).response == latest and len(d.all(Adopt)) == 2


def test_a_sound_too_short_to_interrupt_is_no_turn() -> None:
    d = Dialogue(turns=TurnHandling(endpointing=Endpointing(0.5, 1.0)), **LISTENING)
    d.say()
    d.voice("Once upon a time there was a king.")
    d.tell(PlayoutStarted(d.last(Play).segment), UserSpeechStarted()).wait(0.2)
    d.tell(UserSpeechEnded()).wait(2.0)
    assert not d.all(CommitAudio) and not d.all(StopPlayout)


def test_a_voice_that_is_noticed_late_over_what_is_protected_is_a_turn() -> None:
    d = Dialogue(turns=TurnHandling(endpointing=Endpointing(0.5, 1.0)), **LISTENING)
    d.say(interruptible=False)
    d.voice("Once upon a time there was a king.")
    d.tell(PlayoutStarted(d.last(Play).segment), UserSpeechStarted(voice=0.1)).wait(0.6)
    d.tell(UserSpeechEnded(silence=0.2)).wait(2.0)
    assert d.all(CommitAudio)


def test_a_sound_that_interrupted_is_a_turn_however_short_it_proves_to_be() -> None:
    d = Dialogue(**LISTENING)
    d.say()
    d.voice("Once upon a time there was a king.")
    d.tell(PlayoutStarted(d.last(Play).segment), UserSpeechStarted()).wait(0.5)
    assert d.all(StopPlayout)
    d.played(d.last(Play).segment, "Once")
    d.tell(UserSpeechEnded(silence=0.2)).wait(2.0)
    assert d.all(CommitAudio)


def test_another_agent_answers_what_it_did_not_hear_once_its_words_are_known() -> None:
    d = Hearing(hooks=False)
    d.tell(HookReturned(d.last(RunHook).hook))
    turn = d.takes(answered=False)
    judged = d.last(RunHook)
    d.tell(HandOffRequested("b"), HookReturned(judged.hook))
    while d.last(RunHook).agent != "b" or d.last(RunHook).kind != "on_enter":
        d.tell(HookReturned(d.last(RunHook).hook))
    d.tell(HookReturned(d.last(RunHook).hook))
    assert not d.all(Generate)
    d.tell(TurnTranscribed(turn, "what time is it"))
    assert d.last(Generate).agent == "b"
    assert "user: what time is it" in d.lines


def test_a_reply_to_results_does_not_answer_what_its_agent_has_not_heard() -> None:
    d = Hearing()
    d.begins(d.takes("book it"))
    gen = d.last(Adopt).gen
    d.tell(ToolCalled(gen, Call("c1", "ask", "{}", "{}"), policy_of()), StepGenerated(gen, ""))
    d.tell(AgentTaskStarted(900, "task", run=d.last(RunTool).run))
    turn = d.takes()
    d.begins(turn, agent="task")
    d.tell(AgentTaskFinished(900))
    d.returns("four")
    d.model("For four.")
    d.heard_all("For four.")
    asked = len(d.all(Generate))
    d.tell(TurnTranscribed(turn, "and hurry"))
    assert len(d.all(Generate)) > asked and d.context()[-1] == "user: and hurry"


def test_a_turn_that_came_during_a_handoff_is_asked_about_at_once() -> None:
    d = Hearing(hooks=False)
    d.tell(HookReturned(d.last(RunHook).hook))
    d.tell(HandOffRequested("b"))
    leaving = d.last(RunHook)
    d.takes("hello")
    d.tell(HookReturned(leaving.hook))
    d.tell(HookReturned(d.last(RunHook).hook))
    assert d.last(Generate).agent == "b"


def test_the_silence_before_the_model_ended_a_turn_counts() -> None:
    d = Hearing(silence=SilenceBudget())
    d.tell(UserSpeechStarted()).wait(1.0)
    d.tell(UserSpeechEnded(silence=0.5)).wait(0.1)
    d.begins(d.takes("book it"))
    d.wait(0.9)  # 1.5 after the voice
    assert d.all(Release)


def spoken_over(heard: str) -> Hearing:
    """A write is done, `heard` was heard of what tells it, and the model answers the next turn by itself."""
    d = Hearing()
    d.begins(d.takes("book it"))
    gen = d.last(Adopt).gen
    d.tell(ToolCalled(gen, Call("c1", "book", "{}", "{}"), policy_of("writes")), StepGenerated(gen, ""))
    d.returns("number 4711")
    d.model("The number is 4711.")
    d.tell(PlayoutStarted(d.last(Play).segment))
    turn = d.takes("and what time is it")
    d.heard_all(heard)
    d.begins(turn)
    d.adopted("It is noon.")
    return d


def test_an_answer_that_nobody_asked_for_tells_no_result() -> None:
    d = spoken_over("")
    d.heard_all("It is noon.")
    assert d.last(Generate).delivery and d.last(Generate).unheard == ("c1",)


def test_what_was_told_in_part_is_asked_for_behind_an_answer_that_nobody_asked_for() -> None:
    d = spoken_over("The number")
    d.heard_all("It is noon.")
    assert d.last(Generate).delivery and d.last(Generate).unheard == ("c1",)
    d.model()
    assert d.core.idle
