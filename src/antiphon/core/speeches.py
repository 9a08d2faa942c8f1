"""The speeches of the agent: opened, made ahead, begun, interrupted, finished.

Above: the rules, which decide when. Below: the line, the rounds of tools, the debts, the history.
"""

from __future__ import annotations

from antiphon.chat import ChatMessage
from antiphon.core import texts
from antiphon.core.commands import Adopt, Discard, Generate, Release, Speak, StopGenerating
from antiphon.core.debts import Debts
from antiphon.core.facts import GenerationFailed, ResponseBegan, SpeechRequested, StepGenerated
from antiphon.core.frames import Frames
from antiphon.core.history import History
from antiphon.core.ledger import Ledger
from antiphon.core.line import Line
from antiphon.core.notices import SpeechDone, SpeechInterrupted, StepEnded
from antiphon.core.promises import Outbox
from antiphon.core.rounds import Rounds
from antiphon.core.shields import Shields
from antiphon.core.stages import Bond, Gate, Kind, Rank, Sound, Stage
from antiphon.core.state import Frame, Segment, Speech, Step
from antiphon.core.unasked import Unasked
from antiphon.options import SessionOptions

_SAY, _FILLER, _DELIVERY = Kind.SAY, Kind.FILLER, Kind.DELIVERY
_HELD, _SPEAKING, _OPEN = Stage.HELD, Stage.SPEAKING, Sound.OPEN
"""Asked for with every fact; before Python 3.12 the member of an enum is long in being found."""


