from __future__ import annotations

import json
import time
from enum import Enum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from antiphon.chat import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatContext,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)
from antiphon.errors import UsageError
from antiphon.llm import FunctionToolCall
from antiphon.providers.openai_format import (
    ToolCallAssembler,
    is_json,
    own_call_id,
    wire_call_id,
    wire_messages,
    wire_response_format,
    wire_tools,
)
from antiphon.tools.function import ProviderTool, function_tool


def said(role: Any, *content: Any, **fields: Any) -> ChatMessage:
    return ChatMessage(role=role, content=list(content), **fields)


def pair(
    call_id: str, output: str = "ok", *, group: str | None = None, name: str = "f", **fields: Any
) -> list[ChatItem]:
    return [
        FunctionCall(call_id=call_id, name=name, arguments='{"a": 1}', group_id=group),
        FunctionCallOutput(call_id=call_id, name=name, output=output, **fields),
    ]


def wire(*items: ChatItem) -> list[dict[str, Any]]:
    return wire_messages(ChatContext(items))


def shape(messages: list[dict[str, Any]]) -> list[str]:
    """`role` of each message, with the ids of calls and outputs."""
    lines = []
    for message in messages:
        ids = [call["id"] for call in message.get("tool_calls", ())]
        ids += [message["tool_call_id"]] if "tool_call_id" in message else []
        lines.append(" ".join([message["role"], *ids]))
    return lines


# -- history


def test_messages_keep_their_order_and_text() -> None:
    assert wire(said("system", "Be brief."), said("user", "Hi", "there"), said("assistant", "Hello")) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi\nthere"},
        {"role": "assistant", "content": "Hello"},
    ]


def test_developer_messages_are_sent_as_system_messages() -> None:
    assert wire(said("developer", "Be brief.")) == [{"role": "system", "content": "Be brief."}]


def test_a_message_heard_whole_is_shown_as_the_model_wrote_it() -> None:
    raw = {"raw": '{"tone": "warm", "response": "Hello"}'}
    assert wire(said("assistant", "Hello", extra=raw))[0]["content"] == raw["raw"]


def test_of_an_interrupted_message_the_model_sees_what_was_heard() -> None:
    assert wire(said("assistant", "Hel", extra={"raw": "Hello"}, interrupted=True))[0]["content"] == "Hel"


def test_handoffs_and_empty_messages_are_not_shown() -> None:
    assert wire(said("assistant"), said("user"), AgentHandoff(old_agent_id="a", new_agent_id="b")) == []


def test_a_change_of_tools_is_a_short_note() -> None:
    update = AgentConfigUpdate(tools_added=["pay"], tools_removed=["book"])
    assert wire(update) == [{"role": "system", "content": "Tools added: pay; removed: book."}]


def test_pictures_of_the_caller_are_parts_of_the_message() -> None:
    picture = ImageContent(image="https://example.org/a.png", detail="low")
    assert wire(said("user", "What is it?", picture))[0]["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
    ]


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("functions.book table", "functions_book_table"),
        ("f\u00fcnf\x1b", "f_nf_"),
        ("", "unnamed"),
        ("x" * 100, "x" * 64),
        ("pay-2_go", "pay-2_go"),
    ],
)
def test_a_call_of_what_there_is_not_has_a_name_that_endpoints_take(name: str, sent: str) -> None:
    call = FunctionCall(call_id="c1", name=name, arguments="{}")
    output = FunctionCallOutput(call_id="c1", name=name, output="Unknown function", is_error=True)
    assert wire(call, output)[0]["tool_calls"][0]["function"]["name"] == sent


def test_a_call_is_followed_by_its_output() -> None:
    assert wire(*pair("c1", "42")) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]


def test_calls_of_one_response_share_an_assistant_message() -> None:
    messages = wire(*pair("c1", group="g"), *pair("c2", group="g"), *pair("c3", group="h"))
    assert shape(messages) == ["assistant c1 c2", "tool c1", "tool c2", "assistant c3", "tool c3"]


