"""The room of one call: a name, who is heard and who hears, and an end. The only place where a line becomes a room.

Above: jobs and their sessions; shells, which make a room of whatever line their caller is on: a terminal, a socket,
WebRTC, recordings. Below: transports. A room knows nothing of sessions and jobs: `AgentSession.start(room=)` takes its
audio from here. A room of another service is this class, too: what hears its callers and speaks to them are the two
halves of its line, its keys go to `receive_dtmf`, `disconnect` is called when it ends there, and it is left when
"disconnected" is told.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from antiphon.errors import UsageError
from antiphon.events import EventEmitter
from antiphon.protocols import DtmfReceived
from antiphon.transport import AudioInput, AudioOutput, AudioProcessor
from antiphon.transports.switched import SwitchedInput

if TYPE_CHECKING:
    from antiphon.transports.mixer import MixedOutput
    from antiphon.transports.recorder import Cut, StereoRecorder

logger = logging.getLogger("antiphon")

_numbers = itertools.count(1)


class Room:
    """Where caller and agent meet.

    Callbacks registered with `on("disconnected", callback)` are called once, with the reason, when the room ends;
    those registered with `on("dtmf", callback)` with a `DtmfReceived` for each key that the caller presses.

    Args:
        name: "": a new one.
        audio_input: The caller's voice; None in a text call.
        audio_output: The caller's ear; None in a text call. It gets a mixer, so that other sound may join at any time.
        processing: Cleans the microphone. It must be prepared.
        muted: Gives the microphone a switch, see `mute`, and says how it stands at first. None: it has no switch.
        recorder: Keeps what is heard of the caller and what sounded of the agent.
    """

    def __init__(
        self,
        name: str = "",
        *,
        audio_input: AudioInput | None = None,
        audio_output: AudioOutput | None = None,
        processing: AudioProcessor | None = None,
        muted: bool | None = None,
        recorder: StereoRecorder | None = None,
    ) -> None:
        self.name = name or f"room-{next(_numbers)}"
        self._switch: SwitchedInput | None = None
        self._cuts: Sequence[Cut] = ()
        if audio_input is not None:
            if processing is not None:
                audio_input, audio_output = processing.wrap(audio_input, audio_output)
            if muted is not None:
                # Behind what cleans it, which goes on hearing the room.
                audio_input = self._switch = SwitchedInput(audio_input, off=muted)
        if recorder is not None:
            audio_input, audio_output = self._record(audio_input, audio_output, recorder)
        self._audio_input = audio_input
        self._audio_output = None if audio_output is None else _mixed(audio_output)
        self._events = EventEmitter()
        self._ended: str | None = None

    def _record(
        self, heard: AudioInput | None, spoken: AudioOutput | None, recorder: StereoRecorder
    ) -> tuple[AudioInput | None, AudioOutput | None]:
        # Here, because most programs that import a server record nothing.
        from antiphon.transports.recorded import RecordedInput, RecordedOutput

        if heard is not None:
            heard = RecordedInput(heard, recorder)
        if spoken is not None:
            spoken = recorded = RecordedOutput(spoken, recorder)
            self._cuts = recorded.cuts
        return heard, spoken

    @property
    def audio_input(self) -> AudioInput | None:
        """The caller's voice, or None in a text call."""
        return self._audio_input

    @property
    def audio_output(self) -> MixedOutput | None:
        """The caller's ear, or None in a text call: what the room was given, behind a mixer."""
        return self._audio_output

    @property
    def cuts(self) -> Sequence[Cut]:
        """What of the agent's sound was thrown away unheard, oldest first, if there is a recorder."""
        return self._cuts

    def mute(self) -> None:
        """The caller is not heard from now on. Raises `UsageError` where the microphone has no switch."""
        self._switched().switch_off()

    def unmute(self) -> None:
        """The caller is heard from now on. Raises `UsageError` where the microphone has no switch."""
        self._switched().switch_on()

    def _switched(self) -> SwitchedInput:
        if self._switch is None:
            raise UsageError(f"Room: the microphone of {self.name!r} has no switch. Make the room with muted=False.")
        return self._switch

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
        if self._ended is None:
            logger.info("room %s deleted", self.name)
        await self.disconnect("room deleted")


def _mixed(output: AudioOutput) -> MixedOutput:
    """A loudspeaker behind a mixer."""
    from antiphon.transports.mixer import MixedOutput  # loaded with the first call by voice

    return output if isinstance(output, MixedOutput) else MixedOutput(output)
