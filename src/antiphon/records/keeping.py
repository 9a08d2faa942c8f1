"""`Records`: where the calls of a program become records when they have ended, and how.

Above: `AgentServer`, commands, programs that hold sessions of their own. Below: the recording of one call, the place,
the index, what waits for a place that cannot be reached. What fails is told in the log, and ends no call.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from antiphon import private
from antiphon.errors import StoreError, pass_on
from antiphon.options import RedactWords
from antiphon.records.delivery import TIMEOUT, Deliveries, Webhook, body_of
from antiphon.records.format import JOURNAL, Record, is_name, name_of
from antiphon.records.index import Index
from antiphon.records.masking import mask_of
from antiphon.records.places import Place, place_of, remove_stale
from antiphon.records.recording import Draft, KeptSound, Recording, hidden, write_files
from antiphon.session import AgentSession
from antiphon.store import Store
from antiphon.telemetry.prices import Price

logger = logging.getLogger("antiphon")

WAITING = "waiting"
"""The folder, beside what belongs to a place, of records that the place has not taken yet."""

RETRY_EVERY = 30.0
"""Seconds between two tries to bring what waits to its place, while the program runs."""

LAST_TRY = 5.0
"""Seconds in which a program that ends begins deliveries. What is left the next one delivers."""

SHORTEST_WAIT = 0.1
"""Seconds between two tries at least."""

LIVE = 900.0
"""Seconds after its end for which the store keeps all of a call: a page that comes back may go on with it."""

LIGHTEN_EVERY = 600.0
"""Seconds between two looks at what the store need not keep."""

_MOST_LIGHTENED = 5_000

TIDY_EVERY = 3600.0
"""Seconds between two looks at what is too old to be kept."""


class Records:
    """Makes records of calls. `async with` ends when all that was begun is written.

    Args:
        place: A folder, or a URL that fsspec knows (`pip install 'antiphon[records]'`).
        audio: Keep the recording, too. What a session says must not be heard is silent in it.
        journal: Keep the journal, which replays the call.
        redact: What is taken out of the words of records beside what sessions hide: "card_number", "phone_number",
            "email", or a function, as for `AgentSession(redact=)`. Records then have neither journal nor audio.
        days: How long records are kept. None: until somebody removes them.
        webhook: Who is told of each record: a `Webhook`, or its address.
        prices: By model ("openai/gpt-4o-mini", "gpt-4o-mini"), what its tokens cost: `antiphon.telemetry.Price`.
        title: Which program makes them, for people.
    """

    def __init__(
        self,
        place: str | os.PathLike[str] | Place,
        *,
        audio: bool = False,
        journal: bool = True,
        redact: RedactWords = (),
        days: float | None = None,
        webhook: Webhook | str | None = None,
        prices: Mapping[str, Price] | None = None,
        title: str = "",
    ) -> None:
        self.place = place if isinstance(place, Place) else place_of(place)
        self.audio = audio and not redact
        self._journal = journal and not redact
        self._mask = mask_of(redact)
        self._days = days
        self._title = title
        self._prices = prices or {}
        webhook = Webhook(webhook) if isinstance(webhook, str) else webhook
        self.deliveries = Deliveries(self.place.home, webhook)
        self.index = Index(self.place)
        self._one_writes = threading.Lock()
        self._one_helps = threading.Lock()
        self._helper: threading.Thread | None = None
        """Tries again, as long as something waits."""
        self._asked_again = False
        self._has_begun = False
        self._lightened: float | None = None
        self._light = set[str]()
        """Calls of which the store keeps the ledger alone."""
        self._over = threading.Event()
        self._tidied = 0.0
        self._elsewhere: list[Path] = []
        """Folders of records that could not even wait beside their place."""

    def __str__(self) -> str:
        return str(self.place)

    async def __aenter__(self) -> Self:
        """Bring what waits to its place, as far as that is possible."""
        await asyncio.to_thread(self.settle)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Try once more to bring what waits to its place, and to deliver. May be called twice."""
        if self._has_begun:
            await asyncio.to_thread(self._stop_helping)

    def follow(self, session: AgentSession[Any], *, sound: KeptSound | None = None, by_turns: bool = False) -> None:
        """Make a record of a session, which must not have started. It is written before `session.aclose` returns.

        `sound`: what is kept of the line's (`Room.sound`). `by_turns`: several processes hold the call, one after the
        other; the record is made when it ends, and not with the process.
        """
        if not self._has_begun:  # what earlier processes left
            self._has_begun = True
            self._help()
        Recording(
            session,
            sound=sound,
            stage=self.place.stage,
            journal=self._journal,
            audio=self.audio,
            write=self._write,
            written=self._lighten,
            mask=partial(hidden, mask=self._mask),
            title=self._title,
            by_turns=by_turns,
            prices=self._prices,
        )

    # -- writing, in threads

    def _write(self, draft: Draft, staged: Path) -> None:
        folder = self._made(draft, staged)
        if folder is None:
            return
        is_told = self._prepare_to_tell(draft)
        is_placed = self._placed(draft.name, folder)
        if not is_placed:
            self._wait(draft.name, folder)
        if is_told:
            self._tell(lambda: self.deliveries.ready(draft.name))
        if is_told or not is_placed:
            self._help()
        if time.monotonic() - self._tidied > TIDY_EVERY or not self._tidied:
            self.tidy()

    def _prepare_to_tell(self, draft: Draft) -> bool:
        """Somebody is to be told of it: that is on disk before it is there."""
        if self.deliveries.webhook is None:
            return False
        body = body_of(draft.head, draft.metrics, draft.name, str(self))
        return self._tell(lambda: self.deliveries.prepare(draft.name, body))

    def _tell(self, work: Callable[[], object]) -> bool:
        try:
            work()
        except OSError as error:
            logger.error("records: the webhook's queue: %s. The record is told when its place is opened next.", error)
            return False
        return True

    def _made(self, draft: Draft, staged: Path) -> Path | None:
        """The folder with all files in it. A disk that is full is tried, and then the temporary folder's."""
        for elsewhere in (False, True):
            try:
                prefix = f"antiphon-record-{draft.name}-"
                folder = Path(tempfile.mkdtemp(prefix=prefix)) if elsewhere else staged
                write_files(draft, folder, audio=self.audio)
                return folder
            except OSError as error:
                logger.error("records: the record of call %s: %s", draft.id, error)
                if (staged / JOURNAL).exists():
                    draft.lacks(f"{JOURNAL}: {error.strerror or error}")
                shutil.rmtree(staged, ignore_errors=True)
        logger.error("records: call %s has no record. What its store has of it is there: antiphon calls", draft.id)
        return None

    def _placed(self, name: str, folder: Path) -> bool:
        with self._one_writes:
            try:
                self.place.put(name, folder)
            except OSError as error:
                logger.warning("records: %s cannot take %s yet: %s. It waits, and is tried again.", self, name, error)
                return False
            self._list(name)
            return True

    def _list(self, name: str) -> None:
        """The index is made of the records: what it does not have yet it finds out for itself."""
        try:
            self.index.add(self.place.record(name))
        except Exception as error:
            pass_on(error)
            logger.warning("records: the index of %s: %s. It is brought up to date when it is asked.", self, error)

    def _wait(self, name: str, folder: Path) -> None:
        """Keep a record that is whole where the next process finds it, too."""
        target = self.place.home / WAITING / name
        try:
            private.make_folder(target.parent)
            shutil.rmtree(target, ignore_errors=True)
            shutil.move(folder, target)
        except OSError as error:
            logger.error("records: %s waits in %s: %s. Move it to %s yourself.", name, folder, error, self)
            self._elsewhere.append(folder)

    # -- what waits

    def waiting(self) -> Sequence[str]:
        """Names of the records that have not reached their place."""
        try:
            return sorted(path.name for path in (self.place.home / WAITING).iterdir() if is_name(path.name))
        except OSError:
            return []

    def settle(self) -> int:
        """Bring what waits to its place. Waits for disk and network. Returns how many are left."""
        left = 0
        remove_stale(self.place.home)
        for name in self.waiting():
            left += not self._placed_again(name)
        return left

    def deliver(self, limit: float = math.inf) -> float | None:
        """Tell the webhook what is due, and what a process left that was killed. Waits for the network.

        After `limit` seconds no further delivery is begun. Returns in how many seconds there is more to do; None:
        nothing waits.
        """
        if self.deliveries.webhook is None:
            return None
        try:
            self.deliveries.recover(lambda name: self.place.has(name) or name in self.waiting())
            return self.deliveries.work(limit)
        except OSError as error:
            logger.error("records: the webhook's queue: %s", error)
            return RETRY_EVERY

    def _placed_again(self, name: str) -> bool:
        waits = self.place.home / WAITING / name
        try:
            copy = self.place.stage(name)
            shutil.copytree(waits, copy)
        except OSError:
            return False
        done = self._placed(name, copy)
        shutil.rmtree(copy, ignore_errors=True)
        if done:
            shutil.rmtree(waits, ignore_errors=True)
        return done

    def _help(self) -> None:
        """Have a thread bring what waits to its place, and tell the webhook, until nothing is left."""
        with self._one_helps:
            self._asked_again = True
            if self._helper is None:
                self._over.clear()
                self._helper = threading.Thread(target=self._try_again, name="records: what waits", daemon=True)
                self._helper.start()

    def _try_again(self) -> None:
        wait: float | None = 0.0
        while not self._over.wait(wait):
            due = self.deliver()
            waits = RETRY_EVERY if self.waiting() and self.settle() else None
            dues = [one for one in (due, waits) if one is not None]
            if not dues:
                with self._one_helps:
                    if self._asked_again:
                        self._asked_again = False
                        wait = 0.0
                        continue
                    self._helper = None
                    return
            wait = min(max(min(dues), SHORTEST_WAIT), RETRY_EVERY)

    def _stop_helping(self) -> None:
        helper = self._helper
        self._over.set()
        if helper is not None:
            helper.join(TIMEOUT)
        self.settle()
        self.deliver(LAST_TRY)

    # -- what the store need not keep any more

    async def _lighten(self, store: Store) -> None:
        """Of calls that have ended a while ago, and have their record, the store keeps the ledger alone."""
        if self._lightened is not None and time.monotonic() - self._lightened < LIGHTEN_EVERY:
            return
        self._lightened = time.monotonic()
        before = time.time() - LIVE
        found = await store.calls(held=False, most=_MOST_LIGHTENED)
        ended = [info.id for info in found if info.meta.ended is not None and info.meta.ended < before]
        news = [call for call in ended if call not in self._light]
        for call in await asyncio.to_thread(self._known, news) if news else ():
            try:
                await store.erase(call=call, keep_rows=True)
                self._light.add(call)
            except StoreError as error:  # it goes on after all, or the store is busy: the next look finds it
                logger.debug("records: the store keeps all of %s: %s", call, error)
                break

    def _known(self, calls: Sequence[str]) -> list[str]:
        """Those of these calls that have a record."""
        try:
            known = {row["id"] for row in self.index.ask("SELECT id FROM records")}
        except OSError as error:
            logger.warning("records: the index of %s: %s", self, error)
            return []
        return [call for call in calls if call in known]

    # -- for how long

    def tidy(self) -> int:
        """Remove what is older than `days`. Waits for the disk. Returns how many there were."""
        self._tidied = time.monotonic()
        return 0 if self._days is None else self.prune(time.time() - 86_400 * self._days)

    def prune(self, before: float, *, keep: Callable[[Record], bool] = lambda record: False) -> int:
        """Remove records of calls that began before this time, but for those of which `keep` says so."""
        limit, removed = name_of("", before)[:15], 0
        for name in self.place.names():
            if name[:15] >= limit:
                break
            try:
                if not keep(self.place.record(name)):
                    removed += self.remove(name)
            except Exception as error:
                pass_on(error)
                logger.warning("records: %s could not be removed: %s", name, error)
        return removed

    def remove(self, name: str) -> bool:
        """Take a record away for good, and out of the index. Raises `OSError`."""
        waits = self.place.home / WAITING / name
        waited = waits.is_dir()
        shutil.rmtree(waits, ignore_errors=True)
        removed = self.place.remove(name)
        self.index.forget(name)
        self.deliveries.forget(name)
        return removed or waited
