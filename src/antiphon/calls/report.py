"""The page of a call: one HTML file that needs nothing but itself, and the recording beside it if one was written.

It is made from a `CallReport` and, for a call by voice, from the `StereoRecorder`. Everything that was said enters the
page as data, never as markup.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from antiphon import private
from antiphon.calls.record import CallReport
from antiphon.metrics import TurnMetrics
from antiphon.transports.recorder import Cut, Span, StereoRecorder
from antiphon.transports.track import BUCKET
from antiphon.visible import to_json, visible_data

_MOST_PEAKS = 8_000

STORY = ("data", "figures", "timeline", "transcript", "waits", "steps", "story")
"""The modules that tell a call, each behind those that it imports. The studio loads them as they are."""

_MARK = re.compile(r"/\*(PALETTE|STORY\.CSS|STORY\.JS|CALL)\*/")


@dataclass(slots=True, frozen=True)
class Sound:
    """The sound of a call, for its page."""

    recorder: StereoRecorder
    caller: Sequence[Span]
    """When the caller's turns were played."""
    cuts: Sequence[Cut]
    recording: Path | None = None
    """The WAV file, if one was written."""


@dataclass(slots=True, frozen=True)
class Answer:
    """The silence between a caller's turn and the agent's answer. Seconds since the call began."""

    heard: float
    """The caller's last audible sample."""
    answered: float
    """The agent's first audible sample after it."""

    @property
    def delay(self) -> float:
        """Voice to voice, in seconds."""
        return self.answered - self.heard


def answers(recorder: StereoRecorder, turns: Sequence[Span]) -> list[Answer | None]:
    """How each caller's turn was answered; None where the agent was talking already, or did not answer in time."""
    found: list[Answer | None] = []
    for number, turn in enumerate(turns):
        until = turns[number + 1].start if number + 1 < len(turns) else float("inf")
        heard = recorder.last_caller_sound(turn)
        # Sound within the caller's last fifth of a second is the agent going on, not answering.
        onset = recorder.first_agent_sound(max(heard - 0.2, 0.0))
        answered = onset is not None and heard <= onset < until
        found.append(Answer(heard, onset) if answered and onset is not None else None)
    return found


def delays(recorder: StereoRecorder, turns: Sequence[Span]) -> list[float | None]:
    """From the end of each of the caller's turns to the answer, in seconds, as measured on the recording."""
    return [None if answer is None else answer.delay for answer in answers(recorder, turns)]


def write_report(
    path: Path, call: CallReport, *, title: str, models: str, sound: Sound | None = None, when: datetime | None = None
) -> None:
    """Write the page. Raises `OSError` if it cannot be written."""
    data = report_data(call, title, models, (when or datetime.now()).timestamp())
    if sound is not None:
        data |= sound_data(sound)
        if sound.recording is not None:
            data["audio"] = quote(Path(os.path.relpath(sound.recording, path.parent)).as_posix())
    write_page(path, data)


def write_page(path: Path, data: dict[str, Any]) -> None:
    """Write the page of such data as `report.html` reads. Raises `OSError`."""
    template = (files("antiphon.calls") / "report.html").read_text(encoding="utf-8")
    # "</script>" inside a string would end the data; JSON allows the slash to be escaped.
    payload = to_json(visible_data(data)).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    parts = {"PALETTE": _palette(), "STORY.CSS": _of_story("story.css"), "STORY.JS": _story(), "CALL": payload}
    # In one go: what was said may look like a mark.
    private.write(path, _MARK.sub(lambda mark: parts[mark[1]], template))


@cache
def _story() -> str:
    """The code that tells a call, as one text: what modules import of one another is in it."""
    code = "\n".join(_of_story(f"{name}.js") for name in STORY)
    return re.sub(r"^export ", "", re.sub(r"^import .*;\n", "", code, flags=re.MULTILINE), flags=re.MULTILINE)


def _of_story(name: str) -> str:
    return (files("antiphon.calls") / "static" / "story" / name).read_text(encoding="utf-8")


@cache
def _palette() -> str:
    """Colours and letters, which a page that needs nothing but itself has in it."""
    font = b64encode((files("antiphon.calls") / "inter.woff2").read_bytes()).decode()
    palette = (files("antiphon.calls") / "palette.css").read_text(encoding="utf-8")
    return palette.replace('url("inter.woff2")', f'url("data:font/woff2;base64,{font}")')


def report_data(call: CallReport, title: str, models: str, began: float) -> dict[str, Any]:
    """What the story of a call is told from, without its sound. `began`: seconds since the epoch."""
    return {
        "title": title,
        "when": said_when(datetime.fromtimestamp(began)),
        "models": models,
        "duration": max(call.duration, 0.001),
        "voice": any(one.first_byte is not None for reply in call.replies for one in reply.responses),
        "turns": [dataclasses.asdict(turn) for turn in call.turns],
        "tools": [dataclasses.asdict(one) for one in call.tool_calls],
        "latency": call.latency["voice_to_voice_ms"],
        "replies": [reply_data(reply) for reply in call.replies],
        "metrics": call.metrics.to_json(),
        "userdata": call.userdata,
        "errors": call.errors,
        "must_hear": call.must_hear,
        "answered": call.answered,
        "message_left": call.message_left,
        "claims": [dataclasses.asdict(claim) for claim in call.claims],
        "audio": None,
        "peaks": None,
        "cuts": [],
        "gaps": [],
    }


def said_when(when: datetime) -> str:
    """A time, for people."""
    return when.strftime("%-d %B %Y, %H:%M")


def reply_data(reply: TurnMetrics) -> dict[str, Any]:
    """The figures of a reply, with where its time went, as data."""
    reached = (reply.first_answer, reply.first_audio, reply.interrupted_at, reply.ended)
    until = next(moment for moment in reached if moment is not None)
    path = [
        {"kind": one.kind, "name": one.name, "started": round(one.started, 4), "ended": round(one.ended, 4)}
        for one in reply.path(until)
    ]
    return reply.to_json() | {"path": path}


def sound_data(sound: Sound) -> dict[str, Any]:
    """Who was heard when, and how loud, as data. Reads the sound."""
    recorder = sound.recorder
    duration = max(recorder.duration, 0.001)
    buckets = math.ceil(duration / BUCKET / _MOST_PEAKS)
    caller, agent = recorder.peaks(buckets)
    return {
        "duration": duration,
        "peaks": {"rate": 1 / BUCKET / buckets, "caller": _percent(caller), "agent": _percent(agent)},
        "callerSpans": [dataclasses.asdict(span) for span in sound.caller],
        "agentSpans": [dataclasses.asdict(span) for span in recorder.agent_spans()],
        "cuts": [dataclasses.asdict(cut) for cut in sound.cuts],
        "gaps": [{"from": a.heard, "to": a.answered} for a in answers(recorder, sound.caller) if a is not None],
    }


def _percent(peaks: Sequence[int]) -> list[int]:
    """Each in percent of the loudest."""
    loudest = max([33, *peaks])
    return [round(100 * peak / loudest) for peak in peaks]
