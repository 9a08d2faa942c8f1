"""What went into a conversation and came out of it so far, by id: what the promises look things up in.

A trace takes down facts, commands and notices, and judges none. It decides nothing that the core decides: that
something is over is told by the fact that closes it, or by the command or notice that gives it up (`StopGenerating`,
`CancelTool`, `StepEnded`, `HookOverdue`). Whether that was right, and in time, is for the promises to say.

A promise sees a fact when the trace has it, and a command while the trace stands as it did when it was given.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.chat import ChatItem, ChatMessage, FunctionCall
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from antiphon.options import SessionOptions, ToolPolicy

EPSILON = 1e-6


def serials(text: str) -> set[str]:
    """The words of a caller's that occur once in a session: by them what was said is known again."""
    return {word for word in text.split() if word[0] == "u" and word[1:].isdigit()}


class Sound(enum.Enum):
    """What there is to hear of a step."""

    NONE = enum.auto()
    READY = enum.auto()
    HEARD = enum.auto()


@dataclass(slots=True, eq=False)
class Speech:
    """A speech of the agent."""

    number: int
    request: f.SpeechRequested | None = None
    interruptible: bool = True
    is_protected: bool = False
    """A tool of it asked that it be not cut."""
    is_filler: bool = False
    """It bridges a wait."""
    is_read_back: bool = False
    """It reads a call back to the caller: their words are for the gate."""
    is_goodbye: bool = False
    tells_results: bool = False
    """It was begun to tell what came up unasked, or by a model of its own accord."""
    asks_who_is_there: bool = False
    """It is said to a caller who has fallen silent: a noise does not cut it, and nobody waits for it."""
    steps: list[Step] = field(default_factory=list)
    rounds: int = 0
    """Responses with calls."""
    rounds_before: int = 0
    """Those of them up to where the caller last answered one of its questions in other words than a yes."""
    heard: bool = False
    interrupted: bool = False
    silenced: bool = False
    """By the application."""
    done: bool = False

    @property
    def rounds_used(self) -> int:
        """Of those that the turn which it answers may have."""
        return self.rounds - self.rounds_before

    @property
    def is_over(self) -> bool:
        return self.done or self.interrupted

    def says(self, command: object) -> bool:
        """It says the same text."""
        return any(getattr(step.asked, "text", None) == getattr(command, "text", None) for step in self.steps)

    @property
    def has_completed_its_task(self) -> bool:
        """A call that it waited for did."""
        runs = [made.run for step in self.steps for made in step.calls]
        return any(run.result.ends_task for run in runs if run is not None and run.result and not run.is_updated)


@dataclass(slots=True, eq=False)
class Step:
    """One response of a model, or one text to say, and its sound."""

    gen: int
    segment: int
    speech: Speech
    agent: str
    asked: do.Generate | do.Adopt | do.Speak
    due: float
    """When it may be given up."""
    is_held: bool = False
    """Made ahead, and neither released nor discarded."""
    is_open: bool = True
    """More of it may come."""
    is_asked: bool = False
    """The model, or the voice, was asked for it not only ahead."""
    has_begun: bool = False
    failed: bool = False
    so_far: str | None = None
    """Its stream stands still, and this was said of it."""
    text: str | None = None
    """All of it, once that is known."""
    calls: list[Made] = field(default_factory=list)
    played: float | None = None
    """When it was given to the loudspeaker."""
    stopped: float | None = None
    fading: float | None = None
    """When it was told to end with a word."""
    moved: float = 0.0
    """When there was last a sign that it sounds or will."""
    is_first: bool = False
    """It was put before what did not sound."""
    sound: Sound = Sound.NONE
    has_sounded: bool = False
    is_closed: bool = False
    """Its calls are written down."""
    heard: str = ""
    unsaid: str = ""
    is_reported: bool = False
    """The loudspeaker said what was heard of it."""
    is_over: bool = False

    @property
    def tools(self) -> bool:
        return getattr(self.asked, "tools", False)

    @property
    def is_filler(self) -> bool:
        return self.speech.is_filler

    @property
    def is_playing(self) -> bool:
        return self.played is not None and self.stopped is None and not self.is_over


