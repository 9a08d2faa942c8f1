"""What page and server say to each other: the messages on the socket of a call, and the codes that end it.

One WebSocket is one call. The page begins with `start`; after that either side speaks when it has something to say.
Text frames are JSON objects with a `type`; binary frames are sound, 16-bit little-endian mono at the rate that `start`
named. Fields that are not known here are ignored, so that a page may be newer than its server.

Below: the record of a call. Above: `calls.py`, and the JavaScript in `static/wire.js`, which says the same in its
language.
"""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from antiphon.calls.record import ConsentRecord
from antiphon.visible import one_line

Message: TypeAlias = dict[str, Any]
"""A message from the server to the page."""

MAX_REASON = 120
"""Bytes of a reason that fit into the frame that closes a socket."""


class CloseCode(enum.IntEnum):
    """Why the server closed a call's socket. The reason beside it says what was expected, got, and what helps."""

    NORMAL = 1000
    GOING_AWAY = 1001
    MALFORMED = 4400
    """A message that makes no sense."""
    UNAUTHORISED = 4401
    """No token, or a wrong one."""
    FORBIDDEN = 4403
    """The page comes from elsewhere."""
    UNKNOWN_CALL = 4404
    """The call to be continued is not known here: it was cut off, or is too long ago."""
    NO_START = 4408
    """`start` did not come in time."""
    NOT_READING = 4410
    """The page does not take what it is sent."""
    TOO_LARGE = 4413
    TOO_MANY = 4429
    """Too many calls, or too much at once."""
    INTERNAL = 4500
    AGENT_FILE = 4503
    """The agent file is broken. A call helps again once it was mended."""


