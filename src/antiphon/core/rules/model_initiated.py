"""Responses that a model began by itself: each is adopted, waits for its turn, or is declined.

Above: the conversation. Below: `unasked`, which keeps them.
"""

from __future__ import annotations

from antiphon.core import facts as f
from antiphon.core.floor import Floor
from antiphon.core.stages import Kind


def began(floor: Floor, fact: f.ResponseBegan) -> None:
    """The model began to respond."""
    floor.unasked.began(fact)


def judge(floor: Floor) -> bool:
    """One that nobody wants is declined; one that answers nobody is spoken, if nothing else goes on."""
    judged = False
    for response in list(floor.unasked.responses.values()):
        if not _may_speak(floor, response):
            floor.unasked.decline(response)
            floor.debts.turns.must_be_asked(response.turn)
            judged = True
        elif response.turn is None:
            speech = floor.speeches.open(Kind.DELIVERY, floor.top)
            floor.speeches.begin(speech, tools=floor.options.max_tool_steps > 0, response=response)
            judged = True
    return judged


def _may_speak(floor: Floor, response: f.ResponseBegan) -> bool:
    top, turns = floor.top, floor.debts.turns
    if floor.closing.ends_speech or not floor.accepts_turns or response.agent != top.agent or top.is_handing_over:
        return False
    if response.turn is None:
        return not (response.to_results or floor.is_busy or floor.debts.owed_in(top))  # what is owed goes first
    if turns.is_open(response.turn):
        return True
    # An answer that began before what is protected has ended would not know of it.
    return bool(turns.owed) and turns.owed[-1].heard_as == response.turn and floor.shielding() is None
