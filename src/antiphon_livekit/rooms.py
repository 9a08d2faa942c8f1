"""The room of a call as agent files see it, for programs that have no `livekit.rtc`.

Above: `JobContext.room`. Below: the server's `Room`, whose audio and end these share. There is one participant beside
the agent, the caller, and nobody to send data to.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, Self

from antiphon import audio
from antiphon.errors import UsageError
from antiphon.events import EventEmitter
from antiphon.server.room import OWN_EVENTS
from antiphon.server.room import Room as NativeRoom
from antiphon.transport import AudioInput, AudioOutput
from antiphon_livekit.notices import notice


class AudioFrame(audio.AudioFrame):
    """A piece of sound, made as LiveKit's is. `samples_per_channel` follows from the data."""

    def __init__(
        self,
        data: bytes | bytearray | memoryview,
        sample_rate: int,
        num_channels: int = 1,
        samples_per_channel: int | None = None,
        **_: Any,
    ) -> None:
        super().__init__(bytes(data), sample_rate, num_channels)

    @classmethod
    def create(cls, sample_rate: int, num_channels: int, samples_per_channel: int) -> Self:
        """Silence."""
        return cls(bytes(2 * num_channels * samples_per_channel), sample_rate, num_channels)


class ParticipantKind(enum.IntEnum):
    """What joins a room."""

    PARTICIPANT_KIND_STANDARD = 0
    PARTICIPANT_KIND_INGRESS = 1
    PARTICIPANT_KIND_EGRESS = 2
    PARTICIPANT_KIND_SIP = 3
    PARTICIPANT_KIND_AGENT = 4


class ConnectionState(enum.IntEnum):
    """Whether a room is open."""

    CONN_DISCONNECTED = 0
    CONN_CONNECTED = 1
    CONN_RECONNECTING = 2


@dataclass
class Participant:
    """Somebody in a room."""

    identity: str
    name: str = ""
    metadata: str = ""
    sid: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    kind: ParticipantKind = ParticipantKind.PARTICIPANT_KIND_STANDARD
    track_publications: dict[str, Any] = field(default_factory=dict)


@dataclass
class RemoteParticipant(Participant):
    """The caller."""


@dataclass
class LocalParticipant(Participant):
    """The agent. What it would send goes nowhere, which is told once."""

    async def publish_data(self, payload: Any, **_: Any) -> None:
        """Nobody listens."""
        _nobody("publish_data")

    async def send_text(self, text: str, **_: Any) -> None:
        """Nobody listens."""
        _nobody("send_text")

    async def set_attributes(self, attributes: dict[str, str]) -> None:
        """Kept."""
        self.attributes.update(attributes)

    async def set_metadata(self, metadata: str) -> None:
        """Kept."""
        self.metadata = metadata

    def register_rpc_method(self, name: str, handler: Any = None) -> Any:
        """Nobody calls it. A decorator, too."""
        _nobody("register_rpc_method")
        return handler if handler is not None else lambda function: function

    async def perform_rpc(self, *, destination_identity: str, method: str, payload: str, **_: Any) -> str:
        """Raises `RuntimeError`: there is nobody who could answer."""
        raise RuntimeError(f"perform_rpc({method!r}): a room in this process has no client that answers")

    async def publish_dtmf(self, *, code: int, digit: str) -> None:
        """Nobody listens."""
        _nobody("publish_dtmf")


def _nobody(what: str) -> None:
    notice(f"room.local_participant.{what}: no effect here; a room in this process has no other clients")


@dataclass
class RpcInvocationData:
    """A client's call of a method."""

    request_id: str
    caller_identity: str
    payload: str
    response_timeout: float


