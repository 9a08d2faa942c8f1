"""The room of one call: a name, who is heard and who hears, and an end. The only place where a line becomes a room.

Above: jobs and their sessions; shells, which make a room of whatever line their caller is on: a terminal, a socket,
WebRTC, recordings. Below: transports. A room knows nothing of sessions and jobs: `AgentSession.start(room=)` takes its
audio from here. A room of another service is this class, too: its `line` joins there, hears and speaks, and leaves when
the room ends, on either side.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from antiphon.errors import UsageError
from antiphon.events import EventEmitter
from antiphon.protocols import DtmfReceived
from antiphon.transport import AudioInput, AudioOutput, AudioProcessor
from antiphon.transports.overheard import OverheardInput
from antiphon.transports.switched import SwitchedInput

if TYPE_CHECKING:
    from antiphon.audio import AudioFrame
    from antiphon.transports.mixer import MixedOutput
    from antiphon.transports.recorder import Cut, Span, StereoRecorder

logger = logging.getLogger("antiphon")

_numbers = itertools.count(1)


OWN_EVENTS = ("disconnected", "dtmf")
"""Events that every room has. Others are those of the service."""


@dataclass
class Participant:
    """Somebody in a room in this process. Those of LiveKit's rooms are LiveKit's, and have these attributes, too."""

    identity: str
    name: str = ""
    metadata: str = ""
    sid: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    kind: int = 0
    """As LiveKit counts: 0 is a person, 3 a telephone, 4 an agent."""


class Line(Protocol):
    """A room of another service, as seen from inside: `LiveKitCall` is one."""

    @property
    def input(self) -> AudioInput: ...
    @property
    def output(self) -> AudioOutput: ...
    @property
    def rtc(self) -> Any: ...
    @property
    def participants(self) -> Mapping[str, Any]: ...
    @property
    def caller(self) -> Any: ...
    def listen(self, *, on_end: Callable[[str], None], on_key: Callable[[str], None]) -> None: ...
    def choose(self, identity: str | None = None, *, ends_call: bool = True) -> None: ...
    async def join(self) -> None: ...
    async def leave(self) -> None: ...
    async def delete(self) -> None: ...


class LineSound:
    """The sound of one line: who listens in, and what is kept of it."""

    def __init__(self, room: Room) -> None:
        self._room = weakref.ref(room)  # it is the room's: nothing waits for the garbage collector
        self.recorder: StereoRecorder | None = None
        """Where the sound of both sides is kept. None: nowhere."""
        self.cuts: Sequence[Cut] = ()
        """What of the agent's sound was thrown away unheard, oldest first, if there is a recorder."""
        self.spoken: Sequence[Span] | None = None
        """When the caller's turns sounded, where the line knows it: recordings do. None: nobody knows but the words."""

    def keep(self, recorder: StereoRecorder) -> None:
        """Keep it from now on. Before a session hears or speaks there."""
        room = self._room()
        if room is not None:
            self.cuts, self.recorder = room._wrap_in(recorder), recorder

    def listen_in(self, callback: Callable[[AudioFrame], object]) -> None:
        """Call `callback(frame)` with the caller's sound. Before a session hears there; in a text call never."""
        room = self._room()
        if room is not None:
            room._overhear(callback)

    def kept_by(self, recorder: StereoRecorder, cuts: Sequence[Cut], spoken: Sequence[Span]) -> None:
        """The line keeps its sound itself. `cuts` and `spoken` grow while the call goes on."""
        self.recorder, self.cuts, self.spoken = recorder, cuts, spoken