def test_calls_of_no_known_response_stand_alone_unless_they_stand_together() -> None:
    assert shape(wire(*pair("c1"), *pair("c2"))) == ["assistant c1", "tool c1", "assistant c2", "tool c2"]
    (c1, o1), (c2, o2) = pair("c1"), pair("c2")
    assert shape(wire(c1, c2, o2, o1)) == ["assistant c1 c2", "tool c1", "tool c2"]


def test_what_was_said_before_a_call_belongs_to_the_same_message() -> None:
    messages = wire(said("user", "?"), said("assistant", "Let me see."), *pair("c1"))
    assert shape(messages) == ["user", "assistant c1", "tool c1"]
    assert messages[1]["content"] == "Let me see."


def test_a_message_that_was_cached_is_not_changed_by_a_call_behind_it() -> None:
    message = said("assistant", "Let me see.")
    wire(message, *pair("c1"))
    assert wire(message) == [{"role": "assistant", "content": "Let me see."}]


def test_calls_without_output_and_outputs_without_call_are_left_out() -> None:
    (call, _), (_, output) = pair("c1"), pair("c2")
    assert wire(said("user", "?"), call, output) == [{"role": "user", "content": "?"}]


def test_of_several_calls_of_one_id_each_has_its_own_output() -> None:
    messages = wire(*pair("c1", "First."), said("user", "Again."), *pair("c1", "Second."))
    assert [message["content"] for message in messages if message["role"] == "tool"] == ["First.", "Second."]


def test_a_call_and_its_output_find_each_other_over_what_stands_between() -> None:
    call, output = pair("c1")
    assert shape(wire(call, said("user", "?"), output)) == ["assistant c1", "tool c1", "user"]


ids = st.sampled_from(["a", "b", "c/finished"])
any_item: st.SearchStrategy[ChatItem] = st.one_of(
    st.builds(ChatMessage, st.sampled_from(["user", "assistant", "system"]), st.sampled_from(["", "Text."])),
    st.builds(
        lambda call_id, group: FunctionCall(call_id=call_id, name="book", arguments="{}", group_id=group),
        ids,
        st.sampled_from([None, "g1", "g2"]),
    ),
    st.builds(lambda call_id: FunctionCallOutput(call_id=call_id, output="Done."), ids),
)


@given(st.lists(any_item, max_size=12))
def test_whatever_the_history_each_message_with_calls_is_followed_by_their_outputs(items: list[ChatItem]) -> None:
    messages = iter(wire(*items))
    for message in messages:
        assert message["role"] != "tool"
        wanted = [call["id"] for call in message.get("tool_calls", ())]
        assert len(set(wanted)) == len(wanted)
        assert [next(messages)["tool_call_id"] for _ in wanted] == wanted


def test_the_output_of_a_failed_call_says_so() -> None:
    assert wire(*pair("c1", "No table.", is_error=True))[1]["content"] == "[error] No table."


def test_pictures_in_outputs_follow_behind_all_outputs_of_the_response() -> None:
    picture = ImageContent(image=b"png")
    messages = wire(*pair("c1", group="g", images=[picture]), *pair("c2", group="g"))
    assert shape(messages) == ["assistant c1 c2", "tool c1", "tool c2", "user"]
    assert messages[3]["content"][1]["image_url"]["url"] == "data:image/png;base64,cG5n"


# -- call ids


@pytest.mark.parametrize("call_id", ["call_1/finished", "call_1/update_12", "call_1"])
def test_ids_of_later_results_are_mapped_and_back(call_id: str) -> None:
    assert "/" not in wire_call_id(call_id)
    assert own_call_id(wire_call_id(call_id)) == call_id


