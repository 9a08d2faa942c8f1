"""What a journal holds is what was put into it, and what it cannot hold is refused in words."""

from __future__ import annotations

import enum
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.chat import ChatMessage, FunctionCall, ImageContent
from antiphon.core.codec import DEEPEST, LARGEST_IMAGE, reader, to_data
from antiphon.core.commands import Command, Generate, Record
from antiphon.core.facts import (
    Call,
    EndOfTurnPredicted,
    Fact,
    SpeechRequested,
    ToolCalled,
    ToolReturned,
    Transcribed,
    UserSpeechEnded,
)
from antiphon.errors import JournalError
from antiphon.options import ToolPolicy
from antiphon.visible import to_json, visible
from tests.replay.values import KINDS, again, values


@pytest.mark.parametrize(("kind", "read_as"), KINDS, ids=lambda one: getattr(one, "__name__", ""))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_class_comes_back_as_it_was(kind: type, read_as: Any, data: st.DataObject) -> None:
    value = data.draw(values(kind))
    assert again(value, read_as) == value
    assert type(again(value, read_as)) is kind


@settings(max_examples=50, deadline=None)
@given(value=values(Transcribed) | values(ToolReturned))
def test_a_line_is_one_line_in_which_nothing_acts(value: Fact) -> None:
    line = to_json(to_data(value))
    assert visible(line) == line
    assert len(line.splitlines()) == 1
    line.encode()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_come_back(number: float) -> None:
    read = again(UserSpeechEnded(number), Fact)
    assert repr(read.silence) == repr(number)


def test_a_number_of_another_library_is_a_number() -> None:
    numpy = pytest.importorskip("numpy")
    assert again(EndOfTurnPredicted(numpy.int64(3), numpy.float32(0.5)), Fact) == EndOfTurnPredicted(3, 0.5)


def test_what_an_application_puts_into_a_choice_of_tools_cannot_break_a_line() -> None:
    class Odd(enum.Enum):
        ONE = "one"

    nested: dict[str, Any] = {"type": Odd.ONE, "is": "Transcribed", "what": object(), "deep": {}}
    nested["deep"]["more"] = nested
    read = again(SpeechRequested(1, "reply", tool_choice=nested), Fact)
    assert (read.tool_choice["type"], read.tool_choice["is"]) == ("one", "Transcribed")


def test_a_large_picture_is_left_out_and_says_how_large_it_was() -> None:
    size = LARGEST_IMAGE + 1
    fact = ToolReturned(1, "", images=(ImageContent(image=bytes(size)), ImageContent(image="x" * size)))
    assert [image.image for image in again(fact, Fact).images] == [f"about:blank#left-out-{size}"] * 2


def test_what_providers_keep_on_an_item_stays_behind() -> None:
    item = ChatMessage("user", "Hi")
    item.wired("form", lambda one: object())
    assert again(Record(item, "desk"), Command) == Record(item, "desk")


def test_a_field_that_came_later_has_its_default() -> None:
    data = to_data(ToolCalled(1, Call("c", "book", "{}"), ToolPolicy()))
    del data["policy"]["expected"], data["rejected"]
    assert reader(Fact)(data) == ToolCalled(1, Call("c", "book", "{}"), ToolPolicy())


REFUSED = {
    "class": ({"is": "Teleported"}, "expected a fact, got the class 'Teleported'"),
    "class of another kind": ({"is": "Play", "segment": 1}, "expected a fact, got the class 'Play'"),
    "no class": ({"text": "Hi"}, "expected a fact, got"),
    "class that is no text": ({"is": ["Transcribed"]}, "got the class"),
    "field": (
        {"is": "Transcribed", "text": "Hi", "final": True, "language": "en"},
        "Transcribed has no field 'language': expected text, final",
    ),
    "missing field": ({"is": "Transcribed", "text": "Hi"}, "Transcribed without final"),
    "kind of value": ({"is": "Transcribed", "text": 1, "final": True}, "Transcribed.text: expected a text, got 1"),
    "number": ({"is": "UserSpeechEnded", "silence": "long"}, "UserSpeechEnded.silence: expected a number, got 'long'"),
    "flag": ({"is": "Transcribed", "text": "Hi", "final": 1}, "expected true or false, got 1"),
    "word": (
        {"is": "SpeechRequested", "speech": 1, "kind": "song"},
        "SpeechRequested.kind: expected 'say' or 'reply' or 'filler', got 'song'",
    ),
    "inner class": (
        {"is": "ToolCalled", "gen": 1, "call": {"is": "ToolPolicy"}, "policy": {"is": "ToolPolicy"}},
        "ToolCalled.call: expected a Call, got the class 'ToolPolicy'",
    ),
    "base64": (
        {"is": "ToolReturned", "run": 1, "output": "", "images": [{"is": "ImageContent", "image": {"base64": "?"}}]},
        "ToolReturned.images: ImageContent.image: expected a text",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_unknown_is_refused_with_what_was_expected(name: str) -> None:
    data, message = REFUSED[name]
    with pytest.raises(JournalError) as caught:
        reader(Fact)(data)
    assert message in str(caught.value)


def test_items_stand_in_commands_by_their_class() -> None:
    item = FunctionCall(call_id="c", name="book", arguments="{}")
    command = Generate(1, 2, 3, "desk", (item, ChatMessage("user", [ImageContent(image=b"png")])), tools=True)
    assert to_data(command)["open"][0]["is"] == "FunctionCall"
    assert again(command, Command) == command


@pytest.mark.parametrize("levels", [50, 900])
def test_data_that_is_nested_deeply_is_cut(levels: int) -> None:
    data = json.loads('{"a": ' * levels + "1" + "}" * levels)
    read = reader(Fact)({"is": "SpeechRequested", "speech": 1, "kind": "say", "tool_choice": data})
    assert json.dumps(read.tool_choice).count("{") == DEEPEST
    assert again(SpeechRequested(1, "say", tool_choice=data), Fact) == read