class Speeches:
    """All that are not over."""

    __slots__ = (
        "_debts", "_frames", "_held", "_history", "_ledger", "_line", "_options", "_out", "_rounds", "_shields",
        "_unasked", "unfinished",
    )  # fmt: skip

    def __init__(
        self,
        out: Outbox,
        options: SessionOptions,
        *,
        history: History,
        line: Line,
        frames: Frames,
        debts: Debts,
        ledger: Ledger,
        rounds: Rounds,
        unasked: Unasked,
        shields: Shields,
    ) -> None:
        self._out = out
        self._options = options
        self._history = history
        self._line = line
        self._frames = frames
        self._debts = debts
        self._ledger = ledger
        self._rounds = rounds
        self._unasked = unasked
        self._shields = shields
        self.unfinished: dict[int, Speech] = {}
        """By id, oldest first."""
        self._held: dict[int, Speech] = {}
        """What was made ahead, by the id of its generation. No rule but its owner's knows of it."""

    def get(self, speech_id: int | None) -> Speech | None:
        """An unfinished speech by its id."""
        return None if speech_id is None else self.unfinished.get(speech_id)

    def by_gen(self, gen: int) -> Speech | None:
        """The speech whose step is being generated under this id."""
        for speech in self.unfinished.values():
            if speech.step is not None and speech.step.gen == gen:
                return speech
        return self._held.get(gen)

    # -- they come

    def refuse(self, request: SpeechRequested) -> None:
        """Whoever asked is told that nobody will hear it."""
        self._out.send(SpeechInterrupted(request.speech))
        self._out.send(SpeechDone(request.speech))

    def admit(self, speech: Speech) -> None:
        """A speech joins its frame."""
        self.unfinished[speech.id] = speech
        speech.frame.joined_by(speech)

    def open(self, kind: Kind, frame: Frame) -> Speech:
        """A speech of the core's own: an answer, results to tell, or a line."""
        speech = Speech(self._out.new_id(), kind, frame, Rank.REPLY, self._out.now)
        self.admit(speech)
        return speech

    def say(self, line: str) -> Speech:
        """A line of the session's own, by the agent in charge."""
        speech = self.open(Kind.SAY, self._frames.top)
        self.begin(speech, say=line)
        return speech

    def begin(
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
        kind = speech.kind
        if say is not None or kind is _SAY or kind is _FILLER:
            self._speak(speech, self._open_step(speech, tools=tools, tells=say is None or tells), say)
            return
        self._note_user_input(speech)
        before = speech.step
        if before is not None:  # what was said since its latest request stands in this one
            self._debts.answered_by(speech, below=speech.frame is not self._frames.top)
        used = speech.rounds_used if self.used_up_steps(speech) else 0
        choice = speech.tool_choice if response is None and speech.rounds == 0 else None
        tools = tools and choice != "none"
        step = self._open_step(speech, tools=tools)
        gen, segment = step.gen, step.segment
        self._out.promise(gen, GenerationFailed(gen, texts.NO_ANSWER), self._options.generation_timeout)
        unheard = self._debts.carried_by(speech, unasked=response is not None)
        if response is not None:
            self._unasked.adopted(response)
            self._out.send(Adopt(gen, speech.id, segment.id, speech.agent, response.response, tools))
            return
        self._out.send(
            Generate(
                gen,
                speech.id,
                segment.id,
                speech.agent,
                self._history.open_items(speech.agent),
                tools,
                choice,
                speech.instructions,
                unheard,
                self._owed(speech),
                delivery=kind is _DELIVERY and speech.rounds == 0,
                retry=retry,
                on_enter=speech.on_enter,
                steps_used=used,
                not_made=tuple(before.not_made) if retry and before is not None else (),
            )
        )

    def _owed(self, speech: Speech) -> tuple[str, ...]:
        """What no request of the speech may leave out."""
        return (*self._debts.carried_in_any_case(speech), *self._rounds.at_work(speech.frame))

    def used_up_steps(self, speech: Speech) -> bool:
        """It has had all the rounds that it may have, and more might have followed."""
        if not 0 < self._options.max_tool_steps <= speech.rounds_used:
            return False
        return not (speech.farewell or speech.ends_call or speech.last_round)

    def _note_user_input(self, speech: Speech) -> None:
        """What the application passed on as the caller's words enters the history: also where no reply begins to it."""
        text = speech.take_user_input()
        if text is not None:
            self._ledger.turn_taken()
            self._history.say(text, speech.frame.agent)

    def _open_step(self, speech: Speech, *, tools: bool, tells: bool = True, ahead: bool = False) -> Step:
        self._shields.lower(speech)
        asked = self._ledger.asked(ahead=ahead)
        return speech.began(self._out.new_id(), self._out.new_id(), asked, tools=tools, tells=tells, ahead=ahead)

    def _speak(self, speech: Speech, step: Step, text: str | None, *, ahead: bool = False) -> None:
        self._out.promise(step.gen, StepGenerated(step.gen, text or ""), self._options.generation_limit)
        if text is not None:
            step.given = self._out.now
        directly = text is not None or speech.kind is Kind.FILLER
        self._out.send(Speak(step.gen, speech.id, step.segment.id, text, ahead, directly))

    # -- made ahead

    def speak_ahead(self, speech: Speech, text: str) -> None:
        """Have a text synthesized that may be said later: `release` or `drop` decides."""
        self._speak(speech, self._hold(speech, tools=False), text, ahead=True)

    def generate_ahead(self, speech: Speech, message: ChatMessage, *, tools: bool) -> None:
        """Ask the model for the answer to a turn that is not committed yet: `release` or `drop` decides."""
        step = self._hold(speech, tools=tools)
        self._out.promise(step.gen, GenerationFailed(step.gen, texts.NO_ANSWER), self._options.generation_timeout)
        items = (*self._history.open_items(speech.agent), message)
        owed = self._owed(speech)
        gen, segment = step.gen, step.segment.id
        self._out.send(Generate(gen, speech.id, segment, speech.agent, items, tools, owed=owed, ahead=True))

    def _hold(self, speech: Speech, *, tools: bool) -> Step:
        step = self._open_step(speech, tools=tools, ahead=True)
        self._held[step.gen] = speech
        return step

    def release(self, speech: Speech) -> None:
        """What was made ahead is wanted: it goes on as if it had just been asked for."""
        step = speech.step
        assert step is not None  # it was made ahead
        del self._held[step.gen]
        speech.released(self._frames.top)
        self.admit(speech)
        self._out.send(Release(step.gen, speech.id))
        if step.begun:
            self.text_started(speech)
        if step.generated:
            self.text_complete(speech, step.segment.text or "")

    def drop(self, speech: Speech) -> None:
        """What was made ahead is not wanted."""
        step = speech.step
        assert step is not None  # it was made ahead
        del self._held[step.gen]
        speech.ended()
        self._out.withdraw(step.gen)
        self._out.send(Discard(step.gen, speech.id))

    def sound_ready(self, segment_id: int) -> None:
        """Sound of a segment is there, whether it is on the line, or held."""
        for speech in self._held.values():
            if speech.step is not None and speech.step.segment.id == segment_id:
                speech.step.segment.sound_came()
        segment = self._line.find(segment_id)
        if segment is not None:
            segment.sound_came()

    # -- its text

    def text_started(self, speech: Speech, written: str = "") -> None:
        """Its segment may be played. `written`: what requests show of it until it is known what is spoken."""
        step = speech.step
        if step is None:
            return
        step.text_began()
        if step.segment.sound is _OPEN and speech.stage is not _HELD:
            self._line.begin(step.segment, speech.agent, record=speech.record)
            slot = step.segment.slot
            if slot is not None and speech.frame.agent != speech.agent:  # its task is over
                self._history.leave_to(slot, speech.frame.agent)
            if slot is not None and written:
                self._history.known(slot, written)
            if speech.kind is not _FILLER:
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
        if speech.stage is _HELD:
            segment.completed(text)
            return
        if segment.sound is _OPEN and text.strip():
            self.text_started(speech)
        if segment.sound is _OPEN:
            segment.ended("")
            self.segment_gone(segment)
        else:
            self._line.complete(segment, text)

    def segment_gone(self, segment: Segment) -> None:
        """It has left the line."""
        speech = segment.speech
        speech.segment_over(segment)
        self._out.send(StepEnded(speech.id, segment.gen))
        self._debts.heard(segment)

    def interrupt(self, speech: Speech, *, force: bool = False, by_caller: bool = False) -> None:
        """It stops now: no more text, sound or rounds. Its tools are treated each by what it does to the world.

        `by_caller`: they speak over it. One that has nothing left to say only falls silent: nobody interrupts it.
        """
        if speech.interrupted or speech.finished:
            return
        if by_caller and _has_said_all(speech):
            for segment in list(speech.live):
                self._line.stop(segment)
            return
        step, was_generating = speech.step, speech.is_generating
        speech.cut()
        self._shields.lower(speech)
        self._out.send(SpeechInterrupted(speech.id))
        self._note_user_input(speech)
        if step is not None and was_generating:
            self._out.withdraw(step.gen)
            self._out.send(StopGenerating(step.gen))
        for segment in list(speech.live):
            self._line.stop(segment)
            if segment.sound is Sound.GONE:
                self.segment_gone(segment)
        self._rounds.release(speech)
        for child in list(self.unfinished.values()):
            if child.parent is not None and child.parent.speech is speech and (child.interruptible or force):
                self.interrupt(child, force=force, by_caller=by_caller)
        self.finish_if_over(speech)

    def wind_down(self, speech: Speech) -> None:
        """It gets no more rounds: what runs is finished, what was said is played, nothing follows.

        A line of the session's own goes on: it is not of the agent whose task is over.
        """
        step = speech.step
        if speech.kind is Kind.SAY and step is not None and not step.segment.tells:
            return
        if step is not None and speech.is_generating:
            if not any(c.gate in (Gate.RUNNING, Gate.CLOSED) for c in step.calls):
                self.interrupt(speech, force=True)
                return
            self._out.withdraw(step.gen)
            self._out.send(StopGenerating(step.gen))
            self.text_complete(speech, "")
        if speech.stage is Stage.WAITING:
            self.interrupt(speech, force=True)
        speech.task_over()

    def finish_if_over(self, speech: Speech) -> None:
        """A speech with nothing left to generate, run or play is done."""
        if speech.stage is _SPEAKING and not speech.live:
            self.finish(speech)

    def finish(self, speech: Speech) -> None:
        """It is over. Turns that it was to answer and did not are owed again."""
        speech.ended()
        self._shields.lower(speech)
        del self.unfinished[speech.id]
        speech.frame.left_by(speech)
        for handoff in self._debts.speech_ended(speech):
            self._frames.hand_over(speech.frame, handoff)
        self._out.send(SpeechDone(speech.id))


def _has_said_all(speech: Speech) -> bool:
    """All of it was heard: it is over in a moment."""
    return speech.stage is Stage.SPEAKING and bool(speech.live) and all(one.was_heard_whole for one in speech.live)
