"""A simulated outside world in virtual time: caller, model, loudspeaker, tools, hooks and application.

Above: `fuzz.py`, which lets the world and the conversation take turns. Below: nothing but a random generator and the
vocabulary. The world performs commands and answers with facts, as the runtime does, and keeps the runtime's promises
(a closing fact for all that was started, facts of one key in order), except where a session is made to break them on
purpose: things hang, facts come late, twice, or from nowhere.

Everything that takes time is a process: a generator that yields seconds to sleep, a fact to report, or `Done(speech)`
to wait for a speech. A fact is delivered before its process goes on.

What makes rare things frequent: few tools with few arguments (so calls repeat and adopt), utterances as scripts
instead of loose voice events, several paces of time, and a temper per session (what this session is especially full
of).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeAlias

from antiphon.chat import AgentConfigUpdate
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core.notices import ConsentAsked, SpeechDone, WriteEnded
from antiphon.language.consent import Reply as Meaning
from antiphon.options import (
    AwayLadder,
    ConsentOptions,
    Endpointing,
    Fillers,
    Interruption,
    LanguageOptions,
    MustHearLine,
    PreemptiveGeneration,
    SessionOptions,
    SilenceBudget,
    ToolPolicy,
    TurnHandling,
    UserTurnLimit,
)

WORD = 0.25
"""Seconds that one word sounds."""

CALLS_OUT = ("hello?", "are you there?", "are you still there?")
"""By some of which the caller only asks whether somebody is there."""
WORDS = ("alpha", "bravo", "delta", "echo", "golf", "hotel", "india", "kilo", "lima", "oscar", "papa", "tango")


@dataclass(slots=True, frozen=True)
class Done:
    """A process waits until this speech is done."""

    speech: int


@dataclass(slots=True, frozen=True)
class Finished:
    """A process waits until somebody ends this task."""

    task: int


@dataclass(slots=True, frozen=True)
class Open:
    """A process opens a speech or a task: the fact is made with a fresh id, which the process gets back."""

    make: Callable[[int], f.Fact]


Process: TypeAlias = Generator["float | f.Fact | Done | Finished | Open", Any, None]


@dataclass(slots=True, eq=False)
class Running:
    """A process and whether it may still act."""

    process: Process
    stopped: bool = False


@dataclass(slots=True, eq=False)
class Voice:
    """One generation: the text it will have said, and the segment it speaks in."""

    gen: int
    segment: int
    words: list[str]
    begun: bool = False
    complete: bool = False
    running: Running | None = None
    is_filler: bool = False
    ready: bool = False
    """There is sound to be heard."""
    dry: int | None = None
    """The voice falls silent for a while after so many words."""
    broken: bool = False
    """No sound will come any more, and the loudspeaker knows."""
    unsaid: str = ""
    """It gives no sound for this text, which is all of it as it was written."""
    gone: bool = False
    """Nobody wants it any more."""


@dataclass(slots=True, eq=False)
class Sound:
    """A segment given to the loudspeaker."""

    voice: Voice
    position: float = 0.0
    """Words sounded when `since` was set."""
    since: float | None = None
    """When it last began to sound; None: waits or is paused."""
    ticket: int = 0
    """Events scheduled with an older ticket are void."""
    stuck: bool = False
    """It sounds on for ever, and never reports."""
    started: bool = False
    end: int | None = None
    """It ends after so many words, whatever is to come."""


@dataclass(slots=True)
class Temper:
    """What one session is full of. Probabilities, and delays that are multiplied by `pace`."""

    pace: float = 1.0
    calls: float = 0.5
    """The model calls tools."""
    repeat: float = 0.5
    """It calls again what it called before."""
    parallel: float = 0.3
    disobey: float = 0.15
    mute: float = 0.05
    """The model has nothing to say."""
    fail: float = 0.04
    hang: float = 0.02
    """Whatever was started never ends."""
    pause: float = 0.08
    """A stream stands still for a while."""
    noise: float = 0.03
    """A fact comes twice, or from nowhere."""
    late: float = 0.2
    """What was stopped reports all the same."""
    barge: float = 0.5
    """The caller speaks up while the agent speaks."""
    veto: float = 0.1
    rewrite: float = 0.1
    slow_hook: float = 0.2
    update: float = 0.15
    handoff: float = 0.1
    task: float = 0.08
    talk: float = 0.15
    """A tool or hook says something."""
    protect: float = 0.08
    app: float = 0.3
    """The application does things of its own accord."""
    app_interrupts: bool = False
    lag: float = 0.01
    """The loop is blocked: time jumps."""
    ends: float = 0.03
    """A tool says goodbye and ends the call."""
    closes: float = 0.1
    """The session is closed in the middle."""
    wordless: float = 0.5
    """The words of a turn that the model heard come after it, if at all."""
    unasked: float = 0.8
    """A model that answers unasked does so."""
    slow_voice: float = 0.1
    dry: float = 0.08
    """A voice falls silent in the middle."""
    soundless: float = 0.04
    """A voice takes the text, and gives no sound."""
    dumb: float = 0.02
    """A voice never begins, or breaks."""
    filler: float = 0.15
    """A tool that speaks says a line that bridges the wait."""
    honest: bool = False
    """Nothing comes twice or late, no sound is stuck, and a line that was made ahead has its sound in time."""


@dataclass(slots=True)
class Task:
    agent: str
    run: int | None
    finished: bool = False
    reported: bool = False


@dataclass(slots=True)
class Tool:
    run: int
    running: Running
    call: tuple[str, str]
    tasks: list[int] = field(default_factory=list)


def draw_options(rng: Random) -> SessionOptions:
    """Options of one session: mostly the defaults."""
    detection = rng.choices(("vad", "stt", "manual"), (0.86, 0.08, 0.06))[0]
    has_stt = rng.random() < 0.95
    model_hears = rng.random() < 0.2
    if model_hears:
        has_stt = False
        detection = rng.choices(("realtime_llm", "vad"), (0.75, 0.25))[0]
    return SessionOptions(
        turns=TurnHandling(
            detection=detection,  # type: ignore[arg-type]
            endpointing=Endpointing(
                min_delay=0.3,
                max_delay=1.2,
                mode="dynamic" if rng.random() < 0.3 else "fixed",
            ),
            interruption=Interruption(
                enabled=rng.random() < 0.95,
                min_words=rng.choice((1, 1, 1, 2)),
                cancel_after=None if has_stt else 0.6,
            ),
            preemptive_generation=PreemptiveGeneration(
                enabled=rng.random() < 0.5,
                max_speech_duration=rng.choice((1.0, 10.0, 10.0)),
                max_retries=rng.choice((1, 3, 3)),
            ),
            user_turn_limit=draw_limit(rng),
        ),
        max_tool_steps=rng.choices((0, 1, 2, 3), (0.08, 0.2, 0.3, 0.42))[0],
        has_stt=has_stt,
        model_hears=model_hears,
        unheard_line="" if rng.random() < 0.2 else "I did not hear that.",
        silence=draw_budget(rng) if rng.random() < 0.5 else None,
        user_away_timeout=rng.choice((None, None, None, 3.0, 15.0)),
        prediction_timeout=rng.choice((0.0, 0.0, 0.3)),
        away_ladder=draw_away_ladder(rng),
        must_hear=draw_must_hear(rng),
    )


def draw_must_hear(rng: Random) -> tuple[MustHearLine, ...]:
    """What the caller must hear first. Drawn aside, too."""
    aside = Random()
    aside.setstate(rng.getstate())
    aside = Random(aside.getrandbits(64) + 1)
    if aside.random() < 0.75:
        return ()
    lines = (MustHearLine("n1 you talk to a machine"), MustHearLine("n2 and you are recorded"))
    heard = MustHearLine("n0 heard before", 2, 1.0)
    return aside.choice((lines[:1], lines[:1], lines, (heard, *lines[1:])))


def draw_away_ladder(rng: Random) -> AwayLadder | None:
    """What is said to a caller who falls silent. Drawn aside: what else is drawn stays as it would be without."""
    aside = Random()
    aside.setstate(rng.getstate())
    aside = Random(aside.getrandbits(64))
    if aside.random() < 0.8:
        return None
    times = (aside.choice((0.5, 1.0, 2.0, 4.0, 8.0)) for _ in range(3))
    return AwayLadder("g1 are you there", "g2 please say something", "g3 goodbye", *times)


def draw_limit(rng: Random) -> UserTurnLimit:
    """How much a caller may say; mostly as much as they like."""
    if rng.random() < 0.8:
        return UserTurnLimit()
    return UserTurnLimit(max_words=rng.choice((None, 6, 12)), max_duration=rng.choice((None, 1.0, 4.0)))


def draw_budget(rng: Random) -> SilenceBudget:
    """A silence budget, with lines that nobody else says."""

    def lines(rung: int) -> tuple[str, ...]:
        count = 0 if rng.random() < 0.05 else rng.choice((1, 2, 3))
        return tuple(f"f{rung}{n} {' '.join(rng.choices(WORDS, k=rng.choice((1, 3, 6))))}" for n in range(count))

    return SilenceBudget(
        max_silence=rng.choice((0.5, 1.0, 1.5, 2.5)),
        fillers=Fillers(
            short=lines(1),
            long=lines(2),
            progress=lines(3),
            offer=rng.choice(("", "f40 shall I call back", "f40 shall I call back")),
            long_after=rng.choice((1.0, 4.0)),
            offer_after=rng.choice((2.0, 4.0, 10.0)),
        ),
        grace=rng.choice((0.3, 1.0)),
        voice=0.3,
        prepare=rng.choice((0.2, 0.6, 0.6)),
    )


def draw_temper(rng: Random) -> Temper:
    """One session's temper: the usual one, with a few things far more frequent."""
    temper = Temper(pace=rng.choice((0.1, 0.4, 1.0, 1.0, 2.0)))
    for _ in range(rng.randrange(4)):
        name, value = rng.choice(
            (
                ("calls", 0.9), ("calls", 0.1), ("repeat", 0.9), ("parallel", 0.8), ("disobey", 0.8), ("mute", 0.4),
                ("fail", 0.3), ("hang", 0.15), ("noise", 0.2), ("late", 0.9), ("barge", 0.9), ("barge", 0.0),
                ("veto", 0.4), ("slow_hook", 0.8), ("update", 0.6), ("handoff", 0.5), ("task", 0.5), ("talk", 0.6),
                ("protect", 0.5), ("app", 0.9), ("app", 0.0), ("lag", 0.1), ("closes", 0.6),
                ("ends", 0.5), ("wordless", 0.0), ("wordless", 1.0), ("unasked", 0.3),
                ("slow_voice", 0.5), ("dry", 0.5), ("dumb", 0.2), ("filler", 0.7), ("soundless", 0.5),
            )
        )  # fmt: skip
        setattr(temper, name, value)
    temper.app_interrupts = rng.random() < 0.4
    temper.honest = rng.random() < 0.5
    if temper.honest:
        temper.noise = temper.lag = 0.0
    return temper


