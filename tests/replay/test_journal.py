"""The file: what is read of it, and how it says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.core.commands import Play
from antiphon.core.facts import Transcribed, UserSpeechStarted
from antiphon.core.lines import version
from antiphon.core.notices import BecameIdle
from antiphon.errors import JournalError
from antiphon.options import SessionOptions, TurnHandling, UserTurnLimit
from antiphon.replay import Entry, Head, Journal, read
from antiphon.replay.journal import parse

OPTIONS = SessionOptions(
    turns=TurnHandling(user_turn_limit=UserTurnLimit(max_words=7)), failure_line="Ach, nein: \ud800"
)
JOURNAL = Journal(
    Head(OPTIONS, "desk", 1_795_000_000.25, "5f0c_", "A call", commands=True, notes={"at_rest": True}),
    [
        Entry(1.0, None, commands=(Play(3), BecameIdle())),
        Entry(1.5, UserSpeechStarted(), drawn=2),
        Entry(2.25, Transcribed("좋아요\n\x1b[2J\u2028", final=True), commands=(Play(4, first=True),)),
    ],
)


def lines(journal: Journal = JOURNAL) -> list[bytes]:
    return [line.encode() for line in journal.lines()]


def changed(number: int, change: Callable[[bytes], bytes]) -> list[bytes]:
    made = lines()
    made[number] = change(made[number])
    return made


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    JOURNAL.save(tmp_path / "call.jsonl")
    assert read(tmp_path / "call.jsonl") == JOURNAL


def test_a_file_is_one_entry_a_line_and_readable_as_text() -> None:
    made = lines()
    assert all(line.count(b"\n") == 1 and line.endswith(b"}\n") for line in made)
    assert "좋아요" in made[6].decode()


def test_a_line_that_its_process_did_not_finish_is_told_and_left_out() -> None:
    made = lines()[:-1]
    for cut in range(1, len(made[-2]) - 1):
        journal = parse([*made[:-2], made[-2][:cut]])
        assert journal.entries == JOURNAL.entries[:2]
        assert journal.lost == f"line {len(made) - 1} is cut after {cut} bytes: its process ended while writing it"


def test_a_journal_without_its_end_says_so() -> None:
    journal = parse(lines()[:-1])
    assert journal.entries == JOURNAL.entries
    assert journal.lost == "it has no end: its process ended before the call did"


def test_a_journal_that_was_given_up_says_why() -> None:
    assert parse(lines(Journal(JOURNAL.head, JOURNAL.entries, "the disk is full"))).lost == "the disk is full"


def test_a_journal_whose_call_never_began_has_a_head_only() -> None:
    assert parse(lines()[:1]).entries == []


REFUSED: dict[str, tuple[list[bytes], str]] = {
    "nothing": ([], "got an empty file"),
    "no JSON": ([b"hello\n"], "line 1: expected JSON"),
    "a cut head": ([lines()[0][:50]], "line 1: expected JSON"),
    "no journal": ([b'{"entries": []}\n'], 'expected the head of a journal, {"journal": 1, ...}, got other data'),
    "another format": (
        changed(0, lambda line: line.replace(b'"journal": 1', b'"journal": 2').replace(version().encode(), b"9.9")),
        "line 1: expected the format 1, got 2 of Antiphon 9.9",
    ),
    "true for a format": (changed(0, lambda line: line.replace(b'"journal": 1', b'"journal": true')), "got True"),
    "a head with more": (changed(0, lambda line: line.replace(b"{", b'{"x": 1, ', 1)), "a head has journal, antiphon"),
    "an option unknown": (
        changed(0, lambda line: line.replace(b'"max_words"', b'"max_sighs"')),
        "UserTurnLimit has no field 'max_sighs': expected max_words, max_duration",
    ),
    "an epoch without end": (changed(0, lambda line: line.replace(b"1795000000.25", b"1e999")), "epoch: expected sec"),
    "a cut line in the middle": (changed(4, lambda line: line[:-9] + b"\n"), "line 5: expected JSON"),
    "a line that is no text": (changed(4, lambda line: b"\xff\xfe\n"), "line 5: expected JSON"),
    "a number that JSON has not": (changed(4, lambda line: line.replace(b"1.5", b"NaN")), "line 5: expected JSON"),
    "a list": (changed(4, lambda line: b"[1, null]\n"), "line 5: expected an object, got [1, None]"),
    "an entry unknown": (changed(4, lambda line: b'{"at": 1.5, "sound": []}\n'), 'expected {"at": ..., "fact": ...}'),
    "time that goes back": (
        changed(6, lambda line: line.replace(b"2.25", b"1.25")),
        "at: expected seconds, and no less than 1.5, got 1.25",
    ),
    "time without end": (changed(6, lambda line: line.replace(b"2.25", b"1e999")), "expected seconds"),
    "more after the end": ([*lines(), lines()[6]], "expected nothing after the end"),
    "a fact before the start": ([lines()[0], lines()[6]], "expected the start"),
    "a command before the start": ([lines()[0], lines()[2]], "a command, where none was to be expected"),
    "numbers by the million": (changed(4, lambda line: line.replace(b": 2}", b": 2000000}")), "got {'at': 1.5, 'ids'"),
    "nested without end": (changed(4, lambda line: b'{"a":' * 100_000 + b"\n"), "line 5: expected JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_journal_is_refused_with_its_line(name: str) -> None:
    given, message = REFUSED[name]
    with pytest.raises(JournalError) as caught:
        parse(given, "call.jsonl")
    assert message in str(caught.value)
    assert str(caught.value).startswith("call.jsonl")
    assert len(str(caught.value)) < 1_000


def test_an_error_names_the_version_that_made_the_journal() -> None:
    made = changed(5, lambda line: line.replace(b"Spe", b"Sni"))
    with pytest.raises(JournalError, match=f"It was made by Antiphon {version()}, and this is {version()}"):
        parse(made)
