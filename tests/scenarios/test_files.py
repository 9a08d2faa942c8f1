"""Files of scenarios are read, or refused with file, line, field, what was expected, what was got and what helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.errors import UsageError
from antiphon.scenarios import read_scenarios, simulate
from tests.scenarios.desk import agent_file

GOOD = "scenarios:\n  - name: a\n    caller:\n      wishes: Hello\n"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("scenarios:\n  - name: a\n    caller:\n      wihses: [Hi]\n", 4, "no such key. Did you mean wishes?"),
        ("scenarios:\n  - name: a\n", 2, "scenarios.1: it has no caller. Add `caller: {wishes: [...]}`."),
        ("scenarios:\n  - caller: {wishes: Hi}\n", 2, "scenarios.1.name: it is missing. Add it."),
        ("scenarios:\n  - name: a\n    caller: {}\n", 3, "the caller wants nothing. Add `wishes: [...]`"),
        ("scenarios:\n  - name: a\n    caller: {wishes: Hi, persona: Ann}\n", 3, "either wishes, or a persona"),
        (GOOD + "    minutes: -1\n", 5, "scenarios.1.minutes: Input should be greater than 0, got -1. Mend the value"),
        (GOOD + "    medium: smoke\n", 5, "Input should be 'sound', 'text' or 'voice', got 'smoke'"),
        (GOOD + "    expect:\n      says: '('\n", 6, "scenarios.1.expect.says.1: '(' is no regular expression"),
        (GOOD + "    expect: {no_calls: true, calls: book}\n", 5, "Keep one"),
        (GOOD + "    tools:\n      book: {delay: [1, 2, 3]}\n", 6, "scenarios.1.tools.book.delay"),
        (GOOD + "      moments:\n        - {hears: a, reply: 1, hum: hm}\n", 6, "tool, silence and time, got 2"),
        (GOOD + "      moments:\n        - {hears: a}\n", 6, "keys, cough and hang_up, got 0"),
        (GOOD + "      never_says: hello\n", 4, "never_says has 'hello', and the caller says"),
        ("scenarios:\n  - name: a\n    caller: {wishes: [yes]}\n", 3, 'in quotes: "yes".'),
        (GOOD + "    plays: x\n", 1, "Write @scenario in a .py file"),
        ("scenarios:\n  - name: 'a\n", 3, "no YAML"),
        ("- name: a\n", 1, "Put `scenarios:` above it"),
        ("", 1, "the file: Input should be"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line_and_what_helps(text: str, line: int, why: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_scenarios([file])
    told = str(caught.value)
    assert why in told
    assert told.startswith((f"{file}:{line}: ", f"{file}:{line - 1}: "))
    assert len(told.splitlines()) == 1


def test_folders_are_read_in_the_order_of_their_names_and_names_are_unique(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(GOOD.replace("name: a", "name: second"), encoding="utf-8")
    (tmp_path / "a.py").write_text(PYTHON, encoding="utf-8")
    (tmp_path / "_not.yaml").write_text("nothing", encoding="utf-8")
    assert [one.scenario.name for one in read_scenarios([tmp_path])] == ["a look", "second"]
    (tmp_path / "c.yaml").write_text(GOOD.replace("name: a", "name: second"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"two scenarios are called 'second'\. Name one differently"):
        read_scenarios([tmp_path])


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("none.yaml", None, "no such file or folder"),
        ("notes.txt", "hello", "expected a file ending in .yaml"),
        ("bad.py", "x = 1 +", "bad.py:1: SyntaxError"),
        ("bad.py", "\nraise OSError('no')", "bad.py:2: OSError: no. Mend the file."),
        ("bad.py", "x = 1", "no scenario in it. Write `@scenario(NAME)`"),
        (
            "bad.py",
            "from antiphon.scenarios import scenario\n@scenario('a', tols={})\nasync def a(caller): ...\n",
            "@scenario('a'): fields: there is no key 'tols', expected name, caller, tools",
        ),
    ],
)
def test_a_file_that_is_none_is_told_in_one_line(name: str, text: str | None, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_scenarios([tmp_path / name])
    assert why in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


PYTHON = """
from antiphon.scenarios import OnTheLine, scenario

@scenario("a look", tools={"look_up": {"returns": "Monday", "delay": 1}}, expect={"calls": "look_up", "says": "monday"})
async def look(caller: OnTheLine) -> None:
    await caller.says("Is it free")
    await caller.starts("look_up")
    await caller.hears("so it is: monday", within=5)
    caller.requires(caller.now < 10, "it took too long")
    await caller.listens()
"""


def test_a_scenario_in_python_is_a_function_of_the_callers_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PYTHON, encoding="utf-8")
    made = simulate(agent_file(tmp_path), [tmp_path / "a.py"]).results[0].runs[0]
    assert made.failures == ()
    assert made.ended_by == "caller"


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ("await caller.hears('tuesday', within=3)", "the caller gave up: expected to hear 'tuesday', got '"),
        ("await caller.starts('book', within=3)", "the caller gave up: expected book to be called, got look_up"),
        ("caller.requires(False, 'so it is not')", "so it is not"),
        ("1 / 0", "the caller gave up: the scenario raised ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_function_finds_is_told(then: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PYTHON.replace("await caller.hears", f"{then}\n    await caller.hears"))
    made = simulate(agent_file(tmp_path), [tmp_path / "a.py"]).results[0].runs[0]
    assert made.failures[0].startswith(why)
