"""Who is in charge: speeches, frames and the predicates that every rule asks.

A *frame* is an agent on the stack: the bottom one is the session's, an `AgentTask` pushes another and its end
removes it. The caller's turns belong to the top frame. A hand-off replaces the agent inside its frame.

Above: the rules (`tool_loop`, `handoff`, `closing`, `conversation`). Below: the line, the runs, the debts, the
history. The floor creates, interrupts and finishes speeches; it does not decide when.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.chat import ChatMessage
from antiphon.core import texts
from antiphon.core.ahead import Ahead
from antiphon.core.closing import Closing
from antiphon.core.commands import Adopt, Discard, Generate, Release, Speak, StopGenerating
from antiphon.core.dead_voice import DeadVoice
from antiphon.core.debts import Debts
from antiphon.core.facts import GenerationFailed, Handoff, ResponseBegan, SpeechRequested, StepGenerated
from antiphon.core.history import History
from antiphon.core.line import Line
from antiphon.core.notices import SpeechDone, SpeechInterrupted, StepEnded
from antiphon.core.promises import Outbox
from antiphon.core.rounds import Rounds
from antiphon.core.runs import Runs
from antiphon.core.shields import Shields
from antiphon.core.state import Bond, Frame, Gate, Kind, Run, Segment, Sound, Speech, Stage, Step
from antiphon.core.unasked import Unasked
from antiphon.core.user_turn import UserTurn
from antiphon.options import SessionOptions

_KINDS = {"say": Kind.SAY, "reply": Kind.REPLY, "filler": Kind.FILLER}

RESUME_GRACE = 0.5
"""Seconds that a tool has to return.

