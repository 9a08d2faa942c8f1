"""How long to wait for more.

Silence ends a turn; how much of it depends on what a detector thinks of the words so far.
"""

from __future__ import annotations

from antiphon.options import Endpointing


def delay(endpointing: Endpointing, probability: float | None) -> float:
    """Seconds of silence after which a turn is over.

    `probability` is the detector's opinion that the turn is complete; None when nobody has one, and then
    `min_delay` applies.
    """
    if probability is None or probability >= endpointing.unlikely:
        return endpointing.min_delay
    return endpointing.max_delay
