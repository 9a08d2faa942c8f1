"""What holds of replies that are composed, and of replies to another read-back than theirs."""

from __future__ import annotations

import random

import pytest

from antiphon.language import ENGLISH, GERMAN, Asked, Reply, decide
from tests.language.families import AGREES, REFUSES, TOPICS, composed
from tests.language.replies import CONSENT, HERE, labelled

SETS = ("decides", "mends", "builds", "strangers", "strangers2", "trades", "trades2", "trades3", "everyday")


@pytest.mark.parametrize("seed", [1, 2])
def test_composed_agreement_is_decided_at_once(seed: int) -> None:
    said = list(composed(AGREES, TOPICS, seed, 1500))
    missed = [(words, asked.text) for words, asked in said if decide(words, asked, ENGLISH.consent) not in CONSENT]
    assert len(missed) <= 0.02 * len(said), missed


@pytest.mark.parametrize("seed", [1, 2])
def test_composed_refusal_is_decided_at_once_and_never_a_consent(seed: int) -> None:
    said = list(composed(REFUSES, TOPICS, seed, 1500))
    decided = {(words, asked.text): decide(words, asked, ENGLISH.consent) for words, asked in said}
    assert [words for words, reply in decided.items() if reply in CONSENT] == []
    missed = [words for words, reply in decided.items() if reply is not Reply.NO]
    assert len(missed) <= 0.03 * len(decided), missed


READ_BACKS = (
    "Table for four on Friday at seven under Maya, shall I book it?",
    "I'll send two hundred pounds from checking to savings today. Is that right?",
    "I'm cancelling your appointment with Doctor Okafor on Tuesday. Do you want me to cancel it?",
    "Your flight to Madrid on the ninth is moved to the tenth at eight. Would you like me to change it?",
    "I'm sending a locksmith tomorrow at nine, a hundred and ten dollars. Are you happy to go ahead?",
    "I'll put Sam Reyes and Alex Kim on the lease from May. Should I update it?",
)


@pytest.mark.parametrize("text", READ_BACKS)
def test_no_trap_is_a_consent(text: str) -> None:
    """Hedged, reported, conditional, asked, begun, said to others: written by the author of the rules, one a line."""
    said = (HERE / "traps_en.txt").read_text(encoding="utf-8").splitlines()
    assert len(said) > 400
    assert [words for words in said if decide(words, Asked(text), ENGLISH.consent) in CONSENT] == []


def test_no_german_trap_is_a_consent() -> None:
    asked = Asked("Der Termin am Dienstag um zehn wird abgesagt. Soll ich das so machen?")
    said = (HERE / "traps_de.txt").read_text(encoding="utf-8").splitlines()
    assert [words for words in said if decide(words, asked, GERMAN.consent) in CONSENT] == []


@pytest.mark.parametrize(
    "reply",
    [
        "yes, {} it for nine people",
        "yes, {} it tomorrow instead",
        "{} it if it's cheap",
        "{} it but not yet",
        "I think you should {} it",
        "he says {} it",
        "{} another one",
        "{} it twice",
        "should you {} it",
        "can you {} it later",
        "maybe {} it",
        "I might {} it",
        "what if you {} it",
        "I never said {} it",
        "don't {} it",
        "why would you {} it",
    ],
)
def test_the_verb_of_the_read_back_is_no_consent_in_any_frame(reply: str) -> None:
    for topic in TOPICS:
        assert decide(reply.format(topic.verb), topic.asked, ENGLISH.consent) not in CONSENT, topic


def test_what_consents_to_nothing_consents_to_nothing_else() -> None:
    """Questions and doubts, said to another read-back than theirs."""
    pick = random.Random(7)
    replies = [one for name in SETS for one in labelled(f"consent_{name}_en")]
    asked = sorted({one.asked.text: one.asked for one in replies}.values(), key=lambda one: one.text)
    offers = ("that's okay", "it's fine", "it's okay thanks", "it's all right", "that's ok")  # to an offer no yes
    turned = ("yes", "change")  # none to "is there anything to change?"
    taken: list[tuple[str, str]] = []
    for one in replies:
        if one.consents or one.reply in (Reply.CHANGE, Reply.NO) or one.said.lower() in (*offers, *turned):
            continue
        other: Asked = pick.choice(asked)
        if decide(one.said, other, ENGLISH.consent) in CONSENT:
            taken.append((one.said, other.text))
    assert taken == []
