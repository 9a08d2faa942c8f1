"""Providers that fail in a random call, and when the caller may not have been heard because of it.

Above: random calls. Below: scripted providers that fail when told to.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from antiphon.audio import AudioFrame
from antiphon.sim.world import Fate, World
from antiphon.stt import STTStream
from antiphon.testing import CallerSTT, FakeRealtimeModel, FakeVAD, Fault, Sound, Utterance, now
from antiphon.vad import VADEvent, VADStream

OFTEN = 0.05
"""How often one of the providers fails at a turn."""
NO_SUBSTITUTE = 6.0
"""Seconds that a recogniser without a substitute stalls."""
FOR_GOOD = 1800.0
"""Seconds that are longer than any call."""
DEAF = 2.0
"""Seconds until a recogniser that died hears again."""
DELAYED = 1.0
"""Seconds from words to their final transcript, at most."""
UNHEARD = 4.0
"""Seconds around the end of a line to a model in which it may not have heard, or not have worded, what was said."""
VAD_REOPENED = 1.1
"""Seconds in which a voice detector that broke hears nothing."""


class FailingSTT(CallerSTT):
    """Fails when it is told to, and remembers when it was opened."""

    opened: list[float]

    def stream(self) -> STTStream:
        self.opened = [*getattr(self, "opened", ()), now()]
        return super().stream()

    def will_fail(self, fault: Fault) -> None:
        """It has this fault once, too."""
        self.faults.append(fault)


class FailingVAD(FakeVAD):
    """A detector that raises once when the time comes."""

    def __init__(self) -> None:
        super().__init__()
        self._breaks_at: float | None = None

    def breaks_in(self, seconds: float) -> float:
        """It raises at the first sound after so many seconds. Returns the time."""
        self._breaks_at = now() + seconds
        return self._breaks_at

    def look(self) -> None:
        """Raise if it is time to."""
        if self._breaks_at is not None and now() >= self._breaks_at:
            self._breaks_at = None
            raise RuntimeError("told to break")

    def stream(self) -> VADStream:
        return _FailingStream(self, super().stream())


class _FailingStream(VADStream):
    def __init__(self, vad: FailingVAD, then: VADStream) -> None:
        self._vad, self._then = vad, then

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        self._vad.look()
        return self._then.push(frame)

    def end(self) -> Sequence[VADEvent]:
        return self._then.end()


class Faults:
    """Has one of the call's providers fail now and then.

    `has_substitutes`: the model, the voice and the recogniser have others to give way to. Where there is no `stt`, a
    realtime `model` hears the caller.
    """

    def __init__(
        self,
        rng: random.Random,
        world: World,
        *,
        stt: FailingSTT | None = None,
        vad: FailingVAD | None = None,
        model: FakeRealtimeModel | None = None,
        has_substitutes: bool = False,
    ) -> None:
        self.count = 0
        self.deaf: list[Sound] = []
        """When nobody may have heard the caller: words may be lost."""
        self._rng = rng
        self._world = world
        self._stt = stt
        self._vad = vad
        self._model = model
        self._has_substitutes = has_substitutes
        self.misheard: list[Sound] = []
        """When the recogniser gave finals without words: what was said then is lost, and the caller is told."""
        self._due: Fate | Literal["hangs", "mishears"] | None = None
        """What the recogniser does at the next turn."""
        self._hung: list[float] = []
        """When the recogniser fell silent for good: it is deaf until it is opened anew."""

    def perhaps(self) -> None:
        """A turn begins: one of the providers may fail."""
        if self._rng.random() >= OFTEN:
            return
        rng = self._rng
        fate: Fate = rng.choice(["dies", "stalls"])
        self.count += 1
        if self._stt is None:
            self._realtime(fate)
            return
        match rng.choice(["llm", "tts", "stt", "vad"] if self._has_substitutes else ["llm", "llm", "stt", "vad"]):
            case "vad":
                assert self._vad is not None
                at = self._vad.breaks_in(rng.uniform(0.0, 3.0))
                self.deaf.append(Sound(at - DELAYED, at + VAD_REOPENED + DELAYED))
            case "llm":
                self._world.doom("llm", fate)
            case "tts":
                self._world.doom("tts", fate)
            case _:
                # One that hangs for good is opened anew by the session, or gives way to its substitute.
                own: list[Fate | Literal["hangs", "mishears"]] = ["dies", "stalls", "hangs"]
                self._due = rng.choice([*([fate] if self._has_substitutes else own), "mishears"])

    def _realtime(self, fate: Fate) -> None:
        assert self._model is not None
        sessions = [session for session in self._model.sessions if not session.closed]
        if self._rng.random() < 0.5 or not sessions:
            self._world.doom("llm", fate)
        else:
            sessions[-1].hang_up()
            self.deaf.append(Sound(now() - UNHEARD, now() + UNHEARD))

    def turn_begun(self, utterance: Utterance) -> None:
        """Have the recogniser fail during this turn, if it is to."""
        if self._stt is None or self._due is None:
            return
        fate, self._due = self._due, None
        if fate == "mishears":  # from the beginning: one that has words already is heard to have said them
            self._stt.will_fail(Fault(utterance.start, fate, duration=utterance.end + DELAYED - utterance.start))
            self.misheard.append(Sound(utterance.start - DELAYED, utterance.end + 2 * DELAYED))
            return
        at = self._rng.uniform(utterance.start, utterance.end + 0.5)
        lasts = FOR_GOOD if self._has_substitutes or fate == "hangs" else NO_SUBSTITUTE
        self._stt.will_fail(Fault(at, "dies" if fate == "dies" else "stalls", duration=lasts))
        if self._has_substitutes:
            return
        begin = at - DELAYED  # words before it may not have been given yet
        if fate == "hangs":
            self._hung.append(begin)
        else:
            self.deaf.append(Sound(begin, max(at, utterance.end) + (DEAF if fate == "dies" else lasts) + DELAYED))

    def ended(self, end: float) -> list[Sound]:
        """The call is over. Returns when nobody may have heard the caller."""
        opened = self._stt.opened if self._stt is not None else []
        for begin in self._hung:
            again = next((time for time in opened if time > begin + DELAYED), end)
            self.deaf.append(Sound(begin, again + DELAYED))
        return self.deaf
