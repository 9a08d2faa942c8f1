"""What a model was shown, in a form that assertions can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from antiphon.chat import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatContext,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
)


def transcript(history: ChatContext | Iterable[ChatItem]) -> list[str]:
    """One line for each item.

    `user: hi`, `assistant: hello` (` [cut]` behind an interrupted one), `call book({"day": "Tue"})`, `output book: ok`
    (`error book: ...` for a failure), `handoff: a -> b`, `note: ...`.
    """
    return [_line(item) for item in _items(history)]


def check_pairs(history: ChatContext | Iterable[ChatItem]) -> None:
    """Raise AssertionError unless each call is directly followed by its output, and no output lacks its call."""
    items = _items(history)
    seen: set[str] = set()
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else None
        previous = items[number - 1] if number else None
        if isinstance(item, FunctionCall):
            if item.call_id in seen:
                raise AssertionError(_broken(items, number, f"call id {item.call_id!r} is used twice"))
            seen.add(item.call_id)
            if not (isinstance(following, FunctionCallOutput) and following.call_id == item.call_id):
                raise AssertionError(_broken(items, number, f"call {item.call_id!r} has no output directly behind it"))
        elif isinstance(item, FunctionCallOutput) and not (
            isinstance(previous, FunctionCall) and previous.call_id == item.call_id
        ):
            raise AssertionError(_broken(items, number, f"output {item.call_id!r} has no call directly before it"))


def _items(history: ChatContext | Iterable[ChatItem]) -> Sequence[ChatItem]:
    return history.items if isinstance(history, ChatContext) else list(history)


def _line(item: ChatItem) -> str:
    match item:
        case ChatMessage():
            return f"{item.role}: {item.text_content or ''}{' [cut]' if item.interrupted else ''}"
        case FunctionCall():
            return f"call {item.name}({item.arguments})"
        case FunctionCallOutput():
            return f"{'error' if item.is_error else 'output'} {item.name}: {item.output}"
        case AgentHandoff():
            return f"handoff: {item.old_agent_id} -> {item.new_agent_id}"
        case AgentConfigUpdate():
            return f"note: {item.note}"
        case _:
            assert_never(item)


def _broken(items: Sequence[ChatItem], number: int, what: str) -> str:
    lines = (f"{'>' if at == number else ' '} {line}" for at, line in enumerate(transcript(items)))
    return f"{what}; the history:\n" + "\n".join(lines)
