"""Tools that come and go: made at run time, given at construction, and added when the caller asks."""

import random
from enum import Enum
from typing import Literal

from livekit import agents
from livekit.agents import Agent, AgentServer, AgentSession, JobContext, cli, function_tool
from livekit.agents.llm import FunctionTool
from livekit.plugins import openai


class RoomName(str, Enum):
    BEDROOM = "bedroom"
    LIVING_ROOM = "living room"
    KITCHEN = "kitchen"
    GARAGE = "garage"


async def _temperature(room: RoomName) -> str:
    return f"The temperature in the {room.value} is {random.Random(room.value).randint(18, 24)} degrees."


async def _switch_light(room: RoomName, state: Literal["on", "off"]) -> str:
    return f"The light in the {room.value} is {state}."


def light_tool(floor: str) -> FunctionTool:
    return function_tool(_switch_light, name="switch_light", description=f"Switch a light {floor} on or off.")


class House(Agent):
    def __init__(self) -> None:
        super().__init__(
            instructions="You look after a house.",
            tools=[
                function_tool(_temperature, name="get_temperature", description="Get the temperature of a room."),
            ],
        )

    @function_tool
    async def unlock_lights(self, pin: str) -> str:
        """Unlock the control of the lights.

        Args:
            pin: The PIN, four digits.
        """
        if pin != "1234":
            raise agents.ToolError("The PIN is wrong. Ask for it again.")
        await self.update_tools([*self.tools, light_tool("upstairs and downstairs")])
        return "The control of the lights is unlocked."


server = AgentServer()


@server.rtc_session(agent_name="house")
async def entrypoint(ctx: JobContext):
    session = AgentSession(llm=openai.LLM(model="gpt-4o-mini"))
    await session.start(House(), room=ctx.room)


if __name__ == "__main__":
    cli.run_app(server)
