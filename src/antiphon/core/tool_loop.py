"""The tool loop: from calls to results to the next response, within bounds.

A *round* is one model response with at least one call: failed, unknown and adopted calls included, parallel calls
together. Calls run as soon as they are complete, unless their policy keeps them in order. When all of a round are
closed they are written into the history in call order, and the model is asked again the same moment, also while
what it said before still plays. After `max_tool_steps` rounds it must answer without tools; if it then says nothing
it is asked once more, and if that fails the session's own line is said: a turn never ends in silence by accident.
"""

from __future__ import annotations

from antiphon.core import texts
from antiphon.core.facts import Call, Handoff, ToolCalled, ToolReturned, ToolUpdated
from antiphon.core.floor import Floor
from antiphon.core.line import Segment
from antiphon.core.runs import Bond, Run
from antiphon.core.speech import Gate, Kind, OpenCall, Speech, Stage, Step

_AT_WORK = (Stage.GENERATING, Stage.TOOLS)

# -- facts


def called(floor: Floor, fact: ToolCalled) -> None:
    """The model made a call. It joins its step, unless calls are not wanted there."""
    speech = floor.by_gen(fact.gen)
    if speech is None or speech.step is None or not speech.step.tools:
        return
    floor.out.rearm(fact.gen, floor.options.generation_limit)
    open_call = OpenCall(fact.call, fact.policy)
    if fact.rejected is not None:
        open_call.close(fact.rejected, is_error=True)
    speech.step.calls.append(open_call)


def updated(floor: Floor, fact: ToolUpdated) -> None:
    """A tool reported progress: it works in the background from now on."""
    run = floor.runs.get(fact.run)
    if run is None or run.bond is Bond.ORPHAN:
        return
    floor.emit("tool_updated", run=run.id, value=fact.message if fact.told is None else fact.told)
    if run.bond is Bond.ATTACHED and run.open_call is not None:
        run.open_call.close(fact.message, reply=not fact.silent)
        run.open_call.update = True
        floor.runs.to_background(run)
        return
    run.updates += 1
    done = OpenCall(run.call, run.policy)
    done.close(fact.message, reply=not fact.silent)
    floor.record_result(run, f"update_{run.updates}", done)
    if not fact.silent:
        frame = floor.home(run)
        floor.offer(done, frame, final=False)


def returned(floor: Floor, fact: ToolReturned) -> None:
    """A tool ended."""
    run = floor.runs.get(fact.run)
    if run is None:
        return
    if run.bond is Bond.ORPHAN:
        floor.emit("tool_ended", run=run.id, speech=run.speech.id, value="dropped")
        floor.runs.keep_result(run, fact)
        return
    status = "unknown" if fact.unknown else "error" if fact.is_error else "done"
    floor.emit("tool_ended", run=run.id, speech=run.speech.id, value=status)
    if run.bond is Bond.ATTACHED and run.open_call is not None:
        _close_with(run.open_call, fact)
    elif run.bond is Bond.BACKGROUND:
        _deliver(floor, run, fact)
    floor.runs.forget(run)


def _close_with(open_call: OpenCall, fact: ToolReturned) -> None:
    open_call.close(fact.output, is_error=fact.is_error, reply=fact.reply)
    open_call.handoff = fact.handoff
    open_call.images = fact.images


def _deliver(floor: Floor, run: Run, fact: ToolReturned) -> None:
    done = OpenCall(run.call, run.policy)
    _close_with(done, fact)
    floor.record_result(run, "finished", done)
    frame = floor.home(run)
    if fact.reply:
        floor.offer(done, frame, final=True, handoff=fact.handoff)
    elif fact.handoff is not None:
        floor.request_handoff(frame, fact.handoff)


# -- rules


def advance(floor: Floor, speech: Speech) -> bool:
    """Move a speech's calls and steps as far as they go now. True if something moved."""
    step = speech.step
    if speech.interrupted or step is None or speech.stage not in _AT_WORK:
        return False
    moved = _start_calls(floor, speech, step) if step.calls else False
    if not step.generated:
        return moved
    if not step.calls:
        _end(floor, speech, step)
        return True
    if any(c.gate is not Gate.CLOSED for c in step.calls):
        if speech.stage is Stage.GENERATING:
            speech.stage = Stage.TOOLS
            return True
        return moved
    _close_round(floor, speech, step)
    return True


def _start_calls(floor: Floor, speech: Speech, step: Step) -> bool:
    moved = False
    for position, open_call in enumerate(step.calls):
        if open_call.gate is Gate.WAITING and _may_start(step, position):
            _start(floor, speech, step, open_call)
            moved = True
    return moved


def _may_start(step: Step, position: int) -> bool:
    alone = not step.calls[position].policy.parallel
    return all(
        before.gate is Gate.CLOSED or not (alone or not before.policy.parallel) for before in step.calls[:position]
    )


def _start(floor: Floor, speech: Speech, step: Step, open_call: OpenCall) -> None:
    orphan = floor.runs.adoptable(open_call.call)
    if orphan is not None:
        _adopt(floor, speech, step, open_call, orphan)
        return
    refusal = _duplicate_of(floor, open_call)
    if refusal is not None:
        open_call.close(refusal)
        return
    open_call.gate = Gate.RUNNING
    open_call.run = floor.runs.start(open_call, speech, step.gen, speech.agent)


