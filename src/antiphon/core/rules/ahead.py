"""Asking the model before the caller's turn is over, and whether the answer still holds.

Above: the conversation, which asks after every fact; the turns and replies. Below: `core.ahead`, the floor.
"""

from __future__ import annotations

from antiphon.chat import ChatMessage
from antiphon.core.ahead import Ahead, Basis
from antiphon.core.floor import Floor
from antiphon.core.stages import Kind, Rank, Stage
from antiphon.core.state import Speech


def advance(floor: Floor) -> None:
    """Discard what is outdated, and ask for the likely next answer."""
    ahead = floor.ahead
    if ahead is None:
        return
    mute = not floor.closing.is_open
    if ahead.held is not None and (mute or ahead.is_lost or not _still_holds(floor, ahead)):
        _discard(floor, ahead)
    if not floor.turn.has_floor and ahead.held is None:
        ahead.turn_over()
    if not mute and ahead.held is None and floor.turn.is_likely_over and _may_ask(floor, ahead):
        _ask(floor, ahead)


def take(floor: Floor) -> Speech | None:
    """The response to the one turn that is owed, if it was made with all that is known now."""
    ahead = floor.ahead
    if ahead is None:
        return None
    speech = ahead.held
    if speech is None or ahead.is_lost or not _still_holds(floor, ahead):
        _discard(floor, ahead)
        return None
    ahead.used()
    return speech


def spoil(floor: Floor) -> None:
    """The application changed the turn, or what its reply shall know."""
    ahead = floor.ahead
    if ahead is not None and ahead.held is not None:
        ahead.spoiled()
        _discard(floor, ahead)


def _still_holds(floor: Floor, ahead: Ahead) -> bool:
    basis, turns = ahead.basis, floor.debts.turns
    if basis is None or basis.frame is not floor.top or basis.agent != floor.top.agent:
        return False
    if turns.judged is not None:
        return turns.judged.text == basis.text and floor.history.version == basis.version
    if turns.owed:  # the turn itself has entered the history, and nothing else
        same = len(turns.owed) == 1 and turns.owed[0].text == basis.text
        return same and floor.history.version == basis.version + 1
    return floor.turn.text == basis.text and floor.history.version == basis.version


def _may_ask(floor: Floor, ahead: Ahead) -> bool:
    return (
        ahead.may_try(floor.turn.text, floor.turn.voiced_for)
        and floor.accepts_turns
        and not floor.debts.turns.are_pending
        and not (floor.top.speeches or floor.line.segments or floor.top.is_handing_over or floor.debts.owes_results)
    )


def _ask(floor: Floor, ahead: Ahead) -> None:
    text, frame = floor.turn.text, floor.top
    basis = Basis(floor.history.version, text, frame, frame.agent)
    message = ChatMessage(role="user", content=text, id=floor.history.item_id(), created_at=floor.history.wall)
    speech = Speech(floor.out.new_id(), Kind.REPLY, frame, Rank.REPLY)
    ahead.asked(speech, basis)
    floor.speeches.generate_ahead(speech, message, tools=floor.options.max_tool_steps > 0)


def _discard(floor: Floor, ahead: Ahead) -> None:
    if ahead.held is not None and ahead.held.stage is Stage.HELD:
        floor.speeches.drop(ahead.held)
    ahead.dropped()
