"""The links of a session: one for each agent whose model hears and speaks for itself.

Above: the driver, `generation`, and `recognition`, which hands over the caller's sound. Below: `link`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from antiphon.audio import AudioFrame
from antiphon.chat import ChatMessage, FunctionCallOutput
from antiphon.core.commands import Adopt, Record
from antiphon.errors import ProviderConnectionError
from antiphon.runtime.callers_voice import CallersVoice
from antiphon.runtime.host import Agents, Events, Tools
from antiphon.runtime.port import Port
from antiphon.runtime.realtime.link import Link
from antiphon.runtime.realtime.turn_sound import TurnSound
from antiphon.runtime.responses import Response
from antiphon.runtime.tool_calls import ToolCalls


class Realtime:
    """Performs `CommitAudio`, `Adopt`, `Decline`, and `Generate` for agents that have a link."""

    def __init__(
        self, port: Port, agents: Agents, tools: Tools, events: Events, voice: CallersVoice, calls: ToolCalls
    ) -> None:
        self._port = port
        self._agents = agents
        self._tools = tools
        self._events = events
        self._voice = voice
        self._calls = calls
        self._links: dict[str, Link] = {}
        self._retired: list[Link] = []
        """Links of agents that have left, which wait for words."""
        self._current: Link | None = None
        self._ended = False

    @cached_property
    def _turn_sound(self) -> TurnSound:
        return TurnSound()

    def link(self, agent: str) -> Link | None:
        """The agent's link to its model; None if its model is none that hears and speaks."""
        link = self._links.get(agent)
        if link is None and not self._ended and (model := self._agents.realtime_of(agent)) is not None:
            link = self._links[agent] = Link(
                self._port,
                self._agents,
                self._tools,
                self._events,
                self._voice,
                self._calls,
                self._turn_sound,
                agent,
                model,
            )
        return link

    def listen_for(self, agent: str, staying: Collection[str] = ()) -> None:
        """The caller speaks to this agent now. Links of agents that are neither this one nor `staying` are closed.

        A turn that has begun goes on with this agent.
        """
        before, self._current = self._current, self.link(agent)
        if before is not None and before is not self._current:
            before.turns.leave()
        if self._current is not None:
            self._current.open()
            if before is not self._current:
                self._current.turns.listen()
        for other in [other for other in self._links if other != agent and other not in staying]:
            retired = self._links.pop(other)
            self._retired = [link for link in self._retired if not link.closed]
            self._retired.append(retired)
            retired.retire()

    def push(self, frame: AudioFrame) -> None:
        """The caller's sound."""
        if self._current is not None:
            # Where only the model can tell what is voice, all that it misses may be.
            self._turn_sound.push(frame, speaking=self._voice.is_heard or not self._current.is_open)
            self._current.turns.heard(frame)

    def clear_audio(self) -> None:
        """Forget what the caller said since their last turn."""
        self._turn_sound.clear()
        if self._current is not None:
            self._current.turns.forget_sound()
            self._voice.model_noticed(speaking=False)

    # -- commands

    def commit_audio(self, turn: int) -> None:
        """The caller's turn is over."""
        if self._current is not None:
            self._current.turns.commit(turn)
            self._turn_sound.clear()

    def adopt(self, response: Response, command: Adopt) -> None:
        """What the model began is what the speech says."""
        link = self._links.get(command.agent)
        if link is None:
            response.fail(ProviderConnectionError("the model's session has ended"))
        else:
            link.adopt(response, command.response)

    def decline(self, number: int) -> None:
        """What the model began is not wanted."""
        for link in self._links.values():
            link.decline(number)

    def recorded(self, command: Record) -> None:
        """An item of an agent's context is settled."""
        link = self._links.get(command.agent)
        if link is None:
            return
        if isinstance(command.item, FunctionCallOutput):
            link.sync.output_known(command.item)
        elif isinstance(command.item, ChatMessage):
            link.sync.recorded(command.item)

    def speech_done(self, speech: int) -> None:
        """A speech is over: calls of it that have no output by now get one soon."""
        for link in self._links.values():
            link.sync.speech_done(speech)

    async def words_of(self, turn: int) -> str:
        """The words of a turn that the model heard; "" if they do not come."""
        return "" if self._current is None else await self._current.turns.words_of(turn)

    def halt(self) -> None:
        """The session is over."""
        self._ended = True
        for link in (*self._links.values(), *self._retired):
            link.close()
        self._links.clear()
        self._retired.clear()
        self._current = None
