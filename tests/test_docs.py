"""What the pages of `docs/` show runs as it stands."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentServer, AgentSession, function_tool
from antiphon.audio import AudioFrame
from antiphon.cli.arguments import add_production, add_store, add_telemetry
from antiphon.server.agent_file import load_agent_file
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_page_on_providers_shows_providers_that_keep_their_promises() -> None:
    namespace: dict[str, Any] = {}
    for block in blocks("providers.md"):
        exec(block, namespace)
    tests = [name for name in namespace if name.startswith("test_")]
    assert len(tests) == 2
    for name in tests:
        namespace[name]()


def test_the_page_on_transports_shows_a_line_that_keeps_its_promises() -> None:
    namespace: dict[str, Any] = {}
    for block in blocks("transports.md"):
        exec(block, namespace)
    heard: list[AudioFrame] = []
    line = namespace["FramesLine"]("room")
    line.input.start(heard.append, lambda: None)
    line.input.feed(AudioFrame.silence(0.02, 16_000))
    assert len(heard) == 1
    namespace["test_the_loudspeaker_keeps_its_promises"]()


@pytest.mark.parametrize("block", [b for b in blocks("testing.md") if "def test_" in b])
def test_the_tests_of_the_page_on_testing_pass(block: str) -> None:
    namespace: dict[str, Any] = {}
    exec(block, namespace)
    for name in [name for name in namespace if name.startswith("test_")]:
        namespace[name]()


def test_the_agents_hand_over_what_they_know(tmp_path: Path) -> None:
    (block,) = (b for b in blocks("agents.md") if "AgentServer()" in b)
    file = tmp_path / "agent.py"
    file.write_text(block)
    assert isinstance(load_agent_file(file), AgentServer)
    namespace: dict[str, Any] = {}
    exec(block, namespace)

    async def call() -> None:
        named = Reply(calls=[("note_name", {"name": "Ann Lee"})])
        llm = FakeLLM(["Hello.", named, "Thank you.", Reply(calls=[("connect_kitchen", {})]), "No nuts."])
        async with AgentSession(llm=llm, userdata=namespace["Guest"]()) as session:
            await session.start(namespace["Host"](), capture_run=True)
            for text in ("I am Ann Lee", "I have an allergy", "nuts"):
                await session.run(user_input=text)
            said = transcript(session.history)
        assert said[-3:] == ["assistant: The kitchen here, Ann Lee.", "user: nuts", "assistant: No nuts."]
        assert "user: I am Ann Lee" in llm.histories[-1]
        assert llm.histories[-1][0] == "system: You answer questions on allergies."

    run_virtual(call())


def test_without_a_context_the_next_agent_begins_with_its_instructions_alone() -> None:
    class Host(Agent):
        @function_tool
        async def next(self) -> Agent:
            """The next agent."""
            return Agent(instructions="You are next.")

    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("next", {})]), "I know nothing."])
        async with AgentSession(llm=llm) as session:
            await session.start(Host(instructions="You are first."))
            await session.run(user_input="My name is Ann")
            await session.run(user_input="What is it?")
        shown = [line for line in llm.histories[-1] if not line.startswith("handoff: ")]
        assert shown == ["system: You are next.", "user: What is it?"]

    run_virtual(call())


def test_the_servers_of_the_page_on_tools_are_given_to_an_agent() -> None:
    (block,) = (b for b in blocks("tools.md") if "MCPToolset(" in b)
    namespace: dict[str, Any] = {}
    exec(block, namespace)
    assert isinstance(namespace["agent"], Agent)


def test_the_options_of_the_page_on_going_live_are_those_of_the_command() -> None:
    shown = set(re.findall(r"`(--[a-z-]+)", (DOCS / "deploy.md").read_text()))
    parser = argparse.ArgumentParser()
    add_production(parser)
    add_telemetry(parser)
    add_store(parser)
    assert shown <= set(re.findall(r"--[a-z-]+", parser.format_help()))


def test_the_variables_of_the_compose_file_are_those_of_the_example() -> None:
    folder = DOCS.parent / "deploy"
    used = set(re.findall(r"\$\{([A-Z_]+):\?\}", (folder / "compose.yaml").read_text()))
    assert used == {
        line.partition("=")[0] for line in (folder / "example.env").read_text().splitlines() if "=" in line
    } - {"NODE_IP"}
