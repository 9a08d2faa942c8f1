"""A caller made of recordings: plays one recorded turn after the other into a call, as a person would take turns.

`read_recording` turns any WAV file into a frame; `Cue` decides, from what the line sounds like, when the next turn
begins; `RecordedCaller` is the `AudioInput` that performs it at the pace of real time. What the agent does reaches it
only as sound (`recorder`, `output`) and as one question: is it still busy?
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioInput
from antiphon.transports.recorder import RecordingOutput, Span, StereoRecorder

FRAME = 0.02
"""Seconds in a frame."""


def read_recording(path: Path, sample_rate: int = 16_000) -> AudioFrame:
    """A recording as one mono frame at `sample_rate`: 8 to 48 kHz, channels averaged.

    Raises `UsageError`, one line long, if there is no such file or it is not such audio.
    """
    import numpy as np
    import soundfile
    import soxr

    if not path.is_file():
        raise UsageError(f"no such recording: {path}. Give the path of a WAV file.")
    try:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        detail = str(getattr(error, "error_string", error)).rstrip(".")
        raise UsageError(f"{path} cannot be read as audio: {detail}. Give a WAV file, 8 to 48 kHz.") from None
    if not 8_000 <= rate <= 48_000:
        raise UsageError(f"{path}: expected 8 to 48 kHz, got {rate} Hz. Convert it, for example to 16 kHz.")
    if not len(samples):
        raise UsageError(f"{path} holds no sound. Give a recording with at least one word in it.")
    mono = np.clip(np.nan_to_num(samples), -1.0, 1.0).mean(axis=1)
    return AudioFrame.from_float32(soxr.resample(mono, rate, sample_rate, quality="HQ"), sample_rate)


@dataclass(slots=True, frozen=True)
class Hearing:
    """What a caller knows of the agent at one moment. Seconds since the call began."""

    now: float
    busy: bool
    """The agent has something to say or to do."""
    sounding: bool
    """Agent audio is being played."""
    onset: float | None
    """When the agent was first heard since the cue was made, or None."""


class Cue:
    """When to begin a turn that waits since `since`.

    - With `barge_in`: that many seconds after the agent is first heard.
    - Else when the agent was heard and has finished, `gap` seconds ago. `answer=False` (the first turn) does not wait
      to
      hear anything.
    - In any case after `patience` seconds in which the agent was silent.
    """

    def __init__(
        self,
        since: float,
        *,
        answer: bool = True,
        barge_in: float | None = None,
        gap: float = 0.3,
        patience: float = 10.0,
    ) -> None:
        self.since = since
        self._answer = answer
        self._barge_in = barge_in
        self._gap = gap
        self._patience = patience
        self._silent_since = since
        self._free_since: float | None = None

    def begins(self, heard: Hearing) -> float | None:
        """The time at which the turn begins, if that is now or has passed; else None. Ask with growing `now`."""
        if heard.sounding:
            self._silent_since = heard.now
        if heard.sounding or heard.busy:
            self._free_since = None
        elif self._free_since is None:
            self._free_since = heard.now
        if self._barge_in is not None and heard.onset is not None:
            at = heard.onset + self._barge_in
            return at if at <= heard.now else None
        if heard.now - self._silent_since >= self._patience:
            return heard.now
        if self._barge_in is not None or self._free_since is None or (self._answer and heard.onset is None):
            return None
        return heard.now if heard.now - self._free_since >= self._gap else None


class RecordedCaller(AudioInput):
    """A caller who says `turns`, one after the other, and then hangs up.

    Between turns there is silence on the line, never a hole. `barge_in` names turns (from 1) that begin so many seconds
    after the first agent audio that follows the turn before. `busy` tells whether the agent has something to say or
    to do; `stays` whether the caller, who has said everything, remains on the line all the same.
    """

    def __init__(
        self,
        turns: Sequence[AudioFrame],
        recorder: StereoRecorder,
        output: RecordingOutput,
        *,
        busy: Callable[[], bool],
        stays: Callable[[], bool] = lambda: False,
        barge_in: Mapping[int, float] | None = None,
        patience: float = 10.0,
    ) -> None:
        self.spoken: list[Span] = []
        """When each turn sounded, as far as the call has come."""
        self._turns = list(turns)
        self._recorder = recorder
        self._output = output
        self._busy = busy
        self._stays = stays
        self._barge_in = dict(barge_in or {})
        self._patience = patience
        self._rate = recorder.caller_rate
        self._task: asyncio.Task[None] | None = None
        for number in self._barge_in:
            if not 1 <= number <= len(self._turns):
                raise UsageError(
                    f"barge-in: expected a turn from 1 to {len(self._turns)}, got {number}. Name a recorded turn."
                )
        for turn in self._turns:
            if (turn.sample_rate, turn.num_channels) != (self._rate, 1):
                raise UsageError(f"RecordedCaller: expected mono turns at {self._rate} Hz. Use read_recording().")

    @property
    def started(self) -> bool:
        """True once somebody listens to the caller."""
        return self._task is not None

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        self._recorder.begin()
        self._task = asyncio.create_task(self._call(on_frame, on_end), name="recorded caller")

    async def hung_up(self) -> None:
        """Wait until the caller has hung up, or was closed. Raises what broke the line, if anything did."""
        if self._task is not None:
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.result()

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _call(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        size = round(FRAME * self._rate)
        pending = b""  # what is left to say of the turn that has begun
        number = 0  # turns begun
        cue = self._cue(number)
        frame = round(self._recorder.now() / FRAME)
        while True:
            frame += 1
            # A microphone hands a frame over when it is full; after a stall of the loop the frames come in a burst.
            await asyncio.sleep(max(0.0, frame * FRAME - self._recorder.now()))
            start = (frame - 1) * FRAME
            sound = b""
            if not pending:
                begins = cue.begins(self._hear(frame * FRAME, cue.since))
                if begins is not None and number == len(self._turns):
                    if not self._stays():
                        break
                    # Whatever there is to be said meanwhile is heard to its end before the line is looked at again.
                    cue = Cue(begins, answer=False, patience=self._patience)
                elif begins is not None:
                    # A barge-in begins inside the frame, at its very sample.
                    offset = begins - start if start < begins < frame * FRAME else 0.0
                    sound = bytes(2 * round(offset * self._rate))
                    pending = self._turns[number].data
                    begun = start + len(sound) / 2 / self._rate
                    self.spoken.append(Span(begun, begun + self._turns[number].duration))
                    number += 1
                    cue = self._cue(number)
            take = 2 * size - len(sound)
            sound, pending = (sound + pending[:take]).ljust(2 * size, b"\0"), pending[take:]
            heard = AudioFrame(sound, self._rate)
            self._recorder.hear_caller(heard)
            on_frame(heard)
        on_end()

    def _cue(self, number: int) -> Cue:
        """The cue for the turn after `number` turns; after the last one, for hanging up."""
        since = self.spoken[-1].end if self.spoken else 0.0
        return Cue(since, answer=number > 0, barge_in=self._barge_in.get(number + 1), patience=self._patience)

    def _hear(self, now: float, since: float) -> Hearing:
        sounding = self._output.sounding
        return Hearing(now, self._busy(), sounding, self._recorder.first_agent_sound(since))
