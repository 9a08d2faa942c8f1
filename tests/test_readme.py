"""What the README shows runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from antiphon import Agent, AgentServer
from antiphon.server.agent_file import load_agent_file

README = Path(__file__).parents[1] / "README.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_first_agent_is_fifteen_lines_and_is_found_in_its_file(tmp_path: Path) -> None:
    agent = next(block for block in blocks() if block.startswith("from antiphon import Agent, RunContext"))
    assert len([line for line in agent.splitlines() if line.strip()]) <= 15
    file = tmp_path / "agent.py"
    file.write_text(agent)
    assert isinstance(load_agent_file(file), AgentServer)


def test_what_it_links_to_is_there() -> None:
    linked = re.findall(r"\]\(([^)#]+)[^)]*\)", README.read_text())
    assert linked and [link for link in linked if not (README.parent / link).exists()] == []


def test_the_test_of_an_agent_passes() -> None:
    namespace: dict[str, Any] = {}
    for block in blocks():
        if block.startswith("from antiphon import Agent, RunContext") or "def test_" in block:
            exec(block, namespace)
    assert isinstance(namespace["agent"], Agent)
    namespace["test_books_the_table"]()