def _adopt(floor: Floor, speech: Speech, step: Step, open_call: OpenCall, orphan: Run) -> None:
    result = orphan.returned
    open_call.gate = Gate.RUNNING
    open_call.run = orphan
    floor.runs.adopt(orphan, open_call, speech, step.gen)
    if result is not None:
        _close_with(open_call, result)
        floor.runs.forget(orphan)


def _duplicate_of(floor: Floor, open_call: OpenCall) -> str | None:
    """Why the call may not run beside others of its tool, or None. Replaces them where its policy says so."""
    call, policy = open_call.call, open_call.policy
    beside = floor.runs.duplicates(call, policy)
    if not beside:
        return None
    if policy.effect == "writes" and any(run.call.canonical == call.canonical for run in beside):
        return texts.already_running(call.name)
    running: list[Call] = [run.call for run in beside]
    match policy.on_duplicate:
        case "allow":
            return None
        case "confirm":
            return None if call.confirmed else texts.duplicate_unconfirmed(call.name, running)
        case "reject":
            return texts.duplicate_rejected(call.name, running)
        case "replace":
            if any(run.keeps for run in beside):
                return texts.duplicate_rejected(call.name, running)
            for run in beside:
                cancel(floor, run)
            return None


def failed(floor: Floor, gen: int, error: str, text: str) -> None:
    """The model failed. Calls it had made are finished; otherwise the caller is told, once."""
    speech = floor.by_gen(gen)
    if speech is None or speech.step is None:
        return
    if speech.stage is Stage.HELD:  # nobody was promised anything: the reply, if one is due, is asked for anew
        floor.discard(speech)
        return
    floor.emit("error", speech=speech.id, gen=gen, value=error)
    step = speech.step
    floor.text_complete(speech, text)
    if step.calls or speech.interrupted:
        return
    if speech.kind is Kind.REPLY and not speech.failed and not speech.last_round and not speech.ends_call:
        speech.failed = speech.fallback = True
        floor.begin_step(speech, tools=False, say=floor.options.failure_line)
        return
    speech.failed = True
    speech.stage = Stage.SPEAKING
    floor.finish_if_over(speech)


def voice_failed(floor: Floor, segment: Segment) -> bool:
    """The caller heard a segment in part, or not at all. True if they are told so; once for each speech."""
    speech = segment.speech
    is_last = speech.stage is Stage.SPEAKING and not speech.live
    if speech.kind is not Kind.REPLY or not is_last or speech.interrupted or speech.fallback or speech.last_round:
        return False
    speech.fallback = True
    floor.begin_step(speech, tools=False, say=floor.options.failure_line)
    return True


def cancel(floor: Floor, run: Run) -> None:
    """Stop a run for good. A call that waits for it is closed."""
    if run.bond is Bond.ATTACHED and run.open_call is not None:
        run.open_call.close(f"`{run.call.name}` was cancelled.", reply=False)
    elif run.bond is Bond.BACKGROUND:
        done = OpenCall(run.call, run.policy)
        done.close(f"`{run.call.name}` was cancelled.", reply=False)
        floor.record_result(run, "finished", done)
    floor.runs.cancel(run)


def _close_round(floor: Floor, speech: Speech, step: Step) -> None:
    """All calls of the step are closed: write them down and decide how the speech goes on."""
    speech.rounds += 1
    floor.results_at = floor.out.now
    handoff = _first_handoff(step)
    wants_reply = any(c.reply for c in step.calls)
    only_updates = all(c.update for c in step.calls)
    speech.writes += [
        (speech.rounds, c)
        for c in step.calls
        if (c.policy.effect == "writes" or c.was_protected) and c.reply and not c.update
    ]
    calls = list(step.calls)
    floor.record_round(speech, step)
    if handoff is not None:
        floor.request_handoff(speech.frame, handoff)
        speech.farewell = True
    speech.owes = wants_reply or (speech.owes and not step.segment.text)
    if (speech.owes or floor.owed) and not speech.last_round:
        floor.answer(speech)
        floor.let_know(speech.frame.agent, calls)
        may_call = speech.rounds < floor.options.max_tool_steps and not speech.farewell and not only_updates
        floor.begin_step(speech, tools=may_call)
    else:
        speech.stage = Stage.SPEAKING
        floor.finish_if_over(speech)


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
        if not speech.retried:
            speech.retried = True
            floor.begin_step(speech, tools=step.tools, retry=True)
            return
        if not speech.fallback and not speech.farewell:  # else the next agent speaks
            speech.fallback = True
            floor.begin_step(speech, tools=False, say=floor.options.fallback_line)
            return
    speech.stage = Stage.SPEAKING
    floor.finish_if_over(speech)


def _is_silent(floor: Floor, speech: Speech, step: Step) -> bool:
    """The caller waits for this response and it says nothing; nor did a tool of the round before it."""
    if (
        speech.kind is not Kind.REPLY
        or speech.last_round
        or speech.ends_call
        or speech.tool_choice == "none"
        or step.segment in speech.live
        or step.segment.text
    ):
        return False
    told = 0 < speech.rounds == speech.told_in
    return not told or speech.rounds >= floor.options.max_tool_steps
