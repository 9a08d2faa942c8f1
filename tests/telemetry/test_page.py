"""`docs/telemetry.md` names whatever calls tell, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from antiphon import Agent
from antiphon.runtime import trail
from antiphon.telemetry import Price
from antiphon.testing import FakeLLM, Reply
from tests.telemetry import Kept, attributes
from tests.telemetry.test_spans import Booked, book, cancel, in_text

PAGE = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text(encoding="utf-8")


def told() -> tuple[set[str], set[str]]:
    """The names of attributes and events, and those of metrics and their labels, of a few calls."""
    prices = {"fake": Price(1.0, 1.0)}
    written = Kept(content=True, prices=prices)
    llm = FakeLLM([Reply(calls=[("cancel", {"day": "Monday"})]), "Done.", Reply(calls=[("book", {})]), "It cannot be."])
    in_text(written, llm, Agent(tools=[cancel, book]), "Cancel Monday", "yes", "Book")
    names, metrics = set[str](), set[str]()
    for kept in (written, Booked(content=True, prices=prices).kept):
        for span in kept.spans:
            names |= set(attributes(span))
            for event in span.events:
                names |= {event.name, *(event.attributes or {})}
        for metric, points in kept.metrics().items():
            metrics |= {metric, *(label for labels, _ in points for label in labels)}
    return names, metrics


def test_the_page_names_all_that_is_told() -> None:
    names, metrics = told()
    assert len(names) > 40
    assert sorted(name for name in names | metrics if f"`{name}`" not in PAGE) == []


def test_the_page_names_no_event_that_is_none() -> None:
    source = Path(trail.__file__).read_text(encoding="utf-8")
    rows = [line for line in PAGE.splitlines() if line.startswith("| `antiphon.")]
    named = {name for line in rows for name in re.findall(r"`antiphon\.(\w+)`", line.split("|")[1])}
    assert {"interrupted", "outcome", "tool_joined"} <= named
    others = {"dead_air", "filler", "cost", "handoffs"}  # made of the figures of a reply; metrics
    assert sorted(name for name in named - others if f'"{name}"' not in source) == []
