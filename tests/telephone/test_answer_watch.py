"""Whoever, or whatever, answers a call from here: it is told in two seconds, and a message is left as a whole."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from antiphon import Agent, AgentSession
from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.language.answering import Who
from antiphon.testing import FakeLLM, run_virtual, silence, speech, transcript
from antiphon.toolkit import AnswerWatch, CallAnsweredEvent, LeaveMessage, MessageLeftEvent
from tests.telephone.carrier import FakeCall, Person
from tests.telephone.desk import desk

NUMBER = "+15550123456"
MESSAGE = "This is Bright Smile about your appointment tomorrow at nine. Please call us back at five five five one."
GREETING = "Hi you've reached Dave. I can't come to the phone right now so please leave a message after the beep"
RATE = 8_000


def voice(seconds: float) -> AudioFrame:
    return speech(seconds, RATE)


def pause(seconds: float) -> AudioFrame:
    return silence(seconds, RATE)


def beep(seconds: float = 0.4, frequency: float = 1000.0) -> AudioFrame:
    wave = (round(8000 * math.sin(2 * math.pi * frequency * n / RATE)) or 1 for n in range(round(seconds * RATE)))
    return AudioFrame(array("h", wave).tobytes(), RATE)


class Reminding(Agent):
    """Begins as soon as somebody is there."""

    async def on_enter(self) -> None:
        self.session.say("Good morning, this is Bright Smile Dental, am I speaking with Mr Miller?")


@dataclass
class Met:
    """What a call met with."""

    who: list[tuple[float, str]] = field(default_factory=list)
    """With seconds since it was answered."""
    left: list[MessageLeftEvent] = field(default_factory=list)
    call: FakeCall | None = None
    took: float = 0.0
    """Seconds that the call took."""
    said: list[str] = field(default_factory=list)
    answered_at: float = 0.0
    watch: AnswerWatch | None = None

    @property
    def names(self) -> list[str]:
        return [who for _, who in self.who]

    def sounds(self) -> list[tuple[float, float]]:
        """What sounded of the agent, from and until which second of the call."""
        assert self.call is not None
        pieces: list[tuple[float, float]] = []
        for one in self.call.heard:
            if not any(one.frame.data):
                continue
            start = one.at - self.answered_at
            end = start + one.frame.duration
            if pieces and start - pieces[-1][1] < 0.1:
                pieces[-1] = (pieces[-1][0], end)
            else:
                pieces.append((start, end))
        return pieces


def meet(
    plays: Sequence[AudioFrame],
    hears: Sequence[str],
    *,
    hang_up_at: float | None = None,
    leaves: float | None = None,
    most: float = 60.0,
    replies: Any = None,
    **plan: Any,
) -> Met:
    """A call to somebody who plays this and is understood so."""
    met = Met()

    def prepare(session: AgentSession[Any]) -> None:
        loop = asyncio.get_running_loop()
        met.answered_at = loop.time()
        met.watch = AnswerWatch(session, **plan)

        def told(event: CallAnsweredEvent) -> None:
            met.who.append((round(loop.time() - met.answered_at, 2), event.who))

        session.on("call_answered", told)
        session.on("message_left", met.left.append)

    async def run() -> Met:
        llm = FakeLLM(replies or {"": "I see."}, ttft=0.1)
        person = Person(plays=plays, leaves=leaves)
        async with desk(
            people={NUMBER: person},
            hears=hears,
            agent=lambda: Reminding(instructions=""),
            llm=lambda: llm,
            prepare=prepare,
        ) as there:
            call = await there.server.dial(NUMBER)
            assert await call.answered()
            (met.call,) = there.carrier.calls.values()
            if hang_up_at is not None:
                await asyncio.sleep(hang_up_at)
                await met.call.hang_up()
            try:
                async with asyncio.timeout(most):
                    await call.over()
            except TimeoutError:
                await met.call.hang_up()
            met.took = asyncio.get_running_loop().time() - met.answered_at
            await call.over()
            await there.door.drain()
            met.said = transcript(there.sessions[0].history)
            assert not there.sessions[0].is_running
        return met

    return run_virtual(run(), timeout=300.0)


def test_a_person_is_talked_to_from_the_first_moment() -> None:
    met = meet([pause(0.5), voice(0.6)], ["Hello?"], most=10.0)
    assert met.names == ["person"]
    assert met.sounds()[0][0] < 1.0
    assert "user: Hello?" in met.said and "assistant: I see." in met.said
    assert met.watch is not None and met.watch.who is Who.PERSON and met.watch.sign == ""


def test_a_voicemail_is_known_in_two_seconds_of_its_words_and_hung_up_on() -> None:
    met = meet([pause(0.5), voice(6.5), pause(0.7), beep()], [GREETING])
    assert met.names[-1] == "voicemail"
    assert met.who[-1][0] - 0.5 < 2.0
    assert met.took < 11.0
    assert met.left == []


def test_a_message_is_left_whole_behind_the_tone() -> None:
    met = meet([pause(0.5), voice(6.5), pause(0.7), beep(0.4)], [GREETING], on_voicemail=LeaveMessage(MESSAGE))
    (left,) = met.left
    assert left.whole and left.after_tone and left.text == MESSAGE
    *_, message = met.sounds()
    assert 8.1 < message[0] < 9.0  # the tone ends 8.1 s after the stream began
    assert met.took - message[1] < 2.0
    assert met.said[-1] == f"assistant: {MESSAGE}"
    assert met.watch is not None and met.watch.message is left


def test_the_agent_says_nothing_over_the_greeting_once_it_is_known() -> None:
    met = meet(
        [pause(0.5), voice(3.0), pause(1.5), voice(4.0), pause(1.5), beep()],
        ["Hi you've reached Dave and Carol", "we can't come to the phone please leave a message"],
        on_voicemail=LeaveMessage(MESSAGE),
    )
    known = met.who[-1][0]
    assert met.names[-1] == "voicemail"
    assert [start for start, _ in met.sounds() if known + 0.3 < start < 10.5] == []
    assert "assistant: I see." not in met.said
    assert met.left[0].whole


def test_a_greeting_with_pauses_is_waited_for() -> None:
    plays = [pause(0.3), voice(2.0), pause(2.5), voice(2.0), pause(3.5), voice(1.5), pause(4.0), beep()]
    met = meet(
        plays,
        ["You have reached the Millers", "leave a message", "thank you"],
        on_voicemail=LeaveMessage(MESSAGE),
    )
    (left,) = met.left
    assert left.whole and left.after_tone
    assert met.sounds()[-1][0] > sum(piece.duration for piece in plays)


def test_without_a_tone_the_message_is_said_when_the_greeting_is_over() -> None:
    met = meet([pause(0.5), voice(6.0)], [GREETING], on_voicemail=LeaveMessage(MESSAGE, silence=4.0))
    (left,) = met.left
    assert left.whole and not left.after_tone
    assert 10.0 < met.sounds()[-1][0] < 12.0


def test_a_greeting_that_does_not_end_is_talked_over_at_the_deadline() -> None:
    met = meet([pause(0.5), voice(40.0)], [GREETING], on_voicemail=LeaveMessage(MESSAGE, deadline=15.0))
    (left,) = met.left
    assert left.whole and not left.after_tone
    assert 15.0 < met.sounds()[-1][0] < 19.0


def test_a_second_tone_has_the_message_said_from_its_beginning() -> None:
    plays = [pause(0.5), voice(5.0), pause(0.4), beep(0.3), pause(2.0), voice(1.0), pause(0.3), beep(0.5)]
    met = meet(plays, [GREETING, "", "and press one"], on_voicemail=LeaveMessage(MESSAGE))
    (left,) = met.left
    assert left.whole and left.after_tone and left.text == MESSAGE
    *_, first, second = met.sounds()
    end = sum(piece.duration for piece in plays)
    assert first[0] < end < second[0] < end + 1.0
    assert met.said[-1] == f"assistant: {MESSAGE}"


def test_two_tones_close_together_begin_it_once() -> None:
    plays = [pause(0.5), voice(5.0), pause(0.4), beep(0.2), pause(0.25), beep(0.2)]
    met = meet(plays, [GREETING], on_voicemail=LeaveMessage(MESSAGE))
    assert met.left[0].whole
    assert len([start for start, _ in met.sounds() if start > 5.0]) == 1
    assert met.sounds()[-1][0] > sum(piece.duration for piece in plays)


def test_a_tone_alone_tells_a_voicemail_whose_words_do_not() -> None:
    met = meet([pause(0.5), voice(2.0), pause(0.6), beep()], ["Dave here go"], on_voicemail=LeaveMessage(MESSAGE))
    assert met.names == ["person", "voicemail"]
    assert met.watch is not None and met.watch.sign == "(a tone of 1000 Hz)"
    assert met.left[0].whole and met.left[0].after_tone


def test_a_mailbox_that_cuts_the_message_is_told_with_what_it_took() -> None:
    met = meet([pause(0.5), voice(6.0), pause(0.5), beep()], [GREETING], leaves=3.0, on_voicemail=LeaveMessage(MESSAGE))
    (left,) = met.left
    assert not left.whole and left.after_tone
    assert left.text and MESSAGE.startswith(left.text) and left.text != MESSAGE


def test_a_mailbox_that_hangs_up_before_is_told_as_nothing() -> None:
    met = meet([pause(0.5), voice(6.0)], [GREETING], leaves=1.0, on_voicemail=LeaveMessage(MESSAGE))
    (left,) = met.left
    assert (left.text, left.whole, left.after_tone) == ("", False, False)


@pytest.mark.parametrize("plan", ["hang_up", LeaveMessage(MESSAGE)])
def test_a_person_who_jokes_is_talked_to_again(plan: Any) -> None:
    met = meet(
        [pause(0.5), voice(3.5), pause(0.8), voice(1.5)],
        ["Leave a message after the beep", "just kidding, who is this?"],
        most=15.0,
        replies={"who is this": "It is Bright Smile."},
        on_voicemail=plan,
    )
    assert met.names == ["person", "voicemail", "person"] or met.names == ["voicemail", "person"]
    assert "user: just kidding, who is this?" in met.said
    assert "assistant: It is Bright Smile." in met.said
    assert met.left == []


def test_a_person_who_speaks_into_a_message_without_a_tone_is_talked_to() -> None:
    met = meet(
        [pause(0.5), voice(3.0), pause(7.0), voice(1.5)],
        ["please leave a message", "hey I'm here who is this"],
        most=22.0,
        replies={"I'm here": "It is Bright Smile."},
        on_voicemail=LeaveMessage(MESSAGE, silence=4.0),
    )
    assert met.names[-2:] == ["voicemail", "person"]
    assert "assistant: It is Bright Smile." in met.said
    assert met.left == []


def test_a_person_who_speaks_of_a_voicemail_later_stays_one() -> None:
    met = meet(
        [voice(0.5), pause(3.0), voice(1.0), pause(3.0), voice(1.0), pause(3.0), voice(3.0)],
        ["Hello", "yes it is me", "tomorrow is fine", "if I am not there please leave a message after the tone"],
        most=25.0,
    )
    assert met.names == ["person"]


def test_a_screening_is_told_who_calls_and_the_person_behind_it_is_talked_to() -> None:
    introduction = "Bright Smile Dental, about the appointment tomorrow."
    met = meet(
        [pause(0.3), voice(5.0), pause(5.0), voice(1.5), pause(6.0), voice(0.6)],
        [
            "Hi if you record your name and reason for calling I'll see if this person is available",
            "thanks stay on the line",
            "Hello?",
        ],
        most=30.0,
        replies={"Hello": "Good morning Mr Miller."},
        on_screening=introduction,
    )
    assert met.names[-2:] == ["screening", "person"]
    assert [line for line in met.said if introduction in line] == [f"assistant: {introduction}"]
    assert met.said[-2:] == ["user: Hello?", "assistant: Good morning Mr Miller."]
    start = next(start for start, _ in met.sounds() if start > 5.0)
    assert start < 7.5


def test_a_screening_that_ends_in_a_voicemail_gets_the_message() -> None:
    met = meet(
        [pause(0.3), voice(5.0), pause(5.0), voice(5.0), pause(0.5), beep()],
        ["state your name and I'll see if this person is available", GREETING],
        on_screening="Bright Smile Dental.",
        on_voicemail=LeaveMessage(MESSAGE),
    )
    assert met.names[-2:] == ["screening", "voicemail"]
    assert met.left[0].whole and met.left[0].after_tone


def test_a_menu_is_left_to_the_agent() -> None:
    met = meet(
        [pause(0.3), voice(4.0)], ["For sales press one for support press two"], most=12.0, replies={"": "Two, please."}
    )
    assert met.names[-1] == "menu"
    assert "assistant: Two, please." in met.said


def test_a_notice_of_the_network_is_hung_up_on() -> None:
    met = meet([pause(0.3), voice(4.0)], ["The number you have dialed is not in service"])
    assert met.names[-1] == "unavailable"
    assert met.took < 9.0


def test_a_notice_that_goes_on_to_a_voicemail_gets_the_message() -> None:
    met = meet(
        [pause(0.3), voice(7.0), pause(0.5), beep()],
        ["The subscriber you have called cannot be reached. Please leave a message after the tone"],
        on_voicemail=LeaveMessage(MESSAGE),
    )
    assert met.names[-2:] == ["unavailable", "voicemail"]
    assert met.left[0].whole


def test_what_is_only_to_be_told_changes_nothing() -> None:
    met = meet([pause(0.5), voice(5.0)], [GREETING], most=12.0, on_voicemail="tell")
    assert met.names[-1] == "voicemail"
    assert "assistant: I see." in met.said


@pytest.mark.parametrize("at", [0.01, 0.4, 1.0, 2.5, 3.5, 6.9, 7.3, 7.7, 8.0, 9.0, 12.0, 14.0, 15.5])
def test_the_line_may_end_at_any_point(at: float) -> None:
    plays = [pause(0.5), voice(6.0), pause(0.7), beep(0.4), pause(1.0), beep(0.4)]
    met = meet(plays, [GREETING], hang_up_at=at, on_voicemail=LeaveMessage(MESSAGE))
    assert len(met.left) <= 1
    if met.left and met.left[0].whole:
        assert met.left[0].text == MESSAGE


def test_what_cannot_be_is_said() -> None:
    session = AgentSession[Any]()
    with pytest.raises(UsageError, match=r"expected on_voicemail= 'hang_up' or 'tell', or a LeaveMessage"):
        AnswerWatch(session, on_voicemail="leave")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="expected a text, got none"):
        LeaveMessage(" ")
    watch = AnswerWatch(session)
    assert AnswerWatch.of(session) is watch
    assert AnswerWatch.of(AgentSession[Any]()) is None
