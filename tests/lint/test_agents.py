"""The agents of this project's examples, pages and tests: what is found in them is known, and why."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from antiphon.lint import Finding, check, read_agents
from antiphon.lint.description import AgentView
from antiphon.lint.reading import describe_module

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "examples" / "receptionist.py", *sorted((ROOT / "tests" / "compat" / "agents").glob("*.py"))]
PAGES = ["README.md", "docs/agents.md", "docs/tools.md", "docs/resume.md", "docs/store.md"]
WORKFLOWS = "docs/workflows.md"
MODULES = [
    "tests.standin.agents",
    "tests.application.secret_calls",
    "tests.application.test_consent_metrics",
    "tests.console.test_narration",
    "tests.contract.test_before_speech",
    "tests.contract.test_consent",
    "tests.contract.test_guide",
    "tests.contract.test_long_talks",
    "tests.contract.test_store",
    "tests.contract.test_toolsets",
    "tests.contract.test_undo",
    "tests.runtime.test_context_window",
]

UNSAID = "true: the page or test is about something else, and leaves it out"
NOTHING_IS_PAID = "nothing is paid there, and consent is not what it is about"
NO_FORMAT = "true: the caller's words are enough there, and the model may write them as it likes"
EXPLAINED: dict[tuple[str, str, str], str] = {
    ("docs/tools.md", "unfiltered-server", ""): "true: the page shows a server with a choice, and one without",
    ("docs/workflows.md", "grave-without-consent", "pay"): NOTHING_IS_PAID,
    ("docs/workflows.md", "write-without-limit", "pay"): "true: its backend is an engine that answers at once",
    ("flights.py", "undocumented-format", "book_flight"): NO_FORMAT,
    ("frontdesk.py", "undocumented-format", "schedule_appointment"): NO_FORMAT,
    ("restaurant.py", "undocumented-format", "reserve_table"): NO_FORMAT,
    ("raw_schema.py", "values-only-in-type", "open_gate"): "true: of a raw schema nobody puts the values into words",
    ("secret_calls", "untold-error", "take"): "true: the test is about an error that quotes a secret",
    ("test_before_speech", "bare-error", "book_table"): UNSAID,
    ("test_context_window", "undocumented-parameter", "book"): UNSAID,
    ("test_context_window", "undocumented-parameter", "menu"): UNSAID,
    ("test_long_talks", "grave-without-consent", "pay"): NOTHING_IS_PAID,
    ("test_narration", "undocumented-parameter", "look"): UNSAID,
    ("test_store", "grave-without-consent", "pay"): NOTHING_IS_PAID,
    ("test_store", "untold-error", "pay"): "true: the test is about a tool that breaks",
    ("test_store", "write-without-limit", "pay"): UNSAID,
}
"""What is found that is more than advice, and why it is right: where, rule, tool."""


def findings_of(where: str, agents: Sequence[AgentView]) -> dict[tuple[str, str, str], Finding]:
    return {(where, one.rule, one.tool): one for one in check(agents) if one.counts}


def agents_of_pages(folder: Path, pages: Sequence[str]) -> list[tuple[str, Sequence[AgentView]]]:
    found: list[tuple[str, Sequence[AgentView]]] = []
    for page in pages:
        for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL):
            if re.search(r"^(agent = Agent\(|server = AgentServer)", block, re.MULTILINE):
                file = folder / "page.py"
                file.write_text(block, encoding="utf-8")
                found.append((page, read_agents(file)))
    return found


def everything(folder: Path) -> list[tuple[str, Sequence[AgentView]]]:
    template = folder / "agent.py"
    template.write_text((ROOT / "src/antiphon/cli/template/agent.py.txt").read_text(encoding="utf-8"), encoding="utf-8")
    found: list[tuple[str, Sequence[AgentView]]] = [("template", read_agents(template))]
    for file in FILES:
        is_foreign = "livekit" in file.read_text(encoding="utf-8")
        found.append((file.name, read_agents(file, livekit=is_foreign)))
    found += agents_of_pages(folder, PAGES)
    for name in MODULES:
        found.append((name.rpartition(".")[2], describe_module(importlib.import_module(name))))
    return found


def assert_explained(
    everybody: Sequence[tuple[str, Sequence[AgentView]]], explained: set[tuple[str, str, str]]
) -> None:
    found = {key: one for where, agents in everybody for key, one in findings_of(where, agents).items()}
    assert {key: str(one) for key, one in found.items() if key not in EXPLAINED} == {}
    assert explained - set(found) == set()


def test_no_false_alarm_is_left_unexplained(tmp_path: Path) -> None:
    from antiphon.compat import livekit

    try:
        everybody = everything(tmp_path)
    finally:
        livekit.uninstall()
    assert len([agent for _, some in everybody for agent in some if agent.tools]) >= 30
    assert_explained(everybody, {key for key in EXPLAINED if key[0] != WORKFLOWS})


def test_no_false_alarm_is_left_unexplained_in_the_recipe_of_workflows(tmp_path: Path) -> None:
    pytest.importorskip("dbos", reason="the recipe needs the package dbos: pip install dbos")
    assert_explained(agents_of_pages(tmp_path, [WORKFLOWS]), {key for key in EXPLAINED if key[0] == WORKFLOWS})
