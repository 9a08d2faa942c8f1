"""RTP packets, their counters, and their order.

Who transcribes needs order, not a steady playout: nothing is held back that is in order, and what is missing is waited
for only until `window` later packets are here. So a lost packet delays those behind it once and leaves no backlog.

Pure: no clock, no audio. Below: nothing. Above: the other modules of this package.
"""

from __future__ import annotations

from dataclasses import dataclass

SAMPLE_RATE = 48_000
"""Hz; what Opus counts in, and what both halves of a call use."""
FRAME = 960
"""Samples in a frame: 20 ms."""
RESTART = 100
"""A packet further than this from the expected one means that the sender counts anew."""


@dataclass(slots=True, frozen=True)
class RtpPacket:
    """One packet of sound."""

    sequence: int
    """16 bits; rises by one with each packet."""
    timestamp: int
    """32 bits; the sample, at 48 kHz, with which the packet begins."""
    payload: bytes


def distance(to: int, origin: int, bits: int) -> int:
    """How far `to` is ahead of `origin` on a counter of that many bits; negative if behind."""
    half = 1 << (bits - 1)
    return ((to - origin + half) & ((1 << bits) - 1)) - half


class Reorder:
    """Gives packets out in order, each once, and goes on without a missing one when `window` later ones wait."""

    def __init__(self, window: int = 2) -> None:
        self.lost = 0
        """Packets that were given up."""
        self.late = 0
        """Packets that came after they had been given up, or a second time."""
        self._window = window
        self._next: int | None = None  # the sequence number to give out next; None before the first packet
        self._held: dict[int, RtpPacket] = {}

    def add(self, packet: RtpPacket) -> list[RtpPacket]:
        """The packets that are due now that this one is here, in order."""
        if self._next is None or abs(distance(packet.sequence, self._next, 16)) > RESTART:
            return self._restart(packet)
        if distance(packet.sequence, self._next, 16) < 0:
            self.late += 1
            return []
        self._held[packet.sequence] = packet
        due = self._take(self._next)
        if not due and len(self._held) > self._window:
            due = self._take(self._give_up(self._next))
        return due

    def _restart(self, packet: RtpPacket) -> list[RtpPacket]:
        """Follow a sender that counts anew; what is held still comes before."""
        expected = self._next or 0
        due = sorted(self._held.values(), key=lambda held: distance(held.sequence, expected, 16))
        self._held.clear()
        self._next = (packet.sequence + 1) & 0xFFFF
        return [*due, packet]

    def _take(self, sequence: int) -> list[RtpPacket]:
        """The packets from `sequence` up to the next hole."""
        due: list[RtpPacket] = []
        while sequence in self._held:
            due.append(self._held.pop(sequence))
            sequence = (sequence + 1) & 0xFFFF
        self._next = sequence
        return due

    def _give_up(self, missing: int) -> int:
        """Go on with the first packet that is here."""
        first = min(self._held, key=lambda sequence: distance(sequence, missing, 16))
        self.lost += distance(first, missing, 16)
        return first
