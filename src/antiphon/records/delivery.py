"""Records told to a webhook: at least once, with an id, signed, tried again across restarts, and bounded.

What is to be told is written into a queue on disk before its record appears, so a process that is killed in between
forgets nothing: whoever opens the place next tells it. A receiver that sees an id twice has seen it twice for a reason
(its answer was lost), and takes the second for nothing.

Requests are those of Standard Webhooks: `webhook-id`, `webhook-timestamp`, and `webhook-signature`, which is `v1,` and
the HMAC-SHA256, in base64, of `id.timestamp.body`.

Above: `Records`, `antiphon calls`. Below: SQLite, and the standard library's HTTP. It waits: call it in a thread.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import http.client
import logging
import math
import os
import sqlite3
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from antiphon import private
from antiphon.errors import UsageError
from antiphon.records.format import Record
from antiphon.secrets import without_secrets
from antiphon.visible import one_line, to_json

logger = logging.getLogger("antiphon")

FILE = "deliveries.db"

EVENT = "call.recorded"
"""The type of what is told."""

TIMEOUT = 10.0
"""Seconds that a receiver has to answer."""

FIRST_DELAY, LONGEST_DELAY = 5.0, 3600.0
"""Seconds between the first try and the second; each further wait is three times as long, up to an hour."""

GIVE_UP = 3 * 86_400.0
"""Seconds after which a receiver that never took it is not asked any more."""

MOST_WAITING = 10_000
"""Deliveries that may wait. Of more, the oldest are given up."""

LONGEST_BODY = 1_000_000
"""Bytes of a body. A longer record is told without what was said: the receiver reads it in its place."""

CLAIM = 60.0
"""Seconds for which a process that tries a delivery has it for itself."""

PREPARED = 3600.0
"""Seconds after which a record that has not appeared will not."""

KEPT = 1_000
"""Deliveries that are done or given up, and are still known."""

_PREFIX = "whsec_"

_TABLES = """
CREATE TABLE IF NOT EXISTS deliveries (
  id TEXT PRIMARY KEY, name TEXT, url TEXT, body BLOB, state TEXT, made REAL, due REAL, tries INTEGER, why TEXT
);
CREATE INDEX IF NOT EXISTS deliveries_by_state ON deliveries (state, due);
"""


@dataclass(slots=True, frozen=True, repr=False)
class Webhook:
    """Who is told of each record.

    Args:
        url: "https://...". "http://" is for this machine and for networks that are yours.
        secret: What requests are signed with, 16 characters or more; "whsec_..." as Standard Webhooks write it, in
            base64. By default `ANTIPHON_WEBHOOK_SECRET` of the environment. Raises `UsageError` where there is none.
    """

    url: str
    secret: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"Webhook: expected an address such as https://example.com/calls, got {without_secrets(self.url)!r}."
            )
        if len(self._given) < 16:
            raise UsageError(
                "Webhook: expected a secret of 16 characters or more, to sign requests with. Give secret=, or set"
                " ANTIPHON_WEBHOOK_SECRET."
            )

    def __repr__(self) -> str:
        return f"Webhook({without_secrets(self.url)!r})"

    @property
    def _given(self) -> str:
        return self.secret or os.environ.get("ANTIPHON_WEBHOOK_SECRET", "")

    @property
    def key(self) -> bytes:
        """What signatures are made with."""
        given = self._given
        if given.startswith(_PREFIX):
            with contextlib.suppress(binascii.Error, ValueError):
                return base64.b64decode(given.removeprefix(_PREFIX), validate=True)
        return given.encode()

    def headers(self, delivery: str, body: bytes, at: float) -> dict[str, str]:
        """Those of a request that is sent now."""
        return {
            "content-type": "application/json",
            "user-agent": "antiphon",
            "webhook-id": delivery,
            "webhook-timestamp": str(int(at)),
            "webhook-signature": signature(self.key, delivery, int(at), body),
        }


def signature(key: bytes, delivery: str, timestamp: int, body: bytes) -> str:
    """What `webhook-signature` must be: compare with `hmac.compare_digest`, and refuse old timestamps."""
    signed = f"{delivery}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def delivery_id(name: str, url: str) -> str:
    """The same for the same record and receiver, whoever tells it and however often."""
    return f"msg_{hashlib.sha256(f'{name} {url}'.encode()).hexdigest()[:32]}"


def body_of(head: Mapping[str, Any], metrics: Mapping[str, Any], name: str, place: str) -> bytes:
    """What is told of a record: its head and figures, and where it is."""
    record = {key: value for key, value in head.items() if key != "files"}
    record |= {key: metrics[key] for key in ("metrics", "latency", "usage", "cost") if key in metrics}
    told = {"type": EVENT, "name": name, "place": place}
    body = to_json(told | {"record": record}).encode()
    if len(body) > LONGEST_BODY:
        short = {key: value for key, value in record.items() if key not in _LONG} | {"shortened": True}
        body = to_json(told | {"record": short}).encode()
    return body


_LONG = ("turns", "tool_calls", "errors", "claims", "userdata", "tools", "unheard", "failed_tools", "missing")


class Deliveries:
    """What is to be told of the records of one place: a queue on disk, beside the index."""

    def __init__(self, home: Path, webhook: Webhook | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.path = home / FILE
        self.webhook = webhook
        self._clock = clock

    def prepare(self, name: str, body: bytes) -> None:
        """A record is about to appear. Raises `OSError`: then it would not be told."""
        assert self.webhook is not None
        now, url = self._clock(), self.webhook.url
        with self._opened() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO deliveries VALUES (?, ?, ?, ?, 'prepared', ?, ?, 0, '')",
                (delivery_id(name, url), name, url, body, now, now),
            )

    def ready(self, name: str) -> None:
        """The record is there: tell it."""
        with self._opened() as connection:
            connection.execute("UPDATE deliveries SET state = 'waiting' WHERE name = ? AND state = 'prepared'", (name,))

    def recover(self, exists: Callable[[str], bool]) -> None:
        """What another process prepared and left: told if its record is there, forgotten if it will never be."""
        with self._opened() as connection:
            rows = connection.execute("SELECT name, made FROM deliveries WHERE state = 'prepared'").fetchall()
            for name, made in rows:
                if exists(name):
                    connection.execute("UPDATE deliveries SET state = 'waiting' WHERE name = ?", (name,))
                elif self._clock() - made > PREPARED:
                    connection.execute("DELETE FROM deliveries WHERE name = ?", (name,))

    def forget(self, name: str) -> None:
        """Its record was removed: nothing of it stays, told or not."""
        if self.path.exists():
            with self._opened() as connection:
                connection.execute("DELETE FROM deliveries WHERE name = ?", (name,))

    def listed(self, most: int = 50) -> list[dict[str, Any]]:
        """Those that wait or were given up, and the last that were taken, the latest first."""
        if not self.path.exists():
            return []
        fields = "id, name, url, state, made, due, tries, why"
        with self._opened() as connection:
            rows = connection.execute(f"SELECT {fields} FROM deliveries ORDER BY made DESC LIMIT ?", (most,)).fetchall()
        return [dict(zip(fields.split(", "), row, strict=True)) for row in rows]

    def work(self, limit: float = math.inf) -> float | None:
        """Try all that is due, once each, beginning none after `limit` seconds.

        Returns in how many seconds there is more to do; None: nothing waits.
        """
        if self.webhook is None or not self.path.exists():
            return None
        until = time.monotonic() + limit
        while time.monotonic() < until and (claimed := self._claim()) is not None:
            delivery, body, made, tries = claimed
            why = self._sent(delivery, body)
            self._settle(delivery, made, tries + 1, why)
        with self._opened() as connection:
            (due,) = connection.execute(
                "SELECT min(due) FROM deliveries WHERE state = 'waiting' AND url = ?", (self.webhook.url,)
            ).fetchone()
        return None if due is None else max(0.0, due - self._clock())

    def _claim(self) -> tuple[str, bytes, float, int] | None:
        """One that is due, for this process alone for a while."""
        assert self.webhook is not None
        now = self._clock()
        with self._opened() as connection:
            row = connection.execute(
                "SELECT id, body, made, tries FROM deliveries WHERE state = 'waiting' AND due <= ? AND url = ?"
                " ORDER BY made LIMIT 1",
                (now, self.webhook.url),
            ).fetchone()
            if row is not None:
                connection.execute("UPDATE deliveries SET due = ? WHERE id = ?", (now + CLAIM, row[0]))
        return row if row is None else (row[0], row[1], row[2], row[3])

    def _sent(self, delivery: str, body: bytes) -> str:
        """Why it was not taken; "": it was."""
        assert self.webhook is not None
        try:
            status = _post(self.webhook, delivery, body, self._clock())
        except (OSError, http.client.HTTPException, ValueError) as error:
            return one_line(without_secrets(f"{type(error).__name__}: {error}"), 300)
        return "" if 200 <= status < 300 else f"it answered {status}"

    def _settle(self, delivery: str, made: float, tries: int, why: str) -> None:
        now = self._clock()
        state, due = "taken", now
        if why:
            due = now + min(LONGEST_DELAY, FIRST_DELAY * 3.0 ** (tries - 1))
            state = "given up" if due - made > GIVE_UP else "waiting"
            logger.warning("records: the webhook did not take %s (try %d): %s", delivery, tries, why)
        if state == "given up":
            logger.error("records: %s was not taken in %g h, and is given up", delivery, GIVE_UP / 3600)
        body = "" if state == "waiting" else ", body = NULL"
        with self._opened() as connection:
            connection.execute(
                f"UPDATE deliveries SET state = ?, due = ?, tries = ?, why = ?{body} WHERE id = ?",
                (state, due, tries, why, delivery),
            )
            self._bound(connection)

    def _bound(self, connection: sqlite3.Connection) -> None:
        """Neither what waits nor what is over fills a disk."""
        late = "SELECT id FROM deliveries WHERE state = 'waiting' ORDER BY made DESC LIMIT -1 OFFSET ?"
        dropped = connection.execute(
            f"UPDATE deliveries SET state = 'given up', body = NULL, why = 'too many waited' WHERE id IN ({late})",
            (MOST_WAITING,),
        ).rowcount
        if dropped:
            logger.error("records: %d deliveries were given up: more than %d waited", dropped, MOST_WAITING)
        over = "SELECT id FROM deliveries WHERE state IN ('taken', 'given up') ORDER BY made DESC LIMIT -1 OFFSET ?"
        connection.execute(f"DELETE FROM deliveries WHERE id IN ({over})", (KEPT,))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        private.claim(self.path)
        try:
            connection = sqlite3.connect(self.path, timeout=10.0, isolation_level=None)
            try:
                connection.executescript(f"PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; {_TABLES}")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise OSError(f"{self.path}: {error}") from error


def told_of(record: Record, place: str) -> bytes:
    """The body for a record that is there already."""
    return body_of(record.head, record.metrics, record.name, place)


def _post(webhook: Webhook, delivery: str, body: bytes, at: float) -> int:
    """The status of the answer. Redirects are not followed: they are an answer that is no yes."""
    parts = urlsplit(webhook.url)
    host = parts.hostname or ""
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, parts.port, timeout=TIMEOUT, context=context)
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=TIMEOUT)
    headers = webhook.headers(delivery, body, at)
    if parts.username:
        login = base64.b64encode(f"{parts.username}:{parts.password or ''}".encode()).decode()
        headers["authorization"] = f"Basic {login}"
    path = parts.path or "/"
    try:
        connection.request("POST", f"{path}?{parts.query}" if parts.query else path, body, headers)
        answer = connection.getresponse()
        answer.read(1000)
        return answer.status
    finally:
        connection.close()
