"""What the model reads where the core writes a call's output itself."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.core.facts import Call

NO_ANSWER = "no answer in time"
"""Why a model that did not answer is given up."""


def stood_still(seconds: float) -> str:
    """Why a model that fell silent in the middle of its answer is given up."""
    return f"its answer stood still for {seconds:g} s"


def dead_voice(seconds: float) -> str:
    """Why a call ends in which nothing is heard of the agent."""
    return (
        f"nothing was heard of the agent's voice for {seconds:.0f} s, although it was tried again: the call ends."
        " Check the voice, or give the session a FallbackTTS."
    )


def still_running(name: str, seconds: float) -> str:
    """The output of a call that the caller spoke over and that goes on."""
    return f"`{name}` is still running (started {seconds:.0f} s ago); do not call it again, its result will follow."


def already_running(name: str) -> str:
    """The output of a second equal call of a tool that writes, while the first runs."""
    return f"`{name}` is already running with the same arguments; it was not started again, its result will follow."


def timed_out(name: str, seconds: float) -> str:
    """The output of a call that took too long."""
    return f"`{name}` did not answer within {seconds:g} seconds and was stopped."


def unknown_outcome(name: str) -> str:
    """The output of a call that may or may not have changed the world."""
    return f"It is unknown whether `{name}` happened; do not repeat it."


def handoff_lost(label: str, winner: str) -> str:
    """The output of the second of two hand-offs in one step."""
    return f"Hand-off to {label} not made: {winner} was first."


def _listing(running: Iterable[Call]) -> str:
    return "\n".join(f'{{"call_id": "{c.call_id}", "name": "{c.name}", "arguments": {c.arguments}}}' for c in running)


def duplicate_rejected(name: str, running: Iterable[Call]) -> str:
    """The output of a call that must not run beside another of its tool."""
    return (
        f"`{name}` is already running and was not started again. Running now:\n{_listing(running)}\n"
        "Wait for its result, or cancel it first."
    )


def duplicate_unconfirmed(name: str, running: Iterable[Call]) -> str:
    """The output of a call that needs the caller's word before it runs beside another of its tool."""
    return (
        f"`{name}` is already running and was not started again. Running now:\n{_listing(running)}\n"
        "Ask the user whether to run it a second time; if they agree, call it again with the confirmation set to true."
    )
