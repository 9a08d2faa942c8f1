"""Wires with one defect each, to see that the runner notices."""

from __future__ import annotations

import os
from random import Random

from tests.wires.wire import Wire

_kept: list[object] = []
_swollen = bytearray()


def make(random: Random) -> int:
    return random.randrange(4)


def escape(given: int) -> None:
    1 // given


def spin(given: int) -> None:
    while given == 0:
        pass


def die(given: int) -> None:
    if given == 0:
        os._exit(7)


def grow(given: int) -> None:
    _kept.extend([[given], [given]])


def swell(given: int) -> None:
    _swollen.extend(bytes(2**20))


def refuse(given: int) -> None:
    raise LookupError(given)


ESCAPES = Wire("escapes", make, escape)
FREEZES = Wire("freezes", make, spin)
DIES = Wire("dies", make, die)
GROWS = Wire("grows", make, grow)
SWELLS = Wire("swells", make, swell)
REFUSES = Wire("refuses", make, refuse, declared=(LookupError,))
