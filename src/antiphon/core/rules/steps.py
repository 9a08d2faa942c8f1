"""The tool loop: from calls to results to the next response, within bounds.

A *round* is one model response with at least one call: failed, unknown and adopted calls included, parallel calls
together. Calls run as soon as they are complete, unless their policy keeps them in order. When all of a round are
closed they are written into the history in call order, and the model is asked again the same moment, also while
what it said before still plays. After `max_tool_steps` rounds it must answer without tools; if it then says nothing
it is asked once more, and if that fails the session's own line is said: a turn never ends in silence by accident. The
request behind the last round says why the tools are gone, so that no turn ends with an announcement either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from antiphon.core import texts
from antiphon.core.commands import StopGenerating
from antiphon.core.facts import (
    GenerationFailed,
    Handoff,
    OutcomeFound,
    RunCancelRequested,
    RunResumed,
    RunSuspended,
    StepGenerated,
    StreamContinued,
    StreamPaused,
    TextStarted,
    ToolCalled,
    ToolReturned,
    ToolUpdated,
)
from antiphon.core.floor import Floor
from antiphon.core.ledger import Adopt, Answer, Ask, Start, Wait
from antiphon.core.notices import SpeechFailed, ToolEnded, ToolOutcome, ToolProgressed, ToolStepsUsedUp
from antiphon.core.rules import must_hear
from antiphon.core.stages import Bond, Gate, Kind, Stage
from antiphon.core.state import OpenCall, Run, Speech, Step
from antiphon.text import is_sayable

_GENERATING, _SPEAKING = Stage.GENERATING, Stage.SPEAKING
_WAITING, _CLOSED = Gate.WAITING, Gate.CLOSED
_ATTACHED, _ORPHAN = Bond.ATTACHED, Bond.ORPHAN
_REPLY = Kind.REPLY
"""Asked for with every fact; before Python 3.12 the member of an enum is long in being found."""
_AT_WORK = (_GENERATING, Stage.TOOLS)

# -- facts


def text_started(floor: Floor, fact: TextStarted) -> None:
    """The first text of a response."""
    speech = floor.speeches.by_gen(fact.gen)
    if speech is not None and speech.step is not None:
        _goes_on(floor, speech.step)
        floor.speeches.text_started(speech, fact.written)


def generated(floor: Floor, fact: StepGenerated) -> None:
    """A response is complete."""
    speech = floor.speeches.by_gen(fact.gen)
    if speech is not None:
        floor.speeches.text_complete(speech, fact.text)


def continued(floor: Floor, fact: StreamContinued) -> None:
    """The model is at work."""
    speech = floor.speeches.by_gen(fact.gen)
    if speech is not None and speech.step is not None:
        _goes_on(floor, speech.step, fact.within)


def suspended(floor: Floor, fact: RunSuspended) -> None:
    """A tool waits for the caller."""
    run = floor.runs.get(fact.run)
    if run is not None:
        floor.runs.suspend(run)


def resumed(floor: Floor, fact: RunResumed) -> None:
    """A tool goes on."""
    run = floor.runs.get(fact.run)
    if run is not None and floor.runs.resume(run):
        floor.shields.resumed(run)


def cancel_requested(floor: Floor, fact: RunCancelRequested) -> None:
    """The application or the model cancels a tool."""
    run = floor.runs.get(fact.run)
    if run is not None:
        cancel(floor, run)


def called(floor: Floor, fact: ToolCalled) -> None:
    """The model made a call. It joins its step, unless calls are not wanted there."""
    speech = floor.speeches.by_gen(fact.gen)
    if speech is None or speech.step is None:
        return
    if not speech.step.tools:
        speech.step.turned_down(fact.call)
        return
    _goes_on(floor, speech.step)
    open_call = OpenCall(fact.call, fact.policy)
    if fact.rejected is not None:
        open_call.close(fact.rejected, is_error=True)
    speech.step.called(open_call)


def paused(floor: Floor, fact: StreamPaused) -> None:
    """The model's stream stands still."""
    speech = floor.speeches.by_gen(fact.gen)
    if speech is None or speech.step is None or speech.kind not in (Kind.REPLY, Kind.DELIVERY):
        return
    speech.step.stood_still(fact.text)
    limit = floor.options.stream_timeout
    stalled = GenerationFailed(fact.gen, texts.stood_still(limit), fact.text)
    floor.out.promise(fact.gen, stalled, max(0.0, limit - fact.seconds))


def _goes_on(floor: Floor, step: Step, within: float | None = None) -> None:
    """The model is at work. `within`: seconds that it has from here on."""
    limit = floor.options.generation_limit if within is None else within
    if step.so_far is None:
        floor.out.rearm(step.gen, limit)
    else:
        step.went_on()
        floor.out.promise(step.gen, GenerationFailed(step.gen, texts.NO_ANSWER), limit)


