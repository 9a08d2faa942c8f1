"""How long the caller has waited in silence.

    HEARD --nobody is heard--> QUIET --something is owed--> WAITING --somebody is heard--> HEARD

A wait is silence with work pending. It begins with the silence where the work was there before, or is the answer to the
words that the silence follows; else with the work. What bridges it interrupts the silence and is part of the wait.

Above: the silence budget. Below: nothing.
"""

from __future__ import annotations

AN_INSTANT = 0.001
"""Seconds of sound that nobody hears."""


class Wait:
    """Since when nobody is heard, and the caller waits."""

    __slots__ = ("_caller_heard", "_free_at", "_heard_at", "_quiet_before", "_quiet_since", "_since", "began")

    def __init__(self, now: float) -> None:
        self._quiet_since: float | None = now
        """None: somebody is heard."""
        self._since: float | None = None
        self._free_at: float | None = now
        """Since when nothing is pending; None: something is."""
        self.began = now
        """When the whole wait began, what bridged it included."""
        self._caller_heard = False
        """The one who was heard last."""
        self._heard_at = now
        """When it was last quiet before somebody was heard."""
        self._quiet_before = now
        """Since when it had been quiet then, or the caller had waited."""

    @property
    def since(self) -> float | None:
        """Since when the caller waits in silence; None: they do not."""
        return None if self._free_at is not None else self._since

    def ends_now(self, now: float) -> bool:
        """Nothing is pending since this very instant, in which one thing may pass on to the next."""
        return self._free_at == now and self._since is not None

    def heard(self, now: float, *, caller: bool) -> None:
        """Somebody is heard: the caller, or else the agent."""
        if self._quiet_since is not None:
            self._heard_at = now
            self._quiet_before = self._quiet_since if self._since is None else self._since
        self._quiet_since = self._since = None
        self._caller_heard = caller

    def quiet(
        self, now: float, voice_ended_at: float | None, *, pending: bool, is_answer: bool, is_bridged: bool
    ) -> None:
        """Nobody is heard.

        `voice_ended_at`: when the caller's voice did. `pending`: something is owed. `is_answer`: it is the answer to
        words before this silence. `is_bridged`: something bridged the wait before.
        """
        fell_silent = self._quiet_since is None
        if self._quiet_since is None:
            self._quiet_since = self._end_of_sound(now, voice_ended_at)
        if not pending:
            if self._free_at is None:
                self._free_at = now
            return
        if self._free_at is not None and now > self._free_at:
            self._since = None
        self._free_at = None
        if self._since is None:
            self._since = self._quiet_since if fell_silent or is_answer or is_bridged else now
            if not is_bridged:
                self.began = self._since

    def _end_of_sound(self, now: float, voice_ended_at: float | None) -> float:
        if self._caller_heard:
            return now if voice_ended_at is None else max(voice_ended_at, self._quiet_before)
        return now if now > self._heard_at + AN_INSTANT else self._quiet_before  # it ended as it began
