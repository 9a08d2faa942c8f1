"""What the application is told of tools in a call by voice."""

from __future__ import annotations

from antiphon import Agent, FunctionToolsExecutedEvent, function_tool
from antiphon.testing import FakeLLM, Reply, SimulatedCall, run_virtual


@function_tool
async def look_up(name: str) -> str:
    """Look a name up."""
    return f"{name} is in."


def test_executed_tools_are_told_with_calls_and_outputs_while_the_words_before_them_still_sound() -> None:
    async def scene() -> None:
        told: list[list[tuple[str, str]]] = []
        llm = FakeLLM([Reply("One moment, I look that up.", [("look_up", {"name": "Ann"})]), "Ann is in."])

        def note(event: FunctionToolsExecutedEvent) -> None:
            told.append([(call.name, output.output) for call, output in event.zipped()])

        async with SimulatedCall(llm) as call:
            call.session.on("function_tools_executed", note)
            await call.start(Agent(tools=[look_up]))
            await call.caller.says("Is Ann in?")
            await call.settled()
        assert told == [[("look_up", "Ann is in.")]]

    run_virtual(scene())
