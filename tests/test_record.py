"""Records: frozen dataclasses in all but their price."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from antiphon.core.commands import Play, StopPlayout
from antiphon.core.facts import Transcribed, UserSpeechEnded, UserTurnCleared
from antiphon.record import frozen, mutable, record


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
    with pytest.raises(TypeError, match="things"):

        @record
        class Wrong:
            things: list[int] = field(default_factory=list)


@frozen
class Place:
    """As what an application is handed."""

    name: str
    lines: list[str] = field(default_factory=list)
    open: bool = field(default=True, kw_only=True)


@mutable
class Told:
    """As what listeners are told."""

    at: float = field(default_factory=lambda: 1.0)
    what: str


@mutable
class ToldMore(Told):
    """More of it."""

    why: str = ""


def test_a_frozen_one_refuses_changes_unguarded_and_those_that_are_made_of_it_do() -> None:
    @dataclass(frozen=True)
    class Near(Place):
        far: bool = False

    near = Near("a")
    for place in (Place("a"), near):
        with pytest.raises(FrozenInstanceError, match="'name'"):
            place.name = "b"  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError, match="'name'"):
            del place.name
    with pytest.raises(FrozenInstanceError, match="'far'"):
        near.far = True  # type: ignore[misc]


def test_a_frozen_one_is_a_dataclass_to_its_tools() -> None:
    place = Place("a", open=False)
    assert repr(place) == "Place(name='a', lines=[], open=False)"
    assert place.lines is not Place("a").lines
    assert replace(place, name="b") == Place("b", [], open=False) != place
    copied = copy.deepcopy(place)
    assert copied == copy.copy(place) == pickle.loads(pickle.dumps(place)) == place
    assert copied.lines is not place.lines
    with pytest.raises(TypeError, match="unhashable"):
        hash(place)


def test_a_mutable_one_is_made_by_name_and_may_be_changed() -> None:
    told = ToldMore(what="a", why="b")
    assert told == ToldMore(at=1.0, what="a", why="b") != Told(what="a")
    assert repr(told) == "ToldMore(at=1.0, what='a', why='b')"
    told.what = "c"
    assert copy.copy(told) == told == ToldMore(what="c", why="b")
    with pytest.raises(TypeError, match="positional"):
        ToldMore(1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unhashable"):
        hash(told)
