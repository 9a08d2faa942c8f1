"""The records that pages list, search and open: the place, and its index, kept in step while somebody looks.

Above: the routes. Below: the records. Its index is brought up to date beside the answers: a place with thousands of
records that nobody has listed yet is listed bit by bit.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from antiphon.console.studio.story import audio_of
from antiphon.records.figures import figures
from antiphon.records.format import AUDIO, Record, RecordError, is_name
from antiphon.records.index import Index
from antiphon.records.page import page_data
from antiphon.records.places import Folder, Place
from antiphon.records.searching import Search, count, search

logger = logging.getLogger("antiphon")

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds that an answer waits for the index. Then it says that there is more to come."""
FAR_EVERY = 15.0
"""Seconds between two looks at a place behind a network."""


class Gone(Exception):
    """There is no such record: it never was, or was erased."""


class Shelf:
    """One place. Its methods raise `OSError` where it cannot be reached."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._index = Index(place)
        self._syncing: asyncio.Task[None] | None = None
        self._synced = float("-inf")

    def __str__(self) -> str:
        return str(self.place)

    async def aclose(self) -> None:
        """Wait for a look that is under way: it writes to the index."""
        if self._syncing is not None:
            await asyncio.wait([self._syncing])

    async def listed(self, wanted: Search) -> dict[str, Any]:
        """Calls that are wanted, how many there are, and what could not be read."""
        is_whole = await self._in_step()
        return {
            **await self._ask(lambda: self._list(wanted), {"calls": [], "count": 0, "all": 0, "broken": []}),
            "whole": is_whole,
        }

    async def figures(self, wanted: Search) -> dict[str, Any]:
        """What these calls took and cost."""
        is_whole = await self._in_step()
        return {**await self._ask(lambda: figures(self._index, wanted), {}), "whole": is_whole}

    async def words(self) -> dict[str, list[str]]:
        """What may be looked for by name: tools, agents, outcomes, findings."""
        return await self._ask(self._words, {"tools": [], "agents": [], "outcomes": [], "findings": []})

    async def story(self, name: str) -> dict[str, Any]:
        """What the page of a call shows. Raises `Gone`, and `RecordError` for a record that is broken."""
        return await asyncio.to_thread(lambda: self._story(self._record(name)))

    async def record(self, name: str) -> Record:
        """That record. Raises `Gone` and `RecordError`."""
        return await asyncio.to_thread(self._record, name)

    async def name_of(self, call: str) -> str | None:
        """The record of this call, if there is one."""
        await self._in_step()
        none: list[dict[str, Any]] = []
        rows = await self._ask(lambda: self._index.ask("SELECT name FROM records WHERE id = ?", [call]), none)
        return str(rows[-1]["name"]) if rows else None

    # -- in threads

    @property
    def _is_there(self) -> bool:
        return not isinstance(self.place, Folder) or self.place.path.is_dir()

    async def _ask(self, work: Callable[[], T], nothing: T) -> T:
        if not await asyncio.to_thread(lambda: self._is_there):
            return nothing
        return await asyncio.to_thread(work)

    async def _in_step(self) -> bool:
        """Have the index know what came and went. False: it does not yet. Raises `OSError`."""
        now = asyncio.get_running_loop().time()
        is_due = isinstance(self.place, Folder) or now - self._synced > FAR_EVERY
        if self._syncing is None and is_due:
            self._synced = now
            self._syncing = asyncio.create_task(self._ask(self._index.sync, None), name="studio: index")
        syncing = self._syncing
        if syncing is None:
            return True
        await asyncio.wait([syncing], timeout=PATIENCE)
        if not syncing.done():
            return False
        self._syncing = None
        syncing.result()
        return True

    def _list(self, wanted: Search) -> dict[str, Any]:
        found = search(self._index, wanted)
        broken = self._index.ask("SELECT name, why FROM broken ORDER BY name DESC LIMIT 100")
        return {
            "calls": [_line(one) for one in found],
            "count": len(found) if len(found) < wanted.most else count(self._index, wanted),
            "all": count(self._index, Search()),
            "broken": broken,
        }

    def _words(self) -> dict[str, list[str]]:
        def words(statement: str) -> list[str]:
            return [str(row["word"]) for row in self._index.ask(f"{statement} ORDER BY word LIMIT 200") if row["word"]]

        agents = words("SELECT DISTINCT agents AS word FROM records")
        return {
            "tools": words("SELECT DISTINCT tool AS word FROM calls"),
            "agents": sorted({one for path in agents for one in path.split(" > ")}),
            "outcomes": words("SELECT DISTINCT status AS word FROM calls"),
            "findings": words("SELECT DISTINCT finding AS word FROM findings"),
        }

    def _record(self, name: str) -> Record:
        if not is_name(name) or not self.place.has(name):
            raise Gone(name)
        try:
            return self.place.record(name)
        except (RecordError, OSError):
            if self.place.has(name):
                raise
            raise Gone(name) from None

    def _story(self, record: Record) -> dict[str, Any]:
        findings = None
        with contextlib.suppress(OSError):  # what takes the others to say is left out, then
            listed = search(self._index, Search(id=record.id, most=10))
            findings = next((one.findings for one in listed if one.name == record.name), None)
        try:
            data = page_data(record, findings)
        except (TypeError, KeyError, ValueError, AttributeError, IndexError) as error:
            raise RecordError(f"record {record.name}: {type(error).__name__}: {error}. Was it changed?") from error
        has_sound = audio_of(record) is not None
        return {
            **data,
            "replies": [{name: reply.get(name) for name in _OF_A_REPLY} for reply in data["replies"]],
            "id": record.id,
            "name": record.name,
            "began": record.began,
            "caller": record.head.get("caller", ""),
            "reason": record.head.get("reason", ""),
            "sounds": has_sound,
            "silent": "" if has_sound else _why_silent(record),
        }


def _why_silent(record: Record) -> str:
    files = record.head.get("files")
    if isinstance(files, dict) and AUDIO in files:
        return f"This record has no sound that can be played: {AUDIO} is missing, or too long for an archive."
    return "This record has no sound: it is kept with --record-audio."


_OF_A_REPLY = (
    "turn", "origin", "waiting_since", "first_audio", "first_answer", "ended", "decided", "interrupted_at",
    "response_delay", "dead_air", "sound", "silences", "stages", "path",
)  # fmt: skip
"""What a story is told from. A call of two hours has a thousand replies."""


def _line(one: Any) -> dict[str, Any]:
    """A call as lists show it: of its findings names, how often."""
    names = [finding.finding for finding in one.findings]
    fields = {name: getattr(one, name) for name in _FIELDS}
    return {**fields, "findings": {name: names.count(name) for name in dict.fromkeys(names)}}


_FIELDS = (
    "name", "id", "began", "duration", "reason", "agents", "caller", "turns", "tools", "errors", "cut", "unknown",
    "delay", "worst", "tokens", "cost",
)  # fmt: skip