def prompt_voice(options: SessionOptions, temper: Temper) -> float | None:
    """Seconds after which a line that was made ahead can surely be heard; None: that is not known."""
    return 0.8 * options.silence.prepare if temper.honest and options.silence is not None else None


def draw_policy(rng: Random, temper: Temper) -> ToolPolicy:
    """How one tool of the session is to be treated."""
    effect = rng.choices(("unsaid", "reads", "writes"), (0.5, 0.2, 0.3))[0]
    policy = ToolPolicy(
        effect=effect,  # type: ignore[arg-type]
        timeout=rng.choice((2.0, 6.0, 30.0)),
        background_timeout=rng.choice((4.0, 20.0)),
        parallel=effect != "writes" and rng.random() < 0.8,
        cancellable=rng.random() < 0.2,
        on_duplicate=rng.choices((None, "allow", "replace", "reject", "confirm"), (0.6, 0.1, 0.1, 0.1, 0.1))[0],
        duplicate_scope=rng.choice(("name", "name_and_args")),
        repeat="once" if effect == "writes" and rng.random() < 0.2 else "per_turn",
        filler=f"f5{rng.randrange(10)} {rng.choice(WORDS)}" if rng.random() < 0.4 else None,
        expected=rng.choice((None, None, 0.5, 2.0, 20.0)),
    )
    return draw_exception(rng, policy)


def draw_exception(rng: Random, policy: ToolPolicy) -> ToolPolicy:
    """What its author says singly, or that it is irreversible. Drawn aside: what else is drawn stays as it would be."""
    aside = Random()
    aside.setstate(rng.getstate())
    aside = Random(aside.getrandbits(64))
    if aside.random() < 0.7:
        return policy
    if policy.effect == "writes":
        is_irreversible = aside.random() < 0.7
        return replace(
            policy,
            effect="irreversible" if is_irreversible else "writes",
            parallel=not is_irreversible and aside.random() < 0.7,
        )
    return replace(policy, on_interrupt=aside.choice(("cancel", "drop", "keep")))


def draw_inverses(rng: Random, policies: dict[str, ToolPolicy]) -> dict[str, ToolPolicy]:
    """Which tools undo others. Drawn aside: what else is drawn stays as it would be without."""
    aside = Random()
    aside.setstate(rng.getstate())
    aside = Random(aside.getrandbits(64))
    if len(policies) > 1 and aside.random() < 0.35:
        policies = {name: replace(policy, effect="writes", on_interrupt=None) for name, policy in policies.items()}
    writing = [name for name, policy in policies.items() if policy.writes]
    if len(writing) < 2 or aside.random() < 0.1:
        return policies
    first, inverse = aside.sample(writing, 2)
    return {**policies, first: replace(policies[first], undo=inverse)}


def draw_consent(rng: Random, options: SessionOptions) -> SessionOptions:
    """How callers are asked before a call, in sessions of the gate, and whether somebody judges what they say."""
    judge = rng.choice((None, None, 0.5))
    return replace(options, consent=ConsentOptions(timeout=rng.choice((1.0, 3.0, 8.0)), judge_timeout=judge))


REPLIES = (
    ("yes", Meaning.YES), ("yes please", Meaning.YES), ("okay", Meaning.BACKCHANNEL), ("no", Meaning.NO),
    ("so so", Meaning.UNCLEAR), ("yes but", Meaning.CHANGE), ("how", Meaning.QUESTION), ("yes and", Meaning.YES_AND),
)  # fmt: skip
"""What callers say to a read-back, and what a judge makes of it. The words alone decide about most of it."""


