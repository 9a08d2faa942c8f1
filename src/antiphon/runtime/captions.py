"""Captions that an agent's `transcription_node` words in its own way.

Above: `synthesis`, which knows what was heard. Below: the node. Nobody can tell which of the node's words belong to
which of the spoken ones, so that captions keep pace by their share of the text.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any

from antiphon.options import ModelSettings
from antiphon.runtime.feed import TextFeed
from antiphon.text import word_spans

if TYPE_CHECKING:
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.host import Host

logger = logging.getLogger("antiphon")

_SETTINGS = ModelSettings()


class Rewording:
    """The captions of one segment, on their way through the agent's `transcription_node`."""

    __slots__ = ("_agent", "_host", "_segment", "_shown", "_task", "_text", "feed")

    def __init__(self, driver: Driver, host: Host, segment: int, agent: str) -> None:
        self._host = host
        self._segment = segment
        self._agent = agent
        self._text = ""
        self._shown: str | None = None
        self.feed = TextFeed()
        """What is to be spoken goes in here."""
        self._task: asyncio.Task[None] = driver.spawn(self._run(), f"captions {segment}")

    async def _run(self) -> None:
        try:
            result: Any = self._host.agent(self._agent).transcription_node(self.feed, _SETTINGS)
            if inspect.isawaitable(result):
                result = await result
            if result is None:
                return
            async for piece in result:
                self._text += piece
        except Exception as error:
            logger.exception("transcription_node of agent %r raised", self._agent)
            self._host.failed(error, self._host.agent(self._agent))

    def show(self, share: float, *, final: bool) -> None:
        """`share` (0 to 1) of the segment was heard. The last caption waits until the node has said everything."""
        if final:
            self.feed.close()
            self._task.add_done_callback(lambda _: self._host.spoken(self._segment, self._part(share), True))
        elif (part := self._part(share)) != self._shown:
            self._shown = part
            self._host.spoken(self._segment, part, False)

    def _part(self, share: float) -> str:
        if share >= 1:
            return self._text.strip()
        ends = [end for _, end in word_spans(self._text) if end <= share * len(self._text)]
        return self._text[: ends[-1]].strip() if ends else ""
