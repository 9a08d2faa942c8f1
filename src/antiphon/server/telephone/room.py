"""The room of a call by telephone: as every room, and the caller can be passed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from antiphon.server.room import Participant, Room
from antiphon.server.telephone.transfer import Outcome, Transfers, Wish

if TYPE_CHECKING:
    from antiphon.transport import AudioInput, AudioOutput
    from antiphon.transports.recorder import StereoRecorder

TELEPHONE = 3
"""The kind of a participant on a telephone, as LiveKit counts."""


SETTLING = 0.5
"""Seconds from a caller's being put through to the end of the agent's part: what came of it is noted first."""


class PhoneRoom(Room):
    """A telephone call.

    Args:
        name: Of the room.
        caller: Whom the agent talks to: their number is `attributes["sip.phoneNumber"]`.
        call: The carrier's id of the call.
        transfers: Passes it on.
        address: Makes the address of a path at which the carrier finds this server.
        audio_input: The caller's voice.
        audio_output: The caller's ear.
        recorder: Keeps both.
    """

    def __init__(
        self,
        name: str,
        *,
        caller: Participant,
        call: str,
        transfers: Transfers,
        address: Callable[[str], str],
        audio_input: AudioInput,
        audio_output: AudioOutput,
        recorder: StereoRecorder | None = None,
    ) -> None:
        super().__init__(name, audio_input=audio_input, audio_output=audio_output, recorder=recorder)
        self._present = {caller.identity: caller}
        self._person = caller
        self._call = call
        self._transfers = transfers
        self._address = address
        self._gone = asyncio.Event()
        self._leaving = False
        """The carrier is asked to put the caller through, or has been: the end of their stream is no hanging up."""
        self._line_is_over = False
        self.passed_on = ""
        """To which number the caller was passed on; "": to none."""

    def line_ended(self) -> None:
        """For whoever holds the line: it is over. The caller hung up, or is put through."""
        self._line_is_over = True
        if not self._leaving:
            self._gone.set()
            self._line_ended("the caller hung up")

    def _leave(self) -> None:
        self._leaving = True

    def _put_through(self) -> None:
        self._line_ended(f"passed on to {self.passed_on}")

    @property
    def caller(self) -> Participant:
        """Whom the agent talks to."""
        return self._person

    async def transfer_call(
        self, to: str, *, summary: str = "", accept_line: str = "", ring_timeout: float = 25.0, language: str = ""
    ) -> str:
        """Call `to`, and connect the caller with whoever takes the call. Returns what came of it (`Outcome`'s values).

        `summary`: what the person called hears first; with one they take the call by a key. Only "connected" ends the
        agent's part. Raises `UsageError` where the carrier's account is not known.
        """
        from_ = self._person.attributes.get("sip.trunkPhoneNumber", "")
        wish = Wish(to, from_, summary, accept_line, ring_timeout, language)
        outcome = await self._transfers.transfer(
            self._call, wish, gone=self._gone, leaving=self._leave, address=self._address
        )
        if outcome is Outcome.CONNECTED:
            self.passed_on = to
            asyncio.get_running_loop().call_later(SETTLING, self._put_through)
        else:
            self._leaving = False
            if self._line_is_over:
                self.line_ended()
        return outcome.value

    def _participant(self, identity: str | None) -> Participant | None:
        return self._person if identity is None else self._present.get(identity)
