"""What a session shows of itself: its history, its agents and models, and how it stands.

Above: `AgentSession`, which is this and acts. Below: the parts of its host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.agent import Agent
from antiphon.chat import ChatContext
from antiphon.errors import SessionClosed
from antiphon.events import AgentState, UserState
from antiphon.language import Language
from antiphon.options import MustHearLine, SessionOptions
from antiphon.read_only import ReadOnlyChatContext
from antiphon.running_tool import RunningTool
from antiphon.session_api import Session, Userdata
from antiphon.speech_handle import SpeechHandle
from antiphon.tools.toolset import ToolLike

if TYPE_CHECKING:
    from antiphon.application.host import SessionHost
    from antiphon.metrics import CallMetrics
    from antiphon.runtime.driver import Driver


class Views(Session[Userdata]):
    """The part of `AgentSession` that changes nothing."""

    _host: SessionHost
    _language: Language
    _options: SessionOptions
    _driver: Driver | None = None

    @property
    def history(self) -> ChatContext:
        return ReadOnlyChatContext(self._host.transcript.items)

    @property
    def current_agent(self) -> Agent:
        agent = self._host.cast.current_agent
        if agent is None:
            raise SessionClosed("session.current_agent: the session has not been started; `await session.start(agent)`")
        return agent

    @property
    def current_speech(self) -> SpeechHandle | None:
        return self._host.handles.current

    @property
    def idle(self) -> bool:
        return self._driver is not None and self._driver.idle

    @property
    def agent_state(self) -> AgentState:
        return self._host.announcer.agent_state

    @property
    def user_state(self) -> UserState:
        return self._host.announcer.user_state

    @property
    def language(self) -> Language:
        return self._language

    @property
    def must_hear(self) -> tuple[MustHearLine, ...]:
        return self._options.must_hear if self._driver is None else self._driver.must_hear

    @property
    def tools(self) -> list[ToolLike]:
        return self._host.tables.shared

    @property
    def metrics(self) -> CallMetrics | None:
        """What the replies took so far. None unless somebody listens to `turn_metrics`: measuring costs a little."""
        return self._host.announcer.metrics

    @property
    def options(self) -> SessionOptions:
        """The options it runs with; before `start` without what follows from its models and its audio."""
        return self._options if self._driver is None else self._driver.options

    @property
    def llm(self) -> Any:
        return self._host.models.get("llm")

    @property
    def stt(self) -> Any:
        return self._host.models.get("stt")

    @property
    def tts(self) -> Any:
        return self._host.models.get("tts")

    @property
    def vad(self) -> Any:
        return self._host.models.get("vad")

    def agent_by_id(self, agent_id: str) -> Agent:
        return self._host.cast.agent(agent_id)

    @property
    def running_tools(self) -> list[RunningTool]:
        return self._host.handles.running_tools()

    @property
    def said_goodbye(self) -> bool:
        return self._driver is not None and self._driver.said_goodbye
