"""A language model of one's own, in twenty lines: it needs no key, and calls tools like any other.

    antiphon call examples/own_provider.py --say "Roll a die with 20 sides" "Hello there"
    antiphon dev examples/own_provider.py

Watch: the printed line names the model (`Running with own_provider.DiceLLM`). Try: `--llm local` in its place; raise
an exception in `generate`, and hear what the caller hears.
"""

import random
import re
import uuid
from collections.abc import AsyncGenerator

from antiphon import Agent, AgentServer, AgentSession, FunctionToolCall, function_tool
from antiphon.llm import LLM, ChatChunk, ChatRequest, ChoiceDelta


class DiceLLM(LLM):
    """Rolls dice where it hears of them, tells what came of it, and says back all else."""

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        last = request.chat_ctx.items[-1]
        if last.type == "function_call_output":
            delta = ChoiceDelta(content=last.output)
        else:
            said = (last.text_content or "") if last.type == "message" else ""
            sides = re.search(r"\d+", said)
            if "roll" in said.lower() and request.tools:
                arguments = f'{{"sides": {sides[0] if sides else 6}}}'
                call = FunctionToolCall(name="roll", arguments=arguments, call_id=uuid.uuid4().hex)
                delta = ChoiceDelta(tool_calls=[call])
            else:
                delta = ChoiceDelta(content=f"You said: {said}")
        yield ChatChunk(uuid.uuid4().hex, delta)


@function_tool(effect="reads")
async def roll(sides: int) -> str:
    """Roll a die.

    Args:
        sides: How many sides it has
    """
    return f"It is a {random.randint(1, sides)}."


server = AgentServer()


@server.rtc_session
async def entrypoint(session: AgentSession) -> None:
    await session.start(agent=Agent(instructions="", tools=[roll]), room=session.room, llm=DiceLLM())
