"""That everything comes to an end, and nothing is left over."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise
from tests.core.fuzz.trace import EPSILON


class TheDeadlineLiesAhead(Promise):
    """`deadline`: when `advance` must be called next. After it was, it lies in the future (design 1)."""

    def settled(self) -> None:
        deadline = self.trace.deadline
        if deadline is not None and deadline <= self.trace.now and self.trace.fact is None:
            self.broken(f"{deadline} is not after {self.trace.now}: the driver would spin")


class IdleMeansThatNothingSounds(Promise):
    """Idle: nothing owed, queued, sounding, undelivered or handing over (design 1)."""

    def settled(self) -> None:
        if self.trace.is_idle and self.trace.line:
            self.broken(f"{self.trace.line[0].segment} sounds")

    def unfinished(self) -> Iterable[str]:
        return [f"segment {step.segment}" for step in self.trace.line]

    def at_rest(self) -> None:
        if not self.trace.is_idle:
            self.broken("nothing is due or under way, and the conversation is not idle")


class AnAbsentCallerIsNoticed(Promise):
    """A caller is away when nothing was said, owed or done for `user_away_timeout`; until something is (options)."""

    def start(self) -> None:
        self._since: float | None = None
        """Nothing has been said, owed or done since then."""
        self._is_away = False

    @on(told.UserStateChanged)
    def changed(self, notice: told.UserStateChanged) -> None:
        timeout, since = self.options.user_away_timeout, self._since
        self._is_away = notice.state == "away"
        if self._is_away and (timeout is None or since is None or self.trace.now - since < timeout - EPSILON):
            self.broken(f"{notice}, and nothing happens since {since}")

    def settled(self) -> None:
        trace, timeout = self.trace, self.options.user_away_timeout
        if timeout is None:
            return
        if not trace.is_idle or trace.is_speaking or any(True for _ in trace.live_runs):
            if self._is_away and not trace.is_speaking and not trace.is_idle:
                self.broken("the caller is away, and something is owed or done")
            self._since = None
        elif self._since is None:
            self._since = trace.now
        elif trace.fact is None and not self._is_away and trace.now > self._since + timeout + EPSILON:
            self.broken(f"nothing happens since {self._since}, and the caller is not away")


class TheEndComesInTime(Promise):
    """The call ends when somebody asked for it, within `close_grace`, and nothing is done afterwards (design 4)."""

    def start(self) -> None:
        self._by: float | None = None

    @on(f.CloseRequested)
    def requested(self, fact: f.CloseRequested) -> None:
        if not fact.drain and self._by is None:
            self._by = self.trace.now + self.options.close_grace

    @on(told.VoiceGivenUp)
    def given_up(self, notice: told.VoiceGivenUp) -> None:
        if not self.trace.is_voice_lost:
            self.broken(f"{notice}, and something was heard")

    @on(do.Close)
    def closed(self, command: do.Close) -> None:
        if not self.trace.ends:
            self.broken(f"{command}, and nobody asked for it")

    def settled(self) -> None:
        if self._by is not None and self.trace.now > self._by + EPSILON:
            self.broken(f"closing was to be over at {self._by}")

    def at_rest(self) -> None:
        if self.trace.is_ending:
            self.broken("the goodbye was said, and the session is open")

    def at_end(self) -> None:
        if not self.trace.is_closed:
            self.broken("closing was asked for, and the session is open")