@dataclass(slots=True, eq=False)
class Made:
    """A call, as a model made it."""

    call: f.Call
    policy: ToolPolicy
    is_rejected: bool
    step: Step
    run: Run | None = None


@dataclass(slots=True, eq=False)
class Run:
    """One execution of a tool."""

    number: int
    made: Made
    started: float
    frame: int | None
    """The task in whose frame it was begun; 0: the session's own; None: that cannot be told."""
    waits: int = 0
    """For how many things that only the caller or its own speech can end."""
    resumed: float = float("-inf")
    is_protected: bool = False
    is_updated: bool = False
    is_spoken_over: bool = False
    """Its speech was interrupted, and it goes on in the background."""
    is_released: bool = False
    """The caller spoke over it, and it lost its call."""
    is_cancelled: bool = False
    result: f.ToolReturned | None = None

    @property
    def policy(self) -> ToolPolicy:
        return self.made.policy

    @property
    def speech(self) -> Speech:
        return self.made.step.speech

    @property
    def is_over(self) -> bool:
        return self.is_cancelled or self.result is not None

    @property
    def is_kept(self) -> bool:
        """No interruption undoes it."""
        return self.is_updated or self.is_protected or self.policy.interrupted == "keep"

    @property
    def is_dropped(self) -> bool:
        return self.is_released and not self.is_kept

    @property
    def is_attached(self) -> bool:
        """Its call waits for it."""
        return not (self.is_over or self.is_updated or self.is_spoken_over or self.is_released)


