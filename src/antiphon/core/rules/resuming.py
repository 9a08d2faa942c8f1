"""A call goes on in another process than it began in: what its tools did counts, and is told if it was not.

Above: the conversation. Below: the ledger, which knows these starts from now on, and the debts.
"""

from __future__ import annotations

from antiphon.chat import FunctionCall
from antiphon.core import texts
from antiphon.core.facts import Call, CallResumed, CutCall, KeptWrite
from antiphon.core.floor import Floor
from antiphon.core.history import Note
from antiphon.core.state import OpenCall


def resumed(floor: Floor, fact: CallResumed) -> None:
    """The first agent takes the call over as it was when the other process ended."""
    if fact.said:
        floor.history.said_before(fact.said, floor.top.agent)
    if fact.line:
        floor.speeches.say(fact.line)
    for kept in fact.writes:
        _take_over(floor, kept)
    for cut in fact.cut:
        _settle(floor, cut)


def _take_over(floor: Floor, kept: KeptWrite) -> None:
    frame, row = floor.top, floor.ledger.resumed(kept)
    suffix = "" if kept.recorded else "/resumed"
    call = Call(f"{kept.call.call_id}{suffix}", kept.call.name, kept.call.arguments, kept.call.canonical)
    done = OpenCall(call, kept.policy)
    done.answer(kept.output, is_error=kept.outcome != "succeeded", shows=(row,), reply=not kept.told)
    if kept.recorded:
        made = FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
        done.written_down(Note((made,), (frame.agent,)))
    else:
        floor.rounds.result(kept.run, done, frame.agent)
    if kept.outcome == "unknown":
        floor.runs.doubt_kept(kept.run, kept.call, kept.policy, frame, row)
    if not kept.told:
        floor.debts.result(done, frame, final=True, row=row)


def _settle(floor: Floor, cut: CutCall) -> None:
    """Whoever waited for it is gone: the model reads that, and says what is to become of it."""
    frame, name = floor.top, cut.call.name
    done = OpenCall(cut.call, cut.policy)
    done.close(texts.interrupted_by_restart(name, reads=cut.policy.effect == "reads"), is_error=True)
    floor.rounds.cut(done, frame.agent)
    floor.debts.result(done, frame, final=True)
