"""`must_hear`: what the caller must have heard before anything is done, or kept, of the call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.calls.record import CallRecord
from antiphon.errors import UsageError
from antiphon.events import MustHearEvent, RecordingHushedEvent
from antiphon.stores.memory import MemoryStore
from antiphon.testing import (
    FakeLLM,
    FakeRealtimeModel,
    FakeTTS,
    Reply,
    SimulatedCall,
    run_virtual,
    transcript,
)
from antiphon.testing.caller import RATE
from tests.contract.test_resuming import gone

NOTICE = "This call is recorded, and you are talking to a machine."


class Desk(Agent):
    """Books, and counts it."""

    def __init__(self, *, greets: bool = True, **options: Any) -> None:
        super().__init__(instructions="You book.", id="desk", **options)
        self.booked: list[tuple[int, float]] = []
        self.looked = 0
        self.greets = greets

    async def on_enter(self) -> None:
        if self.greets:
            self.session.say("Hello, what can I do?")

    @function_tool(effect="writes")
    async def book(self, people: int) -> str:
        """Book."""
        self.booked.append((people, asyncio.get_running_loop().time()))
        return f"booked for {people}"

    @function_tool(effect="reads")
    async def look(self) -> str:
        """Look."""
        self.looked += 1
        return "free"

    @function_tool
    async def pass_on(self) -> Agent:
        """Pass on."""
        return Agent(instructions="You are the other one.", id="other", tools=[self.book])


def books(people: int = 2) -> Reply:
    return Reply(calls=[("book", {"people": people})])


class Heard:
    """What was told of a call while it went on."""

    def __init__(self) -> None:
        self.settled: list[MustHearEvent] = []
        self.hushed: list[tuple[bool, bool]] = []
        self.heard_at: float | None = None
        self.record: Any = None

    def listen(self, session: AgentSession[Any]) -> None:
        def settled(event: MustHearEvent) -> None:
            self.settled.append(event)
            if event.heard_at is not None:
                self.heard_at = asyncio.get_running_loop().time()

        def hushed(event: RecordingHushedEvent) -> None:
            self.hushed.append((event.caller, event.agent))

        session.on("must_hear", settled)
        session.on("recording_hushed", hushed)


def dial(
    script: Any,
    talk: Callable[[SimulatedCall, Desk], Awaitable[None]],
    *,
    desk: Desk | None = None,
    must_hear: Any = (NOTICE,),
    **options: Any,
) -> tuple[SimulatedCall, Desk, Heard]:
    made = desk or Desk()
    heard, calls = Heard(), list[SimulatedCall]()

    async def main() -> None:
        llm = script if not isinstance(script, list) else FakeLLM(script, ttft=0.2)
        async with SimulatedCall(llm, must_hear=must_hear, **options) as call:
            calls.append(call)
            heard.listen(call.session)
            await call.start(made)
            await talk(call, made)

    run_virtual(main())
    return calls[0], made, heard


def said(call: SimulatedCall) -> list[str]:
    return transcript(call.session.history)


def test_it_is_said_before_the_greeting_and_its_proof_says_when_it_was_heard() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        await call.settled()
        line = call.session.must_hear[0]
        assert line.heard_at is not None

    call, _, heard = dial([], talk)
    assert said(call) == [f"assistant: {NOTICE}", "assistant: Hello, what can I do?"]
    assert [(one.text, one.begun) for one in heard.settled] == [(NOTICE, 1)]
    sounds = call.timeline.agent
    voice: Any = call.session.tts
    assert heard.heard_at is not None
    assert heard.heard_at - sounds[0].start == pytest.approx(voice.duration(NOTICE), abs=0.1)


def test_no_sound_is_kept_before_it_was_heard() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        await asyncio.sleep(1.0)
        assert call.session.must_hear[0].heard_at is None
        await call.settled()

    _, _, heard = dial([], talk)
    assert heard.hushed == [(True, True), (False, False)]


def test_a_write_that_is_called_before_waits_and_runs_once_when_it_was_heard() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        call.session.generate_reply(user_input="a table for two")
        await asyncio.sleep(1.0)
        assert not desk.booked and desk.looked == 1
        await call.settled()

    script = [Reply(calls=[("look", {}), ("book", {"people": 2})]), "Booked."]
    call, desk, heard = dial(script, talk, desk=Desk(greets=False))
    assert len(desk.booked) == 1 and heard.heard_at is not None and desk.booked[0][1] >= heard.heard_at
    assert said(call)[-1] == "assistant: Booked."


def test_it_is_said_again_where_it_was_cut_and_the_third_time_it_cannot_be() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        for words in ("hello who is there", "a table for two please", "can you hear me at all"):
            await asyncio.sleep(1.2)
            await call.caller.says(words)
            await asyncio.sleep(1.0)
        await call.settled()

    call, desk, heard = dial(_always_books(), talk, desk=Desk(greets=False))
    assert [one.begun for one in heard.settled] == [3]
    assert len(desk.booked) == 1 and heard.heard_at is not None and desk.booked[0][1] >= heard.heard_at
    whole = [line for line in said(call) if line == f"assistant: {NOTICE}"]
    assert len(whole) == 1


def _always_books() -> FakeLLM:
    def answer(request: Any) -> Any:
        lines = transcript(request.chat_ctx)
        return "It is done." if any(line.startswith("output book") for line in lines) else books()

    return FakeLLM(answer, ttft=0.2)


def test_an_interrupt_by_the_application_has_it_said_again() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        for _ in range(4):
            await asyncio.sleep(0.8)
            call.session.interrupt(force=True)
        await call.settled()

    _, _, heard = dial([], talk, desk=Desk(greets=False))
    assert [one.begun for one in heard.settled] == [5]


def test_a_caller_who_hangs_up_in_it_has_nothing_done_and_the_report_says_why() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        call.session.generate_reply(user_input="a table for two")
        await asyncio.sleep(1.0)
        await call.session.aclose(reason=_hung_up())

    call, desk, heard = dial([books()], talk, desk=Desk(greets=False))
    assert not desk.booked and not heard.settled
    assert call.session.must_hear[0].heard_at is None and call.session.must_hear[0].begun == 1
    outputs = [line for line in said(call) if line.startswith("error book")]
    assert len(outputs) == 1 and "was not run: the call ended before" in outputs[0]
    assert heard.hushed == [(True, True)]


def _hung_up() -> Any:
    from antiphon.events import CloseReason

    return CloseReason.PARTICIPANT_DISCONNECTED


def test_in_a_typed_call_it_counts_as_heard_when_it_was_given_out() -> None:
    desk = Desk(greets=False)

    async def main() -> Any:
        async with AgentSession[Any](llm=FakeLLM([books(), "Booked."]), must_hear=[NOTICE, "Second."]) as session:
            record = CallRecord(lambda: 0.0)
            record.listen(session)
            await session.start(desk)
            await session.run(user_input="a table")
            assert transcript(session.history)[:3] == [
                f"assistant: {NOTICE}",
                "assistant: Second.",
                "user: a table",
            ]
        return record.report(1.0)

    report = run_virtual(main())
    assert len(desk.booked) == 1
    proof = report.to_json()["must_hear"]
    assert [(one["text"], one["begun"]) for one in proof] == [(NOTICE, 1), ("Second.", 1)]
    assert all(one["heard_at"].endswith("+00:00") for one in proof)


def test_a_hand_off_while_it_is_being_said_waits_for_it() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        await asyncio.sleep(0.5)
        call.session.update_agent(Agent(id="other", tools=[desk.book]))
        await asyncio.sleep(0.3)
        await call.settled()
        await call.caller.says("a table please")
        await call.settled()

    call, desk, heard = dial([books(), "Booked."], talk, desk=Desk(greets=False))
    assert [one.begun for one in heard.settled] == [1] and len(desk.booked) == 1
    assert call.session.current_agent.id == "other"


def test_a_hand_off_that_follows_a_cut_notice_has_the_next_agent_say_it() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        await asyncio.sleep(0.8)
        call.session.update_agent(Agent(id="other", tools=[desk.book]))
        call.session.interrupt(force=True)
        await call.settled()
        await call.caller.says("a table please")
        await call.settled()

    call, desk, heard = dial([books(), "Booked."], talk, desk=Desk(greets=False))
    assert [one.begun for one in heard.settled] == [2] and len(desk.booked) == 1
    assert said(call).count(f"assistant: {NOTICE}") == 1


def test_a_task_of_on_enter_does_not_keep_it_from_being_heard() -> None:
    class Asks(Desk):
        async def on_enter(self) -> None:
            from antiphon.tasks import GetDtmfTask

            await GetDtmfTask(num_digits=2)

    async def talk(call: SimulatedCall, desk: Desk) -> None:
        await call.settled()

    call, _, heard = dial([], talk, desk=Asks())
    assert said(call)[0] == f"assistant: {NOTICE}" and len(heard.settled) == 1


def test_a_voice_that_breaks_once_says_it_again() -> None:
    class Breaks(FakeTTS):
        broke = 0

        async def synthesize(self, text: str) -> Any:
            if text.strip() == NOTICE and not self.broke:
                self.broke += 1
                raise RuntimeError("no voice")
            async for audio in super().synthesize(text):
                yield audio

    async def talk(call: SimulatedCall, desk: Desk) -> None:
        await call.settled()

    call, _, heard = dial([], talk, tts=Breaks(sample_rate=RATE), desk=Desk(greets=False))
    assert len(heard.settled) == 1 and heard.settled[0].heard_at is not None
    assert said(call) == [f"assistant: {NOTICE}"]


def test_where_no_voice_can_say_it_nothing_is_written_and_the_model_is_told() -> None:
    async def talk(call: SimulatedCall, desk: Desk) -> None:
        await call.settled()
        await call.caller.says("a table for two")
        await call.settled()

    tts = FakeTTS(sample_rate=RATE, fail_on="recorded", fail_after=0.5)
    call, desk, heard = dial([books(), "I cannot book now."], talk, tts=tts, desk=Desk(greets=False))
    assert not desk.booked and [one.heard_at for one in heard.settled] == [None]
    assert any("was not run, and nothing that changes anything" in line for line in said(call))
    assert heard.hushed == [(True, True)]
    assert said(call)[-1] == "assistant: I cannot book now."


def test_a_realtime_model_needs_a_voice_of_the_session_and_then_waits_for_it() -> None:
    async def refused() -> None:
        async with AgentSession[Any](llm=FakeRealtimeModel([]), must_hear=[NOTICE]) as session:
            from antiphon.testing import FakeMicrophone, FakeSpeaker

            with pytest.raises(UsageError, match="no voice of the session's own"):
                await session.start(Agent(), input=FakeMicrophone(), output=FakeSpeaker())

    run_virtual(refused())

    async def talk(call: SimulatedCall, desk: Desk) -> None:
        call.session.generate_reply()
        await asyncio.sleep(1.5)
        assert not desk.booked
        await call.settled()

    model = FakeRealtimeModel([books(), "It is booked."])
    call, desk, heard = dial(model, talk, desk=Desk(greets=False), tts=FakeTTS(sample_rate=RATE))
    assert len(desk.booked) == 1 and heard.heard_at is not None and desk.booked[0][1] >= heard.heard_at
    assert said(call)[0] == f"assistant: {NOTICE}"


def test_a_call_that_goes_on_after_a_kill_says_only_what_was_not_heard() -> None:
    second = "Your data is kept for a week."

    async def main() -> None:
        store = MemoryStore()
        first = AgentSession[Any](llm=FakeLLM(["Hi."]), store=store, must_hear=[NOTICE])
        await first.start(Desk(greets=False))
        await first.run(user_input="hello")
        await asyncio.sleep(1.0)
        proof = first.must_hear
        await gone(store, first)
        desk = Desk(greets=False)
        after = AgentSession[Any](llm=FakeLLM([books(), "Ok."]), store=store, must_hear=[NOTICE, second])
        await after.resume(first.call_id, agents=[desk])
        await after.run(user_input="a table")
        assert transcript(after.history).count(f"assistant: {NOTICE}") == 1
        assert transcript(after.history).count(f"assistant: {second}") == 1
        assert after.must_hear[0] == proof[0] and after.must_hear[1].heard_at is not None
        assert len(desk.booked) == 1
        await asyncio.sleep(1.0)
        await gone(store, after)
        third = AgentSession[Any](llm=FakeLLM([]), store=store, must_hear=[NOTICE, second])
        await third.resume(first.call_id, agents=[Desk(greets=False)])
        await asyncio.sleep(1.0)
        assert transcript(third.history).count(f"assistant: {NOTICE}") == 1
        await third.aclose()

    run_virtual(main())


def test_a_call_that_was_cut_off_in_it_says_it_anew() -> None:
    async def main() -> None:
        store, calls = MemoryStore(), []
        async with SimulatedCall(FakeLLM([]), store=store, must_hear=[NOTICE]) as call:
            await call.start(Desk(greets=False))
            await asyncio.sleep(1.5)
            calls.append(call.session.call_id)
            await gone(store, call.session)
        async with SimulatedCall(FakeLLM([]), store=store, must_hear=[NOTICE]) as again:
            await again.resume(calls[0], agents=[Desk(greets=False)])
            await again.settled()
            assert again.session.must_hear[0].heard_at is not None
            assert f"assistant: {NOTICE}" in transcript(again.session.history)

    run_virtual(main())


def test_what_nobody_could_say_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a list of texts"):
        AgentSession(must_hear=NOTICE)
    with pytest.raises(UsageError, match="texts that a voice can say"):
        AgentSession(must_hear=["..."])


def test_a_call_that_asks_first_is_read_back_behind_it() -> None:
    @function_tool(effect="writes", confirm="A table for {people}?")
    async def reserve(people: int) -> str:
        """Reserve."""
        done.append(people)
        return "done"

    done: list[int] = []

    async def talk(call: SimulatedCall, desk: Desk) -> None:
        await desk.update_tools([reserve])
        call.session.generate_reply(user_input="a table for two")
        await call.settled()
        await call.caller.says("yes please")
        await call.settled()

    script = [Reply(calls=[("reserve", {"people": 2})])]
    call, _, _ = dial([*script, "Reserved."], talk, desk=Desk(greets=False))
    lines = said(call)
    asked = next(at for at, line in enumerate(lines) if "A table for two?" in line)
    assert lines.index(f"assistant: {NOTICE}") < asked and done == [2]
