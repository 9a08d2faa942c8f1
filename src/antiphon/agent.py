"""`Agent`: instructions, tools, models and hooks of one role in a call.

Above: what users write. Below: the chat context it keeps, the runtime's default nodes. An agent knows its session by
protocol only; the session takes it in, tells the core about its changes, and calls its hooks and nodes.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterable, Sequence
from typing import Any, Protocol

from antiphon.audio import AudioFrame
from antiphon.chat import (
    INSTRUCTIONS_ID,
    AgentConfigUpdate,
    ChatContext,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
    calls_of_others,
    paired,
)
from antiphon.errors import ToolDefinitionError, UsageError
from antiphon.llm import LLM, ChatChunk
from antiphon.options import NOT_GIVEN, ModelSettings, NotGivenOr
from antiphon.protocols import ModelKind
from antiphon.read_only import ReadOnlyChatContext
from antiphon.session_api import Session
from antiphon.stt import STT, SpeechEvent
from antiphon.tools.function import Tool, find_function_tools, is_function_tool, is_raw_function_tool
from antiphon.tools.toolset import ToolContext, ToolLike, dedupe_by_id
from antiphon.tts import TTS
from antiphon.vad import VAD

_HOOKS_AND_NODES = (
    "on_enter",
    "on_resume",
    "on_exit",
    "on_user_turn_completed",
    "stt_node",
    "llm_node",
    "transcription_node",
    "tts_node",
    "realtime_audio_output_node",
)


class Membership(Protocol):
    """What an agent knows of the session it works in."""

    @property
    def session(self) -> Session[Any]: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def id(self) -> str: ...
    def model(self, kind: ModelKind, own: Any = NOT_GIVEN) -> Any: ...
    def parallel_tool_calls(self) -> NotGivenOr[bool]: ...
    def check_number_of(self, tools: Sequence[ToolLike]) -> None: ...
    async def set_up_new(self, tools: Sequence[ToolLike]) -> None: ...
    def close_absent(self, tools: Sequence[ToolLike]) -> None: ...
    def callable_tools(self) -> list[Tool]: ...
    def completed(self, outcome: Any) -> None: ...
    def changed(
        self, item: AgentConfigUpdate | None, learns: Collection[str] = (), forgets: Collection[str] = ()
    ) -> None: ...


class Agent:
    """One role in a call: what it is told, what it may do, how it listens and speaks.

    `tools` are added to the methods decorated with `@function_tool`. Models that are not given (None, or `...`) are
    the session's. `chat_ctx` is what it knows when it begins. Raises `ToolDefinitionError` if two different tools
    share a name, and where a class is defined in which a tool takes the place of a method of ours.
    """

    overridden: frozenset[str] = frozenset()
    """Names of the hooks and nodes that this class overrides."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_method_names(cls)
        cls.overridden = frozenset(name for name in _HOOKS_AND_NODES if getattr(cls, name) is not getattr(Agent, name))

    def __init__(
        self,
        *,
        instructions: str = "",
        id: str | None = None,
        chat_ctx: ChatContext | None = None,
        tools: Sequence[ToolLike] | None = None,
        stt: Any = None,
        vad: VAD | None = None,
        llm: Any = None,
        tts: Any = None,
    ) -> None:
        self._instructions = instructions
        self._id = id
        self._items: list[ChatItem] = [] if chat_ctx is None else list(chat_ctx.items)
        self._own: dict[ModelKind, Any] = {"stt": stt, "vad": vad, "llm": llm, "tts": tts}
        self._tools: list[ToolLike] = dedupe_tools([*(tools or ()), *find_function_tools(self)])
        self.tools_version = 0
        """Grows with every change of the tools."""
        self._membership: Membership | None = None
        self._instructions_item: ChatMessage | None = None
        self._goes_on = False
        ToolContext(self._tools).check()

    # -- what it is

    @property
    def given_id(self) -> str | None:
        """The id that it was given. The tools of two agents with one such id are the same, else each has its own."""
        return self._id

    @property
    def id(self) -> str:
        """Its name in the history: the one given, else the class name in snake_case. In a session it is unique."""
        if self._membership is not None:
            return self._membership.id
        return self._id or _snake_case(type(self).__name__)

    @property
    def label(self) -> str:
        """What texts call it: its class name, or its id if it is a plain `Agent`."""
        return self.id if type(self) is Agent else type(self).__name__

    @property
    def instructions(self) -> str:
        """What its model is told about its role."""
        return self._instructions

    @property
    def tools(self) -> list[Any]:
        """Tools and toolsets, those given and those defined as methods. A copy: give changes to `update_tools`."""
        return list(self._tools)

    @property
    def chat_ctx(self) -> ChatContext:
        """What it has heard, said and done, without the instructions.

        Read-only: give a changed copy to `update_chat_ctx`.
        """
        return ReadOnlyChatContext(self._items)

    @property
    def session(self) -> Session[Any]:
        """The session it works in. Raises `UsageError` while it works in none."""
        if self._membership is None:
            raise UsageError(
                f"agent {self.id!r} is in no session yet; `await session.start(agent=...)` with it, or hand off to it"
            )
        return self._membership.session

    @property
    def llm(self) -> Any:
        """Its own model, else the session's; None if there is none."""
        return self._model("llm")

    @property
    def stt(self) -> Any:
        """Its own recogniser, else the session's; None if there is none."""
        return self._model("stt")

    @property
    def tts(self) -> Any:
        """Its own voice, else the session's; None if there is none."""
        return self._model("tts")

    @property
    def vad(self) -> Any:
        """Its own voice activity detector, else the session's; None if there is none."""
        return self._model("vad")

    def _model(self, kind: ModelKind) -> Any:
        own = self._own[kind]
        if own is None or own is ...:
            return None if self._membership is None else self._membership.model(kind)
        return own if self._membership is None else self._membership.model(kind, own)

    # -- changes

    async def update_instructions(self, instructions: str) -> None:
        """Replace the instructions, from the next response on; also within the same turn."""
        if instructions == self._instructions:
            return
        self._instructions = instructions
        self._instructions_item = None
        self._changed(AgentConfigUpdate(instructions=instructions))

    async def update_tools(self, tools: Sequence[ToolLike]) -> None:
        """Replace *all* tools, those defined as methods included, from the next response on.

        Of equal ids the last is kept. While the agent is at work, toolsets that it did not have are set up first, which
        this waits for, and those that it has no more are closed.

        Raises `ToolDefinitionError` for things that are no tools, for two different tools of one name, and for more
        tools than the session's `max_tools`; nothing is changed then.
        """
        kept = dedupe_by_id(tools)
        ToolContext(kept).check()
        if self._membership is not None:
            self._membership.check_number_of(kept)
            await self._membership.set_up_new(kept)
        before, after = _names(self._tools), _names(kept)
        added = [name for name in after if name not in before]
        removed = [name for name in before if name not in after]
        self._tools = kept
        self.tools_version += 1
        item = AgentConfigUpdate(tools_added=added or None, tools_removed=removed or None) if added or removed else None
        self._changed(item)
        if self._membership is not None:
            self._membership.close_absent(kept)

    async def update_chat_ctx(self, chat_ctx: ChatContext, *, exclude_invalid_function_calls: bool = True) -> None:
        """Replace what it knows of the conversation. The session's history stays as it is.

        An agent that does not see what was done any more does not do it again before the caller was asked.

        `exclude_invalid_function_calls`: calls of tools that it does not have, and their outputs, are left out. It has
        the session's tools, too, and those that it can reach through one of its own.
        """
        items = list(chat_ctx.items)
        if exclude_invalid_function_calls:
            invalid = calls_of_others(items, self._callable_names(items))
            items = [
                i for i in items if not isinstance(i, (FunctionCall, FunctionCallOutput)) or i.call_id not in invalid
            ]
        before = _shown_calls(self._items)
        self._items = [item for item in items if item.id != INSTRUCTIONS_ID]
        after = _shown_calls(self._items)
        self._changed(None, learns=after - before, forgets=before - after)

    def _callable_names(self, items: Iterable[ChatItem]) -> set[str]:
        """Of the tools that were called in `items`, those that its model may call."""
        from antiphon.tools.proxy import find_tool  # loaded with the first call, not with the name

        if self._membership is None:
            tools = ToolContext.leaving_out_unusable(self._tools)[0].flatten()
        else:
            tools = self._membership.callable_tools()
        names = {item.name for item in items if isinstance(item, (FunctionCall, FunctionCallOutput))}
        return {name for name in names if find_tool(tools, name) is not None}

    def _changed(
        self, item: AgentConfigUpdate | None, learns: Collection[str] = (), forgets: Collection[str] = ()
    ) -> None:
        if self._membership is not None:
            self._membership.changed(item, learns, forgets)

    # -- hooks

    async def on_enter(self) -> None:
        """It takes over: the session begins, or another agent handed off to it."""

    async def on_resume(self) -> None:
        """In the place of `on_enter`: its call began in another process, in which it was in charge, and goes on here.

        What was said and done it knows already, and what it kept of itself (`load_state`).
        """

    async def on_exit(self) -> None:
        """It is about to hand off, or the session ends."""

    async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None:
        """The caller's turn is complete and about to be answered.

        The content of `new_message` may be changed; items added to `turn_ctx` are shown to the model for this reply
        only. Raise `StopResponse` to leave the turn unanswered.
        """

    # -- what it keeps of itself, for a call that goes on in another process

    def dump_state(self) -> Any:
        """What is to be kept of it with the call, as JSON data; None: nothing. Asked for when a turn or a tool ends."""
        return None

    def load_state(self, state: Any) -> None:
        """What `dump_state` gave in the process before, also in earlier versions of the class. Before `on_resume`."""

    # -- nodes: override one to change how a stage works; `Agent.default.<node>(self, ...)` is the built-in

    def stt_node(self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings) -> Any:
        """Sound to words: an async iterable of `SpeechEvent` (or of final texts), or a coroutine that returns one."""
        return Agent.default.stt_node(self, audio, model_settings)

    def llm_node(self, chat_ctx: ChatContext, tools: list[Any], model_settings: ModelSettings) -> Any:
        """History to response: an async iterable of `str` or `ChatChunk`, a coroutine of one, a `str`, or None.

        `chat_ctx` is this response's own copy, instructions first. `tools` may be added to.
        """
        return Agent.default.llm_node(self, chat_ctx, tools, model_settings)

    def transcription_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        """What is spoken to captions: an async iterable of `str`, or a coroutine of one. Asked only if somebody reads.

        What the caller hears and what the history keeps stays as it is.
        """
        return Agent.default.transcription_node(self, text, model_settings)

    def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        """Text to sound: an asynchronous iterable of `AudioFrame`, or a coroutine that returns one."""
        return Agent.default.tts_node(self, text, model_settings)

    def realtime_audio_output_node(self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings) -> Any:
        """The sound of a model that speaks by itself, on its way out."""
        return Agent.default.realtime_audio_output_node(self, audio, model_settings)

    class default:
        """The built-in nodes, to be called from nodes of your own."""

        @staticmethod
        def stt_node(
            agent: Agent, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings
        ) -> AsyncIterator[SpeechEvent]:
            """The agent's recogniser over `audio`. Raises `UsageError` if there is none."""
            stt = agent.stt
            if not isinstance(stt, STT):
                raise _missing(agent, "stt", stt)
            from antiphon.runtime import nodes  # loaded with the first call, not with the name

            return nodes.recognise(stt, audio)

        @staticmethod
        def llm_node(
            agent: Agent, chat_ctx: ChatContext, tools: list[Any], model_settings: ModelSettings
        ) -> AsyncIterable[ChatChunk]:
            """The agent's model. Raises `UsageError` if there is none."""
            llm = agent.llm
            if not isinstance(llm, LLM):
                raise _missing(agent, "llm", llm)
            membership = agent._membership
            return llm.chat(
                chat_ctx=chat_ctx,
                tools=tools,
                tool_choice=model_settings.tool_choice,
                parallel_tool_calls=NOT_GIVEN if membership is None else membership.parallel_tool_calls(),
            )

        @staticmethod
        def transcription_node(
            agent: Agent, text: AsyncIterable[str], model_settings: ModelSettings
        ) -> AsyncIterable[str]:
            """The text as it is."""
            return text

        @staticmethod
        def tts_node(
            agent: Agent, text: AsyncIterable[str], model_settings: ModelSettings
        ) -> AsyncIterator[AudioFrame]:
            """Markup out, and the agent's voice.

            What passes here is what counts as said. Raises `UsageError` if there is no voice.
            """
            tts = agent.tts
            if not isinstance(tts, TTS):
                raise _missing(agent, "tts", tts)
            from antiphon.runtime import nodes

            return nodes.speak(tts, text)

        @staticmethod
        def realtime_audio_output_node(
            agent: Agent, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings
        ) -> AsyncIterable[AudioFrame]:
            """The sound as it is."""
            return audio

    # -- for the session

    def set_membership(self, membership: Membership | None) -> None:
        """It works in a session from now on, or (None) in none. Raises `UsageError` if it works in another one."""
        if membership is not None and self._membership is not None and not self._membership.is_over:
            raise UsageError(f"agent {self.id!r} works in another session already; make one agent for each session")
        self._membership = membership
        if known := _shown_calls(self._items):  # it was given the context of another agent
            self._changed(None, learns=known)

    def resumes(self) -> None:
        """It was in charge when its process ended: `on_resume` runs next, in the place of `on_enter`."""
        self._goes_on = True

    def hook(self, kind: str) -> str:
        """The name of the hook that runs now, of this kind."""
        if kind == "on_enter" and self._goes_on:
            self._goes_on = False
            return "on_resume"
        return kind

    def context_items(self) -> list[ChatItem]:
        """What it knows, without the instructions. Not to be changed."""
        return self._items

    def request_items(self) -> list[ChatItem]:
        """A new list: the instructions as a system message, then what it knows."""
        if not self._instructions:
            return list(self._items)
        if self._instructions_item is None:
            self._instructions_item = ChatMessage(
                role="system", content=self._instructions, id=INSTRUCTIONS_ID, created_at=0.0
            )
        return [self._instructions_item, *self._items]

    def append_item(self, item: ChatItem) -> None:
        """An item of the conversation that it is in charge of."""
        self._items.append(item)

    def merge_context(self, chat_ctx: ChatContext) -> None:
        """Take over the messages of a finished task, each where its time belongs."""
        merged = ChatContext(self._items).merge(
            chat_ctx, exclude_function_call=True, exclude_instructions=True, exclude_config_update=True
        )
        self._items = merged.items
        self._changed(None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"


def _check_method_names(cls: type[Agent]) -> None:
    """Raise `ToolDefinitionError` if a tool that the class defines stands where a method of ours is called."""
    for name, attribute in vars(cls).items():
        if not _is_tool(attribute):
            continue
        for base in cls.__mro__[1:]:
            hidden = vars(base).get(name)
            if hidden is not None and not _is_tool(hidden) and base.__module__.startswith("antiphon"):
                raise ToolDefinitionError(
                    f"{cls.__qualname__}: the tool {name!r} takes the place of {base.__name__}.{name}, which the"
                    " session calls. Name the method differently; what the model calls it may stay:"
                    f" function_tool(name={name!r})."
                )


def _is_tool(attribute: object) -> bool:
    return is_function_tool(attribute) or is_raw_function_tool(attribute)


def dedupe_tools(tools: Iterable[ToolLike]) -> list[ToolLike]:
    """The same tool twice is one tool; two different ones of one name are an error."""
    kept = list(dict.fromkeys(tools))
    ToolContext(kept)
    return kept


def _names(tools: Sequence[ToolLike]) -> dict[str, object]:
    """Names of what the model may call, without what cannot be offered."""
    return dict(ToolContext.leaving_out_unusable(tools)[0].function_tools)


def _missing(agent: Agent, kind: str, found: Any) -> UsageError:
    if found is None or found is ...:
        return UsageError(
            f"agent {agent.id!r} has no {kind}: give one to the agent or the session,"
            f" AgentSession({kind}=...) or session.start(..., {kind}=...)"
        )
    return UsageError(
        f"agent {agent.id!r}: {kind} is a {type(found).__name__}, not one of Antiphon's {kind.upper()} models"
    )


def _snake_case(name: str) -> str:
    return (
        "default_agent"
        if name == "Agent"
        else re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    )


def _shown_calls(items: Iterable[ChatItem]) -> set[str]:
    """The ids of the calls that stand there with what came of them."""
    return {item.call_id for item in paired(items) if isinstance(item, FunctionCall)}
