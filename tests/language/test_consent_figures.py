"""How often the labelled replies are decided rightly, and the bar: `docs/consent.md` tells how they came about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from antiphon.language import ENGLISH, GERMAN
from tests.language.replies import Figures, labelled, measured

SETS = (
    "consent_decides_en",
    "consent_mends_en",
    "consent_builds_en",
    "consent_strangers_en",
    "consent_strangers2_en",
    "consent_trades_en",
    "consent_trades2_en",
    "consent_trades3_en",
    "consent_everyday_en",
    "consent_decides_de",
    "consent_builds_de",
    "consent_author_de",
)
PAGE = Path(__file__).parents[2] / "docs" / "consent.md"
DECIDED = 0.95
"""Of the plain yes and no, over all sets of a language."""


def figures(*names: str) -> Figures:
    german = names[0].endswith("_de")
    replies = [reply for name in names for reply in labelled(name)]
    return measured(replies, (GERMAN if german else ENGLISH).consent)


def row(name: str) -> str:
    """The line of the page."""
    found = figures(name)
    kind, language = name.removeprefix("consent_").split("_")
    return (
        f"| `{kind}`, {'German' if language == 'de' else 'English'}: {found.replies:,} | {found.no_consent:,}"
        f" | {len(found.false_consent)} | {found.decided:.1%} of {found.plain} |"
    )


@pytest.mark.parametrize("name", SETS)
def test_no_reply_is_taken_for_a_consent_that_it_is_not(name: str) -> None:
    found = figures(name)
    print(f"{name}: {found}")
    assert found.false_consent == []


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_plain_yes_or_no_is_decided_at_once(language: str) -> None:
    found = figures(*(name for name in SETS if name.endswith(language)))
    print(found)
    assert found.decided >= DECIDED, "\n".join(found.missed)


def test_there_are_as_many_replies_as_the_bar_asks_for() -> None:
    english = figures(*(name for name in SETS if name.endswith("en")))
    assert english.replies >= 1500
    assert english.no_consent >= 700
    assert figures("consent_decides_en").no_consent >= 600


def test_the_page_has_the_figures_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("<!-- python -m tests.language -->")[2]
    table = re.findall(r"^\| `.*\|$", text, re.M)
    assert table == [row(name) for name in SETS]
