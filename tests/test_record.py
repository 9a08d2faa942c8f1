"""Records: frozen dataclasses in all but their price."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from antiphon.core.commands import Play, StopPlayout
from antiphon.core.facts import Transcribed, UserSpeechEnded, UserTurnCleared
from antiphon.record import record


def test_it_is_made_by_position_or_name_with_defaults() -> None:
    assert Transcribed("a", True) == Transcribed(text="a", final=True)
    assert UserSpeechEnded() == UserSpeechEnded(0.0)
    assert UserTurnCleared() == UserTurnCleared()


def test_equal_fields_of_another_kind_are_not_equal() -> None:
    assert len({Play(1), Play(1), StopPlayout(1)}) == 2


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError, match="'segment'"):
        Play(1).segment = 2  # type: ignore[misc]


def test_it_is_a_dataclass_to_its_tools() -> None:
    assert [field.name for field in fields(Transcribed)] == ["text", "final"]
    assert replace(Transcribed("a", True), final=False) == Transcribed("a", False)
    match Transcribed("a", True):
        case Transcribed(text, final):
            assert (text, final) == ("a", True)


def test_it_shows_itself() -> None:
    assert repr(Transcribed("a", True)) == "Transcribed(text='a', final=True)"


def test_a_factory_is_refused() -> None:
    from dataclasses import field

    with pytest.raises(TypeError, match="things"):

        @record
        class Wrong:
            things: list[int] = field(default_factory=list)
