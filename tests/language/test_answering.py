"""Who answered: people are never taken for machines, and machines are found in their first six words."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.language import ENGLISH, GERMAN
from antiphon.language.answering import TALKS_ON, Who, is_person_after_all, is_voicemail_after_all, who_answered

WORDS = 6
"""What is said in two seconds, at 180 words a minute."""
HALVES = ("before", "after")


def openings(half: str) -> list[tuple[Who, str]]:
    lines = (Path(__file__).parent / f"openings_{half}_en.txt").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(Who(kind), text) for kind, text in rows]


def prefixes(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[:count]) for count in range(len(words) + 1)]


def test_there_are_two_hundred_openings_of_every_kind() -> None:
    found = [kind for half in HALVES for kind, _ in openings(half)]
    assert len(found) >= 200
    assert all(found.count(kind) >= 15 for kind in Who)


@pytest.mark.parametrize("half", HALVES)
def test_no_person_is_taken_for_a_machine_however_much_of_them_was_heard(half: str) -> None:
    taken = [
        heard
        for kind, text in openings(half)
        if kind is Who.PERSON
        for heard in prefixes(text)
        if who_answered(heard, ENGLISH.answers).who.is_machine
    ]
    assert taken == []


@pytest.mark.parametrize("half", HALVES)
def test_nine_of_ten_machines_are_found_in_two_seconds_and_all_in_the_end(half: str) -> None:
    machines = [text for kind, text in openings(half) if kind.is_machine]
    early = [text for text in machines if who_answered(prefixes(text)[: WORDS + 1][-1], ENGLISH.answers).who.is_machine]
    late = [text for text in machines if who_answered(text, ENGLISH.answers).who.is_machine]
    assert len(early) >= 0.9 * len(machines)
    assert late == machines


def test_which_machine_it_is_is_right_for_nine_of_ten() -> None:
    machines = [(kind, text) for half in HALVES for kind, text in openings(half) if kind.is_machine]
    right = [text for kind, text in machines if who_answered(text, ENGLISH.answers).who is kind]
    assert len(right) >= 0.9 * len(machines)


def test_whoever_greets_and_talks_on_without_a_question_is_a_machine() -> None:
    greeting = "Thank you for calling Parker and Sons, the home of fine shoes since nineteen twenty"
    assert who_answered(greeting, ENGLISH.answers, talking=2.0).who is Who.PERSON
    assert who_answered(greeting, ENGLISH.answers, talking=TALKS_ON).who is Who.VOICEMAIL
    asks = "Thank you for calling Parker and Sons, this is Tom in the shoe department, how can I help you today"
    assert who_answered(asks, ENGLISH.answers, talking=8.0).who is Who.PERSON


def test_the_sign_is_told() -> None:
    found = who_answered("Please LEAVE your message, after the tone!", ENGLISH.answers)
    assert (found.who, found.sign) == (Who.VOICEMAIL, "please leave")
    assert who_answered("", ENGLISH.answers).sign == ""


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Ja, hallo?", Who.PERSON),
        ("Müller.", Who.PERSON),
        ("Praxis Doktor Lee, guten Tag, mein Name ist Schmidt, was kann ich für Sie tun?", Who.PERSON),
        ("Der ist gerade nicht da, kann ich etwas ausrichten?", Who.PERSON),
        ("Wollen Sie ihm eine Nachricht hinterlassen?", Who.PERSON),
        ("Hier ist die Mailbox von Karin Müller.", Who.VOICEMAIL),
        ("Bitte hinterlassen Sie eine Nachricht nach dem Ton.", Who.VOICEMAIL),
        ("Wir sind zurzeit leider nicht da.", Who.VOICEMAIL),
        ("Sie rufen außerhalb der Sprechzeiten an.", Who.VOICEMAIL),
        ("Willkommen bei der Stadtbank. Für Deutsch drücken Sie die eins.", Who.MENU),
        ("Der nächste freie Mitarbeiter ist gleich für Sie da.", Who.MENU),
        ("Bitte nennen Sie Ihren Namen und den Grund Ihres Anrufs.", Who.SCREENING),
        ("Kein Anschluss unter dieser Nummer.", Who.UNAVAILABLE),
        ("Der gewünschte Teilnehmer ist zurzeit nicht erreichbar.", Who.UNAVAILABLE),
    ],
)
def test_german_signs(text: str, who: Who) -> None:
    assert who_answered(text, GERMAN.answers).who is who


@pytest.mark.parametrize("half", HALVES)
def test_no_machine_is_taken_for_a_person_again_by_the_rest_of_its_words(half: str) -> None:
    taken = []
    for kind, text in openings(half):
        known = [who_answered(heard, ENGLISH.answers).who.is_machine for heard in prefixes(text)]
        if kind.is_machine and True in known:
            behind = prefixes(text)[known.index(True) :]
            taken += [heard for heard in behind if is_person_after_all(heard, ENGLISH.answers)]
    assert taken == []


@pytest.mark.parametrize(
    "said",
    ["please leave a message just kidding who's this", "hello hello", "hey it's me", "hi I'm here", "are you there?"],
)
def test_whoever_was_taken_for_a_machine_may_turn_out_to_be_a_person(said: str) -> None:
    assert is_person_after_all(said, ENGLISH.answers)


def test_a_person_turns_out_to_be_one_in_german() -> None:
    assert is_person_after_all("hinterlassen Sie eine Nachricht, nein, war nur Spaß", GERMAN.answers)
    assert is_person_after_all("Ich bin doch da, wer ist da?", GERMAN.answers)
    assert not is_person_after_all("Hallo, hier ist die Mailbox von", GERMAN.answers)


def test_a_notice_may_go_on_to_a_voicemail() -> None:
    notice = "The subscriber you have called is not available"
    sign = who_answered(notice, ENGLISH.answers).sign
    assert not is_voicemail_after_all(notice, sign, ENGLISH.answers)
    assert is_voicemail_after_all(f"{notice}. Please leave a message after the tone", sign, ENGLISH.answers)
