"""Each rule finds its bad example, at its line, and is silent once that is mended."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from antiphon.lint import RULES, Asked, Finding, check, read_agents
from tests.lint.examples import EXAMPLES, Example

DOCS = Path(__file__).parents[2] / "docs"


def found_in(folder: Path, text: str, example: Example, name: str = "agent") -> list[Finding]:
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    return check(read_agents(file), Asked(providers=example.providers))  # type: ignore[arg-type]  # names of the table


CASES = [(rule, number) for rule, examples in EXAMPLES.items() for number in range(len(examples))]


@pytest.mark.parametrize(("rule", "number"), CASES, ids=[f"{rule}-{number}" for rule, number in CASES])
def test_a_rule_finds_its_bad_example_and_nothing_in_the_mended_one(rule: str, number: int, tmp_path: Path) -> None:
    example = EXAMPLES[rule][number]
    bad = [one for one in found_in(tmp_path, example.bad, example) if one.rule == rule]
    assert bad, "not found"
    assert example.tool in [one.tool for one in bad]
    assert all(one.place.file.endswith("agent.py") and one.place.line > 0 for one in bad)
    assert all(one.what and one.why and one.mend for one in bad)

    good = [str(one) for one in found_in(tmp_path, example.good, example) if one.rule == rule]
    assert good == []


def test_every_rule_has_an_example_and_a_paragraph() -> None:
    names = [rule.name for rule in RULES]
    page = (DOCS / "lint.md").read_text(encoding="utf-8")
    assert len(names) == len(set(names))
    assert list(EXAMPLES) == names
    assert re.findall(r"^### `([\w-]+)`", page, re.MULTILINE) == names
    for rule in RULES:
        (paragraph,) = re.findall(rf"^### `{rule.name}` \((\w+)\)\n\n(.+)$", page, re.MULTILINE)
        assert paragraph[0] == rule.level
        assert len(paragraph[1]) > 80


BLOCKING = """
import time
from antiphon import Agent, function_tool

def helper():
    time.sleep(1)

@function_tool(effect="reads"){comment}
async def look(day: str) -> str:
    '''Look at a day.'''
    {line}
    return day

agent = Agent(instructions="Help.", tools=[look])
"""


def rules_in(folder: Path, text: str) -> list[tuple[str, int]]:
    return [(one.rule, one.place.line) for one in found_in(folder, text, Example("", ""))]


def test_a_finding_is_at_the_line_that_is_wrong(tmp_path: Path) -> None:
    assert rules_in(tmp_path, BLOCKING.format(comment="", line="time.sleep(1)")) == [("blocking-call", 11)]
    (finding,) = found_in(tmp_path, BLOCKING.format(comment="", line="helper()"), Example("", ""))
    assert finding.place.line == 11
    assert re.search(r"helper\(\) calls time\.sleep \(.*agent\.py:6\)", finding.what)
    assert finding.mend == "Use await asyncio.sleep(...)."


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("  # antiphon: ignore[blocking-call]", "time.sleep(1)"),
        ("  # antiphon: ignore", "time.sleep(1)"),
        ("  # antiphon: ignore[no-when, blocking-call]", "time.sleep(1)"),
        ("", "time.sleep(1)  # antiphon: ignore[blocking-call]"),
    ],
)
def test_a_comment_at_the_tool_or_at_the_line_leaves_a_finding_out(comment: str, line: str, tmp_path: Path) -> None:
    assert rules_in(tmp_path, BLOCKING.format(comment=comment, line=line)) == []


def test_a_comment_leaves_out_only_what_it_names(tmp_path: Path) -> None:
    text = BLOCKING.format(comment="  # antiphon: ignore[no-when]", line="time.sleep(1)")
    assert rules_in(tmp_path, text) == [("blocking-call", 11)]


def test_a_comment_above_an_agent_is_for_what_is_the_agents(tmp_path: Path) -> None:
    text = EXAMPLES["too-many-tools"][0].bad
    assert ("too-many-tools", 3) not in rules_in(
        tmp_path, text.replace("agent =", "# antiphon: ignore[too-many-tools]\nagent =")
    )
    assert any(rule == "too-many-tools" for rule, _ in rules_in(tmp_path, text))


def test_a_rule_can_be_left_out_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text(BLOCKING.format(comment="", line="time.sleep(1)"), encoding="utf-8")
    assert check(read_agents(file), Asked(ignored=frozenset({"blocking-call"}))) == []


def test_a_description_that_is_a_word_of_the_name_and_a_name_with_a_version_are_found(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text(
        "from antiphon import Agent, function_tool\n"
        "@function_tool(effect='reads')\n"
        "async def load_v1_orders(customer: str) -> str:\n"
        "    'Orders.'\n"
        "    return customer\n"
        "agent = Agent(instructions='Be brief.', tools=[load_v1_orders])\n",
        encoding="utf-8",
    )
    found = {one.rule: one.level for one in check(read_agents(file), Asked())}
    assert found["vague-description"] == "advice"
    assert found["endpoint-not-action"] == "warning"