Once it no longer waits for the caller, before a turn spoken meanwhile counts against it.
"""


class Floor:
    """The state that the rules share."""

    def __init__(self, options: SessionOptions, agent: str, epoch: float, mark: str) -> None:
        self.options = options
        self.out = Outbox()
        self.history = History(self.out, epoch, mark)
        self.line = Line(self.out, self.history, options)
        self.runs = Runs(self.out)
        self.debts = Debts(self.out, self.history, options)
        self.rounds = Rounds(self.out, self.history, self.runs, self.debts)
        self.turn = UserTurn(options)
        self.unasked = Unasked(self.out)
        self.frames: list[Frame] = [Frame(agent)]
        self.waiting_frames: list[Frame] = []
        """Tasks that wait for a sibling's end."""
        self.shields = Shields()
        self.closing = Closing()
        preemptive = options.turns.preemptive_generation
        self.ahead = Ahead(preemptive) if preemptive.enabled and not options.model_hears else None
        self.dead_voice = DeadVoice()
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
    def accepts_turns(self) -> bool:
        """False once the session is to end."""
        return self.closing.accepts_turns

    @property
    def caller_has_floor(self) -> bool:
        """The caller speaks, or has said words that mean more than that they listen: nobody begins to speak."""
        turn = self.turn
        if turn.overruled:
            return False
        if turn.speaking:
            return True
        return (
            turn.has_floor
            and self.accepts_turns
            and not (turn.over_agent and self.options.language.is_backchannel(turn.text))
        )

    @property
    def is_turn_waiting(self) -> bool:
        """The caller has finished a turn that nobody has looked at."""
        return self.turn.ready or bool(self.debts.turns.waiting)

    @property
    def is_busy(self) -> bool:
        """Anything is owed, said, done or decided in the top frame."""
        top, turn = self.frames[-1], self.turn
        return bool(
            top.speeches
            or self.debts.turns.are_pending
            or self.line.segments
            or turn.ready
            or top.is_handing_over
            or turn.has_floor
        )

    @property
    def is_idle(self) -> bool:
        """Nothing owed, queued, sounding, undelivered or handing over, and no speech in the top frame."""
        return not self.is_busy and self.top.entering is None and not self.debts.owed_in(self.top)

    # -- speeches

    def open(self, request: SpeechRequested) -> Speech | None:
        """Open the speech that the application asked for; None if nobody would hear it."""
        run = self.runs.get(request.run)
        frame, rank = self.top, 2
        if request.run is not None:
            if run is None or run.bond is Bond.ORPHAN:
                self.refuse(request)
                return None
            if run.bond is Bond.ATTACHED and run.speech.frame in self.frames:
                frame, rank = run.speech.frame, 1
        elif request.agent is not None:
            frame = next((f for f in reversed(self.frames) if f.agent == request.agent), self.top)
            if frame.entering is not None and frame.carries_turn and frame.agent == request.agent:
                self.refuse(request)
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

    def refuse(self, request: SpeechRequested) -> None:
        """Whoever asked is told that nobody will hear it."""
        self.out.send(SpeechInterrupted(request.speech))
        self.out.send(SpeechDone(request.speech))

    def add(self, speech: Speech) -> None:
        """A speech joins its frame."""
        self._speeches[speech.id] = speech
        speech.frame.joined_by(speech)

    def begin_step(
        self,
        speech: Speech,
        *,
        tools: bool = True,
        say: str | None = None,
        tells: bool = False,
        retry: bool = False,
        response: ResponseBegan | None = None,
    ) -> None:
        """Ask the model for the next response of a speech, take one that it began, or have a text synthesized.

        `say` is a line of the session's own, of which nobody learns what tools did; unless it `tells`.
        """
        if say is not None or speech.kind in (Kind.SAY, Kind.FILLER):
            self._speak(speech, self._open_step(speech, tools=tools, tells=say is None or tells), say)
            return
        choice = speech.tool_choice if response is None and speech.rounds == 0 else None
        tools = tools and choice != "none"
        step = self._open_step(speech, tools=tools)
        gen, segment = step.gen, step.segment
        self.out.promise(gen, GenerationFailed(gen, texts.NO_ANSWER), self.options.generation_timeout)
        unheard = self.debts.carried_by(speech, unasked=response is not None)
        if response is not None:
            self.unasked.adopted(response)
            self.out.send(Adopt(gen, speech.id, segment.id, speech.agent, response.response, tools))
            return
        self._note_user_input(speech)
        self.out.send(
            Generate(
                gen,
                speech.id,
                segment.id,
                speech.agent,
                self.history.open_items(speech.agent),
                tools,
                choice,
                speech.instructions,
                unheard,
                delivery=speech.kind is Kind.DELIVERY and speech.rounds == 0,
                retry=retry,
                on_enter=speech.on_enter,
            )
        )

    def _note_user_input(self, speech: Speech) -> None:
        """What the application passed on as the caller's words enters the history: also where no reply begins to it."""
        text = speech.take_user_input()
        if text is not None:
            self.history.say(text, speech.frame.agent)

    def _open_step(self, speech: Speech, *, tools: bool, tells: bool = True, ahead: bool = False) -> Step:
        self.shields.lower(speech)
        return speech.began(self.out.new_id(), self.out.new_id(), tools=tools, tells=tells, ahead=ahead)

    def _speak(self, speech: Speech, step: Step, text: str | None, *, ahead: bool = False) -> None:
        self.out.promise(step.gen, StepGenerated(step.gen, text or ""), self.options.generation_limit)
        directly = text is not None or speech.kind is Kind.FILLER
        self.out.send(Speak(step.gen, speech.id, step.segment.id, text, ahead, directly))

    # -- made ahead

    def speak_ahead(self, speech: Speech, text: str) -> None:
        """Have a text synthesized that may be said later: `release` or `discard` decides."""
        self._speak(speech, self._hold(speech, tools=False), text, ahead=True)

    def generate_ahead(self, speech: Speech, message: ChatMessage, *, tools: bool) -> None:
        """Ask the model for the answer to a turn that is not committed yet: `release` or `discard` decides."""
        step = self._hold(speech, tools=tools)
        self.out.promise(step.gen, GenerationFailed(step.gen, texts.NO_ANSWER), self.options.generation_timeout)
        items = (*self.history.open_items(speech.agent), message)
        self.out.send(Generate(step.gen, speech.id, step.segment.id, speech.agent, items, tools, ahead=True))

    def _hold(self, speech: Speech, *, tools: bool) -> Step:
        step = self._open_step(speech, tools=tools, ahead=True)
        self._held[step.gen] = speech
        return step

    def release(self, speech: Speech) -> None:
        """What was made ahead is wanted: it goes on as if it had just been asked for."""
        step = speech.step
        assert step is not None  # it was made ahead
        del self._held[step.gen]
        self.add(speech)
        speech.released()
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
        speech.ended()
        self.out.withdraw(step.gen)
        self.out.send(Discard(step.gen, speech.id))

    def sound_ready(self, segment_id: int) -> None:
        """Sound of a segment is there, whether it is on the line, or held."""
        for speech in self._held.values():
            if speech.step is not None and speech.step.segment.id == segment_id:
                speech.step.segment.sound_came()
        segment = self.line.find(segment_id)
        if segment is not None:
            segment.sound_came()

    # -- its text

    def text_started(self, speech: Speech, written: str = "") -> None:
        """Its segment may be played. `written`: what requests show of it until it is known what is spoken."""
        step = speech.step
        if step is None:
            return
        step.text_began()
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
            run.speech.tool_spoke()
            run = run.speech.parent

    def text_complete(self, speech: Speech, text: str) -> None:
        """All text of its step is known."""
        step = speech.step
        if step is None:
            return
        step.ended()
        segment = step.segment
        if speech.stage is Stage.HELD:
            segment.completed(text)
            return
        if segment.sound is Sound.OPEN and text.strip():
            self.text_started(speech)
        if segment.sound is Sound.OPEN:
            segment.ended("")
            self.segment_gone(segment)
        else:
            self.line.complete(segment, text)

    def segment_gone(self, segment: Segment) -> None:
        """It has left the line."""
        speech = segment.speech
        speech.segment_over(segment)
        self.out.send(StepEnded(speech.id, segment.gen))
        self.debts.heard(segment)

    def interrupt(self, speech: Speech, *, force: bool = False) -> None:
        """It stops now: no more text, sound or rounds. Its tools are treated each by what it does to the world."""
        if speech.interrupted or speech.finished:
            return
        step, was_generating = speech.step, speech.is_generating
        speech.cut()
        self.shields.lower(speech)
        self.out.send(SpeechInterrupted(speech.id))
        self._note_user_input(speech)
        if step is not None and was_generating:
            self.out.withdraw(step.gen)
            self.out.send(StopGenerating(step.gen))
        for segment in list(speech.live):
            self.line.stop(segment)
            if segment.sound is Sound.GONE:
                self.segment_gone(segment)
        self.rounds.release(speech)
        for child in self.speeches():
            if child.parent is not None and child.parent.speech is speech and (child.interruptible or force):
                self.interrupt(child, force=force)
        self.finish_if_over(speech)

    def wind_down(self, speech: Speech) -> None:
        """It gets no more rounds: what runs is finished, what was said is played, nothing follows."""
        step = speech.step
        if step is not None and speech.is_generating:
            if not any(c.gate in (Gate.RUNNING, Gate.CLOSED) for c in step.calls):
                self.interrupt(speech, force=True)
                return
            self.out.withdraw(step.gen)
            self.out.send(StopGenerating(step.gen))
            self.text_complete(speech, "")
        if speech.stage is Stage.WAITING:
            self.interrupt(speech, force=True)
        speech.task_over()

    def home(self, run: Run) -> Frame:
        """The frame whose agent learns what a background tool reports."""
        return run.frame if run.frame in self.frames else self.frames[0]

    def is_held_up_by(self, run: Run, frame: Frame) -> bool:
        """The run awaits a task that the frame serves or stands above: it goes on only when that frame is gone."""
        beneath = self.frames[: self.frames.index(frame)]
        return any(task.run == run.id for task in (*beneath, frame)) or any(
            task.run == run.id and task.parent in beneath for task in self.waiting_frames
        )

    def resumed(self, run: Run) -> None:
        """A tool goes on after it waited for the caller or its own speech.

        A turn that came meanwhile gives it a moment.
        """
        if run.bond is not Bond.ATTACHED:
            return
        if self.debts.turns.count_against(run.speech):
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

    def finish_if_over(self, speech: Speech) -> None:
        """A speech with nothing left to generate, run or play is done."""
        if speech.stage is Stage.SPEAKING and not speech.live:
            self.finish(speech)

    def finish(self, speech: Speech) -> None:
        """It is over. Turns that it was to answer and did not are owed again."""
        speech.ended()
        self.shields.lower(speech)
        del self._speeches[speech.id]
        speech.frame.left_by(speech)
        for handoff in self.debts.speech_ended(speech):
            self.request_handoff(speech.frame, handoff)
        self.out.send(SpeechDone(speech.id))

    def request_handoff(self, frame: Frame, handoff: Handoff) -> None:
        """Another agent is to take the frame over, unless it is gone."""
        if frame in self.frames:
            frame.hands_over(handoff)
