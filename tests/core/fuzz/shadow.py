"""An observer of one conversation that sees facts and commands, knows nothing of the core, and checks its promises.

`observe` is called after every fact or tick with what went in and what came out. The shadow keeps its own picture
(which generations, segments, runs and speeches exist, and what became of them) and raises `Violation` as soon as a
promise is broken. `at_rest` checks what must hold once the world has answered everything, `at_end` what must hold after
`Close`.

The promises, by the word a `Violation` begins with:

- pairs: a call stands beside its output, in the history and in every request; call ids are unique
- heard: only heard text is recorded as said, and all of it, once
- one voice: at most two segments in the sink, the first complete; only segments with text; nothing new while one is cut
- turns: what was understood becomes a turn, a turn is answered or vetoed, no turn is taken in the middle of a hand-off
- cancelled: nothing is generated, spoken or run for what is done, interrupted or stopped
- rounds: never more rounds with tools than allowed; a call made without tools never runs
- adoption: nothing runs beside an orphan of the same name and arguments; an orphan's hand-off is never made
- wishes: as `wishes.py` says
- kept: what must not be lost (a write, a background tool, its final result) is in the history
- protected: what may not be interrupted is not cut by the caller
- barge-in: the line pauses at once, is cut on words, and is not paused for nothing
- handles: every requested speech is done exactly once
- liveness: what is unfinished has a deadline or the caller has the floor; no deadline lies in the past
- unasked: a response that the model began is adopted or declined, once; a turn without words is answered, too
- silence: work that is pending is never silent for longer than the budget allows; what bridges it is said when it is
  due and not before, over nobody, before what does not sound; it ends for something better, and leaves no trace
- ahead: what is made ahead is released or discarded, once; before that nothing of it is played, run, recorded or told,
  and what is released is what would be asked for now
- limits: a turn that is too long is taken; a caller is away only when nothing is owed or done, and long enough
- rest, end: as `at_rest` and `at_end` say

Where the core may rightly assume that something is over because its time is up, the shadow computes that bound by
itself.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from antiphon.chat import AgentConfigUpdate, AgentHandoff, ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from antiphon.options import SessionOptions
from tests.core.fuzz.wishes import Wishes

STOP_BOUND = 0.5
"""Seconds after which a stopped segment counts as gone."""

FADE_BOUND = 2.0
"""Seconds after which a filler that ends with its word counts as gone."""

RESUME_GRACE = 0.5
"""Seconds that a tool has, after it waited for the caller, before it may be spoken over."""

EPSILON = 1e-6


def is_filler(text: str) -> bool:
    """The text is a line that bridges a wait: its first word is `f` and a number."""
    return text[:1] == "f" and text.split()[0][1:].isdigit()


def _is_told_apart(text: str) -> bool:
    """The text holds a word that occurs once in a session: it is not a backchannel, and can be followed."""
    return any(word[0] == "u" and word[1:].isdigit() for word in text.split())


def _only_listens(text: str) -> bool:
    """The text is one of the world's backchannels, or a few of them."""
    words = text.split()
    return 0 < len(words) <= 3 and all(word in ("uh", "huh", "mm", "hmm", "okay") for word in words)


class Violation(AssertionError):
    """The conversation broke a promise."""


class Place(enum.Enum):
    """Where a segment is."""

    HELD = "not given to the loudspeaker"
    PLAYING = "given to the loudspeaker"
    STOPPING = "being silenced"
    GONE = "over"


@dataclass(slots=True, eq=False)
class Speech:
    number: int
    request: f.SpeechRequested | None = None
    interruptible: bool = True
    done: bool = False
    interrupted: bool = False
    heard: bool = False
    maybe_heard: bool = False
    """Heard, but reported so late that the core may count it as unheard."""
    excused: bool = False
    """The application interrupted it: what it owed is no longer owed."""
    mute: bool = False
    """Asked for by a run that had lost its call: never to be heard."""
    filler: str = ""
    """The line it says, if all it does is to bridge a wait."""
    rounds: int = 0
    generated: bool = False
    said: bool = False
    """It had text to say."""
    delivers: tuple[str, ...] = ()
    """Results that it was made to tell."""
    ran: bool = False
    """A tool ran for it."""
    latest: Gen | None = None
    """What was last asked for it."""
    failed: bool = False
    """One of its generations failed or took too long, or its voice gave no sound for what it said."""
    lost: str = ""
    """A text that its voice gave no sound for, while nothing was heard since."""
    again: bool = False
    """Such a text was said once more."""
    apologised: bool = False
    """A line of the session's own was said in the place of what failed."""
    says_goodbye: bool = False
    begun_for: list[Turn] = field(default_factory=list)
    """Turns that it had in its context from the beginning."""
    carries: set[str] = field(default_factory=set)
    """Ids of calls whose results its requests told the model to speak about."""


@dataclass(slots=True, eq=False)
class Gen:
    number: int
    speech: Speech
    segment: Segment
    agent: str
    tools: bool
    expires: float
    open: bool = True
    stopped: bool = False
    begun: bool = False
    paused: str | None = None
    """It stands still, and this is spoken of it so far."""
    text: str | None = None
    """All of its text, once known."""
    failed: bool = False
    held: bool = False
    """Made ahead, and neither released nor discarded."""
    basis: Basis | None = None
    """For a request that was made ahead."""
    calls: list[CallMade] = field(default_factory=list)
    is_asked: bool = True
    """A model makes it."""


@dataclass(slots=True)
class Basis:
    """What a request was made with."""

    command: do.Generate
    seen: int
    """Items that the agent's context held then."""
    changes: int


@dataclass(slots=True, eq=False)
class Segment:
    number: int
    gen: int
    speech: Speech
    place: Place = Place.HELD
    since: float = 0.0
    """When it came to its place, or last sounded."""
    heard: str | None = None
    progress: str = ""
    recorded: bool = False
    stalled: bool = False
    """It should have sounded on long ago: the core may count it as over."""
    ready: bool = False
    """There is sound of it to be heard."""
    sounding: bool = False
    """It is heard, unless the line is paused or something stands before it."""
    fading: bool = False
    """It ends with the word that sounds."""
    faded: float = 0.0
    """When it was told so."""
    overtaken: bool = False
    """Something was put before it that plays first: its clock stands."""
    put_first: bool = False
    """It was put before others."""
    spent: float = 0.0
    """What its clock showed when something was put before it."""


@dataclass(slots=True, eq=False)
class CallMade:
    call: f.Call
    gen: Gen
    policy: Any
    rejected: bool
    run: Run | None = None
    adopted: bool = False
    recorded: bool = False


@dataclass(slots=True, eq=False)
class Run:
    number: int
    made: CallMade
    speech: Speech
    started: float
    expires: float
    frame: int | None = None
    """The task in whose frame its call was made; 0 is the session's own."""
    released: bool = False
    spoken_over: bool = False
    """The caller spoke over it, and it was kept."""
    updated: bool = False
    protected: bool = False
    must_keep: bool = False
    suspended: bool = False
    ever_suspended: bool = False
    cancelled: bool = False
    asked_to_cancel: bool = False
    result: f.ToolReturned | None = None
    finals: bool = False
    """Its end is to be recorded as a pair of its own."""

    @property
    def orphan(self) -> bool:
        """It lost its call and can still be adopted, for all we know."""
        return self.released and not self.cancelled and (self.result is None or not self.result.is_error)


@dataclass(slots=True, eq=False)
class Turn:
    text: str
    agents: set[str] = field(default_factory=set)
    """Whose context has it."""
    recorded: bool = False
    carriers: list[Speech] = field(default_factory=list)
    """Speeches with it in their context."""
    begun: list[Speech] = field(default_factory=list)
    """Replies that had it in their context from the beginning."""


def _words_of(item: ChatItem) -> tuple[object, ...]:
    """What a request shows of an item, without its id and time."""
    return type(item), getattr(item, "role", ""), getattr(item, "text_content", None) or getattr(item, "call_id", "")


