"""A dental receptionist: looks up free slots, and books one that was read back and agreed to.

    antiphon call examples/receptionist.py --say "Do you have anything next Tuesday?"
    antiphon dev examples/receptionist.py

Watch: nothing is booked before the name, the day and the time are known, and the booking is read back first. Try: "Ten
AM", which is not free; speak over the confirmation, which is not cut. The cloud models named at the end are used if
their keys are set; otherwise local ones take their place.

What is booked stands in a file of the folder where it runs: it is there when this process is killed in the middle, and the call goes on in the
next one (docs/resume.md).
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from antiphon import (
    Agent,
    AgentServer,
    AgentSession,
    DidNotHappen,
    Happened,
    RunContext,
    ToolError,
    function_tool,
)
from antiphon.plugins import cartesia, deepgram, openai

server = AgentServer()
DIARY = Path(".antiphon") / "diary.db"


def in_diary(statement: str, values: Sequence[str]) -> Any:
    """Run a statement on what is booked, by the key of the wish. In a thread: other calls talk on."""
    DIARY.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(DIARY)) as connection, connection:
        connection.execute(
            "create table if not exists bookings(key text primary key, patient text, day text, hour text)"
        )
        return connection.execute(statement, values).fetchone()


async def find_booking(key: str, arguments: Mapping[str, Any]) -> Happened | DidNotHappen:
    """What came of a booking that was cut off."""
    found = await asyncio.to_thread(in_diary, "select patient, day, hour from bookings where key = ?", [key])
    return Happened("Appointment confirmed: {}, {} at {}.".format(*found)) if found else DidNotHappen()


@function_tool(effect="reads")
async def check_availability(context: RunContext, date: str) -> str:
    """Check available appointment slots for a given date.

    Args:
        date: The date to check availability for (e.g., "next Tuesday", "March 15")
    """
    available_slots = ["9:00 AM", "11:30 AM", "2:00 PM", "4:30 PM"]
    return f"Available slots for {date}: {', '.join(available_slots)}"


@function_tool(
    effect="writes",
    confirm="An appointment for {patient_name}, {date} at {time}. Shall I book it?",
    reconcile=find_booking,
)
async def book_appointment(
    context: RunContext,
    patient_name: str,
    date: str,
    time: str,
) -> str:
    """Book a dental appointment for a patient.

    Args:
        patient_name: The patient's full name
        date: The appointment date (e.g., "next Tuesday", "March 15")
        time: The appointment time slot (e.g., "9:00 AM", "2:00 PM")
    """
    valid_slots = ["9:00 AM", "11:30 AM", "2:00 PM", "4:30 PM"]
    if time not in valid_slots:
        raise ToolError(f"{time} is not an available slot. Available: {', '.join(valid_slots)}")

    row = [context.idempotency_key, patient_name, date, time]
    await asyncio.to_thread(in_diary, "insert or ignore into bookings values (?, ?, ?, ?)", row)

    booking = {
        "patient_name": patient_name,
        "date": date,
        "time": time,
        "status": "confirmed",
    }

    if not hasattr(context.session, "userdata"):
        context.session.userdata = {}
    context.session.userdata["last_booking"] = booking

    await context.session.say(
        f"I have booked an appointment for {patient_name}, {date} at {time}.",
        allow_interruptions=False,
    )

    return f"Appointment confirmed: {patient_name}, {date} at {time}. Ask if there is anything else you can help with."


@server.rtc_session
async def entrypoint(session: AgentSession) -> None:
    await session.start(
        agent=Agent(
            instructions="""You are a friendly receptionist at Bright Smile Dental clinic.
          Keep responses brief and conversational. Never use markdown or emojis.

          When a caller asks about availability, use check_availability to look up
          real slots. Never guess or make up times.

          When a caller wants to book, collect their full name, preferred date, and
          preferred time slot. Then use book_appointment to complete the booking.
          If the caller has not provided all three pieces of information, ask for
          the missing ones before calling the tool.

          If a requested time is not available, let the caller know and suggest
          the available alternatives.

          After booking, ask if there is anything else you can help with.""",
            tools=[check_availability, book_appointment],
        ),
        room=session.room,
        stt=deepgram.STT(model="nova-3"),
        llm=openai.LLM(model="gpt-4o-mini"),
        tts=cartesia.TTS(voice="<voice-id>"),
    )


if __name__ == "__main__":
    server.run()
