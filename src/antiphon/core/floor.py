"""Who is in charge: speeches, frames and the predicates that every rule asks.

A *frame* is an agent on the stack: the bottom one is the session's, an `AgentTask` pushes another and its end
removes it. The caller's turns belong to the top frame. A hand-off replaces the agent inside its frame.

Above: the rules (`tool_loop`, `handoff`, `closing`, `conversation`). Below: the line, the runs, the offers, the
history. The floor creates, interrupts and finishes speeches; it does not decide when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.chat import ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core import texts
from antiphon.core.commands import Adopt, Discard, Emit, EventKind, Generate, Release, Speak, StopGenerating
from antiphon.core.facts import GenerationFailed, Handoff, ResponseBegan, SpeechRequested, StepGenerated
from antiphon.core.history import History, Note
from antiphon.core.line import Line, Segment, Sound, Voice
from antiphon.core.offers import Offer, Offers
from antiphon.core.promises import Outbox
from antiphon.core.runs import Bond, Run, Runs
from antiphon.core.speech import Gate, Kind, OpenCall, Speech, Stage, Step, Turn
from antiphon.core.unasked import Unasked
from antiphon.core.user_turn import UserTurn
from antiphon.options import SessionOptions

_KINDS = {"say": Kind.SAY, "reply": Kind.REPLY, "filler": Kind.FILLER}

RESUME_GRACE = 0.5
"""Seconds that a tool has to return.