class Hush:
    """The silence budget, as the caller hears it.

    `prompt`: in this session a line that was made ahead sounds within so many seconds, facts and ticks come in time,
    and no sound is stuck; None: that is not known, and silences are not measured.
    """

    def __init__(self, shadow: Shadow, prompt: float | None) -> None:
        self._shadow = shadow
        self._budget = shadow.options.silence
        fillers = self._budget.fillers if self._budget is not None else None
        self._is_complete = fillers is not None and all((fillers.short, fillers.long, fillers.progress))
        self._prompt = prompt
        self._quiet_since: float | None = 0.0
        """None: somebody is heard."""
        self._words_at = 0.0
        self._speaking = False
        self._pending_since: float | None = None
        self._due: float | None = None
        """When a line must have been given to the voice; None: that is not certain."""
        self._results_at = float("-inf")
        self._results_of = 0
        """The speech whose round it was."""
        self._own_lines: dict[str, set[str]] = {}
        """By a tool's own line: the calls for which it may have been said since somebody else was heard."""
        self._own_said: Counter[str] = Counter()
        self._bridge: Speech | None = None
        """The line that was said last, or is being said."""
        self._bridged_at = float("-inf")
        self._is_held_up = False
        self._faded: Speech | None = None
        """The line that gave way to something better, and when."""
        self._faded_at = 0.0
        self._held_up_until = 0.0
        """When the line was last paused, or somebody heard."""
        self._offered = False

    # -- what happens

    def before(self, now: float) -> None:
        """Time passed until `now`, and nothing happened meanwhile."""
        if self._due is not None and now > self._due + EPSILON:
            shadow = self._shadow
            since = max(self._quiet_since or 0.0, self._pending_since or 0.0)
            raise Violation(
                f"silence: nobody is heard from {since:.3f} to {now:.3f} (since {shadow.last:.3f} nothing happened); "
                f"due was {self._due:.3f}"
            )

    def faded(self, speech: Speech) -> None:
        """A line ends for something that could be heard."""
        self._faded, self._faded_at = speech, self._shadow.now

    def answered(self) -> None:
        """Something other than a filler is heard."""
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._offered = False
        self._own_lines.clear()
        self._own_said.clear()

    def said_without_voice(self) -> None:
        """Words came, and no voice was heard that they belong to: the caller was heard until now."""
        self._words_at = self._shadow.now

    def results_in(self, speech: int) -> None:
        """A round of tools is over."""
        self._results_at = self._shadow.now
        self._results_of = speech

    def released(self, gen: Gen) -> None:
        """A line that was made ahead is to be said."""
        shadow, budget = self._shadow, self._budget
        shadow.counters["filler said"] += 1
        if budget is None:
            raise Violation(f"silence: {gen.speech.filler!r} is said, and there is no budget")
        if shadow.speaking:
            raise Violation(f"silence: {gen.speech.filler!r} is said over the caller")
        fillers = budget.fillers
        text = gen.speech.filler
        if text == fillers.offer:
            if self._offered:
                raise Violation("silence: the offer is made a second time")
            self._offered = True
            shadow.counters["offer"] += 1
        elif text not in (*fillers.short, *fillers.long, *fillers.progress):
            self._check_own_line(text)
            shadow.counters["filler of a tool"] += 1
        if not self._may_be_pending():
            raise Violation(f"silence: {text!r} is said, and nothing is owed")
        told = shadow.speeches.get(self._results_of)
        asked = any(self._is_at_work(one, shadow.frames[-1][1]) for one in shadow.asked.values() if one.speech is told)
        if (
            told is not None
            and asked
            and not told.interrupted
            and shadow.now < self._results_at + budget.grace - EPSILON
        ):
            raise Violation(f"silence: {text!r} is said, and the results came at {self._results_at:.3f}")
        if self._prompt is not None:
            if self._quiet_since is None:
                raise Violation(f"silence: {text!r} is said while somebody is heard")
            waited = shadow.now - max(self._quiet_since, self._bridged_at)
            if waited < budget.max_silence - EPSILON:
                raise Violation(f"silence: {text!r} is said after {waited:.3f} s")
        self._bridge, self._bridged_at = gen.speech, shadow.now

    def _check_own_line(self, text: str) -> None:
        """A tool's own line is said while the tool runs, and once for each call."""
        running = {run.made.call.call_id for run in self._shadow.live.values() if run.made.policy.filler == text}
        if not running:
            raise Violation(f"silence: {text!r} is said for no tool that runs")
        calls = self._own_lines.setdefault(text, set())
        calls |= running
        self._own_said[text] += 1
        if self._own_said[text] > len(calls):
            raise Violation(f"silence: {text!r} is said {self._own_said[text]} times for {len(calls)} calls")

    # -- what is heard

    def after(self) -> None:
        """What follows from the entry at hand."""
        shadow = self._shadow
        if self._budget is None:
            return
        if shadow.speaking:
            self._begin_anew()
        self._check_better()
        if self._prompt is None:
            return
        audible = self._is_audible()
        if audible:
            self._faded = None
        is_held_up = shadow.paused or audible
        if is_held_up or self._is_held_up:
            self._held_up_until = shadow.now
        self._is_held_up = is_held_up
        if audible:
            self._quiet_since = None
        elif self._quiet_since is None:
            at = shadow.silent_since if self._speaking else None
            self._quiet_since = shadow.now if at is None else at
        self._speaking = shadow.speaking
        if not self._is_pending():
            self._pending_since = None
        elif self._pending_since is None:
            self._pending_since = shadow.now
        self._due = self._next_due()

    def _is_audible(self) -> bool:
        shadow = self._shadow
        first = shadow.first
        return shadow.speaking or (
            first is not None and first.place is Place.PLAYING and first.sounding and not shadow.paused
        )

    def _check_better(self) -> None:
        """A filler that sounds ends at a word as soon as what is behind it can be heard."""
        sink = [one for one in self._shadow.sink if not self._shadow._gone_by_now(one)]
        if len(sink) < 2 or self._shadow.paused or self._shadow.closing or self._shadow.may_end:
            return
        first, other = sink[:2]
        if not first.speech.filler or first.place is not Place.PLAYING or first.fading:
            return
        if other.ready and not other.sounding and not other.speech.filler and other.place is Place.PLAYING:
            raise Violation(f"silence: {first.number} bridges a wait, and {other.number} could be heard")

    def _next_due(self) -> float | None:
        """When the silence must be bridged, at the latest."""
        shadow, budget = self._shadow, self._budget
        assert budget is not None and self._prompt is not None
        if self._quiet_since is None or self._pending_since is None or not self._is_complete:
            return None
        if shadow.closing or shadow.may_end or shadow.paused or shadow.leaving or shadow.voice_lost:
            return None
        bridge = self._bridge
        if any(one.place is Place.STOPPING or one.stalled or shadow._gone_by_now(one) for one in shadow.sink):
            return None
        if bridge is not None and not bridge.done:  # It is about to be heard, or was cut.
            return None if bridge.interrupted else max(self._bridged_at, self._held_up_until) + self._prompt
        first = shadow.first
        if first is not None and (first.ready or first.speech.filler):
            return None
        if bridge is not None and bridge is self._faded and not bridge.heard:
            return max(self._faded_at, self._held_up_until) + self._prompt  # what it gave way to is to be heard
        since = max(self._quiet_since, self._words_at, self._pending_since, self._bridged_at)
        return max(since + budget.max_silence, self._results_at + budget.grace, shadow.now)

    # -- what is pending

    def _is_pending(self) -> bool:
        """Something is certainly owed: a few things that can be told from outside."""
        shadow = self._shadow
        agent = shadow.frames[-1][1]
        if any(hook.kind == "on_user_turn_completed" and shadow.now < end for hook, end in shadow.hooks.values()):
            return True
        if shadow.waiting_words and shadow.options.turns.detection in ("vad", "stt") and not shadow.may_end:
            return True
        if any(self._is_at_work(gen, agent) for gen in shadow.asked.values()):
            return True
        if any(self._is_awaited(run) for run in shadow.live.values()):
            return True
        return any(
            shadow.gens[one.gen].agent == agent and not one.speech.filler and not one.speech.interrupted
            for one in shadow.sink
            if one.place is Place.PLAYING and not one.stalled
        )

    def _may_be_pending(self) -> bool:
        """Something is perhaps owed."""
        shadow = self._shadow
        since = shadow.silent_since
        bound = shadow.options.transcript_timeout + shadow.options.prediction_timeout
        return bool(
            any(gen.open and not gen.speech.filler for gen in shadow.asked.values())
            or any(
                not (run.suspended or run.updated or run.spoken_over or run.released) for run in shadow.live.values()
            )
            or any(made.run is None and not (made.recorded or made.gen.speech.done) for made in shadow.calls.values())
            or shadow.hooks
            or shadow.has_words
            or shadow.waiting_words
            or (since is not None and shadow.now <= since + bound + EPSILON)
            or any(all(one.done for one in turn.carriers) for turn in shadow.unanswered.values())
            or shadow.half_answered
            or shadow.wordless
            or any(not one.speech.filler for one in shadow.sink)
            or any(not speech.filler for speech in shadow.requested)
            or shadow.responses
            or shadow.leaving
            or shadow.heard_turns
            or shadow.wanted
        )

    def _is_at_work(self, gen: Gen, agent: str) -> bool:
        speech = gen.speech
        return gen.open and gen.agent == agent and not (speech.filler or speech.done or speech.interrupted)

    def _is_awaited(self, run: Run) -> bool:
        """A call of the agent in charge waits for it."""
        shadow, speech = self._shadow, run.speech
        return (
            not (run.updated or run.spoken_over or run.released or run.ever_suspended or run.cancelled)
            and not (speech.done or speech.interrupted or run.made.recorded or speech.filler)
            and shadow.now < run.expires
            and run.frame is not None
            and run.frame == shadow.frames[-1][0]
        )


