"""Calls end to end on scripted models: what is heard, done, measured and written. By voice in virtual time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from antiphon import Agent, AgentServer, AgentSession, RunContext, ToolError, function_tool
from antiphon.audio import AudioFrame
from antiphon.calls.models import ModelChoice
from antiphon.chat import ChatMessage
from antiphon.cli.call import Call, text_call, voice_call
from antiphon.cli.screen import Screen
from antiphon.errors import AgentFileError, AntiphonError
from antiphon.events import ConversationItemAddedEvent
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD, Hang, Reply, run_virtual, speech

CHARACTER = 0.06
"""Seconds of the fake voice's audio for each character."""
LISTING = "We have nine, half past ten, eleven, noon, two and half past four."


@function_tool
async def look_up(context: RunContext, day: str) -> str:
    """Look up free slots.

    Args:
        day: The day
    """
    if day == "Sunday":
        raise ToolError("closed on Sunday")
    await asyncio.sleep(0.5)
    context.session.userdata = {"asked": day}
    return f"free on {day}"


def server(llm: FakeLLM, *, heard: list[str] | None = None, greeting: str = "") -> AgentServer:
    made = AgentServer()

    class Desk(Agent):
        async def on_enter(self) -> None:
            if greeting:
                self.session.say(greeting)

    @made.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        models: dict[str, Any] = {"llm": llm}
        if heard is not None:
            models |= {"stt": FakeSTT(heard), "tts": FakeTTS(seconds_per_character=CHARACTER), "vad": FakeVAD()}
        desk = Desk(instructions="Be brief.", tools=[look_up, search])
        await session.start(agent=desk, room=session.room, turn_detector=None, **models)

    return made


def by_voice(
    made: AgentServer,
    turns: list[AudioFrame],
    barge_in: dict[int, float] | None = None,
    screen: Screen | None = None,
    wait: float = 60.0,
) -> Call:
    async def call() -> Call:
        return await voice_call(
            made,
            turns,
            barge_in=barge_in or {},
            models=ModelChoice(),
            screen=screen or Screen(to_stderr=True),
            wait=wait,
        )

    return run_virtual(call(), timeout=1000)


def in_text(made: AgentServer, *texts: str, wait: float = 60.0) -> Call:
    async def call() -> Call:
        models = ModelChoice(voice=False)
        return await text_call(made, texts, models=models, screen=Screen(to_stderr=True), wait=wait)

    return run_virtual(call(), timeout=1000)


@function_tool
async def search(context: RunContext) -> str:
    """Search for long."""
    await context.update("searching")
    await asyncio.sleep(20.0)
    return "nine seats"


def slow_search() -> FakeLLM:
    return FakeLLM({"message: searching": "I am on it.", "nine seats": "Nine.", "": Reply(calls=[("search", {})])})


def said(call: Call, role: str) -> list[str]:
    return [turn.text for turn in call.report.turns if turn.role == role]


def script() -> FakeLLM:
    return FakeLLM(
        {
            "free on": LISTING,
            "closed": "Sorry, we are closed.",
            "tuesday": Reply(calls=[("look_up", {"day": "Tuesday"})]),
            "sunday": Reply(calls=[("look_up", {"day": "Sunday"})]),
            "": "What day?",
        }
    )


# -- by voice


def test_recorded_turns_are_heard_answered_and_measured() -> None:
    call = by_voice(server(script(), heard=["Hi", "On Tuesday"]), [speech(1.0), speech(1.2)])
    assert said(call, "user") == ["Hi", "On Tuesday"]
    assert said(call, "assistant") == ["What day?", LISTING]
    assert call.recorder is not None
    assert call.caller is not None
    first, second = call.caller.spoken
    greeting_end = (
        first.end + call.report.latency["voice_to_voice_ms"]["values"][0] / 1000 + len("What day?") * CHARACTER
    )
    assert second.start == pytest.approx(greeting_end + 0.3, abs=0.06)
    (tool,) = call.report.tool_calls
    assert (tool.name, tool.arguments, tool.output) == ("look_up", {"day": "Tuesday"}, "free on Tuesday")
    assert (tool.status, tool.is_error) == ("done", False)
    assert tool.ended is not None
    assert tool.ended - tool.started == pytest.approx(0.5, abs=0.01)
    assert call.report.userdata == {"asked": "Tuesday"}