class World:
    """Everything outside the conversation. `gated`: tools that write are read back to the caller first."""

    def __init__(
        self,
        rng: Random,
        options: SessionOptions,
        temper: Temper,
        new_id: Callable[[], int],
        *,
        gated: bool = False,
    ) -> None:
        self.rng = rng
        self.options = options
        self.temper = temper
        self.now = 0.0
        self.calm_at = rng.choice((4.0, 10.0, 25.0)) * max(temper.pace, 0.4)
        """From then on the caller is silent, the model only answers, and everything that runs is let go."""
        self.closed = False
        self.new_id = new_id
        self.voiced = options.silence is not None or rng.random() < 0.3
        """Sound takes its time, and the core is told of it."""
        self._prompt = prompt_voice(options, temper)
        self._detects_in = rng.choice((0.0, 0.2)) if temper.pace >= 1.0 else 0.0
        """Seconds of silence that the voice detector needs."""
        self._heap: list[tuple[float, int, object, object]] = []
        self._count = 0
        self._speaker = Loudspeaker(self)
        self._voices: dict[int, Voice] = {}
        self._by_segment: dict[int, Voice] = {}
        self._sources: dict[int, str] = {}
        self._tools: dict[int, Tool] = {}
        self._policies = draw_inverses(
            rng, {f"tool{n}": draw_policy(rng, temper) for n in range(rng.choice((1, 1, 2, 3)))}
        )
        if gated:
            self._policies = {name: replace(policy, confirm=policy.writes) for name, policy in self._policies.items()}
        self._arguments = ('{"x":1}', '{"x":2}')[: rng.choice((1, 1, 2))]
        self._called: list[tuple[str, str]] = []
        self._doubted: list[tuple[str, str]] = []
        self._dropped: list[tuple[str, str]] = []
        """Calls that were spoken over: a model that saw them in vain makes them again."""
        self._waiting: dict[object, list[Running]] = {}
        self._over: set[object] = set()
        self.tasks: dict[int, Task] = {}
        self._speeches: list[int] = []
        self._agents = ["a1"]
        self._entered = "a1"
        """The agent that began last: mostly the one in charge."""
        self._serial = 0
        self._is_talking = self._is_answering = False
        """The caller: there is one mouth."""
        self._called_out: set[str] = set()
        self._released: set[int] = set()
        """Runs that lost their call: what they return is mostly ignored."""
        self._perform: dict[type, Callable[[Any], None]] = {
            do.Generate: self._generate,
            do.Adopt: self._generate,
            do.CommitAudio: self._commit_audio,
            do.StopGenerating: self._stop_generating,
            do.Speak: self._speak,
            do.Discard: self._discard,
            do.Play: self._play,
            do.StopPlayout: self._stop_playout,
            do.PausePlayout: lambda _: self._speaker.pause(),
            do.ResumePlayout: lambda _: self._speaker.resume(),
            do.RunTool: self._run_tool,
            do.CancelTool: self._cancel_tool,
            do.ReleaseRun: self._release_run,
            do.RunHook: self._run_hook,
            do.PredictEndOfTurn: self._predict,
            SpeechDone: self._speech_done,
            ConsentAsked: self._asked,
            WriteEnded: self._write_ended,
            do.JudgeReply: self._judge,
            do.Close: self._close,
        }
        self.start(self._caller())
        if options.model_hears:
            self.start(self._model_of_its_own_accord())
        if rng.random() < temper.app:
            self.start(self._application())
        if rng.random() < temper.closes:
            self.start(self._hang_up(rng.uniform(0, self.calm_at)))

    # -- time

    @property
    def next_time(self) -> float | None:
        """When the world has something to do, or None."""
        return self._heap[0][0] if self._heap else None

    @property
    def calm(self) -> bool:
        return self.now >= self.calm_at

    def at(self, delay: float, what: object, value: object = None) -> None:
        """Do something `delay` seconds from now."""
        self._count += 1
        heapq.heappush(self._heap, (self.now + delay, self._count, what, value))

    def start(self, process: Process) -> Running:
        """Run a process, from now on."""
        running = Running(process)
        self.at(0.0, running)
        return running

    def step(self, now: float) -> f.Fact | None:
        """Do the next thing; the fact it reports, if it does."""
        self.now = now
        _, _, what, value = heapq.heappop(self._heap)
        if type(what) is Running:
            return self._advance(what, value)
        if callable(what):
            fact = what(value)
            return None if fact is None else self._noisy(fact)
        return self._noisy(what)  # type: ignore[arg-type]

    def _advance(self, running: Running, value: object) -> f.Fact | None:
        if running.stopped:
            return None
        try:
            said = running.process.send(value)
        except StopIteration:
            return None
        kind = type(said)
        if kind is float:
            self.at(said, running)  # type: ignore[arg-type]
            return None
        if kind is Open:
            number = self.new_id()
            self.at(0.0, running, number)
            return said.make(number)  # type: ignore[union-attr]
        if kind is Done or kind is Finished:
            if said in self._over:
                self.at(0.0, running)
            else:
                self._waiting.setdefault(said, []).append(running)
            return None
        self.at(0.0, running)
        return self._noisy(said)  # type: ignore[arg-type]

    def _noisy(self, fact: f.Fact) -> f.Fact:
        if self.rng.random() < self.temper.noise and isinstance(fact, KEYED):
            self.at(self.rng.choice((0.0, 0.1, 1.0, 7.0)), fact)
        return fact

    def wake(self, event: Done | Finished) -> None:
        """Let go on who waits for this."""
        self._over.add(event)
        for running in self._waiting.pop(event, ()):
            self.at(0.0, running)

    def perform(self, commands: Iterable[do.Command]) -> None:
        """Do what the conversation asks."""
        for command in commands:
            perform = self._perform.get(type(command))
            if perform is not None:
                perform(command)

    # -- small choices

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def some(self, low: float, high: float) -> float:
        return self.rng.uniform(low, high) * self.temper.pace

    def heavy(self) -> float:
        """A duration that is usually short and sometimes very long."""
        return min(self.rng.paretovariate(1.1) * 0.15, 40.0) * self.temper.pace

    def serial(self) -> int:
        self._serial += 1
        return self._serial

    def text(self, prefix: str) -> str:
        """A text that occurs once: its first word is a number."""
        words = self.rng.choices(WORDS, k=self.rng.choice((1, 2, 4, 8, 16)))
        return f"{prefix}{self.serial()} {' '.join(words)}"

    def call_out(self) -> str:
        """Whether somebody is there, in words that occur once."""
        while True:
            text = " ".join(self.rng.choices(CALLS_OUT, k=self.rng.choice((1, 1, 2, 3))))
            if text not in self._called_out or len(self._called_out) > 20:
                self._called_out.add(text)
                return text

    def speech(self) -> str:
        """What a model says: such a text, and sometimes a question, or one behind it."""
        text = self.text("m")
        if self.chance(0.6):
            return text
        if self.chance(0.5):
            return f"{text}. {self.rng.choice(WORDS)} {self.rng.choice(WORDS)}?"
        aside = Random(f"{text} {self.now}")
        more = aside.choices(WORDS, k=40) if aside.random() < 0.2 else []  # somebody can listen to it for a breath
        return f"{' '.join([text, *more])}?"

    # -- the caller

    def _caller(self) -> Process:
        rng = self.rng
        yield self.some(0.0, 2.0)
        while not self.calm:
            if self.options.turns.detection == "realtime_llm":
                yield from rng.choices((self._heard_turn, self._cough, self._typed), (0.7, 0.15, 0.15))[0]()
                yield self.some(0.1, 1.5) if self.chance(self.temper.barge) else self.some(1.0, 6.0)
                continue
            script = rng.choices(
                (
                    self._utterance,
                    self._cough,
                    self._backchannel,
                    self._typed,
                    self._chopped,
                    self._wavering,
                    self._farewell,
                    self._mumble,
                    self._monologue,
                    self._consent,
                    self._heard_again,
                    self._calls_out,
                ),
                (
                    0.44,
                    0.15,
                    0.1,
                    0.15,
                    0.1,
                    0.05,
                    0.01 + self.temper.ends / 2,
                    0.03,
                    0.2 if self._is_limited else 0.02,
                    0.08,
                    0.04,
                    0.05,
                ),
            )[0]
            while self._is_answering:
                yield 0.1
            self._is_talking = True
            yield from script()
            self._is_talking = False
            if self.chance(self.temper.barge):
                yield self.some(0.1, 1.5)
            else:
                yield self.some(1.0, 6.0)
        if self.options.turns.detection == "manual":
            yield 3.0
            yield f.UserTurnCommitRequested()

    def _words(self, text: str, *, lost: float = 0.03) -> Process:
        """Transcripts of one stretch of speech, the final one among them."""
        if not self.options.has_stt:
            return
        words = text.split()
        for n in range(1, len(words)):
            if self.chance(0.5):
                yield self.some(0.05, 0.3)
                yield f.Transcribed(" ".join(words[:n]), final=False)
        yield self.some(0.0, 0.2)
        if not self.chance(lost):
            yield f.Transcribed(text, final=True)

    def _utterance(self) -> Process:
        text = self.text("u")
        late = self.chance(0.5)
        yield f.UserSpeechStarted()
        yield self.some(0.05, 0.4)
        if self.chance(self.temper.app / 5):
            yield Open(self._request())
        if not late:
            yield from self._words(text)
        yield self.some(0.0, 0.3)
        yield self._silent()
        if late:
            yield from self._words(text)
        if self.options.turns.detection == "manual" and self.chance(0.7):
            yield self.some(0.0, 0.5)
            yield f.UserTurnCommitRequested()
        elif self.chance(0.02):
            yield f.UserTurnCleared()
        elif self.chance(0.05):
            yield f.UserTurnCommitRequested()

    def _silent(self) -> f.Fact:
        return f.UserSpeechEnded(self._detects_in)

    @property
    def _is_limited(self) -> bool:
        limit = self.options.turns.user_turn_limit
        return limit.max_words is not None or limit.max_duration is not None

    def _cough(self) -> Process:
        yield f.UserSpeechStarted()
        yield self.some(0.05, 0.9)
        yield self._silent()
        if self.options.has_stt and self.chance(0.4):
            yield self.rng.choice((0.1, 1.0, 2.5))
            yield f.Transcribed("", final=True)

    def _mumble(self) -> Process:
        """Speech that nobody understands, or thought to have understood."""
        yield f.UserSpeechStarted()
        if self.options.has_stt and self.chance(0.2):
            yield f.Transcribed(self.text("v"), final=False)
        yield self.rng.uniform(0.7, 2.0)
        yield self._silent()
        if self.options.has_stt and self.chance(0.5):
            yield self.some(0.0, 0.3)
            yield f.Transcribed("", final=True)

    def _monologue(self) -> Process:
        """A caller who does not stop."""
        yield f.UserSpeechStarted()
        for _ in range(self.rng.choice((2, 3, 5))):
            yield from self._words(self.text("u"))
            yield self.some(0.1, 1.0)
        yield self._silent()
        if self.chance(0.3):
            yield from self._words(self.text("u"))

    def _backchannel(self) -> Process:
        yield f.UserSpeechStarted()
        yield self.some(0.05, 0.2)
        yield self._silent()
        if self.options.has_stt:
            yield self.some(0.0, 0.7)
            words = f"u{self.serial()}" if self.chance(0.5) else self.rng.choice(("uh huh", "okay", "mm hmm"))
            yield f.Transcribed(words, final=True)

    def _consent(self) -> Process:
        """A word over the end of what the agent says."""
        left = self._speaker.left
        if left is not None:
            yield max(0.0, left - self.rng.uniform(0.0, 2.0 if left < 3.0 else left))
            progress = self._speaker.progress()
            if progress is not None:
                yield progress
        yield from self._backchannel()

    def _heard_again(self) -> Process:
        """Words that are a turn before they are final come again, perhaps with the next ones."""
        if not self.options.has_stt:
            return
        words = [f"u{self.serial()}" for _ in range(3)]
        yield f.UserSpeechStarted()
        for n in range(1, 4):
            yield f.Transcribed(" ".join(words[:n]), final=False)
        yield self._silent()
        yield self.rng.uniform(1.9, 3.0)
        if self.chance(0.5):
            yield f.UserSpeechStarted()
            yield 0.1
            words.append(f"u{self.serial()}")
        for n in range(1, len(words)):
            if self.chance(0.5):
                yield f.Transcribed(" ".join(words[:n]), final=False)
        yield f.Transcribed(" ".join(words), final=True)
        yield self._silent()

    def _farewell(self) -> Process:
        yield f.UserSpeechStarted()
        yield self.some(0.1, 0.4)
        if self.options.has_stt:
            yield f.Transcribed(self.rng.choice(("bye", "thanks, take care", "okay bye bye")), final=True)
        yield self.some(0.0, 0.2)
        yield self._silent()

    def _heard_turn(self) -> Process:
        """A turn that the model hears and ends, and the answer that it begins."""
        yield f.UserSpeechStarted()
        yield self.some(0.05, 0.9)
        yield self._silent()
        yield self.some(0.0, 0.4)
        text, wordless = self._heard_text(), self.chance(self.temper.wordless)
        answered = self.chance(0.8)
        turn = yield Open(lambda number: f.TurnTaken(number, None if wordless else text, answered))
        if wordless:
            self.start(self._words_of(turn, text))
        if answered and self.chance(self.temper.unasked):
            yield self.some(0.0, 0.6)
            yield from self._respond(turn)

    def _heard_text(self) -> str:
        if self.chance(0.1):
            return self.rng.choice(("uh huh", "okay"))
        return self.text("u")

    def _words_of(self, turn: int, text: str) -> Process:
        yield self.heavy()
        if not self.chance(0.1):
            yield f.TurnTranscribed(turn, text if self.chance(0.9) else "")

    def _respond(self, turn: int | None, *, to_results: bool = False) -> Process:
        agent = self._entered if self.chance(0.95) else self.rng.choice(self._agents)
        yield Open(lambda number: f.ResponseBegan(number, agent, turn, to_results))

    def _model_of_its_own_accord(self) -> Process:
        while not self.calm:
            yield self.some(2.0, 9.0)
            yield from self._respond(None, to_results=self.chance(0.3))

    def _commit_audio(self, command: do.CommitAudio) -> None:
        self.start(self._words_of(command.turn, self._heard_text()))

    def _typed(self) -> Process:
        yield f.UserTurnSubmitted(self.text("u") if self.chance(0.95) else self.call_out())

    def _calls_out(self) -> Process:
        """A turn, and soon behind it whether somebody is there."""
        yield from self._utterance() if self.chance(0.5) else self._typed()
        yield self.some(0.2, 1.5)
        text = self.call_out()
        if self.chance(0.3):
            yield f.UserTurnSubmitted(text)
            return
        yield f.UserSpeechStarted()
        yield self.some(0.05, 0.3)
        if self.options.has_stt:
            if self.chance(0.5):
                yield f.Transcribed(text[:5], final=False)
                yield self.some(0.0, 0.2)
            yield f.Transcribed(text, final=True)
        yield self._silent()

    def _types_soon(self) -> Process:
        """To an agent that has just begun, while the one before may still speak."""
        yield self.some(0.0, 1.0)
        yield from self._typed()

    def _chopped(self) -> Process:
        """One sentence with pauses in it."""
        for _ in range(self.rng.choice((2, 3))):
            yield f.UserSpeechStarted()
            yield from self._words(self.text("u"))
            yield self.some(0.0, 0.2)
            yield self._silent()
            yield self.some(0.1, 1.3)

    def _wavering(self) -> Process:
        """Voice that comes and goes without words, then speaks."""
        for _ in range(self.rng.choice((2, 3, 5))):
            yield f.UserSpeechStarted()
            yield self.some(0.01, 0.3)
            yield self._silent()
            yield self.some(0.01, 0.6)
        yield from self._utterance()

    def _predict(self, command: do.PredictEndOfTurn) -> None:
        if self.chance(0.8):
            slow = 4.0 if self.chance(0.2) else 1.0
            self.at(
                self.some(0.0, 0.3) * slow,
                f.EndOfTurnPredicted(command.version, self.rng.choice((0.1, 0.4, 0.7, 0.95))),
            )

    def _asked(self, notice: ConsentAsked) -> None:
        """The caller hears a question; often they answer, often too early, by voice, key or keyboard."""
        if self.chance(0.85):
            self.start(self._answers())

    def _answers(self) -> Process:
        yield self.rng.choice((0.1, 0.6, 1.5, 2.5, 5.0))
        while self._is_talking or self._is_answering:
            yield 0.1
        self._is_answering = True
        yield from self._replies()
        self._is_answering = False

    def _replies(self) -> Process:
        for _ in range(self.rng.choice((1, 1, 2))):
            if self.chance(0.2):
                yield f.ConsentGiven(self.chance(0.7), f"u{self.serial()}")
                continue
            words, _ = self.rng.choice(REPLIES)
            if self.chance(0.4):
                words = f"{words} u{self.serial()}"
            if self.options.turns.detection == "realtime_llm" or self.chance(0.2):
                yield f.UserTurnSubmitted(words)
                continue
            yield f.UserSpeechStarted()
            yield self.some(0.05, 0.4)
            if not self.options.has_stt:
                yield self._silent()
                continue
            yield from self._words(words)
            yield self._silent()
            if self.options.turns.detection == "manual":
                yield f.UserTurnCommitRequested()
            yield self.some(0.1, 1.0)

    def _judge(self, command: do.JudgeReply) -> None:
        if self.chance(0.2):
            return
        meaning = next((meaning for words, meaning in REPLIES if command.words.startswith(words)), None)
        self.at(self.rng.choice((0.1, 0.3, 0.7)), f.ReplyJudged(command.judgement, meaning))

    # -- the model

    def _generate(self, command: do.Generate | do.Adopt) -> None:
        rng, temper = self.rng, self.temper
        calls = self._calls() if self._wants_calls(command) else []
        says = "" if self.chance(temper.mute if not calls else 0.6) else self.speech()
        voice = Voice(command.gen, command.segment, says.split())
        fails = not self.calm and self.chance(temper.fail)
        hangs = not self.calm and self.chance(temper.hang)
        rng.shuffle(calls)
        self._begin(voice, self._generation(voice, calls, fails, hangs))

    def _begin(self, voice: Voice, process: Process) -> None:
        self._voices[voice.gen] = self._by_segment[voice.segment] = voice
        voice.ready = not self.voiced
        if self.voiced and len(voice.words) > 1 and not self.calm and self.chance(self.temper.dry):
            voice.dry = self.rng.randrange(1, len(voice.words))
        if not (voice.is_filler or self.calm) and self.chance(self.temper.soundless):
            text = " ".join(voice.words)
            voice.unsaid = f'{{"response": "{text}"}}' if text and self.chance(0.3) else text
            voice.ready = voice.ready and not text
        voice.running = self.start(process)

    def _wants_calls(self, command: do.Generate | do.Adopt) -> bool:
        if self.calm or len(self._called) > 60:
            return False
        if not command.tools:
            return self.chance(self.temper.disobey)
        return self.chance(self.temper.calls)

    def _calls(self) -> list[tuple[str, str]]:
        rng = self.rng
        calls = []
        for _ in range(rng.choice((2, 2, 3)) if self.chance(self.temper.parallel) else 1):
            if self._dropped and self.chance(self.temper.repeat):
                calls.append(self._dropped.pop())
            elif self._called and self.chance(self.temper.repeat):
                calls.append(rng.choice(self._called[-3:]))
            else:
                calls.append((rng.choice(list(self._policies)), rng.choice(self._arguments)))
        calls = self._tried_again(self._taken_back(calls))
        self._called += calls
        return calls

    def _generation(self, voice: Voice, calls: list[tuple[str, str]], fails: bool, hangs: bool) -> Process:
        yield self.some(0.0, 0.8)
        if hangs and self.chance(0.5):
            return
        if fails and self.chance(0.5):
            voice.complete = True
            voice.words = []
            yield f.GenerationFailed(voice.gen, "no connection")
            return
        if not self.calm and self.chance(self.temper.pause):
            yield f.StreamContinued(voice.gen, self.rng.choice((None, 15.0)))  # it thinks
            yield from self._pauses(voice)
        if voice.words:
            self._text_begins(voice)
            yield f.TextStarted(voice.gen)
            yield self.some(0.0, 0.5)
        for name, arguments in calls:
            yield self._called_fact(voice.gen, name, arguments)
            if self.chance(0.7):
                yield self.some(0.0, 0.3)
        if hangs or (not self.calm and self.chance(self.temper.pause)):
            yield from self._pauses(voice)
        if hangs:
            yield f.StreamPaused(voice.gen, 1.0, " ".join(voice.words) if voice.begun else "")
            return
        voice.complete = True
        self._speaker.text_known(voice)
        text = " ".join(voice.words) if not voice.unsaid or self.chance(0.5) else ""
        yield f.GenerationFailed(voice.gen, "stream broke", text) if fails else f.StepGenerated(voice.gen, text)

    def _pauses(self, voice: Voice) -> Process:
        """The stream stands still, and goes on."""
        yield 1.0
        yield f.StreamPaused(voice.gen, 1.0, " ".join(voice.words) if voice.begun else "")
        yield self.some(0.0, 3.0)
        yield f.StreamContinued(voice.gen)

    def _tried_again(self, calls: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """What nobody knows of is often tried again."""
        aside = Random(f"again {len(self._called)} {self.now}")
        return [aside.choice(self._doubted)] if self._doubted and aside.random() < 0.4 else calls

    def _taken_back(self, calls: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """What tools do that have an inverse is often taken back, and perhaps once more."""
        latest = next((call for call in reversed(self._called) if self._undo_of(call[0])), None)
        if latest is None:
            return calls
        aside = Random(f"{len(self._called)} {self.now}")
        if aside.random() < 0.5:
            return calls
        inverse = self._undo_of(latest[0]) or ""
        return [(inverse, latest[1])] if aside.random() < 0.8 else [(inverse, latest[1]), latest]

    def _undo_of(self, name: str) -> str | None:
        return self._policies[name].undo if name in self._policies else None

    def _called_fact(self, gen: int, name: str, arguments: str) -> f.Fact:
        policy = self._policies[name]
        rejected = "Error parsing arguments" if self.chance(0.05) else None
        call = f.Call(f"c{self.serial()}", name, arguments, arguments, confirmed=self.chance(0.3))
        if policy.confirm:
            spoken = f"x{self.serial()}"
            call = replace(call, read_back=f"{self.rng.choice(WORDS)} {spoken} now.", spoken=(spoken,))
        elif policy.writes and Random(call.call_id).random() < 0.7:  # it can be asked about, where nobody knows of one
            call = replace(call, read_back=f"alpha {call.call_id} now.", spoken=(call.call_id,))
        return f.ToolCalled(gen, call, policy, rejected)

    def _stop_generating(self, command: do.StopGenerating) -> None:
        voice = self._voices.get(command.gen)
        if voice is None or voice.running is None:
            return
        if not self.chance(self.temper.late):
            voice.running.stopped = True
        voice.complete = True
        self._speaker.text_known(voice)

    def _speak(self, command: do.Speak) -> None:
        text = command.text if command.text is not None else self._sources.get(command.speech, "")
        voice = Voice(command.gen, command.segment, text.split(), is_filler=command.ahead)
        fragile = command.text is None or (command.ahead and not self.temper.honest)
        self._begin(voice, self._speaking(voice, instant=not fragile))

    def _discard(self, command: do.Discard) -> None:
        voice = self._voices[command.gen]
        voice.gone = True
        if voice.running is not None and not self.chance(self.temper.late):
            voice.running.stopped = True

    # -- the voice

    def _text_begins(self, voice: Voice) -> None:
        voice.begun = True
        if self.voiced:
            self.more_sound(voice)

    def more_sound(self, voice: Voice) -> None:
        """There will be sound (again): mostly soon."""
        if voice.unsaid:
            return
        if voice.is_filler and self._prompt is not None:
            voice.dry = None
            self.at(self.rng.uniform(0.0, self._prompt), self._sound_made, voice)
        elif not self.calm and self.chance(self.temper.dumb):
            if self.chance(0.5):
                self.at(self.heavy(), self._voice_breaks, voice)
        elif not self.calm and self.chance(self.temper.slow_voice):
            self.at(min(self.heavy() * 6, 8.0), self._sound_made, voice)
        else:
            self.at(self.some(0.0, 0.3), self._sound_made, voice)

    def _sound_made(self, voice: Voice) -> f.Fact | None:
        if voice.gone and not self.chance(self.temper.late):
            return None
        voice.ready = True
        self._speaker.sound_made(voice)
        return f.SoundReady(voice.segment)

    def _voice_breaks(self, voice: Voice) -> f.Fact | None:
        voice.broken = True
        return self._speaker.breaks(voice)

    def _speaking(self, voice: Voice, *, instant: bool) -> Process:
        if not instant:
            yield self.some(0.0, 0.3)
            if not self.calm and self.chance(self.temper.fail):
                voice.complete = True
                voice.words = []
                yield f.GenerationFailed(voice.gen, "source broke")
                return
            if not self.calm and self.chance(0.1 if voice.is_filler else self.temper.hang):
                return
        if voice.words:
            self._text_begins(voice)
            yield f.TextStarted(voice.gen)
            if not instant:
                yield self.some(0.0, 0.5)
        voice.complete = True
        self._speaker.text_known(voice)
        yield f.StepGenerated(voice.gen, " ".join(voice.words))

    # -- the loudspeaker

    def _play(self, command: do.Play) -> None:
        voice = self._by_segment.get(command.segment)
        if voice is not None:
            stuck = not self.temper.honest and self.chance(self.temper.hang)
            self._speaker.play(voice, first=command.first, stuck=stuck)

    def _stop_playout(self, command: do.StopPlayout) -> None:
        if command.at_word:
            self._speaker.fade(command.segment, stuck=not self.temper.honest and self.chance(self.temper.hang * 2))
            return
        voice = self._by_segment.get(command.segment)
        if voice is not None:
            voice.gone = True
        heard = self._speaker.stop(command.segment)
        if heard is None or self.chance(self.temper.hang * 2):
            return
        self.at(self.rng.choice((0.0, 0.02, 0.3)), f.PlayoutFinished(command.segment, heard))

    # -- tools

    def _run_tool(self, command: do.RunTool) -> None:
        tool = Tool(command.run, Running(self._tool(command)), (command.call.name, command.call.arguments))
        self._tools[command.run] = tool
        self.at(0.0, tool.running)

    def _tool(self, command: do.RunTool) -> Process:
        temper, run = self.temper, command.run
        yield self.heavy()
        if self.chance(temper.protect):
            yield f.InterruptionsDisallowed(run)
            yield self.heavy()
        if self.chance(temper.talk):
            yield from self._talk(run=run, agent=None)
        if temper.app_interrupts and self.chance(0.2):
            yield f.InterruptRequested(None, force=self.chance(0.2), run=run)
            yield self.heavy()
        if self.chance(temper.task) and not self.calm:
            yield from self._ask(run=run, parent=None)
        if self.chance(temper.ends):
            goodbye, own = (yield Open(self._request(run=run))), Random(f"{run} {self.now}").random() < 0.4
            yield f.EndRequested(command.speech if own else goodbye, self.rng.choice((0.0, 2.0)))
            if self.chance(0.3):
                yield f.RunSuspended(run)
                yield Done(goodbye)
                yield f.RunResumed(run)
        if self.chance(temper.update):
            for n in range(self.rng.choice((1, 1, 2, 3))):
                yield f.ToolUpdated(run, f"update {n} of {command.call.call_id}", silent=self.chance(0.2))
                yield self.heavy()
        if not self.calm and self.chance(temper.hang * 2):
            return
        mine = [t for t, task in self.tasks.items() if task.agent == command.agent and not task.finished]
        completes = bool(mine) and self.chance(0.5)
        if completes:
            self._finish(mine[0])
        result = self._result(run)
        breaks = result.is_error and command.policy.writes and Random(f"breaks {command.call.call_id}").random() < 0.5
        yield replace(result, ends_task=completes, unknown=breaks)

    def _result(self, run: int) -> f.ToolReturned:
        dice = self.rng.random()
        if dice < 0.1:
            return f.ToolReturned(run, "An internal error occurred", is_error=True)
        if dice < 0.2:
            return f.ToolReturned(run, "", reply=False)
        handoff = 0.4 if run in self._released else self.temper.handoff
        if self.chance(handoff) and not self.calm:
            farewell = self.chance(0.5)
            agent = self._next_agent()
            return f.ToolReturned(
                run, f"r{self.serial()}" if farewell else "", reply=farewell, handoff=f.Handoff(agent, agent.upper())
            )
        return f.ToolReturned(run, f"r{self.serial()}")

    def _write_ended(self, notice: WriteEnded) -> None:
        """Where nobody knows what a tool did its backend, or a person, is mostly asked; perhaps they say it twice."""
        if notice.outcome == "unknown":
            self._doubted.append((notice.call.name, notice.call.arguments))
        aside = Random(f"found {notice.call.call_id} {self.now}")
        if notice.outcome == "unknown" and aside.random() < 0.7:
            for _ in range(aside.choice((1, 1, 1, 2))):
                found = f.OutcomeFound(notice.run, aside.random() < 0.5, f"w{self.serial()}")
                self.at(aside.choice((0.0, 0.3, 4.0)), found)

    def _next_agent(self) -> str:
        """Mostly an agent that nobody named before: who asked for it is then known by its name."""
        if self.chance(0.15):
            return self.rng.choice(self._agents)
        agent = f"a{self.serial() + 1}"
        self._agents.append(agent)
        return agent

    def _talk(self, *, run: int | None, agent: str | None) -> Process:
        """Say something or have something said, and sometimes wait for it."""
        speech = yield Open(self._request(run=run, agent=agent))
        if self.chance(0.5):
            waits = run is not None
            if waits:
                yield f.RunSuspended(run or 0)
            yield Done(speech)
            if waits:
                yield f.RunResumed(run or 0)

    def _request(self, *, run: int | None = None, agent: str | None = None) -> Callable[[int], f.Fact]:
        interruptible = not self.chance(self.temper.protect)
        if run is not None and self.chance(self.temper.filler):
            return self._filler(run, interruptible=interruptible)
        if self.chance(0.6):
            text = "" if self.chance(0.05) else self.text("s")
            record = not self.chance(0.1)

            def say(speech: int) -> f.Fact:
                self._sources[speech] = text
                self._speeches.append(speech)
                return f.SpeechRequested(
                    speech, "say", interruptible=interruptible, run=run, agent=agent, record=record
                )

            return say
        user_input = self.text("q") if run is None and agent is None and self.chance(0.2) else None

        def reply(speech: int) -> f.Fact:
            self._speeches.append(speech)
            return f.SpeechRequested(
                speech, "reply", "be brief", interruptible=interruptible, run=run, agent=agent, user_input=user_input
            )

        return reply

    def _filler(self, run: int, *, interruptible: bool) -> Callable[[int], f.Fact]:
        text = self.text("f6")

        def filler(speech: int) -> f.Fact:
            self._sources[speech] = text
            self._speeches.append(speech)
            return f.SpeechRequested(speech, "filler", interruptible=interruptible, run=run)

        return filler

    def _ask(self, *, run: int | None, parent: str | None) -> Process:
        """Await an AgentTask."""
        if run is not None:
            yield f.RunSuspended(run)
        agent = f"k{self.serial()}"

        def started(task: int) -> f.Fact:
            self.tasks[task] = Task(agent, run)
            return f.AgentTaskStarted(task, agent, run, parent)

        task = yield Open(started)
        if self.chance(0.3):
            self.start(self._types_soon())
        asks_long = self.chance(0.3)  # as long as the caller has anything to say
        self.at(self.heavy() * 3 + 0.1 + asks_long * max(self.calm_at - self.now, 0.0), lambda _: self._finish(task))
        if run is not None:
            self._tools[run].tasks.append(task)
            if self.temper.app_interrupts and self.chance(0.7):
                yield f.InterruptRequested(None, force=True)  # the agent of the task may want the same done again
        yield Finished(task)
        self.tasks[task].reported = True
        yield f.AgentTaskFinished(task)
        if run is not None:
            yield f.RunResumed(run)

    def _finish(self, task: int) -> None:
        self.tasks[task].finished = True
        self.wake(Finished(task))

    def _release_run(self, command: do.ReleaseRun) -> None:
        self._released.add(command.run)
        tool = self._tools.get(command.run)
        if tool is not None:
            self._dropped = [*self._dropped[-2:], tool.call]

    def _cancel_tool(self, command: do.CancelTool) -> None:
        tool = self._tools.get(command.run)
        if tool is None or (not self.calm and self.chance(0.15)):
            return  # It swallows the cancellation.
        tool.running.stopped = True
        self.start(self._cancelled(tool))

    def _cancelled(self, tool: Tool) -> Process:
        if self.chance(0.3):
            yield self.some(0.0, 0.5)
        for task in tool.tasks:
            if not self.tasks[task].reported:
                self.tasks[task].finished = self.tasks[task].reported = True
                yield f.AgentTaskFinished(task)
        yield f.ToolReturned(tool.run, "cancelled", is_error=True, unknown=True)

    # -- hooks

    def _run_hook(self, command: do.RunHook) -> None:
        if command.kind == "on_enter":
            self._entered = command.agent
        if command.kind == "on_user_turn_completed":
            self.start(self._turn_hook(command))
        else:
            self.start(self._agent_hook(command))

    def _turn_hook(self, command: do.RunHook) -> Process:
        yield from self._hook_time()
        if not self.calm and self.chance(self.temper.hang):
            return
        if self.chance(self.temper.rewrite):
            yield f.ContextChanged(command.agent)
        veto = self.chance(self.temper.veto)
        text = f"{command.text} edited" if command.text and self.chance(self.temper.rewrite) else None
        yield f.HookReturned(command.hook, text, veto, context_changed=self.chance(self.temper.rewrite))

    def _hook_time(self) -> Process:
        if self.chance(self.temper.slow_hook):
            yield min(self.heavy() * 4, 8.0)

    def _agent_hook(self, command: do.RunHook) -> Process:
        yield from self._hook_time()
        if self.chance(self.temper.talk) and not (command.kind == "on_exit" and self.calm):
            yield from self._talk(run=None, agent=command.agent)
        if command.kind == "on_enter" and not self.calm and self.chance(self.temper.task / 2):
            yield from self._ask(run=None, parent=command.agent)
        if not self.calm and self.chance(self.temper.hang):
            return
        yield f.HookReturned(command.hook)

    # -- the application

    def _application(self) -> Process:
        while not self.calm:
            yield self.some(0.3, 6.0)
            if self.calm:
                return
            deed = self.rng.choices(
                (self._app_speech, self._app_interrupt, self._app_handoff, self._app_task, self._app_cancel,
                 self._app_context, self._app_protect, self._app_models, self._orphaned),
                (0.45, 0.15, 0.06, 0.06, 0.06, 0.06, 0.06, 0.03, 0.07),
            )[0]  # fmt: skip
            yield from deed()

    def _app_speech(self) -> Process:
        yield Open(self._request())

    def _app_interrupt(self) -> Process:
        if self.temper.app_interrupts:
            speech = self.rng.choice(self._speeches) if self._speeches and self.chance(0.5) else None
            yield f.InterruptRequested(speech, force=self.chance(0.3))

    def _app_handoff(self) -> Process:
        yield f.HandOffRequested(self._next_agent())

    def _app_task(self) -> Process:
        yield from self._ask(run=None, parent=None)

    def _app_cancel(self) -> Process:
        if self._tools:
            yield f.RunCancelRequested(self.rng.choice(list(self._tools)))

    def _app_context(self) -> Process:
        item = AgentConfigUpdate(instructions=f"v{self.serial()}") if self.chance(0.7) else None
        yield f.ContextChanged(self._agents[-1], item)

    def _app_protect(self) -> Process:
        if self._speeches:
            yield f.InterruptibilityChanged(self.rng.choice(self._speeches[-2:]), self.chance(0.5))

    def _app_models(self) -> Process:
        """Other models, and the same language anew: nothing that is open may notice."""
        old = self.options
        yield f.ModelsChanged(
            tts=f"voice {self.serial()}",
            language=LanguageOptions(
                replace(old.language),
                old.fallback_line,
                old.failure_line,
                old.unheard_line,
                replace(old.consent.lines),
                old.consent.phrases,
                None if old.silence is None else replace(old.silence.fillers),
                None if old.away_ladder is None else replace(old.away_ladder),
            ),
        )

    def _orphaned(self) -> Process:
        """Facts about things that never were."""
        number = self.rng.choice((0, 999_983))
        yield self.rng.choice(
            (
                f.PlayoutFinished(number, "never said"), f.ToolReturned(number, "never run"), f.HookReturned(number),
                f.StepGenerated(number, "never asked"), f.TextStarted(number), f.ToolUpdated(number, "never run"),
                f.AgentTaskFinished(number), f.RunSuspended(number), f.EndOfTurnPredicted(number, 0.99),
                f.SoundReady(number), f.PlayoutStarved(number), f.StreamPaused(number, 1.0), f.StreamContinued(number),
                f.UserSpeechEnded(), f.InterruptRequested(999_983) if self.temper.app_interrupts else f.RunResumed(7),
            )
        )  # fmt: skip

    def _hang_up(self, delay: float) -> Process:
        yield delay
        yield f.CloseRequested(drain=self.chance(0.4))
        if self.chance(0.3):
            yield self.some(0.0, 2.0)
            yield f.CloseRequested(drain=False)

    def _speech_done(self, notice: SpeechDone) -> None:
        self.wake(Done(notice.speech))

    def _close(self, _: do.Close) -> None:
        self.closed = True


KEYED = (
    f.TextStarted, f.StepGenerated, f.GenerationFailed, f.PlayoutStarted, f.PlayoutProgressed, f.PlayoutFinished,
    f.ToolReturned, f.InterruptionsDisallowed, f.HookReturned, f.AgentTaskFinished, f.TurnTranscribed, f.SoundReady,
    f.PlayoutStarved, f.StreamPaused, f.StreamContinued,
)  # fmt: skip
"""Facts that may come twice. A call or an update that comes twice is another call or update."""


class Loudspeaker:
    """Sounds one segment after the other, at `WORD` seconds a word, and reports what was heard."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._queue: list[Sound] = []
        self._paused = False

    def play(self, voice: Voice, *, first: bool, stuck: bool) -> None:
        """`first`: before what does not sound."""
        sound = Sound(voice, stuck=stuck)
        if first:
            if self._queue:
                self._settle(self._queue[0])
            self._queue.insert(0, sound)
        else:
            self._queue.append(sound)
        if voice.broken:
            self._world.at(0.0, self.breaks, voice)
        self._go_on()

    def text_known(self, voice: Voice) -> None:
        """All text is there: the end can be told."""
        if self._queue and self._queue[0].voice is voice:
            if self._queue[0].since is None:
                self._go_on()
            else:
                self._schedule(self._queue[0])

    def sound_made(self, voice: Voice) -> None:
        """There is sound of it."""
        if self._queue and self._queue[0].voice is voice:
            self._go_on()

    def breaks(self, voice: Voice) -> f.Fact | None:
        """The rest of it will never sound."""
        for sound in self._queue:
            if sound.voice is voice:
                self._settle(sound)
                self._queue.remove(sound)
                self._go_on()
                return f.PlayoutFinished(voice.segment, self._heard(sound), failed=True)
        return None

    @property
    def left(self) -> float | None:
        """Seconds until what sounds has ended, as far as its text is known; None: nothing does."""
        sound = self._queue[0] if self._queue else None
        if sound is None or sound.since is None or not sound.voice.complete:
            return None
        return (len(sound.voice.words) - sound.position) * self._word() - (self._world.now - sound.since)

    def progress(self) -> f.Fact | None:
        """How much was heard by now."""
        if not self._queue or self._queue[0].since is None:
            return None
        self._schedule(self._queue[0])
        return f.PlayoutProgressed(self._queue[0].voice.segment, self._heard(self._queue[0]))

    def pause(self) -> None:
        self._paused = True
        if self._queue:
            self._settle(self._queue[0])

    def resume(self) -> None:
        self._paused = False
        self._go_on()

    def stop(self, segment: int) -> str | None:
        """Silence a segment; what was heard of it, or None if it was not here."""
        for sound in self._queue:
            if sound.voice.segment == segment:
                self._settle(sound)
                self._queue.remove(sound)
                heard = self._heard(sound)
                self._go_on()
                return heard
        return None

    def fade(self, segment: int, *, stuck: bool) -> None:
        """End a segment with the word that sounds."""
        for sound in self._queue:
            if sound.voice.segment == segment:
                sounds = sound.since is not None
                self._settle(sound)
                whole = len(sound.voice.words)
                sound.end = min(int(sound.position) + sounds, whole if sound.voice.dry is None else sound.voice.dry)
                sound.stuck = sound.stuck or stuck
                if sounds:
                    sound.since = self._world.now
                    self._schedule(sound)
                elif not stuck:
                    self._world.at(0.0, self._ended, (sound, sound.ticket))
                return

    def _word(self) -> float:
        return WORD * min(self._world.temper.pace, 1.0)

    def _settle(self, sound: Sound) -> None:
        sound.ticket += 1
        if sound.since is not None:
            sound.position += (self._world.now - sound.since) / self._word()
            sound.since = None

    def _heard(self, sound: Sound) -> str:
        return " ".join(sound.voice.words[: int(sound.position)])

    def _go_on(self) -> None:
        if self._paused or not self._queue or self._queue[0].since is not None:
            return
        sound = self._queue[0]
        if sound.voice.unsaid:
            if sound.voice.complete and not sound.stuck:
                self._world.at(0.0, self._ended, (sound, sound.ticket))
        elif sound.voice.complete and sound.position >= len(sound.voice.words) and not sound.stuck:
            self._world.at(0.0, self._ended, (sound, sound.ticket))
        elif sound.voice.ready:
            self._world.at(0.0, self._begins, sound)

    def _begins(self, sound: Sound) -> f.Fact | None:
        if self._paused or sound.since is not None or not sound.voice.ready:
            return None
        if not self._queue or self._queue[0] is not sound:
            return None
        sound.since = self._world.now
        self._schedule(sound)
        if sound.started:
            return None
        sound.started = True
        return f.PlayoutStarted(sound.voice.segment)

    def _schedule(self, sound: Sound) -> None:
        if sound.since is None or sound.stuck:
            return
        self._settle(sound)
        sound.since = self._world.now
        voice = sound.voice
        end = sound.end if sound.end is not None else voice.dry if voice.dry is not None else len(voice.words)
        left = (end - sound.position) * self._word()
        about = (sound, sound.ticket)
        if left > 1.0:
            self._world.at(1.0, self._progressed, about)
        elif sound.end is not None or (voice.complete and voice.dry is None):
            self._world.at(max(left, 0.0), self._ended, about)
        elif self._world.voiced:
            self._world.at(max(left, 0.0), self._starves, about)
        elif left > 0.0:
            self._world.at(1.0, self._progressed, about)

    def _progressed(self, about: tuple[Sound, int]) -> f.Fact | None:
        sound, ticket = about
        if ticket != sound.ticket:
            return None
        self._schedule(sound)
        return f.PlayoutProgressed(sound.voice.segment, self._heard(sound))

    def _starves(self, about: tuple[Sound, int]) -> f.Fact | None:
        sound, ticket = about
        if ticket != sound.ticket:
            return None
        self._settle(sound)
        voice = sound.voice
        sound.started = voice.ready = False
        if voice.dry is not None:
            sound.position = float(voice.dry)
            voice.dry = None
            self._world.more_sound(voice)
        else:
            sound.position = float(len(voice.words))
        return f.PlayoutStarved(voice.segment)

    def _ended(self, about: tuple[Sound, int]) -> f.Fact | None:
        sound, ticket = about
        if ticket != sound.ticket or sound not in self._queue:
            return None
        self._queue.remove(sound)
        self._go_on()
        words = sound.voice.words
        if sound.voice.unsaid:
            return f.PlayoutFinished(sound.voice.segment, "", self._world.chance(0.3), sound.voice.unsaid)
        return f.PlayoutFinished(sound.voice.segment, " ".join(words if sound.end is None else words[: sound.end]))


def quieter(temper: Temper) -> Temper:
    """The same session without anything hanging, late or doubled."""
    return replace(temper, hang=0.0, late=0.0, noise=0.0, lag=0.0, fail=0.0)
