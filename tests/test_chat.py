"""What a chat context promises to those who copy, change, store and merge it."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentConfigUpdate,
    ChatContext,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
    UsageError,
    function_tool,
)
from antiphon.chat import AgentHandoff, ChatItem
from antiphon.testing import check_pairs, run_virtual, transcript


def pair(call_id: str, name: str = "look", at: float = 0.0, took: float = 0.0) -> list[ChatItem]:
    return [
        FunctionCall(call_id=call_id, name=name, arguments="{}", created_at=at),
        FunctionCallOutput(call_id=call_id, name=name, output="seen", created_at=at + took),
    ]


def one_of_each() -> ChatContext:
    context = ChatContext()
    context.add_message(role="system", content="Be brief.")
    context.add_message(role="user", content=["Look.", ImageContent(image=b"png")])
    for item in pair("c"):
        context.append(item)
    context.add_message(role="assistant", content="")
    context.append(AgentHandoff(old_agent_id=None, new_agent_id="a"))
    context.append(AgentConfigUpdate(instructions="New."))
    return context


ALL = ["system", "user", "function_call", "function_call_output", "assistant", "agent_handoff", "agent_config_update"]


def kinds(context: ChatContext) -> list[str]:
    return [item.role if isinstance(item, ChatMessage) else item.type for item in context.items]


@pytest.mark.parametrize(
    ("exclusion", "gone"),
    [
        ({}, []),
        ({"exclude_function_call": True}, ["function_call", "function_call_output"]),
        ({"exclude_instructions": True}, ["system"]),
        ({"exclude_empty_message": True}, ["assistant"]),
        ({"exclude_handoff": True}, ["agent_handoff"]),
        ({"exclude_config_update": True}, ["agent_config_update"]),
        ({"tools": ["other"]}, ["function_call", "function_call_output"]),
        ({"tools": ["look"]}, []),
        ({"exclude_handoff": True, "exclude_config_update": True}, ["agent_handoff", "agent_config_update"]),
    ],
)
def test_a_copy_leaves_out_what_it_is_told_to(exclusion: dict[str, Any], gone: list[str]) -> None:
    assert kinds(one_of_each().copy(**exclusion)) == [kind for kind in ALL if kind not in gone]


def test_a_copy_may_be_changed_without_the_original() -> None:
    context = one_of_each()
    context.copy().add_message(role="user", content="More.")
    assert kinds(context) == ALL


@function_tool
async def look() -> str:
    """Look."""
    return "seen"


def unnamed() -> ChatContext:
    call, _ = pair("c")
    return ChatContext([call, FunctionCallOutput(call_id="c", output="seen")])


def test_an_output_without_a_name_goes_with_its_call() -> None:
    check_pairs(unnamed().copy(tools=[look]))
    assert len(unnamed().copy(tools=[look])) == 2
    assert len(unnamed().copy(tools=[])) == 0


def test_an_agent_keeps_the_outputs_of_its_tools_whether_they_have_names_or_not() -> None:
    async def main() -> None:
        agent = Agent(tools=[look])
        await agent.update_chat_ctx(unnamed())
        assert transcript(agent.chat_ctx) == ["call look({})", "output : seen"]

    run_virtual(main())


def test_items_are_inserted_where_their_time_belongs() -> None:
    context = ChatContext()
    for at in (1.0, 3.0):
        context.add_message(role="user", content=str(at), created_at=at)
    context.insert([ChatMessage("user", "2.0", created_at=2.0), ChatMessage("user", "also 3.0", created_at=3.0)])
    assert [message.text_content for message in context.messages()] == ["1.0", "2.0", "3.0", "also 3.0"]


def test_nothing_is_inserted_between_a_call_and_its_output() -> None:
    context = ChatContext(pair("c", at=1.0, took=10.0))
    context.insert(ChatMessage("user", "Meanwhile.", created_at=5.0))
    check_pairs(context)
    assert transcript(context)[-1] == "user: Meanwhile."


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (9, ["system: Be brief.", "user: One.", "call look({})", "output look: seen", "user: Two."]),
        (4, ["system: Be brief.", "user: One.", "call look({})", "output look: seen", "user: Two."]),
        (2, ["system: Be brief.", "user: Two."]),
        (1, ["system: Be brief.", "user: Two."]),
        (0, ["system: Be brief."]),
    ],
)
def test_the_end_is_kept_with_the_instructions_and_without_torn_pairs(most: int, kept: list[str]) -> None:
    context = ChatContext()
    context.add_message(role="system", content="Be brief.")
    context.add_message(role="user", content="One.")
    context.items += pair("c")
    context.add_message(role="user", content="Two.")
    assert transcript(context.truncate(max_items=most)) == kept


def test_merging_adds_what_is_new_in_order_of_time_and_nothing_twice() -> None:
    mine, theirs = ChatContext(), ChatContext()
    shared = ChatMessage("user", "Both.", created_at=1.0)
    for context in (mine, theirs):
        context.append(shared)
    theirs.add_message(role="user", content="Theirs.", created_at=2.0)
    mine.add_message(role="user", content="Mine.", created_at=3.0)
    assert transcript(mine.merge(theirs)) == ["user: Both.", "user: Theirs.", "user: Mine."]


@pytest.mark.parametrize(
    ("exclusion", "gone"),
    [
        ({"exclude_function_call": True}, ["function_call", "function_call_output"]),
        ({"exclude_instructions": True}, ["system"]),
        ({"exclude_config_update": True}, ["agent_config_update"]),
    ],
)
def test_merging_leaves_out_what_it_is_told_to(exclusion: dict[str, Any], gone: list[str]) -> None:
    merged = ChatContext().merge(one_of_each(), **exclusion)
    assert sorted(kinds(merged)) == sorted(kind for kind in ALL if kind not in gone)


@pytest.mark.parametrize("with_images", [False, True])
def test_what_was_written_as_a_dict_is_read_back(with_images: bool) -> None:
    context = one_of_each()
    written = context.to_dict(exclude_image=not with_images, exclude_timestamp=False)
    read = ChatContext.from_dict(json.loads(json.dumps(written)))
    assert read.to_dict(exclude_image=not with_images, exclude_timestamp=False) == written
    assert [item.id for item in read.items] == [item.id for item in context.items]
    (picture,) = read.messages()[1].images if with_images else [None]
    assert (picture is not None) is with_images and (picture is None or picture.url.endswith("base64,cG5n"))


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("hello", "item 1: expected what to_dict wrote, got 'hello'"),
        ({"type": "poem"}, "item 1 has type 'poem'; expected one of message, function_call"),
        ({"type": "function_call", "name": "look"}, "item 1 .function_call.: .* 'call_id' and 'arguments'"),
        ({"type": "message", "role": "user", "content": [{"type": "image"}]}, "item 1 .message.: .* 'image'"),
    ],
)
def test_what_to_dict_did_not_write_is_refused_by_number(item: Any, says: str) -> None:
    fine = {"type": "message", "role": "user", "content": ["Hello."]}
    with pytest.raises(UsageError, match=says):
        ChatContext.from_dict({"items": [fine, item]})


@pytest.mark.parametrize(
    "change",
    [
        lambda context: context.add_message(role="user", content="x"),
        lambda context: context.append(ChatMessage("user", "x")),
        lambda context: context.insert(ChatMessage("user", "x")),
        lambda context: context.remove(context.items[0]),
        lambda context: context.truncate(max_items=0),
        lambda context: context.merge(one_of_each()),
        lambda context: setattr(context, "items", []),
        lambda context: context.items.append(ChatMessage("user", "x")),
        lambda context: context.items.clear(),
        lambda context: context.items.__setitem__(0, ChatMessage("user", "x")),
    ],
)
def test_an_agents_own_context_refuses_every_change(change: Callable[[ChatContext], object]) -> None:
    agent = Agent(chat_ctx=one_of_each())
    with pytest.raises(UsageError, match="read-only: change a copy"):
        change(agent.chat_ctx)
    assert kinds(agent.chat_ctx) == ALL


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda items: pickle.loads(pickle.dumps(items))])
def test_the_items_of_a_read_only_context_can_be_copied_in_depth_and_sent(duplicate: Callable[[Any], Any]) -> None:
    items = duplicate(Agent(chat_ctx=one_of_each()).chat_ctx.items)
    items.append(ChatMessage("user", "More."))
    assert kinds(ChatContext(items)) == [*ALL, "user"]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item))], ids=["copy", "deep", "sent"]
)
class TestCopiesOfItems:
    @pytest.mark.parametrize("item", one_of_each().items, ids=ALL)
    def test_a_copy_is_the_same_item(self, duplicate: Callable[[Any], Any], item: ChatItem) -> None:
        other = duplicate(item)
        assert (other.id, other) == (item.id, item)

    def test_a_changed_copy_is_not_shown_to_a_model_as_the_original(self, duplicate: Callable[[Any], Any]) -> None:
        output = FunctionCallOutput(call_id="c", output="The PIN is 1234.")
        assert output.wired("form", lambda item: item.output) == "The PIN is 1234."
        other = duplicate(output)
        other.output = "(redacted)"
        assert other.wired("form", lambda item: item.output) == "(redacted)"


def test_contexts_are_equivalent_with_the_same_items_whenever_those_were_made() -> None:
    context = one_of_each()
    later = ChatContext(copy.deepcopy(context.items))
    for item in later.items:
        item.created_at += 60.0
    assert context.is_equivalent(later)
    assert not context.is_equivalent(ChatContext(context.items[1:]))


def test_contexts_with_different_pictures_are_not_equivalent() -> None:
    def looking_at(picture: bytes) -> ChatContext:
        return ChatContext([ChatMessage(role="user", content=["Look.", ImageContent(image=picture)], id="m")])

    assert looking_at(b"cat").is_equivalent(looking_at(b"cat"))
    assert not looking_at(b"cat").is_equivalent(looking_at(b"dog"))


def test_an_item_is_found_by_its_id() -> None:
    context = one_of_each()
    assert context.get_by_id(context.items[1].id) is context.items[1]
    assert context.get_by_id("no such item") is None