def test_latency_is_what_the_recording_shows(tmp_path: Path) -> None:
    call = by_voice(server(script(), heard=["Hi"]), [speech(1.0)])
    call.save(title="t", recording=tmp_path / "call.wav", page=None)
    samples, rate = soundfile.read(tmp_path / "call.wav", dtype="float32")
    caller, agent = (np.flatnonzero(np.abs(samples[:, channel]) > 10 ** (-45 / 20)) / rate for channel in (0, 1))
    (latency,) = call.report.latency["voice_to_voice_ms"]["values"]
    assert latency == pytest.approx(1000 * (agent[0] - caller[-1]), abs=1.0)
    answers = [turn for turn in call.report.turns if turn.role == "assistant"]
    assert answers[0].latency_ms == latency
    (reply,) = call.report.replies
    assert reply.response_delay == pytest.approx(latency / 1000, abs=0.03)


def test_a_barge_in_cuts_the_agent_at_its_second() -> None:
    call = by_voice(server(script(), heard=["On Tuesday", "Stop, Sunday"]), [speech(1.0), speech(1.0)], {2: 2.0})
    assert call.output is not None
    assert call.caller is not None
    assert call.recorder is not None
    cut_answer = next(turn for turn in call.report.turns if turn.interrupted)
    assert LISTING.startswith(cut_answer.text)
    assert f"{cut_answer.text} {cut_answer.unheard}" == LISTING
    onset = call.recorder.first_agent_sound(call.caller.spoken[0].end)
    assert onset is not None
    assert call.caller.spoken[1].start == pytest.approx(onset + 2.0, abs=0.001)
    (cut,) = call.output.cuts
    assert 0 < cut.at - call.caller.spoken[1].start < 1.0
    assert said(call, "assistant")[-1] == "Sorry, we are closed."
    assert call.report.tool_calls[-1].status == "error"


def test_the_caller_lets_a_greeting_finish() -> None:
    call = by_voice(server(script(), heard=["Hi"], greeting="Welcome to the desk."), [speech(1.0)])
    assert said(call, "assistant") == ["Welcome to the desk.", "What day?"]
    assert call.recorder is not None
    assert call.caller is not None
    assert call.caller.spoken[0].start > call.recorder.agent_spans()[0].end


def test_an_agent_that_ends_the_call_ends_it() -> None:
    made = AgentServer()

    @made.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(
            agent=Agent(instructions=""),
            room=session.room,
            llm=FakeLLM(["Bye."]),
            stt=FakeSTT(["Hi"]),
            tts=FakeTTS(),
            vad=FakeVAD(),
            turn_detector=None,
        )

        def hang_up(event: ConversationItemAddedEvent) -> None:
            if isinstance(event.item, ChatMessage) and event.item.role == "assistant":
                session.shutdown()

        session.on("conversation_item_added", hang_up)

    call = by_voice(made, [speech(1.0), speech(1.0)])
    assert said(call, "user") == ["Hi"]


def test_the_caller_stays_for_what_a_tool_in_the_background_finds() -> None:
    call = by_voice(server(slow_search(), heard=["Search"]), [speech(1.0)])
    assert said(call, "assistant") == ["I am on it.", "Nine."]
    assert call.recorder is not None
    assert call.report.duration - call.recorder.agent_spans()[-1].end < 1.0
    (tool,) = call.report.tool_calls
    assert (tool.status, tool.output) == ("done", "nine seats")


def test_a_caller_who_has_waited_long_enough_hangs_up(capsys: pytest.CaptureFixture[str]) -> None:
    call = by_voice(server(slow_search(), heard=["Search"]), [speech(1.0)], wait=5.0)
    assert said(call, "assistant") == ["I am on it."]
    assert call.report.duration < 10
    assert "Still running after 5 s, and ended with the call: search. Wait longer" in capsys.readouterr().err


