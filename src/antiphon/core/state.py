"""What a conversation is made of: speeches, their steps, segments and calls, the runs of tools, turns, frames.

    WAITING --may begin--> GENERATING --no calls--> SPEAKING --nothing left on the line--> DONE
    HELD (made ahead) --released--> GENERATING    HELD --discarded--> DONE    any --interrupted--> SPEAKING, interrupted
                           GENERATING --calls, all closed--> GENERATING | SPEAKING

A speech is what a handle stands for: a `say()`, a reply with all its rounds of tools, a delivery of results. A step
is one model response (or one text to say) with the calls it made. A *frame* is an agent on the stack.

Above: the owners, which keep these records, and the rules, which move them along. Below: the history.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from antiphon.chat import ImageContent
from antiphon.core.facts import Call, Handoff, ToolReturned
from antiphon.core.history import Note, Slot
from antiphon.core.row import Asked, Row
from antiphon.core.stages import Bond, Gate, Kind, Rank, Sound, Stage, Voice
from antiphon.options import ToolChoice, ToolPolicy

_HELD, _GENERATING, _TOOLS = Stage.HELD, Stage.GENERATING, Stage.TOOLS
_SPEAKING, _DONE = Stage.SPEAKING, Stage.DONE
_RUNNING, _CLOSED = Gate.RUNNING, Gate.CLOSED
_QUEUED, _PLAYING, _GONE = Sound.QUEUED, Sound.PLAYING, Sound.GONE
"""Set in every turn; before Python 3.12 the member of an enum is long in being found."""
_OPEN_GATES = (Gate.WAITING, Gate.CONSENT, _RUNNING)


@dataclass(slots=True, eq=False)
class Run:
    """One execution of a tool."""

    id: int
    call: Call
    policy: ToolPolicy
    speech: Speech
    frame: Frame
    agent: str
    started: float
    bond: Bond = Bond.ATTACHED
    open_call: OpenCall | None = None
    """The call that waits for it, while attached."""
    protected: bool = False
    suspended: int = 0
    """How many things it waits for that only the caller or its own speech can end."""
    time_left: float | None = None
    """What its clock showed when it was suspended."""
    updates: int = 0
    row: Row | None = None
    """Its place in the ledger; None for one that only reads."""
    returned: ToolReturned | None = None
    """What came of it, for an orphan that has ended."""
    returned_at: float = 0.0

    def protect(self) -> None:
        """It must not be interrupted any more."""
        self.protected = True

    def in_background(self) -> None:
        """Its call has its output, and the tool goes on."""
        self.bond, self.open_call = Bond.BACKGROUND, None

    def orphaned(self) -> None:
        """Its call was dropped, and the tool goes on."""
        self.bond, self.open_call = Bond.ORPHAN, None

    def over(self) -> None:
        """Nobody waits for it any more."""
        self.bond, self.open_call = Bond.GONE, None

    def returned_unseen(self, returned: ToolReturned, now: float) -> None:
        """It ended as an orphan: an equal call may still have what came of it."""
        self.returned, self.returned_at = returned, now

    def adopted(self, open_call: OpenCall, speech: Speech, home: Frame) -> None:
        """It serves another call, of another speech. `home`: the frame that learns what it reports later."""
        self.bond, self.open_call = Bond.ATTACHED, open_call
        self.call, self.speech, self.frame = open_call.call, speech, home

    def waits(self, time_left: float | None) -> bool:
        """For one thing more that the caller or its own speech ends; its clock shows `time_left`. True: the first."""
        self.suspended += 1
        if self.suspended > 1:
            return False
        self.time_left = time_left
        return True

    def goes_on(self) -> bool:
        """One thing that it waited for is over. True if it was the last one."""
        if not self.suspended:
            return False
        self.suspended -= 1
        return not self.suspended

    def report(self, suffix: str) -> OpenCall:
        """The pair in the history of what it reports from the background."""
        call = Call(f"{self.call.call_id}/{suffix}", self.call.name, self.call.arguments, self.call.canonical)
        return OpenCall(call, self.policy, run=self)

    def update(self) -> OpenCall:
        """The pair of its next progress report."""
        self.updates += 1
        return self.report(f"update_{self.updates}")

    @property
    def active(self) -> bool:
        """True while the tool runs."""
        return self.returned is None and self.bond is not Bond.GONE

    @property
    def keeps(self) -> bool:
        """Nothing but its own end undoes it."""
        return self.protected or self.policy.writes

    @property
    def outlives_interruption(self) -> bool:
        """The caller's words do not undo it, and what it comes to is told."""
        return self.protected or self.policy.interrupted == "keep"


