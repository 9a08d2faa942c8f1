"""One call on its way to a record: followed while it goes on, written as a whole when it has ended.

Above: `Records`. Below: the fold of the session's events (`CallRecord`), the journal's writer, the line's recorder, and
the store, which is asked once, at the end, what tools did. Nothing that fails here ends or delays a call; it is told.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import logging
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from antiphon import private
from antiphon.calls.offered import offered_by
from antiphon.calls.record import CallRecord, CallReport, Turn, percentiles, rounded
from antiphon.calls.report import Sound, delays, reply_data, sound_data
from antiphon.calls.start import describe_models
from antiphon.errors import AntiphonError, SessionClosed, StoreError, pass_on
from antiphon.events import CloseEvent, CloseReason, JournalEvent
from antiphon.records.format import AUDIO, FORMAT, HISTORY, JOURNAL, LEDGER, METRICS, RECORD, REQUESTS, SOUND, name_of
from antiphon.records.requests import RequestLog
from antiphon.records.usage import Usage
from antiphon.replay.writer import JournalWriter
from antiphon.session import AgentSession
from antiphon.store import Store, StoredCall, acknowledged
from antiphon.telemetry.prices import Price
from antiphon.transports.recorder import Cut, Span, StereoRecorder
from antiphon.vault import hide_in
from antiphon.visible import to_json

logger = logging.getLogger("antiphon")


STORE_LIMIT = 5.0
"""Seconds that the store has to write what tools did."""


class KeptSound(Protocol):
    """What is kept of a line's sound: `Room.sound` is one."""

    @property
    def recorder(self) -> StereoRecorder | None: ...
    @property
    def cuts(self) -> Sequence[Cut]: ...
    @property
    def spoken(self) -> Sequence[Span] | None: ...


@dataclass(slots=True)
class Draft:
    """All of a call that becomes a record."""

    name: str
    head: dict[str, Any]
    metrics: dict[str, Any]
    history: list[dict[str, Any]]
    ledger: list[dict[str, Any]] | None
    requests: list[dict[str, Any]]
    """Lines of what models were asked: the first is the head."""
    sound: Sound | None
    missing: list[str] = field(default_factory=list)
    """What is not in it that should be, and why."""

    @property
    def id(self) -> str:
        """The id of the call."""
        return str(self.head["id"])

    def lacks(self, what: str) -> None:
        """This could not be had."""
        self.missing.append(what)


class _Clock:
    """Seconds since a call began: on the recorder's clock, if there is one. It knows nobody who would know it."""

    def __init__(self, line: KeptSound | None) -> None:
        self._line = line
        self.first: JournalEvent | None = None
        """What says when the call began."""

    def began(self, event: JournalEvent) -> None:
        """The first counts."""
        self.first = self.first or event

    def now(self) -> float:
        recorder = None if self._line is None else self._line.recorder
        if recorder is not None and recorder.began:
            return recorder.now()
        return 0.0 if self.first is None else asyncio.get_running_loop().time() - self.first.at


