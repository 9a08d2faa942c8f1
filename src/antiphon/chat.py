"""The history of a conversation: what was said, called and changed, in order.

Items are slotted objects, cheap to keep by the thousand. A `ChatContext` is an ordered list of them. Three rules:

- A `FunctionCall` and its `FunctionCallOutput` share a `call_id` and stand side by side.
- An item is not changed once it is part of a context. Providers keep its wire form on it (`wire`), so that a
  request is a join of what is already rendered.
- `session.history` holds the whole call; `agent.chat_ctx` is one agent's view of it and is read-only: copy it,
  change the copy, and give it back with `agent.update_chat_ctx()`.
"""

from __future__ import annotations

import base64
import bisect
import itertools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, NoReturn, Self, TypeAlias, TypeVar

from antiphon.errors import UsageError
from antiphon.visible import shortened, well_formed

T = TypeVar("T")

ChatRole: TypeAlias = Literal["developer", "system", "user", "assistant"]

_ids = itertools.count(1)
_process = os.urandom(4).hex()

_MALFORMED_SHOWN = 500
"""Characters of arguments that are no JSON object which stay in a history."""


def new_id(prefix: str) -> str:
    """An identifier that no other process gives either, for example "item_5f0c2e91_17": histories are stored."""
    return f"{prefix}_{_process}_{next(_ids)}"


@dataclass(slots=True, kw_only=True)
class ImageContent:
    """A picture in a message or a tool result."""

    image: str | bytes
    """A URL (http, https or data) or the encoded bytes."""
    mime_type: str = "image/png"
    detail: Literal["auto", "high", "low"] = "auto"

    @property
    def url(self) -> str:
        """The picture as a URL; bytes become a data URL."""
        if isinstance(self.image, str):
            return self.image
        return f"data:{self.mime_type};base64,{base64.b64encode(self.image).decode()}"

    def model_dump(self) -> dict[str, Any]:
        """A JSON-ready dict."""
        return {"type": "image", "image": self.url, "mime_type": self.mime_type, "detail": self.detail}


ChatContent: TypeAlias = str | ImageContent


class Clock:
    """What items have their time from. `wall` gives seconds since the epoch; virtual time puts its own there."""

    wall: Callable[[], float] = staticmethod(time.time)


def _wall_time() -> float:
    return Clock.wall()


@dataclass(slots=True, kw_only=True)
class _Item:
    created_at: float = field(default_factory=_wall_time)
    """Seconds since the epoch; the order of `ChatContext.insert`."""
    wire: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """What providers keep here, by the name of their format. Never part of a dump."""

    def wired(self, form: str, make: Callable[[Self], T]) -> T:
        """The item in a provider's form, made once."""
        if self.wire is None:
            self.wire = {}
        if form not in self.wire:
            self.wire[form] = make(self)
        made: T = self.wire[form]
        return made

    def __getstate__(self) -> Any:
        """For copies: they may be changed, so what providers keep stays behind."""
        state: Any = object.__getstate__(self)
        state[1]["wire"] = None
        return state

    def model_dump(self) -> dict[str, Any]:
        """A JSON-ready dict, with the item's `type`."""
        dump: dict[str, Any] = {}
        for f in fields(self):
            if f.name != "wire":
                dump[f.name] = _plain(getattr(self, f.name))
        return dump

    def model_dump_json(self) -> str:
        """The item as JSON text."""
        return json.dumps(self.model_dump(), ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, ImageContent):
        return value.model_dump()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


