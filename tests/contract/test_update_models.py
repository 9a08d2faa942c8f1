"""`session.update_models`: other models and another language in mid-call, without losing a word."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentSession, ChatContext, function_tool
from antiphon.core.facts import ModelsChanged
from antiphon.errors import ProviderError, UsageError
from antiphon.events import ErrorEvent
from antiphon.language import GERMAN
from antiphon.replay import read, replay
from antiphon.replay.writer import JournalWriter
from antiphon.stores.memory import MemoryStore
from antiphon.testing import (
    Caller,
    CallerSTT,
    Fail,
    FakeLLM,
    FakeRealtimeModel,
    FakeTTS,
    Reply,
    SimulatedCall,
    run_virtual,
    transcript,
    wait_until,
)
from antiphon.testing.caller import RATE
from tests.contract.test_resuming import gone

DOWN = Fail(ProviderError("down", provider="fakes.FakeLLM"))


class CountingSTT(CallerSTT):
    """One that counts its streams, and may be told to fail when it is opened."""

    def __init__(self, caller: Caller, *, fails: bool = False) -> None:
        super().__init__(caller)
        self.opened = 0
        self.fails = fails

    def stream(self) -> Any:
        self.opened += 1
        if self.fails:
            raise ProviderError("no such account", provider="counting")
        return super().stream()


class OtherLLM(FakeLLM):
    """One with another label."""


class Unprepared(FakeTTS):
    """A voice that cannot be prepared."""

    async def prewarm(self) -> None:
        raise ProviderError("no such voice", provider="unprepared")


class Unreachable(FakeTTS):
    """A voice whose service never answers."""

    async def prewarm(self) -> None:
        await asyncio.Event().wait()


def voice(**options: Any) -> FakeTTS:
    return FakeTTS(sample_rate=RATE, **options)


def dial(
    script: Any,
    talk: Callable[[SimulatedCall, list[str]], Awaitable[None]],
    listener: JournalWriter | None = None,
    **options: Any,
) -> tuple[SimulatedCall, list[str]]:
    """A call, and the errors of which its listeners were told."""
    errors: list[str] = []
    kept: list[SimulatedCall] = []

    async def main() -> None:
        caller = Caller()
        options.setdefault("stt", CountingSTT(caller))
        if callable(options["stt"]):
            options["stt"] = options["stt"](caller)
        async with SimulatedCall(FakeLLM(script, ttft=0.2), caller=caller, **options) as call:
            kept.append(call)

            def note(event: ErrorEvent) -> None:
                errors.append(str(event.error))

            call.session.on("error", note)
            if listener is not None:
                listener.listen(call.session)
            await call.start(Agent(instructions="You help."))
            await talk(call, errors)

    run_virtual(main())
    return kept[0], errors


def test_a_turn_that_is_being_heard_is_finished_by_the_recogniser_that_heard_it_begin() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        old: Any = call.session.stt
        new = CountingSTT(call.caller)
        said = call.caller.says("I need a table", 0.3, "for two on Friday")
        await asyncio.sleep(1.5)
        await call.session.update_models(stt=new)
        assert new.opened == 0 and call.session.stt is new
        await said
        await call.settled()
        await call.caller.says("and a high chair")
        await call.settled()
        assert old.opened == 1 and new.opened == 1

    call, errors = dial(["Fine.", "Noted."], talk)
    assert [line for line in transcript(call.session.history) if line.startswith("user")] == [
        "user: I need a table for two on Friday",
        "user: and a high chair",
    ]
    assert not errors


@pytest.mark.parametrize("before", [0.02 * step for step in range(0, 30, 2)])
def test_no_word_is_lost_whenever_the_recogniser_changes(before: float) -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        await asyncio.sleep(0.6)
        call.caller.says("one two three")
        await asyncio.sleep(before)  # around the moment in which the voice is noticed
        await call.session.update_models(stt=CountingSTT(call.caller))
        await call.settled()
        await call.caller.says("four five")
        await asyncio.sleep(before)  # and around the final transcript
        await call.session.update_models(stt=CountingSTT(call.caller))
        await call.settled()

    call, errors = dial(["Yes.", "Yes."], talk)
    words = " ".join(line.removeprefix("user: ") for line in transcript(call.session.history) if line.startswith("u"))
    assert words == "one two three four five" and not errors


def test_a_reply_that_is_being_spoken_ends_in_its_voice_and_the_next_has_the_new_one() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        old: Any = call.session.tts
        new = voice()
        await call.caller.says("when are you open")
        await asyncio.sleep(2.0)
        assert call.session.agent_state == "speaking"
        await call.session.update_models(tts=new)
        await call.settled()
        await call.caller.says("thanks")
        await call.settled()
        assert old.said == ["We open at nine in the morning.", "We close at six in the evening."]
        assert new.said == ["You are welcome."]

    call, errors = dial(["We open at nine in the morning. We close at six in the evening.", "You are welcome."], talk)
    assert transcript(call.session.history)[-1] == "assistant: You are welcome." and not errors


def test_the_next_request_goes_to_the_new_model_with_the_same_history() -> None:
    new = FakeLLM(["You said so."], ttft=0.1)

    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        await call.caller.says("my name is Mona")
        await call.settled()
        await call.session.update_models(llm=new)
        await call.caller.says("who am I")
        await call.settled()

    call, _ = dial(["Hello Mona."], talk)
    assert [one[1:] for one in new.histories] == [["user: my name is Mona", "assistant: Hello Mona.", "user: who am I"]]
    assert call.session.llm is new


def test_a_request_under_way_is_answered_by_the_model_that_was_asked() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        await call.caller.says("hello")
        await wait_until(lambda: bool(call.session.llm.requests))
        await call.session.update_models(llm=FakeLLM([]))
        await call.settled()

    call, errors = dial(["The old one."], talk)
    assert transcript(call.session.history)[-1] == "assistant: The old one." and not errors


def test_the_session_speaks_and_hears_the_new_language() -> None:
    booked: list[str] = []

    @function_tool(effect="writes", confirm="{day}?")
    async def book(day: str) -> str:
        """Book."""
        booked.append(day)
        return "booked"

    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        await call.session.current_agent.update_tools([book])
        await call.session.update_models(language="de")
        assert call.session.language is GERMAN and call.session.options.language.code == "de"
        await call.caller.says("ein Tisch am Freitag")
        await call.settled()
        assert not booked
        await call.caller.says("ja gerne")
        await call.settled()

    call, _ = dial([Reply(calls=[("book", {"day": "Freitag"})]), "Gebucht."], talk)
    assert booked == ["Freitag"]
    asked = [line for line in transcript(call.session.history) if "Freitag?" in line]
    assert asked and not any("shall i" in line.lower() for line in asked)


def test_the_failure_line_is_in_the_new_language_and_lines_of_the_application_stay() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        await call.session.update_models(language=GERMAN)
        assert call.session.options.unheard_line == "What?"
        await call.caller.says("hallo")
        await call.settled()

    call, _ = dial([DOWN], talk, unheard_line="What?")
    assert transcript(call.session.history)[-1] == f"assistant: {GERMAN.failure_line}"


def test_a_model_that_cannot_be_prepared_changes_nothing_and_the_error_says_so() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        tts, llm = call.session.tts, call.session.llm
        with pytest.raises(ProviderError, match=r"tts .*could not be prepared.*no such voice.*stays in its place"):
            await call.session.update_models(tts=Unprepared(sample_rate=RATE), llm=FakeLLM([]), language="de")
        assert (call.session.tts, call.session.llm, call.session.language.code) == (tts, llm, "en")
        await call.caller.says("hello")
        await call.settled()

    call, _ = dial(["Hello."], talk)
    assert transcript(call.session.history)[-1] == "assistant: Hello."


def test_a_model_that_does_not_come_is_given_up_and_the_call_goes_on_meanwhile() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        old = call.session.tts
        changing = asyncio.create_task(call.session.update_models(tts=Unreachable(sample_rate=RATE)))
        await call.caller.says("hello")
        await call.settled()
        with pytest.raises(ProviderError, match="not within 60 s"):
            await changing
        assert call.session.tts is old

    call, _ = dial(["Hello."], talk, user_away_timeout=None)
    assert transcript(call.session.history)[-1] == "assistant: Hello."


def test_a_model_that_fails_at_its_first_request_gives_way_to_the_one_before() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        old = call.session.llm
        await call.session.update_models(llm=FakeLLM([DOWN]))
        await call.caller.says("hello")
        await call.settled()
        assert call.session.llm is old and call.session.current_agent.llm is old

    call, errors = dial(["Hello."], talk)
    assert transcript(call.session.history)[-1] == "assistant: Hello."
    assert len(errors) == 1 and "stays in its place" in errors[0]


def test_a_voice_that_fails_at_its_first_text_gives_way_to_the_one_before() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        old = call.session.tts
        await call.session.update_models(tts=voice(fail_on="Hello"))
        await call.caller.says("hello")
        await call.settled()
        assert call.session.tts is old

    call, errors = dial(["Hello."], talk)
    assert transcript(call.session.history)[-1] == "assistant: Hello."
    assert len(errors) == 1 and "stays in its place" in errors[0]


def test_a_recogniser_that_cannot_be_opened_gives_way_to_the_one_before() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        old = call.session.stt
        await call.session.update_models(stt=CountingSTT(call.caller, fails=True))
        await call.caller.says("hello")
        await call.settled()
        assert call.session.stt is old

    call, errors = dial(["Hello."], talk)
    assert transcript(call.session.history) == ["user: hello", "assistant: Hello."]
    assert len(errors) == 1 and "stays in its place" in errors[0]


def test_what_cannot_be_exchanged_is_refused_in_words() -> None:
    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        update = call.session.update_models
        for given, message in (
            ({"llm": FakeRealtimeModel([])}, "realtime"),
            ({"tts": "cartesia"}, "expected a model object"),
            ({"stt": object()}, "antiphon.stt.STT"),
            ({"tts": None}, "antiphon.tts.TTS"),
            ({"language": "xx"}, "expected a Language"),
        ):
            with pytest.raises(UsageError, match=message):
                await update(**given)

    dial([], talk)

    async def text() -> None:
        async with AgentSession[Any](llm=FakeLLM([])) as session:
            await session.start(Agent())
            with pytest.raises(UsageError, match="began without stt"):
                await session.update_models(stt=CallerSTT(Caller()))

    run_virtual(text())


def test_a_tool_may_change_the_voice_in_its_own_turn() -> None:
    new = voice()

    @function_tool
    async def speak_german() -> str:
        """Change."""
        await session[0].update_models(tts=new, language="de")
        return "done"

    session: list[AgentSession[Any]] = []

    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        session.append(call.session)
        await call.session.current_agent.update_tools([speak_german])
        await call.caller.says("auf Deutsch bitte")
        await call.settled()

    dial([Reply("One moment.", calls=[("speak_german", {})]), "Gerne."], talk)
    assert new.said == ["Gerne."]


def test_the_journal_has_it_and_a_replay_gives_the_same_commands(tmp_path: Path) -> None:
    path = tmp_path / "call.jsonl"
    writer = JournalWriter(path)

    async def talk(call: SimulatedCall, errors: list[str]) -> None:
        await call.session.update_models(language="de", tts=voice())
        await call.caller.says("hallo")
        await call.settled()

    dial([DOWN], talk, listener=writer)
    writer.close()
    journal = read(path)
    changed = [entry.fact for entry in journal.entries if isinstance(entry.fact, ModelsChanged)]
    assert [one.tts for one in changed] == ["fakes.FakeTTS", ""]
    assert changed[1].language is not None and changed[1].language.phrases.code == "de"
    again = replay(journal)
    assert again.difference is None
    assert transcript(ChatContext(again.history))[-1] == f"assistant: {GERMAN.failure_line}"


def test_a_call_that_goes_on_elsewhere_is_in_the_language_it_was_in(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        store = MemoryStore()
        session = AgentSession[Any](llm=FakeLLM(["Hallo."]), store=store)
        await session.start(Agent(id="desk"))
        await session.update_models(language="de", llm=OtherLLM(["Guten Tag."]))
        await session.run(user_input="hallo")
        await asyncio.sleep(1.0)
        await gone(store, session)
        caplog.clear()
        after = AgentSession[Any](llm=FakeLLM(["Ja."]), store=store)
        await after.resume(session.call_id, agents=[Agent(id="desk")])
        await after.run(user_input="noch da?")
        assert after.language is GERMAN
        assert f"assistant: {GERMAN.resumed_line}" in transcript(after.history)
        await asyncio.sleep(1.0)
        await gone(store, after)
        third = AgentSession[Any](llm=FakeLLM([]), store=store)
        await third.resume(session.call_id, agents=[Agent(id="desk")])
        assert third.language is GERMAN
        await third.aclose()

    run_virtual(check())
    assert "llm=fakes.FakeLLM; it was changed to test_update_models.OtherLLM in the process before" in caplog.text