def test_an_id_that_is_too_long_gets_a_short_one_for_call_and_output() -> None:
    long = "x" * 60
    messages = wire(*pair(long))
    assert len(messages[1]["tool_call_id"]) <= 40
    assert messages[0]["tool_calls"][0]["id"] == messages[1]["tool_call_id"] != wire_call_id("x" * 61)


def test_notes_name_calls_by_the_id_that_the_model_sees() -> None:
    note, *_ = wire(said("system", "New results came in (call ids: call_1/finished)."))
    assert note["content"] == "New results came in (call ids: call_1--finished)."


# -- cost


def test_a_long_history_is_rendered_once() -> None:
    items: list[ChatItem] = []
    for n in range(500):
        items += [said("user", f"q{n}"), said("assistant", f"a{n}"), *pair(f"c{n}")]
    first = wire(*items)
    context = ChatContext(items)
    took = []
    for _ in range(5):  # a collection of garbage may come in between
        began = time.thread_time()
        again = wire_messages(context)
        took.append(time.thread_time() - began)
    assert min(took) < 0.05, "2,000 items are collected in about a millisecond"
    assert again == first
    assert all(a is b for a, b in zip(first, again, strict=True) if a["role"] in ("user", "tool"))


# -- tools


@function_tool
async def book(day: str, seats: int = 2) -> str:
    """Book a table.

    Args:
        day: Which day.
    """
    return "booked"


def test_a_tool_is_rendered_once_with_name_description_and_schema() -> None:
    wired = wire_tools([book], strict=False)
    assert wired[0]["function"]["name"] == "book"
    assert wired[0]["function"]["description"] == "Book a table."
    assert wired[0]["function"]["parameters"]["required"] == ["day"]
    assert "strict" not in wired[0]["function"]
    assert wire_tools([book], strict=False)[0] is wired[0]


def test_strict_tools_require_all_of_their_parameters() -> None:
    function = wire_tools([book], strict=True)[0]["function"]
    assert function["strict"] is True
    assert function["parameters"]["required"] == ["day", "seats"]
    assert function["parameters"]["additionalProperties"] is False


def test_a_raw_schema_stays_as_it_is_where_strict_tools_are_asked_for() -> None:
    schema = {"name": "raw", "parameters": {"type": "object", "properties": {"x": {}}}}
    tool = function_tool(lambda raw_arguments: None, raw_schema=schema)
    function = wire_tools([tool], strict=True)[0]["function"]
    assert function["parameters"] == schema["parameters"]
    assert "strict" not in function


def test_a_tool_that_runs_at_another_provider_is_refused() -> None:
    with pytest.raises(UsageError, match="runs at another provider"):
        wire_tools([ProviderTool(id="web_search")], strict=False)


# -- structured output


class Emotion(TypedDict):
    voice: Annotated[str, Field(..., description="How to speak")]
    response: str


class Mood(Enum):
    CALM = "calm"
    GLAD = "glad"


class Person(BaseModel):
    name: str
    mood: Mood = Mood.CALM


def test_a_typed_dict_becomes_a_strict_schema_with_its_keys_in_order() -> None:
    json_schema = wire_response_format(Emotion)["json_schema"]
    assert (json_schema["name"], json_schema["strict"]) == ("Emotion", True)
    assert list(json_schema["schema"]["properties"]) == ["voice", "response"]
    assert json_schema["schema"]["properties"]["voice"]["description"] == "How to speak"
    assert json_schema["schema"]["required"] == ["voice", "response"]
    assert json_schema["schema"]["additionalProperties"] is False


def test_a_pydantic_model_becomes_a_strict_schema() -> None:
    json_schema = wire_response_format(Person)["json_schema"]
    assert json_schema["strict"] is True
    assert set(json_schema["schema"]["required"]) == {"name", "mood"}


