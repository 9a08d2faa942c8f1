"""What the headers of the examples say to type, and what comes of it."""

from __future__ import annotations

import ast
import shlex
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

FILES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@dataclass(frozen=True, slots=True)
class Command:
    """A line `antiphon call examples/NAME.py --say "..." "..."` of a header."""

    name: str
    said: tuple[str, ...]
    by_voice: bool
    barge_in: str = ""
    line: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.said[0]}{' (by voice)' if self.by_voice else ''}"


def header(name: str) -> str:
    return ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))) or ""


def commands(name: str) -> list[Command]:
    lines = [line.strip() for line in header(name).splitlines()]
    return [_command(name, line) for line in lines if line.startswith("antiphon call ")]


def _command(name: str, line: str) -> Command:
    words = shlex.split(line)
    assert words[:4] == ["antiphon", "call", f"examples/{name}.py", "--say"], words
    options = next((n for n, word in enumerate(words) if n > 3 and word.startswith("--")), len(words))
    rest = words[options:]
    barge_in = rest[rest.index("--barge-in") + 1] if "--barge-in" in rest else ""
    return Command(name, tuple(words[4:options]), "--out" in rest, barge_in, line)


ALL = [command for name in FILES for command in commands(name)]

CAME_OF_IT: dict[tuple[str, str], tuple[list[str], str]] = {
    # what was called, each with what became of it, and what was said in the end
    ("receptionist", "Do you have anything next Tuesday?"): (["check_availability done"], "9:00 AM"),
    ("reservations", "Is there a table for four next Friday, for dinner?"): (
        ["check_availability done", "book_reservation done"],
        "The table is booked.",
    ),
    ("reservations", "Is there a table for two next Sunday, for dinner?"): (
        ["check_availability done", "find_other_days done"],
        "There are tables on Saturday",
    ),
    ("http_tools", "What is the price of coffee?"): (["get_price done", "place_order done"], "The order is placed."),
    ("http_tools", "What is the price of gold?"): (["get_price error"], "the shop does not have that"),
    ("dynamic_tools", "My email is ann@example.com"): (
        ["verify_customer done", "set_phone_number done", "get_delivery done", "cancel_delivery done"],
        "The delivery is cancelled.",
    ),
    ("long_running", "Search the archive for the storm"): (["search_archive done"], "There are three articles"),
    ("flight_booking", "Book a flight from New York to Tokyo"): (["book_flight done"], "FL-847293"),
    ("restaurant", "I would like to order take-away"): (
        ["order_take_away done", "add_dish done", "check_out done", "pay done"],
        "18 euros are paid.",
    ),
    ("survey", "Ann Lee"): (
        ["update_name done", "confirm_name done", "note_rating done", "note_favourite done"],
        "Thank you, Ann Lee. Goodbye.",
    ),
    ("emotion", "Where is my parcel?"): (["find_parcel done"], "The parcel is in Lyon. It comes tomorrow."),
    ("bank", "What is my balance?"): (["get_balance done", "transfer done"], "20 euros were transferred to Bob."),
    ("bank", "Transfer 20 euros to Bob"): (["transfer refused"], "left everything as it is"),
    ("own_provider", "Roll a die with 20 sides"): (["roll done"], "You said: Hello there"),
    ("reminder", "Yes, that is me"): (["cancel_appointment done"], "The appointment is cancelled."),
    ("page_in_app", "Are you open on Sunday?"): (["get_opening_hours done"], "The shop is closed on Sunday."),
}