class Recording:
    """Follows one session.

    At the end `write(draft, folder)` is called in a thread, with what there is of the call, and then `written(store)`
    awaited, where it has a store. `stage`: the folder that the record is made in, from the journal on. `mask`: what
    else is taken out of texts.
    """

    def __init__(
        self,
        session: AgentSession[Any],
        *,
        sound: KeptSound | None,
        stage: Callable[[str], Path],
        journal: bool,
        audio: bool,
        write: Callable[[Draft, Path], None],
        written: Callable[[Store], Awaitable[None]],
        mask: Callable[[Any], Any],
        title: str,
        by_turns: bool,
        prices: Mapping[str, Price],
    ) -> None:
        self._session = session
        self._line = sound
        self._audio = audio
        self._write = write
        self._written = written
        self._mask = mask
        self._title = title
        self._by_turns = by_turns
        self._clock = _Clock(sound)
        self._agents: list[str] = []
        self._tools: dict[str, dict[str, Any]] = {}
        self._models = ""
        self._missing: list[str] = []
        self._folder = stage("call")
        self._journal = JournalWriter(self._folder / JOURNAL, about=title) if journal else None
        self._fold = CallRecord(self._clock.now)
        self._usage = Usage(session, prices)
        self._requests = RequestLog(session, self._clock.now)
        session.on("journal", self._begin)
        self._fold.listen(session)
        session.on("agent_state_changed", lambda event: self._look())
        session.on("conversation_item_added", lambda event: self._look())
        session.at_end(self._ended)

    def _begin(self, event: JournalEvent) -> None:
        """All that happens, from the first on. The first also says when the call began."""
        self._clock.began(event)
        if self._journal is not None:
            self._journal.told(event)

    def _look(self) -> None:
        """Who is in charge, and what they can do."""
        try:
            agent = self._session.current_agent
            if agent.id in self._agents:
                return
            self._agents.append(agent.id)
            for tool in offered_by(self._session):
                self._tools[tool.name] = {"effect": tool.effect, "guarantee": tool.guarantee}
            voice = self._line is not None and self._line.recorder is not None
            kinds = ("llm", "stt", "tts") if voice or self._session.stt is not None else ("llm",)
            self._models = self._models or describe_models(self._session, *kinds)
        except SessionClosed:
            return

    # -- the end

    async def _ended(self, event: CloseEvent) -> None:
        if self._clock.first is None or (self._by_turns and event.reason is CloseReason.JOB_SHUTDOWN):
            await asyncio.to_thread(self._drop)  # it goes on in another process, or never began
            return
        try:
            duration = self._clock.now()
            report = self._fold.report(duration)
            stored = await self._stored()
            ended = self._clock.first.epoch + asyncio.get_running_loop().time()
            await asyncio.to_thread(self._finish, event, report, stored, ended)
            if stored is not None and self._session.store is not None:
                await self._written(self._session.store)
        except AntiphonError as error:
            logger.error("the record of call %s was not made: %s", self._session.call_id, error)

    def _drop(self) -> None:
        self._close_journal()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _close_journal(self) -> None:
        if self._journal is None:
            return
        try:
            self._journal.close()
        except OSError as error:
            self._missing.append(f"{JOURNAL}: {error.strerror or error}")

    async def _stored(self) -> StoredCall | None:
        """What the store has of it. What it cannot say is missing."""
        store = self._session.store
        if store is None:
            return None
        try:
            await acknowledged(store.flush(), STORE_LIMIT)
            return await store.load(self._session.call_id)
        except StoreError as error:
            self._missing.append(f"{LEDGER}: {error}")
            return None

    def _finish(self, event: CloseEvent, report: CallReport, stored: StoredCall | None, ended: float) -> None:
        """In a thread."""
        self._close_journal()
        sound = self._sound()
        if sound is not None:
            measured = [1000 * one for one in delays(sound.recorder, sound.caller) if one is not None]
            report.latency["voice_to_voice_ms"] = percentiles(measured)
        draft = self._draft(event, report, stored, ended, sound)
        try:
            self._write(draft, self._folder)
        except BaseException as error:
            pass_on(error)
            logger.exception("the record of call %s could not be written", draft.id)

    def _sound(self) -> Sound | None:
        if self._line is None or (recorder := self._line.recorder) is None or not recorder.duration:
            return None
        spoken = self._line.spoken
        if spoken is None:  # what was typed takes no time
            turns = self._fold.turns
            spoken = [Span(t.started, t.ended) for t in turns if t.role == "user" and t.ended > t.started]
        return Sound(recorder, spoken, self._line.cuts)

    def _draft(
        self, event: CloseEvent, report: CallReport, stored: StoredCall | None, ended: float, sound: Sound | None
    ) -> Draft:
        assert self._clock.first is not None
        session, meta = self._session, None if stored is None else stored.info.meta
        began, here = self._clock.first.epoch + self._clock.first.at, True
        if meta is not None and meta.began and meta.began < began - 1:
            began, here = meta.began, False  # in another process
        call = report.to_json()
        head = {
            "record": FORMAT,
            "antiphon": _version(),
            "id": session.call_id,
            "began": round(began, 3),
            "ended": round(ended, 3),
            "reason": event.reason.value,
            "title": self._title,
            "agents": self._agents,
            "caller": "" if meta is None else meta.caller,
            "models": self._models,
            "voice": any(one.first_byte is not None for reply in report.replies for one in reply.responses),
            "duration": call["duration"],
            "turns": call["turns"] if here else _turns_of(report, began),
            "tool_calls": call["tool_calls"],
            "tools": self._tools,
            "errors": call["errors"],
            "failed_tools": report.failed_tools,
            "claims": call["claims"],
            "answered": call["answered"],
            "message_left": call["message_left"],
            "must_hear": call["must_hear"],
            "unheard": [rounded(dataclasses.asdict(one)) for one in event.unheard],
            "userdata": call["userdata"],
        }
        metrics = {
            "metrics": call["metrics"],
            "latency": call["latency"],
            "replies": [reply_data(reply) for reply in report.replies],
            "usage": self._usage.usage(),
        }
        if (cost := self._usage.cost()) is not None:
            metrics["cost"] = cost
        rows = None if stored is None else [json.loads(row.to_json()) for row in stored.rows]
        masked: dict[str, Any] = self._mask(
            {"head": head, "history": report.history, "ledger": rows, "requests": self._requests.lines()}
        )
        head = {**masked["head"], "id": session.call_id}
        name = name_of(session.call_id, began)
        if self._requests.left_out:
            self._missing.append(f"{REQUESTS}: {self._requests.left_out} requests, for which there was no place")
        history, ledger, requests = masked["history"], masked["ledger"], masked["requests"]
        return Draft(name, head, metrics, history, ledger, requests, sound, self._missing)