def test_null_stands_for_no_default_of_a_response_which_whoever_reads_it_would_refuse() -> None:
    class Reply(BaseModel):
        response: str
        tone: str = "calm"
        mood: Mood = Mood.CALM
        more: str | None = None

    schema = wire_response_format(Reply)["json_schema"]["schema"]
    assert schema["required"] == ["response", "tone", "mood", "more"]
    assert schema["properties"]["tone"] == {"type": "string"}
    assert "null" not in json.dumps([schema["properties"]["mood"], schema.get("$defs", {})])
    assert "null" in json.dumps(schema["properties"]["more"])


def test_a_model_that_cannot_be_strict_is_sent_as_it_is() -> None:
    class Free(BaseModel):
        anything: dict[str, Any]

    json_schema = wire_response_format(Free)["json_schema"]
    assert json_schema["strict"] is False
    assert "anything" in json_schema["schema"]["properties"]


def test_a_typed_dict_of_the_standard_library_will_do() -> None:
    import typing

    plain = typing.TypedDict("plain", {"answer": str})  # noqa: UP013 - made here, not at the top
    assert list(wire_response_format(plain)["json_schema"]["schema"]["properties"]) == ["answer"]


def test_a_dict_is_sent_as_it_is() -> None:
    assert wire_response_format({"type": "json_object"}) == {"type": "json_object"}


@pytest.mark.parametrize("given", [int, "json", 3])
def test_what_is_no_object_is_refused_as_a_response_format(given: Any) -> None:
    with pytest.raises(UsageError, match="response_format"):
        wire_response_format(given)


# -- tool calls in a response


def assembled(
    *deltas: tuple[Any, str | None, str | None, Any],
) -> tuple[list[FunctionToolCall], list[FunctionToolCall]]:
    """The calls that were complete before the end, and the rest."""
    calls = ToolCallAssembler()
    early = [one for i, id, name, text in deltas for one in calls.push(index=i, call_id=id, name=name, arguments=text)]
    return early, list(calls.finish())


def test_a_call_is_put_together_from_its_deltas() -> None:
    early, rest = assembled((0, "c1", "f", ""), (0, None, None, '{"a"'), (0, None, None, ": 1}"))
    assert early == []
    assert rest == [FunctionToolCall("f", '{"a": 1}', "c1")]


def test_a_call_is_given_when_the_next_one_begins() -> None:
    early, rest = assembled((0, "c1", "f", "{}"), (1, "c2", "g", "{}"))
    assert ([call.name for call in early], [call.name for call in rest]) == (["f"], ["g"])


def test_deltas_of_two_calls_may_alternate() -> None:
    early, rest = assembled((0, "c1", "f", '{"a": '), (1, "c2", "g", "{"), (0, None, None, "1}"), (1, None, None, "}"))
    assert sorted((call.name, call.arguments) for call in early + rest) == [("f", '{"a": 1}'), ("g", "{}")]


def test_calls_that_all_have_the_index_0_are_told_apart_by_their_ids() -> None:
    early, rest = assembled((0, "c1", "f", "{}"), (0, "c2", "g", "{}"))
    assert [call.call_id for call in early + rest] == ["c1", "c2"]


def test_arguments_given_as_an_object_become_text() -> None:
    assert assembled((0, "c1", "f", {"a": 1}))[1][0].arguments == '{"a": 1}'


def test_no_arguments_are_an_empty_object() -> None:
    assert assembled((0, "c1", "f", None))[1][0].arguments == "{}"


def test_missing_and_repeated_ids_are_replaced() -> None:
    calls = ToolCallAssembler(taken=lambda: {"old"})
    for index, call_id in enumerate(["old", "", "new", "new"]):
        list(calls.push(index=index, call_id=call_id, name="f", arguments=""))
    ids = [call.call_id for call in calls.finish()]
    assert len(set(ids)) == 4
    assert "old" not in ids
    assert "" not in ids
    assert ids[2] == "new"


def test_arguments_nested_too_deep_are_incomplete_and_not_a_crash() -> None:
    assert not is_json('{"a":' + "[" * 200_000)
