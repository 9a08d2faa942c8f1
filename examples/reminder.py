"""A clinic that calls people the day before: a person is reminded, and a voicemail gets a message behind its tone.

    antiphon call examples/reminder.py --say "Yes, that is me" "I can't come, cancel it please" "yes"
    antiphon dev examples/reminder.py
    antiphon dial examples/reminder.py +15550123456 --public-url https://YOUR-ADDRESS --metadata '{"name": "Mr Miller", "at": "nine"}' --key reminder-7

Watch: the agent talks at once, and falls silent when a machine answers. Try: let it call a telephone that nobody takes,
and read the record: who answered, by which words, and whether the message was heard whole.
"""

import json
from dataclasses import dataclass
from typing import Any

from antiphon import Agent, AgentServer, AgentSession, JobContext, RunContext, function_tool
from antiphon.toolkit import AnswerWatch, EndCallTool, LeaveMessage


@dataclass
class Appointment:
    """Whom it is for, and when."""

    name: str = "Mr Miller"
    at: str = "nine"
    outcome: str = "not reached"


class Reminder(Agent):
    """Reminds one person of one appointment."""

    def __init__(self, appointment: Appointment) -> None:
        super().__init__(
            instructions=f"You remind {appointment.name} of an appointment tomorrow at {appointment.at}. Cancel it only"
            " if they ask you to.",
            tools=[EndCallTool()],
        )
        self._appointment = appointment

    async def on_enter(self) -> None:
        one = self._appointment
        self.session.say(f"Good morning, this is Bright Smile Dental. Am I speaking with {one.name}?")

    @function_tool(effect="writes", confirm="I cancel the appointment tomorrow. Shall I?")
    async def cancel_appointment(self, ctx: RunContext[Appointment]) -> str:
        """Cancel the appointment tomorrow, because the person cannot come."""
        ctx.userdata.outcome = "cancelled"
        return "The appointment is cancelled."


server = AgentServer()


@server.rtc_session
async def entrypoint(ctx: JobContext) -> None:
    """One call: `--metadata`, or `server.dial(metadata=)`, says whom it is for."""
    appointment = Appointment(**json.loads(ctx.job.metadata or "{}"))
    session = AgentSession(userdata=appointment)
    about = f"This is Bright Smile Dental about the appointment of {appointment.name} tomorrow at {appointment.at}."
    watch = AnswerWatch(
        session,
        on_screening=about,
        on_voicemail=LeaveMessage(f"{about} If you cannot come, please call us back. Goodbye."),
        room=ctx.room,
    )

    def keep_outcome(_: Any) -> None:
        left = watch.message
        if left is not None:
            appointment.outcome = "message left" if left.whole else "message cut"

    session.on("message_left", keep_outcome)
    await session.start(agent=Reminder(appointment), room=ctx.room)


if __name__ == "__main__":
    server.run()