def updated(floor: Floor, fact: ToolUpdated) -> None:
    """A tool reported progress: it works in the background from now on."""
    run = floor.runs.get(fact.run)
    if run is None or run.bond is Bond.ORPHAN:
        return
    floor.out.send(ToolProgressed(run.id, run.call, fact.message if fact.told is None else fact.told))
    if run.bond is Bond.ATTACHED and run.open_call is not None:
        run.open_call.goes_on(fact.message, reply=not fact.silent)
        floor.runs.to_background(run)
        return
    done = run.update()
    done.close(fact.message, reply=not fact.silent)
    floor.rounds.result(run.id, done, floor.frames.home(run).agent)
    if not fact.silent:
        floor.debts.result(done, floor.frames.home(run), final=False)


def returned(floor: Floor, fact: ToolReturned) -> None:
    """A tool ended."""
    run = floor.runs.get(fact.run)
    if run is None:
        _returned_late(floor, fact)
        return
    if fact.is_error and not fact.unknown and run.row is not None and run.row.retry_of is not None:
        fact = replace(fact, unknown=True, output=texts.failed_again(run.call.name, fact.output))
    if run.bond is _ORPHAN:
        floor.out.send(ToolEnded(run.id, run.speech.id, run.call, "dropped"))
        floor.runs.keep_result(run, fact)
        return
    floor.ledger.returned(run.row, fact)
    outcome: ToolOutcome = "unknown" if fact.unknown else "error" if fact.is_error else "done"
    floor.out.send(ToolEnded(run.id, run.speech.id, run.call, outcome))
    if run.bond is _ATTACHED and run.open_call is not None:
        run.open_call.close_with(fact)
    elif run.bond is Bond.BACKGROUND:
        _deliver(floor, run, fact)
    floor.runs.forget(run)
    if fact.unknown:
        floor.runs.doubt(run, ended=True)


def _returned_late(floor: Floor, fact: ToolReturned) -> None:
    """A tool ended that had been given up."""
    if not fact.unknown:
        _known_late(floor, fact)


def found(floor: Floor, fact: OutcomeFound) -> None:
    """Who was asked knows what nobody knew."""
    output = fact.output if fact.happened else texts.NOT_HAPPENED
    _known_late(floor, ToolReturned(fact.run, output, is_error=not fact.happened), found=True)


def _known_late(floor: Floor, fact: ToolReturned, *, found: bool = False) -> None:
    """What nobody knew is known, and the caller is told."""
    doubt = floor.runs.known(fact.run)
    if doubt is None or not (row := doubt.row.last_try).is_in_doubt:
        return
    is_of_all = row is doubt.row and (found or row.retry_of is None)
    if fact.is_error and not is_of_all:
        return  # it did not happen in this try: of the others nobody knows more than they did
    floor.debts.corrected(row)
    floor.ledger.corrected(row, fact, found=found)
    done, frame = doubt.settled(), floor.frames.still_there(doubt.frame)
    told = texts.known_late(doubt.call.name, fact.output, is_error=fact.is_error, found=found)
    done.close_with(replace(fact, output=told, reply=True, handoff=None))
    floor.rounds.result(doubt.run, done, frame.agent)
    floor.debts.result(done, frame, final=True, row=row)


def _deliver(floor: Floor, run: Run, fact: ToolReturned) -> None:
    done, frame = run.report("finished"), floor.frames.home(run)
    done.close_with(fact)
    floor.rounds.result(run.id, done, frame.agent)
    if fact.reply:
        floor.debts.result(done, frame, final=True, handoff=fact.handoff)
    elif fact.handoff is not None:
        floor.frames.hand_over(frame, fact.handoff)


# -- rules


def advance(floor: Floor) -> bool:
    """Speeches run their tools, and go from round to round: a round is written before a turn is answered."""
    moved = floor.consent.is_agreed and floor.consent.acted()
    for speech in list(floor.speeches.unfinished.values()):
        if speech.stage in _AT_WORK and _advance(floor, speech):
            moved = True
    return moved


def _advance(floor: Floor, speech: Speech) -> bool:
    """Move a speech's calls and steps as far as they go now. True if something moved."""
    step = speech.step
    if speech.interrupted or step is None:
        return False
    moved = _start_calls(floor, speech, step) if step.calls else False
    if not step.generated:
        return (step.so_far is not None and _break_off(floor, speech, step, step.so_far)) or moved
    if not step.calls:
        _end(floor, speech, step)
        return True
    if any(c.gate is not _CLOSED for c in step.calls):
        if speech.stage is _GENERATING:
            speech.written()
            return True
        return moved
    if floor.awaits_turn(speech) and floor.hears_more:
        return moved
    _close_round(floor, speech, step)
    return True


