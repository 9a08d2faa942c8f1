"""Eleven defects, planted into copies of the examples, each as a customer met it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.rerun.made import EXAMPLES

_MODELS = {
    "obedient": """

def obedient(request):
    told = request.chat_ctx.items[0].text_content
    return "What is your e-mail address?" if "e-mail address first" in told else "I cannot tell you that."


""",
    "eager": """

def eager(request):
    made = [item.output for item in request.chat_ctx.items if item.type == "function_call_output"]
    if len(made) < 2:
        return Reply(calls=[("book_reservation", {"date": "2026-12-04", "time": "7 PM", "party_size": 4})])
    return "Your table is booked."


""",
}
"""Models that do what they are made for, where the dialogue engine is too careful, or does not go by instructions."""


_ASKS = ', confirm="A table for {party_size} on {date} at {time}. Shall I book it?"'
"""What is left out where a model books: whether the ledger holds is asked, not the caller."""


@dataclass(slots=True, frozen=True)
class Planted:
    """A defect, and how it shows."""

    name: str
    example: str
    edits: tuple[tuple[str, str], ...]
    """What is sound, and what stands in its place."""
    says: tuple[str, ...]
    """The customer, turn by turn."""
    search: tuple[str, ...]
    """How the call is found: options of `antiphon calls`."""
    parts: str
    """Where the call parts from what the mended agent does, in words."""
    test: tuple[str, ...] = ()
    """What the developer expects; nothing: what the record says is wrong."""
    runs: tuple[str, ...] = ()
    """Tools that the developer has run: the defect is in them."""
    model: str = ""

    @property
    def sound(self) -> str:
        text = (EXAMPLES / f"{self.example}.py").read_text(encoding="utf-8")
        if not self.model:
            return text
        imports = "from antiphon.testing import FakeLLM, Reply\nfrom antiphon import"
        text = text.replace("from antiphon import", imports, 1).replace(_ASKS, "")
        text = text.replace("\nclass ", f"{_MODELS[self.model]}class ", 1)
        at = text.index("instructions=")
        return f"{text[:at]}llm=FakeLLM({self.model}), {text[at:]}"

    @property
    def broken(self) -> str:
        text = self.sound
        for before, after in self.edits:
            assert before in text, f"{self.name}: {before!r} is not in {self.example}"
            text = text.replace(before, after, 1)
        return text

    def lay(self, folder: Path) -> None:
        """A folder with the broken agent, and the mended one beside it."""
        (folder / "agent.py").write_text(self.broken, encoding="utf-8")
        (folder / "mended.py").write_text(self.sound, encoding="utf-8")


def _hook(code: str) -> tuple[str, str]:
    """An agent's own code at the end of each turn."""
    hook = f"\n    async def on_user_turn_completed(self, turn_ctx, new_message):\n        {code}\n\n    @function_tool"
    return "\n    @function_tool", hook


DINNER = ("Is there a table for four next Friday, for dinner?",)

PLANTED = [
    Planted(
        "a hook changes an argument",
        "reservations",
        (_hook('new_message.content = [new_message.text_content.replace("dinner", "lunch")]'),),
        DINNER,
        ("--tool", "check_availability"),
        "another turn of the caller",
        ("--expect", 'tool check_availability(meal="dinner")'),
    ),
    Planted(
        "a hook loses a turn",
        "reservations",
        (
            ("ToolError, function_tool", "StopResponse, ToolError, function_tool"),
            _hook('if "dinner" in new_message.text_content: raise StopResponse'),
        ),
        DINNER,
        ("--said", "dinner"),
        "one more request to the model",
        ("--expect", "tool check_availability"),
    ),
    Planted(
        "a tool is slower than its limit",
        "reservations",
        (("timeout=5", "timeout=0.1"),),
        DINNER,
        ("--outcome", "error"),
        "another request: message 4 (output)",
        runs=("check_*",),
    ),
    Planted(
        "a table is booked twice without the ledger",
        "reservations",
        (
            ('@function_tool(effect="writes")', "@function_tool"),
            ("ctx.idempotency_key", "str(len(backend.booked))"),
        ),
        ("Book a table for four on December 4 at 7 PM",),
        ("--tool", "book_reservation"),
        "another request: message 6 (output)",
        ("--expect", "once book_reservation"),
        model="eager",
    ),
    Planted(
        "the prompt forgets what comes first",
        "dynamic_tools",
        ((" Ask for their e-mail address first.", ""),),
        ("When does my delivery come?",),
        ("--said", "delivery"),
        "another request: the instructions",
        ("--expect", "says e-mail"),
        model="obedient",
    ),
    Planted(
        "a tool is renamed, and the model does not find it",
        "flight_booking",
        (
            ("async def get_baggage_allowance", "async def operation_seven"),
            ("Tell the baggage allowance.", "Operation seven."),
            ("get_baggage_allowance]", "operation_seven]"),
        ),
        ("What is the baggage allowance?",),
        ("--said", "baggage"),
        "another request: tool operation_seven is not offered",
        ("--expect", "tool get_baggage_allowance"),
    ),
    Planted(
        "a schema asks for what no caller says",
        "reservations",
        (('meal: Literal["lunch", "dinner"]', 'meal: Literal["L1", "D1"]'), ('Must be "lunch" or "dinner"', "A code")),
        DINNER,
        ("--said", "dinner"),
        "another request: the schema of tool check_availability (properties.meal",
        ("--expect", 'tool check_availability(meal="dinner")'),
    ),
    Planted(
        "a call goes to the wrong desk",
        "restaurant",
        (("return TakeAway()", "return Cashier()"),),
        ("I would like to order take-away", "Two margherita please"),
        ("--agent", "cashier"),
        "another request: the instructions",
        ("--expect", "says take-away desk"),
        ("*",),
    ),
    Planted(
        "a tool breaks",
        "reservations",
        (('"6 PM", "7 PM", "8:30 PM"]', '"6 PM", "7 PM", "8:30 PM"][date.day]'),),
        DINNER,
        ("--error",),
        "another request: message 4 (output)",
        runs=("check_*",),
    ),
    Planted(
        "nobody knows whether a booking was made",
        "receptionist",
        (
            ("import sqlite3\n", "import sqlite3\nfrom antiphon.tools.tool import OutcomeUnknown\n"),
            ("    row = [context", '    raise OutcomeUnknown("the diary did not answer")\n    row = [context'),
            ("    reconcile=find_booking,\n", ""),
        ),
        ("Book an appointment for Jo Miller next Tuesday at 2 PM", "Yes"),
        ("--outcome", "unknown"),
        "another request: message 5 (call)",
        runs=("*",),
    ),
    Planted(
        "the agent hangs up too early",
        "reservations",
        (_hook('if "thank" in new_message.text_content.lower(): self.session.shutdown(drain=False)'),),
        ("Thank you for picking up. Is there a table for four next Friday, for dinner?",),
        ("--said", "picking"),
        "one more request to the model",
        ("--expect", "tool check_availability"),
    ),
]
