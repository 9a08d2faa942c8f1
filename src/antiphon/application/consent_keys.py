"""Keys of the telephone answer what is read back: 1 is a yes, 2 a no. They are listened to while something is asked.

Above: the announcer, which hears of questions. Below: the room of the call, if it reports keys.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial

from antiphon.application.surroundings import Surroundings
from antiphon.protocols import DtmfReceived, KeypadRoom

KEYS = {"1": True, "2": False}


class ConsentKeys:
    """The keypad, while the caller is asked."""

    def __init__(self, here: Surroundings) -> None:
        self._here = here
        self._listens: tuple[KeypadRoom, Callable[[DtmfReceived], None]] | None = None
        """To whose keys, and who is told of them."""

    def asked(self) -> None:
        """Something is read back."""
        room = self._here.session.room
        if self._listens is None and isinstance(room, KeypadRoom):
            self._listens = room, partial(ConsentKeys.pressed, weakref.proxy(self))
            room.on("dtmf", self._listens[1])

    def decided(self) -> None:
        """It is decided."""
        listens, self._listens = self._listens, None
        if listens is not None:
            listens[0].off("dtmf", listens[1])

    def pressed(self, key: DtmfReceived) -> None:
        """A key was pressed."""
        if key.digit in KEYS:
            self._here.session.answer_consent(KEYS[key.digit], text=key.digit)
