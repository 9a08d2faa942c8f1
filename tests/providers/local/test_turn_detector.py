from __future__ import annotations

import asyncio

import pytest

from antiphon.chat import ChatMessage
from antiphon.providers.local.turn_detector import TextTurnDetector, probability
from antiphon.turn_detector import TurnSoFar
from tests.providers.local.speech import TURNS


@pytest.mark.parametrize(("said", "asked", "complete"), TURNS)
def test_a_turn_is_judged_by_its_words(said: str, asked: str, complete: bool) -> None:
    assert (probability(said, asked) >= 0.5) == complete


def test_nothing_understood_is_undecided() -> None:
    assert probability("") == 0.5


def test_the_agents_last_words_are_taken_from_the_history() -> None:
    async def predict(history: list[ChatMessage]) -> float:
        detector = TextTurnDetector()
        await detector.prewarm()
        return await detector.predict(TurnSoFar("five five five", history))

    asked = ChatMessage(role="assistant", content=["What is your phone number?"])
    answered = ChatMessage(role="user", content=["It's on file."])
    assert asyncio.run(predict([asked])) < 0.5
    assert asyncio.run(predict([asked, answered])) > 0.5
