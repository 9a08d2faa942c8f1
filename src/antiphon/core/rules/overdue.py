"""Time is up: what was promised counts as ended, and the one who promised is told to stop.

Above: the conversation, which then takes the assumed fact like a real one. Below: the floor.
"""

from __future__ import annotations

from antiphon.core import facts as f
from antiphon.core.commands import CancelTool, StopGenerating, StopPlayout
from antiphon.core.floor import Floor
from antiphon.core.notices import HookOverdue


def excused(_: Floor, __: f.StoodStill) -> None:
    """Everything stood still: nothing is overdue for it, as the clock knows already."""


def stop(floor: Floor, assumed: f.Fact) -> f.Fact:
    """Tell the one who promised. Returns what is known to have happened."""
    match assumed:
        case f.ToolReturned(run_id):
            floor.out.send(CancelTool(run_id))
            run = floor.runs.get(run_id)
            if run is not None:
                floor.runs.doubt(run)
        case f.GenerationFailed(gen) | f.StepGenerated(gen):
            floor.out.send(StopGenerating(gen))
        case f.PlayoutFinished(segment_id, failed=failed):
            floor.out.send(StopPlayout(segment_id))
            segment = floor.line.find(segment_id)
            return f.PlayoutFinished(segment_id, "" if segment is None else segment.heard, failed)
        case f.HookReturned(hook):
            floor.out.send(HookOverdue(hook))
        case _:
            pass
    return assumed