def test_a_session_that_does_not_take_the_room_is_an_error() -> None:
    made = AgentServer()

    @made.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(agent=Agent(instructions=""), llm=FakeLLM(), stt=None, tts=None, vad=None)

    with pytest.raises(AgentFileError, match=r"does not hear the caller.*room=ctx\.room"):
        by_voice(made, [speech(1.0)])


def test_a_call_that_never_ends_is_ended_and_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.cli.call.CALL_LIMIT", 6.0)
    call = by_voice(server(script(), heard=["Hi"]), [speech(1.0)] * 9)
    assert "The call was ended after 6 s." in capsys.readouterr().err
    assert said(call, "user") == ["Hi"]


def test_the_page_and_the_recording_are_written(tmp_path: Path) -> None:
    call = by_voice(server(script(), heard=["Hi"]), [speech(1.0)])
    call.save(title="Call", recording=tmp_path / "a.wav", page=tmp_path / "b.html")
    assert soundfile.info(tmp_path / "a.wav").channels == 2
    assert '"audio": "a.wav"' in (tmp_path / "b.html").read_text()


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    call = in_text(server(script()), "Hi")
    (tmp_path / "file").touch()
    with pytest.raises(AntiphonError, match=r"cannot write .*Choose another path"):
        call.save(title="t", recording=None, page=tmp_path / "file" / "x.html")


# -- in text


def test_typed_turns_are_answered_one_after_the_other() -> None:
    call = in_text(server(script(), greeting="Welcome."), "Hi", "On Sunday")
    assert [turn.text for turn in call.report.turns] == [
        "Welcome.",
        "Hi",
        "What day?",
        "On Sunday",
        "Sorry, we are closed.",
    ]
    (tool,) = call.report.tool_calls
    assert (tool.status, tool.is_error, tool.output) == ("error", True, "closed on Sunday")
    json.dumps(call.report.to_json())


def test_after_the_last_typed_turn_tools_in_the_background_are_waited_for() -> None:
    call = in_text(server(slow_search()), "Search")
    assert said(call, "assistant") == ["I am on it.", "Nine."]
    assert call.report.duration < 21


@pytest.mark.parametrize("wait", [0.0, 5.0])
def test_a_tool_that_outlasts_the_wait_is_named(wait: float, capsys: pytest.CaptureFixture[str]) -> None:
    call = in_text(server(slow_search()), "Search", wait=wait)
    assert said(call, "assistant") == ["I am on it."]
    assert call.report.duration < wait + 1
    assert f"Still running after {wait:g} s, and ended with the call: search." in capsys.readouterr().err


def test_a_model_that_fails_is_spoken_about() -> None:
    call = in_text(server(FakeLLM([Hang()])), "Hi")
    assert "something went wrong" in said(call, "assistant")[0]


def test_an_entrypoint_that_raises_is_an_error_of_the_file() -> None:
    made = AgentServer()

    @made.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        raise LookupError("no\ndatabase")

    with pytest.raises(AgentFileError, match="the entrypoint raised LookupError: no database"):
        in_text(made, "Hi")


def test_an_entrypoint_that_never_starts_is_given_up() -> None:
    made = AgentServer()

    @made.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await asyncio.sleep(1000)

    with pytest.raises(AgentFileError, match="started no session within 60 s"):
        in_text(made, "Hi")


class SlowlyLoaded(FakeLLM):
    """Is prepared for this long, as a model is on a slow machine whose first call it is."""

    def __init__(self, seconds: float) -> None:
        super().__init__(["Hello."])
        self.seconds = seconds

    async def prewarm(self) -> None:
        await asyncio.sleep(self.seconds)


def test_a_model_that_loads_slowly_is_waited_for() -> None:
    assert said(in_text(server(SlowlyLoaded(200)), "Hi"), "assistant") == ["Hello."]


def test_a_model_that_never_loads_is_given_up() -> None:
    with pytest.raises(AgentFileError, match="models of the session were not loaded within 900 s"):
        in_text(server(SlowlyLoaded(10_000)), "Hi")
