"""Connections that break: how long to wait, and when to give a service up."""

from __future__ import annotations

from antiphon.streams import MAX_BREAKS, STEADY, Breaks


def test_waits_grow_and_are_bounded() -> None:
    breaks = Breaks(most_mute=9, delay=0.5)
    assert [breaks.broke(held=1.0, gave=False) for _ in range(6)] == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]


def test_a_service_that_gives_nothing_is_given_up_first() -> None:
    breaks = Breaks(most_mute=2, delay=0.5)
    assert [breaks.broke(held=1.0, gave=False) is None for _ in range(3)] == [False, False, True]


def test_a_service_that_gives_a_little_each_time_is_given_up_too() -> None:
    breaks = Breaks(most_mute=2, delay=0.5)
    waits = [breaks.broke(held=STEADY / 2, gave=True) for _ in range(MAX_BREAKS + 1)]
    assert [wait is None for wait in waits] == [False] * MAX_BREAKS + [True]


def test_a_connection_that_held_forgives_those_before_it() -> None:
    breaks = Breaks(most_mute=2, delay=0.5)
    assert [breaks.broke(held=STEADY, gave=True) for _ in range(MAX_BREAKS * 2)] == [0.5] * MAX_BREAKS * 2