def _turns_of(report: CallReport, began: float) -> list[dict[str, Any]]:
    """What was said, also before this process held the call: from the history, which knows when."""
    here = [rounded(dataclasses.asdict(turn)) for turn in report.turns]
    said = [item for item in report.history if item.get("type") == "message" and item.get("role") in _SPEAKERS]
    missing = len(said) - sum(not turn.aside for turn in report.turns)
    before: list[dict[str, Any]] = []
    for item in said[: max(0, missing)]:
        at = round(max(0.0, float(item.get("created_at") or began) - began), 3)
        text = " ".join(part for part in item.get("content", ()) if isinstance(part, str))
        turn = Turn(item["role"], text, at, at, interrupted=bool(item.get("interrupted")))
        before.append(dataclasses.asdict(turn))
    shift = max((turn["ended"] for turn in before), default=0.0)
    for known in here:
        known |= {"started": round(known["started"] + shift, 3), "ended": round(known["ended"] + shift, 3)}
    return before + here


_SPEAKERS = ("user", "assistant")


def write_files(draft: Draft, folder: Path, *, audio: bool) -> None:
    """Write the files of a record into a folder, `record.json` last: it has sums of the others. Raises `OSError`."""
    missing = list(draft.missing)
    private.write(folder / METRICS, to_json(draft.metrics))
    private.write(folder / HISTORY, to_json({"items": draft.history}))
    if draft.ledger is not None:
        private.write(folder / LEDGER, "".join(f"{to_json(row)}\n" for row in draft.ledger))
    private.write(folder / REQUESTS, "".join(f"{to_json(line)}\n" for line in draft.requests))
    if draft.sound is not None:
        private.write(folder / SOUND, to_json(sound_data(draft.sound)))
        if audio:
            try:
                draft.sound.recorder.save(folder / AUDIO)
            except (OSError, ImportError) as error:
                (folder / AUDIO).unlink(missing_ok=True)
                missing.append(f"{AUDIO}: {error}")
    sums = {
        path.name: {"bytes": path.stat().st_size, "sha256": _sum(path)}
        for path in sorted(folder.iterdir())
        if path.name != RECORD
    }
    private.write(folder / RECORD, to_json({**draft.head, "missing": missing, "files": sums}, indent=1))


def hidden(value: Any, mask: Callable[[str], str] | None) -> Any:
    """Data of a call without what any session of this process keeps secret, and without what `mask` takes out."""
    value = hide_in(value)
    return value if mask is None else _masked(value, mask)


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: _masked(one, mask) for key, one in value.items()}
    if isinstance(value, list):
        return [_masked(one, mask) for one in value]
    return value


def _sum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("antiphon")
    except PackageNotFoundError:
        return ""
