"""What an agent's `tts_node` makes of a text that is read and not heard: a call in text has no loudspeaker.

Above: `playout`, which owns the segments. Below: the node. The words that would be spoken are those that are shown and
recorded. They pass the default `tts_node` (`speak`), which hands them to no voice here; where the node never calls it,
they are the text that it was given. Sound that the node makes by itself is not asked for further than its first frame.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.options import ModelSettings
from antiphon.runtime.segments import Rendered, current_segment, speakable
from antiphon.streams import closing
from antiphon.text import words
from antiphon.tts import TTS, SynthesizedAudio

_SETTINGS = ModelSettings()


class Unvoiced(TTS):
    """The voice of an agent that has none: a node that wants to tell it how to speak may, and nothing comes of it."""

    sample_rate = 24_000

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        for _ in ():
            yield SynthesizedAudio(AudioFrame.silence(0.0, self.sample_rate))

    def update_options(self, **options: Any) -> None:
        """Nobody hears it."""


_UNVOICED = Unvoiced()


def unvoiced() -> TTS | None:
    """What stands for the voice of an agent without one, inside a `tts_node` whose words are only read; else None."""
    return _UNVOICED if isinstance(current_segment.get(), Reworded) else None


@dataclass(slots=True, eq=False)
class Reworded(Rendered):
    """A segment of text alone, in the words that the agent's `tts_node` would have spoken."""

    _spoken: str = field(default="", init=False)
    _worded: asyncio.Future[None] = field(init=False)

    def __post_init__(self) -> None:
        self._worded = self.port.loop.create_future()

    def end(self) -> str | None:
        self.complete = True
        self.feed.close()
        return self.spoken if self._worded.done() else None

    async def respelled(self) -> str:
        await asyncio.shield(self._worded)
        return self.spoken

    def heard(self, played: float) -> str:
        return self.spoken

    @property
    def spoken(self) -> str:
        return self._spoken.strip()

    @property
    def made(self) -> int:
        return len(self._spoken)

    def give_up(self) -> None:
        self._stop_making()
        if not self._worded.done():
            self._worded.set_result(None)

    @property
    def unsaid(self) -> str:
        raw = self.raw.strip()
        return raw if self._worded.done() and not self.spoken and words(raw) else ""

    async def tap(self, text: AsyncIterable[str]) -> AsyncGenerator[str, None]:
        self._tapped = True
        async for piece in speakable(text):
            self._note(piece)
            yield piece

    def _note(self, text: str) -> None:
        self._spoken += text
        if self.caption.is_read:
            self.caption.spoken(text)
            self.caption.show(self.spoken, self.spoken)

    async def run(self, node: Any) -> None:
        """Have the `tts_node` word the text. Raises what it raises, once all its words are known."""
        current_segment.set(self)
        try:
            source: Any = node(self.feed, _SETTINGS)
            if inspect.isawaitable(source):
                source = await source
            if source is not None:
                async with closing(source):
                    async for _ in source:
                        if not self._tapped:
                            break
            if not self._tapped:
                async for _ in self.feed:
                    pass
                self._note(self.raw)
        finally:
            if not self._worded.done():  # given up
                self._worded.set_result(None)
