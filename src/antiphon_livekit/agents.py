"""Agents and tasks that take the options of LiveKit's, and instructions in two wordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeVar

from antiphon import agent as native
from antiphon import tasks as native_tasks
from antiphon.chat import ChatContext
from antiphon.options import NOT_GIVEN, is_given
from antiphon.protocols import ModelKind
from antiphon.toolkit.background import AsyncToolset as NativeAsyncToolset
from antiphon.tools.toolset import ToolLike
from antiphon_livekit.models import model_for
from antiphon_livekit.notices import without_effect

T = TypeVar("T")

AGENT_OPTIONS_WITHOUT_EFFECT = (
    "turn_handling",
    "turn_detection",
    "tool_handling",
    "expressive",
    "min_consecutive_speech_delay",
    "use_tts_aligned_transcript",
    "min_endpointing_delay",
    "max_endpointing_delay",
    "allow_interruptions",
    "preserve_function_call_history",
)
"""Options of `Agent` and `AgentTask` that are accepted, told, and not used: turns are the session's business here."""


class Instructions(str):
    """Instructions, with wordings of their own for calls by voice and in text. As a string: `common`."""

    audio: str
    text: str

    def __new__(cls, common: str = "", *, audio: str | None = None, text: str | None = None) -> Self:
        """The wording for voice counts where there is no common one."""
        self = super().__new__(cls, common or audio or text or "")
        self.audio = audio or str(self)
        self.text = text or str(self)
        return self

    def render(self, *, modality: str = "audio", data: dict[str, Any] | None = None) -> str:
        """The wording for "audio" or "text", with `{names}` filled in from `data`."""
        wording = self.text if modality == "text" else self.audio
        return wording.format(**data) if data else wording


class Agent(native.Agent):
    """`antiphon.Agent`, with the options of LiveKit's.

    Models may be named ("openai/gpt-4.1-mini"); `mcp_servers` become toolsets. `AGENT_OPTIONS_WITHOUT_EFFECT` are told
    once; other options are a `TypeError`.
    """

    def __init__(
        self,
        *,
        instructions: str = "",
        id: Any = None,
        chat_ctx: Any = None,
        tools: Sequence[ToolLike] | None = None,
        stt: Any = None,
        vad: Any = None,
        llm: Any = None,
        tts: Any = None,
        mcp_servers: Any = None,
        **options: Any,
    ) -> None:
        given = {name: value for name, value in options.items() if is_given(value)}
        unknown = without_effect(type(self).__name__, given, AGENT_OPTIONS_WITHOUT_EFFECT)
        if unknown:
            raise TypeError(f"{type(self).__name__}: unknown option {next(iter(unknown))!r}")
        super().__init__(
            instructions=str(instructions),
            id=id or None,
            chat_ctx=chat_ctx if isinstance(chat_ctx, ChatContext) else None,
            tools=[*(tools or ()), *mcp_toolsets(mcp_servers)],
            stt=_own("stt", stt),
            vad=_own("vad", vad),
            llm=_own("llm", llm),
            tts=_own("tts", tts),
        )


class AgentTask(Agent, native_tasks.AgentTask[T]):
    """`antiphon.AgentTask`, with the options of LiveKit's."""


class TaskGroup(native_tasks.TaskGroup):
    """`antiphon.TaskGroup`, with the options of LiveKit's."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**without_effect("TaskGroup", options, ("summarize_chat_ctx", "chat_ctx")))


class AsyncToolset(NativeAsyncToolset):
    """`antiphon.AsyncToolset`, with the options of LiveKit's."""

    def __init__(self, *, id: str, tools: Sequence[ToolLike] | None = None, **options: Any) -> None:
        super().__init__(id=id, tools=tools, **without_effect("AsyncToolset", options, ("tool_handling",)))


def mcp_toolsets(servers: Any) -> list[ToolLike]:
    """A toolset for each MCP server."""
    if not is_given(servers) or not servers:
        return []
    from antiphon.tools.mcp import MCPToolset

    return [MCPToolset(id=f"mcp_{number}", mcp_server=server) for number, server in enumerate(servers, 1)]


def _own(kind: ModelKind, given: Any) -> Any:
    """A model of an agent's own; None: the session's."""
    return None if given is NOT_GIVEN or given is None else model_for(kind, given)
