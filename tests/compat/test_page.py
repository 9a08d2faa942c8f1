"""The table of names tells the truth, and the page in the documentation is the table."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from antiphon_livekit import page, sessions
from antiphon_livekit.agents import AGENT_OPTIONS_WITHOUT_EFFECT, Agent
from antiphon_livekit.names import Name
from antiphon_livekit.servers import SERVER_OPTIONS_WITHOUT_EFFECT, WorkerOptions
from antiphon_livekit.surface import MODULES, find, refusal

PAGE = Path(__file__).parents[2] / "docs" / "livekit.md"
AGENT_FILES = sorted((Path(__file__).parent / "agents").glob("*.py"))
NAMES = [
    pytest.param(name, id=f"{module}.{name.name}") for module, names in MODULES.items() for name in names if name.home
]


def test_the_page_is_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page.page(), (
        "docs/livekit.md is stale: python -m antiphon_livekit.page > docs/livekit.md"
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_a_name_stands_for_is_there(name: Name) -> None:
    assert name.load() is not None


def test_each_name_has_what_its_status_promises() -> None:
    for module, names in MODULES.items():
        assert len({name.name for name in names}) == len(names), module
        for name in names:
            assert bool(name.home) == (name.status != "absent"), f"{module}.{name.name}"
            assert bool(name.note) == (name.status != "supported"), f"{module}.{name.name}"


def test_what_the_agent_files_import_is_on_the_page() -> None:
    imported = [
        (node.module, alias.name)
        for path in AGENT_FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("livekit")
        for alias in node.names
    ]
    assert len(imported) > 50
    unknown = [(m, n) for m, n in imported if find(m, n) is None and f"{m}.{n}" not in MODULES]
    assert unknown == []


def test_a_refusal_names_the_few_things_that_there_are() -> None:
    assert "there are run_app" in refusal("livekit.agents.cli", "run")


@pytest.mark.parametrize("option", sessions.SESSION_OPTIONS_WITHOUT_EFFECT)
def test_an_option_of_the_page_is_accepted_by_a_session(option: str) -> None:
    options: dict[str, Any] = {option: None}
    sessions.AgentSession(**options)


@pytest.mark.parametrize("option", AGENT_OPTIONS_WITHOUT_EFFECT)
def test_an_option_of_the_page_is_accepted_by_an_agent(option: str) -> None:
    options: dict[str, Any] = {option: None}
    Agent(instructions="", **options)


@pytest.mark.parametrize("option", SERVER_OPTIONS_WITHOUT_EFFECT)
def test_an_option_of_the_page_is_accepted_by_worker_options(option: str) -> None:
    async def entrypoint(ctx: object) -> None: ...

    options: dict[str, Any] = {option: None}
    WorkerOptions(entrypoint, **options)


def test_no_option_has_an_effect_and_none() -> None:
    used = set(inspect.signature(sessions.AgentSession.__init__).parameters)
    assert used.isdisjoint(sessions.SESSION_OPTIONS_WITHOUT_EFFECT)
