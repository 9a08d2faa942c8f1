"""A farewell that the caller speaks over: the hand-off is made all the same, and the next agent's model is told."""

from __future__ import annotations

import asyncio

from antiphon import Agent, RunContext, function_tool
from antiphon.testing import FakeLLM, Reply, SimulatedCall, run_virtual, transcript

FAREWELL = "I am putting you through to my colleague, who knows all about that and will be with you in a moment."


def test_stop_over_a_farewell_cuts_it_and_the_next_agent_who_is_told_answers() -> None:
    class Next(Agent):
        """Knows nothing of what was said."""

    class First(Agent):
        @function_tool
        async def transfer(self, ctx: RunContext) -> tuple[Agent, str]:
            """Put the caller through."""
            return Next(instructions="next"), "Put through."

    llm = FakeLLM(
        {"put me through": Reply(calls=[("transfer", {})]), "Put through.": FAREWELL, "Stop": "You are with me now."}
    )

    async def scene() -> list[str]:
        async with SimulatedCall(llm, preemptive_generation=False, max_silence=None) as call:
            await call.start(First(instructions="first"))
            await call.caller.says("put me through")
            await asyncio.sleep(2.0)
            await call.caller.says("Stop it")
            await call.settled()
            return transcript(call.session.history)

    lines = run_virtual(scene())
    assert lines[-4:] == [
        "assistant: I am putting you [cut]",
        "handoff: first -> next",
        "user: Stop it",
        "assistant: You are with me now.",
    ]
    note = transcript(llm.requests[-1].chat_ctx)[-1]
    assert "spoke over the last words of the agent who handed over to you" in note and "'I am putting you'" in note