class ChatMessage(_Item):
    """Something said or written. For an assistant it is what was *heard*, not what was planned.

    `content` may be given as text. Messages are most of a history, so this class is written by hand: it is made in
    half the time that a dataclass takes, and what few messages are asked for is made when it is.
    """

    __slots__ = ("_content", "_extra", "_id", "interrupted", "role")

    _content: str | list[ChatContent]
    role: ChatRole
    interrupted: bool
    """True when less was heard than was to be said."""
    type: ClassVar[Literal["message"]] = "message"

    def __init__(
        self,
        role: ChatRole,
        content: str | list[ChatContent],
        id: str | None = None,
        interrupted: bool = False,
        extra: dict[str, Any] | None = None,
        created_at: float | None = None,
    ) -> None:
        self.created_at = Clock.wall() if created_at is None else created_at
        self.wire = None
        self.role = role
        self.content = content
        self._id = id
        self.interrupted = interrupted
        self._extra = extra

    @property
    def content(self) -> list[ChatContent]:
        """Texts and pictures, in order."""
        if isinstance(self._content, str):
            self._content = [self._content]
        return self._content

    @content.setter
    def content(self, content: str | list[ChatContent]) -> None:
        if isinstance(content, str):
            self._content = well_formed(content)
        else:
            self._content = [well_formed(part) if isinstance(part, str) else part for part in content]

    @property
    def id(self) -> str:
        """Unique, unless it was given."""
        if self._id is None:
            self._id = new_id("item")
        return self._id

    @id.setter
    def id(self, id: str) -> None:
        self._id = id

    @property
    def extra(self) -> dict[str, Any]:
        """`raw`: the text as the model wrote it, where it differs from what was spoken."""
        if self._extra is None:
            self._extra = {}
        return self._extra

    @extra.setter
    def extra(self, extra: dict[str, Any]) -> None:
        self._extra = extra

    @property
    def text_content(self) -> str | None:
        """The text parts joined by newlines, or None if there are none."""
        if isinstance(self._content, str):
            return self._content
        parts = [part for part in self._content if isinstance(part, str)]
        return "\n".join(parts) if parts else None

    @property
    def images(self) -> list[ImageContent]:
        """The pictures in it."""
        return [] if isinstance(self._content, str) else [p for p in self._content if isinstance(p, ImageContent)]

    def model_dump(self) -> dict[str, Any]:
        """A JSON-ready dict, with the item's `type`."""
        return {
            "created_at": self.created_at,
            "role": self.role,
            "content": _plain(self.content),
            "id": self.id,
            "interrupted": self.interrupted,
            "extra": _plain(self._extra or {}),
            "type": self.type,
        }

    def __eq__(self, other: object) -> bool:
        return self.model_dump() == other.model_dump() if isinstance(other, ChatMessage) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it may be changed until it is in a context

    def __getstate__(self) -> Any:
        """For copies: they are the same message, so they need its id."""
        self._id = self.id
        return super().__getstate__()

    def __repr__(self) -> str:
        cut = ", interrupted=True" if self.interrupted else ""
        return f"ChatMessage(role={self.role!r}, content={self.content!r}, id={self.id!r}{cut})"


def _object_text(text: str) -> str:
    """The text, if it is a JSON object that can be sent; else one that tells of it."""
    if not text or text == "{}":
        return "{}"
    try:
        if isinstance(_decoder.decode(text), dict) and text == well_formed(text):
            return text
    except (ValueError, RecursionError):
        pass
    return json.dumps({"malformed": well_formed(shortened(text, _MALFORMED_SHOWN))}, ensure_ascii=False)


def _refused(name: str) -> NoReturn:
    raise ValueError(name)


_decoder = json.JSONDecoder(parse_constant=_refused)
"""Made once: a decoder costs more than what it decodes here."""


@dataclass(slots=True, kw_only=True)
class FunctionCall(_Item):
    """The model's wish to run a tool."""

    call_id: str
    name: str
    arguments: str
    """A JSON object, as text: text that is none becomes the object `{"malformed": <its beginning>}`, since endpoints
    refuse every later request for it."""
    id: str = field(default_factory=lambda: new_id("item"))
    extra: dict[str, Any] = field(default_factory=dict)
    group_id: str | None = None
    """Calls of one model response share it."""
    type: Literal["function_call"] = "function_call"

    def __post_init__(self) -> None:
        self.name = well_formed(self.name)
        self.arguments = _object_text(self.arguments)