Once it no longer waits for the caller, before a turn spoken meanwhile counts against it.
"""


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
    half_told: list[tuple[OpenCall, list[Note]]] = field(default_factory=list)
    """Calls that changed the world, told in a reply that was cut, and what was heard of it. Until a whole reply."""

    @property
    def is_handing_over(self) -> bool:
        """A hand-off was decided and is not done."""
        return self.pending is not None or self.leaving is not None


class Shields:
    """Speeches with a tool that just came back from waiting for the caller.

    They have a moment in which no turn counts against them.
    """

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[Speech, float] = {}

    def __bool__(self) -> bool:
        return bool(self._until)

    def __contains__(self, speech: Speech) -> bool:
        return speech in self._until

    @property
    def deadline(self) -> float | None:
        """When the first of them is over."""
        return min(self._until.values()) if self._until else None

    def raise_until(self, speech: Speech, time: float) -> None:
        """Shield the speech until then."""
        self._until[speech] = time

    def lower(self, speech: Speech) -> None:
        """The moment is over, or no longer needed."""
        if self._until:
            self._until.pop(speech, None)

    def expired(self, now: float) -> list[Speech]:
        """Those whose moment has passed; they are not shielded any more."""
        if not self._until:
            return []
        over = [speech for speech, until in self._until.items() if now >= until]
        for speech in over:
            del self._until[speech]
        return over


class Floor:
    """The state that the rules share."""

    def __init__(self, options: SessionOptions, agent: str, epoch: float, mark: str) -> None:
        self.options = options
        self.out = Outbox()
        self.history = History(self.out, epoch, mark)
        self.line = Line(self.out, self.history, options)
        self.runs = Runs(self.out)
        self.offers = Offers()
        self.turn = UserTurn(options)
        self.unasked = Unasked(self.out, self.history, options)
        self.frames: list[Frame] = [Frame(agent)]
        self.waiting_frames: list[Frame] = []
        """Tasks that wait for a sibling's end."""
        self.owed: list[Turn] = []
        """Committed turns that no speech answers yet."""
        self.typed: deque[str] = deque()
        """Whole turns that were submitted and not committed yet."""
        self.judged: Turn | None = None
        """The turn that `on_user_turn_completed` has before it, under the hook's id; the next one waits."""
        self.shields = Shields()
        self.accepts_turns = True
        """False once the session is to end."""
        self.results_at = 0.0
        """When the latest round of tools was over."""
        self._speeches: dict[int, Speech] = {}
        self._held: dict[int, Speech] = {}
        """What was made ahead, by the id of its generation. No rule but its owner's knows of it."""

    # -- predicates

    @property
    def top(self) -> Frame:
        """The frame in charge."""
        return self.frames[-1]

    def speech(self, speech_id: int | None) -> Speech | None:
        """An unfinished speech by its id."""
        return None if speech_id is None else self._speeches.get(speech_id)

    def speeches(self) -> Iterator[Speech]:
        """All unfinished speeches."""
        return iter(list(self._speeches.values()))

    def waiting_turns(self) -> Iterator[Turn]:
        """Turns that have no place in the history yet: the one that is judged, and those held by what goes on."""
        if self.judged is not None:
            yield self.judged
        for speech in self._speeches.values():
            yield from speech.held

    @property
    def has_speeches(self) -> bool:
        """Any speech is unfinished."""
        return bool(self._speeches)

    def by_gen(self, gen: int) -> Speech | None:
        """The speech whose step is being generated under this id."""
        for speech in self._speeches.values():
            if speech.step is not None and speech.step.gen == gen:
                return speech
        return self._held.get(gen)

    def is_shielded(self, speech: Speech) -> bool:
        """The caller's turn does not interrupt it.

        Protected itself, or one of its tools must not be interrupted now.
        """
        if self.is_protected(speech) or speech in self.shields:
            return True
        return any(c.run is not None and c.run.suspended for c in speech.open_calls())

    def is_protected(self, speech: Speech) -> bool:
        """What sounds of it is not cut: by an option, or because one of its tools must not be interrupted."""
        if not self.options.turns.interruption.enabled:
            return True
        return not speech.interruptible or any(c.run is not None and c.run.protected for c in speech.open_calls())

    @property
    def is_busy(self) -> bool:
        """Anything is owed, said, done or decided in the top frame."""
        top, turn = self.frames[-1], self.turn
        return bool(
            top.speeches
            or self.owed
            or self.line.segments
            or self.judged is not None
            or self.typed
            or self.unasked.taken
            or turn.ready
            or top.is_handing_over
            or turn.has_floor
        )

    @property
    def is_idle(self) -> bool:
        """Nothing owed, queued, sounding, undelivered or handing over, and no speech in the top frame."""
        return not self.is_busy and self.top.entering is None and not (self.offers and self.offers.in_frame(self.top))

    # -- speeches

    def open(self, request: SpeechRequested) -> Speech | None:
        """Open the speech that the application asked for; None if nobody would hear it."""
        run = self.runs.get(request.run)
        frame, rank = self.top, 2
        if request.run is not None:
            if run is None or run.bond is Bond.ORPHAN:
                self._refuse(request)
                return None
            if run.bond is Bond.ATTACHED and run.speech.frame in self.frames:
                frame, rank = run.speech.frame, 1
        elif request.agent is not None:
            frame = next((f for f in reversed(self.frames) if f.agent == request.agent), self.top)
            if frame.entering is not None and frame.carries_turn and frame.agent == request.agent:
                self._refuse(request)
                return None
        kind = _KINDS[request.kind]
        speech = Speech(
            request.speech,
            kind,
            frame,
            0 if kind is Kind.FILLER else rank,
            interruptible=request.interruptible,
            parent=run,
            instructions=request.instructions,
            tool_choice=request.tool_choice,
            record=request.record and kind is not Kind.FILLER,
            user_input=request.user_input,
            on_enter=request.agent is not None and request.agent == frame.agent and frame.entering is not None,
        )
        if run is not None and speech.kind is Kind.REPLY and speech.tool_choice is None:
            speech.tool_choice = "none"
        self.add(speech)
        return speech

    def _refuse(self, request: SpeechRequested) -> None:
        self.emit("speech_interrupted", speech=request.speech)
        self.emit("speech_done", speech=request.speech)

    def add(self, speech: Speech) -> None:
        """A speech joins its frame."""
        self._speeches[speech.id] = speech
        speech.frame.speeches.append(speech)

    def begin_step(
        self,
        speech: Speech,
        *,
        tools: bool = True,
        say: str | None = None,
        retry: bool = False,
        response: ResponseBegan | None = None,
    ) -> None:
        """Ask the model for the next response of a speech, take one that it began, or have a text synthesized."""
        step = self._open_step(speech, tools=tools)
        speech.stage = Stage.GENERATING
        gen, segment = step.gen, step.segment
        if say is not None or speech.kind in (Kind.SAY, Kind.FILLER):
            self._speak(speech, step, say)
            return
        self.out.promise(gen, GenerationFailed(gen, "no answer in time"), self.options.generation_timeout)
        offers = self.offers.in_frame(speech.frame) if self.offers else []
        if response is not None:  # it knows the results that are in, and may tell them; of updates nobody can say
            speech.carried.extend(o.id for o in offers if o.final and o.id not in speech.carried)
            del self.unasked.responses[response.response]
            self.out.send(Adopt(gen, speech.id, segment.id, speech.agent, response.response, tools))
            return
        self._note_user_input(speech)
        speech.carried.extend(o.id for o in offers if o.id not in speech.carried)
        choice = speech.tool_choice if speech.rounds == 0 else None
        self.out.send(
            Generate(
                gen,
                speech.id,
                segment.id,
                speech.agent,
                self.history.open_items(speech.agent),
                tools and choice != "none",
                choice,
                speech.instructions,
                tuple(o.call_id for o in offers),
                delivery=speech.kind is Kind.DELIVERY and speech.rounds == 0,
                retry=retry,
                on_enter=speech.on_enter,
            )
        )
        step.tools = tools and choice != "none"

    def _note_user_input(self, speech: Speech) -> None:
        """What the application passed on as the caller's words enters the history: also where no reply begins to it."""
        if speech.user_input is not None:
            self.history.say(speech.user_input, speech.frame.agent)
            speech.user_input = None

    def _open_step(self, speech: Speech, *, tools: bool) -> Step:
        gen = self.out.new_id()
        segment = Segment(self.out.new_id(), gen, speech, speech.rounds)
        step = speech.step = Step(gen, segment, tools)
        speech.live.append(segment)
        self.shields.lower(speech)
        speech.agent = speech.frame.agent
        return step

    def _speak(self, speech: Speech, step: Step, text: str | None, *, ahead: bool = False) -> None:
        self.out.promise(step.gen, StepGenerated(step.gen, text or ""), self.options.generation_limit)
        self.out.send(Speak(step.gen, speech.id, step.segment.id, text, ahead))

    # -- made ahead

    def speak_ahead(self, speech: Speech, text: str) -> None:
        """Have a text synthesized that may be said later: `release` or `discard` decides."""
        self._speak(speech, self._hold(speech, tools=False), text, ahead=True)

    def generate_ahead(self, speech: Speech, message: ChatMessage, *, tools: bool) -> None:
        """Ask the model for the answer to a turn that is not committed yet: `release` or `discard` decides."""
        step = self._hold(speech, tools=tools)
        self.out.promise(step.gen, GenerationFailed(step.gen, "no answer in time"), self.options.generation_timeout)
        items = (*self.history.open_items(speech.agent), message)
        self.out.send(Generate(step.gen, speech.id, step.segment.id, speech.agent, items, tools, ahead=True))

    def _hold(self, speech: Speech, *, tools: bool) -> Step:
        step = self._open_step(speech, tools=tools)
        speech.stage = Stage.HELD
        self._held[step.gen] = speech
        return step

    def release(self, speech: Speech) -> None:
        """What was made ahead is wanted: it goes on as if it had just been asked for."""
        step = speech.step
        assert step is not None  # it was made ahead
        del self._held[step.gen]
        self.add(speech)
        speech.stage = Stage.GENERATING
        self.out.send(Release(step.gen, speech.id))
        if step.begun:
            self.text_started(speech)
        if step.generated:
            self.text_complete(speech, step.segment.text or "")

    def discard(self, speech: Speech) -> None:
        """What was made ahead is not wanted."""
        step = speech.step
        assert step is not None  # it was made ahead
        del self._held[step.gen]
        speech.stage = Stage.DONE
        self.out.withdraw(step.gen)
        self.out.send(Discard(step.gen, speech.id))

    def sound_ready(self, segment_id: int) -> None:
        """Sound of a segment is there, whether it is on the line, or held."""
        for speech in self._held.values():
            if speech.step is not None and speech.step.segment.id == segment_id:
                speech.step.segment.voice = Voice.READY
        self.line.made_audible(segment_id, Voice.READY)

    # -- its text

    def text_started(self, speech: Speech, written: str = "") -> None:
        """Its segment may be played. `written`: what requests show of it until it is known what is spoken."""
        step = speech.step
        if step is None:
            return
        step.begun = True
        if step.segment.sound is Sound.OPEN and speech.stage is not Stage.HELD:
            self.line.begin(step.segment, speech.agent, record=speech.record)
            if written and step.segment.slot is not None:
                self.history.known(step.segment.slot, written)
            if speech.kind is not Kind.FILLER:
                self._mark_told(speech)

    @staticmethod
    def _mark_told(speech: Speech) -> None:
        """The tools that asked for it say something: the caller may not have to be told of their results."""
        run = speech.parent
        while run is not None and run.bond is Bond.ATTACHED:
            run.speech.told_in = run.speech.rounds + 1
            run = run.speech.parent

    def text_complete(self, speech: Speech, text: str) -> None:
        """All text of its step is known."""
        step = speech.step
        if step is None:
            return
        step.generated = True
        segment = step.segment
        if speech.stage is Stage.HELD:
            segment.text = text
            return
        if segment.sound is Sound.OPEN and text.strip():
            self.text_started(speech)
        if segment.sound is Sound.OPEN:
            segment.sound = Sound.GONE
            self.segment_gone(segment)
        else:
            self.line.complete(segment, text)

    def segment_gone(self, segment: Segment) -> None:
        """It has left the line."""
        speech = segment.speech
        if segment in speech.live:
            speech.live.remove(segment)
        self.emit("generation_done", speech=speech.id, gen=segment.gen)
        if segment.slot is not None and segment.slot.item is not None:
            speech.said.append(Note((segment.slot.item,), {segment.slot.agent}))
        if segment.heard:
            if segment.was_cut:
                speech.half_told += [call for rounds, call in speech.writes if rounds <= segment.rounds]
            speech.writes = [(rounds, call) for rounds, call in speech.writes if rounds > segment.rounds]

    def interrupt(self, speech: Speech, *, force: bool = False) -> None:
        """It stops now: no more text, sound or rounds. Its tools are treated each by what it does to the world."""
        if speech.interrupted or speech.finished:
            return
        speech.interrupted = True
        self.shields.lower(speech)
        self.emit("speech_interrupted", speech=speech.id)
        self._note_user_input(speech)
        if speech.stage is Stage.GENERATING and speech.step is not None and not speech.step.generated:
            self.out.withdraw(speech.step.gen)
            self.out.send(StopGenerating(speech.step.gen))
        for segment in list(speech.live):
            self.line.stop(segment)
            if segment.sound is Sound.GONE:
                self.segment_gone(segment)
        self._release_calls(speech)
        speech.stage = Stage.SPEAKING
        for child in self.speeches():
            if child.parent is not None and child.parent.speech is speech and (child.interruptible or force):
                self.interrupt(child, force=force)
        self.finish_if_over(speech)

    def wind_down(self, speech: Speech) -> None:
        """It gets no more rounds: what runs is finished, what was said is played, nothing follows."""
        step = speech.step
        if speech.stage is Stage.GENERATING and step is not None and not step.generated:
            if not any(c.gate in (Gate.RUNNING, Gate.CLOSED) for c in step.calls):
                self.interrupt(speech, force=True)
                return
            self.out.withdraw(step.gen)
            self.out.send(StopGenerating(step.gen))
            self.text_complete(speech, "")
        if speech.stage is Stage.WAITING:
            self.interrupt(speech, force=True)
        speech.last_round = True

    def move(self, speech: Speech, frame: Frame) -> None:
        """It is finished by another frame."""
        speech.frame.speeches.remove(speech)
        speech.frame = frame
        frame.speeches.append(speech)

    def _release_calls(self, speech: Speech) -> None:
        step = speech.step
        if step is None or not step.calls:
            return
        for open_call in step.calls:
            run = open_call.run
            if open_call.gate is Gate.WAITING:
                open_call.gate = Gate.DROPPED
            elif open_call.gate is Gate.RUNNING and run is not None:
                if run.keeps:
                    elapsed = self.out.now - run.started
                    open_call.close(texts.still_running(open_call.call.name, elapsed), reply=False)
                    self.runs.to_background(run)
                else:
                    open_call.gate = Gate.DROPPED
                    self.runs.release(run)
        self.record_round(speech, step)

    def record_round(self, speech: Speech, step: Step) -> None:
        """Write the closed calls of a step into the history, in call order, each beside its output."""
        done = [c for c in step.calls if c.gate is Gate.CLOSED]
        step.calls = []
        for open_call in done:
            self._record_pair(open_call, f"gen_{step.gen}", speech.agent)
        for turn in speech.held:
            self.commit(turn, speech.agent)
        speech.held.clear()
        if done:
            ids = " ".join(c.call.call_id for c in done)
            self.emit("tools_executed", speech=speech.id, gen=step.gen, value=ids)

    def _record_pair(self, done: OpenCall, group: str, agent: str) -> None:
        call, wall = done.call, self.history.wall
        done.note = self.history.pair(
            FunctionCall(
                call_id=call.call_id,
                name=call.name,
                arguments=call.arguments,
                id=self.history.item_id(),
                group_id=group,
                created_at=wall,
            ),
            FunctionCallOutput(
                call_id=call.call_id,
                name=call.name,
                output=done.output,
                is_error=done.is_error,
                reply_required=done.reply,
                images=list(done.images),
                id=self.history.item_id(),
                created_at=wall,
            ),
            agent,
        )

    def let_know(self, agent: str, calls: list[OpenCall]) -> None:
        """An agent is to speak of calls that another made: it took over while they ran."""
        for call in calls:
            if call.note is not None:
                self.history.let_know(call.note, agent)

    def record_result(self, run: Run, suffix: str, done: OpenCall) -> None:
        """Write what a background tool reported as a pair of its own."""
        call = run.call
        done.call = type(call)(f"{call.call_id}/{suffix}", call.name, call.arguments, call.canonical)
        self._record_pair(done, f"run_{run.id}", self.home(run).agent)

    def offer(
        self,
        done: OpenCall,
        frame: Frame,
        *,
        final: bool,
        handoff: Handoff | None = None,
        covered: bool = False,
    ) -> Offer:
        """The caller should hear of a call, from whoever is in charge of the frame."""
        offer = Offer(self.out.new_id(), done.call.call_id, frame, final, handoff, covered=covered)
        if done.note is not None:
            offer.notes.append(done.note)
            self.history.let_know(done.note, frame.agent)
        self.offers.add(offer)
        return offer

    def carry_offers(self, frame: Frame, agent: str) -> None:
        """Another agent is to tell what the agent of a frame had to: let it know what there is to tell."""
        for offer in self.offers.in_frame(frame):
            for note in offer.notes:
                self.history.let_know(note, agent)

    def home(self, run: Run) -> Frame:
        """The frame whose agent learns what a background tool reports."""
        return run.frame if run.frame in self.frames else self.frames[0]

    def keep_orphan(self, run: Run) -> None:
        """A dropped call turns out to be one that must not be undone.

        It is in the history again, and in the background.
        """
        done = OpenCall(run.call, run.policy)
        done.close(texts.still_running(run.call.name, self.out.now - run.started), reply=False)
        self._record_pair(done, f"run_{run.id}", self.home(run).agent)
        self.runs.to_background(run)

    def resumed(self, run: Run) -> None:
        """A tool goes on after it waited for the caller or its own speech.

        A turn that came meanwhile gives it a moment.
        """
        if run.bond is not Bond.ATTACHED:
            return
        judged = [self.judged] if self.judged is not None else []
        cut = [turn for speech in self.speeches() if speech.interrupted for turn in speech.turns]
        if self.owed or cut or any(turn.over is None for turn in (*run.speech.held, *judged)):
            self.shields.raise_until(run.speech, self.out.now + RESUME_GRACE)

    def shielding(self) -> Speech | None:
        """A speech of the top frame that must end, or come to its next response, before a turn is answered."""
        for speech in self.top.speeches:
            if not speech.interrupted and self.is_shielded(speech):
                return speech
        return None

    def at_work(self) -> Speech | None:
        """A speech of the top frame with a call that runs."""
        for speech in self.top.speeches:
            if not speech.interrupted and any(c.gate is Gate.RUNNING for c in speech.open_calls()):
                return speech
        return None

    def commit(self, turn: Turn, agent: str) -> None:
        """A turn enters the history and is owed an answer."""
        turn.over = None
        self.record_turn(turn, agent)
        self.owed.append(turn)

    def record_turn(self, turn: Turn, agent: str) -> None:
        """A turn enters the history; one whose words are not known yet gets its place in it."""
        turn.agent = agent
        turn.known_to.add(agent)
        if turn.heard_as is None:
            turn.item = self.history.say(turn.text, agent).id
        else:
            self.unasked.record(turn, agent)

    def answer(self, speech: Speech) -> None:
        """The speech answers every turn that is owed; turns said to another agent are carried over to its own."""
        agent = speech.frame.agent
        for turn in self.owed:
            self.carry(turn, agent)
        if self.offers:
            answered = {turn.id for turn in self.owed}
            speech.made_for += [o.id for o in self.offers.in_frame(speech.frame) if not answered.isdisjoint(o.turns)]
        speech.turns += self.owed
        self.owed = []

    def carry(self, turn: Turn, agent: str) -> None:
        """Let another agent know of an unanswered turn."""
        if turn.agent != agent:
            turn.agent = agent
            turn.answer_due = None
            if turn.text and agent not in turn.known_to:  # without words yet: they will be carried when they come
                turn.known_to.add(agent)
                self.history.carry(turn.text, agent, turn.item)

    def finish_if_over(self, speech: Speech) -> None:
        """A speech with nothing left to generate, run or play is done."""
        if speech.stage is Stage.SPEAKING and not speech.live:
            self.finish(speech)

    def finish(self, speech: Speech) -> None:
        """It is over. Turns that it was to answer and did not are owed again."""
        speech.stage = Stage.DONE
        speech.step = None  # it knows the speech, too: nothing is left for the garbage collector to find
        self.shields.lower(speech)
        del self._speeches[speech.id]
        speech.frame.speeches.remove(speech)
        for turn in speech.held:
            self.commit(turn, speech.agent or speech.frame.agent)
        speech.held.clear()
        if speech.interrupted and not speech.heard:
            self.owed = speech.turns + self.owed
        for handoff in self.offers.speech_ended(speech):
            self.request_handoff(speech.frame, handoff)
        if speech.interrupted or speech.failed:
            self._make_good(speech)
        elif speech.heard and speech.kind in (Kind.REPLY, Kind.DELIVERY):
            speech.frame.half_told.clear()
        self.emit("speech_done", speech=speech.id)

    def _make_good(self, speech: Speech) -> None:
        """What it was to tell of changes in the world, and did not, is told later; what it began to, by the next agent.

        The same agent has what it began to tell in its context, and goes on as it sees fit.
        """
        for _, heard in speech.frame.half_told:
            heard += speech.said  # it may have told more of these, before it was cut, too
        untold = [call for _, call in speech.writes]
        if speech.frame.pending is not None:
            untold += speech.half_told
        else:
            speech.frame.half_told += [(call, list(speech.said)) for call in speech.half_told]
        for call in untold:
            offer = self.offer(call, speech.frame, final=True, covered=speech.heard)
            offer.notes += speech.said
            offer.turns += [turn.id for turn in speech.turns if turn in self.owed]

    def offer_half_told(self, frame: Frame) -> None:
        """Another agent takes a frame over: what the one before began to tell, it tells."""
        for call, said in frame.half_told:
            self.offer(call, frame, final=True, covered=True).notes.extend(said)
        frame.half_told.clear()

    def request_handoff(self, frame: Frame, handoff: Handoff) -> None:
        """Another agent is to take the frame over. The first wish wins."""
        if frame.pending is None and frame in self.frames:
            frame.pending = handoff

    def emit(
        self,
        kind: EventKind,
        *,
        speech: int | None = None,
        run: int | None = None,
        gen: int | None = None,
        value: str = "",
    ) -> None:
        """Tell observers."""
        self.out.send(Emit(kind, speech, run, gen, value))
