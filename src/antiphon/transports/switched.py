"""A microphone with a switch, for callers who mute themselves or talk while they hold a key."""

from __future__ import annotations

from collections.abc import Callable

from antiphon.audio import AudioFrame
from antiphon.transport import AudioInput


class SwitchedInput(AudioInput):
    """A microphone with a switch: while it is `off`, frames keep coming, and are silent.

    Put it behind what cleans the microphone, which must go on hearing the room to know its echo.
    """

    def __init__(self, input: AudioInput, *, off: bool = False) -> None:
        self.off = off
        self._input = input

    def switch_off(self) -> None:
        """The caller is not heard from the next frame on."""
        self.off = True

    def switch_on(self) -> None:
        """The caller is heard from the next frame on."""
        self.off = False

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        def switched(frame: AudioFrame) -> None:
            on_frame(AudioFrame(bytes(len(frame.data)), frame.sample_rate, frame.num_channels) if self.off else frame)

        self._input.start(switched, on_end)

    async def aclose(self) -> None:
        await self._input.aclose()