@dataclass(slots=True, kw_only=True)
class FunctionCallOutput(_Item):
    """What came of a call."""

    call_id: str
    name: str = ""
    output: str
    is_error: bool = False
    reply_required: bool = True
    """False when the tool asked for no reply (it returned None)."""
    images: list[ImageContent] = field(default_factory=list)
    id: str = field(default_factory=lambda: new_id("item"))
    type: Literal["function_call_output"] = "function_call_output"

    def __post_init__(self) -> None:
        self.output = well_formed(self.output)


@dataclass(slots=True, kw_only=True)
class AgentHandoff(_Item):
    """Another agent took over."""

    old_agent_id: str | None
    new_agent_id: str
    id: str = field(default_factory=lambda: new_id("item"))
    type: Literal["agent_handoff"] = "agent_handoff"


@dataclass(slots=True, kw_only=True)
class AgentConfigUpdate(_Item):
    """The agent's instructions or tools changed. Shown to the model as a short note."""

    instructions: str | None = None
    tools_added: list[str] | None = None
    tools_removed: list[str] | None = None
    id: str = field(default_factory=lambda: new_id("item"))
    type: Literal["agent_config_update"] = "agent_config_update"

    @property
    def note(self) -> str:
        """The note for the model, for example "Tools added: a, b; removed: c; instructions updated."."""
        parts = []
        if self.tools_added:
            parts.append(f"Tools added: {', '.join(self.tools_added)}")
        if self.tools_removed:
            removed = ", ".join(self.tools_removed)
            parts.append(f"removed: {removed}" if parts else f"Tools removed: {removed}")
        if self.instructions is not None:
            parts.append("instructions updated" if parts else "Instructions updated")
        return "; ".join(parts) + "."


ChatItem: TypeAlias = ChatMessage | FunctionCall | FunctionCallOutput | AgentHandoff | AgentConfigUpdate

_TYPES: dict[str, type[ChatItem]] = {
    "message": ChatMessage,
    "function_call": FunctionCall,
    "function_call_output": FunctionCallOutput,
    "agent_handoff": AgentHandoff,
    "agent_config_update": AgentConfigUpdate,
}

INSTRUCTIONS_ID = "instructions"
"""The id of the system message that carries an agent's instructions in a request."""
SUMMARY_ID = "summary"
"""How the id of the message begins that stands in a request for what was said before the turns that it carries."""
NOTE_ID = "note"
"""How the ids of the system messages begin that tell a model what it should know for one response: to be known, not
said."""
REPLY_INSTRUCTIONS_ID = "reply_instructions"
"""How the id of the system message begins that carries the instructions for one reply: to be followed. Like the notes,
a session appends it to one request, for its response only."""