@dataclass(slots=True)
class OpenCall:
    """A call of the step at hand."""

    call: Call
    policy: ToolPolicy
    gate: Gate = Gate.WAITING
    run: Run | None = None
    output: str = ""
    is_error: bool = False
    reply: bool = True
    """The model is to answer this output."""
    update: bool = False
    """The output is progress; the tool goes on in the background."""
    handoff: Handoff | None = None
    images: tuple[ImageContent, ...] = ()
    note: Note | None = None
    """The call and its output, as the history has them."""
    shows: tuple[Row, ...] = ()
    """The starts whose outcome its output tells."""
    refused: bool = False
    answered: bool = False
    """It was not started, for what was done before: its output is nothing new."""
    ends_task: bool = False
    """It completed the task of its agent."""
    was_put: bool = False
    """The caller has heard something of what is read back of it."""
    agreed_at: float | None = None
    """When the caller said yes to it."""

    def asks(self) -> None:
        """The caller is asked whether it may be made."""
        self.gate, self.agreed_at = Gate.CONSENT, None

    def was_put_to_the_caller(self) -> None:
        """They hear what they are asked."""
        self.was_put = True

    def agreed_to(self, now: float) -> None:
        """The caller said yes: it may start."""
        self.gate, self.agreed_at = Gate.WAITING, now

    @property
    def was_protected(self) -> bool:
        """It asked not to be interrupted: what came of it is not lost either."""
        return self.run is not None and self.run.protected

    def runs_as(self, run: Run) -> None:
        """The tool is at work."""
        self.gate, self.run = _RUNNING, run

    def drop(self) -> None:
        """The caller spoke over it."""
        self.gate = Gate.DROPPED

    def close(self, output: str, *, is_error: bool = False, reply: bool = True) -> None:
        """Its output is known."""
        self.gate, self.output = _CLOSED, output
        self.is_error, self.reply = is_error, reply

    def close_with(self, returned: ToolReturned) -> None:
        """The tool ended."""
        self.close(returned.output, is_error=returned.is_error, reply=returned.reply)
        self.handoff, self.images, self.ends_task = returned.handoff, returned.images, returned.ends_task
        if self.run is not None and self.run.row is not None:
            self.shows = (self.run.row,)

    def answer(
        self, output: str, *, is_error: bool, shows: tuple[Row, ...], reply: bool, refused: bool = False
    ) -> None:
        """It is not made: this was done before. `refused`: by a turn of the caller, which has rounds of its own."""
        self.close(output, is_error=is_error, reply=reply)
        self.shows, self.answered, self.refused = shows, True, refused

    def goes_on(self, progress: str, *, reply: bool = True) -> None:
        """Its output is a word on the way: the tool works on in the background."""
        self.close(progress, reply=reply)
        self.update = True

    def written_down(self, note: Note) -> None:
        """It is in the history, beside its output."""
        self.note = note
        for row in self.shows:
            row.shown_in(note)


