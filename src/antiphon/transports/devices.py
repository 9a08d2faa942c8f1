"""The sound devices of this machine: which there are, which are meant, and how one is opened.

Above: `terminal.py`, which makes a line of one. Below: miniaudio.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from antiphon.errors import AntiphonError, UsageError, missing_package

RATE: Final = 48_000
"""Hz that sound hardware runs at: nothing is converted on the audio thread."""
MICROPHONE_RATE: Final = 16_000
"""Hz that detectors and recognisers work at."""
PERIOD: Final = 0.02
"""Seconds in a block."""
PERIODS: Final = 3
"""Blocks that the device holds ready to sound. With two, a busy machine is heard to stutter."""


@dataclass(slots=True, frozen=True)
class SoundDevice:
    """A device of this machine."""

    number: int
    """From 1, microphones first: what `--device` takes beside the name."""
    name: str
    kind: Literal["microphone", "loudspeaker"]
    id: Any = None
    """The library's own handle."""


@dataclass(slots=True, frozen=True)
class DeviceSettings:
    """What a device is opened with. None as a device: the system's own choice."""

    sample_rate: int = RATE
    """Of the device, and of what is written to the loudspeaker."""
    microphone_rate: int = MICROPHONE_RATE
    """Of the frames that the microphone gives."""
    period: float = PERIOD
    periods: int = PERIODS
    microphone: SoundDevice | None = None
    loudspeaker: SoundDevice | None = None
    null: bool = False
    """No device: silence is recorded and nothing sounds, at the pace of a clock."""


class Device(Protocol):
    """A duplex device, as miniaudio has them."""

    def start(self, callback_generator: Any, /) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...


def list_devices(*, null: bool = False) -> list[SoundDevice]:
    """The sound devices of this machine, microphones first. Raises `AntiphonError` where there is no sound system."""
    miniaudio = _library()
    try:
        with _quiet_libraries():
            devices = miniaudio.Devices([miniaudio.Backend.NULL] if null else None)
            microphones, loudspeakers = devices.get_captures(), devices.get_playbacks()
    except miniaudio.MiniaudioError as error:
        raise AntiphonError(f"no sound system can be asked for its devices ({_reason(error)}). {_NO_CARD}") from None
    found = [SoundDevice(0, one["name"], "microphone", one["id"]) for one in microphones]
    found += [SoundDevice(0, one["name"], "loudspeaker", one["id"]) for one in loudspeakers]
    return [SoundDevice(number, one.name, one.kind, one.id) for number, one in enumerate(found, 1)]


def choose_devices(wanted: Sequence[str], devices: Sequence[SoundDevice]) -> dict[str, SoundDevice]:
    """The microphone and the loudspeaker that `wanted` names, by kind; a kind that nothing names is left out.

    Each of `wanted` is a number, or a part of a name, which then picks the microphone and the loudspeaker whose names
    contain it (a headset is both). Raises `UsageError` for what names nothing, or several devices of one kind.
    """
    chosen: dict[str, SoundDevice] = {}
    for name in wanted:
        matches = _matches(name, devices)
        if not matches:
            raise UsageError(
                f"no sound device {name!r}. There are: {_listed(devices)}. Give a number or part of a name."
            )
        for kind in ("microphone", "loudspeaker"):
            of_kind = [one for one in matches if one.kind == kind]
            if len(of_kind) > 1:
                raise UsageError(f"{name!r} fits several: {_listed(of_kind)}. Give the number of one.")
            if of_kind:
                chosen[kind] = of_kind[0]
    return chosen


def _matches(name: str, devices: Sequence[SoundDevice]) -> list[SoundDevice]:
    if name.isdecimal():
        return [one for one in devices if one.number == int(name)]
    exact = [one for one in devices if one.name.casefold() == name.casefold()]
    return exact or [one for one in devices if name.casefold() in one.name.casefold()]


def _listed(devices: Sequence[SoundDevice]) -> str:
    return ", ".join(f"{one.number} {one.name!r} ({one.kind})" for one in devices) or "none"


def device_settings(wanted: Sequence[str], *, null: bool = False) -> DeviceSettings:
    """The settings for devices by number or name, see `choose_devices`; none: the system's own."""
    if null or not wanted:
        return DeviceSettings(null=null)
    chosen = choose_devices(wanted, list_devices())
    return DeviceSettings(microphone=chosen.get("microphone"), loudspeaker=chosen.get("loudspeaker"))


def open_device(settings: DeviceSettings) -> Device:
    """Open the machine's sound device. Takes up to some hundred milliseconds.

    Raises `AntiphonError` where there is none, and `UsageError` where miniaudio is missing.
    """
    miniaudio = _library()
    signed16 = miniaudio.SampleFormat.SIGNED16
    try:
        with contextlib.nullcontext() if settings.null else _quiet_libraries():
            device: Device = miniaudio.DuplexStream(
                playback_format=signed16,
                playback_channels=1,
                capture_format=signed16,
                capture_channels=1,
                sample_rate=settings.sample_rate,
                buffersize_msec=round(1000 * settings.period),
                playback_device_id=None if settings.loudspeaker is None else settings.loudspeaker.id,
                capture_device_id=None if settings.microphone is None else settings.microphone.id,
                callback_periods=settings.periods,
                backends=[miniaudio.Backend.NULL] if settings.null else None,
                app_name="antiphon",
            )
    except miniaudio.MiniaudioError as error:
        raise AntiphonError(f"no microphone and loudspeaker could be opened ({_reason(error)}). {_NO_CARD}") from None
    return device


_NO_CARD = (
    "Plug one in and choose it with --device (--list-devices shows them), leave out --audio to type,"
    " or try it without sound with --null-audio."
)


def _library() -> Any:
    try:
        import miniaudio
    except ModuleNotFoundError:
        raise missing_package("sound in the terminal", "miniaudio", "audio") from None
    return miniaudio


def _reason(error: Exception) -> str:
    return ", ".join(str(part) for part in error.args)


@contextlib.contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Sound libraries complain on standard error, from C, about every device that they try and do not find."""
    try:
        kept = os.dup(2)
    except OSError:  # a program without standard error
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
