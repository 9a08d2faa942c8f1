"""What is being said, and what was: the runtime's `Speeches`.

Above: the driver. Below: handles and the transcript.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence

from antiphon.application.cast import Cast
from antiphon.application.handles import Handles
from antiphon.application.surroundings import Surroundings
from antiphon.application.transcript import Transcript
from antiphon.audio import AudioFrame
from antiphon.chat import ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core.commands import Adopt, Generate, Record, Speak, message_id
from antiphon.runtime.host import SaySource
from antiphon.runtime.run import Run


class Speeches:
    """The speeches of one session."""

    def __init__(self, here: Surroundings, cast: Cast, handles: Handles, transcript: Transcript) -> None:
        self._here = here
        self._cast = cast
        self._handles = handles
        self._transcript = transcript

    def say_source(self, speech: int) -> tuple[SaySource, AsyncIterable[AudioFrame] | None]:
        """What the `say()` that opened this speech says."""
        return self._handles.take_source(speech)

    def generating(self, command: Generate | Adopt) -> None:
        """A response of a speech is about to be generated."""
        handle = self._handles.speaks(
            command.speech, message_id(command.segment, self._here.running.port.mark), f"gen_{command.gen}"
        )
        handle.step_begins()

    def speaking(self, command: Speak) -> str:
        """A text of a speech is about to be said. Returns the id of the agent that says it."""
        self._handles.speaks(command.speech, message_id(command.segment, self._here.running.port.mark))
        return self._cast.current_agent_id

    def released(self, run: Run) -> None:
        """The caller spoke over a run."""
        self._handles.released(run)

    def record(self, command: Record, raw: str | None) -> None:
        """Settle an item."""
        item = command.item
        if not command.carried:
            if isinstance(item, ChatMessage):
                handle = self._handles.of_item(item.id)
            elif isinstance(item, FunctionCall):
                handle = self._handles.of_item(item.group_id)
            else:
                handle = self._handles.current if isinstance(item, FunctionCallOutput) else None
            if handle is not None:
                handle.add_item(item)
        self._transcript.record(command, raw)

    def history_items(self) -> Sequence[ChatItem]:
        """The session's history."""
        return self._transcript.items
