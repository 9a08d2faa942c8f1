"""A voice of which nothing is heard: it is tried again for a while, then the call ends.

    HEARD --a segment was lost--> LOST --nothing else is said--> tried again --lost once more, for too long--> given up
    LOST --anything sounds--> HEARD

Nobody can tell the caller that nobody can be heard. A line that is dead for good is worse than one that ends.

Above: the rules in `conversation`. Below: nothing.
"""

from __future__ import annotations

RETRY = 3.0
"""Seconds after a loss in which somebody else may have something to say, before the voice is tried with a line."""


class DeadVoice:
    """Since when everything that was to be heard is lost."""

    __slots__ = ("retry_at", "since")

    def __init__(self) -> None:
        self.since: float | None = None
        """When the first of these segments was lost; None: the voice is heard, for all we know."""
        self.retry_at = 0.0
        """When to try it with a line of the session's own."""

    def lost(self, now: float) -> float:
        """Nothing was heard of a segment that had a text. Returns for how long nothing is heard by now."""
        if self.since is None:
            self.since = now
        self.retry_at = now + RETRY
        return now - self.since

    def heard(self) -> None:
        """Something sounds."""
        self.since = None

    def deadline(self, now: float) -> float | None:
        """When to try it again."""
        return self.retry_at if self.since is not None and self.retry_at > now else None