def _break_off(floor: Floor, speech: Speech, step: Step, so_far: str) -> bool:
    """A result is in, and the response stands still: the next one tells it. True if this one was given up."""
    if speech.stage is not _GENERATING or speech.last_round:
        return False
    if any(call.gate is not Gate.CLOSED for call in step.calls):
        return False
    if not step.calls and (speech.ends_call or not floor.accepts_turns or not floor.debts.news_for(speech)):
        return False
    floor.out.withdraw(step.gen)
    floor.out.send(StopGenerating(step.gen))
    floor.speeches.text_complete(speech, so_far)
    if not step.calls:  # else the round is closed, and what follows it carries the news
        if speech.kind is Kind.DELIVERY:
            floor.debts.told_by(speech)
        floor.speeches.begin(speech, tools=step.tools)
    return True


def _start_calls(floor: Floor, speech: Speech, step: Step) -> bool:
    moved = False
    for position, open_call in enumerate(step.calls):
        if open_call.gate is _WAITING and _may_start(step, position):
            moved = _start(floor, speech, step, open_call) or moved
    return moved


def _may_start(step: Step, position: int) -> bool:
    alone = not step.calls[position].policy.parallel
    return all(
        before.gate is Gate.CLOSED or not (alone or not before.policy.parallel) for before in step.calls[:position]
    )


def _start(floor: Floor, speech: Speech, step: Step, open_call: OpenCall) -> bool:
    """Do with a call what the ledger says. True if it does not wait for another."""
    call, policy = open_call.call, open_call.policy
    orphan = floor.runs.adoptable(call)
    others = floor.runs.duplicates(call, policy) if policy.on_duplicate is not None else []
    verdict = floor.ledger.same_wish(open_call, step.asked, speech.agent, step.calls, orphan=orphan, ask=bool(others))
    match verdict:
        case Start() if not floor.must_hear.lets_run(policy):
            return not must_hear.keeps_back(floor, open_call)
        case Start(asks) if not floor.consent.may_run(open_call, before=asks):
            if floor.consent.question is not None:
                return False
            floor.consent.opened(open_call, speech, before=asks)
        case Start():
            floor.runs.start(open_call, speech, step, speech.agent)
        case Adopt(run):
            _adopt(floor, speech, step, open_call, run)
        case Answer(output, is_error, shows, reply):
            open_call.answer(output, is_error=is_error, shows=shows, reply=reply)
        case Ask() if policy.on_duplicate == "replace" and not any(run.keeps for run in others):
            for run in others:
                cancel(floor, run)
            return _start(floor, speech, step, open_call)
        case Ask():
            _refuse(floor, open_call, others)
        case Wait():
            return False
    return True


def _refuse(floor: Floor, open_call: OpenCall, others: Sequence[Run]) -> None:
    """The call is not made, for these runs: what comes of them is told, also where their call was dropped."""
    for run in others:
        if run.bond is Bond.ORPHAN:
            floor.rounds.take_up(run, floor.frames.home(run).agent)
    is_unconfirmed = open_call.policy.on_duplicate == "confirm"
    refusal = texts.duplicate_unconfirmed if is_unconfirmed else texts.duplicate_rejected
    open_call.close(refusal(open_call.call.name, [run.call for run in others]))


def _adopt(floor: Floor, speech: Speech, step: Step, open_call: OpenCall, orphan: Run) -> None:
    waits_for_us = floor.frames.is_held_up_by(orphan, speech.frame)  # and the speech would wait for the run
    floor.runs.adopt(orphan, open_call, speech, step.gen, home=orphan.frame if waits_for_us else speech.frame)
    if waits_for_us:
        open_call.goes_on(texts.still_running(open_call.call.name, floor.out.now - orphan.started))
        floor.runs.to_background(orphan)
    elif orphan.returned is not None:
        open_call.close_with(orphan.returned)
        floor.runs.forget(orphan)


def failed(floor: Floor, fact: GenerationFailed) -> None:
    """The model failed. Calls it had made are finished; otherwise the caller is told, once."""
    speech = floor.speeches.by_gen(fact.gen)
    if speech is None or speech.step is None:
        return
    if speech.stage is Stage.HELD:  # nobody was promised anything: the reply, if one is due, is asked for anew
        floor.speeches.drop(speech)
        return
    floor.out.send(SpeechFailed(speech.id, fact.gen, fact.error))
    step = speech.step
    floor.speeches.text_complete(speech, fact.text)
    if step.calls or speech.interrupted:
        return
    if speech.kind is Kind.REPLY and not speech.trouble.failed and not speech.last_round and not speech.ends_call:
        speech.trouble.broke()
        speech.trouble.fell_back()
        floor.speeches.begin(speech, tools=False, say=floor.options.failure_line)
        return
    speech.trouble.broke()
    speech.said_all()
    end_if_over(floor, speech)


