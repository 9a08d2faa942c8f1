"""Calls of the examples go well: no finding is made in the records of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.records import Records, call_records
from antiphon.records.current import Said
from antiphon.records.findings import findings_in
from tests.examples.commands import Command
from tests.examples.test_examples import IN_REAL_TIME, TYPED, spoken, typed

CALLS = [(one, False) for one in TYPED] + [(one, True) for one in TYPED if one.name not in IN_REAL_TIME]
"""Each typed, and spoken where that takes no real time."""


@pytest.mark.parametrize(("command", "by_voice"), CALLS, ids=str)
def test_nothing_is_to_be_mended_in_the_calls_of_an_example(command: Command, by_voice: bool, tmp_path: Path) -> None:
    records = Records(tmp_path)
    token = call_records.set(Said(records))
    try:
        (spoken if by_voice else typed)(command)
    finally:
        call_records.reset(token)
    (name,) = records.place.names()
    record = records.place.record(name)
    assert record.head["turns"] and record.head["voice"] is by_voice
    found = [f"{one.finding}: {one.text}" for one in findings_in(record.head, record.metrics)]
    assert found == []
