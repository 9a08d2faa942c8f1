"""Outputs that the session writes in a tool's place, in words for the caller's ears.

They are written for a model: what was not run and why, what is done already, what nobody knows. None is read aloud as
it stands. Below: nothing. Above: `results`, `memory`, `reply`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOT_RUN = re.compile(
    r"`[^`]*` was not run, and this call never will be: (?P<why>.*?)(?:\. They said: .*)?\.(?: Make a .*)?$",
    re.S,
)


@dataclass(slots=True, frozen=True)
class NotRun:
    """Why a call was not made after it was read back."""

    refused: bool = False
    changed: bool = False
    """The caller wants it otherwise: with what they said in its place."""
    asked: bool = False
    """The caller asked something in the place of an answer."""
    over: bool = False
    """Somebody else goes on, or nobody."""


def not_run(output: str) -> NotRun | None:
    """What an output says of a call that the caller did not agree to; None for any other output."""
    found = _NOT_RUN.match(output.strip())
    if found is None:
        return None
    why = found["why"]
    return NotRun(
        refused=why.startswith("the user said no"),
        changed=why.startswith("the user wants something else"),
        asked=why.startswith("the user asked something"),
        over="takes over" in why or "conversation ends" in why,
    )


_IN_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_NOT_RUN, "I have not done that."),
    (
        re.compile(r"^`[^`]*` was not started again\. This is what was done:.*it is unknown whether.*", re.S),
        "I'm sorry, I can't tell yet whether that went through.",
    ),
    (
        re.compile(r"^`[^`]*` was not started again\. This is what was done:.*it is still running.*", re.S),
        "I'm still working on that.",
    ),
    (
        re.compile(r"^`[^`]*` was not started again\. This is what was done:.*", re.S),
        "I did that before, and have not done it again.",
    ),
    (
        re.compile(r"^`[^`]*` was interrupted by a restart: nobody knows.*", re.S),
        "I'm sorry, I was interrupted, and can't tell whether that went through.",
    ),
    (re.compile(r"^`[^`]*` was interrupted by a restart\..*", re.S), "I'm sorry, I was interrupted."),
    (
        re.compile(r"^`[^`]*` was cancelled\. It is unknown.*", re.S),
        "I stopped that. I can't tell whether it happened.",
    ),
    (re.compile(r"^`[^`]*` was cancelled\.$"), "I stopped that."),
    (
        re.compile(r"^It is known now what came of `[^`]*`: it did not happen\..*", re.S),
        "That did not happen after all.",
    ),
    (re.compile(r"^It is known now what came of `[^`]*`: it failed\. ?(.*)", re.S), r"That did not work. \1"),
    (re.compile(r"^It is known now what came of `[^`]*`: it happened\. ?(.*)", re.S), r"That went through. \1"),
)


def in_words(output: str) -> str:
    """An output with what the session itself wrote in words for the caller."""
    for written, told in _IN_WORDS:
        if written.match(output):
            return written.sub(told, output).strip()
    return output
