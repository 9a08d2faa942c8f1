"""What observers are told of the two sides: who speaks, who thinks, who is away, whether anything is still to come.

Above: the conversation, which asks after every fact. Below: the floor.
"""

from __future__ import annotations

from antiphon.core.floor import Floor
from antiphon.core.notices import AgentState, AgentStateChanged, BecameIdle, UserState, UserStateChanged


class Presence:
    """Tells of every change, once."""

    __slots__ = ("_floor", "_timeout", "_told", "_user", "away_at")

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._timeout = floor.options.user_away_timeout
        self._user: UserState = "listening"
        self._told: tuple[UserState, AgentState, bool] = (self._user, "initializing", False)
        self.away_at: float | None = None
        """When the caller will count as away; None: somebody speaks, or something is being done."""

    def observe(self) -> None:
        """After everything has settled."""
        floor = self._floor
        if floor.closing.is_over:
            return
        is_away = self._timeout is not None and self._is_away(self._timeout)
        is_away = is_away or (floor.away is not None and floor.away.has_asked)
        user: UserState = "speaking" if floor.turn.speaking else "away" if is_away else "listening"
        agent = self._agent_now()
        now = user, agent, agent == "listening" and floor.is_idle  # who speaks or thinks is not idle
        if now != self._told:
            self._tell(*now)

    def _tell(self, user: UserState, agent: AgentState, is_idle: bool) -> None:
        send, (told_user, told_agent, was_idle) = self._floor.out.send, self._told
        self._told, self._user = (user, agent, is_idle), user
        if user != told_user:
            send(UserStateChanged(user))
        if agent != told_agent:
            send(AgentStateChanged(agent))
        if is_idle and not was_idle:
            send(BecameIdle())

    def _is_away(self, timeout: float) -> bool:
        """Nobody has said or done anything for a long time, and it would be the caller's turn."""
        floor = self._floor
        asks = floor.consent.question is not None and floor.awaits_consent
        busy = (floor.is_busy or floor.top.entering is not None) and not asks
        if busy or any(run.active for run in floor.runs):
            self.away_at = None
            return False
        if self._user == "away":
            self.away_at = None
            return True
        if self.away_at is None:
            self.away_at = floor.out.now + timeout
        if floor.out.now < self.away_at:
            return False
        self.away_at = None
        return True

    def _agent_now(self) -> AgentState:
        floor = self._floor
        line, turns = floor.line, floor.debts.turns
        sounding = line.sounding if line.segments else None
        if sounding is not None and sounding.has_sounded:
            return "speaking"
        if floor.consent.question is not None and floor.awaits_consent:
            return "listening"
        if turns.owed or turns.judged is not None or floor.frames.top.speeches or sounding is not None:
            return "thinking"
        return "listening"