class Room:
    """Where caller and agent meet.

    Callbacks registered with `on("disconnected", callback)` are called once, with the reason, when the room ends;
    those registered with `on("dtmf", callback)` with a `DtmfReceived` for each key that the caller presses. A room of
    another service has that one's events, too.

    Args:
        name: "": a new one.
        line: The room of another service that this is; its audio is the room's.
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
        line: Line | None = None,
        audio_input: AudioInput | None = None,
        audio_output: AudioOutput | None = None,
        processing: AudioProcessor | None = None,
        muted: bool | None = None,
        recorder: StereoRecorder | None = None,
    ) -> None:
        self.name = name or f"room-{next(_numbers)}"
        self._line = line
        self._present = {"caller": Participant("caller")}
        self._caller_left = False
        self._joining: asyncio.Task[None] | None = None
        if line is not None:
            audio_input, audio_output = line.input, line.output
            line.listen(on_end=self._line_ended, on_key=self.receive_dtmf)
        self._switch: SwitchedInput | None = None
        if audio_input is not None:
            if processing is not None:
                audio_input, audio_output = processing.wrap(audio_input, audio_output)
            if muted is not None:
                # Behind what cleans it, which goes on hearing the room.
                audio_input = self._switch = SwitchedInput(audio_input, off=muted)
        self._audio_input = audio_input
        self._audio_output = None if audio_output is None else _mixed(audio_output)
        self._sound = LineSound(self)
        if recorder is not None:
            self._sound.keep(recorder)
        self._events = EventEmitter()
        self._ended: str | None = None

    def _wrap_in(self, recorder: StereoRecorder) -> Sequence[Cut]:
        """Have a recorder between line and session. Returns where it notes what was thrown away."""
        # Here, because most programs that import a server record nothing.
        from antiphon.transports.recorded import RecordedInput, RecordedOutput

        if self._audio_input is not None:
            self._audio_input = RecordedInput(self._audio_input, recorder)
        if self._audio_output is None:
            return ()
        recorded = RecordedOutput(self._audio_output.below, recorder)
        self._audio_output.put_below(recorded)
        return recorded.cuts

    def _overhear(self, callback: Callable[[AudioFrame], object]) -> None:
        if self._audio_input is None:
            return
        if not isinstance(self._audio_input, OverheardInput):
            self._audio_input = OverheardInput(self._audio_input)
        self._audio_input.listen_in(callback)

    @property
    def audio_input(self) -> AudioInput | None:
        """The caller's voice, or None in a text call."""
        return self._audio_input

    @property
    def audio_output(self) -> MixedOutput | None:
        """The caller's ear, or None in a text call: what the room was given, behind a mixer."""
        return self._audio_output

    @property
    def sound(self) -> LineSound:
        """What is kept of both sides' sound."""
        return self._sound

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

    @property
    def rtc(self) -> Any:
        """The service's own room, for all that is not here: of LiveKit a `livekit.rtc.Room`. None in this process."""
        return None if self._line is None else self._line.rtc

    @property
    def participants(self) -> Mapping[str, Any]:
        """Who is there beside the agent, by identity."""
        return self._present if self._line is None else self._line.participants

    @property
    def caller_left(self) -> bool:
        """True once the room has ended from the other side."""
        return self._caller_left

    def on(self, name: str, callback: Callable[..., object]) -> None:
        """Call `callback(reason)` at the event "disconnected", `callback(key)` at "dtmf"."""
        self._owner(name).on(name, callback)

    def off(self, name: str, callback: Callable[..., object]) -> None:
        """Stop calling `callback`. No effect if it is not registered."""
        self._owner(name).off(name, callback)

    def _owner(self, name: str) -> Any:
        return self._events if self._line is None or name in OWN_EVENTS else self._line.rtc

    def listen_to(self, identity: str | None, *, close_on_disconnect: bool = True) -> None:
        """Whom of several participants to listen to; None: the first person. In this process there is one caller.

        `close_on_disconnect`: the call ends when they leave.
        """
        if self._line is not None:
            self._line.choose(identity, ends_call=close_on_disconnect)

    async def connect(self) -> None:
        """Be there. Rooms in this process are joined from the start; those of a service once, however often asked.

        Raises `AntiphonError` if that cannot be done.
        """
        if self._line is not None:
            if self._joining is None:
                self._joining = asyncio.create_task(self._line.join(), name=f"joining {self.name}")
            await asyncio.shield(self._joining)

    async def wait_for_participant(self, identity: str | None = None) -> Any:
        """Be there, wait for the participant of this identity, or for the caller, and return them.

        Raises `UsageError` if the room ends before.
        """
        await self.connect()
        changed = asyncio.Event()

        def look(*_: object) -> None:
            changed.set()

        watched = ("participant_connected", "disconnected")
        for name in watched:
            self.on(name, look)
        try:
            while (found := self._participant(identity)) is None:
                if not self.connected:
                    raise UsageError(f"wait_for_participant: the room {self.name!r} has ended ({self._ended}).")
                changed.clear()
                await changed.wait()
            return found
        finally:
            for name in watched:
                self.off(name, look)

    def _participant(self, identity: str | None) -> Any:
        if identity is not None or self._line is None:
            return self.participants.get(identity or "caller")
        return self._line.caller

    def receive_dtmf(self, digit: str) -> None:
        """The caller pressed a key. For the transport that hears it."""
        self._events.emit("dtmf", DtmfReceived(digit))

    async def disconnect(self, reason: str = "disconnected") -> None:
        """End the room for everybody; one of another service goes on without the agent. Later calls do nothing."""
        self._end(reason)
        if self._line is not None:
            if self._joining is not None:
                self._joining.cancel()
                await asyncio.wait([self._joining])
            await self._line.leave()

    async def delete(self) -> None:
        """Disconnect everybody and remove the room."""
        if self._ended is None:
            if self._line is not None:
                await self._line.delete()
            logger.info("room %s deleted", self.name)
        await self.disconnect("room deleted")

    def _line_ended(self, reason: str) -> None:
        self._caller_left = self._ended is None
        self._end(reason)

    def _end(self, reason: str) -> None:
        if self._ended is None:
            self._ended = reason
            self._events.emit("disconnected", reason)


def _mixed(output: AudioOutput) -> MixedOutput:
    """A loudspeaker behind a mixer."""
    from antiphon.transports.mixer import MixedOutput  # loaded with the first call by voice

    return output if isinstance(output, MixedOutput) else MixedOutput(output)