def end_if_over(floor: Floor, speech: Speech) -> None:
    """A speech with nothing left to generate, run or play is done, once what its voice lost is made up for."""
    if speech.stage is _SPEAKING and not speech.live and speech.trouble.lost is not None:
        lost = speech.trouble.take_lost() or ""
        nothing_follows = speech.interrupted or speech.trouble.fallback or speech.last_round
        if not nothing_follows and _make_up_for(floor, speech, lost):
            return
        if lost:
            speech.trouble.broke()
    floor.speeches.finish_if_over(speech)


def _make_up_for(floor: Floor, speech: Speech, lost: str) -> bool:
    """What gave no sound is said once more; what still does not, or cannot be said, gives way to a line. True if so."""
    if speech.kind is Kind.FILLER or speech is floor.must_hear.speech:  # it only bridged a wait, or is said anew
        return False
    is_answer, may_be_said = speech.kind is Kind.REPLY, is_sayable(lost)
    if may_be_said and not speech.trouble.again:
        speech.trouble.said_again()
        floor.speeches.begin(speech, tools=False, say=lost, tells=True)
        if speech.step is not None:
            floor.listening.is_said_again(speech.step.segment)
        return True
    line = floor.options.failure_line if may_be_said or not lost else floor.options.fallback_line
    if not line or speech.ends_call or not (is_answer or (lost and not may_be_said)):
        return False
    speech.trouble.fell_back()
    if lost:
        speech.trouble.broke()
    floor.speeches.begin(speech, tools=False, say=line)
    return True


def cancel(floor: Floor, run: Run) -> None:
    """Stop a run for good. A call that waits for it is closed."""
    output = texts.cancelled(run.call.name, may_have_happened=run.keeps)
    if run.bond is Bond.ATTACHED and run.open_call is not None:
        run.open_call.close(output, reply=False)
    elif run.bond is Bond.BACKGROUND:
        done = run.report("finished")
        done.close(output, reply=False)
        floor.rounds.result(run.id, done, floor.frames.home(run).agent)
    floor.runs.cancel(run)


def _close_round(floor: Floor, speech: Speech, step: Step) -> None:
    """All calls of the step are closed: write them down and decide how the speech goes on."""
    handoff = _first_handoff(step)
    wants_reply = any(c.reply for c in step.calls)
    only_updates = all(c.update for c in step.calls)
    calls = list(step.calls)
    if any(c.ends_task for c in calls):
        speech.task_over()
    floor.rounds.close(speech, step)
    if handoff is not None:
        floor.frames.hand_over(speech.frame, handoff)
        speech.took_leave()
    speech.round_answered(step, wants_reply=wants_reply)
    is_added_to = floor.debts.turns.answerable_by(speech.frame.agent, below=speech.frame is not floor.top)
    if (speech.owes or is_added_to) and not speech.last_round:
        floor.rounds.let_know(speech.frame.agent, calls)
        may_call = speech.rounds_used < floor.options.max_tool_steps and not speech.farewell and not only_updates
        if floor.speeches.used_up_steps(speech):
            floor.out.send(ToolStepsUsedUp(speech.id, speech.rounds_used))
        floor.speeches.begin(speech, tools=may_call)
    else:
        speech.said_all()
        end_if_over(floor, speech)


def _first_handoff(step: Step) -> Handoff | None:
    """The hand-off that is made; the outputs of the others say that they are not."""
    winner: Handoff | None = None
    for open_call in step.calls:
        handoff = open_call.handoff
        if handoff is None:
            continue
        if winner is None:
            winner = handoff
        elif handoff.agent != winner.agent:
            open_call.close(texts.handoff_lost(handoff.label, winner.label))
    return winner


def _end(floor: Floor, speech: Speech, step: Step) -> None:
    """A response without calls is the last one, unless it leaves the caller without an answer."""
    if _is_silent(floor, speech, step):
        if not speech.trouble.retried:
            speech.trouble.asked_again()
            floor.speeches.begin(speech, tools=step.tools, retry=True)
            return
        if not speech.trouble.fallback and not speech.farewell:  # else the next agent speaks
            speech.trouble.fell_back()
            floor.speeches.begin(speech, tools=False, say=floor.options.fallback_line)
            return
    speech.said_all()
    end_if_over(floor, speech)


def _is_silent(floor: Floor, speech: Speech, step: Step) -> bool:
    """The caller waits for this response and it says nothing; nor did a tool of the round before it."""
    if (
        speech.kind is not _REPLY
        or speech.last_round
        or speech.ends_call
        or (speech.tool_choice == "none" and speech not in (turn.speech for turn in floor.debts.turns.answered))
        or step.segment in speech.live
        or step.segment.text
    ):
        return False
    told = 0 < speech.rounds == speech.told_in
    return not told or speech.rounds_used >= floor.options.max_tool_steps
