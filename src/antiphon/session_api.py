"""`Session`: what hooks, tools and toolsets may know of the call they serve, and do in it.

Above: agents, run contexts, toolkit and tasks, which name a session by this class only; `AgentSession` keeps what is
promised here. Below: speech handles and runs of tools, as values.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Awaitable
from contextlib import AbstractContextManager
from typing import Any, Generic

from typing_extensions import TypeVar

from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext
from antiphon.events import AgentState, CloseReason, EventEmitter, UserState
from antiphon.language import Language
from antiphon.options import NOT_GIVEN, MustHearLine, NotGivenOr, ToolChoice
from antiphon.running_tool import RunningTool
from antiphon.scope import Scoped
from antiphon.secret import Secret
from antiphon.speech_handle import SpeechHandle
from antiphon.tools.toolset import ToolLike

Userdata = TypeVar("Userdata", default=Any)

LINGER = 2.0
"""Seconds after a spoken goodbye in which the caller may still add something."""


class Session(EventEmitter, ABC, Generic[Userdata]):
    """A running session. Every method may be called from a synchronous tool's thread, too.

    Methods that speak or change something raise `SessionClosed` when the session does not run.
    """

    # -- what it is

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """True between `start` and the end."""

    @property
    @abstractmethod
    def call_id(self) -> str:
        """What its call is known by in logs, traces and stores, among all calls that there ever were."""

    @property
    @abstractmethod
    def room(self) -> Any:
        """The room of the call; None outside of one. Inside a job it is known before `start`."""

    @property
    @abstractmethod
    def userdata(self) -> Userdata:
        """Whatever the application keeps with the session. A dict, until something else is stored."""

    @userdata.setter
    def userdata(self, value: Userdata) -> None: ...

    @property
    @abstractmethod
    def history(self) -> ChatContext:
        """Everything that was said and done in the call, over all agents. Read-only, and always up to date."""

    @property
    @abstractmethod
    def current_agent(self) -> Any:
        """The agent in charge. Raises `SessionClosed` before `start`."""

    @abstractmethod
    def agent_by_id(self, agent_id: str) -> Any:
        """The agent that goes by this id in the history."""

    @property
    @abstractmethod
    def current_speech(self) -> SpeechHandle | None:
        """What the agent says, or prepares to say; None if nothing."""

    @property
    @abstractmethod
    def running_tools(self) -> list[RunningTool]:
        """The tools at work now, oldest first, those of calls that the caller spoke over included."""

    @property
    @abstractmethod
    def idle(self) -> bool:
        """Whether nobody speaks and nothing is owed, queued or being done, now: what `wait_for_idle` waits for."""

    @property
    @abstractmethod
    def agent_state(self) -> AgentState:
        """initializing, listening, thinking, speaking or idle."""

    @property
    @abstractmethod
    def user_state(self) -> UserState:
        """listening, speaking, or away: silent for `user_away_timeout` seconds while nothing was said to them."""

    @property
    @abstractmethod
    def language(self) -> Language:
        """The caller's language: which words are no turn, how people spell, and what the session says itself."""

    @property
    @abstractmethod
    def must_hear(self) -> tuple[MustHearLine, ...]:
        """What the caller must hear: each line, when it was heard, and how often it was begun."""

    @property
    @abstractmethod
    def tools(self) -> list[ToolLike]:
        """The session's own tools, which every agent has. A copy."""

    @property
    @abstractmethod
    def llm(self) -> Any:
        """The session's language model, or None."""

    @property
    @abstractmethod
    def stt(self) -> Any:
        """The session's recogniser, or None."""

    @property
    @abstractmethod
    def tts(self) -> Any:
        """The session's voice, or None."""

    @property
    @abstractmethod
    def vad(self) -> Any:
        """The session's voice activity detector, or None."""

    # -- speaking

    @abstractmethod
    def sensitive(self) -> AbstractContextManager[None]:
        """While the block runs the caller is asked for what nobody may know: a card number, a PIN.

        What they say or enter appears nowhere, neither as words nor as sound; the model reads its digits as
        placeholders, which the tools that it calls get back.
        """

    @abstractmethod
    def keep_secret(self, value: str, kind: str) -> Secret[str]:
        """A value that came without a model (keys, a form), as a `Secret`: from here on it is masked wherever it is.

        Its text, `[kind_1]`, may be said: the agent's voice says the value, and nothing else has it.
        """

    @abstractmethod
    def say(
        self,
        text: str | AsyncIterable[str],
        *,
        audio: AsyncIterable[AudioFrame] | None = None,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
        add_to_chat_ctx: bool = True,
    ) -> SpeechHandle:
        """Say `text` as soon as what is being said has ended.

        Returns at once; await the handle to wait until it was played.

        `audio`: ready-made sound for the text. `allow_interruptions=False`: the caller cannot cut it; what they say
        over it is answered afterwards.
        """

    @abstractmethod
    def say_filler(self, text: str) -> SpeechHandle:
        """Say a line that bridges a wait: before anything else that waits to be said.

        It ends at a word as soon as something better can be heard, and stays out of the history: the model would take
        to saying it itself. Without a loudspeaker nothing is said.
        """

    @abstractmethod
    def generate_reply(
        self,
        *,
        user_input: str | None = None,
        instructions: str | None = None,
        tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
    ) -> SpeechHandle:
        """Have the model speak. Returns at once; await the handle to wait until it was played.

        `user_input` is put into the history as the caller's words first. `instructions` count for this reply, beside
        the agent's own. Inside a tool the model may not call tools, unless `tool_choice` says so.
        """

    @abstractmethod
    def interrupt(self, *, force: bool = False) -> asyncio.Future[None]:
        """Stop everything that is being said and may be interrupted (with `force`: everything), now.

        The result is done already.
        """

    # -- the caller

    @abstractmethod
    def submit_user_turn(self, text: str) -> None:
        """A turn that the caller typed: it is answered like a spoken one."""

    @abstractmethod
    def answer_consent(self, yes: bool, *, text: str | None = None, call_id: str | None = None) -> None:
        """The caller answers by a key or a button what is read back of a call (`confirm=`).

        A yes counts only once all arguments were heard, a no at any time. Without effect where nothing is asked, or
        where the call that is asked about is not `call_id`, if that is given: a button of a page may be pressed late.
        `text` stands in the history for it; not given, the language's own word.
        """

    @abstractmethod
    def commit_user_turn(self) -> None:
        """The caller's turn ends now, whatever the silence (push-to-talk).

        It is answered as soon as the recogniser has settled its last words, or has not in `transcript_timeout` seconds.
        """

    @abstractmethod
    def clear_user_turn(self) -> None:
        """Forget what the caller said since their last turn."""

    # -- who is in charge

    @abstractmethod
    def update_agent(self, agent: Any) -> None:
        """Put another agent in charge, as soon as the one in charge has finished speaking."""

    @abstractmethod
    async def update_models(
        self,
        *,
        stt: Any = NOT_GIVEN,
        llm: Any = NOT_GIVEN,
        tts: Any = NOT_GIVEN,
        language: NotGivenOr[Language | str] = NOT_GIVEN,
    ) -> None:
        """Exchange the session's models, or its language, in mid-call. No word is lost by it.

        What the caller is saying is written down by the recogniser that heard it begin, what is being said ends in its
        voice, and the next request, with the same history, goes to the new model. `language`: what the session says
        itself, and understands without a model, is in it from here on; lines that the application gave stay. A model
        that cannot be prepared is a `ProviderError`, and nothing is changed; one that fails before it has done anything
        gives way to the one before, which an `error` event says. Agents with models of their own keep those.
        Raises `UsageError` for a kind that the session began without, and for realtime models.
        """

    @abstractmethod
    def lend_floor(self, agent: Any, until: asyncio.Future[Any]) -> Awaitable[None]:
        """Have `agent` in charge, in the place of the one whose tool or hook calls this, while the result is awaited.

        It is in charge until `until` is done, and the caller's turns are its own meanwhile; the tool is suspended. Its
        messages are in the other agent's context afterwards. `until` is cancelled when nobody will talk to it any more.
        `AgentTask` takes the floor so. Raises `UsageError` outside of tools, and of the hooks `on_enter` and `on_exit`,
        of this session; `ToolError` in a call that was dropped.
        """

    # -- waiting, and the end

    @abstractmethod
    async def wait_for_idle(self) -> None:
        """Until nobody speaks and nothing is owed, queued or being done. Tools in the background do not count.

        A tool that is not in the background would wait for itself: that raises `UsageError`.
        """

    @abstractmethod
    async def drain(self) -> None:
        """Until what was begun is finished. The same as `wait_for_idle`, and nothing on a session that has ended."""

    @abstractmethod
    def end_call(self, *, goodbye: SpeechHandle | None = None, linger: float = LINGER) -> None:
        """End the call when the goodbye was heard, and `linger` seconds later where somebody listens.

        A caller who says more than a goodbye over it or in that time is answered, and the call goes on. `goodbye`: the
        speech that says it; inside a tool the one that the call belongs to, with the reply to its result, else what is
        being said. Raises `ToolError` in a call that was dropped: the caller has gone on already.
        """

    @property
    @abstractmethod
    def said_goodbye(self) -> bool:
        """The call ends, or has ended, by `end_call`, and the caller had nothing to add."""

    @abstractmethod
    def shutdown(self, *, drain: bool = True, reason: CloseReason = CloseReason.USER_INITIATED) -> None:
        """End the session, without waiting for it.

        `drain`: what is being said and done is finished first, and what tools that write came to is told; they have
        `write_grace` seconds. So they have, unsaid, where the reason is that the caller left, or that the job is over.
        May be called twice.
        """

    @abstractmethod
    async def aclose(self, *, reason: CloseReason = CloseReason.USER_INITIATED) -> None:
        """End the session now and wait for it, at most a little over `close_grace` seconds. May be called twice.

        Where the reason is that the caller left, or that the job is over, tools that write are waited for, at most
        `write_grace` seconds.
        """


current_session: Scoped[Session[Any]] = Scoped("antiphon_session")
"""The session whose tool, hook or node the running code is; None outside of all."""
