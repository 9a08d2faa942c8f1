"""The session that a link has with its model, or is about to have.

Above: the parts of a link. Below: `RealtimeSession`.
"""

from __future__ import annotations

from collections.abc import Callable

from antiphon.realtime import RealtimeSession


class Wire:
    """`begin` is called when something is to be told and there is nobody to tell."""

    __slots__ = ("_begin", "_held", "session")

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin
        self._held: list[Callable[[RealtimeSession], None]] = []
        """What a session that is opened anew is to be told once it is there."""
        self.session: RealtimeSession | None = None
        """The one that is open; None while there is none."""

    @property
    def is_open(self) -> bool:
        """There is a session, which hears what is pushed."""
        return self.session is not None

    def opened(self, session: RealtimeSession) -> None:
        """A session is there: it hears what was to be told."""
        self.session = session
        held, self._held = self._held, []
        for tell in held:
            tell(session)

    def cut(self) -> None:
        """There is no session any more."""
        self.session = None

    def tell(self, what: Callable[[RealtimeSession], None]) -> None:
        """Do something with the session, or as soon as there is one."""
        if self.session is not None:
            what(self.session)
        else:
            self._held.append(what)
            self._begin()
