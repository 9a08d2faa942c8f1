"""The page of a record: the one of `calls.report`, made of what lies in the record, with nothing beside it.

Above: `antiphon report`. Below: the record, and the page.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from antiphon.calls.report import said_when, write_page
from antiphon.errors import AntiphonError
from antiphon.records.findings import Finding, findings_in
from antiphon.records.format import AUDIO, Record
from antiphon.records.steps import handoffs_in, ledger_rows, steps_in, steps_of

MOST_SOUND = 64_000_000
"""Bytes of a recording that a page has in it. A longer one stays in the record."""


def page_data(record: Record, findings: Sequence[Finding] | None = None) -> dict[str, Any]:
    """What `report.html` shows. `findings`: by default what is found in it alone. Raises `RecordError`."""
    if findings is None:
        findings = findings_in(record.head, record.metrics)
    head, figures = record.head, record.metrics
    steps, unread = _steps(record)
    data = {
        "title": head.get("title") or "Call",
        "when": said_when(datetime.fromtimestamp(record.began)),
        "models": head.get("models", ""),
        "duration": max(head.get("duration", 0.0), 0.001),
        "voice": bool(head.get("voice")),
        "turns": head["turns"],
        "tools": head["tool_calls"],
        "latency": figures.get("latency", {}).get("voice_to_voice_ms", {"p50": None, "p95": None, "values": []}),
        "replies": figures.get("replies", []),
        "metrics": figures.get("metrics", {}),
        "userdata": head.get("userdata"),
        "errors": head["errors"],
        "claims": head.get("claims", []),
        "must_hear": head.get("must_hear", []),
        "answered": head.get("answered", []),
        "message_left": head.get("message_left"),
        "unheard": head.get("unheard", []),
        "missing": [*head.get("missing", []), *unread],
        "usage": figures.get("usage", {}),
        "cost": figures.get("cost"),
        "ledger": ledger_rows(record.ledger),
        "handoffs": handoffs_in(record.history, record.began),
        "steps": steps,
        "findings": [asdict(one) for one in findings],
        "audio": None,
        "peaks": None,
        "cuts": [],
        "gaps": [],
    }
    return data | dict(record.sound)


def _steps(record: Record) -> tuple[list[dict[str, Any]], list[str]]:
    """The steps of its model, and why their requests cannot be read, if they cannot: the rest of the call can."""
    try:
        return steps_of(record), []
    except AntiphonError as error:
        return steps_in(record.metrics.get("replies", ()), record.history, record.began), [str(error)]


def write_report(record: Record, path: Path, findings: Sequence[Finding] | None = None, *, sound: bool = True) -> bool:
    """Write the page, in one file. Returns whether the recording is in it. Raises `RecordError` and `OSError`."""
    data = page_data(record, findings)
    audio = record.files.read(AUDIO) if sound else None
    if audio is not None and len(audio) <= MOST_SOUND:
        data["audio"] = f"data:audio/wav;base64,{b64encode(audio).decode()}"
    write_page(path, data)
    return data["audio"] is not None