class RpcError(Exception):
    """What a method tells the client that called it."""

    def __init__(self, code: int, message: str, data: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Room:
    """The room of a call, with LiveKit's attributes. One of a LiveKit server has all that LiveKit's own has."""

    def __init__(self, native: NativeRoom | None = None) -> None:
        self._native = native or NativeRoom()
        self._events = EventEmitter()
        self._agent = LocalParticipant("agent", kind=ParticipantKind.PARTICIPANT_KIND_AGENT)
        self._caller = RemoteParticipant("caller")
        for name in ("disconnected", "dtmf"):
            self._native.on(name, partial(self._events.emit, name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._native.rtc is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._native.rtc, name)

    @property
    def local_participant(self) -> Any:
        """The agent."""
        rtc = self._native.rtc
        return rtc.local_participant if rtc is not None and rtc.isconnected() else self._agent

    @property
    def remote_participants(self) -> Mapping[str, Any]:
        """Everybody else, by identity."""
        return {"caller": self._caller} if self._native.rtc is None else self._native.participants

    @property
    def metadata(self) -> str:
        """What is kept with the room."""
        return "" if self._native.rtc is None else str(self._native.rtc.metadata)

    @property
    def sid(self) -> Any:
        """Its id; of a LiveKit server's room it is awaited."""
        return self._native.name if self._native.rtc is None else self._native.rtc.sid

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def audio_input(self) -> AudioInput | None:
        """The caller's voice, or None in a text call."""
        return self._native.audio_input

    @property
    def audio_output(self) -> AudioOutput | None:
        """The caller's ear, or None in a text call."""
        return self._native.audio_output

    @property
    def connected(self) -> bool:
        """False once the room was disconnected or deleted."""
        return self._native.connected

    @property
    def connection_state(self) -> ConnectionState:
        """Whether it is open."""
        return ConnectionState.CONN_CONNECTED if self.connected else ConnectionState.CONN_DISCONNECTED

    def isconnected(self) -> bool:
        """The same as `connected`."""
        return self.connected

    def on(self, name: str, callback: Callable[..., Any] | None = None) -> Any:
        """Call `callback` at the event `name`. In this process there is "disconnected" of LiveKit's events."""
        return self._emitter(name).on(name, callback)

    def once(self, name: str, callback: Callable[..., Any] | None = None) -> Any:
        """Like `on`, for the next event only."""
        return self._emitter(name).once(name, callback)

    def off(self, name: str, callback: Callable[..., Any]) -> None:
        """Stop calling `callback`."""
        self._emitter(name).off(name, callback)

    def _emitter(self, name: str) -> Any:
        rtc = self._native.rtc
        return self._events if rtc is None or name in OWN_EVENTS else rtc

    def register_text_stream_handler(self, topic: str, handler: Any) -> None:
        """Call `handler(reader, identity)` for each text stream; in this process nobody sends any."""
        if self._native.rtc is not None:
            self._native.rtc.register_text_stream_handler(topic, handler)
            return
        notice("room.register_text_stream_handler: no effect here")

    def register_byte_stream_handler(self, topic: str, handler: Any) -> None:
        """Call `handler(reader, identity)` for each byte stream; in this process nobody sends any."""
        if self._native.rtc is not None:
            self._native.rtc.register_byte_stream_handler(topic, handler)
            return
        notice("room.register_byte_stream_handler: no effect here")

    async def disconnect(self) -> None:
        """End the call."""
        await self._native.disconnect()


# -- asking the server


@dataclass
class DeleteRoomRequest:
    """Which room to delete. There is one."""

    room: str = ""


class RoomService:
    """What of the server's room service there is: the end of this call."""

    def __init__(self, room: NativeRoom) -> None:
        self._room = room

    async def delete_room(self, request: DeleteRoomRequest) -> None:
        """Disconnect everybody and remove the room, which ends the call."""
        await self._room.delete()

    def __getattr__(self, name: str) -> NoReturn:
        raise _no_server(f"room.{name}")


class ServerAPI:
    """`JobContext.api`: `room.delete_room()` works, everything else is a `UsageError`."""

    def __init__(self, room: NativeRoom) -> None:
        self.room = RoomService(room)

    def __getattr__(self, name: str) -> NoReturn:
        raise _no_server(name)


def _no_server(what: str) -> UsageError:
    return UsageError(
        f"JobContext.api.{what}: no LiveKit server is behind this call. End it with ctx.shutdown() or"
        " ctx.delete_room(); telephone calls, egress and other rooms are not available."
    )
