"""A call that is over: what was said in it and how, what went wrong, and the sound of it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from antiphon import SpeechHandle
from antiphon.testing import SimulatedCall, Sound, Timeline, Utterance
from tests.situations.walks.world import World

Kind: TypeAlias = Literal["three models", "realtime, its turns", "realtime, our turns"]
"""Who hears, thinks and speaks; in the last two one model does, and it or the session ends the caller's turns."""

KINDS: dict[Kind, float] = {"three models": 0.5, "realtime, its turns": 0.25, "realtime, our turns": 0.25}
"""With how often each is."""

Way: TypeAlias = Literal["spoken", "typed", "put"]
"""How a turn comes: by voice, by `submit_user_turn`, by `generate_reply(user_input=)`."""


@dataclass(slots=True)
class Said:
    """A turn of the caller's."""

    number: int
    words: list[str]
    way: Way
    start: float
    end: float
    barged_in: bool
    moment: str = ""
    """What else went on, if it was typed for that."""
    reply: SpeechHandle | None = None
    """If it was typed, what the model was answering then; if it was put, the reply that was asked for."""

    @property
    def name(self) -> str:
        """The word that all its requests and answers are known by."""
        return f"t{self.number}"


@dataclass(slots=True)
class Walk:
    """A call that is over."""

    seed: str
    kind: Kind
    call: SimulatedCall
    world: World
    said: list[Said] = field(default_factory=list)
    noises: list[Utterance] = field(default_factory=list)
    hums: list[Utterance] = field(default_factory=list)
    keys: list[tuple[float, str, str]] = field(default_factory=list)
    """(when, which, what else went on): those pressed on the telephone."""
    deaf: list[Sound] = field(default_factory=list)
    """When a recogniser failed and there was no other: words may be lost."""
    errors: list[BaseException] = field(default_factory=list)
    """That were no provider's and no tool's."""
    has_substitutes: bool = False
    has_voice: bool = True
    """There is a voice besides the model's own: without one nothing bridges a wait."""
    faults: int = 0
    goodbye: Literal["silence", "bye", "more"] | None = None
    """What the caller did when the agent said goodbye; None: it did not."""
    closed: float | None = None
    """When the call ended by itself."""
    rounds: list[float] = field(default_factory=list)
    """When the results of a round were in."""
    line: Timeline = field(default_factory=lambda: Timeline([], [], 0.0, 0.0))
    """Measured on the rendered sound."""

    @property
    def duration(self) -> float:
        """Seconds of the call."""
        return self.line.end - self.line.begin

    def next_turn(self, rng: random.Random) -> list[str]:
        """The words of the next turn: two to eight, all its own."""
        number = len(self.said)
        return [f"t{number}", *(f"w{number}x{count}" for count in range(rng.randint(1, 7)))]


def story(walk: Walk) -> str:
    """What happened, for whoever wants to know why a walk failed."""
    events: list[tuple[float, str]] = [(walk.line.begin, f"{walk.kind}")]
    events += [(said.start, f"caller, {said.way}: {' '.join(said.words)}") for said in walk.said]
    events += [(time, f"caller presses {key}") for time, key, _ in walk.keys]
    events += [(noise.start, f"caller coughs for {noise.end - noise.start:.2f} s") for noise in walk.noises]
    events += [(time, "            the voice fails") for time in walk.world.voice_failed]
    events += [(hum.start, f"caller: {hum.text}") for hum in walk.hums]
    events += [(sound.start, f"    agent sounds until {sound.end:.2f}") for sound in walk.line.agent]
    events += [
        (asked.at, f"        request {asked.number} to {asked.agent[:20]}: {sorted(asked.turns)} -> {asked.answer!r}")
        for asked in walk.world.asked
    ]
    for run in walk.world.runs:
        kept = ", kept" if run.kept else ""
        events.append((run.began, f"            {run.kind}({run.arguments}) -> {run.result}{kept}"))
        events.append((run.ended or walk.line.end, f"            {run.result} {run.status}"))
    return "\n".join(f"{time:8.2f} {what}" for time, what in sorted(events, key=lambda event: event[0]))
