"""A restaurant's telephone: a greeter, a desk for tables, a counter for takeaway. They share what they learn."""

import logging
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from livekit.agents import JobContext, WorkerOptions, cli
from livekit.agents.llm import function_tool
from livekit.agents.voice import Agent, AgentSession, RunContext
from livekit.agents.voice.room_io import RoomInputOptions
from livekit.plugins import cartesia, deepgram, openai, silero

logger = logging.getLogger("restaurant")
logger.setLevel(logging.INFO)


@dataclass
class CallData:
    customer_name: str | None = None
    reservation: str | None = None
    order: list[str] | None = None

    agents: dict[str, Agent] = field(default_factory=dict)
    previous: Agent | None = None

    def summary(self) -> str:
        return f"customer: {self.customer_name or 'unknown'}; table: {self.reservation or 'none'}; order: {self.order}"


RunContext_T = RunContext[CallData]


class BaseAgent(Agent):
    async def on_enter(self) -> None:
        logger.info("entering %s", type(self).__name__)
        userdata: CallData = self.session.userdata
        context = self.chat_ctx.copy()

        # take over the last few things that were said to the agent before
        if userdata.previous is not None:
            recent = userdata.previous.chat_ctx.copy(exclude_instructions=True, exclude_function_call=False).truncate(
                max_items=6
            )
            known = {item.id for item in context.items}
            context.items.extend([item for item in recent.items if item.id not in known])

        context.add_message(role="system", content=f"You are {type(self).__name__}. Known: {userdata.summary()}")
        await self.update_chat_ctx(context)
        self.session.generate_reply(tool_choice="none")

    async def _transfer_to(self, name: str, context: RunContext_T) -> tuple[Agent, str]:
        userdata = context.userdata
        userdata.previous = context.session.current_agent
        return userdata.agents[name], f"Transferring to {name}."


class Greeter(BaseAgent):
    def __init__(self, menu: str) -> None:
        super().__init__(
            instructions=f"You answer the phone of a restaurant. The menu: {menu}. Find out whether the caller wants a "
            "table or a takeaway order, and hand over to the right colleague.",
            llm=openai.LLM(model="gpt-4o-mini", parallel_tool_calls=False),
        )

    @function_tool()
    async def to_reservation(self, context: RunContext_T) -> tuple[Agent, str]:
        """Called when the caller wants to reserve a table. Transfers them to the colleague for reservations."""
        return await self._transfer_to("reservation", context)

    @function_tool()
    async def to_takeaway(self, context: RunContext_T) -> tuple[Agent, str]:
        """Called when the caller wants to order food to take away. Transfers them to the takeaway counter."""
        return await self._transfer_to("takeaway", context)


class Reservation(BaseAgent):
    def __init__(self) -> None:
        super().__init__(
            instructions="You reserve tables. Ask for the day and time, and for the caller's name.",
            tts=cartesia.TTS(voice="reservation-voice"),
        )

    @function_tool()
    async def reserve_table(
        self,
        date: Annotated[str, Field(description="The day of the reservation")],
        time: Annotated[str, Field(description="The time of the reservation")],
        customer_name: Annotated[str, Field(description="The caller's name")],
        context: RunContext_T,
    ) -> str:
        """Called when the caller has given the day, the time and their name for a table."""
        context.userdata.customer_name = customer_name
        context.userdata.reservation = f"{date}, {time}"
        return f"A table is reserved for {customer_name} on {date} at {time}."

    @function_tool()
    async def to_greeter(self, context: RunContext_T) -> tuple[Agent, str]:
        """Called when the caller asks for something that has nothing to do with tables."""
        return await self._transfer_to("greeter", context)


class Takeaway(BaseAgent):
    def __init__(self, menu: str) -> None:
        super().__init__(instructions=f"You take orders to take away. The menu: {menu}.")

    @function_tool()
    async def update_order(
        self, items: Annotated[list[str], Field(description="All items of the order")], context: RunContext_T
    ) -> str:
        """Called when the caller names or changes the items of their order."""
        context.userdata.order = items
        return f"The order is now: {', '.join(items)}."


def prewarm(proc):
    proc.userdata["vad"] = silero.VAD.load(min_silence_duration=0.4)


async def entrypoint(ctx: JobContext) -> None:
    await ctx.connect()

    menu = "Pizza: 10 dollars, Salad: 5 dollars, Ice cream: 3 dollars, Coffee: 2 dollars"
    userdata = CallData()
    userdata.agents.update(greeter=Greeter(menu), reservation=Reservation(), takeaway=Takeaway(menu))

    session = AgentSession[CallData](
        userdata=userdata,
        stt=deepgram.STT(model="nova-3", language="multi"),
        llm=openai.LLM(),
        tts=cartesia.TTS(),
        vad=ctx.proc.userdata["vad"],
        max_tool_steps=5,
    )
    await session.start(agent=userdata.agents["greeter"], room=ctx.room, room_input_options=RoomInputOptions())


if __name__ == "__main__":
    cli.run_app(WorkerOptions(entrypoint_fnc=entrypoint, prewarm_fnc=prewarm))