@dataclass(slots=True)
class Step:
    """One response of the model, or one text to say."""

    gen: int
    segment: Segment
    tools: bool
    """Calls are wanted; False: those that come are dropped."""
    asked: Asked
    """When the model was asked for it."""
    calls: list[OpenCall] = field(default_factory=list)
    not_made: list[Call] = field(default_factory=list)
    """Calls that came where none are wanted."""
    begun: bool = False
    """Its text has begun."""
    generated: bool = False
    so_far: str | None = None
    """The model's stream stands still: what is spoken of it so far. None: it does not."""
    given: float | None = None  # when a voice was given all its text; None: that is still to come

    def text_began(self) -> None:
        """There is something to say."""
        self.begun = True

    def called(self, open_call: OpenCall) -> None:
        """The model made a call."""
        self.calls.append(open_call)

    def turned_down(self, call: Call) -> None:
        """The model made a call where none are wanted."""
        self.not_made.append(call)

    def take_closed(self) -> list[OpenCall]:
        """Its calls whose output is known: they are written down, and what is left of the others is forgotten."""
        done, self.calls = [call for call in self.calls if call.gate is _CLOSED], []
        return done

    def stood_still(self, so_far: str) -> None:
        """The model's stream does not go on."""
        self.so_far = so_far

    def went_on(self) -> None:
        """The model is at work again."""
        self.so_far = None

    def ended(self) -> None:
        """Nothing more will come of it."""
        self.generated = True


@dataclass(slots=True)
class Trouble:
    """What went wrong with a speech, and what was done about it."""

    failed: bool = False
    """The model, or its voice, failed it."""
    retried: bool = False
    """The model said nothing, and was asked once more."""
    fallback: bool = False
    """The core's own line was said in the model's place."""
    again: bool = False
    """What gave no sound was said once more."""
    lost: str | None = None
    """A segment broke, and nothing was heard since: its text if it gave no sound at all, "" if it did."""

    def broke(self) -> None:
        """It is not made good."""
        self.failed = True

    def asked_again(self) -> None:
        """The model gets another chance."""
        self.retried = True

    def fell_back(self) -> None:
        """The core says its own line."""
        self.fallback = True

    def said_again(self) -> None:
        """What gave no sound gets another chance."""
        self.again = True

    def voice_failed(self, unsaid: str) -> None:
        """A segment broke. `unsaid`: its text, where it gave no sound at all."""
        self.lost = unsaid or self.lost or ""

    def heard(self) -> None:
        """The voice is heard again."""
        self.lost = None

    def take_lost(self) -> str | None:
        """What was lost, to be made up for once."""
        taken, self.lost = self.lost, None
        return taken


