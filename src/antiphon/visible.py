r"""Text that strangers wrote, as it may be shown: on a terminal, in a log, in a report, as JSON.

A caller, a model, a tool, a server or an agent file may write characters that do something: move the cursor, retitle
the window, begin a line of a log, turn the direction of what follows. They are written as an escape, for example
`\x1b`, where people read; in JSON that a machine reads, as JSON's own escape, which loses nothing.

Above: everything that shows or files text. Below: nothing.
"""

from __future__ import annotations

import json
import logging
import math
import re
import traceback
from collections.abc import Mapping
from functools import partial
from typing import Any

from antiphon.secrets import without_secrets
from antiphon.vault import hide

LONGEST_SHOWN = 2_000
"""Characters of one text that a line on a terminal or in a log needs at most."""

LONGEST_LOGGED = 20_000
"""Characters of one record of a log, and of its traceback: it may quote what a service answered."""

SPARING = 60.0
"""Seconds between two lines of the log about the same trouble."""

LONGEST_NAME = 80
"""The same of the name of a tool."""

# Control characters (C0 but for tab and line feed, DEL, C1), line and paragraph separators, what turns the direction of
# text, and halves of surrogate pairs, which no terminal and no file can be given.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")
_LOGGERS = ("", ".livekit", ".realtime", ".stt", ".tools", ".tts")


def visible(text: str) -> str:
    """The text with an escape in place of each character that would act. Line breaks and tabs stay."""
    return text if text.isascii() and text.isprintable() else _ACTS.sub(_escape, text.replace("\r\n", "\n"))


def well_formed(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair: such a half cannot be sent. It comes of cut JSON.

    All text that may enter a history passes here (`chat`, `runtime.driver`), so that no request of a provider, no
    report and no journal can fail for it.
    """
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def well_formed_data(value: Any) -> Any:
    """Data made of JSON, with every text in it well-formed."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed_data(key): well_formed_data(one) for key, one in value.items()}
    if isinstance(value, list):
        return [well_formed_data(one) for one in value]
    return value


def one_line(text: str, limit: int | None = LONGEST_SHOWN) -> str:
    r"""The same on one line, with `\n` for a line break, cut after `limit` characters. None: it is not cut."""
    text = visible(text if limit is None else shortened(text, limit))
    return text.replace("\n", "\\n").replace("\t", "\\t")


def shortened(text: str, limit: int) -> str:
    """The first `limit` characters, and how many there were if that is not all."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def visible_data(value: Any, limit: int | None = None) -> Any:
    """Data made for JSON, with every text in it visible, and cut after `limit` characters."""
    if isinstance(value, str):
        return visible(value if limit is None else shortened(value, limit))
    if isinstance(value, Mapping):
        return {visible(str(key)): visible_data(one, limit) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible_data(one, limit) for one in value]
    return value


def to_json(value: Any, *, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """JSON that every parser takes and every terminal bears; parsed, it is `value`.

    NaN and infinite numbers, which JSON has not, become "NaN", "Infinity" and "-Infinity". What has no form in JSON
    becomes its text.
    """
    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators, default=str)
    try:
        text = dumps(value)
    except (TypeError, ValueError):  # a key that is no text, or a number that JSON has not
        text = dumps(finite(value))
    # Between its texts, JSON has none of these but line feeds.
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def finite(value: Any) -> Any:
    """Data made for JSON, with NaN and infinite numbers as texts, and texts as keys."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value


class VisibleRecords(logging.Filter):
    """Makes what is logged visible: a message is one line, and a traceback holds nothing that acts."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        shown = hide(without_secrets(one_line(message, LONGEST_LOGGED)))
        if shown != message:
            record.msg, record.args = shown, ()
        if record.exc_info and not record.exc_text:
            trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            # Handlers write this in place of what they would make of the exception.
            shown = hide(without_secrets(visible(shortened(trace, LONGEST_LOGGED))))
            record.exc_text = shown if shown != trace else None
        return True


class SparingLog(logging.Filter):
    """Lets `burst` lines through, and then one in `SPARING` seconds, which says how many were left out.

    For the log of what strangers send: who sends nonsense all day shall not fill a disk.
    """

    def __init__(self, burst: float = 10.0) -> None:
        super().__init__()
        self._burst = self._left = burst
        self._at = 0.0
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        self._left = min(self._burst, self._left + (record.created - self._at) / SPARING)
        self._at = record.created
        if self._left < 1:
            self._left_out += 1
            return False
        self._left -= 1
        if self._left_out:
            record.msg = f"{record.getMessage()} ({self._left_out} lines before it were left out)"
            record.args = ()
            self._left_out = 0
        return True


def guard_logs(*libraries: str) -> None:
    """Have all that Antiphon logs be visible, whoever writes it. A second time: no effect.

    `libraries`: loggers of others that quote what strangers send them. Theirs are visible, too, and sparing.
    """
    for name in (*(f"antiphon{part}" for part in _LOGGERS), *libraries):
        logger = logging.getLogger(name)
        if not any(isinstance(one, VisibleRecords) for one in logger.filters):
            if name in libraries:
                logger.addFilter(SparingLog())
            logger.addFilter(VisibleRecords())


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
