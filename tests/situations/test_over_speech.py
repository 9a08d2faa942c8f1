"""The caller makes a sound while the agent speaks."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from antiphon import Agent
from antiphon.core.listening import A_BREATH
from antiphon.testing import FakeTTS, SimulatedCall, Utterance, now, run_virtual
from antiphon.testing.caller import RATE
from tests.situations.calls import FRAME, LONG, PACE, REACTION, calling, hush, model, reaction, said
from tests.situations.figures import measured


@pytest.mark.parametrize("sound", ["uh-huh", "mm hmm", "yeah"])
def test_uh_huh_over_the_agent_pauses_it_at_most_once_and_loses_nothing(sound: str) -> None:
    async def main() -> None:
        async with calling(model()) as call:
            await call.start(Agent())
            handle = call.session.say(LONG)
            await asyncio.sleep(2.0)
            hum = await call.caller.says(sound)
            await handle
            await call.settled()
            await call.session.say(LONG)
        row = '"uh-huh" over the agent'
        *parts, whole = call.timeline.agent
        assert not handle.interrupted and said(call.session) == [LONG, LONG]
        assert len(parts) <= 2
        measured(row, "pause after it", parts[-1].start - hum.end, at_most=0.7)
        measured(row, "sound lost", whole.duration - sum(part.duration for part in parts), at_most=0.0)

    run_virtual(main())


QUESTION = "I have a table for four on Friday at seven. Shall I book it for you?"
CHECK = "I have the number five five five one two three. Is that number right?"


async def consenting(word: str, lead: float, over: str, **options: Any) -> tuple[SimulatedCall, Utterance]:
    """The caller says a word, begun so many seconds before the agent has said this."""
    async with calling(model(["It is booked."]), **options) as call:
        await call.start(Agent())
        call.session.say(over)
        await asyncio.sleep(0.2)
        await asyncio.sleep(call.speaker.sounds[0].start + len(over) * PACE - lead - now())
        uttered = await call.caller.says(word)
        await call.settled(quiet=1.0)
    return call, uttered


@pytest.mark.parametrize("lead", [0.05, 0.15, 0.3, 0.6, 0.9, 1.2])
@pytest.mark.parametrize("word", ["okay", "yeah", "sure", "right", "mm hmm"])
def test_consent_over_the_end_of_a_question_is_the_answer_to_it(word: str, lead: float) -> None:
    call, uttered = run_virtual(consenting(word, lead, QUESTION))
    assert said(call.session) == [QUESTION, word, "It is booked."]
    assert call.timeline.agent[-1].start - uttered.end < 0.5 + lead + REACTION + 0.1


def test_consent_over_the_end_of_a_question_that_may_not_be_interrupted_is_the_answer_to_it() -> None:
    options = {"turn_handling": {"interruption": {"enabled": False}}}
    for lead in (0.15, 0.6, 1.2):
        call, _ = run_virtual(consenting("okay", lead, QUESTION, **options))
        assert said(call.session) == [QUESTION, "okay", "It is booked."]


@pytest.mark.parametrize("lead", [1.6, 2.2, 3.0])
def test_before_the_last_of_a_read_back_was_heard_a_sign_of_listening_does_nothing(lead: float) -> None:
    call, _ = run_virtual(consenting("okay", lead, CHECK))
    assert said(call.session) == [CHECK]


def test_no_silence_follows_a_sign_of_listening() -> None:
    """At uniform instants over a statement: the agent goes on for a breath, or answers."""
    for lead in (0.1, 0.5, 1.0, 1.4, 1.8, 2.5, 4.0):
        call, uttered = run_virtual(consenting("okay", lead, LONG))
        is_answered = said(call.session) == [LONG, "okay", "It is booked."]
        assert is_answered or call.timeline.agent[-1].end - uttered.end > A_BREATH


@pytest.mark.parametrize(("duration", "at"), [(0.15, 2.2), (0.3, 2.0), (0.3, 2.4067), (0.6, 1.5), (1.2, 3.011)])
def test_a_cough_over_the_agent_pauses_it_and_it_resumes_at_the_cut_word(duration: float, at: float) -> None:
    async def main() -> None:
        async with calling(model(), tts=FakeTTS(sample_rate=RATE, words=True)) as call:
            await call.start(Agent())
            handle = call.session.say(LONG)
            await asyncio.sleep(at)
            cough = await call.caller.coughs(duration)
            await handle
            await call.session.say(LONG)
        row = "cough over the agent"
        before, after, whole = call.timeline.agent
        assert not handle.interrupted and said(call.session) == [LONG, LONG]
        measured(row, "onset to pause", hush(call, cough), at_most=0.15)
        # What of the cut word was heard sounds twice, and no more than that.
        pace = whole.duration / len(LONG)
        cut = before.duration / pace
        word = cut if LONG[int(cut)] == " " else LONG.rfind(" ", 0, int(cut)) + 1
        again = before.duration + after.duration - whole.duration
        assert again == pytest.approx((cut - word) * pace, abs=0.002)
        measured(row, "its end to the resumed speech", after.start - cough.end, at_most=0.6)

    run_virtual(main())


def test_a_barge_in_silences_the_agent_at_once_and_its_first_words_cut_it_at_the_heard_word() -> None:
    """At uniform instants of frame, word and voice."""

    async def barge_in(at: float) -> None:
        async with calling(model(["By the window, then."])) as call:
            await call.start(Agent())
            cut: list[float] = []
            handle = call.session.say(LONG)
            handle.add_done_callback(lambda _: cut.append(now()))
            await asyncio.sleep(at)
            words = call.caller.says("no by the window please")
            await words
            await call.settled()
        row = "barge-in during speech"
        measured(row, "onset to pause", hush(call, words), at_most=0.15)
        first = words.words[0]
        measured(row, "end of the first word to the cut", cut[0] - first.end, at_most=0.15 + FRAME)
        assert handle.interrupted
        heard = call.session.history.messages()[0]
        assert heard.interrupted and heard.text_content is not None and LONG.startswith(heard.text_content)
        # Half of the next word may have sounded, and half of the last one need not have.
        characters = call.timeline.agent[0].duration / 0.06
        following = LONG.find(" ", len(heard.text_content) + 1)
        half_of_next = (len(heard.text_content) + 1 + following) / 2
        last = LONG[: len(heard.text_content)].rfind(" ") + 1
        assert (last + len(heard.text_content)) / 2 - 0.2 <= characters <= half_of_next + 0.2
        measured(row, "answer after the end", reaction(call, words), at_most=REACTION)
        assert said(call.session)[1:] == ["no by the window please", "By the window, then."]

    rng = random.Random(1)
    for _ in range(20):
        run_virtual(barge_in(rng.uniform(0.5, 5.0)))
