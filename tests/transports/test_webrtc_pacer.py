"""Frames leave every 20 ms, and a stall is not followed by a burst that would stay in the far end's buffer."""

from __future__ import annotations

import pytest

from antiphon.transports.webrtc.pacer import CATCH_UP, PERIOD, Pacer


def test_the_first_moment_is_at_once_and_the_others_follow_every_20_ms() -> None:
    pacer = Pacer()
    assert pacer.next(5.0) == (0, 0.0)
    for number in range(1, 100):
        assert pacer.next(5.0) == pytest.approx((number, number * PERIOD))


def test_waking_late_does_not_shift_what_comes_after() -> None:
    pacer = Pacer()
    pacer.next(0.0)
    assert pacer.next(0.004) == pytest.approx((1, 0.016))
    assert pacer.next(0.029) == pytest.approx((2, 0.011))


def test_a_moment_missed_by_a_little_is_made_up_for_at_once() -> None:
    pacer = Pacer()
    pacer.next(0.0)
    assert pacer.next(0.05) == (1, 0.0)
    assert pacer.next(0.05) == (2, 0.0)
    assert pacer.next(0.05) == pytest.approx((3, 0.01))


def test_after_a_long_stall_the_missed_moments_are_left_out() -> None:
    pacer = Pacer()
    pacer.next(0.0)
    at_once = [number for number, delay in (pacer.next(0.51) for _ in range(10)) if delay == 0]
    assert len(at_once) <= CATCH_UP


def test_numbers_keep_in_step_with_time_over_a_stall() -> None:
    pacer = Pacer()
    pacer.next(0.0)
    assert pacer.next(0.5) == (25, 0.0)
    assert pacer.next(0.5) == pytest.approx((26, 0.02))
