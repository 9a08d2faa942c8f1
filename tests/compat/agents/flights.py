"""A flight is booked in the background, and the caller hears how it goes."""

import asyncio

from livekit.agents import Agent, AgentServer, AgentSession, JobContext, JobProcess, cli, function_tool, inference
from livekit.agents.llm.async_toolset import AsyncRunContext, AsyncToolset
from livekit.plugins import silero
from livekit.plugins.turn_detector.multilingual import MultilingualModel


@function_tool
async def book_flight(ctx: AsyncRunContext, origin: str, destination: str, date: str) -> str:
    """Book a flight for the user.

    Args:
        origin: The city to fly from
        destination: The city to fly to
        date: The day of the flight
    """
    await ctx.update(f"Looking for flights from {origin} to {destination} on {date}.")
    await asyncio.sleep(0.1)
    await ctx.update("There are three flights; the cheapest one is being booked.")
    await asyncio.sleep(0.1)
    return f"The flight from {origin} to {destination} on {date} is booked. The code is FL4821."


class TravelAgent(Agent):
    def __init__(self) -> None:
        super().__init__(
            instructions="You book flights. Tell the caller how the booking goes.",
            tools=[AsyncToolset(id="travel", tools=[book_flight])],
        )

    async def on_enter(self) -> None:
        self.session.generate_reply(instructions="Greet the caller and offer to book a flight.")


server = AgentServer()


def prewarm(proc: JobProcess) -> None:
    proc.userdata["vad"] = silero.VAD.load()


server.setup_fnc = prewarm


@server.rtc_session()
async def entrypoint(ctx: JobContext) -> None:
    ctx.log_context_fields = {"room": ctx.room.name}
    session = AgentSession(
        stt=inference.STT("deepgram/nova-3", language="multi"),
        llm=inference.LLM("openai/gpt-4.1-mini"),
        tts=inference.TTS("cartesia/sonic-3", voice="9626c31c-bec5-4cca-baa8-f8ba9e84c8bc"),
        turn_detection=MultilingualModel(),
        vad=ctx.proc.userdata["vad"],
        preemptive_generation=True,
    )
    await session.start(agent=TravelAgent(), room=ctx.room)
    await ctx.connect()


if __name__ == "__main__":
    cli.run_app(server)
