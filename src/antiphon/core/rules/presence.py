"""What observers are told of the two sides: who speaks, who thinks, who is away, whether anything is still to come.

Above: the conversation, which asks after every fact. Below: the floor.
"""

from __future__ import annotations

from antiphon.core.floor import Floor
from antiphon.core.notices import AgentState, AgentStateChanged, BecameIdle, UserState, UserStateChanged


class Presence:
    """Tells of every change, once."""

    __slots__ = ("_agent", "_floor", "_user", "_was_idle", "away_at")

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._agent: AgentState = "initializing"
        self._user: UserState = "listening"
        self._was_idle = False
        self.away_at: float | None = None
        """When the caller will count as away; None: somebody speaks, or something is being done."""

    def observe(self) -> None:
        """After everything has settled."""
        floor = self._floor
        if floor.closing.is_over:
            return
        is_away = self._is_away()
        user: UserState = "speaking" if floor.turn.speaking else "away" if is_away else "listening"
        if user != self._user:
            self._user = user
            floor.out.send(UserStateChanged(user))
        agent = self._agent_now()
        if agent != self._agent:
            self._agent = agent
            floor.out.send(AgentStateChanged(agent))
        idle = agent == "listening" and floor.is_idle  # who speaks or thinks is not
        if idle and not self._was_idle:
            floor.out.send(BecameIdle())
        self._was_idle = idle

    def _is_away(self) -> bool:
        """Nobody has said or done anything for a long time, and it would be the caller's turn."""
        floor, timeout = self._floor, self._floor.options.user_away_timeout
        if timeout is None:
            return False
        if floor.is_busy or floor.top.entering is not None or any(run.active for run in floor.runs):
            self.away_at = None
            return False
        if self._user == "away":
            return True
        if self.away_at is None:
            self.away_at = floor.out.now + timeout
        if floor.out.now < self.away_at:
            return False
        self.away_at = None
        return True

    def _agent_now(self) -> AgentState:
        floor, turns = self._floor, self._floor.debts.turns
        if floor.line.sounding is not None:
            return "speaking"
        if turns.owed or turns.judged is not None or floor.top.speeches:
            return "thinking"
        return "listening"
