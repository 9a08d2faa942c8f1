"""What a session's end comes to, for those who listen to `close`.

Above: the session. Below: the events.
"""

from __future__ import annotations

from antiphon.core.commands import Close
from antiphon.events import CloseEvent, CloseReason, EventEmitter, UnheardOutcome


def close_event(closed: Close) -> CloseEvent:
    """The event of an end that the core decided on."""
    try:
        reason = CloseReason(closed.reason)
    except ValueError:
        reason = CloseReason.ERROR
    unheard = [
        UnheardOutcome(one.call.name, one.call.call_id, one.call.arguments, one.outcome, one.output)
        for one in closed.unheard
    ]
    return CloseEvent(reason=reason, unheard=unheard)


def told_end(session: EventEmitter, closed: Close) -> CloseEvent:
    """Tell those who listen to `close`, and return what they were told."""
    event = close_event(closed)
    session.emit("close", event)
    return event
