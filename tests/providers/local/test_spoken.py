from __future__ import annotations

import pytest

from antiphon.providers.local.spoken import spoken


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Call (555) 010-4477.", "Call 5 5 5, 0 1 0, 4 4 7 7."),
        ("It is 555-0142 now", "It is 5 5 5, 0 1 4 2 now"),
        ("+1 555 123 4567", "plus 1, 5 5 5, 1 2 3, 4 5 6 7"),
        ("Booking R-1842 is made.", "Booking R 1 8 4 2 is made."),
        ("Parcel FL-847293", "Parcel F L, 8 4 7 2 9 3"),
        ("Code 7K2P9", "Code 7 K 2 P 9"),
        ("That is #1842.", "That is #1 8 4 2."),
        ("Order 12345678.", "Order 1 2 3 4, 5 6 7 8."),
        ("john.smith-2@example.com", "john dot smith dash 2 at example dot com"),
        ("See www.example.com/help.", "See W W W dot example dot com slash help."),
        ("Open Mon-Fri, 9am-5pm", "Open Monday to Friday, 9 AM to 5 PM"),
        ("at 7:30PM", "at 7:30 PM"),
    ],
)
def test_what_is_read_piece_by_piece_is_spelled_out(written: str, said: str) -> None:
    assert spoken(written) == said


@pytest.mark.parametrize(
    "text",
    [
        "We have 9:00 AM, 11:30 AM, and 4:30 PM.",
        "On 2026-03-03 at 14:00, or 03/04/2026.",
        "It costs $1,250, $12500 or $45.50.",
        "COVID-19, MP3, B12, suite 12B, seat 14C.",
        "Dr. Lee, 3rd floor, in 2026.",
        "I am at home by 5.",
    ],
)
def test_what_the_voice_reads_well_is_left_alone(text: str) -> None:
    assert spoken(text) == text
