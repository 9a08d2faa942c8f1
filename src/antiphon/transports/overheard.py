"""A microphone that others hear, too: each frame goes to them first, and then to whoever has started it."""

from __future__ import annotations

from collections.abc import Callable

from antiphon.audio import AudioFrame
from antiphon.transport import AudioInput


class OverheardInput(AudioInput):
    """`input`, and whoever listens in."""

    def __init__(self, input: AudioInput) -> None:
        self._input = input
        self._listeners: tuple[Callable[[AudioFrame], object], ...] = ()

    def listen_in(self, callback: Callable[[AudioFrame], object]) -> None:
        """Call `callback(frame)` with each frame, before the session has it."""
        self._listeners = (*self._listeners, callback)

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        def heard(frame: AudioFrame) -> None:
            for listener in self._listeners:
                listener(frame)
            on_frame(frame)

        self._input.start(heard, on_end)

    async def aclose(self) -> None:
        self._listeners = ()
        await self._input.aclose()
