"""Seven agent files written for LiveKit hold a short conversation in `antiphon console --livekit`, unchanged.

The dialogue engine answers, so what is asserted is what it is certain of: which tools run, with what, and what the
agents' own code says.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.cli.main import main
from antiphon.compat import livekit
from antiphon_livekit.notices import forget

AGENTS = Path(__file__).parent / "agents"

Converse = Callable[..., "Console"]


class Console:
    """What the terminal showed."""

    def __init__(self, code: object, text: str) -> None:
        self.code = code
        self.text = text

    @property
    def calls(self) -> list[str]:
        """The tool calls, as printed."""
        return re.findall(r"Tool\s+(\S.*)", self.text)

    @property
    def said(self) -> list[str]:
        """What the agents said."""
        return re.findall(r"Agent\s+(\S.*)", self.text)


class _Screen(io.StringIO):
    """Standard output that tells when something was printed."""

    def __init__(self, awaited: str) -> None:
        super().__init__()
        self.awaited = awaited
        self.seen = threading.Event()
        if not awaited:
            self.seen.set()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.awaited and self.awaited in self.getvalue():
            self.seen.set()
        return written


class _Pipe(io.StringIO):
    """Standard input that ends when the screen shows what is awaited."""

    def __init__(self, turns: tuple[str, ...], screen: _Screen) -> None:
        super().__init__("".join(f"{turn}\n" for turn in turns))
        self.screen = screen

    def readline(self, *_: int | None) -> str:  # type: ignore[override]  # no limit here
        line = super().readline()
        if not line:
            self.screen.seen.wait(20.0)
        return line


@pytest.fixture
def converse(monkeypatch: pytest.MonkeyPatch) -> Converse:
    """Run a file in the console with these turns of the caller, until they end and `until` was shown."""

    def run(file: str, *turns: str, until: str = "") -> Console:
        for key in ("OPENAI_API_KEY", "DEEPGRAM_API_KEY", "CARTESIA_API_KEY", "GOOGLE_API_KEY"):
            monkeypatch.delenv(key, raising=False)
        monkeypatch.setenv("COLUMNS", "240")
        screen = _Screen(until)
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(sys, "stdin", _Pipe(turns, screen))
        forget()
        try:
            with pytest.raises(SystemExit) as left:
                main(["console", "--livekit", str(AGENTS / file)])
        finally:
            livekit.uninstall()
        return Console(left.value.code, screen.getvalue())

    return run


def test_a_restaurant_hands_off_and_remembers(converse: Converse) -> None:
    shown = converse("restaurant.py", "I would like to reserve a table", "Tomorrow at 7 PM, my name is Ann Lee")
    assert shown.code == 0
    assert shown.calls[0] == "to_reservation()"
    assert shown.calls[1].startswith("reserve_table(") and 'customer_name="Ann Lee"' in shown.calls[1]
    assert "A table is reserved for Ann Lee" in shown.said[-1]


def test_takeaway_has_another_agent(converse: Converse) -> None:
    shown = converse("restaurant.py", "I want to order food to take away")
    assert shown.calls == ["to_takeaway()"]
    assert "Transferring to takeaway." in shown.text


def test_tools_come_when_they_are_unlocked(converse: Converse) -> None:
    shown = converse(
        "dynamic_tools.py",
        "What is the temperature in the kitchen?",
        "Unlock the lights, the PIN is 1234",
        "Switch the light in the garage on",
    )
    assert shown.code == 0
    assert shown.calls == [
        'get_temperature(room="kitchen")',
        'unlock_lights(pin="1234")',
        'switch_light(room="garage", state="on")',
    ]
    assert "The light in the garage is on." in shown.said[-1]


def test_written_schemas_are_filled(converse: Converse) -> None:
    shown = converse("raw_schema.py", "How many customers are in Berlin?", "Open the north gate please")
    assert shown.code == 0
    assert shown.calls == ['count_customers(city="Berlin")', 'open_gate(gate="north gate")']


def test_a_flight_is_booked_in_the_background(converse: Converse) -> None:
    shown = converse("flights.py", "Book a flight from Boston to Denver on Friday", "yes", until="FL4821")
    assert shown.code == 0
    (call,) = shown.calls
    assert call.startswith('book_flight(origin="Boston", destination="Denver", date="Friday"')
    reported = " ".join(shown.said)
    steps = [reported.find(words) for words in ("Looking for flights", "three flights", "FL4821")]
    assert -1 not in steps and steps == sorted(steps)


def test_a_tool_that_returns_nothing_is_silent(converse: Converse) -> None:
    shown = converse("silent_tool.py", "Turn the lamp on", "What is the price of the Aurora?")
    assert shown.code == 0
    assert shown.calls == ["switch_lamp(on=true)", 'get_price(model="Aurora")']
    assert len(shown.said) == 1 and "40 dollars" in shown.said[0]
    assert "usage: UsageSummary(" in shown.text
    assert shown.text.count("history: message") == 3


def test_the_front_desk_books_and_ends_the_call(converse: Converse) -> None:
    shown = converse(
        "frontdesk.py",
        "What slots are free tomorrow?",
        "Book the one at 11:00 AM, my name is Ann Lee",
        "No thanks, goodbye",
        "This is not heard any more",
    )
    assert shown.code == 0
    assert "google.LLM: no GOOGLE_API_KEY, using local LLM" in shown.text
    assert shown.calls == [
        'list_available_slots(day="tomorrow")',
        'schedule_appointment(name="Ann Lee", time="11:00 AM")',
        "end_call()",
    ]
    assert "not heard" not in shown.text
    assert shown.text.rstrip().endswith("session over, booked: S2")


def test_a_survey_asks_one_question_after_the_other(converse: Converse) -> None:
    shown = converse("survey.py", "My name is Ann Lee", "I take the bus")
    assert shown.code == 0
    assert shown.calls == ['record_name(name="Ann Lee")', 'record_transport(transport="bus")']
    assert shown.said == [
        "What is your name?",
        "How do you get to work: by car, by bus or by bike?",
        "Thank you, that was all.",
    ]
    assert "survey: name = NameResult(name='Ann Lee')" in shown.text


def test_the_command_itself_takes_a_pipe() -> None:
    code = "from antiphon.cli.main import main; main()"
    command = [sys.executable, "-c", code, "console", "--livekit", str(AGENTS / "survey.py")]
    ran = subprocess.run(
        command, input="My name is Ann Lee\nI take the bus\n", capture_output=True, text=True, timeout=60, check=True
    )
    assert "survey: commute = CommuteResult(transport='bus')" in ran.stdout
