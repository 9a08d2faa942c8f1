"""Where a call's audio comes from and goes to.

A transport has two halves. `AudioInput` hands each microphone frame to one callback, synchronously, at the pace of
real time. `AudioOutput` takes frames for the loudspeaker and knows how much of them was played. Neither knows
about turns or models. A `Transport` opens and closes both for one call, and is found by name (`named_transport`). An
`AudioProcessor` stands between a line and its session; `RoomOptions` name it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from antiphon.audio import AudioFrame
from antiphon.discovery import load
from antiphon.errors import UsageError
from antiphon.streams import Closable


class AudioInput(ABC):
    """A microphone, a telephone line, a recording."""

    @abstractmethod
    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        """Begin to deliver frames, on the event loop. `on_end` is called once when no more will come."""

    async def aclose(self) -> None:
        """Stop delivering. No callback is called afterwards."""


class AudioOutput(ABC):
    """A loudspeaker. It plays what is written, in order, at the pace of real time.

    The session writes at most `lead` seconds ahead of what was played, so that little is lost when the caller
    interrupts.
    """

    sample_rate: int = 24_000
    """Hz that it wants; the session resamples to it."""
    lead: float = 0.2
    """Seconds that may be written ahead of what is played."""

    def start(self) -> None:
        """The call begins."""

    @abstractmethod
    def write(self, frame: AudioFrame) -> None:
        """Queue a mono frame of `sample_rate` for playing. Never blocks."""

    @property
    @abstractmethod
    def played(self) -> float:
        """Seconds of written audio that have been played since the start. Never decreases.

        Audio thrown away by `clear` does not count as played. In the end it is all that was written and not thrown
        away, to the sample: sessions find their place in a text by it.
        """

    @abstractmethod
    def pause(self) -> None:
        """Stop sounding at once, keep what is queued. No effect when paused already."""

    @abstractmethod
    def resume(self) -> None:
        """Go on where `pause` stopped."""

    @abstractmethod
    def clear(self) -> float:
        """Throw away what is queued and not played. Returns its length in seconds. Ends a pause.

        The account is settled by it: what was written until now was played or thrown away, and what still sounds at a
        far end while the order is on its way is not counted any more.
        """

    async def aclose(self) -> None:
        """The call is over: what is queued is thrown away, and nothing sounds any more, whatever is called."""


class Transport(Closable):
    """The line of one call: both its halves, which carry sound while it is entered.

    ```python
    async with named_transport("terminal") as line:
        await session.start(agent, input=line.input, output=line.output)
        await line.wait_failed()
    ```
    """

    input: AudioInput
    """The caller's voice. It ends when the far end hangs up, which ends the call."""
    output: AudioOutput
    """The caller's ear."""

    async def __aenter__(self) -> Self:
        """Open the line. Raises `AntiphonError` where that is impossible, with the remedy."""
        return self

    async def aclose(self) -> None:
        """Hang up, and release what the line holds. May be called twice."""
        await self.input.aclose()
        await self.output.aclose()

    async def wait_failed(self) -> None:
        """Wait until the line fails, for ever if it does not. Raises `AntiphonError` with the reason."""
        await asyncio.get_running_loop().create_future()


def named_transport(name: str) -> Transport:
    """The transport called `name`: "terminal", or one of an installed package, "mine" or "mine/address".

    What comes behind the first slash is for the transport. Transports are the entries of `antiphon.transports`
    (`antiphon.discovery`). Raises `UsageError` for an unknown name, and what the transport raises for its address.
    """
    kind, _, address = name.partition("/")
    make = load("antiphon.transports", kind)
    transport = make(address) if address else make()
    if not isinstance(transport, Transport):
        raise UsageError(
            f"antiphon.transports: expected {kind!r} to make an antiphon.transport.Transport, got"
            f" {type(transport).__name__}. Name a subclass of it, or a function that returns one."
        )
    return transport


def check_frame(frame: AudioFrame, sample_rate: int, taker: str) -> None:
    """Raise `UsageError` that names who was to take it if a frame is not mono at `sample_rate` Hz."""
    if frame.sample_rate != sample_rate or frame.num_channels != 1:
        raise UsageError(
            f"{taker}: expected mono at {sample_rate} Hz, got {frame.num_channels} channels at {frame.sample_rate} Hz."
            " Resample it, for example by antiphon.audio.Resampler."
        )


class AudioProcessor(ABC):
    """Changes the sound between a line and its session: takes echo and noise out, for example."""

    async def prepare(self) -> None:
        """Load what is needed, before the caller is heard. Raises `UsageError` where something is missing."""

    @abstractmethod
    def wrap(self, input: AudioInput, output: AudioOutput | None) -> tuple[AudioInput, AudioOutput | None]:
        """The two halves to use in the place of these, which keep the same promises. Called once for a line."""


@dataclass(slots=True, frozen=True)
class AudioInputOptions:
    """How the caller is heard."""

    noise_cancellation: AudioProcessor | None = None
    """What cleans the microphone, for example `AudioProcessing()`; None: it is heard as it is."""


@dataclass(slots=True, frozen=True)
class RoomInputOptions(AudioInputOptions):
    """The same, for `session.start(room_input_options=)`."""


@dataclass(slots=True, frozen=True)
class RoomOptions:
    """How a session uses its room: `session.start(room_options=)`."""

    audio_input: AudioInputOptions = field(default_factory=AudioInputOptions)
