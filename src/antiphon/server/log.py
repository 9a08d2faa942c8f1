"""Logs of processes that run calls: lines for people, or JSON for a collector, with the call that each is about.

Above: commands, which set up the log of their process. Below: the job that is current where something is logged.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from antiphon.errors import UsageError
from antiphon.protocols import current_job
from antiphon.server.job import JobContext
from antiphon.session_api import current_session
from antiphon.visible import to_json

LogFormat: TypeAlias = Literal["text", "json"]

LEVELS = ("debug", "info", "warning", "error", "critical")


def level_from(*names: str | None) -> str | None:
    """The first of these levels that is given, else ANTIPHON_LOG_LEVEL or LIVEKIT_LOG_LEVEL. Raises `UsageError`."""
    found = next(
        (name for name in (*names, os.environ.get("ANTIPHON_LOG_LEVEL"), os.environ.get("LIVEKIT_LOG_LEVEL")) if name),
        None,
    )
    if found is None:
        return None
    level = {"warn": "warning", "trace": "debug", "dev": "debug"}.get(found.lower(), found.lower())
    if level not in LEVELS:
        raise UsageError(f"log level: expected {', '.join(LEVELS)}, got {found!r}.")
    return level


def fields_of_call() -> dict[str, Any]:
    """What belongs into each line of the log about the call that is current here; {} outside of calls."""
    job, session = current_job.get(), current_session.get()
    # An entrypoint may have put fields of its own in the place of those that were there.
    fields = {"call": job.job.call_id} | job.log_context_fields if isinstance(job, JobContext) else {}
    if session is not None:  # one that runs beside the job's own is another call
        fields["call"] = session.call_id
    return fields


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, the fields of the call, and the error if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        line |= {key: value for key, value in fields_of_call().items() if key not in line}
        if record.exc_text or record.exc_info:
            line["error"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return to_json(line, separators=(",", ":"))