class ChatContext:
    """An ordered list of chat items."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[ChatItem] | None = None) -> None:
        self._items: list[ChatItem] = list(items) if items is not None else []

    @classmethod
    def empty(cls) -> Self:
        """A context without items."""
        return cls()

    @property
    def items(self) -> list[ChatItem]:
        """The items in order. The list itself; mutate it on a copy of an agent's context only."""
        return self._items

    @items.setter
    def items(self, items: list[ChatItem]) -> None:
        self._items = items

    @property
    def readonly(self) -> bool:
        """True if this context refuses changes."""
        return False

    def messages(self) -> list[ChatMessage]:
        """The messages only: no calls, outputs or notes."""
        return [item for item in self._items if isinstance(item, ChatMessage)]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._items)} items)"

    # -- changes

    def add_message(
        self,
        *,
        role: ChatRole,
        content: str | Sequence[ChatContent],
        id: str | None = None,
        interrupted: bool = False,
        created_at: float | None = None,
        extra: dict[str, Any] | None = None,
    ) -> ChatMessage:
        """Append a message, or insert it in time when `created_at` (seconds since the epoch) is given."""
        message = ChatMessage(
            role, content if isinstance(content, str) else list(content), id or None, interrupted, extra, created_at
        )
        if created_at is None:
            self._items.append(message)
        else:
            self.insert(message)
        return message

    def append(self, item: ChatItem) -> None:
        """Put one item at the end, whatever its time."""
        self._items.append(item)

    def insert(self, item: ChatItem | Iterable[ChatItem]) -> None:
        """Put items where their `created_at` belongs, after items of the same time."""
        for one in [item] if isinstance(item, _Item) else list(item):
            at = self.find_insertion_index(created_at=one.created_at)
            self._items.insert(at, one)

    def remove(self, item: ChatItem | str) -> None:
        """Take an item out, by itself or by its id. Raises `UsageError` if it is not there."""
        key = item if isinstance(item, str) else item.id
        at = self.index_by_id(key)
        if at is None:
            raise UsageError(f"ChatContext.remove: no item with id {key!r}; it holds {len(self._items)} items")
        del self._items[at]

    def truncate(self, *, max_items: int) -> Self:
        """Keep the last `max_items` items, in place.

        The first system or developer message is kept on top of them, and the kept part never begins with calls or
        outputs: what led to them would be missing.
        """
        if len(self._items) <= max_items:
            return self
        head = next((i for i in self._items if isinstance(i, ChatMessage) and i.role in ("system", "developer")), None)
        kept = self._items[-max_items:] if max_items > 0 else []
        while kept and isinstance(kept[0], (FunctionCall, FunctionCallOutput)):
            kept.pop(0)
        if head is not None and all(i is not head for i in kept):
            kept.insert(0, head)
        self._items = kept
        return self

    def merge(
        self,
        other: ChatContext,
        *,
        exclude_function_call: bool = False,
        exclude_instructions: bool = False,
        exclude_config_update: bool = False,
    ) -> Self:
        """Insert the items of `other` that are not here yet (by id), each where its time belongs."""
        known = {item.id for item in self._items}
        added = other.copy(
            exclude_function_call=exclude_function_call,
            exclude_instructions=exclude_instructions,
            exclude_config_update=exclude_config_update,
        )
        self.insert(item for item in added._items if item.id not in known)
        return self

    # -- reading

    def copy(
        self,
        *,
        exclude_function_call: bool = False,
        exclude_instructions: bool = False,
        exclude_empty_message: bool = False,
        exclude_handoff: bool = False,
        exclude_config_update: bool = False,
        tools: Iterable[Any] | None = None,
    ) -> ChatContext:
        """A new, writable context that shares the items.

        `tools` (tools, toolsets or names) keeps only the calls and outputs of those tools.
        """
        if tools is None and not (
            exclude_function_call
            or exclude_instructions
            or exclude_empty_message
            or exclude_handoff
            or exclude_config_update
        ):
            return ChatContext(self._items)
        others = set() if tools is None else calls_of_others(self._items, set(_tool_names(tools)))
        kept: list[ChatItem] = []
        for item in self._items:
            if isinstance(item, (FunctionCall, FunctionCallOutput)):
                if exclude_function_call or item.call_id in others:
                    continue
            elif isinstance(item, ChatMessage):
                if exclude_instructions and item.role in ("system", "developer"):
                    continue
                if exclude_empty_message and not any(item.content):
                    continue
            elif (exclude_handoff and isinstance(item, AgentHandoff)) or (
                exclude_config_update and isinstance(item, AgentConfigUpdate)
            ):
                continue
            kept.append(item)
        return ChatContext(kept)

    def get_by_id(self, item_id: str) -> ChatItem | None:
        """The item with this id, or None."""
        at = self.index_by_id(item_id)
        return None if at is None else self._items[at]

    def index_by_id(self, item_id: str) -> int | None:
        """The position of the item with this id, or None."""
        return next((i for i, item in enumerate(self._items) if item.id == item_id), None)

    def find_insertion_index(self, *, created_at: float) -> int:
        """Where an item of that time would be inserted: never between a call and its output."""
        at = bisect.bisect_right(self._items, created_at, key=lambda i: i.created_at)
        if 0 < at < len(self._items):
            before, behind = self._items[at - 1], self._items[at]
            if (
                isinstance(before, FunctionCall)
                and isinstance(behind, FunctionCallOutput)
                and before.call_id == behind.call_id
            ):
                return at + 1
        return at

    def is_equivalent(self, other: ChatContext) -> bool:
        """True if both hold the same items in the same order, times aside."""
        return self.to_dict(exclude_image=False) == other.to_dict(exclude_image=False)

    def to_dict(
        self,
        *,
        exclude_image: bool = True,
        exclude_timestamp: bool = True,
        exclude_function_call: bool = False,
        exclude_config_update: bool = False,
    ) -> dict[str, Any]:
        """`{"items": [...]}`, JSON-ready. `from_dict` reads it back."""
        dumps: list[dict[str, Any]] = []
        for item in self.copy(
            exclude_function_call=exclude_function_call, exclude_config_update=exclude_config_update
        ).items:
            dump = item.model_dump()
            if exclude_timestamp:
                del dump["created_at"]
            if exclude_image:
                if isinstance(item, ChatMessage):
                    dump["content"] = [part for part in dump["content"] if isinstance(part, str)]
                dump.pop("images", None)
            dumps.append(dump)
        return {"items": dumps}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The context that `to_dict` wrote. Raises `UsageError` on an unknown item type or a missing field."""
        items: list[ChatItem] = []
        for number, dump in enumerate(data.get("items", [])):
            if not isinstance(dump, Mapping):
                raise UsageError(f"ChatContext.from_dict: item {number}: expected what to_dict wrote, got {dump!r}")
            item_type = _TYPES.get(dump.get("type", ""))
            if item_type is None:
                raise UsageError(
                    f"ChatContext.from_dict: item {number} has type {dump.get('type')!r}; expected one of"
                    f" {', '.join(_TYPES)}"
                )
            values = {k: v for k, v in dump.items() if k != "type"}
            try:
                for name in ("content", "images"):
                    if isinstance(values.get(name), list):
                        values[name] = [_content(part) for part in values[name]]
                items.append(item_type(**values))
            except TypeError as error:
                raise UsageError(f"ChatContext.from_dict: item {number} ({dump['type']}): {error}") from None
        return cls(items)


def _content(part: Any) -> Any:
    if isinstance(part, dict) and part.get("type") == "image":
        return ImageContent(**{k: v for k, v in part.items() if k != "type"})
    return part


def calls_of_others(items: Sequence[ChatItem], names: Set[str]) -> set[str]:
    """The ids of calls of tools that are not among `names`. An output is its call's, whatever name it has itself."""
    calls = {item.call_id: item.name for item in items if isinstance(item, FunctionCallOutput)}
    calls.update({item.call_id: item.name for item in items if isinstance(item, FunctionCall)})
    return {call_id for call_id, name in calls.items() if name not in names}


def paired(items: Iterable[ChatItem]) -> list[ChatItem]:
    """The items without calls that have no output and outputs that have no call, which no provider takes."""
    items = list(items)
    calls = {item.call_id for item in items if isinstance(item, FunctionCall)}
    outputs = {item.call_id for item in items if isinstance(item, FunctionCallOutput)}
    whole = calls & outputs
    return [item for item in items if not isinstance(item, (FunctionCall, FunctionCallOutput)) or item.call_id in whole]


def _tool_names(tools: Iterable[Any]) -> Iterator[str]:
    for tool in tools:
        if isinstance(tool, str):
            yield tool
        elif hasattr(tool, "tools"):
            yield from _tool_names(tool.tools)
        else:
            yield tool.id
