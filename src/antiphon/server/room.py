"""The room of one call, in this process: a name, the caller's audio, and an end.

A room knows nothing of sessions and jobs. `AgentSession.start(room=)` takes its audio from here; a text call's room
has none. Its loudspeaker mixes, so that background sound may join the call at any time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from antiphon.events import EventEmitter
from antiphon.protocols import DtmfReceived
from antiphon.transport import AudioInput, AudioOutput
from antiphon.transports.mixer import MixedOutput

_numbers = itertools.count(1)


class Room:
    """Where caller and agent meet.

    Callbacks registered with `on("disconnected", callback)` are called once, with the reason, when the room ends;
    those registered with `on("dtmf", callback)` with a `DtmfReceived` for each key that the caller presses.
    """

    def __init__(
        self, name: str = "", *, audio_input: AudioInput | None = None, audio_output: AudioOutput | None = None
    ) -> None:
        self.name = name or f"room-{next(_numbers)}"
        self._audio_input = audio_input
        self._audio_output: MixedOutput | None
        if audio_output is None or isinstance(audio_output, MixedOutput):
            self._audio_output = audio_output
        else:
            self._audio_output = MixedOutput(audio_output)
        self._events = EventEmitter()
        self._ended: str | None = None

    @property
    def audio_input(self) -> AudioInput | None:
        """The caller's voice, or None in a text call."""
        return self._audio_input

    @property
    def audio_output(self) -> MixedOutput | None:
        """The caller's ear, or None in a text call: what the room was given, behind a mixer."""
        return self._audio_output

    @property
    def connected(self) -> bool:
        """False once the room was disconnected or deleted."""
        return self._ended is None

    def on(self, name: str, callback: Callable[..., object]) -> None:
        """Call `callback(reason)` at the event "disconnected", `callback(key)` at "dtmf"."""
        self._events.on(name, callback)

    def off(self, name: str, callback: Callable[..., object]) -> None:
        """Stop calling `callback`. No effect if it is not registered."""
        self._events.off(name, callback)

    def receive_dtmf(self, digit: str) -> None:
        """The caller pressed a key. For the transport that hears it."""
        self._events.emit("dtmf", DtmfReceived(digit))

    async def disconnect(self, reason: str = "disconnected") -> None:
        """End the room for everybody. Later calls do nothing."""
        if self._ended is None:
            self._ended = reason
            self._events.emit("disconnected", reason)

    async def delete(self) -> None:
        """Disconnect everybody and remove the room."""
        await self.disconnect("room deleted")
