"""What a sentence claims was done: written examples of both kinds, and what there is in tools' names."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from antiphon.language import ENGLISH, GERMAN
from antiphon.language.claims import ClaimPhrases, claims_in
from antiphon.text import SentenceSplitter

PACKS = {"en": ENGLISH.claims, "de": GERMAN.claims}
FOUND_AT_LEAST = {"en": 0.9, "de": 0.85}


def examples(language: str, kind: str) -> list[str]:
    text = (Path(__file__).parent / f"claims_{language}.txt").read_text(encoding="utf-8")
    return [line.partition("\t")[2] for line in text.splitlines() if line.startswith(f"{kind}\t")]


def claims(text: str, phrases: ClaimPhrases) -> list[str]:
    """In a text of one or more sentences."""
    splitter = SentenceSplitter()
    sentences = [*splitter.push(text), *splitter.flush()]
    return [claim.done for sentence in sentences for claim in claims_in(sentence, phrases, ["enroll", "notify"])]


@pytest.mark.parametrize("language", PACKS)
def test_what_claims_nothing_is_not_taken_for_a_claim(language: str) -> None:
    taken = {text: found for text in examples(language, "none") if (found := claims(text, PACKS[language]))}
    assert taken == {}


@pytest.mark.parametrize("language", PACKS)
def test_most_claims_are_found(language: str) -> None:
    written = examples(language, "claim")
    missed = [text for text in written if not claims(text, PACKS[language])]
    print(f"{language}: {len(written) - len(missed)} of {len(written)} found; missed: {missed}")
    assert len(missed) <= (1 - FOUND_AT_LEAST[language]) * len(written), missed


def test_a_language_without_phrases_claims_nothing() -> None:
    assert claims_in("I've booked it.", ClaimPhrases()) == []


def test_what_the_tools_do_is_known_by_their_names() -> None:
    (claim,) = claims_in("I've escalated your case.", ENGLISH.claims, ["escalate"])
    assert claim.done == "escalated" and claim.names == {"escalate"} and not claim.is_alone
    assert claims_in("I've escalated your case.", ENGLISH.claims) == []


def test_what_tools_find_out_is_no_deed() -> None:
    assert claims_in("I've checked your balance.", ENGLISH.claims, ["check", "get", "look"]) == []


def test_a_claim_says_whose_deed_it_is_or_how_things_are() -> None:
    assert [claim.is_state for claim in claims_in("I've booked it.", ENGLISH.claims)] == [False]
    assert [claim.is_state for claim in claims_in("Your flight has been cancelled.", ENGLISH.claims)] == [True]


@pytest.mark.parametrize("language", PACKS)
@pytest.mark.parametrize(
    "piece", ["i've just ", "your booking ", "okay ", "ich habe a ", "the x ", "a-", "booked ", "'"]
)
def test_a_long_sentence_is_read_quickly(language: str, piece: str) -> None:
    began = time.perf_counter()
    claims_in((piece * 1_000)[:1_000] + " booked gebucht", PACKS[language])
    assert time.perf_counter() - began < 0.2
