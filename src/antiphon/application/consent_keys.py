"""Keys of the telephone answer what is read back: 1 is a yes, 2 a no. They are listened to while something is asked.

Above: the announcer, which hears of questions. Below: the room of the call, if it reports keys.
"""

from __future__ import annotations

import weakref

from antiphon.application.surroundings import Surroundings
from antiphon.protocols import DtmfReceived, KeypadRoom

KEYS = {"1": True, "2": False}


class ConsentKeys:
    """The keypad, while the caller is asked."""

    def __init__(self, here: Surroundings) -> None:
        self._here = here
        self._room: KeypadRoom | None = None
        me = weakref.proxy(self)
        self._on_key = lambda key: me.pressed(key)

    def asked(self) -> None:
        """Something is read back."""
        room = self._here.session.room
        if self._room is None and isinstance(room, KeypadRoom):
            self._room = room
            room.on("dtmf", self._on_key)

    def decided(self) -> None:
        """It is decided."""
        room, self._room = self._room, None
        if room is not None:
            room.off("dtmf", self._on_key)

    def pressed(self, key: DtmfReceived) -> None:
        """A key was pressed."""
        if key.digit in KEYS:
            self._here.session.answer_consent(KEYS[key.digit], text=key.digit)
