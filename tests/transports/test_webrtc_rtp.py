"""RTP packets come out in order, each once, and nothing waits for a packet that is lost."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from antiphon.transports.webrtc.rtp import RESTART, Reorder, RtpPacket, distance


def packet(sequence: int) -> RtpPacket:
    return RtpPacket(sequence & 0xFFFF, 960 * sequence & 0xFFFFFFFF, b"")


def given_out(reorder: Reorder, *sequences: int) -> list[int]:
    return [due.sequence for sequence in sequences for due in reorder.add(packet(sequence))]


def test_what_is_in_order_is_not_held_back() -> None:
    reorder = Reorder()
    for sequence in (7, 8, 9):
        assert given_out(reorder, sequence) == [sequence]


def test_a_swapped_pair_is_put_in_order() -> None:
    assert given_out(Reorder(), 1, 3, 2, 4) == [1, 2, 3, 4]


def test_a_lost_packet_is_waited_for_while_two_later_ones_come_and_no_longer() -> None:
    reorder = Reorder()
    assert given_out(reorder, 1, 3, 4) == [1]
    assert given_out(reorder, 5) == [3, 4, 5]
    assert reorder.lost == 1


def test_after_a_loss_nothing_stays_behind() -> None:
    reorder = Reorder()
    given_out(reorder, 1, 3, 4, 5)
    assert given_out(reorder, 6) == [6]


def test_a_packet_that_was_given_up_is_not_given_out_later() -> None:
    reorder = Reorder()
    given_out(reorder, 1, 3, 4, 5)
    assert given_out(reorder, 2, 6) == [6]
    assert reorder.late == 1


def test_a_doubled_packet_is_given_out_once() -> None:
    reorder = Reorder()
    assert given_out(reorder, 1, 1, 3, 3, 2, 4) == [1, 2, 3, 4]


def test_counting_goes_on_over_the_end_of_sixteen_bits() -> None:
    assert given_out(Reorder(), 65534, 65535, 0, 2, 1) == [65534, 65535, 0, 1, 2]


def test_a_sender_that_counts_anew_is_followed_at_once() -> None:
    reorder = Reorder()
    assert given_out(reorder, 10, 12, 5000, 5001) == [10, 12, 5000, 5001]
    assert given_out(reorder, 5001 - RESTART - 1) == [5001 - RESTART - 1]


def test_distances_are_signed_and_cross_the_end_of_the_counter() -> None:
    assert distance(1, 65535, 16) == 2
    assert distance(65535, 1, 16) == -2
    assert distance(0, 0xFFFFFC40, 32) == 960


@given(st.data(), st.integers(0, 0xFFFF))
def test_whatever_is_lost_or_comes_late_order_holds_and_at_most_two_wait(data: st.DataObject, first: int) -> None:
    sent = [first + i for i in range(data.draw(st.integers(1, 60)))]
    arriving = [sequence for sequence in sent if data.draw(st.integers(0, 9)) > 0]
    arriving.sort(key=lambda sequence: sequence + data.draw(st.floats(0, 4)))
    reorder = Reorder()
    out = given_out(reorder, *arriving)
    assert all(distance(later, earlier, 16) > 0 for earlier, later in pairwise(out))
    assert len(arriving) - len(out) - reorder.late <= 2
