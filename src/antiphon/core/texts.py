"""What the model reads where the core writes a call's output itself."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.core.facts import Call
from antiphon.core.notices import ConsentDecision
from antiphon.core.row import Outcome, Row

NO_ANSWER = "no answer in time"
"""Why a model that did not answer is given up."""

_SHOWN = 2_000
"""Characters of a result that are shown to a call that was not started again."""


def stood_still(seconds: float) -> str:
    """Why a model that fell silent in the middle of its answer is given up."""
    return f"its answer stood still for {seconds:g} s"


def dead_voice(seconds: float) -> str:
    """Why a call ends in which nothing is heard of the agent."""
    return (
        f"nothing was heard of the agent's voice for {seconds:.0f} s, although it was tried again: the call ends."
        " Check the voice, or give the session a FallbackTTS."
    )


_NOT_AGREED: dict[ConsentDecision, str] = {
    "no": "the user said no",
    "change": "the user wants something else, or under other conditions",
    "question": "the user asked something instead of answering. Answer them, and call it again if they want it then",
    "unclear": "the user was asked twice, and it is not clear that they agree",
    "unanswered": "the user was asked twice, and did not answer",
    "unheard": "it could not be read back to the user",
    "interrupted": "it was stopped before the user had answered",
    "handed_over": "another agent takes over before the user had answered",
    "ending": "the conversation ends before the user had answered",
}


def not_agreed(call: Call, why: ConsentDecision, heard: str = "") -> str:
    """The output of a call that the caller did not agree to."""
    said = f'. They said: "{heard}"' if heard else ""
    remedy = " Make a new call with what they want; it is read back to them again." if why == "change" else ""
    return f"`{call.name}` was not run, and this call never will be: {_NOT_AGREED[why]}{said}.{remedy}"


def must_hear_unheard(name: str) -> str:
    """The output of a call that waited for what the caller must have heard, when the call ended."""
    return (
        f"`{name}` was not run: the call ended before the user had heard what they must hear before anything is done."
    )


def must_hear_unsayable(name: str) -> str:
    """The same where no voice could say it."""
    return (
        f"`{name}` was not run, and nothing that changes anything will be in this call: the user must hear a notice"
        " first, and it could not be said. Tell them that it cannot be done now."
    )


def still_running(name: str, seconds: float) -> str:
    """The output of a call that the caller spoke over and that goes on."""
    return f"`{name}` is still running (started {seconds:.0f} s ago); do not call it again, its result will follow."


def already_running(name: str, seconds: float) -> str:
    """The output of a second equal call, while the first runs."""
    return (
        f"`{name}` is already running with the same arguments (started {seconds:.0f} s ago); it was not started again, "
        "its result will follow."
    )


def not_started_again(call: Call, rows: Iterable[Row], *, once: bool) -> str:
    """The output of a call that means what was done before: what that came to, and how to get another."""
    lines = [f"`{call.name}` was not started again. This is what was done:"]
    is_unknown = False
    for row in rows:
        told = "the user was told" if row.settled else "the user has not been told yet"
        if row.outcome is Outcome.UNKNOWN:
            is_unknown = True
            outcome = f"it is unknown whether it happened; {told}"
        elif row.outcome is Outcome.STARTED:
            outcome = "it is still running"
        else:
            by = row.undone_by
            undone = "; undone since" if by is not None and by.outcome is Outcome.SUCCEEDED else ""
            outcome = f"{row.output[:_SHOWN] or 'done'} ({told}{undone})"
        is_same = call.canonical == row.call.canonical or call.arguments == row.call.arguments
        other = "" if is_same else f" with {row.call.arguments}, not {call.arguments}"
        lines.append(f"{row.number}.{other} {outcome}")
    if is_unknown:
        ask = "Call it again only if the user has heard that since, and asks for it."
        lines.append("Do not call it again." if call.read_back is None else ask)
    elif once:
        lines.append("It is done at most once in a conversation.")
    else:
        lines.append("For another one, ask the user first, and call it again when they have answered.")
    return "\n".join(lines)


def timed_out(name: str, seconds: float) -> str:
    """The output of a call that only reads and took too long."""
    return f"`{name}` did not answer within {seconds:g} seconds and was stopped."


def unknown_outcome(name: str) -> str:
    """The output of a call that may or may not have changed the world."""
    return f"It is unknown whether `{name}` happened; do not repeat it unless the user asks for that."


def failed_again(name: str, output: str) -> str:
    """The output of a call that was made because it is unknown whether the one before it happened, and failed."""
    return f"{output} That was another try. It is still unknown whether `{name}` happened before."


def interrupted_by_restart(name: str, *, reads: bool) -> str:
    """The output of a call that was at work when its process ended, of a tool that does not say that it writes."""
    if reads:
        return f"`{name}` was interrupted by a restart. Call it again if it is still wanted."
    return (
        f"`{name}` was interrupted by a restart: nobody knows whether it finished. Tell the user so; call it again only"
        " if they want that."
    )


NOT_HAPPENED = "It did not happen."
"""What became of a call of which nobody knew, where who was asked says so."""


def known_late(name: str, output: str, *, is_error: bool, found: bool = False) -> str:
    """What came of a call of which nobody knew whether it had happened. `found`: somebody was asked for it."""
    if found and is_error:
        return (
            f"It is known now what came of `{name}`: it did not happen. It may be called again if it is still wanted."
        )
    known = "it failed" if is_error else "it happened"
    return f"It is known now what came of `{name}`: {known}. {output}".rstrip()


def cancelled(name: str, *, may_have_happened: bool) -> str:
    """The output of a call that was cancelled."""
    doubt = " It is unknown whether it happened." if may_have_happened else ""
    return f"`{name}` was cancelled.{doubt}"


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
