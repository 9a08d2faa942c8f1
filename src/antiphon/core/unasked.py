"""Responses that a model which hears and speaks for itself began unasked.

    PENDING --the turn it answers is owed and may be answered--> adopted as a speech
    PENDING --nobody wants it (any more)--> declined

A pending response makes no sound: the runtime keeps what comes of it. So nothing here is in a hurry, and a response
that may not be adopted now is adopted or declined when that is clear.

Above: the rules. Below: the promises. A model that is asked for every response never gets here.
"""

from __future__ import annotations

from collections.abc import Sequence

from antiphon.core.commands import Decline
from antiphon.core.facts import ResponseBegan
from antiphon.core.promises import Outbox
from antiphon.core.turn import Turn


class Unasked:
    """The responses that are neither adopted nor declined."""

    __slots__ = ("_out", "responses")

    def __init__(self, out: Outbox) -> None:
        self._out = out
        self.responses: dict[int, ResponseBegan] = {}
        """By id, oldest first."""

    def began(self, fact: ResponseBegan) -> None:
        """The model began to respond."""
        self.responses[fact.response] = fact

    def answer_to(self, turns: Sequence[Turn], agent: str) -> ResponseBegan | None:
        """The response that the model of `agent` began to the latest of these turns."""
        if not turns or turns[-1].heard_as is None:
            return None
        for response in self.responses.values():
            if response.turn == turns[-1].heard_as and response.agent == agent:
                return response
        return None

    def adopted(self, response: ResponseBegan) -> None:
        """It is what a speech says."""
        del self.responses[response.response]

    def decline(self, response: ResponseBegan) -> None:
        """Nobody wants it."""
        del self.responses[response.response]
        self._out.send(Decline(response.response))
