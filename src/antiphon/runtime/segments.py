"""Segments: stretches of what the agent says, with the text of each, and what is known of it.

Above: `playout`, which owns them, and `responses`, which fill them. Below: captions. What is made of their text is for
`synthesis`, where it is heard, and for `reading`, where it is only read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from antiphon.runtime.captions import Caption
from antiphon.runtime.feed import TextFeed
from antiphon.runtime.port import Port
from antiphon.scope import Scoped
from antiphon.text import SpeechText
from antiphon.visible import well_formed


@dataclass(slots=True, eq=False)
class Segment:
    """A stretch of what the agent says. This one is text alone, in the words of the model."""

    port: Port
    id: int
    speech: int
    agent: str
    caption: Caption
    when_cut: Callable[[float], None] | None = None
    """Told how many seconds of its sound were heard, if not all."""
    complete: bool = field(default=False, init=False)
    """All text is here."""
    settled: bool = field(default=False, init=False)
    """The core knows all of its text."""
    given: bool = field(default=False, init=False)
    """`Play` has come."""
    failed: bool = field(default=False, init=False)
    """What was to voice or word it broke."""
    _pieces: list[str] = field(default_factory=list, init=False)

    @property
    def raw(self) -> str:
        """The text so far, as it was written, and well-formed."""
        return well_formed("".join(self._pieces))

    def push(self, piece: str) -> None:
        """Take the next piece of text."""
        self._pieces.append(piece)
        if self.caption.is_read:
            self.caption.spoken(well_formed(piece))
            self.caption.show(self.raw, self.spoken)

    # -- what becomes of it

    def settle(self) -> None:
        """The core knows all of its text: it may end."""
        self.settled = True

    def give(self) -> None:
        """It is to be played when its turn comes."""
        self.given = True

    def breaks(self) -> None:
        """What voices or words it failed."""
        self.failed = True

    # -- its text

    def end(self) -> str | None:
        """The text is over. Returns what will be spoken, or None if only `respelled` will know."""
        self.complete = True
        return self.raw.strip()

    async def respelled(self) -> str:
        """What will be spoken, once the agent's `tts_node` has read it all."""
        return self.raw.strip()

    @property
    def made(self) -> int:
        """Grows while something is made of the text, or what was made waits to be played."""
        return 0

    def give_up(self) -> None:
        """Nothing more will be made of the text."""

    def close(self) -> None:
        """Nothing more is wanted of it."""
        self.port.masks.spoke(self.id)

    def heard(self, played: float) -> str:
        """What was heard so far, by the loudspeaker's clock. Of text alone: all that is written, as it can be read."""
        return self.raw.strip()

    @property
    def spoken(self) -> str:
        """The text that is spoken, as far as it is known."""
        return self.raw.strip()

    @property
    def unsaid(self) -> str:
        """All of it as it was written, where it has words and came to an end without a sound, or a word; else ""."""
        return ""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Rendered(Segment):
    """A segment of whose text a task makes something: sound (`Voiced`), or other words (`Reworded`)."""

    feed: TextFeed = field(default_factory=TextFeed, init=False)
    """What the task reads."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _tapped: bool = field(default=False, init=False)
    """The default `tts_node` reads the text: what it is given is what is spoken."""

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Have it made by a task."""
        self._task = self.port.spawn(work, f"segment {self.id}")

    def push(self, piece: str) -> None:
        piece = well_formed(piece)
        self._pieces.append(piece)
        self.feed.push(piece)

    def tap(self, text: AsyncIterable[str]) -> AsyncGenerator[str, None]:
        """The text on its way into the default `tts_node`. What passes here is what is spoken."""
        raise NotImplementedError

    def close(self) -> None:
        Segment.close(self)
        self.feed.close()
        self._stop_making()

    def _stop_making(self) -> None:
        if self._task is not None:
            self._task.cancel()


current_segment: Scoped[Rendered] = Scoped("antiphon_segment")
"""The segment that the running `tts_node` speaks, or only words."""


async def speakable(text: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The text without what cannot be spoken."""
    spoken = SpeechText()
    async for piece in text:
        if sayable := spoken.push(piece):
            yield sayable
    if sayable := spoken.flush():
        yield sayable
