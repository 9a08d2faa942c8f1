"""A call that can be made again: what its caller did, what its models answered, what its tools gave, and when.

Above: whoever runs it again, and tests, which write one down. Below: nothing of a session. Times are seconds since the
conversation began.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from antiphon.visible import to_json


@dataclass(slots=True, frozen=True)
class Types:
    """The caller types a turn."""

    text: str
    at: float
    into: float | None = None
    """Seconds into the agent's speech, if they did not wait for its end."""
    pause: float = 0.4
    """Else: seconds after its end."""
    behind: int = 0
    """How much the conversation had been told before, for what comes at one instant."""


@dataclass(slots=True, frozen=True)
class Says:
    """The caller says something.

    `at`: when their voice is noticed; `until`: when it is noticed to have ended; `understood`: when their words are
    final. None: shortly after. `earlier`: what had been understood before, with when.
    """

    text: str
    at: float
    until: float
    understood: float | None = None
    earlier: Sequence[tuple[float, str]] = ()
    into: float | None = None
    """Seconds into the agent's speech, if they did not wait for its end."""
    pause: float = 0.4
    """Else: seconds after its end."""
    voice: float = 0.05
    """Seconds that the voice had sounded when it was noticed."""
    silence: float = 0.2
    """Seconds of silence until its end was noticed."""


CallerDoes: TypeAlias = Types | Says


@dataclass(slots=True, frozen=True)
class Answers:
    """A model answers a request.

    `asked` is the digest of the request: the answer is given as long as it is the same. `after` and `until` are the
    seconds to its first word or call, and to its end; `calls` are names with their arguments.
    """

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str] | tuple[str, Mapping[str, Any] | str, str]] = ()
    asked: str = ""
    after: float = 0.1
    until: float | None = None
    pieces: Sequence[Sequence[Any]] = ()
    """As in `requests.jsonl`. None: all of it comes after `after` seconds."""
    outcome: str = "done"
    error: str = ""

    @property
    def ended(self) -> float:
        """Seconds to its end."""
        return self.after if self.until is None else self.until


@dataclass(slots=True, frozen=True)
class Spoke:
    """A tool had the session say something, or told how far it is, `after` seconds after it began."""

    text: str
    after: float
    waited: bool = False
    """It waited until that was said."""
    interruptible: bool = True
    """The caller may speak over it; of an update: the model is to tell it."""
    instructions: str | None = None
    """Not a text but a reply was asked for, with these."""
    is_reply: bool = False
    is_update: bool = False
    """It was no speech, but how far the tool is, for the model (`ctx.update`)."""


@dataclass(slots=True, frozen=True)
class Gives:
    """A tool gives a result, when it is called like this."""

    tool: str
    arguments: Mapping[str, Any]
    output: str | None = ""
    """None: no result, and no reply is asked for."""
    after: float = 0.0
    """Seconds that it took."""
    failed: Literal["", "refused", "broke", "unknown"] = ""
    """refused: `ToolError`; broke: it raised something else; unknown: `OutcomeUnknown`."""
    never: bool = False
    """It never came back."""
    spoke: Sequence[Spoke] = ()


@dataclass(slots=True, frozen=True)
class RecordedCall:
    """A call, as it is to be made again."""

    caller: Sequence[CallerDoes]
    answers: Sequence[Answers] = ()
    tools: Sequence[Gives] = ()
    ended: float = 0.0
    """When it ended."""
    by_agent: bool = False
    """The agent ended it."""
    in_the_middle: bool = False
    """It ended while the agent spoke, or worked."""
    predictions: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """What a turn detector said, by the caller's words: seconds that it took, probability."""
    pace: float = 0.06
    """Seconds of sound a character of the agent's voice."""
    paces: Sequence[tuple[str, float]] = ()
    """The same for what is known: texts, and how fast they were said."""
    first_sound: float = 0.05
    """Seconds from a text to its first sound."""
    own_tools: Sequence[str] = ()
    """Tools that change the call itself (hand-offs, tasks, its end), and are run."""

    @property
    def voice(self) -> bool:
        """Somebody spoke."""
        return any(isinstance(one, Says) for one in self.caller)


# -- what a request is


def key_of(parts: Iterable[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """What makes two requests the same: all that the model is shown. Ids count by their order, not by their name."""
    return to_json([list(normal(parts)), [dict(tool) for tool in tools], dict(settings)])


def digest_of(key: str) -> str:
    """A short name of it."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()[:12]


def normal(parts: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Parts with the ids of calls as numbers."""
    ids: dict[str, str] = {}
    for part in parts:
        one = dict(part)
        if "call_id" in one:
            one["call_id"] = ids.setdefault(one["call_id"], f"call {len(ids) + 1}")
        if one["kind"] == "call":
            one["arguments"] = _plain(one["arguments"])
        if one["kind"] in ("note", "system") and ids:
            for known in sorted(ids, key=len, reverse=True):
                one["text"] = one["text"].replace(known, ids[known])
        yield one


def _plain(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments
