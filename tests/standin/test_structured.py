"""Structured output of the stand-in: its sentence where it is spoken, and valid values that say nothing elsewhere."""

from __future__ import annotations

import asyncio
import enum
import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

from antiphon.chat import ChatContext
from antiphon.errors import UsageError
from antiphon_standin import StandInLLM


def answer(response_format: Any, user: str = "hello") -> str:
    context = ChatContext()
    context.add_message(role="user", content=user)

    async def ask() -> str:
        return (await StandInLLM().chat(chat_ctx=context, response_format=response_format).collect()).text

    return asyncio.run(ask())


def plain() -> str:
    context = ChatContext()
    context.add_message(role="user", content="hello")
    return asyncio.run(StandInLLM().chat(chat_ctx=context).collect()).text


class Emotion(TypedDict):
    voice_instructions: Annotated[str, Field(description="Concise TTS directive for tone, emotion and speed")]
    response: str


class Mood(enum.Enum):
    ANGRY = "angry"
    NEUTRAL = "neutral"


class Detail(BaseModel):
    score: Annotated[float, Field(ge=0.5, lt=1)]
    tags: Annotated[list[str], Field(min_length=2)]


class Everything(BaseModel):
    mood: Mood
    kind: Literal["question", "statement"]
    stars: Annotated[int, Field(gt=2, le=5)]
    sure: bool
    detail: Detail
    note: str | None
    code: Annotated[str, Field(min_length=3, max_length=4)]
    extra: dict[str, int] = {}
    reply: str


class Nested(BaseModel):
    class Out(BaseModel):
        speech: str
        volume: int

    id: str
    out: Out


def test_the_sentence_is_in_the_spoken_field_and_the_fields_keep_their_order() -> None:
    given = json.loads(answer(Emotion))
    assert list(given) == ["voice_instructions", "response"]
    assert given["response"] == plain()
    assert given["voice_instructions"] not in ("", given["response"])


@pytest.mark.parametrize("form", [Emotion, Everything, Nested])
def test_every_required_field_has_a_valid_value(form: Any) -> None:
    TypeAdapter(form).validate_json(answer(form))


def test_a_mild_choice_is_taken() -> None:
    assert Everything.model_validate_json(answer(Everything)).mood is Mood.NEUTRAL


def test_the_spoken_field_may_stand_further_down() -> None:
    assert Nested.model_validate_json(answer(Nested)).out.speech == plain()


def test_forms_of_the_wire_are_understood() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    wire = {"type": "json_schema", "json_schema": {"name": "form", "schema": schema}}
    assert json.loads(answer(wire)) == {"text": plain()}
    assert json.loads(answer({"type": "json_object"})) == {"response": plain()}


def test_a_form_that_refers_to_itself_comes_to_an_end() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/node"}, "text": {"type": "string"}},
        "required": ["next", "text"],
    }
    assert plain() in answer({**node, "$defs": {"node": node}})


def test_what_is_no_form_is_an_error_that_says_so() -> None:
    with pytest.raises(UsageError, match="response_format"):
        answer(5)
