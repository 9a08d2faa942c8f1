"""What the runtime needs of the application above it.

The runtime performs commands that name agents, speeches and runs by number or id. The application knows the objects
behind them: it is the host, in four parts. These protocols are all that the runtime knows of it, and each performer is
given the parts that it uses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext, ChatItem, ChatMessage
from antiphon.core.commands import Adopt, Generate, Record, Speak
from antiphon.core.facts import Handoff
from antiphon.core.notices import Notice
from antiphon.events import ModelAnsweredEvent, ModelRequestEvent, TrimReason
from antiphon.options import ContextBudget, ModelSettings
from antiphon.realtime import RealtimeModel
from antiphon.runtime.run import Run
from antiphon.stt import STT
from antiphon.tools.function import CallContext
from antiphon.tools.hooks import CallHook
from antiphon.tools.toolset import ToolContext

SaySource: TypeAlias = str | AsyncIterable[str]


class AgentNodes(Protocol):
    """An agent, as far as the runtime calls it. `Agent` documents each of these."""

    @property
    def overridden(self) -> frozenset[str]:
        """Names of the hooks and nodes that the agent's class overrides."""

    @property
    def instructions(self) -> str:
        """What its model is told about its role."""

    def context_items(self) -> list[ChatItem]:
        """The agent's context. Not to be changed."""

    def request_items(self) -> list[ChatItem]:
        """A new list: the instructions as a system message, then the agent's context."""

    def stt_node(self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings) -> Any: ...
    def llm_node(self, chat_ctx: ChatContext, tools: list[Any], model_settings: ModelSettings) -> Any: ...
    def transcription_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any: ...
    def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any: ...
    def realtime_audio_output_node(self, audio: AsyncIterable[AudioFrame], model_settings: ModelSettings) -> Any: ...
    def hook(self, kind: str) -> str:
        """The name of the hook that runs now, of this kind: `on_resume` may stand in the place of `on_enter`."""

    async def on_enter(self) -> None: ...
    async def on_resume(self) -> None: ...
    async def on_exit(self) -> None: ...
    async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None: ...


class Agents(Protocol):
    """The agents of a session, by id, and what speaks, hears and thinks for them."""

    def agent(self, agent_id: str) -> AgentNodes:
        """The agent behind an id that the core knows."""

    @property
    def current_agent_id(self) -> str:
        """The id of the agent in charge."""

    def handoff_to(self, value: Any) -> Handoff | None:
        """If `value` is an agent: take it into the session, and name it to the core. None: it is not an agent."""

    def is_done(self, agent_id: str) -> bool:
        """Whether the floor was lent, the agent has it, and whoever lent it is to have it back."""

    def has_voice(self, agent_id: str) -> bool:
        """Whether what the agent says can be turned into sound."""

    def voice_of(self, agent_id: str) -> Any:
        """What speaks for the agent: its voice, or itself if its own `tts_node` does."""

    def stt_of(self, agent_id: str) -> STT | None:
        """What recognises the caller's words for the agent."""

    def realtime_of(self, agent_id: str) -> RealtimeModel | None:
        """The agent's model, if it is one that hears and speaks."""

    def one_call_at_a_time(self, agent_id: str) -> bool:
        """Whether only the first call of a response may run (`parallel_tool_calls=False`)."""

    def first_chunk_timeout(self, agent_id: str) -> float:
        """Seconds that the agent's model may take for its first chunk."""

    def llm_of(self, agent_id: str) -> Any:
        """The model that is asked for the agent; None: there is none."""

    @property
    def context_budget(self) -> ContextBudget | None:
        """How much of the talk requests carry. None: all of it."""


class Tools(Protocol):
    """What agents may call."""

    def tools_of(self, agent_id: str, *, on_enter: bool) -> ToolContext:
        """What the agent's model may call now. `on_enter`: without the tools flagged IGNORE_ON_ENTER."""

    @property
    def max_result_chars(self) -> int:
        """Longer tool results are cut, whatever the tool allows."""

    @property
    def call_hook(self) -> CallHook | None:
        """The application's code around all calls of the session."""

    def run_context(self, run: Run) -> CallContext:
        """The context object handed to the tool of a run."""

    def setup_toolsets(self, agent_id: str) -> asyncio.Future[None] | None:
        """Start the agent's toolsets. The result is done when they are ready; None: there are none."""

    def close_toolsets(self, agent_id: str) -> None:
        """The agent has ended: its toolsets close, while the conversation goes on."""


class Speeches(Protocol):
    """What is being said, and what was."""

    def generating(self, command: Generate | Adopt) -> None:
        """A response of a speech is about to be generated."""

    def speaking(self, command: Speak) -> str:
        """A text is about to be said. Returns the id of the agent whose voice says it."""

    def say_source(self, speech: int) -> tuple[SaySource, AsyncIterable[AudioFrame] | None]:
        """What the application gave to the `say()` that opened this speech: text, and ready-made sound if any."""

    def released(self, run: Run) -> None:
        """A run lost its call: its speech handle counts as interrupted for it."""

    def record(self, command: Record, raw: str | None) -> None:
        """Settle an item. `raw` is the text as the model wrote it, where it differs from what was spoken."""

    def history_items(self) -> Sequence[ChatItem]:
        """The session's history."""


class Events(Protocol):
    """Those who watch and listen."""

    def notify(self, notice: Notice) -> None:
        """Tell observers and handles."""

    def failed(self, error: BaseException, source: Any) -> None:
        """Something failed and the session goes on."""

    def listened(self, name: str) -> bool:
        """Whether anybody listens to events of this name."""

    def claimed(self, sentence: str, done: str, speech: int) -> None:
        """A model's sentence claims what no tool has done."""

    def transcribed(self, text: str, final: bool, language: str) -> None:
        """The caller's words, for those who listen to `user_input_transcribed`."""

    def spoken(self, segment: int, text: str, final: bool) -> None:
        """What was heard of a segment so far, for captions."""

    def looked_into(self, event: ModelRequestEvent | ModelAnsweredEvent) -> None:
        """A model is about to be asked, or was: for those who look into the call."""

    def trimmed(self, agent: str, why: TrimReason, left_out: int, before: int, after: int, summary: str) -> None:
        """Requests of the agent carry less of the talk than before: see `ContextTrimmedEvent`."""


@dataclass(frozen=True, slots=True)
class Host:
    """The application that a driver works for."""

    agents: Agents
    tools: Tools
    speeches: Speeches
    events: Events