@dataclass(slots=True, eq=False)
class Speech:
    """A speech of the agent."""

    id: int
    kind: Kind
    frame: Frame
    rank: Rank
    """Its place among what is not yet played."""
    opened: float = float("-inf")
    """When it was begun, if the core began it."""
    interruptible: bool = True
    is_protected: bool = False
    """A tool of it asked that it be not cut: so it stays, to its end."""
    over_caller: bool = False
    """It was asked for while the caller spoke, and is no part of an answer."""
    stage: Stage = Stage.WAITING
    interrupted: bool = False
    parent: Run | None = None
    """The run that asked for it, if one did."""
    instructions: str | None = None
    tool_choice: ToolChoice | None = None
    record: bool = True
    user_input: str | None = None
    on_enter: bool = False
    agent: str = ""
    """Who speaks: the agent that was in charge when its first step began."""
    rounds: int = 0
    rounds_used: int = 0  # those of them that belong to the turn which it answers now
    step: Step | None = None
    live: list[Segment] = field(default_factory=list)
    """Its segments that may still sound."""
    heard: bool = False
    """Anything of it was heard."""
    told_in: int = 0
    """The latest round, from 1 on, in which a tool said anything by itself."""
    trouble: Trouble = field(default_factory=Trouble)
    last_round: bool = False
    """The task it belonged to is over: nothing follows the calls at hand."""
    ends_call: bool = False
    """The call ends with it: what it lacks is not asked for again, nor made up for."""
    farewell: bool = False
    """Its last response, before a hand-off: no tools."""
    owes: bool = False
    """A round wanted a reply, and nothing was said since."""

    def may_be_cut(self, interruptible: bool, *, to_its_end: bool = False) -> None:
        """Whether the caller may cut it from now on. `to_its_end`: a tool says so, whatever is said later."""
        self.is_protected |= to_its_end
        self.interruptible = interruptible and not self.is_protected

    def is_goodbye(self) -> None:
        """The call ends with it."""
        self.ends_call = True

    def began(self, gen: int, segment: int, asked: Asked, *, tools: bool, tells: bool, ahead: bool) -> Step:
        """Its next response, or a text to say, is made. `ahead`: before it is known to be wanted."""
        self.step = Step(gen, Segment(segment, gen, self, self.rounds, tells), tools, asked)
        self.live.append(self.step.segment)
        self.stage = _HELD if ahead else _GENERATING
        self.agent = self.frame.agent
        return self.step

    def released(self, frame: Frame) -> None:
        """What was made ahead is wanted, by the frame in charge."""
        self.stage = Stage.GENERATING
        self.frame = frame

    def take_user_input(self) -> str | None:
        """What the application passed on as the caller's words. It enters the history once."""
        taken, self.user_input = self.user_input, None
        return taken

    def tool_spoke(self) -> None:
        """A tool of the round at hand says something by itself."""
        self.told_in = self.rounds + 1

    def reached_the_caller(self) -> None:
        """Something of it was heard."""
        self.heard = True

    def written(self) -> None:
        """Its response is complete; its calls are not all closed."""
        self.stage = _TOOLS

    def round_over(self, *, anew: bool) -> None:
        """Calls of it are written down: what it said before tells nothing of them. `anew`: for another turn."""
        self.rounds, self.rounds_used = self.rounds + 1, 0 if anew else self.rounds_used + 1

    def round_answered(self, step: Step, *, wants_reply: bool) -> None:
        """It owes a reply if a round wanted one. Text beside the calls is an answer to the round before."""
        self.owes = wants_reply or (self.owes and not step.segment.text)

    def took_leave(self) -> None:
        """Another agent takes over behind it."""
        self.farewell = True

    def said_all(self) -> None:
        """Nothing more will be generated."""
        self.stage = _SPEAKING

    def segment_over(self, segment: Segment) -> None:
        """A segment of it sounds no more."""
        if segment in self.live:
            self.live.remove(segment)
        if segment.heard:
            self.trouble.heard()

    def task_over(self) -> None:
        """The task it belonged to is over: it gets no more rounds."""
        self.last_round = True

    def moved(self, frame: Frame) -> None:
        """Another frame finishes it."""
        self.frame.left_by(self)
        self.frame = frame
        frame.joined_by(self)

    def cut(self) -> None:
        """It is interrupted: nothing more will be generated."""
        self.interrupted = True
        self.stage = Stage.SPEAKING

    def ended(self) -> None:
        """It is over."""
        self.stage = _DONE
        self.step = None  # it knows the speech, too: nothing is left for the garbage collector to find

    @property
    def is_generating(self) -> bool:
        """Its response is not complete."""
        return self.stage is Stage.GENERATING and self.step is not None and not self.step.generated

    @property
    def finished(self) -> bool:
        """True once its handle is done."""
        return self.stage is Stage.DONE

    def open_calls(self) -> list[OpenCall]:
        """The calls of the step at hand that are not closed."""
        if self.step is None:
            return []
        return [c for c in self.step.calls if c.gate in _OPEN_GATES]


