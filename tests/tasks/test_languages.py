"""The ready tasks in another language than English: what they ask, understand and read back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from antiphon.language import ENGLISH, GERMAN
from antiphon.tasks import (
    CaptureTask,
    GetAddressResult,
    GetAddressTask,
    GetDOBResult,
    GetDOBTask,
    GetDtmfResult,
    GetDtmfTask,
    GetEmailResult,
    GetEmailTask,
    GetNameResult,
    GetNameTask,
    GetPhoneNumberResult,
    GetPhoneNumberTask,
)
from antiphon.testing import run_virtual
from tests.tasks.dialogue import Action, Ended, hold, scripted


@dataclass(frozen=True)
class German:
    """A dialogue in German, and what the task says in it."""

    make: Callable[[], CaptureTask[Any]]
    update: str
    result: object
    said: Sequence[str]


DIALOGUES = {
    "name": German(
        GetNameTask,
        "Anna M-E-Y-E-R",
        GetNameResult("Anna", "", "Meyer"),
        (
            "Wie ist Ihr Name, bitte?",
            "Ich habe Anna Meyer, buchstabiert A, N, N, A, dann M, E, Y, E, R. Ist dieser Name richtig?",
        ),
    ),
    "email": German(
        GetEmailTask,
        "anna unterstrich meyer at beispiel punkt de",
        GetEmailResult("anna_meyer@beispiel.de"),
        (
            "Wie lautet Ihre E-Mail-Adresse?",
            "Ich habe A, N, N, A, Unterstrich, M, E, Y, E, R, at, B, E, I, S, P, I, E, L, Punkt, D, E."
            " Ist diese E-Mail-Adresse richtig?",
        ),
    ),
    "phone": German(
        lambda: GetPhoneNumberTask(default_region="DE"),
        "null dreißig, doppel neun drei sieben zwo eins null",
        GetPhoneNumberResult("+49309937210"),
        (
            "Wie lautet Ihre Telefonnummer, mit Vorwahl?",
            "Ich habe null drei null, neun neun drei sieben zwei eins null. Ist diese Telefonnummer richtig?",
        ),
    ),
    "address": German(
        GetAddressTask,
        "Meine Adresse ist Lindenstraße zwölf, Köln",
        GetAddressResult("Lindenstraße 12, Köln"),
        (
            "Wie lautet Ihre Anschrift, mit Straße, Hausnummer und Ort?",
            "Ich habe Lindenstraße eins zwei, Köln. Ist diese Anschrift richtig?",
        ),
    ),
    "date_of_birth": German(
        GetDOBTask,
        "1984-03-03",
        GetDOBResult(dt.date(1984, 3, 3)),
        ("Wann sind Sie geboren, mit Jahr?", "Ich habe 3. März 1984. Ist dieses Geburtsdatum richtig?"),
    ),
    "code": German(
        lambda: GetDtmfTask(4, ask_for_confirmation=True),
        "null vier zweiundvierzig",
        GetDtmfResult("0442"),
        (
            "Wie lautet Ihr Code aus 4 Ziffern? Sie können ihn eintippen oder sagen.",
            "Ich habe null vier vier zwei. Ist dieser Code richtig?",
        ),
    ),
}


def held(task: CaptureTask[Any], turns: Sequence[tuple[str, Action]], **options: Any) -> Ended:
    words = [words for words, _ in turns]
    return run_virtual(hold(task, scripted(task, turns), words, **options))


@pytest.mark.parametrize("dialogue", DIALOGUES.values(), ids=DIALOGUES)
def test_a_task_speaks_the_language_of_the_session(dialogue: German) -> None:
    ended = held(dialogue.make(), [("Hier ist sie.", dialogue.update), ("Ja.", "confirm")], language="de")
    assert ended.result == dialogue.result, "\n".join(ended.lines)
    lines = [line.removeprefix("assistant: ") for line in ended.lines]
    assert [said for said in dialogue.said if said not in lines] == [], "\n".join(ended.lines)


def test_a_no_is_understood_in_the_language_of_the_session() -> None:
    ended = held(GetEmailTask(), [("Hier.", "a@beispiel.de"), ("Nein, das ist falsch.", "")], language="de")
    assert ended.lines[-1] == "assistant: Entschuldigung. Wie lautet Ihre E-Mail-Adresse dann?"


def test_a_value_that_a_pack_does_not_know_is_asked_for_in_the_words_of_the_task() -> None:
    class GetBadge(GetDtmfTask):
        words = GetDtmfTask.words.__class__("badge", "badge number", "What does your badge say?")

    assert GetBadge.words.lines(ENGLISH).check == "Is that badge number right?"
    assert GetBadge.words.lines(GERMAN).question == "What does your badge say?"
    assert GetBadge.words.lines(GERMAN).check == "Ist das richtig?"


def test_a_question_that_was_given_is_asked_in_any_language() -> None:
    ended = held(GetEmailTask(question="Mail?"), [], language="de")
    assert "assistant: Mail?" in ended.lines
