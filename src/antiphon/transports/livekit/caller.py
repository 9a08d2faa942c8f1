"""Who of a room's participants is the caller, and whether they are there: their microphone goes to the session.

The caller is the first person in the room, or the one of a given identity; agents, recorders and other machines are no
callers. A caller who hung up is gone, and so is one who was lost and has not come back within `patience` seconds. While
the connection to the server is made anew everybody seems to leave: that is no leaving.

Above: `call`, which is told when the caller has gone. Below: the events of a `livekit.rtc.Room`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any

from antiphon.transports.livekit.input import FRAME, LiveKitInput
from antiphon.transports.livekit.output import LiveKitOutput
from antiphon.transports.livekit.preconnect import PreConnect

logger = logging.getLogger("antiphon")

HUNG_UP = ("CLIENT_INITIATED", "ROOM_DELETED", "USER_REJECTED")
"""Reasons of LiveKit's for leaving after which nobody comes back."""
UNHEARD = 2.0
"""Seconds that a caller has to listen to the agent's track; then the agent speaks, whether they do or not."""


class Caller:
    """The caller of one room. `on_gone` is called once, with the reason in words, when they will not come back."""

    def __init__(
        self,
        rtc: ModuleType,
        room: Any,
        input: LiveKitInput,
        output: LiveKitOutput,
        *,
        on_gone: Callable[[str], None],
        patience: float,
    ) -> None:
        self.participant: Any = None
        """The `RemoteParticipant`, or None while there is no caller."""
        self._rtc = rtc
        self._room = room
        self._input = input
        self._output = output
        self._on_gone = on_gone
        self._patience = patience
        self._preconnect = PreConnect(room, input.sample_rate)
        self._identity: str | None = None
        self._ends_call = True
        self._reconnecting = False
        self._is_heard = False
        """The agent's track has a listener."""
        self._track = ""
        """The sid of the track that is listened to."""
        self._reading: asyncio.Task[None] | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        for name in (
            "participant_connected",
            "participant_disconnected",
            "track_published",
            "track_subscribed",
            "track_unsubscribed",
            "local_track_subscribed",
            "reconnecting",
            "reconnected",
        ):
            room.on(name, getattr(self, f"_on_{name}"))

    # -- whom to listen to

    def choose(self, identity: str | None = None, *, ends_call: bool = True) -> None:
        """Listen to this participant only; None: to the first person. `ends_call`: when they go, the call is over."""
        self._identity, self._ends_call = identity, ends_call
        if self.participant is not None and not self._is_eligible(self.participant):
            self._let_go()
        self.look()

    def look(self) -> None:
        """Find the caller among those who are there."""
        if self.participant is None:
            persons = [one for one in self._room.remote_participants.values() if self._is_eligible(one)]
            if persons:
                self._take(min(persons, key=_joined))

    async def aclose(self) -> None:
        """The call is over: nobody is listened to any more."""
        self._let_go()
        for timer in self._timers.values():
            timer.cancel()
        await self._preconnect.aclose()

    def _is_eligible(self, participant: Any) -> bool:
        if self._identity is not None:
            return bool(participant.identity == self._identity)
        kinds = self._rtc.ParticipantKind
        return participant.kind in (
            kinds.PARTICIPANT_KIND_STANDARD,
            kinds.PARTICIPANT_KIND_SIP,
            kinds.PARTICIPANT_KIND_CONNECTOR,
        )

    def _take(self, participant: Any) -> None:
        self.participant = participant
        self._stop("lost")
        for publication in participant.track_publications.values():
            self._want(publication)
            if publication.track is not None:
                self._on_track_subscribed(publication.track, publication, participant)
        if self._is_heard:
            self._output.open()
        else:
            self._later("unheard", UNHEARD, self._output.open)

    def _let_go(self) -> None:
        self.participant = None
        self._stop("unheard")
        self._stop_reading()
        self._output.hold()

    # -- their microphone

    def _is_microphone(self, publication: Any) -> bool:
        sources = self._rtc.TrackSource
        return publication.kind == self._rtc.TrackKind.KIND_AUDIO and publication.source in (
            sources.SOURCE_MICROPHONE,
            sources.SOURCE_UNKNOWN,
        )

    def _want(self, publication: Any) -> None:
        if self._is_microphone(publication) and not publication.subscribed:
            publication.set_subscribed(True)

    def _on_track_published(self, publication: Any, participant: Any) -> None:
        if participant is self.participant:
            self._want(publication)

    def _on_track_subscribed(self, track: Any, publication: Any, participant: Any) -> None:
        if participant is self.participant and self._is_microphone(publication):
            self._stop_reading()
            self._track = publication.sid
            stream = self._rtc.AudioStream(
                track, sample_rate=self._input.sample_rate, num_channels=1, frame_size_ms=round(1000 * FRAME)
            )
            is_recorded = self._preconnect.is_announced(publication)
            reading = self._read_recorded(stream, publication.sid, participant) if is_recorded else self._read(stream)
            self._reading = asyncio.create_task(reading, name="LiveKit: the caller's sound")

    def _on_track_unsubscribed(self, track: Any, publication: Any, participant: Any) -> None:
        if publication.sid == self._track:
            self._stop_reading()

    def _stop_reading(self) -> None:
        self._track = ""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    async def _read_recorded(self, stream: Any, track: str, participant: Any) -> None:
        """What was said before the agent came is heard first; the stream keeps what comes meanwhile."""
        try:
            recorded = await self._preconnect.recorded(participant.identity, track)
            if recorded:
                await self._input.hear_recorded(recorded)
        except asyncio.CancelledError:
            await stream.aclose()
            raise
        await self._read(stream)

    async def _read(self, stream: Any) -> None:
        try:
            async for event in stream:
                self._input.hear(bytes(event.frame.data))
        finally:
            # A stream that is left open comes alive again with the next caller's sound.
            await stream.aclose()

    def _on_local_track_subscribed(self, track: Any) -> None:
        self._is_heard = True
        if self.participant is not None:
            self._stop("unheard")
            self._output.open()

    # -- coming and going

    def _on_participant_connected(self, participant: Any) -> None:
        if self.participant is None and self._is_eligible(participant):
            self._take(participant)

    def _on_participant_disconnected(self, participant: Any) -> None:
        if participant is not self.participant:
            return
        self._let_go()
        if self._reconnecting:
            return
        reason = participant.disconnect_reason
        name = "" if reason is None else self._rtc.DisconnectReason.Name(reason)
        if name in HUNG_UP:
            self._gone("the caller hung up")
        else:
            logger.info("%s was lost (%s)", participant.identity, name or "no reason given")
            self._wait_for_return()

    def _on_reconnecting(self) -> None:
        self._reconnecting = True

    def _on_reconnected(self) -> None:
        self._reconnecting = False
        self.look()
        if self.participant is None:
            self._wait_for_return()
            return
        # What was asked for while the connection was made anew may be lost.
        for publication in self.participant.track_publications.values():
            self._want(publication)

    def _wait_for_return(self) -> None:
        reason = f"the caller was lost, and not back within {self._patience:g} s"
        self._later("lost", self._patience, self._gone, reason)

    def _gone(self, reason: str) -> None:
        if self._ends_call:
            self._on_gone(reason)

    # -- timers, of which there is one of a name at most

    def _later(self, name: str, seconds: float, callback: Callable[..., object], *arguments: object) -> None:
        self._stop(name)
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, callback, *arguments)

    def _stop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


def _joined(participant: Any) -> float:
    """When they came, in seconds since the epoch; those who are still on their way come last."""
    return float("inf") if participant.joined_at is None else float(participant.joined_at.timestamp())
