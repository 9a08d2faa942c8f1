"""One call in a LiveKit room, from joining to leaving.

`join` connects and publishes the agent's track at once: a participant without a track is shown to others seconds later.
From then on the events of the room decide; whoever holds the call is told once when it is over.

Above: the server, which makes a `Room` of it. Below: `livekit.rtc`, `caller`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any

from antiphon.errors import AntiphonError, UsageError
from antiphon.transports.livekit.caller import Caller
from antiphon.transports.livekit.input import LiveKitInput
from antiphon.transports.livekit.library import real_rtc
from antiphon.transports.livekit.output import LiveKitOutput

logger = logging.getLogger("antiphon")

TRACK = "roomio_audio"
"""The name of the agent's track."""
JOIN_TIMEOUT = 10.0
"""Seconds in which the room must be joined."""
LEAVE_TIMEOUT = 2.0
"""Seconds that leaving may take; a server that is gone does not answer."""
PATIENCE = 30.0
"""Seconds that a caller who was lost has to come back."""


class LiveKitCall:
    """The agent in a LiveKit room: `input` is the caller's microphone, `output` their loudspeaker.

    `rtc` is LiveKit's own `Room` for all else that a room can do: attributes, text streams, RPC, participants. Register
    handlers on it before `join`.

    Args:
        url: The server's, "wss://..." or "ws://...".
        token: Lets this participant into the room.
        auto_subscribe: Receive every track of the room; else only the caller's microphone.
        unless_agent: Do not stay where another agent of this name (`lk.agent.name`) is.
        delete: Removes the room from the server; None: who holds this token may not.
        patience: Seconds that a caller who was lost has to come back.

    Raises `UsageError` where the package `livekit` is missing.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        auto_subscribe: bool = False,
        unless_agent: str | None = None,
        delete: Callable[[], Awaitable[object]] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._library = self.load()
        self._url = url
        self._token = token
        self.auto_subscribe = auto_subscribe
        self._unless_agent = unless_agent
        self._delete = delete
        self._ended = False
        self._connecting: asyncio.Task[None] | None = None
        self._on_end: Callable[[str], None] | None = None
        self._on_key: Callable[[str], None] | None = None
        self.rtc: Any = self._library.Room()
        self.input = LiveKitInput()
        self.output = LiveKitOutput()
        self._caller = Caller(self._library, self.rtc, self.input, self.output, on_gone=self._end, patience=patience)
        self.rtc.on("disconnected", self._disconnected)
        self.rtc.on("sip_dtmf_received", self._dtmf)

    @staticmethod
    def load() -> ModuleType:
        """Load LiveKit's package: the first time takes half a second. Raises `UsageError` where it is missing."""
        try:
            return real_rtc()
        except ImportError as error:
            raise UsageError(
                f"a LiveKit room needs the package livekit ({error}). Install it with: pip install 'antiphon[livekit]'"
            ) from None

    def listen(self, *, on_end: Callable[[str], None], on_key: Callable[[str], None]) -> None:
        """Call `on_end(reason)` once when the call is over and was not left, `on_key(digit)` for each telephone key."""
        self._on_end, self._on_key = on_end, on_key

    @property
    def participants(self) -> Mapping[str, Any]:
        """Who is there beside the agent, by identity: LiveKit's own participants."""
        found: Mapping[str, Any] = self.rtc.remote_participants
        return found

    @property
    def caller(self) -> Any:
        """Whom the agent listens to: LiveKit's participant, or None while nobody is there."""
        return self._caller.participant

    def choose(self, identity: str | None = None, *, ends_call: bool = True) -> None:
        """Listen to this participant only; None: to the first person. `ends_call`: when they go, the call is over."""
        self._caller.choose(identity, ends_call=ends_call)

    @property
    def track_sid(self) -> str:
        """The id of the agent's track; "" before `join`. A reconnection changes it."""
        if not self.rtc.isconnected():
            return ""
        return next(iter(self.rtc.local_participant.track_publications), "")

    async def join(self) -> None:
        """Be in the room, and be heard there. Raises `AntiphonError` if that cannot be done."""
        rtc = self._library
        track = self.output.make_track(rtc, TRACK)
        options = rtc.RoomOptions(auto_subscribe=self.auto_subscribe)
        # A task of its own: given up half-way, it has LiveKit's library panic, which ends the process.
        self._connecting = asyncio.create_task(
            self.rtc.connect(self._url, self._token, options), name="LiveKit: connecting"
        )
        try:
            async with asyncio.timeout(JOIN_TIMEOUT):
                await asyncio.shield(self._connecting)
                self._check_alone()
                self._caller.look()
                await self.rtc.local_participant.publish_track(
                    track, rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
                )
        except (rtc.ConnectError, TimeoutError) as error:
            what = getattr(error, "message", "") or f"no answer within {JOIN_TIMEOUT:g} s"
            raise AntiphonError(f"the LiveKit room at {self._url} could not be joined: {what}") from error

    def _check_alone(self) -> None:
        agents = self._library.ParticipantKind.PARTICIPANT_KIND_AGENT
        for one in self.participants.values() if self._unless_agent is not None else ():
            if one.kind == agents and one.attributes.get("lk.agent.name", "") == self._unless_agent:
                raise AntiphonError(f"the agent {one.identity} is in the room already")

    async def leave(self) -> None:
        """Leave the room and release everything. `on_end` is not called afterwards. Later calls do nothing."""
        self._ended = True
        await self._caller.aclose()
        await self.input.aclose()
        await self.output.aclose()
        if self._connecting is not None:
            await asyncio.wait([self._connecting], timeout=JOIN_TIMEOUT)
            if self._connecting.done() and not self._connecting.cancelled():
                self._connecting.exception()  # `join` has told it
        try:
            async with asyncio.timeout(LEAVE_TIMEOUT):
                await self.rtc.disconnect()
        except TimeoutError:
            logger.info("the LiveKit server at %s did not answer when the room was left", self._url)

    async def delete(self) -> None:
        """Remove the room from the server, which disconnects everybody. Raises `UsageError` where that is not ours."""
        if self._delete is None:
            raise UsageError("delete: no API key for this LiveKit server is known. Set LIVEKIT_API_KEY and its secret.")
        await self._delete()

    def _disconnected(self, reason: int) -> None:
        name: str = self._library.DisconnectReason.Name(reason)
        self._end(f"disconnected from the room: {name.lower().replace('_', ' ')}")

    def _dtmf(self, key: Any) -> None:
        if self._on_key is not None:
            self._on_key(key.digit)

    def _end(self, reason: str) -> None:
        if not self._ended:
            self._ended = True
            self.input.end()
            if self._on_end is not None:
                self._on_end(reason)
