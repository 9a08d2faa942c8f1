"""Captions that an agent's `transcription_node` words in its own way.

Above: `synthesis`, which knows what was heard. Below: the node. Nobody can tell which of the node's words belong to
which of the spoken ones, so that captions keep pace by their share of the text.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Any

from antiphon.errors import AntiphonError, pass_on
from antiphon.options import ModelSettings
from antiphon.runtime.feed import TextFeed
from antiphon.runtime.host import Agents, Events
from antiphon.runtime.port import Port
from antiphon.text import word_spans
from antiphon.timer import Timer

logger = logging.getLogger("antiphon")

PATIENCE = 2.5
"""Seconds that the node has for its last words, once all of the text is there and was heard."""

_SETTINGS = ModelSettings()


class Captions:
    """Those of a session."""

    def __init__(self, port: Port, agents: Agents, events: Events) -> None:
        self._port = port
        self._agents = agents
        self._events = events

    @property
    def are_read(self) -> bool:
        """Whether anybody reads along."""
        return self._events.listened("agent_output_transcribed")

    def of(self, segment: int, agent: str) -> Caption:
        """That of a segment whose text begins. It goes through the agent's own `transcription_node`, if it has one."""
        rewording: Rewording | None = None
        if is_read := self.are_read:
            if "transcription_node" in self._agents.agent(agent).overridden:
                rewording = Rewording(self._port, self._agents, self._events, segment, agent)
        return Caption(self._events, segment, rewording, is_read=is_read)


class Caption:
    """Of one segment. `is_read`: somebody reads along from its beginning."""

    __slots__ = ("_events", "_rewording", "_segment", "_shown", "is_read")

    def __init__(self, events: Events, segment: int, rewording: Rewording | None, *, is_read: bool) -> None:
        self._events = events
        self._segment = segment
        self._rewording = rewording
        self._shown = ""
        self.is_read = is_read

    def spoken(self, piece: str) -> None:
        """The next piece of what is to be spoken."""
        if self._rewording is not None:
            self._rewording.feed.push(piece)

    def show(self, heard: str, spoken: str, *, final: bool = False) -> None:
        """So much was heard of what is spoken: tell those who read along, when there is something new."""
        if self._rewording is not None:
            self._rewording.show(len(heard) / len(spoken) if spoken else 1.0, final=final)
        elif final or heard != self._shown:
            self._shown = heard
            self._events.spoken(self._segment, heard, final)


class Rewording:
    """The captions of one segment, on their way through the agent's `transcription_node`.

    If the node raises, or does not end when all is there, the captions are what it said until then: what was spoken may
    hold what it is there to hide.
    """

    __slots__ = ("_agent", "_agents", "_events", "_port", "_segment", "_shown", "_task", "_text", "feed")

    def __init__(self, port: Port, agents: Agents, events: Events, segment: int, agent: str) -> None:
        self._port = port
        self._agents = agents
        self._events = events
        self._segment = segment
        self._agent = agent
        self._text = ""
        self._shown: str | None = None
        self.feed = TextFeed()
        """What is to be spoken goes in here."""
        self._task: asyncio.Task[None] = port.spawn(self._run(), f"captions {segment}")

    async def _run(self) -> None:
        try:
            result: Any = self._agents.agent(self._agent).transcription_node(self.feed, _SETTINGS)
            if inspect.isawaitable(result):
                result = await result
            if result is None:
                return
            async for piece in result:
                self._text += piece
        except BaseException as error:
            pass_on(error)
            logger.error("transcription_node of agent %r: %s", self._agent, error, exc_info=error)
            self._events.failed(error, self._agents.agent(self._agent))

    def show(self, share: float, *, final: bool) -> None:
        """`share` (0 to 1) of the segment was heard. The last caption waits for the node's end, not for long."""
        if final:
            self.feed.close()
            timer = Timer(self._port.loop, self._port.loop.time() + PATIENCE, self._give_up)
            self._task.add_done_callback(lambda _: self._show_last(timer, share))
        elif (part := self._part(share)) != self._shown:
            self._shown = part
            self._events.spoken(self._segment, part, False)

    def _show_last(self, timer: Timer, share: float) -> None:
        timer.cancel()
        self._events.spoken(self._segment, self._part(share), True)

    def _give_up(self) -> None:
        error = AntiphonError(
            f"agent {self._agent!r}: its transcription_node did not end within {PATIENCE:g} s after the text, and was"
            " given up. Have it yield what there is, and end with the text."
        )
        logger.warning("%s", error)
        self._events.failed(error, self._agents.agent(self._agent))
        self._task.cancel()

    def _part(self, share: float) -> str:
        if share >= 1:
            return self._text.strip()
        ends = [end for _, end in word_spans(self._text) if end <= share * len(self._text)]
        return self._text[: ends[-1]].strip() if ends else ""
