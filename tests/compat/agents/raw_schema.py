"""Tools whose schema is written out, as it comes from a database or from a service."""

from typing import Any

from dotenv import load_dotenv

from livekit.agents import Agent, AgentSession, JobContext, RunContext, WorkerOptions, cli
from livekit.agents.llm import function_tool
from livekit.plugins import openai

load_dotenv()

TABLES = ("invoices", "customers")


def table_tool(table: str):
    schema = {
        "type": "function",
        "name": f"count_{table}",
        "description": f"Count the {table} of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The city, for example Berlin"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    }

    async def handler(raw_arguments: dict[str, object], context: RunContext) -> dict[str, Any]:
        return {"table": table, "city": raw_arguments["city"], "count": 7}

    return function_tool(handler, raw_schema=schema)


class Clerk(Agent):
    def __init__(self) -> None:
        super().__init__(
            instructions="You look things up in the books.",
            tools=[table_tool(table) for table in TABLES],
        )

    @function_tool(
        raw_schema={
            "name": "open_gate",
            "description": "Open a gate of the yard",
            "parameters": {
                "type": "object",
                "properties": {
                    "gate": {
                        "type": "string",
                        "description": "Which gate to open",
                        "enum": ["north gate", "south gate", "garden gate"],
                    }
                },
                "required": ["gate"],
            },
        }
    )
    async def open_gate(self, raw_arguments: dict[str, object]) -> str:
        return f"The {raw_arguments['gate']} is open."


async def entrypoint(ctx: JobContext):
    await ctx.connect()
    session = AgentSession(llm=openai.LLM(model="gpt-4o", verbosity="low"))
    await session.start(Clerk(), room=ctx.room)


if __name__ == "__main__":
    cli.run_app(WorkerOptions(entrypoint_fnc=entrypoint))