class Refused(Exception):
    """The socket is closed, with this code and reason. Concerns this call only."""

    def __init__(self, code: CloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


# -- page to server

CallId: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
"""Of a call of a tool."""


class _FromPage(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Start(_FromPage):
    """The first message."""

    type: Literal["start"]
    rate: Annotated[int, Field(ge=8_000, le=192_000)]
    """Hz of the sound in both directions: what the page's audio device runs at."""
    audio: bool = True
    """False: a call in text."""
    transport: Literal["websocket", "webrtc"] = "websocket"
    push_to_talk: bool = False
    """The caller's turns end by `push`, not by silence."""
    resume: Annotated[str, Field(max_length=64)] | None = None
    """The id of a call that this one continues."""


class Text(_FromPage):
    """A turn that was typed."""

    type: Literal["text"]
    text: Annotated[str, Field(pattern=r"\S", max_length=8_000)]


class Push(_FromPage):
    """The push-to-talk key goes down: the agent stops, the caller's turn begins. It goes up: the turn ends."""

    type: Literal["push"]
    down: bool


class Played(_FromPage):
    """So many samples have sounded since the epoch began."""

    type: Literal["played"]
    epoch: Annotated[int, Field(ge=0, lt=2**53)]
    samples: Annotated[int, Field(ge=0, lt=2**53)]


class Dtmf(_FromPage):
    """A key of the telephone."""

    type: Literal["dtmf"]
    digit: Annotated[str, Field(pattern=r"^[0-9*#A-D]$")]


class Consent(_FromPage):
    """A button answers what is read back of a call."""

    type: Literal["consent"]
    call_id: CallId
    yes: bool


class Inspect(_FromPage):
    """The page wants to be shown what the agent knows: instructions, tools, history, the last request."""

    type: Literal["inspect"]


class HangUp(_FromPage):
    """The caller ends the call."""

    type: Literal["hang_up"]


class Offer(_FromPage):
    """WebRTC: the page's session description."""

    type: Literal["offer"]
    sdp: Annotated[str, Field(min_length=1, max_length=48_000)]


FromPage: TypeAlias = Annotated[
    Start | Text | Push | Played | Dtmf | Consent | Inspect | HangUp | Offer,
    Field(discriminator="type"),
]

_from_page: TypeAdapter[Start | Text | Push | Played | Dtmf | Consent | Inspect | HangUp | Offer] = TypeAdapter(
    FromPage
)


def parse(text: str) -> Start | Text | Push | Played | Dtmf | Consent | Inspect | HangUp | Offer:
    """The message in a text frame. Raises `Refused` for anything else."""
    try:
        return _from_page.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "message"
        raise Refused(CloseCode.MALFORMED, f"{place}: {first['msg']}") from None


# -- server to page


def ready(call: str, *, rate: int, agent: str, models: str, transport: str) -> Message:
    """The session runs; sound may come from now on."""
    return {"type": "ready", "call": call, "rate": rate, "agent": agent, "models": models, "transport": transport}


def state(agent: str, user: str) -> Message:
    """What the two are doing."""
    return {"type": "state", "agent": agent, "user": user}


def heard(text: str, *, final: bool) -> Message:
    """The caller's words. An interim replaces the one before."""
    return {"type": "heard", "text": text, "final": final}


def said(segment: str, text: str, *, final: bool) -> Message:
    """The agent's words as they sound: all of this segment so far."""
    return {"type": "said", "segment": segment, "text": text, "final": final}


def message(item_id: str, role: str, text: str, *, interrupted: bool, unheard: str = "", agent: str = "") -> Message:
    """What the history keeps of something said, and by which agent.

    Of what was cut also what was going to be said, as far as known. `id` is the `segment` of `said`, if it sounded.
    """
    told = {"type": "message", "id": item_id, "role": role, "text": text, "interrupted": interrupted}
    return told | ({"unheard": unheard} if unheard else {}) | ({"agent": agent} if agent else {})


def handoff(agent: str) -> Message:
    """Another agent is in charge."""
    return {"type": "handoff", "agent": agent}


def aside(segment: str, text: str, agent: str) -> Message:
    """What was heard of a line that bridged a wait: the history does not have it."""
    return {"type": "aside", "segment": segment, "text": text, "agent": agent}


def consent(call_id: str, name: str, arguments: dict[str, Any], asked: ConsentRecord) -> Message:
    """A call is read back to the caller, or it is decided whether it is made. `decision` is "" until then."""
    told = {
        "asked": asked.asked,
        "times": asked.times,
        "decision": asked.decision,
        "heard": asked.heard,
        "by": asked.by,
    }
    return {"type": "consent", "call_id": call_id, "name": name, "arguments": arguments, **told}


def claim(sentence: str, done: str) -> Message:
    """The agent claims that something was done, and no tool has done it."""
    return {"type": "claim", "sentence": sentence, "done": done}


def tool(
    call_id: str,
    name: str,
    arguments: dict[str, Any],
    *,
    status: str,
    text: str | None = None,
    seconds: float | None = None,
    guarantee: str | None = None,
) -> Message:
    """A tool's call: started, updated, done, error, cancelled, dropped or unknown.

    `guarantee`: how often it takes effect; null where its tool does not say that it writes. A null `text` or `seconds`
    leaves what was told before: a call is done first, and its output known a moment later.
    """
    return {
        "type": "tool",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": status,
        "text": text,
        "seconds": None if seconds is None else round(seconds, 3),
        "guarantee": guarantee,
    }


def turn(metrics: dict[str, Any]) -> Message:
    """Where the time of one turn went. Seconds."""
    return {**metrics, "type": "turn"}


def error(text: str, *, fatal: bool = False) -> Message:
    """Something failed. The call goes on, unless `fatal`."""
    return {"type": "error", "message": one_line(text), "fatal": fatal}


def playout(command: Literal["pause", "resume", "clear"], epoch: int) -> Message:
    """What the loudspeaker shall do. Sound that follows a `clear` belongs to its epoch."""
    return {"type": "clear", "epoch": epoch} if command == "clear" else {"type": command}


def beat() -> Message:
    """The server is there, and has nothing else to say. A page that hears nothing for two seconds calls again."""
    return {"type": "beat"}


def answer(sdp: str) -> Message:
    """WebRTC: the server's session description; "" if it has no WebRTC, and the page may call again without."""
    return {"type": "answer", "sdp": sdp}


def ended(reason: str, *, report: str | None, recording: str | None) -> Message:
    """The call is over. Where its report and its recording are, as paths on this server."""
    return {"type": "ended", "reason": reason, "report": report, "recording": recording}


def agent_file(state: Literal["loaded", "broken"], text: str = "") -> Message:
    """The agent file was loaded, or cannot be."""
    return {"type": "agent_file", "state": state, "message": text}