class Trace:
    """All of one conversation."""

    def __init__(self, options: SessionOptions, agent: str, mark: str = "", prompt_voice: float | None = None) -> None:
        self.options = options
        self.mark = mark
        self.prompt_voice = prompt_voice
        """In this session a line that was made ahead is heard within so many seconds, facts and ticks come in time, and
        no sound is stuck; None: that is not known."""
        self.now = 0.0
        self.fact: f.Fact | None = None
        """The one at hand; None: time passed."""
        self.deadline: float | None = None
        """When the core then wanted to be asked again."""
        self.is_idle = False
        self.speeches: dict[int, Speech] = {}
        self.steps: dict[int, Step] = {}
        self.segments: dict[int, Step] = {}
        self.line: list[Step] = []
        """What the loudspeaker was given and is not over, in the order of its playing."""
        self.recorded_calls: set[str] = set()
        """Ids of the calls in the history."""
        self.contexts: dict[str, list[ChatItem]] = {}
        """By agent: what was recorded for it."""
        self.is_paused = False
        self.is_voice_lost = False
        """Nothing was heard of what was last to be heard."""
        self.to_be_heard = [line.text for line in options.must_hear if line.heard_at is None]
        """What the caller must hear, and has not."""
        self.is_unsayable = False
        """No voice can say the first of it."""
        self.question: told.ConsentAsked | None = None
        """What the caller is asked about."""
        self.is_put = False
        """They have heard something of the question."""
        self.calls: dict[str, Made] = {}
        self.runs: dict[int, Run] = {}
        self.hooks: dict[int, do.RunHook] = {}
        """Those that have not returned."""
        self.returned: do.RunHook | None = None
        """The one that returned with the fact at hand, or whose time is up."""
        self.ended: Run | None = None
        """The one that ended with it."""
        self.frames: list[tuple[int, str]] = [(0, agent)]
        """Agents on top of one another, each with the task that it serves; 0: none."""
        self.tasks: dict[int, f.AgentTaskStarted] = {}
        """Those that are awaited."""
        self.responses: dict[int, f.ResponseBegan] = {}
        """Begun by the model, neither adopted nor declined."""
        self.leaving: set[str] = set()
        """Agents whose `on_exit` has run, and whom nobody follows yet."""
        self.is_speaking = False
        """The caller."""
        self.is_overruled = False
        """They have said too much at once, and the agent has the word."""
        self.silent_since: float | None = None
        self.latest_word = ""
        """The first of the latest words that are no turn yet."""
        self.is_passed_by = False
        """A turn was typed behind the latest words, which nobody waits for."""
        self.is_interim = False
        """The recogniser may still change the latest."""
        self.given: Counter[str] = Counter()
        """The texts of turns that came as a whole, and that nobody has looked at."""
        self.words: set[str] = set()
        """Of those that occur once: the caller's that are no turn yet."""
        self.taken_words: set[str] = set()
        self.version: int | None = None
        """The words that the detector was asked about, while these stand."""
        self.probability: float | None = None
        """What it thinks of them."""
        self._may_ask_presence = False
        """The caller has said what may ask whether somebody is there, and that is no turn yet."""
        self.making: Speech | None = None
        """If so: the reply that was in the making, and had not sounded, when the entry at hand began."""
        self.joins: Speech | None = None
        """The reply that was in the making when the caller asked whether somebody is there, and a hook has that."""
        self.is_ending = False
        """A goodbye was asked for, and the caller has not gone on since."""
        self.is_closing = False
        self.is_closed = False

    # -- what is asked often

    @property
    def agent(self) -> str:
        """The one in charge."""
        return self.frames[-1][1]

    @property
    def ends(self) -> bool:
        return self.is_closing or self.is_ending

    @property
    def is_held_by_the_caller(self) -> bool:
        """They said something, and only the application says when that is a turn."""
        return bool(self.latest_word) and not self.is_passed_by and self.options.turns.detection == "manual"

    @property
    def live_runs(self) -> Iterator[Run]:
        return (run for run in self.runs.values() if not run.is_over)

    @property
    def open_steps(self) -> Iterator[Step]:
        return (step for step in self.steps.values() if step.is_open)

    def is_protected(self, speech: Speech) -> bool:
        """The caller may not cut what sounds of it."""
        return not (speech.interruptible and self.options.turns.interruption.enabled)

    def is_shielded(self, speech: Speech, grace: float = 0.5) -> bool:
        """No turn of the caller interrupts it; `grace`: nor a moment after its tool came back from them."""
        if speech.is_read_back or (self.is_put and self.question and self.question.speech == speech.number):
            return True
        return self.is_protected(speech) or any(
            (run.waits > 0 or self.now < run.resumed + grace) and run.speech is speech for run in self.runs.values()
        )

    def turns_before(self, request: do.Generate) -> set[str]:
        """The caller's words that the model has before it."""
        items = (*self.contexts.get(request.agent, ()), *request.open)
        return {item.text_content or "" for item in items if type(item) is ChatMessage and item.role == "user"}

    def calls_before(self, request: do.Generate) -> set[str]:
        """The calls that it has before it."""
        items = (*self.contexts.get(request.agent, ()), *request.open)
        return {item.call_id for item in items if type(item) is FunctionCall}

    def _in_the_making(self) -> Speech | None:
        """A reply of the agent in charge that is being made, will say something, and of which nothing has sounded.

        None also while anything else sounds, but for what bridges the wait for it.
        """
        sounding = next((step for step in self.line if step.stopped is None), None)
        if sounding is not None and sounding.has_sounded and not sounding.is_filler:
            return None
        return next((speech for speech in self.speeches.values() if self._is_in_the_making(speech)), None)

    def _is_in_the_making(self, speech: Speech) -> bool:
        if speech.is_over or speech.heard or speech.is_filler or speech.is_goodbye or speech.tells_results:
            return False
        if not speech.steps or isinstance(speech.steps[0].asked, do.Speak) or speech.has_completed_its_task:
            return False
        request = speech.request
        if request is not None and (request.run is not None or request.tool_choice == "none"):
            return False
        if speech.steps[-1].agent != self.agent or not any(step.is_asked for step in speech.steps):
            return False
        waiting = [run for run in self.live_runs if run.waits and run.speech is speech and run.is_attached]
        if any(run.made.call.call_id not in self.recorded_calls for run in waiting):
            return False
        return not any(step.has_sounded and not step.is_over for step in speech.steps)

    def answers_as_well(self, text: str) -> Speech | None:
        """The reply that answers this turn, too, without another request: it was in the making when that was said."""
        reply = self.joins if self.options.language.asks_presence(text) else None
        if reply is None or reply.interrupted or (reply.done and not reply.heard):
            return None
        return None if reply.steps[-1].agent != self.agent or self.calls_to_close(reply) else reply

    def calls_to_close(self, speech: Speech) -> list[Made]:
        """The calls of its latest response that are to be written down."""
        step = speech.steps[-1]
        if step.is_closed:
            return []
        return [made for made in step.calls if step.tools and made.call.call_id not in self.recorded_calls]

    # -- taking down

    def begin(self, now: float, fact: f.Fact | None) -> None:
        """An entry of the journal. After the end, nothing is listened to."""
        self.now, self.fact, self.returned, self.ended = now, fact, None, None
        if fact is not None and not self.is_closed:
            self._hear_caller(fact)
            self._hear_model(fact)
            self._hear_loudspeaker(fact)
            self._hear_tool(fact)
            self._hear_application(fact)
        if self._may_ask_presence or self._asks_presence(fact):
            self._may_ask_presence, self.making = True, self._in_the_making()

    def _asks_presence(self, fact: f.Fact | None) -> bool:
        text = fact.text if isinstance(fact, f.Transcribed | f.UserTurnSubmitted) else ""
        return bool(text) and self.options.language.asks_presence(text, so_far=True)

    def speech(self, number: int) -> Speech:
        """A speech by its number; it need not have begun."""
        return self.speeches.setdefault(number, Speech(number))

    def live_run(self, number: int | None) -> Run | None:
        """A run that is not over."""
        run = None if number is None else self.runs.get(number)
        return None if run is None or run.is_over else run

    def frame_of(self, agent: str) -> int | None:
        """The task that the agent serves; 0: none. None: it is not in charge of anything."""
        return next((task for task, one in reversed(self.frames) if one == agent), None)

    def _hear_caller(self, fact: f.Fact) -> None:
        match fact:
            case f.UserSpeechStarted():
                self.is_speaking, self.silent_since = True, None
                self.is_passed_by = False
                self.version = self.probability = None
            case f.UserSpeechEnded(silence) if self.is_speaking:
                self.is_speaking = self.is_overruled = False
                self.silent_since = self.now - silence
            case f.Transcribed(text, final):
                if text:
                    self.latest_word = text.split()[0]
                if text or self.is_interim:  # none at all may take back those that were not for good
                    self.version = self.probability = None
                self.is_interim = bool(text) and not final
                if final:
                    self.words |= serials(text) - self.taken_words
            case f.UserTurnSubmitted(text) | f.TurnTaken(text=text):
                self.is_passed_by = not self.is_speaking
                self.given[text or ""] += 1
                self.words |= serials(text or "")
            case f.TurnTranscribed(text=text):
                self.given[text] += 1
            case f.UserTurnCleared():
                self.words.clear()
                self.latest_word = ""
            case f.EndOfTurnPredicted(version, probability) if version == self.version:
                self.probability = probability

    def _hear_model(self, fact: f.Fact) -> None:
        if isinstance(fact, f.ResponseBegan):
            self.responses[fact.response] = fact
        step = self.steps.get(getattr(fact, "gen", 0))
        if step is None or not step.is_open:
            return
        match fact:
            case f.TextStarted():
                step.has_begun = True
                self._goes_on(step)
            case f.StreamContinued(within=within):
                self._goes_on(step, within)
            case f.StreamPaused(seconds=seconds, text=text) if not isinstance(step.asked, do.Speak):
                step.so_far, step.due = text, self.now + self.options.stream_timeout - seconds
            case f.ToolCalled(call=call, policy=policy, rejected=rejected):
                if step.tools:
                    self._goes_on(step)
                    step.speech.rounds += not step.calls
                made = self.calls[call.call_id] = Made(call, policy, rejected is not None, step)
                step.calls.append(made)
            case f.StepGenerated(text=text) | f.GenerationFailed(text=text):
                step.is_open, step.text, step.moved = False, text, self.now
                step.failed = isinstance(fact, f.GenerationFailed)

    @property
    def awaits_notice(self) -> bool:
        """All else that is said waits for what the caller must hear."""
        return bool(self.to_be_heard) and not self.is_unsayable

    def _goes_on(self, step: Step, within: float | None = None) -> None:
        step.so_far = None
        step.due = self.now + (self.options.generation_limit if within is None else within)

    def _hear_loudspeaker(self, fact: f.Fact) -> None:
        step = self.segments.get(getattr(fact, "segment", 0))
        if step is not None and isinstance(fact, f.SoundReady) and step.sound is Sound.NONE:
            step.sound = Sound.READY
        if step is None or step not in self.line:
            return
        match fact:
            case f.PlayoutStarted():
                step.sound, step.moved, step.has_sounded = Sound.HEARD, self.now, True
                self.is_put |= step.speech.is_read_back
            case f.PlayoutStarved():
                step.sound = Sound.NONE
            case f.PlayoutProgressed(heard=heard):
                step.moved, step.heard = self.now, max(step.heard, heard, key=len)
                self._heard(step, heard)
            case f.PlayoutFinished(heard=heard, failed=failed, unsaid=unsaid):
                step.is_reported, step.heard, step.unsaid = True, heard, unsaid
                step.failed = step.failed or failed
                self._heard(step, heard)
                line = getattr(step.asked, "text", None)
                if not failed and line in self.to_be_heard and heard.split() == line.split():
                    self.to_be_heard.remove(line)
                if not heard and (failed or unsaid) and not step.is_filler:
                    self.is_voice_lost = True

    def _heard(self, step: Step, text: str) -> None:
        step.speech.heard = step.speech.heard or bool(text)
        self.is_put |= step.speech.is_read_back and bool(text)
        self.is_voice_lost = self.is_voice_lost and not text

    def _hear_tool(self, fact: f.Fact) -> None:
        run = self.live_run(getattr(fact, "run", None))
        if run is None:
            return
        match fact:
            case f.ToolUpdated() if not run.is_dropped:
                run.is_updated = True
            case f.ToolReturned():
                run.result, self.ended = fact, run
            case f.InterruptionsDisallowed():
                run.speech.is_protected |= run.is_attached
                run.speech.interruptible &= not run.is_attached
                run.is_spoken_over = run.is_spoken_over or run.is_released
                run.is_protected = True
            case f.RunSuspended() | f.AgentTaskStarted():
                run.waits += 1
            case f.RunResumed():
                self._resume(run)

    def _resume(self, run: Run | None) -> None:
        if run is not None and run.waits:
            run.waits -= 1
            run.resumed = self.now

    def _hear_application(self, fact: f.Fact) -> None:
        match fact:
            case f.HookReturned(hook):
                self.returned = self.hooks.pop(hook, None)
            case f.SpeechRequested(number):
                speech = self.speech(number)
                speech.request, speech.interruptible = fact, fact.interruptible
                speech.is_filler = fact.kind == "filler"
            case f.InterruptibilityChanged(number, interruptible) if number in self.speeches:
                self.speeches[number].interruptible = interruptible and not self.speeches[number].is_protected
            case f.AgentTaskStarted(task):
                self.tasks[task] = fact
            case f.AgentTaskFinished(task):
                self._task_is_over(task)
                position = next((n for n, (one, _) in enumerate(self.frames) if n and one == task), len(self.frames))
                for above, _ in self.frames[position + 1 :]:
                    self._task_is_over(above)
                self.leaving -= {agent for _, agent in self.frames[position:]}
                del self.frames[position:]
            case f.EndRequested(number):
                self.speech(number).is_goodbye = True
                self.is_ending = self.is_ending or not self.is_closing
            case f.CloseRequested():
                self.is_closing = True

    def _task_is_over(self, task: int) -> None:
        started = self.tasks.pop(task, None)
        if started is not None:
            self._resume(self.live_run(started.run))

    def command(self, command: do.Command) -> None:
        """What the core wants done."""
        match command:
            case do.Generate() | do.Speak():
                self._begin_step(command)
            case do.Adopt(response=response):
                began = self.responses.pop(response, None)
                self._begin_step(command)
                self.speech(command.speech).tells_results |= began is not None and began.turn is None
            case do.Decline(response):
                self.responses.pop(response, None)
            case do.Release(gen):
                self.steps[gen].is_held, self.steps[gen].is_asked = False, True
            case do.Discard(gen):
                step = self.steps[gen]
                step.is_held = step.is_open = False
                step.is_over = step.speech.done = True
            case do.StopGenerating(gen):
                step = self.steps[gen]
                step.failed = step.failed or step.so_far is None
                is_cut = step.speech.interrupted or isinstance(self.fact, f.AgentTaskFinished)
                step.is_open, step.text = False, None if is_cut else step.so_far
            case do.Play(segment, first):
                step = self.segments[segment]
                step.played = step.moved = self.now
                step.is_first = first
                self.line.insert(0 if first else len(self.line), step)
            case do.StopPlayout(segment, at_word):
                step = self.segments[segment]
                if at_word:
                    step.fading = self.now
                elif step.stopped is None:
                    step.stopped = self.now
            case do.PausePlayout():
                self.is_paused = True
            case do.ResumePlayout():
                self.is_paused = False
                for step in self.line[:1]:
                    step.moved = self.now
            case do.RunTool(number, call, agent=agent):
                made = self.calls[call.call_id]
                made.run = self.runs[number] = Run(number, made, self.now, self.frame_of(agent))
            case do.CancelTool(number):
                self.runs[number].is_cancelled = True
            case do.ReleaseRun(number):
                self.runs[number].is_released = True
            case do.RebindRun(number, call):
                run, made = self.runs[number], self.calls[call.call_id]
                run.made, made.run = made, run
                run.is_released, run.frame = False, None
            case do.PredictEndOfTurn(version):
                self.version, self.probability = version, None
            case do.RunHook():
                self._hook_begins(command)
            case do.Record(item, agent, carried):
                self.contexts.setdefault(agent, []).append(item)
                if isinstance(item, FunctionCall) and not carried:
                    self.recorded_calls.add(item.call_id)
                    called = self.calls.get(item.call_id)
                    if called is not None and called.run is not None and called.run.is_released:
                        called.run.is_released, called.run.is_spoken_over = False, True  # it was taken up again
            case do.Close():
                self.is_closed = True
            case _ if told.is_notice(command):
                self._notice(command)

    def _begin_step(self, command: do.Generate | do.Adopt | do.Speak) -> None:
        speech, options = self.speech(command.speech), self.options
        if isinstance(command, do.Speak):
            agent, wait = self._agent_of(speech), options.generation_limit
            speech.is_filler = speech.is_filler or command.ahead
        else:
            agent, wait = command.agent, options.generation_timeout
        if getattr(command, "text", None) in self.to_be_heard:
            said = [
                one for one in self.speeches.values() if one is not speech and one.interrupted and one.says(command)
            ]
            speech.interruptible = len(said) < 2
        if isinstance(command, do.Speak) and self.question is not None and command.text == self.question.text:
            speech.is_read_back = True
        step = Step(command.gen, command.segment, speech, agent, command, self.now + wait)
        step.is_held = getattr(command, "ahead", False)
        step.is_asked = not step.is_held
        step.has_begun = isinstance(command, do.Speak) and bool(command.text)
        ladder = options.away_ladder
        if ladder is not None and isinstance(command, do.Speak) and not speech.steps:
            speech.asks_who_is_there = command.text in (ladder.ask, ladder.again, ladder.goodbye)
            speech.interruptible = speech.interruptible and not speech.asks_who_is_there
            if command.text == ladder.goodbye:
                speech.is_goodbye, self.is_ending = True, self.is_ending or not self.is_closing
        speech.tells_results |= not speech.steps and getattr(command, "delivery", False)
        speech.steps.append(step)
        self.steps[command.gen] = self.segments[command.segment] = step

    def _agent_of(self, speech: Speech) -> str:
        """Who says a text of the application's, or of the session's own."""
        request = speech.request
        run = self.live_run(request.run) if request is not None else None
        agent = request.agent if request is not None else None
        if speech.steps or run is not None:
            agent = speech.steps[-1].agent if speech.steps else run.made.step.agent if run is not None else None
        return self.agent if agent is None or self.frame_of(agent) is None else agent

    def _hook_begins(self, command: do.RunHook) -> None:
        self.hooks[command.hook] = command
        if command.kind == "on_user_turn_completed":
            self.is_ending = False
            asks = command.heard_as is None and self.options.language.asks_presence(command.text)
            self.joins = self.making if asks else None
            self._taken(command.text)
            if asks and not self.latest_word:  # else what they said before a typed turn is still to be one
                self._may_ask_presence, self.making = False, None
        elif command.kind == "on_exit":
            self.leaving.add(command.agent)
        elif command.previous is not None:
            self.leaving.discard(command.previous)
            position = max((n for n, (_, agent) in enumerate(self.frames) if agent == command.previous), default=None)
            if position is not None:
                self.frames[position] = (self.frames[position][0], command.agent)

    def _taken(self, text: str) -> None:
        """The caller's words are a turn."""
        self.words -= serials(text)
        if text in self.given:
            self.given -= Counter((text,))
        elif self.latest_word in text.split():
            self.latest_word = ""
        self.taken_words |= serials(text)

    @property
    def _is_of_hook(self) -> bool:
        return self.returned is not None and self.returned.kind == "on_user_turn_completed"

    def _notice(self, notice: told.Notice) -> None:
        match notice:
            case told.TurnCommitted() | told.TurnVetoed() if self._is_of_hook:
                self.returned = None  # it has decided; the gate may take another turn behind it
            case told.TurnCommitted(text) if self.is_put:  # the gate took it
                self._taken(text)
                self.is_ending = False
            case told.ConsentAsked():
                self.question = notice
            case told.ConsentDecided(number, call, decision):
                if decision in ("no", "change", "question"):
                    self.speech(number).rounds_before = self.speech(number).rounds
                self.question, self.is_put = None, False
                self.calls[call.call_id].is_rejected |= decision != "yes"
            case told.SpeechInterrupted(number):
                speech = self.speech(number)
                speech.interrupted = True
                speech.silenced = isinstance(self.fact, f.InterruptRequested)
                for run in self.live_runs:
                    run.is_spoken_over = run.is_spoken_over or (run.speech is speech and run.is_kept)
            case told.StepEnded(gen=gen):
                step = self.steps[gen]
                step.is_over = True
                if step in self.line:
                    self.line.remove(step)
                    if not (step.is_reported or step.heard or step.is_filler or step.speech.interrupted):
                        self.is_voice_lost = True
            case told.MustHearSettled(heard_at=None):
                self.is_unsayable = True
            case told.RoundClosed(gen=gen):
                self.steps[gen].is_closed = True
            case told.SpeechFailed(gen=gen):
                self.steps[gen].failed = True
            case told.SpeechDone(number):
                self.speech(number).done = True
            case told.ToolProgressed(number) | told.ToolEnded(number, outcome="done" | "error" | "unknown"):
                run = self.runs[number]
                if run.is_released:  # it was taken up again
                    run.is_released, run.is_spoken_over = False, True
            case told.HookOverdue(hook):
                self.returned = self.hooks.pop(hook, None)
            case told.TurnExceeded():
                self.is_overruled = self.is_speaking
            case told.TaskBegan(task):
                self.frames.append((task, self.tasks[task].agent))
            case told.TaskDropped(task):
                self._task_is_over(task)
            case told.VoiceGivenUp():
                self.is_closing = True
