"""docs/architecture.md is true: its drawings are those of the tables, and every module has a place in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import antiphon
from antiphon.core import conversation
from antiphon.core.rules import turns
from tests.house import turn


def test_the_page_shows_the_turn_of_today() -> None:
    page = turn.PAGE.read_text(encoding="utf-8")
    assert turn.drawn(page) == page, "it is out of date: python -m tests.house.turn --update"


def test_every_fact_and_every_rule_is_in_the_drawing() -> None:
    drawing = turn.drawing()
    assert [fact.__name__ for fact in conversation.ROUTES if f"`{fact.__name__}`" not in drawing] == []
    assert len(turn.rules()) == len(set(turn.rules())) >= 8


def test_looking_at_the_rules_leaves_them_as_they_were() -> None:
    before = turns.commit
    assert any("turns.commit" in row[2] for row in turn.turn())
    assert turns.commit is before


@pytest.mark.parametrize("package", ["application", "core", "language", "replay", "runtime", "sim", "text"])
def test_every_module_has_a_place_on_the_page(package: str) -> None:
    rows = [line for line in turn.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    named = set(re.findall(r"\w+", " ".join(rows)))
    folder = Path(antiphon.__file__).parent / package
    modules = {path.stem for path in folder.rglob("*.py")} - {"__init__"}
    assert sorted(modules - named) == [], "say in docs/architecture.md what it does"
