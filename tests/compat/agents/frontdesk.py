"""The front desk of a practice: lists free slots of a calendar and books one."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

from livekit.agents import (
    Agent,
    AgentServer,
    AgentSession,
    JobContext,
    RunContext,
    ToolError,
    TurnHandlingOptions,
    cli,
    function_tool,
    room_io,
)
from livekit.agents.beta.tools import EndCallTool
from livekit.plugins import noise_cancellation


@dataclass(frozen=True)
class Slot:
    id: str
    start: datetime.datetime


class SlotUnavailable(Exception):
    def __init__(self, slot: str) -> None:
        super().__init__(f"{slot} is taken")


class Calendar(Protocol):
    async def list_slots(self, day: str) -> Sequence[Slot]: ...
    async def book(self, slot_id: str, name: str) -> None: ...


class FakeCalendar:
    def __init__(self, timezone: str) -> None:
        self.zone = ZoneInfo(timezone)
        self.taken: set[str] = set()

    async def list_slots(self, day: str) -> Sequence[Slot]:
        base = datetime.datetime(2026, 12, 1, 9, 0, tzinfo=self.zone)
        slots = [Slot(f"S{n}", base + datetime.timedelta(hours=n)) for n in (1, 2, 5)]
        return [slot for slot in slots if slot.id not in self.taken]

    async def book(self, slot_id: str, name: str) -> None:
        if slot_id in self.taken:
            raise SlotUnavailable(slot_id)
        self.taken.add(slot_id)


@dataclass
class Userdata:
    cal: Calendar
    booked: str | None = None


class FrontDesk(Agent):
    def __init__(self, *, timezone: str) -> None:
        today = datetime.datetime.now(ZoneInfo(timezone)).strftime("%A, %B %d, %Y")
        super().__init__(
            instructions=f"You are the front desk. Today is {today}. List free slots when asked, book one of them, "
            "and end the call when the caller is done.",
            tools=[EndCallTool(end_instructions="Thank the caller and say goodbye.")],
        )

    @function_tool
    async def list_available_slots(self, ctx: RunContext[Userdata], day: str) -> str:
        """List the free appointment slots of a day.

        Args:
            day: The day to look at
        """
        slots = await ctx.userdata.cal.list_slots(day)
        return f"Free on {day}: {', '.join(slot.start.strftime('%I:%M %p').lstrip('0') for slot in slots)}."

    @function_tool
    async def schedule_appointment(self, ctx: RunContext[Userdata], name: str, time: str) -> str:
        """Book an appointment in a free slot.

        Args:
            name: The caller's full name
            time: The time of the slot
        """
        ctx.disallow_interruptions()
        slots = await ctx.userdata.cal.list_slots("")
        slot = next((s for s in slots if s.start.strftime("%I:%M %p").lstrip("0") == time.upper().lstrip("0")), None)
        if slot is None:
            raise ToolError(f"There is no free slot at {time}.")
        try:
            await ctx.userdata.cal.book(slot.id, name)
        except SlotUnavailable as e:
            raise ToolError("This slot has just been taken. Offer another one.") from e
        ctx.userdata.booked = slot.id
        return f"The appointment for {name} at {time} is booked."


server = AgentServer()


async def on_session_end(ctx: JobContext) -> None:
    print(f"session over, booked: {ctx.primary_session.userdata.booked}")


@server.rtc_session(on_session_end=on_session_end)
async def frontdesk(ctx: JobContext):
    await ctx.connect()
    timezone = "UTC"
    session = AgentSession[Userdata](
        userdata=Userdata(cal=FakeCalendar(timezone)),
        stt="deepgram/nova-3:multi",
        llm="google/gemini-2.5-flash",
        tts="elevenlabs/eleven_turbo_v2_5:voice",
        turn_handling=TurnHandlingOptions(
            turn_detection="stt", endpointing={"min_delay": 0.4}, interruption={"min_words": 0, "min_duration": 0.4}
        ),
        max_tool_steps=1,
    )
    await session.start(
        agent=FrontDesk(timezone=timezone),
        room=ctx.room,
        room_options=room_io.RoomOptions(
            audio_input=room_io.AudioInputOptions(noise_cancellation=noise_cancellation.BVC())
        ),
    )


if __name__ == "__main__":
    cli.run_app(server)
