"""How loud something is, as people see it: levels that jump up and fall slowly, and bars to show them.

Levels are in dBFS: 0 is as loud as digital sound gets. No terminal here, and no clock: time is counted in sound.
"""

from __future__ import annotations

from typing import Final

from rich.text import Text

from antiphon.audio import AudioFrame

FLOOR: Final = -60.0
"""dBFS at the left end of a bar: a quiet room."""
FALL: Final = 40.0
"""dB that a level falls in a second of silence."""
HOT: Final = -3.0
"""dBFS from which sound is about to be cut off."""

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


class Level:
    """How loud a stream of sound is now."""

    def __init__(self) -> None:
        self.decibels = FLOOR
        self.ever = False
        """True once there was any sound at all, be it noise: a microphone that is off gives zeros."""

    def hear(self, frame: AudioFrame) -> None:
        """The next piece of the stream."""
        import numpy as np

        samples = frame.to_float32()
        if not samples.size:
            return
        self.decibels = max(FLOOR, self.decibels - FALL * frame.duration)
        power = float(np.mean(np.square(samples)))
        if power > 0:
            self.ever = True
            self.decibels = max(self.decibels, 10 * float(np.log10(power)) + 3.0)  # a full sine is 0 dBFS

    @property
    def share(self) -> float:
        """0 for a quiet room to 1 for full scale."""
        return min(1.0, max(0.0, 1 - self.decibels / FLOOR))


def bar(share: float, width: int, style: str, *, hot: bool = False) -> Text:
    """A bar of `width` cells, filled to `share` to an eighth of a cell, on a faint line."""
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    filled = "█" * full + (_EIGHTHS[rest] if rest else "")
    text = Text(filled, style=style)
    if hot and filled:
        text.stylize("red", max(0, round(width * (1 - HOT / FLOOR))))
    text.append("─" * (width - len(filled)), style="bright_black")
    return text