@dataclass(slots=True, eq=False)
class Segment:
    """A stretch of audio with its text."""

    id: int
    gen: int
    speech: Speech
    rounds: int = 0
    """Rounds of tools that its speech had behind it when it was begun: it may tell their results."""
    tells: bool = True
    """False: a line of the session's own, of which nobody learns what tools did."""
    slot: Slot | None = None
    sound: Sound = Sound.OPEN
    voice: Voice = Voice.SILENT
    fading: bool = False
    """It ends with the word that sounds."""
    text: str | None = None
    """All of its text, once known."""
    has_sounded: bool = False
    """It began to be heard."""
    began: float = 0.0
    """When its text began, and it took its place on the line."""
    heard: str = ""
    """What was heard of it so far."""
    was_cut: bool = False
    """It is over, and less of it was heard than was to be said."""

    def queued(self, slot: Slot | None, now: float) -> None:
        """Its text began: it waits for its place on the line. `slot`: its place in the history, if it enters it."""
        self.sound, self.slot, self.began = _QUEUED, slot, now

    def completed(self, text: str) -> None:
        """All of its text is known."""
        self.text = text

    def given(self) -> None:
        """The loudspeaker has it."""
        self.sound = _PLAYING

    def sound_came(self) -> None:
        """There is sound of it."""
        self.voice = Voice.READY

    def was_started(self) -> None:
        """It is heard."""
        self.voice, self.has_sounded = Voice.SOUNDING, True

    def ran_dry(self) -> None:
        """Its sound has run out, and there is more to come."""
        self.voice = Voice.SILENT

    @property
    def was_heard_whole(self) -> bool:
        """Nothing of it is left to say."""
        return self.text is not None and bool(self.heard) and self.heard.split() == self.text.split()

    def progressed(self, heard: str) -> None:
        """It sounds on."""
        if len(heard) > len(self.heard):
            self.heard = heard
            self.speech.reached_the_caller()

    def fades(self) -> None:
        """Something better is to be heard: it ends with the word that sounds."""
        self.fading = True

    def silenced(self) -> None:
        """The loudspeaker is told to stop it."""
        self.sound = Sound.STOPPING

    def ended(self, heard: str) -> None:
        """It sounds no more, or never will. `heard`: all that was heard of it."""
        self.sound = _GONE
        self.heard = heard
        self.was_cut = heard != self.text and (self.text is None or heard.split() != self.text.split())
        if heard:
            self.speech.reached_the_caller()


@dataclass(slots=True, eq=False)
class Frame:
    """An agent on the stack."""

    agent: str
    task: int | None = None
    """The `AgentTask` it serves; None for the session's own frame."""
    run: int | None = None
    """The tool that awaits the task, if one does."""
    parent: Frame | None = None
    """The frame whose code awaits the task."""
    hook: int | None = None
    """The hook that awaits the task, if one does: its clock stands meanwhile."""
    pending: Handoff | None = None
    """The agent that is to take over as soon as this one has finished speaking."""
    leaving: int | None = None
    """The `on_exit` hook in flight: nothing is committed until the next agent is in charge."""
    entering: int | None = None
    """The `on_enter` hook in flight. Nothing waits for it."""
    carries_turn: bool = False
    """A turn of the caller came over in the hand-off: it is answered in place of what `on_enter` says."""
    speeches: list[Speech] = field(default_factory=list)
    """Its unfinished speeches, oldest first."""

    def joined_by(self, speech: Speech) -> None:
        """A speech is its own from now on."""
        self.speeches.append(speech)

    def left_by(self, speech: Speech) -> None:
        """A speech is over, or another frame finishes it."""
        self.speeches.remove(speech)

    def enters(self, hook: int) -> None:
        """Its agent begins: `on_enter` runs."""
        self.entering = hook

    def entered(self) -> None:
        """`on_enter` has run."""
        self.entering = None

    def leaves(self, hook: int) -> None:
        """Its agent has said all and goes: `on_exit` runs."""
        self.entering = None
        self.leaving = hook

    def left(self) -> None:
        """`on_exit` has run."""
        self.leaving = None

    def taken_over(self, handoff: Handoff, *, carries_turn: bool) -> None:
        """Another agent is in charge."""
        self.agent = handoff.agent
        self.pending = None
        self.carries_turn = carries_turn

    def waits_for(self, frame: Frame) -> None:
        """The frame whose floor its task waited for is gone: it waits for another one's."""
        self.parent = frame

    def hands_over(self, handoff: Handoff) -> None:
        """Another agent is to take it over. The first wish wins."""
        if self.pending is None:
            self.pending = handoff

    def stays(self) -> None:
        """A hand-off that was decided is not made."""
        self.pending = None

    @property
    def is_handing_over(self) -> bool:
        """A hand-off was decided and is not done."""
        return self.pending is not None or self.leaving is not None
