"""A file of cases is read, or refused with its line and what helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.errors import UsageError
from antiphon.evaluation import Cases, read_cases


def read(folder: Path, text: str) -> Cases:
    file = folder / "cases.yaml"
    file.write_text(text, encoding="utf-8")
    return read_cases(file)


def test_a_case_says_what_the_caller_says_and_what_follows(tmp_path: Path) -> None:
    cases = read(
        tmp_path,
        """
agent: agent.py
repeats: 5
cases:
  - name: a table for three
    say: Do you have a table for 3 on Friday?
    expect:
      tool: check_availability
      arguments: {party_size: 3, date: {matches: friday}}
      says: friday
  - name: booking
    repeats: 2
    turns:
      - say: Book it
      - say: "yes"
        expect: {calls: [{tool: book}], not_says: [sorry, error]}
    state: {booked: true}
    mocks: {check_availability: 3 slots}
""",
    )
    first, second = cases.cases
    assert [cases.repeats_of(case) for case in cases.cases] == [5, 2]
    assert first.all_turns[0].expect is not None
    assert first.all_turns[0].expect.all_calls[0].arguments == {"party_size": 3, "date": {"matches": "friday"}}
    assert first.all_turns[0].expect.says == ("friday",)
    assert [turn.say for turn in second.all_turns] == ["Book it", "yes"]
    assert not first.needs_judge


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (
            "cases:\n  - name: a\n    say: hi\n    expect: {tol: x}\n",
            4,
            "cases.1.expect.tol: there is no such key. Did you mean tool?",
        ),
        ("cases:\n  - name: a\n    say: hi\n", 2, "cases.1: nothing is expected of it"),
        ("cases:\n  - name: a\n    expect: {tool: x}\n", 2, "either `say: ...`, or `turns: [...]`"),
        ("cases:\n  - say: hi\n    expect: {tool: x}\n", 2, "cases.1.name: it is missing. Add it."),
        ("repeats: 0\ncases:\n  - name: a\n    say: hi\n    expect: {tool: x}\n", 1, "repeats: Input should be"),
        ("cases:\n  - name: a\n    say: hi\n    expect:\n      arguments: {x: 1}\n", 4, "Add `tool: NAME`"),
        ("cases:\n  - name: a\n    say: hi\n    expect: {tool: x, no_tools: true}\n", 4, "Keep one"),
        (
            "cases:\n  - {name: a, say: hi, expect: {tool: x}}\n  - {name: a, say: hi, expect: {tool: x}}\n",
            1,
            "two cases are called 'a'",
        ),
        ("- name: a\n", 1, "Put `cases:` above it"),
        ("cases:\n  - name: 'a\n", 3, "no YAML"),
        ("", 1, "the file: Input should be"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_what_helps(text: str, line: int, why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    told = str(caught.value)
    assert told.startswith(f"{tmp_path / 'cases.yaml'}:{line}: ")
    assert why in told
    assert len(told.splitlines()) == 1


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_cases(tmp_path / "none.yaml")