class Shadow:
    """Watches one conversation. `counters` tells how often what happened."""

    def __init__(
        self,
        options: SessionOptions,
        agent: str = "a1",
        counters: Counter[str] | None = None,
        prompt_voice: float | None = None,
    ) -> None:
        self.options = options
        self.hush = Hush(self, prompt_voice)
        self.wishes = Wishes(self._fail)
        self.asked: dict[int, Gen] = {}
        """Generations under way that are not held."""
        self.held: dict[int, Gen] = {}
        """What is made ahead."""
        self.changes = 0
        """Changes of what requests show, other than by what is recorded."""
        self.voiced = False
        """The caller's voice was heard in the turn at hand."""
        self.has_words = False
        """Words were understood since the last turn."""
        self.taken_words: set[str] = set()
        """Words of the turns that were taken; the final words of an interim text come later, and are no turn."""
        self.exceeded = False
        """The turn at hand is too long and is taken as it is."""
        self.overruled = False
        """The agent has the word although the caller speaks."""
        self.turn_began: float | None = None
        self.quiet_for_long: float | None = None
        """Since when nothing has been done or owed, as far as can be told; None: something is."""
        self.nothing_since: float | None = None
        """Since when certainly nothing has."""
        self.away = False
        self.tries = 0
        """Requests made ahead for the turn at hand."""
        self.tried = ""
        """The words that the latest of them was made for."""
        self.idle = self.was_idle = False
        """After the entry at hand, and after the one before."""
        self.counters: Counter[str] = Counter() if counters is None else counters
        self.now = 0.0
        self.last = 0.0
        """The time of the entry before this one: bounds up to then have been enforced."""
        self.due: float | None = None
        """The deadline after the entry before this one."""
        self.fact: f.Fact | None = None
        self.speeches: dict[int, Speech] = {}
        self.gens: dict[int, Gen] = {}
        self.segments: dict[int, Segment] = {}
        self.sink: list[Segment] = []
        self.runs: dict[int, Run] = {}
        self.live: dict[int, Run] = {}
        """Runs that have not ended."""
        self.orphans: list[Run] = []
        self.calls: dict[str, CallMade] = {}
        self.hooks: dict[int, tuple[do.RunHook, float]] = {}
        self.items: list[ChatItem] = []
        self.records: dict[str, list[ChatItem]] = {}
        self.known: dict[str, set[str]] = {}
        """Ids of the items in each agent's context."""
        self.recorded_calls: set[str] = set()
        self.shown_calls: set[str] = set()
        self.waiting_words: list[str] = []
        self.heard_words: set[str] = set()
        self.typed: set[str] = set()
        self.commit_asked = False
        self.silent_since: float | None = None
        self.asked_version: int | None = None
        """The version of the turn that the detector was asked about and that still stands."""
        self.probability: float | None = None
        self.said_last = ""
        """The first of the latest words that no turn has taken."""
        self.turn_texts: list[str] = []
        self.vetoed: list[str] = []
        self.expected_turns: list[str] = []
        self.unanswered: dict[str, Turn] = {}
        self.answered: set[str] = set()
        self.half_answered: dict[str, Turn] = {}
        """Turns that a speech knew of which was not begun for them: the core may answer them once more."""
        self.said_to: dict[str, int] = {}
        """The frame in charge when a turn was taken."""
        self.frames: list[tuple[int, str]] = [(0, agent)]
        self.tasks: dict[int, f.AgentTaskStarted] = {}
        self.asked_in: dict[int, int | None] = {}
        """The frame that a tool's task takes the floor of."""
        self.leaving: set[str] = set()
        self.wanted: Counter[str] = Counter()
        """Agents that somebody entitled to it asked for."""
        self.wanted_in: dict[str, int | None] = {}
        """In which frame; None if that cannot be told."""
        self.requested: set[Speech] = set()
        self.speaking = False
        self.paused = False
        self.words_since_start = 0
        self.close_at: float | None = None
        self.close_grace = 0.0
        self.closing = False
        self.closed = False
        self.resumed_until = 0.0
        """A tool that comes back from the caller has a moment to end before it is spoken over."""
        self.voice_lost = False
        """Nothing was heard of what was last to be heard: the voice may be dead."""
        self.lost_at = -1.0
        """When words were last said to be lost."""
        self.responses: dict[int, f.ResponseBegan] = {}
        """Begun by the model, neither adopted nor declined."""
        self.heard_turns: dict[int, str] = {}
        """Turns that the model took, and their words; "" while they are not known."""
        self.words_due: dict[int, float] = {}
        """When their words come too late."""
        self.wordless: set[int] = set()
        """Those that were committed without words and are to be answered."""
        self.committed_wordless: set[int] = set()
        self.may_end = False
        """A goodbye was asked for, and the caller has not gone on since."""
        self.committed_now = False
        """A turn was taken in this entry, and it says more than that the caller listens."""
        self.released_now = False
        """A call lost its place in this entry."""
        self.was_shielded = False
        """A tool that must not be interrupted ran when the fact came."""
        self.protected: set[Speech] = set()
        """The speeches of such tools."""
        self.forced = False
        """The application interrupts, closes or fails in this very entry: cuts are not the caller's."""
        self.texts: dict[str, list[Segment]] = {}
        self.offered: set[str] = set()
        """Calls whose results a request asked the model to tell."""
        self.told: set[str] = set()
        """Final results that were told by a speech made for them."""
        self._facts: dict[type, Callable[[Any], None]] = {
            f.UserSpeechStarted: self._user_started,
            f.UserSpeechEnded: self._user_ended,
            f.Transcribed: self._transcribed,
            f.EndOfTurnPredicted: self._predicted,
            f.UserTurnCommitRequested: self._commit_requested,
            f.UserTurnSubmitted: self._submitted,
            f.UserTurnCleared: self._cleared,
            f.TurnTaken: self._turn_taken,
            f.TurnTranscribed: self._turn_transcribed,
            f.ResponseBegan: self._response_began,
            f.TextStarted: self._text_started,
            f.ToolCalled: self._tool_called,
            f.StreamPaused: self._stream_paused,
            f.StreamContinued: self._stream_continued,
            f.StepGenerated: self._step_generated,
            f.GenerationFailed: self._generation_failed,
            f.SoundReady: self._sound_ready,
            f.PlayoutStarved: self._playout_starved,
            f.ContextChanged: self._context_changed,
            f.PlayoutStarted: self._playout_started,
            f.PlayoutProgressed: self._playout_progressed,
            f.PlayoutFinished: self._playout_finished,
            f.ToolUpdated: self._tool_updated,
            f.ToolReturned: self._tool_returned,
            f.InterruptionsDisallowed: self._disallowed,
            f.RunSuspended: self._run_suspended,
            f.RunResumed: self._run_resumed,
            f.RunCancelRequested: self._run_cancel,
            f.HookReturned: self._hook_returned,
            f.SpeechRequested: self._speech_requested,
            f.InterruptRequested: self._interrupt_requested,
            f.InterruptibilityChanged: self._interruptibility,
            f.HandOffRequested: self._handoff_requested,
            f.AgentTaskStarted: self._task_started,
            f.AgentTaskFinished: self._task_finished,
            f.EndRequested: self._end_requested,
            f.CloseRequested: self._close_requested,
        }
        self._commands: dict[type, Callable[[Any], None]] = {
            do.Generate: self._generate,
            do.Adopt: self._adopt,
            do.Decline: self._decline,
            do.CommitAudio: self._commit_audio,
            do.StopGenerating: self._stop_generating,
            do.Speak: self._speak,
            do.Release: self._released,
            do.Discard: self._discarded,
            do.Play: self._play,
            do.StopPlayout: self._stop_playout,
            do.PredictEndOfTurn: self._ask_prediction,
            do.PausePlayout: self._pause,
            do.ResumePlayout: self._resume,
            do.RunTool: self._run_tool,
            do.CancelTool: self._cancel_tool,
            do.RebindRun: self._rebind,
            do.ReleaseRun: self._release,
            do.RunHook: self._run_hook,
            do.Record: self._record,
            told.TurnExceeded: self._turn_exceeded,
            told.WordsLost: self._words_lost,
            told.VoiceGivenUp: self._ends_for_silence,
            told.UserStateChanged: self._user_state,
            told.SpeechDone: lambda notice: self._speech_done(self._speech(notice.speech)),
            told.SpeechInterrupted: lambda notice: self._speech_interrupted(self._speech(notice.speech)),
            told.TaskBegan: self._task_began,
            told.RoundClosed: lambda notice: self.hush.results_in(notice.speech),
            told.ToolEnded: self._tool_ended,
            do.Close: self._closed,
        }

    # -- the one entry point

    def observe(
        self, now: float, fact: f.Fact | None, commands: Iterable[do.Command], deadline: float | None, idle: bool
    ) -> None:
        """One entry of the journal and what came of it. Raises `Violation`."""
        self.hush.before(now)
        self.now = now
        self.fact = fact
        self.was_idle, self.idle = self.idle, idle
        self.forced = False
        self.committed_now = self.released_now = False
        if self.close_at is not None and self.due is not None and now > self.due:
            self.close_at += now - self.due  # The driver was late, and so is all that follows.
        self.due = deadline
        self.was_shielded = any(run.protected or run.suspended for run in self.live.values())
        self.protected = (
            {run.speech for run in self.live.values() if self._protects(run)} if self.was_shielded else set()
        )
        if fact is not None:
            note = self._facts.get(type(fact))
            if note is not None:
                note(fact)
        self.wishes.told(fact)
        for command in commands:
            if self.closed and not self._is_refusal(command):
                raise Violation(f"end: {command} after Close")
            self.wishes.observe(command)
            if told.is_notice(command):
                self._notice(command)
            check = self._commands.get(type(command))
            if check is not None:
                check(command)
        self._check(deadline, idle)
        self.hush.after()
        self.last = now

    def _is_refusal(self, command: do.Command) -> bool:
        """Whoever asks to speak after the end is told that it will not happen."""
        return (
            type(self.fact) is f.SpeechRequested
            and isinstance(command, (told.SpeechInterrupted, told.SpeechDone))
            and command.speech == self.fact.speech
        )

    def _fail(self, promise: str, why: str) -> None:
        raise Violation(f"{promise}: {why}")

    # -- facts: the caller

    def _user_started(self, _: f.UserSpeechStarted) -> None:
        self.speaking = self.voiced = True
        self.quiet_for_long = None
        if self.turn_began is None:
            self.turn_began = self.now
        self.words_since_start = 0
        self.silent_since = self.asked_version = self.probability = None

    def _user_ended(self, fact: f.UserSpeechEnded) -> None:
        if self.speaking:
            self.speaking = self.overruled = False
            self.silent_since = self.now - fact.silence

    def _predicted(self, fact: f.EndOfTurnPredicted) -> None:
        if fact.version == self.asked_version:
            over = self.silent_since is not None and self.silent_since + self.options.turns.endpointing.min_delay
            if self.probability is None and over and self.last >= over - EPSILON:
                return  # The turn is ready already.
            self.probability = fact.probability
        else:
            self.counters["stale prediction"] += 1

    def _commit_requested(self, _: f.UserTurnCommitRequested) -> None:
        self.commit_asked = True

    def _transcribed(self, fact: f.Transcribed) -> None:
        if not fact.text:
            return
        if self.turn_began is None:
            self.turn_began = self.now
        self.has_words = True
        if not self.speaking and not self._is_voiced:
            self.hush.said_without_voice()
        self.asked_version = self.probability = None
        self.heard_words.update(fact.text.split())
        self.said_last = fact.text.split()[0]
        if fact.final and _is_told_apart(fact.text) and fact.text.split()[0] not in self.taken_words:
            self.waiting_words.append(fact.text.split()[0])
        self.words_since_start = len(fact.text.split())

    def _submitted(self, fact: f.UserTurnSubmitted) -> None:
        self.waiting_words.append(fact.text.split()[0])
        self.heard_words.add(fact.text.split()[0])
        self.typed.add(fact.text)

    @property
    def _is_voiced(self) -> bool:
        """The words belong to a voice that was heard: they do not tell when there was sound."""
        since = self.silent_since
        return self.voiced and since is not None and self.last < since + self.options.transcript_timeout - EPSILON

    def _cleared(self, _: f.UserTurnCleared) -> None:
        self.voiced = self.speaking
        self.exceeded = False
        self.waiting_words.clear()
        self.said_last = ""

    # -- facts: a model that hears and speaks

    def _turn_taken(self, fact: f.TurnTaken) -> None:
        self.heard_turns[fact.turn] = fact.text or ""
        self.words_due[fact.turn] = self.now + self.options.words_timeout
        if fact.text is not None:
            self.heard_words.add(fact.text.split()[0])
            self.typed.add(fact.text)
            if _is_told_apart(fact.text):
                self.waiting_words.append(fact.text.split()[0])
        self.counters["turn taken by the model" if fact.text else "turn without words"] += 1

    def _turn_transcribed(self, fact: f.TurnTranscribed) -> None:
        due = self.words_due.get(fact.turn)
        if due is not None and self.last >= due - EPSILON:
            return  # The core may have taken it for a turn without words.
        if fact.text and not self.heard_turns.get(fact.turn):
            self.heard_turns[fact.turn] = fact.text
            self.heard_words.add(fact.text.split()[0])
            self.typed.add(fact.text)
            if fact.turn in self.committed_wordless:
                self.turn_texts.append(fact.text)
                self.answered.add(fact.text)  # that it is answered is seen in `wordless`
                self.counters["words after their turn"] += 1
            elif _is_told_apart(fact.text):
                self.waiting_words.append(fact.text.split()[0])

    def _response_began(self, fact: f.ResponseBegan) -> None:
        if not self.closed:
            self.responses[fact.response] = fact

    def _commit_audio(self, command: do.CommitAudio) -> None:
        self.heard_turns[command.turn] = ""
        self.words_due[command.turn] = self.now + self.options.words_timeout
        self.counters["turn by sound alone"] += 1

    def _adopt(self, command: do.Adopt) -> None:
        response = self.responses.pop(command.response, None)
        if response is None:
            self._fail("unasked", f"{command} of a response that did not begin, or was judged before")
            return
        if self.closing and not self.close_at:
            self._fail("unasked", f"{command} while the session closes")
        if response.agent != command.agent or command.agent != self.frames[-1][1]:
            self._fail("unasked", f"{command} of a response of {response.agent}, in charge is {self.frames[-1][1]}")
        if response.to_results and response.turn is None:
            self._fail("unasked", f"{command}, which answers results that wanted no answer")
        if self.speaking and not self.overruled:
            self._fail("unasked", f"{command} while the caller speaks")
        if response.turn is None and any(
            not s.speech.filler and s.place is Place.PLAYING and not self._gone_by_now(s) for s in self.sink
        ):
            self._fail("unasked", f"{command} while {self.sink[0].number} sounds")
        self.counters["response adopted"] += 1
        asked = do.Generate(command.gen, command.speech, command.segment, command.agent, (), command.tools)
        self._generate(asked, adopted=response)

    def _decline(self, command: do.Decline) -> None:
        if self.responses.pop(command.response, None) is None:
            self._fail("unasked", f"{command} of a response that did not begin, or was judged before")
        self.counters["response declined"] += 1

    # -- facts: the model

    def _open_gen(self, number: int) -> Gen | None:
        gen = self.gens.get(number)
        if gen is None or not gen.open:
            return None
        if self.last >= gen.expires - EPSILON:
            gen.open = False
            gen.failed = True
            return None
        return gen

    def _progress(self, gen: Gen) -> None:
        if (not gen.begun and not gen.calls) or gen.paused is not None:
            gen.expires = self.now + self.options.generation_limit
        gen.paused = None

    def _stream_paused(self, fact: f.StreamPaused) -> None:
        gen = self._open_gen(fact.gen)
        if gen is not None and gen.is_asked:
            gen.paused = fact.text
            gen.expires = self.now + self.options.stream_timeout - fact.seconds
            self.counters["stream paused"] += 1

    def _stream_continued(self, fact: f.StreamContinued) -> None:
        gen = self._open_gen(fact.gen)
        if gen is not None:
            gen.paused = None
            gen.expires = self.now + (self.options.generation_limit if fact.within is None else fact.within)

    def _results_are_in(self, gen: Gen) -> bool:
        """Nothing but the model, which stands still, keeps what came of its calls from being told."""
        return bool(gen.calls) and all(made.run is not None and made.run.result is not None for made in gen.calls)

    def _check_stream(self, gen: Gen) -> None:
        speech = gen.speech
        if gen.paused is not None and gen.open and self.now > gen.expires + EPSILON:
            self._fail("loop", f"generation {gen.number} stands still for longer than it may")
        if gen.paused is None or not gen.open or not gen.tools or speech.interrupted or speech.done:
            return
        if self._results_are_in(gen) and not self.closing and not self.may_end:
            self._fail("loop", f"generation {gen.number} stands still, its results are in, and nobody tells them")

    def _text_started(self, fact: f.TextStarted) -> None:
        gen = self._open_gen(fact.gen)
        if gen is not None:
            self._progress(gen)
            gen.begun = True
            gen.speech.said = True

    def _tool_called(self, fact: f.ToolCalled) -> None:
        gen = self._open_gen(fact.gen)
        if gen is None:
            self.counters["call of a stopped generation"] += 1
            return
        if gen.tools:
            self._progress(gen)
        made = CallMade(fact.call, gen, fact.policy, fact.rejected is not None)
        if gen.tools and not gen.calls:
            gen.speech.rounds += 1
        gen.calls.append(made)
        self.calls[fact.call.call_id] = made
        if not gen.tools:
            self.counters["call without tools"] += 1

    def _step_generated(self, fact: f.StepGenerated) -> None:
        gen = self._open_gen(fact.gen)
        if gen is not None:
            self._complete(gen, fact.text)

    def _generation_failed(self, fact: f.GenerationFailed) -> None:
        gen = self._open_gen(fact.gen)
        if gen is not None:
            self.counters["generation failed"] += 1
            gen.failed = gen.speech.failed = True
            self.forced = True
            self._complete(gen, fact.text)

    def _complete(self, gen: Gen, text: str) -> None:
        gen.open = False
        self.asked.pop(gen.number, None)
        gen.text = text
        if gen.segment.place is Place.PLAYING:
            gen.segment.since = self.now
            gen.segment.spent = 0.0
        if text:
            self.texts.setdefault(text.split()[0], []).append(gen.segment)

    # -- facts: the loudspeaker

    @property
    def first(self) -> Segment | None:
        """What sounds, or would if there were sound and the line were not paused."""
        return next((one for one in self.sink if not self._gone_by_now(one)), None)

    def _in_sink(self, number: int) -> Segment | None:
        segment = self.segments.get(number)
        return segment if segment is not None and segment.place in (Place.PLAYING, Place.STOPPING) else None

    def _sound_ready(self, fact: f.SoundReady) -> None:
        segment = self.segments.get(fact.segment)
        if segment is not None:
            segment.ready = True

    def _playout_started(self, fact: f.PlayoutStarted) -> None:
        segment = self._in_sink(fact.segment)
        if segment is not None and segment.place is Place.PLAYING:
            segment.since = self.now
            segment.ready = segment.sounding = True
            if segment is self.first and not segment.speech.filler:
                self.hush.answered()

    def _playout_starved(self, fact: f.PlayoutStarved) -> None:
        segment = self._in_sink(fact.segment)
        if segment is not None:
            segment.ready = segment.sounding = False
            self.counters["starved"] += 1

    def _playout_progressed(self, fact: f.PlayoutProgressed) -> None:
        segment = self._in_sink(fact.segment)
        if segment is not None:
            segment.progress = max(segment.progress, fact.heard, key=len)
            segment.speech.heard = segment.speech.heard or bool(fact.heard)
            self.voice_lost = self.voice_lost and not fact.heard
            if segment.place is Place.PLAYING:
                segment.since = self.now

    def _playout_finished(self, fact: f.PlayoutFinished) -> None:
        segment = self._in_sink(fact.segment)
        if segment is None:
            return
        if fact.failed:
            self._voice_fell_silent(segment)
        if fact.heard:
            self.voice_lost = self.voice_lost and self._maybe_gone(segment)  # what comes too late is not heard of
        elif (fact.failed or fact.unsaid) and not segment.speech.filler:
            self.voice_lost = True
        if self._maybe_gone(segment):
            # The core may have assumed the end already, with what was reported so far.
            segment.progress = max(segment.progress, fact.heard, key=len)
            segment.speech.maybe_heard = segment.speech.maybe_heard or bool(fact.heard)
            self._leave(segment)
            return
        segment.heard = fact.heard
        speech = segment.speech
        if fact.heard:
            speech.heard = True
            speech.lost = ""
        elif fact.unsaid and not speech.filler:
            speech.lost = fact.unsaid
            speech.failed = speech.failed or speech.again or fact.unsaid[0] == "{"
            self.counters["no sound"] += 1
        self._leave(segment)

    def _voice_fell_silent(self, segment: Segment) -> None:
        """What waited behind a filler waited for the same voice: it is not waited for any longer."""
        behind = self.sink[self.sink.index(segment) + 1 :]
        if segment.put_first and behind and behind[0].overtaken and not behind[0].ready:
            behind[0].stalled = True

    def _leave(self, segment: Segment) -> None:
        before = self.sink[: self.sink.index(segment)]
        was_first = all(self._gone_by_now(one) for one in before)
        since = self.now
        if segment.place is Place.STOPPING and self._maybe_gone(segment):
            since = segment.since + STOP_BOUND
        segment.place = Place.GONE
        self.sink.remove(segment)
        if was_first and not segment.stalled:
            self._let_next_sound(since)

    def _let_next_sound(self, since: float) -> None:
        """What was first on the line is gone: the clock of what is first now runs."""
        put_first = False
        for one in self.sink:
            one.overtaken = one.overtaken and put_first
            put_first = put_first or (one.put_first and not self._gone_by_now(one))
        for one in self.sink:
            if one.stalled or (one.place is Place.STOPPING and self._gone_by_now(one)):
                continue
            if one.place is Place.PLAYING:
                one.since = max(since - one.spent, one.since)
                one.spent = 0.0
            return

    def _maybe_gone(self, segment: Segment) -> bool:
        """The core may have closed it by itself, at the entry before this one or earlier."""
        if segment.stalled:
            return True
        if segment.place is Place.STOPPING:
            return self.last - segment.since >= STOP_BOUND - EPSILON
        if segment.fading:
            return self.last - segment.faded >= FADE_BOUND - EPSILON
        if segment.overtaken:
            return False
        return (
            segment.place is Place.PLAYING
            and not self.paused
            and not self.gens[segment.gen].open
            and self.last - segment.since >= self.options.stall_timeout - EPSILON
        )

    # -- facts: tools

    def _open_run(self, number: int) -> Run | None:
        run = self.live.get(number)
        if run is None:
            return None
        if not run.suspended and self.last >= run.expires - EPSILON and not run.ever_suspended:
            self.live.pop(number)
            run.cancelled = True
            self.counters["run timed out"] += 1
            return None
        return run

    def _tool_updated(self, fact: f.ToolUpdated) -> None:
        run = self._open_run(fact.run)
        if run is None:
            return
        if run.released and not run.must_keep and run.made.policy.effect != "writes" and not run.updated:
            self.counters["update of an orphan"] += 1
            return
        if not run.updated:
            run.expires = self.now + run.made.policy.background_timeout
            self.counters["went to the background"] += 1
        run.updated = True

    def _tool_returned(self, fact: f.ToolReturned) -> None:
        run = self._open_run(fact.run)
        if run is None:
            return
        del self.live[fact.run]
        run.result = fact
        if fact.handoff is not None:
            if not self._dropped(run):
                first = not self.wanted[fact.handoff.agent]
                self.wanted_in[fact.handoff.agent] = run.frame if first else None
                self.wanted[fact.handoff.agent] += 1
            else:
                self.counters["hand-off of an orphan"] += 1

    def _dropped(self, run: Run) -> bool:
        """The caller spoke over it, and it is of a kind that is dropped then."""
        return run.released and not self._kept(run)

    def _kept(self, run: Run) -> bool:
        return run.updated or run.made.policy.effect == "writes" or run.must_keep

    def _disallowed(self, fact: f.InterruptionsDisallowed) -> None:
        run = self._open_run(fact.run)
        if run is None:
            return
        run.protected = True
        if run.released and not self._kept(run):
            self.counters["orphan kept after all"] += 1
            run.expires = self.now + run.made.policy.background_timeout
            run.spoken_over = True
        run.must_keep = True
        if run in self.orphans:
            self.orphans.remove(run)

    def _run_suspended(self, fact: f.RunSuspended) -> None:
        run = self._open_run(fact.run)
        if run is not None:
            run.suspended = run.ever_suspended = True

    def _run_resumed(self, fact: f.RunResumed) -> None:
        run = self._open_run(fact.run)
        if run is not None:
            run.suspended = False
            self.resumed_until = self.now + RESUME_GRACE

    def _run_cancel(self, fact: f.RunCancelRequested) -> None:
        run = self._open_run(fact.run)
        if run is not None:
            run.asked_to_cancel = True

    # -- facts: the application

    def _hook_returned(self, fact: f.HookReturned) -> None:
        hook, expires = self.hooks.pop(fact.hook, (None, 0.0))
        if hook is None or hook.kind != "on_user_turn_completed":
            return
        if self.last >= expires - EPSILON:
            return  # Too late: the turn was taken as it was.
        if fact.context_changed:
            self.changes += 1
        text = hook.text if fact.text is None else fact.text
        if not text:
            if fact.veto:
                self.wordless.discard(hook.heard_as or 0)
            return
        self.turn_texts.append(text)
        if fact.veto:
            self.counters["turn vetoed"] += 1
            self.vetoed.append(text)
        elif not self.closing:
            self.expected_turns.append(text)
            self.said_to[text] = self.frames[-1][0]

    def _speech_requested(self, fact: f.SpeechRequested) -> None:
        speech = self._speech(fact.speech)
        speech.request = fact
        speech.interruptible = fact.interruptible
        speech.filler = "?" if fact.kind == "filler" else ""
        self.requested.add(speech)
        self.counters[f"requested {fact.kind}"] += 1
        run = self.live.get(fact.run or 0)
        if run is not None and self._dropped(run):
            speech.mute = True
            self.counters["orphan wants to speak"] += 1

    def _context_changed(self, _: f.ContextChanged) -> None:
        self.changes += 1

    def _interrupt_requested(self, _: f.InterruptRequested) -> None:
        self.forced = True

    def _interruptibility(self, fact: f.InterruptibilityChanged) -> None:
        speech = self.speeches.get(fact.speech)
        if speech is not None:
            speech.interruptible = fact.interruptible

    def _handoff_requested(self, fact: f.HandOffRequested) -> None:
        self.wanted[fact.agent] += 1
        self.wanted_in[fact.agent] = None

    def _task_started(self, fact: f.AgentTaskStarted) -> None:
        self.tasks[fact.task] = fact
        run = self.runs.get(fact.run or 0)
        if run is not None:
            self.asked_in[fact.task] = run.frame if any(task == run.frame for task, _ in self.frames) else 0

    def _task_finished(self, fact: f.AgentTaskFinished) -> None:
        self.tasks.pop(fact.task, None)
        self.forced = True
        for n, (task, _) in enumerate(self.frames):
            if n and task == fact.task:  # What stands above it was begun inside it.
                for gone, _ in self.frames[n + 1 :]:
                    self.tasks.pop(gone, None)
                del self.frames[n:]
                return

    def _end_requested(self, fact: f.EndRequested) -> None:
        self._speech(fact.speech).says_goodbye = True
        if not self.closing:
            self.may_end = True
            self.counters["goodbye"] += 1

    def _ends_for_silence(self, command: told.VoiceGivenUp) -> None:
        """A call ends of which nothing is heard."""
        if not self.voice_lost:
            self._fail("end", f"{command}, and something was heard")
        self.counters["dead voice"] += 1
        self.forced = self.closing = True
        self.close_at = self.now + self.options.close_grace

    def _close_requested(self, fact: f.CloseRequested) -> None:
        self.forced = True
        bound = self.now + self.options.close_grace + (self.options.drain_timeout if fact.drain else 0.0)
        self.close_at = bound if self.close_at is None else min(self.close_at, bound)
        self.closing = True
        self.counters["drain" if fact.drain else "close"] += 1
        for what, there in (
            ("a tool", self.live), ("a playing segment", self.sink), ("a task", self.tasks), ("a hook", self.hooks),
            ("a generation", any(g.open for g in self.gens.values())), ("a hand-off", self.leaving),
        ):  # fmt: skip
            if there:
                self.counters[f"close during {what}"] += 1

    # -- commands: speech

    def _speech(self, number: int) -> Speech:
        speech = self.speeches.get(number)
        if speech is None:
            speech = self.speeches[number] = Speech(number)
        return speech

    def _begin(self, command: do.Generate | do.Speak) -> Speech:
        speech = self._speech(command.speech)
        if speech.done or speech.interrupted:
            self._fail("cancelled", f"{command} for a speech that is {'done' if speech.done else 'interrupted'}")
        if command.gen in self.gens or command.segment in self.segments:
            self._fail("cancelled", f"{command} uses an id again")
        if speech.mute:
            self._fail("adoption", f"{command} for a speech that an orphan asked for")
        return speech

    def _generate(self, command: do.Generate, *, adopted: f.ResponseBegan | None = None) -> None:
        speech = self._begin(command)
        self._note_request(command, speech)
        if command.ahead:
            self._hold(command)
        else:
            self._requested(command, speech, adopted)

    def _note_request(self, command: do.Generate, speech: Speech) -> None:
        segment = Segment(command.segment, command.gen, speech)
        self.segments[command.segment] = segment
        self.gens[command.gen] = Gen(
            command.gen, speech, segment, command.agent, command.tools, self.now + self.options.generation_timeout
        )
        if all(agent != command.agent for _, agent in self.frames):
            self._fail("turns", f"request {command.gen} by {command.agent}, which is not in charge: {self.frames}")
        self._check_open(command)

    def _requested(self, command: do.Generate, speech: Speech, adopted: f.ResponseBegan | None = None) -> None:
        """The model is asked, now or (held until now) before."""
        if not speech.generated:
            for segment in self.sink:
                if segment.place is Place.STOPPING and not self._gone_by_now(segment):
                    self._fail("one voice", f"reply {command.speech} begins while {segment.number} is being silenced")
        first, speech.generated = not speech.generated, True
        self._check_results(command, speech)
        if command.tools and speech.rounds >= self.options.max_tool_steps and not command.ahead:
            self._fail("rounds", f"{command.gen} has tools after {speech.rounds} rounds")
        if not command.tools and speech.rounds >= max(self.options.max_tool_steps, 1):
            self.counters["step limit hit"] += 1
        self.counters["generation"] += 1
        self.asked[command.gen] = self.gens[command.gen]
        if command.unheard:
            self.counters["request with unheard results"] += 1
            speech.carries.update(command.unheard)
            self.offered.update(command.unheard)
        shown = [item.text_content or "" for item in command.open if type(item) is ChatMessage and item.role == "user"]
        for text in shown:
            self._turn(text)
        if adopted:  # the model heard what was committed, recorded or not
            for text in self.expected_turns:
                self._turn(text)
            shown = list(self.unanswered)
        if adopted and adopted.turn is None:
            return  # it answers nobody
        for turn in (*self.unanswered.values(), *self.half_answered.values()):
            if command.agent in turn.agents or turn.text in shown:
                turn.carriers.append(speech)
                if first and speech.request is None:
                    turn.begun.append(speech)
                    speech.begun_for.append(turn)
        if first and not adopted:
            self._check_reason(speech, command)
        if not command.delivery:
            self.wordless.clear()

    def _check_results(self, command: do.Generate, speech: Speech) -> None:
        """What came of the calls before is known to whoever speaks on."""
        before, speech.latest = speech.latest, self.gens[command.gen]
        if before is None or not before.tools or not before.calls or before.agent == command.agent:
            return
        shown = {item.call_id for item in command.open if type(item) is FunctionCall}
        known = {item.call_id for item in self.records.get(command.agent, ()) if type(item) is FunctionCall}
        for made in before.calls:
            if made.call.call_id not in known and made.call.call_id not in shown:
                self._fail("pairs", f"request {command.gen} by {command.agent} knows nothing of {made.call.call_id}")

    def _check_reason(self, speech: Speech, command: do.Generate) -> None:
        """A reply begins when somebody asked for it and the caller lets the agent speak."""
        if speech.request is not None:
            return
        if self.speaking and not self.overruled:
            self._fail("turns", f"reply {command.speech} begins while the caller speaks")
        if command.delivery:
            speech.delivers = command.unheard
            self.counters["delivery"] += 1
            if not command.unheard:
                self._fail("kept", f"delivery {command.speech} has nothing to tell")
        elif (
            not self.unanswered
            and not self.half_answered
            and not self.wordless
            and not any(not _is_told_apart(text) for text in self.turn_texts)
        ):
            self._fail("turns", f"reply {command.speech} answers nobody")

    def _check_open(self, command: do.Generate) -> None:
        """The pairs of a request: what the agent's context holds is checked where it is recorded."""
        known = self.known.get(command.agent, ())
        expected: str | None = None
        seen: set[str] = set()
        for item in command.open:
            if item.id in known or item.id in seen:
                self._fail("pairs", f"request {command.gen} holds an item twice: {item}")
            seen.add(item.id)
            kind = type(item)
            if kind is ChatMessage and item.role == "assistant" and is_filler(item.text_content or ""):  # type: ignore[union-attr]
                self._fail("silence", f"request {command.gen} shows a filler: {item}")
            if expected is not None and (kind is not FunctionCallOutput or item.call_id != expected):  # type: ignore[union-attr]
                self._fail("pairs", f"request {command.gen}: call {expected} has no output beside it")
            if kind is FunctionCall:
                expected = item.call_id  # type: ignore[union-attr]
                if expected in self.recorded_calls:
                    self._fail("pairs", f"request {command.gen} shows {expected}, which is recorded already")
                self.shown_calls.add(expected)
            elif kind is FunctionCallOutput:
                if expected is None:
                    self._fail("pairs", f"request {command.gen}: output without a call: {item}")
                expected = None
        if expected is not None:
            self._fail("pairs", f"request {command.gen} ends with call {expected}")

    def _speak(self, command: do.Speak) -> None:
        speech = self._begin(command)
        segment = Segment(command.segment, command.gen, speech)
        self.segments[command.segment] = segment
        gen = Gen(command.gen, speech, segment, self.frames[-1][1], False, self.now + self.options.generation_limit)
        gen.is_asked = False
        self.gens[command.gen] = gen
        if command.ahead:
            self._hold_line(gen, command.text or "")
            return
        self.asked[command.gen] = gen
        if command.text is None:
            self.counters["say"] += 1
            return
        gen.begun = bool(command.text)
        speech.said = speech.said or gen.begun
        if not command.directly:
            self._fail("mute", f"{command} of the session's own is left to the agent's node")
        if speech.lost and command.text == speech.lost:
            if speech.again or command.text.startswith("{"):
                self._fail("mute", f"{command} for the third time, or of what nobody can say")
            speech.again, speech.lost = True, ""
            self.counters["said once more"] += 1
            return
        speech.apologised, speech.lost = True, ""
        if command.text and command.text == self.options.unheard_line and self.lost_at != self.now:
            self._fail("turns", f"{command}, and nobody is told that a recogniser fell silent")
        if command.text == self.options.fallback_line:
            self.counters["fallback line"] += 1
        elif command.text == self.options.failure_line:
            self.counters["failure line"] += 1
        else:
            self.counters["other line"] += 1

    # -- commands: made ahead

    def _hold_line(self, gen: Gen, text: str) -> None:
        gen.held = True
        gen.speech.filler = text
        gen.begun = True
        if any(not other.basis for other in self.held.values()):
            self._fail("silence", f"{text!r} is prepared beside another")
        self.held[gen.number] = gen
        self.counters["filler prepared"] += 1

    def _hold(self, command: do.Generate) -> None:
        gen = self.gens[command.gen]
        gen.held = True
        if any(other.basis for other in self.held.values()):
            self._fail("ahead", f"{command} beside another that is held")
        if self.speaking:
            self._fail("ahead", f"{command} while the caller speaks")
        if self.probability is not None and self.probability < self.options.turns.endpointing.unlikely:
            self._fail("ahead", f"{command}, and more is likely to come")
        if command.agent != self.frames[-1][1]:
            self._fail("ahead", f"{command}, but in charge is {self.frames[-1][1]}")
        if not self.options.turns.preemptive_generation.enabled:
            self._fail("ahead", f"{command}, which nobody wanted")
        if any(s.place is Place.PLAYING and not self._gone_by_now(s) for s in self.sink):
            self._fail("ahead", f"{command} while {self.sink[0].number} sounds")
        gen.basis = Basis(command, len(self.records.get(command.agent, ())), self.changes)
        self.held[gen.number] = gen
        text = command.open[-1].text_content or "" if type(command.open[-1]) is ChatMessage else ""
        self.tries = self.tries + 1 if f"{text} ".startswith(f"{self.tried} ") else 1
        self.tried = text
        if self.tries > self.options.turns.preemptive_generation.max_retries:
            self._fail("ahead", f"{command} is try {self.tries} of one turn")
        self.counters["asked ahead"] += 1

    def _take_held(self, command: do.Release | do.Discard) -> Gen:
        gen = self.held.pop(command.gen, None)
        if gen is None or gen.speech.number != command.speech:
            self._fail("ahead", f"{command} of what is not held")
            raise AssertionError
        gen.held = False
        return gen

    def _released(self, command: do.Release) -> None:
        gen = self._take_held(command)
        if self.closed:
            self._fail("ahead", f"{command} while the session closes")
        if gen.failed or gen.stopped:
            self._fail("ahead", f"{command} of what has failed")
        if gen.basis is None:
            self.hush.released(gen)
            return
        self._check_basis(gen, gen.basis)
        self._requested(gen.basis.command, gen.speech)
        self.counters["released"] += 1

    def _check_basis(self, gen: Gen, basis: Basis) -> None:
        """Asking now would ask the same."""
        agent = gen.agent
        if agent != self.frames[-1][1]:
            self._fail("ahead", f"{gen.number} of {agent} is released, but in charge is {self.frames[-1][1]}")
        if basis.changes != self.changes:
            self._fail("ahead", f"{gen.number} is released, and what it was made with has changed since")
        since = self.records.get(agent, [])[basis.seen :]
        if [_words_of(item) for item in since] != [_words_of(item) for item in basis.command.open]:
            self._fail("ahead", f"{gen.number} was asked with {basis.command.open}, and the context is {since}")

    def _discarded(self, command: do.Discard) -> None:
        gen = self._take_held(command)
        gen.open = False
        gen.stopped = True
        gen.speech.done = True
        gen.segment.place = Place.GONE
        self.counters["filler discarded" if gen.basis is None else "discarded"] += 1

    def _stop_generating(self, command: do.StopGenerating) -> None:
        gen = self.gens.get(command.gen)
        if gen is None:
            self._fail("cancelled", f"{command} of what was never begun")
            return
        is_late = self.now >= gen.expires - EPSILON or type(self.fact) is f.AgentTaskFinished
        if gen.paused is not None and not gen.speech.interrupted and not is_late:
            self.counters["stream broken off for a result"] += 1
            self._complete(gen, gen.paused)
            return
        self._check_protected(gen.speech, command)
        gen.open = False
        self.asked.pop(gen.number, None)
        # The end of a task, or of the model's time, lets the calls that were made be finished.
        gen.stopped = type(self.fact) is not f.AgentTaskFinished and self.now < gen.expires - EPSILON
        gen.failed = gen.text is None
        gen.speech.failed = gen.speech.failed or self.now >= gen.expires - EPSILON
        if gen.segment.place is Place.PLAYING:
            gen.segment.since = self.now

    def _play(self, command: do.Play) -> None:
        segment = self.segments.get(command.segment)
        if segment is None or segment.place is not Place.HELD:
            self._fail("one voice", f"{command} of a segment that is not there, or played already")
            return
        gen = self.gens[segment.gen]
        if gen.held:
            self._fail("ahead", f"{command} of what is held")
        if not gen.begun and not gen.text:
            self._fail("one voice", f"{command} of a segment without text")
        if segment.speech.interrupted or segment.speech.done:
            self._fail("cancelled", f"{command} for a speech that is done or interrupted")
        ahead = [one for one in self.sink if not self._gone_by_now(one)]
        if command.first:
            self._overtake(segment, command)
            return
        if (
            segment.speech.filler
            and segment.speech.request is None
            and any(not (one.speech.filler or one.sounding or one.ready) for one in ahead)
        ):
            self._fail("silence", f"{command} of a filler behind {ahead[0].number}, which does not sound")
        if len(ahead) >= 2:
            self._fail("one voice", f"{command} makes three in the sink")
        for one in ahead:
            if one.place is Place.STOPPING:
                self._fail("one voice", f"{command} while {one.number} is being silenced")
            if self.gens[one.gen].open and self.now < self.gens[one.gen].expires - EPSILON:
                self._fail("one voice", f"{command} behind {one.number}, whose text is not complete")
        if self.paused:
            self._fail("one voice", f"{command} while the line is paused")
        shielded = self._shielded(segment.speech) and not segment.speech.filler
        if self.speaking and not self.overruled and not shielded:
            self._fail("one voice", f"{command} while the caller speaks")
        segment.place = Place.PLAYING
        segment.since = self.now
        self.sink.append(segment)
        self.counters["played"] += 1
        if ahead:
            self.counters["played without a gap"] += 1

    def _overtake(self, segment: Segment, command: do.Play) -> None:
        """It goes before what does not sound."""
        if not segment.speech.filler:
            self._fail("one voice", f"{command} is no filler")
        for one in self.sink:
            if one.sounding and not self._gone_by_now(one):
                self._fail("one voice", f"{command} before {one.number}, which sounds")
            if one.place is Place.STOPPING and one.sounding and not self._gone_by_now(one):
                self._fail("one voice", f"{command} while {one.number} is being silenced")
        if self.paused or self.speaking:
            self._fail("one voice", f"{command} while the line is paused or the caller speaks")
        first = next((one for one in self.sink if one.place is Place.PLAYING and not one.stalled), None)
        if first is not None and not self.gens[first.gen].open:
            first.spent = self.now - first.since
        for one in self.sink:
            one.overtaken = one.place is Place.PLAYING
        segment.place = Place.PLAYING
        segment.since = self.now
        segment.put_first = True
        self.sink.insert(0, segment)
        self.counters["played first"] += 1

    def _gone_by_now(self, segment: Segment) -> bool:
        if segment.stalled:
            return True
        if segment.place is Place.STOPPING:
            return self.now - segment.since >= STOP_BOUND - EPSILON
        if segment.fading:
            return self.now - segment.faded >= FADE_BOUND - EPSILON
        if self.paused or self.gens[segment.gen].open:
            return False
        since = self._resounds_since(segment) if segment.overtaken else segment.since
        return since is not None and self.now - since >= self.options.stall_timeout - EPSILON

    def _resounds_since(self, segment: Segment) -> float | None:
        """Where the clock of what a filler overtook begins, once the filler was given up; None: it has the line."""
        filler = next((one for one in self.sink if one.put_first), None)
        if filler is None or filler.place is not Place.STOPPING or not self._gone_by_now(filler):
            return None
        return filler.since + STOP_BOUND - segment.spent

    def _stop_playout(self, command: do.StopPlayout) -> None:
        segment = self.segments.get(command.segment)
        if segment is None:
            self._fail("cancelled", f"{command} of what was never begun")
            return
        if command.at_word:
            self._fade(segment, command)
            return
        if segment.place is Place.PLAYING:
            self._check_protected(segment.speech, command)
            if self._gone_by_now(segment):
                segment.stalled = True  # The core may take what was heard last for all of it.
                self.counters["stalled"] += 1
                self.voice_lost = not segment.progress if not segment.speech.filler else self.voice_lost
                self._voice_fell_silent(segment)
                self._let_next_sound(self.now)
            segment.place = Place.STOPPING
            segment.since = self.now
            self.counters["cut while playing"] += 1
        elif segment.place is Place.HELD:
            segment.place = Place.GONE
            segment.heard = ""

    def _fade(self, segment: Segment, command: do.StopPlayout) -> None:
        if not segment.speech.filler or segment is not self.first or segment.place is not Place.PLAYING:
            self._fail("silence", f"{command} is no filler that sounds")
        if segment.fading:
            self._fail("silence", f"{command} a second time")
        segment.fading = True
        segment.faded = self.now
        self.hush.faded(segment.speech)
        self.counters["filler ended for something better"] += 1

    def _shielded(self, speech: Speech) -> bool:
        """The caller may not cut it."""
        return (
            not speech.interruptible
            or not self.options.turns.interruption.enabled
            or any((run.protected or run.suspended) and run.speech is speech for run in self.live.values())
        )

    def _check_protected(self, speech: Speech, command: do.Command) -> None:
        if self.forced or self.closing or self.may_end or speech.excused:
            return
        if speech.interruptible and (speech not in self.protected or self._returned_now(speech)):
            return
        gens = [gen for gen in self.gens.values() if gen.speech is speech]
        if any(gen.failed or (gen.open and self.now >= gen.expires - EPSILON) for gen in gens):
            return
        if any(self._gone_by_now(one) for one in self.sink):
            return
        self._fail("protected", f"{command} cuts speech {speech.number}, which may not be interrupted")

    def _protects(self, run: Run) -> bool:
        attached = not (run.updated or run.spoken_over or run.released)
        return run.protected and attached and self._surely_runs(run)

    def _returned_now(self, speech: Speech) -> bool:
        """The fact at hand ended the protection."""
        number = getattr(self.fact, "run", None)
        return number is not None and number in self.runs and self.runs[number].speech is speech

    def _pause(self, _: do.PausePlayout) -> None:
        self.paused = True
        self.counters["paused"] += 1

    def _resume(self, _: do.ResumePlayout) -> None:
        self.paused = False
        self.counters["resumed"] += 1
        for segment in self.sink:
            if segment.place is Place.PLAYING and not segment.overtaken:
                segment.since = self.now

    # -- commands: tools

    def _run_tool(self, command: do.RunTool) -> None:
        made = self.calls.get(command.call.call_id)
        if made is None or made.gen.number != command.gen:
            self._fail("cancelled", f"{command} of a call that was never made")
            return
        gen = made.gen
        if gen.held:
            self._fail("ahead", f"{command} of what is held")
        if gen.stopped:
            self._fail("cancelled", f"{command} after its generation was stopped")
        if gen.speech.done or gen.speech.interrupted:
            self._fail("cancelled", f"{command} for a speech that is done or interrupted")
        if not gen.tools:
            self._fail("rounds", f"{command} of a step without tools")
        if made.rejected:
            self._fail("rounds", f"{command} of a rejected call")
        if made.run is not None or made.adopted or command.run in self.runs:
            self._fail("adoption", f"{command} runs a second time")
        self._check_order(made, command)
        self._check_orphans(made, command)
        self._check_duplicates(made, command)
        run = Run(command.run, made, gen.speech, self.now, self.now + made.policy.timeout)
        made.run = self.runs[command.run] = self.live[command.run] = run
        run.frame = self._frame_of(gen.agent)
        gen.speech.ran = True
        self.counters[f"run {made.policy.effect}"] += 1

    def _frame_of(self, agent: str) -> int | None:
        return next((task for task, one in reversed(self.frames) if one == agent), None)

    def _check_order(self, made: CallMade, command: do.RunTool) -> None:
        if made.policy.parallel:
            return
        for earlier in made.gen.calls:
            if earlier is made:
                return
            if earlier.rejected or earlier.recorded or earlier.adopted:
                continue
            run = earlier.run
            if run is None:
                if not earlier.policy.parallel and not self._maybe_refused(earlier):
                    self._fail("rounds", f"{command} before {earlier.call.call_id}, which comes first")
            elif (
                run.number in self.live
                and not run.updated
                and not run.cancelled
                and not run.ever_suspended
                and self.now < run.expires - EPSILON
            ):
                self._fail("rounds", f"{command} while {earlier.call.call_id} runs, which comes first")

    def _maybe_refused(self, made: CallMade) -> bool:
        """It was perhaps closed at once, because it would have run beside another of its tool."""
        alike = any(run.made.call.name == made.call.name for run in self.runs.values())
        return alike and (made.policy.on_duplicate != "allow" or made.policy.effect == "writes")

    def _adoptable(self, run: Run, call: f.Call) -> bool:
        return (
            run.orphan
            and run.made.call.name == call.name
            and run.made.call.canonical == call.canonical
            and not run.asked_to_cancel
            and (run.result is None or run.result.handoff is None)
            and (run.result is not None or (self.now < run.expires - EPSILON and not run.ever_suspended))
        )

    def _check_orphans(self, made: CallMade, command: do.RunTool) -> None:
        if made.policy.on_duplicate == "confirm" and made.call.confirmed:
            return
        for run in self.orphans:
            if self._adoptable(run, made.call):
                self._fail("adoption", f"{command} although {run.number} could be adopted")

    def _check_duplicates(self, made: CallMade, command: do.RunTool) -> None:
        mode = made.policy.on_duplicate
        if mode not in ("reject", "confirm") or (mode == "confirm" and made.call.confirmed):
            return
        for run in self.live.values():
            same = run.made.call.name == made.call.name and (
                made.policy.duplicate_scope == "name" or run.made.call.canonical == made.call.canonical
            )
            if same and self._surely_runs(run):
                self._fail("adoption", f"{command} although {run.number} runs and a duplicate is to be refused")

    def _surely_runs(self, run: Run) -> bool:
        """It has not ended, and cannot have been given up."""
        return (
            not run.cancelled
            and not run.asked_to_cancel
            and not run.ever_suspended
            and self.now < run.expires - EPSILON
        )

    def _cancel_tool(self, command: do.CancelTool) -> None:
        run = self.runs.get(command.run)
        if run is None:
            self._fail("cancelled", f"{command} of what never ran")
            return
        if run.suspended and self.fact is None and not self.closing and not self.may_end and not run.asked_to_cancel:
            self._fail("kept", f"{command}, which waits for the caller: its clock stands still")
        run.cancelled = True
        self.live.pop(run.number, None)
        self.counters["cancelled run"] += 1

    def _rebind(self, command: do.RebindRun) -> None:
        run = self.runs.get(command.run)
        made = self.calls.get(command.call.call_id)
        if run is None or made is None:
            self._fail("adoption", f"{command} of an unknown run or call")
            return
        if not run.orphan or run.made.call.canonical != command.call.canonical or run.made.call.name != made.call.name:
            self._fail("adoption", f"{command} is not the adoption of an orphan by an identical call")
        if run.made.policy.effect != "unsaid":
            self._fail("adoption", f"{command} adopts a tool that {run.made.policy.effect}")
        speech = made.gen.speech
        if speech.done or speech.interrupted or made.gen.stopped or not made.gen.tools:
            self._fail("cancelled", f"{command} for a speech or step that is over")
        run.released = False
        run.made = made
        run.speech = speech
        frame = self._frame_of(made.gen.agent)
        if self._is_held_up_by(run, frame):
            run.updated = True
            self.counters["adopted by the task it waits for"] += 1
        else:
            run.frame = frame
        made.adopted = True
        made.run = run
        self.orphans.remove(run)
        self.counters["adopted" if run.result is None else "adopted after its end"] += 1
        if run.result is not None and run.result.handoff is not None:
            self.wanted[run.result.handoff.agent] += 1
            self.counters["hand-off adopted"] += 1

    def _is_held_up_by(self, run: Run, frame: int | None) -> bool:
        """It awaits a task that is asked in this frame or beneath it, or that waits for the end of this frame."""
        order = [task for task, _ in self.frames]
        if frame not in order:
            return False
        beneath = order[: order.index(frame)]
        awaited = [task for task, started in self.tasks.items() if started.run == run.number]
        return any(
            task in (*beneath, frame) or (task not in order and self.asked_in.get(task) in beneath) for task in awaited
        )

    def _release(self, command: do.ReleaseRun) -> None:
        run = self.runs.get(command.run)
        if run is None:
            self._fail("adoption", f"{command} of what never ran")
            return
        run.released = self.released_now = True
        if not self._kept(run) and run.made.policy.effect == "unsaid":
            self.orphans.append(run)
            self.counters["orphaned"] += 1
        else:
            self.counters["released, kept" if self._kept(run) else "released, dropped"] += 1

    # -- commands: hooks, hand-offs, history

    def _run_hook(self, command: do.RunHook) -> None:
        self.hooks[command.hook] = (command, self.now + self.options.hook_timeout)
        if command.kind == "on_exit":
            self.leaving.add(command.agent)
            self._check_finished(command)
        elif command.kind == "on_enter":
            self._entered(command)
        else:
            self._commit(command)

    def _check_finished(self, command: do.RunHook) -> None:
        """An agent leaves when it has said what it had to say."""
        if self.closing or self.may_end:
            return
        for segment in self.sink:
            is_agents = self.gens[segment.gen].agent == command.agent and not segment.speech.filler
            if is_agents and not self._gone_by_now(segment):
                self._fail("turns", f"{command} while {segment.number} of that agent sounds")

    def _entered(self, command: do.RunHook) -> None:
        if command.previous is None:
            return
        if not self.wanted[command.agent]:
            self._fail("adoption", f"hand-off to {command.agent}, which nobody entitled to it asked for")
        self.leaving.discard(command.previous)
        self.counters["hand-off"] += 1
        for n, (task, agent) in reversed(list(enumerate(self.frames))):
            if agent == command.previous:
                wanted_in = self.wanted_in.get(command.agent)
                if wanted_in not in (None, task) and any(one == wanted_in for one, _ in self.frames):
                    self._fail("turns", f"{command} replaces {agent}, but was asked for in frame {wanted_in}")
                self.frames[n] = (task, command.agent)
                return
        self._fail("turns", f"{command}: {command.previous} was not in charge: {self.frames}")

    def _commit(self, command: do.RunHook) -> None:
        if command.agent in self.leaving:
            self._fail("turns", f"{command} in the middle of a hand-off")
        if command.agent != self.frames[-1][1]:
            self._fail("turns", f"{command}, but in charge is {self.frames[-1][1]}")
        if any(h.kind == command.kind and h is not command for h, end in self.hooks.values() if self.now < end):
            self._fail("turns", f"{command} beside another turn's hook")
        self._check_silence(command)
        if command.text not in self.typed:
            self.exceeded = self.has_words = False
            self.voiced = self.speaking
            self.taken_words.update(command.text.split())
            self.turn_began = self.now if self.speaking else None
            self.tries = 0
        self.committed_now = not _only_listens(command.text)
        if self.released_now and not self.committed_now and not self.forced:
            self._fail("barge-in", f"{command} takes a tool its call")
        self.turn_texts.append(command.text)
        if command.heard_as is not None and not command.text:
            self.wordless.add(command.heard_as)
            self.committed_wordless.add(command.heard_as)
        if self.may_end:
            self.may_end = False
            self.counters["goodbye taken back"] += 1
        if self.said_last in command.text.split():
            self.said_last = ""
        words = command.text.split()
        self.waiting_words = [word for word in self.waiting_words if word not in words]

    def _ask_prediction(self, command: do.PredictEndOfTurn) -> None:
        self.asked_version, self.probability = command.version, None

    def _check_silence(self, command: do.RunHook) -> None:
        """A spoken turn was silent as long as endpointing asks."""
        if command.text in self.typed or self.options.turns.detection == "realtime_llm":
            return
        asked, self.commit_asked = self.commit_asked, False
        if asked or self.exceeded or self.silent_since is None:
            return
        endpointing = self.options.turns.endpointing
        unlikely = self.probability is not None and self.probability < endpointing.unlikely
        delay = endpointing.max_delay if unlikely else endpointing.min_delay
        if self.now - self.silent_since < delay - EPSILON:
            self._fail("turns", f"{command} after {self.now - self.silent_since:.2f} s of silence, not {delay}")
        if unlikely:
            self.counters["turn taken after a long silence"] += 1

    def _record(self, command: do.Record) -> None:
        item = command.item
        records = self.records.setdefault(command.agent, [])
        self._check_pair(records, item, command)
        records.append(item)
        known = self.known.setdefault(command.agent, set())
        if item.id in known:
            self._fail("pairs", f"{command} is recorded twice")
        known.add(item.id)
        kind = type(item)
        if command.carried:
            self.counters["turn carried"] += 1
            if type(item) is ChatMessage:
                turn = self._turn(item.text_content or "")
                if turn is not None:
                    turn.agents.add(command.agent)
            return
        self._check_pair(self.items, item, command)
        if self.items and item.created_at < self.items[-1].created_at - EPSILON:
            self._fail("pairs", f"{command} happened before what stands before it: {self.items[-1]}")
        self.items.append(item)
        if kind is FunctionCall:
            self._record_call(item.call_id)  # type: ignore[union-attr]
        elif kind is ChatMessage:
            self._record_message(item, command)  # type: ignore[arg-type]
        elif kind is AgentHandoff or kind is AgentConfigUpdate:
            self.counters[f"recorded {kind.__name__}"] += 1

    def _check_pair(self, items: list[ChatItem], item: ChatItem, command: do.Record) -> None:
        before = items[-1] if items else None
        if type(before) is FunctionCall:
            if type(item) is not FunctionCallOutput or item.call_id != before.call_id:
                self._fail("pairs", f"{command} stands behind call {before.call_id}, not its output")
        elif type(item) is FunctionCallOutput:
            self._fail("pairs", f"{command} has no call before it")

    def _record_call(self, call_id: str) -> None:
        if call_id in self.recorded_calls:
            self._fail("pairs", f"call {call_id} is recorded twice")
        self.recorded_calls.add(call_id)
        made = self.calls.get(call_id)
        if made is not None:
            made.recorded = True
        elif "/" in call_id:
            self.counters["recorded update" if "/update" in call_id else "recorded finished"] += 1
        else:
            self._fail("pairs", f"call {call_id} was never made")

    def _record_message(self, item: ChatMessage, command: do.Record) -> None:
        text = item.text_content or ""
        if item.role == "assistant":
            self._record_said(text, item.interrupted)
        elif item.role == "user":
            if text in self.expected_turns:
                self.expected_turns.remove(text)
            elif text not in self.turn_texts and self._is_leftover(text):
                return  # Said and not yet a turn when the session was closed.
            elif not text.startswith("q") and text not in self.turn_texts and not self.may_end:
                self._fail("turns", f"{command}: nobody said that")
            if text in self.vetoed:
                self.answered.add(text)
            else:
                turn = self._turn(text)
                if turn is not None:
                    turn.agents.add(command.agent)
                    turn.recorded = True

    def _is_leftover(self, text: str) -> bool:
        """Said and not yet a turn when the session was closed."""
        return (self.closing or self.may_end) and any(word in self.heard_words for word in text.split())

    def _turn(self, text: str) -> Turn | None:
        """The turn with this text, if it still wants an answer. Texts are unique."""
        if text in self.answered or text in self.vetoed or not _is_told_apart(text):
            return None
        return self.unanswered.setdefault(text, Turn(text))

    def _record_said(self, text: str, interrupted: bool) -> None:
        if is_filler(text):
            self._fail("silence", f"the filler {text!r} is recorded as said")
        if not text.strip():
            self._fail("heard", "an empty message is recorded as said")
        word = text.split()[0]
        candidates = sorted((s for s in self._spoken(word) if not s.recorded), key=lambda s: s.heard != text)
        for segment in candidates:
            gen = self.gens[segment.gen]
            request = segment.speech.request
            if request is not None and not request.record and gen.text:
                self._fail("heard", f"{text!r} is recorded although it was to stay out of the history")
            if segment.heard is not None and segment.heard != text:
                continue
            if segment.heard is None and not self._assumable(segment, text):
                continue
            segment.recorded = True
            if gen.text is not None and not gen.failed and not gen.stopped and interrupted != (text != gen.text):
                self._fail("heard", f"{text!r} of {gen.text!r} is recorded with interrupted={interrupted}")
            if interrupted:
                self.counters["recorded cut"] += 1
            return
        self._fail("heard", f"{text!r} is recorded as said; heard was {[s.heard for s in candidates]}")

    def _spoken(self, word: str) -> list[Segment]:
        known = self.texts.get(word)
        if known:
            return known
        # A generation that was stopped: its whole text was never told, but what was heard of it was.
        return [s for s in self.segments.values() if (s.heard or s.progress or "").split(" ")[0] == word]

    def _assumable(self, segment: Segment, text: str) -> bool:
        """The core may have closed the segment by itself, with what was reported last."""
        gone = segment.place is Place.GONE or self._gone_by_now(segment) or self.closing or self.may_end
        return gone and segment.progress.startswith(text)

    # -- commands: events and the end

    def _notice(self, notice: told.Notice) -> None:
        speech, gen = getattr(notice, "speech", None), getattr(notice, "gen", None)
        if any(held.speech.number == speech or held.number == gen for held in self.held.values()):
            self._fail("ahead", f"{notice} tells of what is held")
        if type(notice) in COUNTED:
            self.counters[COUNTED[type(notice)]] += 1

    def _words_lost(self, _: told.WordsLost) -> None:
        self.lost_at = self.now
        self.counters["words lost"] += 1

    def _task_began(self, notice: told.TaskBegan) -> None:
        task = self.tasks.get(notice.task)
        if task is not None:
            self.frames.append((task.task, task.agent))
            self.counters["task"] += 1

    def _tool_ended(self, notice: told.ToolEnded) -> None:
        self.counters[f"tool ended {notice.outcome}"] += 1

    def _turn_exceeded(self, command: told.TurnExceeded) -> None:
        limit = self.options.turns.user_turn_limit
        wordy = limit.max_words is not None and len(command.text.split()) >= limit.max_words
        lasted = 0.0 if self.turn_began is None else self.now - self.turn_began
        if not wordy and (limit.max_duration is None or lasted < limit.max_duration - EPSILON):
            self._fail("limits", f"{command} after {lasted:.2f} s, with the limit {limit}")
        self.exceeded = True
        self.overruled = self.speaking
        self.counters["turn too long"] += 1

    def _user_state(self, command: told.UserStateChanged) -> None:
        self.away = command.state == "away"
        if not self.away:
            return
        timeout = self.options.user_away_timeout
        since = self.quiet_for_long
        if timeout is None or since is None or self.now - since < timeout - EPSILON:
            self._fail("limits", f"{command}, and quiet it is since {since}")
        self.counters["away"] += 1

    def _speech_interrupted(self, speech: Speech) -> None:
        speech.interrupted = True
        speech.excused = type(self.fact) is f.InterruptRequested
        self.counters["speech interrupted"] += 1
        for run in self.live.values():
            if run.speech is speech and self._kept(run) and not run.updated:
                run.expires = self.now + run.made.policy.background_timeout
                run.spoken_over = True
                self.counters["kept in the background"] += 1

    def _speech_done(self, speech: Speech) -> None:
        if speech.done:
            self._fail("handles", f"speech {speech.number} is done twice")
        speech.done = True
        self.requested.discard(speech)
        for segment in self.sink:
            if segment.speech is speech and not self._gone_by_now(segment) and not (self.closing or self.may_end):
                self._fail("handles", f"speech {speech.number} is done while segment {segment.number} sounds")
        self._check_lost(speech)
        if speech.delivers and speech.heard and not speech.interrupted and not speech.failed:
            twice = self.told.intersection(speech.delivers)
            if twice:
                self._fail("kept", f"told twice: {sorted(twice)}")
            self.told.update(speech.delivers)
        if speech.interrupted and not speech.heard and not speech.excused:
            self.half_answered.update((turn.text, turn) for turn in speech.begun_for)
        if not self._answers(speech):
            return
        if speech.heard or not speech.interrupted:
            for turn in [turn for turn in self.half_answered.values() if speech in turn.begun]:
                del self.half_answered[turn.text]
        answered = [turn for turn in self.unanswered.values() if speech in turn.carriers]
        silent = not (speech.said or speech.ran or speech.rounds or speech.interrupted or speech.excused)
        if answered and silent and speech.request is None and not self.closing and not self.may_end:
            self._fail("turns", f"speech {speech.number} ended in silence: {[turn.text for turn in answered]}")
        for turn in answered:
            del self.unanswered[turn.text]
            self.answered.add(turn.text)
            if speech not in turn.begun:
                self.half_answered[turn.text] = turn
            self.counters["turn answered"] += 1

    def _check_lost(self, speech: Speech) -> None:
        """What gave no sound is said once more; in the place of what cannot be said stands a line."""
        if not speech.lost or speech.interrupted or speech.apologised or self.closing or self.may_end:
            return
        agents = {agent for _, agent in self.frames}
        if any(gen.agent not in agents for gen in self.gens.values() if gen.speech is speech):
            return  # its task is over
        is_json = speech.lost[0] == "{"
        if (is_json and not speech.says_goodbye) or not (is_json or speech.again):
            self._fail("mute", f"speech {speech.number} is done, and nobody has heard {speech.lost!r}")

    @staticmethod
    def _answers(speech: Speech) -> bool:
        return speech.heard or speech.maybe_heard or not speech.interrupted or speech.excused

    def _closed(self, _: do.Close) -> None:
        if not self.closing and not self.may_end:
            self._fail("end", "closed, and nobody asked for it")
        self.closed = True
        self.counters["closed"] += 1

    # -- the formulas

    def _check(self, deadline: float | None, idle: bool) -> None:
        if deadline is not None and deadline <= self.now and self.fact is None:
            self._fail("liveness", f"the deadline {deadline} is not after now, {self.now}: the driver would spin")
        if self.items and type(self.items[-1]) is FunctionCall:
            self._fail("pairs", f"the history ends with {self.items[-1]}")
        if self.closed:
            if deadline is not None:
                self._fail("end", "there is a deadline after Close")
            return
        if (
            self.close_at is not None
            and self.now >= self.close_at + EPSILON
            and not (deadline and deadline <= self.now)
        ):
            self._fail("end", f"closing was asked for in time to be over at {self.close_at}")
        if deadline is None and not self.speaking and not self.may_end and not self._somebody_else_acts():
            unfinished = self._unfinished()
            if unfinished:
                self._fail("liveness", f"nothing will happen any more, but unfinished is {unfinished}")
        if deadline is None and self.tasks and not (self.speaking or self.may_end or self._holds_floor()):
            self._check_deaf()
        if self.paused:
            if deadline is None and not self.speaking:
                self._fail("liveness", "paused, without a deadline, and the caller is silent")
            if not self.sink and not self.speaking:
                self._fail("barge-in", "paused, but nothing plays")
        if idle and self.sink and not all(self._gone_by_now(s) for s in self.sink):
            self._fail("rest", f"idle while {self.sink[0].number} sounds")
        for gen in self.asked.values():
            self._check_stream(gen)
        if self.options.user_away_timeout is not None:
            self._check_away(idle, self.options.user_away_timeout)
        if self.committed_now:
            self._check_turn_cuts()
        kind = type(self.fact)
        if kind is f.UserSpeechStarted or kind is f.Transcribed:
            self._check_barge_in()
        if kind is f.Transcribed:
            self._check_limit(self.fact.text)  # type: ignore[union-attr,arg-type]

    def _check_away(self, idle: bool, timeout: float) -> None:
        """A caller is away when nothing is said, owed or done for so long, and until something is."""
        quiet = idle and not self.speaking and not any(self._surely_runs(run) for run in self.live.values())
        if not quiet:
            if self.away and not idle and not self.speaking:
                self._fail("limits", "the caller is away, and something is owed or done")
            self.quiet_for_long = self.nothing_since = None
            return
        if self.quiet_for_long is None:
            self.quiet_for_long = self.now
        if self.live:
            self.nothing_since = None
        elif self.nothing_since is None:
            self.nothing_since = self.now
        elif not self.away and self.fact is None and self.now - self.nothing_since > timeout + EPSILON:
            self._fail("limits", f"nothing happens since {self.nothing_since}, and the caller is not away")

    def _new_words(self, text: str) -> int:
        """How many words of an utterance the latest turn did not take: the application may end it in the middle."""
        words = text.split()
        taken = self.turn_texts[-1] if self.turn_texts else ""
        known = next((n for n in range(len(words), 0, -1) if taken.endswith(" ".join(words[:n]))), 0)
        return len(words) - known

    def _check_limit(self, text: str) -> None:
        """A turn that is too long is taken while the caller speaks on."""
        limit = self.options.turns.user_turn_limit.max_words
        if (
            limit is not None
            and self.speaking
            and not self.closing
            and self._new_words(text) >= limit
            and not self.overruled
        ):
            self._fail("limits", f"{text!r} has more than {limit} words, and the turn is not taken")

    def _check_barge_in(self) -> None:
        if self.closing or self.may_end or self.overruled:
            return
        playing = [s for s in self.sink if s.place is Place.PLAYING]
        if (
            all(self._gone_by_now(s) for s in playing)
            or any(self._shielded(s.speech) for s in playing)
            or any(r.protected for r in self.live.values())
        ):
            return
        if (
            not self.speaking
            or self.was_shielded
            or self.now < self.resumed_until
            or any(s.place is Place.STOPPING for s in self.sink)
        ):
            return
        if type(self.fact) is f.UserSpeechStarted and not self.paused:
            self._fail("barge-in", "the caller speaks, and the line is not paused")
        if (
            type(self.fact) is f.Transcribed
            and _is_told_apart(self.fact.text)
            and self.words_since_start >= self.options.turns.interruption.min_words
        ):
            self._fail("barge-in", f"the caller said {self.words_since_start} words, and the agent is not cut")

    def _check_turn_cuts(self) -> None:
        """A turn that is taken silences what may be interrupted."""
        first = self.sink[0] if self.sink else None
        if first is None or first.place is not Place.PLAYING or self.closing or self.may_end or first.stalled:
            return
        if first.speech.filler:  # It bridged the wait for this very turn to be over.
            return
        if first.since >= self.now:  # It began behind the turn.
            return
        shielded = (
            self.was_shielded
            or not self.options.turns.interruption.enabled
            or any(run.protected or run.suspended for run in self.live.values())
        )
        if first.speech.interruptible and not shielded and self.now >= self.resumed_until:
            self._fail("barge-in", f"a turn was taken, and {first.number} sounds on")

    def _somebody_else_acts(self) -> bool:
        """The world has something under way that the conversation rightly waits for without a bound."""
        return bool(self.tasks) or self._holds_floor() or any(run.suspended for run in self.live.values())

    def _holds_floor(self) -> bool:
        """The caller said something, and only the application says when that is a turn."""
        return self.options.turns.detection == "manual" and self.said_last != ""

    def _check_deaf(self) -> None:
        """Only the end of a task would change anything, and that is up to its agent, who answers the caller."""
        is_asking = {task.run for task in self.tasks.values()}
        if any(run.suspended and run.number not in is_asking for run in self.live.values()):
            return  # it begins a task, or has just ended one, or waits for what it says
        unheard = [text for text in self.expected_turns if self.said_to.get(text) == self.frames[-1][0]]
        if self.options.turns.detection != "manual":
            unheard += self.waiting_words
        if unheard:
            self._fail("liveness", f"{self.frames[-1][1]} is deaf to {unheard}: it waits for the end of its own task")

    def _unfinished(self) -> list[str]:
        found = [f"segment {s.number}" for s in self.sink if not self._gone_by_now(s)]
        found += [f"speech {s.number}" for s in self.requested]
        found += [f"generation {g.number}" for g in self.gens.values() if g.open and self.now < g.expires]
        found += [
            f"run {r.number}"
            for r in self.live.values()
            if not r.cancelled and not r.ever_suspended and self.now < r.expires
        ]
        if self.options.turns.detection != "manual":
            found += [f"words {w}" for w in self.waiting_words]
        found += [f"response {number}" for number in self.responses]
        found += [f"turn {number} without words" for number in self.wordless]
        found += [f"turn {t.text!r}" for t in self.unanswered.values() if not any(s.excused for s in t.carriers)]
        return found

    def at_rest(self, idle: bool) -> None:
        """Everything was answered and nothing is due: nothing may be left over."""
        if self.closed:
            return
        if self.may_end:
            self._fail("end", "the goodbye was said, and the session is still open")
        if not idle:
            self._fail("rest", "nothing is due or under way, but the conversation is not idle")
        if self.paused:
            self._fail("rest", "the line is still paused")
        unfinished = self._unfinished() + [f"made ahead: {number}" for number in self.held]
        if unfinished:
            self._fail("rest", f"left over: {unfinished}")
        self._check_history()
        for run in self.runs.values():
            self._check_kept(run)

    def _check_history(self) -> None:
        lost = self.shown_calls - self.recorded_calls
        if lost:
            self._fail("pairs", f"calls that a request showed are not in the history: {sorted(lost)}")
        if self.expected_turns:
            self._fail("turns", f"committed, but not in the history: {self.expected_turns}")
        for segment in self.segments.values():
            request = segment.speech.request
            if segment.heard and not segment.recorded and not segment.speech.filler and (not request or request.record):
                self._fail("heard", f"{segment.heard!r} was heard and is not in the history")

    def _check_kept(self, run: Run) -> None:
        made = run.made
        if self._kept(run) and not made.recorded:
            self._fail("kept", f"call {made.call.call_id} of a {made.policy.effect} tool is not in the history")
        if run.result is None or run.cancelled or run.asked_to_cancel:
            return
        finished = f"{made.call.call_id}/finished"
        background = run.updated or run.spoken_over or (run.released and self._kept(run))
        if background and finished not in self.recorded_calls:
            self._fail("kept", f"{finished} is not in the history")
        if background and run.result.reply and finished not in self.offered:
            self._fail("kept", f"nobody was told of {finished}")

    def at_end(self) -> None:
        """After `Close`: every handle is done, and what was heard is recorded."""
        if not self.closed:
            self._fail("end", "closing was asked for, and the session is not closed")
        if self.requested:
            self._fail("handles", f"never done: {sorted(s.number for s in self.requested)}")
        self._check_history_at_end()

    def _check_history_at_end(self) -> None:
        lost = self.shown_calls - self.recorded_calls
        if lost:
            self._fail("pairs", f"calls that a request showed are not in the history: {sorted(lost)}")
        for segment in self.segments.values():
            request = segment.speech.request
            if segment.heard and not segment.recorded and not segment.speech.filler and (not request or request.record):
                self._fail("heard", f"{segment.heard!r} was heard and is not in the history")


COUNTED: dict[type[told.Notice], str] = {
    told.TurnCommitted: "turn_committed", told.TurnVetoed: "turn_vetoed", told.ToolProgressed: "tool_updated",
    told.ToolDropped: "tool_dropped", told.ToolAdopted: "tool_adopted", told.RoundClosed: "tools_executed",
    told.FalseInterruption: "false_interruption", told.HandedOff: "handoff", told.SpeechFailed: "error",
}  # fmt: skip
