"""The fuzzer with calls that are read back first: sessions of a seed of their own, held to every promise."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.core.fuzz.fuzz import Failed, fuzz, tell
from tests.core.fuzz.known import KNOWN

FACTS = int(os.environ.get("ANTIPHON_FUZZ_FACTS", "50000"))

pytestmark = pytest.mark.timeout(max(120, FACTS // 1500))


@pytest.fixture(scope="module")
def counters() -> Counter[str]:
    """What occurred in a run of the fuzzer."""
    counters: Counter[str] = Counter()
    try:
        fuzz(seed="consent", facts=FACTS, counters=counters, known=KNOWN)
    except Failed as failed:
        pytest.fail(f"{tell(failed.session)}\n{failed}", pytrace=False)
    return counters


DECISIONS = (
    "yes", "no", "change", "question", "unclear", "unanswered", "interrupted", "handed_over", "ending", "asked again",
    "yes by words", "yes by judge", "yes by key",
)  # fmt: skip


@pytest.mark.parametrize("decision", DECISIONS)
def test_the_fuzzer_reaches_every_decision(decision: str, counters: Counter[str]) -> None:
    assert counters[f"consent: {decision}"] > 0
