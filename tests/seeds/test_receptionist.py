"""The receptionist chapter: a booking tool that speaks, and the whole agent in a job."""

from __future__ import annotations

import asyncio

import pytest

from antiphon import Agent, AgentSession
from antiphon.protocols import ModelKind
from antiphon.server.room import Room
from antiphon.testing import FakeLLM, FakeTTS, Reply, run_virtual, transcript
from tests.calls import VoiceCall, converse, outputs
from tests.seeds.documents import run

BOOKING = {"patient_name": "Sarah Chen", "date": "next Tuesday", "time": "2:00 PM"}
SAID = "I have booked an appointment for Sarah Chen on next Tuesday at 2:00 PM."
BOOKED = "Appointment confirmed: Sarah Chen, next Tuesday at 2:00 PM. Ask if there is anything else you can help with."


def test_a_booking_is_stored_said_and_told_to_the_model() -> None:
    async def main() -> None:
        block = await run("book_appointment")
        llm = FakeLLM([Reply(calls=[("book_appointment", BOOKING)]), "Anything else?"])
        session = await converse(Agent(tools=[block.book_appointment]), "The 2 PM slot. Sarah Chen.", llm=llm)
        assert session.userdata == {"last_booking": {**BOOKING, "status": "confirmed"}}
        assert [line for line in transcript(session.history) if not line.startswith("call")] == [
            "user: The 2 PM slot. Sarah Chen.",
            f"assistant: {SAID}",
            f"output book_appointment: {BOOKED}",
            "assistant: Anything else?",
        ]
        (tool,) = llm.requests[0].tools
        schema = tool.spec.parameters  # type: ignore[attr-defined]
        assert schema["required"] == ["patient_name", "date", "time"]
        assert schema["properties"]["patient_name"]["description"] == "The patient's full name"

    run_virtual(main())


def test_a_slot_that_does_not_exist_is_an_error_from_which_the_model_goes_on() -> None:
    async def main() -> None:
        block = await run("book_appointment")
        llm = FakeLLM([Reply(calls=[("book_appointment", {**BOOKING, "time": "10:00 AM"})]), "At nine, perhaps?"])
        session = await converse(Agent(tools=[block.book_appointment]), "At ten.", llm=llm)
        assert transcript(session.history)[2:] == [
            "error book_appointment: 10:00 AM is not an available slot. Available: 9:00 AM, 11:30 AM, 2:00 PM, 4:30 PM",
            "assistant: At nine, perhaps?",
        ]
        assert session.userdata == {}

    run_virtual(main())


def test_the_caller_cannot_cut_the_confirmation() -> None:
    async def main() -> None:
        block = await run("book_appointment")
        llm = FakeLLM([Reply(calls=[("book_appointment", BOOKING)]), "You are welcome. Anything else?"])
        async with VoiceCall(llm, ["two o'clock please", "great thank you so much"]) as call:
            await call.begin(Agent(tools=[block.book_appointment]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            assert call.session.agent_state == "speaking"
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            await call.session.wait_for_idle()
            assert call.speaker.sounds[0].duration == pytest.approx(FakeTTS().duration(SAID))
            assert [message.text_content for message in call.session.history.messages()] == [
                "two o'clock please",
                SAID,
                "great thank you so much",
                "You are welcome. Anything else?",
            ]

    run_virtual(main())


def test_the_whole_agent_serves_a_call() -> None:
    async def main() -> None:
        block = await run("receptionist")
        llm = FakeLLM(
            [
                Reply(calls=[("check_availability", {"date": "next Tuesday"})]),
                "I have nine, eleven thirty, two and four thirty.",
                Reply(calls=[("book_appointment", BOOKING)]),
                "Anything else?",
            ]
        )
        chosen: dict[ModelKind, object] = {}

        def models(wanted: dict[ModelKind, object]) -> dict[ModelKind, object]:
            chosen.update(wanted)
            return {**wanted, "llm": llm, "stt": None, "tts": None}

        async with block.server.job(Room(), models=models) as job:
            session = await job.wait_for_session()
            assert isinstance(session, AgentSession) and session.room is job.room
            await session.run(user_input="Do you have anything next Tuesday?")
            await session.run(user_input="The 2 PM slot. Sarah Chen.")
            assert outputs(session) == ["Available slots for next Tuesday: 9:00 AM, 11:30 AM, 2:00 PM, 4:30 PM", BOOKED]
            assert session.userdata["last_booking"]["patient_name"] == "Sarah Chen"
            assert session.history.messages()[-2].text_content == SAID
        names = {
            kind: f"{type(model).__module__.rsplit('.', 1)[-1]} {getattr(model, 'model', '')}"
            for kind, model in chosen.items()
        }
        assert (names["stt"], names["llm"]) == ("deepgram nova-3", "openai gpt-4o-mini")
        assert llm.histories[0][0].startswith("system: You are a friendly receptionist at Bright Smile Dental clinic.")

    run_virtual(main())
