"""The session in another language than English: words that are no turn, and what it says itself."""

from __future__ import annotations

import asyncio

import pytest

from antiphon import Agent, AgentSession, UsageError
from antiphon.language import ENGLISH, GERMAN, Language
from antiphon.testing import Fail, FakeLLM, SimulatedCall, run_virtual, transcript


@pytest.mark.parametrize("language", [ENGLISH, GERMAN], ids=lambda language: language.code)
def test_the_words_of_a_pack_are_as_callers_words_are_compared(language: Language) -> None:
    for words in (language.listening, language.farewell, language.padding):
        assert all(word == word.lower() and not set(word) & set(" .,!?") for word in words)
    assert language.is_backchannel(f"{language.listening[0].title()}.")
    assert language.is_farewell(f"{language.farewell[0].title()}!")
    assert not language.is_farewell(language.listening[0])
    assert all(phrase == phrase.lower() and not set(phrase) & set(".,!?") for phrase in language.presence)
    assert language.asks_presence(f"{language.presence[0].title()}? {language.presence[2].capitalize()}?")
    assert not any(language.asks_presence(word) for word in (*language.listening, *language.farewell))


@pytest.mark.parametrize(("language", "word", "heeded"), [("de", "genau", False), ("en", "genau", True)])
def test_a_sign_of_listening_is_one_in_the_language_of_the_session(language: str, word: str, heeded: bool) -> None:
    async def scene() -> None:
        async with SimulatedCall(FakeLLM({"": "Gern."}), language=language) as call:
            await call.start(Agent())
            handle = call.session.say(
                "Wir haben am Freitag noch vier Tische frei, um sechs, um sieben und um neun Uhr."
            )
            await asyncio.sleep(2.0)
            await call.caller.says(word)
            await handle
            await call.settled()
        assert handle.interrupted is heeded

    run_virtual(scene())


def test_what_the_session_says_itself_is_said_in_its_language() -> None:
    async def scene() -> None:
        async with SimulatedCall(FakeLLM([Fail(RuntimeError("down"))]), language="de") as call:
            await call.start(Agent())
            await call.caller.says("haben Sie am Freitag etwas frei")
            await call.settled()
        assert transcript(call.session.history)[-1] == f"assistant: {GERMAN.failure_line}"

    run_virtual(scene())


def test_an_unknown_language_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"language='xx': expected a Language or one of en, de"):
        AgentSession(language="xx")
