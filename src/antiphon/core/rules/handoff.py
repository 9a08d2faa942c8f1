"""One agent to the next, and agents on top of one another.

    STEADY --a tool returned an agent--> PENDING --the old agent has spoken--> LEAVING (on_exit) --> STEADY (on_enter)

No turn of the caller is committed between PENDING and STEADY; one that completes meanwhile waits and belongs to the
next agent. A turn that was committed before and not answered is carried over. The new agent's `on_enter` gates
nothing: it may await an `AgentTask` that needs the caller.
"""

from __future__ import annotations

from antiphon.chat import AgentHandoff
from antiphon.core.commands import RunHook
from antiphon.core.facts import (
    AgentTaskFinished,
    AgentTaskStarted,
    ContextChanged,
    Handoff,
    HandOffRequested,
    HookReturned,
)
from antiphon.core.floor import Floor
from antiphon.core.notices import HandedOff, TaskBegan, TaskDropped
from antiphon.core.stages import Bond, Kind
from antiphon.core.state import Frame


def requested(floor: Floor, fact: HandOffRequested) -> None:
    """The application puts another agent in charge."""
    floor.frames.hand_over(floor.top, Handoff(fact.agent, fact.agent))


def context_changed(floor: Floor, fact: ContextChanged) -> None:
    """What an agent knows, or may do, is another."""
    floor.history.changed(fact.agent, fact.item)
    if fact.learns or fact.forgets:
        floor.ledger.context_changed(fact.agent, fact.learns, fact.forgets)


def enter(floor: Floor, frame: Frame, previous: str | None) -> None:
    """The agent of a frame begins."""
    hook = floor.out.new_id()
    frame.enters(hook)
    floor.out.promise(hook, HookReturned(hook), floor.options.hook_timeout)
    floor.out.send(RunHook(hook, "on_enter", frame.agent, previous=previous))


def advance(floor: Floor) -> bool:
    """Begin the hand-off of the top frame once its agent has finished. True if something moved."""
    frame = floor.frames.top
    if frame.leaving is not None:
        return False
    if floor.closing.ends_speech or floor.debts.turns.judged is not None:
        return False
    if any(speech.kind is not Kind.FILLER and not floor.waits_for_turn(speech) for speech in frame.speeches):
        return False
    hook = floor.out.new_id()
    frame.leaves(hook)
    floor.out.promise(hook, HookReturned(hook), floor.options.hook_timeout)
    floor.out.send(RunHook(hook, "on_exit", frame.agent))
    return True


def hook_returned(floor: Floor, hook: int) -> bool:
    """`on_enter` or `on_exit` ran. True if the hook was one of these."""
    for frame in floor.frames.all:
        if frame.entering == hook:
            frame.entered()
            return True
        if frame.leaving == hook:
            frame.left()
            _switch(floor, frame)
            return True
    return False


def _switch(floor: Floor, frame: Frame) -> None:
    if frame.pending is None:
        return
    old, new = frame.agent, frame.pending.agent
    turns, said = floor.debts.turns, floor.turn
    has_said = (said.ready or bool(said.text)) and not floor.is_said_in_passing(said)
    carries_turn = bool(turns.owed or turns.waiting) or has_said
    frame.taken_over(frame.pending, carries_turn=carries_turn)
    history = floor.history
    item = AgentHandoff(old_agent_id=old, new_agent_id=new, id=history.item_id(), created_at=history.wall)
    history.record(item, new)
    floor.debts.handed_over(frame)
    floor.out.send(HandedOff(new))
    enter(floor, frame, old)


# -- agents on the stack


def task_started(floor: Floor, fact: AgentTaskStarted) -> None:
    """An `AgentTask` is awaited: its agent takes the floor, or waits for a sibling's end."""
    run, hook = floor.runs.get(fact.run), None
    if run is not None:
        floor.runs.suspend(run)
        parent = floor.frames.home(run)
    else:
        parent = floor.frames.of_agent(fact.parent)
        if parent.agent == fact.parent:
            hook = parent.entering if parent.entering is not None else parent.leaving
        if hook is not None:
            floor.out.rearm(hook, None)
    frame = Frame(fact.agent, fact.task, fact.run, parent, hook)
    if parent is floor.top:
        _push(floor, frame)
    else:
        floor.frames.wait(frame)


def _push(floor: Floor, frame: Frame) -> None:
    floor.frames.push(frame)
    if frame.task is not None:
        floor.out.send(TaskBegan(frame.task))
    enter(floor, frame, None)


def task_finished(floor: Floor, fact: AgentTaskFinished) -> None:
    """The task is over, wherever it stands: its frame goes, and whoever awaited it goes on."""
    for frame in floor.frames.all:
        if frame.task == fact.task:
            if floor.frames.stop_waiting(frame):
                _resume(floor, frame)
            else:
                _pop(floor, frame)
            return


def _pop(floor: Floor, frame: Frame) -> None:
    gone = floor.frames.take_off(frame)
    below = floor.top
    for above in reversed(gone):
        for speech in list(above.speeches):
            floor.speeches.wind_down(speech)
            if not speech.finished:
                speech.moved(below)
        floor.debts.frame_ended(above, below)
        _resume(floor, above)  # nobody will talk to a task that stood above: the clock of its tool must run again
    for above in gone[1:]:
        _drop(floor, above)
    for waiting in floor.frames.waiting_for(gone):
        _drop_or_move(floor, waiting, below)
    task = floor.frames.next_task()
    if task is not None:
        _push(floor, task)


def _drop_or_move(floor: Floor, waiting: Frame, below: Frame) -> None:
    """The agent that a task waited for the floor of is gone: what works in the background asks the next one's caller.

    Anything else was for the sake of what is over.
    """
    run = floor.runs.get(waiting.run)
    if run is not None and run.bond is Bond.BACKGROUND:
        waiting.waits_for(below)
        return
    floor.frames.stop_waiting(waiting)
    _resume(floor, waiting)
    _drop(floor, waiting)


def _drop(floor: Floor, frame: Frame) -> None:
    if frame.task is not None:
        floor.out.send(TaskDropped(frame.task))


def _resume(floor: Floor, frame: Frame) -> None:
    """Whoever awaits the task goes on, and so does the clock."""
    run = floor.runs.get(frame.run)
    if run is not None and floor.runs.resume(run):
        floor.shields.resumed(run)
    if frame.hook is not None and all(f.hook != frame.hook for f in floor.frames.all):
        floor.out.rearm(frame.hook, floor.options.hook_timeout)
