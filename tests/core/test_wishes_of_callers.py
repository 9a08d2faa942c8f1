"""The ledger as a state machine, judged by what the caller wants: a share of `make prove-ledger`."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from tests.core.wishes import COPIES, FEW, converse


@given(FEW, COPIES)
@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_no_more_is_done_than_the_caller_wished_for_and_no_less(steps: list[str], copies: list[int]) -> None:
    converse(steps, copies)
