"""Sounds that belong to a call: which one plays when.

Above: agent files. Below: the `MixedOutput` of the room, which mixes; the clips; and the session, which is only
listened to. The player holds one task for each sound that plays.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from antiphon.audio import AudioFrame
from antiphon.background_audio.clips import BuiltinAudioClip, render
from antiphon.errors import UsageError, pass_on
from antiphon.events import (
    AgentStateChangedEvent,
    ToolAdoptedEvent,
    ToolCallEnded,
    ToolCallStarted,
    ToolDroppedEvent,
    ToolExecutionUpdatedEvent,
    UserStateChangedEvent,
)
from antiphon.streams import closing
from antiphon.transports.bed import FADE, Clip, Sound, Stream
from antiphon.transports.mixer import MixedOutput

if TYPE_CHECKING:
    from collections.abc import Generator

    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger("antiphon")

AudioSource: TypeAlias = BuiltinAudioClip | str | Path | AsyncIterator[AudioFrame]
"""A clip that comes with the framework, the path of a WAV file, or frames as they are made."""


@dataclass(slots=True)
class AudioConfig:
    """A sound and how it is played. Raises `UsageError` for a volume or probability that makes no sense."""

    source: AudioSource
    volume: float = 1.0
    """1: as loud as the source is; 0.5: half of that, 6 dB less."""
    probability: float = 1.0
    """How likely it is chosen, of several; what is left up to 1 is the chance of silence."""
    fade_in: float = 0.0
    """Seconds."""
    fade_out: float = FADE
    """Seconds in which it falls silent when it is stopped."""

    def __post_init__(self) -> None:
        if self.volume < 0:
            raise UsageError(f"AudioConfig: expected a volume of 0 or more, got {self.volume:g}")
        if not 0 <= self.probability <= 1:
            raise UsageError(f"AudioConfig: expected a probability between 0 and 1, got {self.probability:g}")
        if self.fade_in < 0 or self.fade_out < 0:
            raise UsageError(f"AudioConfig: expected fades of 0 s or more, got {self.fade_in:g} and {self.fade_out:g}")


Choice: TypeAlias = AudioSource | AudioConfig | Sequence[AudioConfig]
"""One sound, or several of which one is chosen each time by its probability."""


class PlayHandle:
    """A sound that plays, or is about to. Awaiting it waits for its end."""

    def __init__(self) -> None:
        self._mixer: MixedOutput | None = None
        self._sound: Sound | None = None
        self._stopped = False
        self._done = asyncio.Event()

    def done(self) -> bool:
        """True once it has ended, been stopped, or failed."""
        return self._done.is_set()

    def stop(self) -> None:
        """Fade it out. Returns at once; later calls do nothing."""
        self._stopped = True
        if self._mixer is not None and self._sound is not None:
            self._mixer.stop(self._sound)

    async def wait_for_playout(self) -> None:
        """Wait until the last of it was heard."""
        await self._done.wait()

    def __await__(self) -> Generator[Any, None, PlayHandle]:
        yield from self.wait_for_playout().__await__()
        return self

    # -- for the player

    @property
    def stopped(self) -> bool:
        """`stop` was called."""
        return self._stopped

    def begin(self, mixer: MixedOutput, sound: Sound) -> None:
        """It plays."""
        self._mixer, self._sound = mixer, sound

    def finish(self) -> None:
        """It is over."""
        self._done.set()


class BackgroundAudioPlayer:
    """Plays sounds in a call, beside what the agent says: they are quieter while it speaks.

    `ambient_sound` plays all the time. `thinking_sound` plays while the agent thinks or a tool runs and nobody speaks;
    it stops softly as soon as somebody does. Hold music is a thinking sound.

    ```python
    background = BackgroundAudioPlayer(
        ambient_sound=AudioConfig(BuiltinAudioClip.OFFICE_AMBIENCE, volume=0.8),
        thinking_sound=BuiltinAudioClip.KEYBOARD_TYPING,
    )
    await background.start(room=ctx.room, agent_session=session)
    ```

    Everything ends with the call; `aclose` ends it sooner. In a text call nothing plays, and every handle is done.
    `rng` decides where several sounds are given; pass a seeded one to know which.
    """

    def __init__(
        self,
        *,
        ambient_sound: Choice | None = None,
        thinking_sound: Choice | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._ambient = None if ambient_sound is None else _checked("ambient_sound", ambient_sound)
        self._thinking = None if thinking_sound is None else _checked("thinking_sound", thinking_sound)
        if any(isinstance(config.source, AsyncIterator) for config in self._thinking or ()):
            raise UsageError(
                "BackgroundAudioPlayer: thinking_sound is played many times, and an iterator of frames only once;"
                " give a clip or the path of a WAV file"
            )
        self._random = rng or random.Random()
        self._mixer: MixedOutput | None = None
        self._watch: _Watch | None = None
        self._started = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._loaded: dict[tuple[object, float], NDArray[np.int16]] = {}
        """The samples of clips and files, by source and volume."""

    async def start(self, *, room: Any, agent_session: Any = None) -> None:
        """Begin to play in a room; before or after its session starts. Loads the sounds first.

        The thinking sound needs `agent_session`. Raises `UsageError` when started twice, for a room whose loudspeaker
        does not mix, and for a file that cannot be read.
        """
        if self._started:
            raise UsageError("BackgroundAudioPlayer.start: it was started already; make a new one for each call")
        output = room.audio_output
        if output is not None and not isinstance(output, MixedOutput):
            raise UsageError(
                f"BackgroundAudioPlayer.start: expected a room whose audio_output mixes, got {type(output).__name__};"
                " wrap it: antiphon.transports.mixer.MixedOutput(output), before the session starts"
            )
        if self._thinking is not None and agent_session is None:
            raise UsageError("BackgroundAudioPlayer.start: a thinking_sound needs agent_session=: when does it think?")
        self._started = True
        self._mixer = output
        if output is None:
            return
        for config in (*(self._ambient or ()), *(self._thinking or ())):
            if not isinstance(config.source, AsyncIterator):
                await self._load(config, output.sample_rate)
        if self._ambient is not None:
            self._play(self._ambient, loop=True)
        if self._thinking is not None:
            self._watch = _Watch(self, self._thinking, agent_session)

    def play(self, audio: Choice, *, loop: bool = False) -> PlayHandle:
        """Play a sound, at once as a rule. Raises `UsageError` before `start`, and for what cannot be looped."""
        if not self._started:
            raise UsageError("BackgroundAudioPlayer.play: `await player.start(room=...)` first")
        configs = _checked("play", audio)
        if loop and any(isinstance(config.source, AsyncIterator) for config in configs):
            raise UsageError("BackgroundAudioPlayer.play: an iterator of frames ends once and for all; leave out loop=")
        return self._play(configs, loop=loop)

    async def aclose(self) -> None:
        """Silence, softly, and for good."""
        if self._watch is not None:
            self._watch.end()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def think_silently(self) -> None:
        """Give the thinking sound up. No effect once it is started."""
        self._thinking = None

    # -- one sound

    def think(self, configs: Sequence[AudioConfig]) -> PlayHandle:
        """Play until speech begins, or it is stopped."""
        return self._play(configs, loop=True, yields=True)

    def _play(self, configs: Sequence[AudioConfig], *, loop: bool, yields: bool = False) -> PlayHandle:
        handle = PlayHandle()
        chosen = self._choose(configs)
        if self._mixer is None or self._mixer.closed or chosen is None:
            handle.finish()
            return handle
        work = self._perform(self._mixer, handle, chosen, loop=loop, yields=yields)
        task = asyncio.create_task(work, name="background sound")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return handle

    def _choose(self, configs: Sequence[AudioConfig]) -> AudioConfig | None:
        dice = self._random.random()
        for config in configs:
            dice -= config.probability
            if dice < 0:
                return config
        return None

    async def _load(self, config: AudioConfig, sample_rate: int) -> NDArray[np.int16]:
        """The samples of a clip or file; made or read in a thread the first time."""
        assert not isinstance(config.source, AsyncIterator)  # whoever calls has looked
        key = (config.source, config.volume)
        if key not in self._loaded:
            self._loaded[key] = await asyncio.to_thread(_samples, *key, sample_rate)
        return self._loaded[key]

    async def _perform(
        self, mixer: MixedOutput, handle: PlayHandle, config: AudioConfig, *, loop: bool, yields: bool
    ) -> None:
        feeding: asyncio.Task[None] | None = None
        try:
            source: Clip | Stream
            if isinstance(config.source, AsyncIterator):
                source = Stream(mixer.sample_rate, volume=config.volume)
                feeding = asyncio.create_task(_feed(source, config.source), name="background sound: frames")
            else:
                source = Clip(await self._load(config, mixer.sample_rate), loop=loop)
            if handle.stopped:
                return
            # What sounds for long begins and ends softly; a sound by itself begins as it is.
            fade_in = max(config.fade_in, FADE if loop else 0.0)
            sound = mixer.add(source, fade_in=fade_in, fade_out=config.fade_out, yields=yields)
            handle.begin(mixer, sound)
            try:
                await sound.wait()
            finally:
                mixer.stop(sound)
        except BaseException as error:
            pass_on(error)
            logger.exception("a background sound cannot be played")
        finally:
            handle.finish()
            if feeding is not None:
                feeding.cancel()
                await asyncio.wait([feeding])


def _checked(what: str, choice: Choice) -> Sequence[AudioConfig]:
    """The sounds to choose from."""
    if isinstance(choice, AudioConfig):
        configs: Sequence[AudioConfig] = [choice]
    elif isinstance(choice, (BuiltinAudioClip, str, Path, AsyncIterator)):
        configs = [AudioConfig(choice)]
    else:
        configs = list(choice)
    for config in configs:
        if not isinstance(config, AudioConfig) or not isinstance(
            config.source, (BuiltinAudioClip, str, Path, AsyncIterator)
        ):
            got = config.source if isinstance(config, AudioConfig) else config
            raise UsageError(
                f"BackgroundAudioPlayer: {what}: expected a BuiltinAudioClip, the path of a WAV file, an async iterator"
                f" of AudioFrame, or AudioConfig of one, got {type(got).__name__}"
            )
    if sum(config.probability for config in configs) > 1 + 1e-9 and len(configs) > 1:
        raise UsageError(
            f"BackgroundAudioPlayer: {what}: the probabilities of {len(configs)} sounds add up to"
            f" {sum(config.probability for config in configs):g}; expected 1 at most"
        )
    return configs


@lru_cache(maxsize=32)
def _samples(source: BuiltinAudioClip | str | Path, volume: float, sample_rate: int) -> NDArray[np.int16]:
    """A clip or file, as loud as it is wanted. Shared by all calls of the process."""
    import numpy as np

    if isinstance(source, BuiltinAudioClip):
        samples = render(source, sample_rate)
    else:
        from antiphon.transports.wav import read_recording

        samples = np.frombuffer(read_recording(Path(source), sample_rate).data, "<i2")
    if volume == 1.0:
        return samples
    scaled: NDArray[np.int16] = np.clip(samples.astype(np.float32) * volume, -32768, 32767).astype(np.int16)
    return scaled


async def _feed(stream: Stream, frames: AsyncIterator[AudioFrame]) -> None:
    """Take frames as they are wanted. What their maker raises is logged, and ends the sound."""
    async with closing(frames):
        try:
            async for frame in frames:
                stream.feed(frame)
                await stream.room()
        except BaseException as error:
            pass_on(error)
            logger.exception("a background sound ended: the iterator of its frames raised")
        finally:
            stream.end()


# -- when the agent works


class _Watch:
    """Plays the thinking sound while the agent works and nobody speaks."""

    def __init__(self, player: BackgroundAudioPlayer, configs: Sequence[AudioConfig], session: Any) -> None:
        self._player = player
        self._configs = configs
        self._session = session
        self._agent: str = session.agent_state
        self._user: str = session.user_state
        self._running: set[str] = set()
        """The ids of the calls whose tools run."""
        self._handle: PlayHandle | None = None
        self._listeners = {
            "agent_state_changed": self._agent_changed,
            "user_state_changed": self._user_changed,
            "tool_execution_updated": self._tool_changed,
            "tool_dropped": self._tool_dropped,
            "tool_adopted": self._tool_adopted,
            "close": self._closed,
        }
        for name, listener in self._listeners.items():
            session.on(name, listener)
        self._decide()

    def end(self) -> None:
        """Listen no more."""
        for name, listener in self._listeners.items():
            self._session.off(name, listener)
        self._listeners.clear()

    def _agent_changed(self, event: AgentStateChangedEvent) -> None:
        self._agent = event.new_state
        self._decide()

    def _user_changed(self, event: UserStateChangedEvent) -> None:
        self._user = event.new_state
        self._decide()

    def _tool_changed(self, event: ToolExecutionUpdatedEvent) -> None:
        match event.update:
            case ToolCallStarted(function_call=call):
                self._running.add(call.call_id)
            case ToolCallEnded(call_id=call_id):
                self._running.discard(call_id)
            case _:
                return
        self._decide()

    def _tool_dropped(self, event: ToolDroppedEvent) -> None:
        self._running.discard(event.function_call.call_id)
        self._decide()

    def _tool_adopted(self, event: ToolAdoptedEvent) -> None:
        self._running.add(event.function_call.call_id)
        self._decide()

    def _closed(self, _: object) -> None:
        self._agent = "closed"
        self._decide()

    def _decide(self) -> None:
        works = self._agent == "thinking" or (self._agent == "listening" and bool(self._running))
        wanted = works and self._user != "speaking"
        if self._handle is not None and (self._handle.done() or not wanted):
            self._handle.stop()
            self._handle = None
        if wanted and self._handle is None:
            self._handle = self._player.think(self._configs)
