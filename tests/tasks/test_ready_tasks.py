"""The ready tasks in conversations: twenty each, corrections included, with a scripted model and with the stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.tasks import (
    CaptureTask,
    GetAddressTask,
    GetDOBTask,
    GetDtmfTask,
    GetEmailTask,
    GetNameTask,
    GetPhoneNumberTask,
)
from antiphon.testing import run_virtual
from tests.tasks import (
    dialogues_address,
    dialogues_date_of_birth,
    dialogues_dtmf,
    dialogues_email,
    dialogues_name,
    dialogues_phone,
)
from tests.tasks.dialogue import Dialogue, Ended, hold, scripted, stand_in

Table = tuple[Callable[[], CaptureTask[Any]], list[Dialogue]]

TABLES: dict[str, Table] = {
    "name": (GetNameTask, dialogues_name.DIALOGUES),
    "email": (GetEmailTask, dialogues_email.DIALOGUES),
    "phone": (GetPhoneNumberTask, dialogues_phone.DIALOGUES),
    "address": (GetAddressTask, dialogues_address.DIALOGUES),
    "date_of_birth": (GetDOBTask, dialogues_date_of_birth.DIALOGUES),
    "dtmf": (lambda: GetDtmfTask(4), dialogues_dtmf.DIALOGUES),
}
ALL = [(name, dialogue) for name, (_, table) in TABLES.items() for dialogue in table]

FLOOR = 0.95
"""Of all dialogues, those that the stand-in, which is no language model, must bring to the right end."""


def test_each_task_has_twenty_dialogues() -> None:
    assert {name: len(table) for name, (_, table) in TABLES.items()} == dict.fromkeys(TABLES, 20)


@pytest.mark.parametrize(("name", "dialogue"), ALL, ids=[f"{name}: {dialogue.about}" for name, dialogue in ALL])
def test_a_model_that_understands_gets_the_value(name: str, dialogue: Dialogue) -> None:
    task = (dialogue.make or TABLES[name][0])()
    ended = run_virtual(hold(task, scripted(task, dialogue.turns), [words for words, _ in dialogue.turns]))
    assert ended.result == dialogue.result, "\n".join(ended.lines)


def test_the_stand_in_gets_most_values() -> None:
    right = 0
    for name, (make, table) in TABLES.items():
        failed: list[tuple[Dialogue, Ended]] = []
        for dialogue in table:
            words = [words for words, _ in dialogue.turns]
            ended = run_virtual(hold((dialogue.make or make)(), stand_in(), words))
            if ended.result != dialogue.result:
                failed.append((dialogue, ended))
        right += len(table) - len(failed)
        print(f"{name}: {1 - len(failed) / len(table):.0%} of {len(table)} dialogues with the stand-in")
        for dialogue, ended in failed:
            print("", f"- {dialogue.about}: {ended.result}", *ended.lines, sep="\n  ")
    print(f"all: {right / len(ALL):.0%}")
    assert right / len(ALL) >= FLOOR
