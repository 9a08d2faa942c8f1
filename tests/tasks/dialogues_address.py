"""Callers who give their addresses."""

from __future__ import annotations

from antiphon.tasks import GetAddressResult, GetAddressTask
from tests.tasks.dialogue import Dialogue

YES = ("yes", "confirm")


def at(address: str) -> GetAddressResult:
    return GetAddressResult(address)


DIALOGUES = [
    Dialogue(
        "street and city",
        [("12 Oak Street, Springfield", "12 Oak Street, Springfield"), YES],
        at("12 Oak Street, Springfield"),
    ),
    Dialogue(
        "with state and code",
        [
            ("450 South Main Street, Salt Lake City, Utah 84101", "450 South Main Street, Salt Lake City, Utah 84101"),
            YES,
        ],
        at("450 South Main Street, Salt Lake City, Utah 84101"),
    ),
    Dialogue(
        "a flat",
        [("7 Elm Road, Apartment 4B, Portland", "7 Elm Road, Apartment 4B, Portland"), ("correct", "confirm")],
        at("7 Elm Road, Apartment 4B, Portland"),
    ),
    Dialogue(
        "it's",
        [("It's 88 Pine Avenue, Denver", "88 Pine Avenue, Denver"), ("that's right", "confirm")],
        at("88 Pine Avenue, Denver"),
    ),
    Dialogue(
        "my address is",
        [("My address is 5 Harbour Lane, Boston", "5 Harbour Lane, Boston"), YES],
        at("5 Harbour Lane, Boston"),
    ),
    Dialogue(
        "I live at",
        [("I live at 31 Mill Road, Cambridge", "31 Mill Road, Cambridge"), YES],
        at("31 Mill Road, Cambridge"),
    ),
    Dialogue(
        "the number in words",
        [("twelve Oak Street, Springfield", "twelve Oak Street, Springfield"), YES],
        at("12 Oak Street, Springfield"),
    ),
    Dialogue(
        "the number in several words",
        [("one forty two Lake Drive, Madison", "one forty two Lake Drive, Madison"), ("yep", "confirm")],
        at("142 Lake Drive, Madison"),
    ),
    Dialogue(
        "the city forgotten",
        [("19 Queen Street", "19 Queen Street"), ("19 Queen Street, Bristol", "19 Queen Street, Bristol"), YES],
        at("19 Queen Street, Bristol"),
    ),
    Dialogue(
        "the street forgotten",
        [("Chicago", "Chicago"), ("60 Wacker Drive, Chicago", "60 Wacker Drive, Chicago"), YES],
        at("60 Wacker Drive, Chicago"),
    ),
    Dialogue(
        "the number corrected",
        [
            ("12 Oak Street, Springfield", "12 Oak Street, Springfield"),
            ("no, 14 Oak Street, Springfield", "14 Oak Street, Springfield"),
            YES,
        ],
        at("14 Oak Street, Springfield"),
    ),
    Dialogue(
        "the city corrected",
        [
            ("3 Park Place, Austin", "3 Park Place, Austin"),
            ("No, 3 Park Place, Houston", "3 Park Place, Houston"),
            ("yes, right", "confirm"),
        ],
        at("3 Park Place, Houston"),
    ),
    Dialogue(
        "two corrections",
        [
            ("9 Hill Street, Leeds", "9 Hill Street, Leeds"),
            ("no, 90 Hill Street, Leeds", "90 Hill Street, Leeds"),
            ("no, 90 Mill Street, Leeds", "90 Mill Street, Leeds"),
            YES,
        ],
        at("90 Mill Street, Leeds"),
    ),
    Dialogue(
        "no, and then the address",
        [
            ("2 Bridge Road, York", "2 Bridge Road, York"),
            ("no", ""),
            ("22 Bridge Road, York", "22 Bridge Road, York"),
            YES,
        ],
        at("22 Bridge Road, York"),
    ),
    Dialogue(
        "a house with a name",
        [("The Old Mill, Church Lane, Oxford", "The Old Mill, Church Lane, Oxford"), YES],
        at("The Old Mill, Church Lane, Oxford"),
    ),
    Dialogue(
        "another country",
        [("14 Rue de Rivoli, Paris, France", "14 Rue de Rivoli, Paris, France"), YES],
        at("14 Rue de Rivoli, Paris, France"),
    ),
    Dialogue(
        "the number behind",
        [("Hauptstrasse 25, Berlin", "Hauptstrasse 25, Berlin"), YES],
        at("Hauptstrasse 25, Berlin"),
    ),
    Dialogue(
        "without confirmation",
        [("1600 Pine Street, Seattle", "1600 Pine Street, Seattle")],
        at("1600 Pine Street, Seattle"),
        lambda: GetAddressTask(require_confirmation=False),
    ),
    Dialogue("not wanted", [("I'd rather not give my address", "decline")], None),
    Dialogue("no address", [("I don't have an address", "decline")], None),
]
