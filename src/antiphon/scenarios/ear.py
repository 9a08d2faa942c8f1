"""What a caller has heard: the agent's words as they sound, replies, silence; and waking whoever waits for something.

Above: the caller's end of the line. Below: the events of a session, of which captions say what was really heard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon.events import (
    AgentOutputTranscribedEvent,
    AgentStateChangedEvent,
    ToolCallStarted,
    ToolExecutionUpdatedEvent,
)
from antiphon.session import AgentSession


@dataclass(slots=True)
class Spoken:
    """A piece of the agent's speech, as far as it was heard."""

    segment: str
    text: str
    at: float
    """When it began, in seconds of the loop's clock."""

    def goes_on(self, text: str) -> None:
        """So much was heard by now."""
        self.text = text


class Ear:
    """Hears the agent of one session. `on_change` callbacks are called with each word, reply, tool and end."""

    def __init__(self) -> None:
        self.spoken: list[Spoken] = []
        self.replies: list[float] = []
        """When the agent began to speak: what goes on without a word of the caller is one reply."""
        self.tools: list[tuple[float, str]] = []
        """(when, name) of each run of a tool that began."""
        self.is_speaking = False
        self.fell_silent = 0.0
        """When the agent was last heard, in seconds of the loop's clock."""
        self._since = (0, 0)
        """From where on what was heard is new: the piece, and how many characters of it are old."""
        self._is_answered = True
        self._callbacks: list[Callable[[], None]] = []

    def listen(self, session: AgentSession[Any]) -> None:
        """Begin to hear a session, which has not started."""
        self.fell_silent = asyncio.get_running_loop().time()
        session.on("agent_output_transcribed", self._words)
        session.on("agent_state_changed", self._state)
        session.on("tool_execution_updated", self._tool)
        session.on("close", lambda _: self._tell())

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call this whenever there is something new, and at the end of the call."""
        self._callbacks.append(callback)

    @property
    def heard(self) -> str:
        """All of it."""
        return " ".join(one.text for one in self.spoken if one.text)

    @property
    def news(self) -> str:
        """What was heard since the caller last said something."""
        at, skip = self._since
        parts = [one.text[skip if number == 0 else 0 :] for number, one in enumerate(self.spoken[at:])]
        return " ".join(part for part in parts if part).strip()

    def answered(self) -> None:
        """The caller says something: what is heard from now on is new, and belongs to another reply."""
        last = len(self.spoken) - 1
        self._since = (last, len(self.spoken[last].text)) if self.spoken else (0, 0)
        self._is_answered = True

    def _words(self, event: AgentOutputTranscribedEvent) -> None:
        if not event.transcript:
            return
        now = asyncio.get_running_loop().time()
        known = next((one for one in reversed(self.spoken) if one.segment == event.segment_id), None)
        if known is None:
            self.spoken.append(Spoken(event.segment_id, event.transcript, now))
        else:
            known.goes_on(event.transcript)
        if not self.is_speaking:
            self.fell_silent = now
        self._begins(now)
        self._tell()

    def _begins(self, now: float) -> None:
        if self._is_answered:
            self._is_answered = False
            self.replies.append(now)

    def _state(self, event: AgentStateChangedEvent) -> None:
        now = asyncio.get_running_loop().time()
        if event.new_state == "speaking":
            self._begins(now)
        elif self.is_speaking:
            self.fell_silent = now
        self.is_speaking = event.new_state == "speaking"
        self._tell()

    def _tool(self, event: ToolExecutionUpdatedEvent) -> None:
        if isinstance(event.update, ToolCallStarted):
            self.tools.append((asyncio.get_running_loop().time(), event.update.function_call.name))
            self._tell()

    def _tell(self) -> None:
        for callback in self._callbacks:
            callback()
