"""What a command says on standard error: the log of the call, and the one line that ends a command that cannot go on.

Each error is told once, when it happens, with the line of the user's code; whoever sums up at the end asks `was_told`.

Above: `main`, `parser`, `screen`. Below: Python's logging.
"""

from __future__ import annotations

import logging
import sys
from collections import deque

from antiphon.calls.where import at_users_line
from antiphon.errors import AntiphonError
from antiphon.visible import VisibleRecords, one_line

_REMEMBERED = 200
"""Lines of the log that are known at the end of a call."""


def tell(error: AntiphonError, *, debug: bool) -> int:
    """Say why a command cannot go on. Returns its exit code."""
    if debug:
        logging.getLogger("antiphon").error("the command failed", exc_info=error)
    print("antiphon: " + one_line(" ".join(str(error).split())), file=sys.stderr)
    return 2


_ENOUGH = 200
"""Characters by which an error is known again: long ones are cut, not everywhere at the same place."""


class _Log(logging.StreamHandler):  # type: ignore[type-arg]  # its parameter is of no use here
    """The log on standard error, and what it has said."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.said: deque[str] = deque(maxlen=_REMEMBERED)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        self.said.append(text)
        return text


def was_told(told: str) -> bool:
    """Whether the log has said this error: "KeyError: 'shelf'". It may have named another thing before it."""
    text = one_line(told.partition(": ")[2] or told)[:_ENOUGH]
    handlers = [handler for handler in logging.getLogger("antiphon").handlers if isinstance(handler, _Log)]
    return any(text in line for handler in handlers for line in handler.said)


def set_up_logging(*, debug: bool) -> None:
    """Log to standard error: warnings and errors, a line for each; with `debug` all there is, with tracebacks."""
    handler = _Log()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    # A tool that fails is spoken about in the call; its traceback is for --debug.
    if not debug:
        handler.addFilter(_without_traceback)
    handler.addFilter(VisibleRecords())
    logger = logging.getLogger("antiphon")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    logger.propagate = False
    # LiveKit's package warns of what is its own affair.
    logging.getLogger("livekit").setLevel(logging.DEBUG if debug else logging.ERROR)


def tell_from(level: str) -> None:
    """From here on the log tells lines of this level and above, also where it told fewer than others hear of."""
    logger = logging.getLogger("antiphon")
    logger.setLevel(level.upper())
    for handler in logger.handlers:
        if isinstance(handler, _Log):
            handler.setLevel(logging.NOTSET)


def leave_out_words() -> None:
    """From here on an error in the log is its class and the line of the user's code: its words may name persons."""
    for handler in logging.getLogger("antiphon").handlers:
        if _without_traceback in handler.filters:
            handler.removeFilter(_without_traceback)
            handler.filters.insert(0, _without_words)


def _without_words(record: logging.LogRecord) -> bool:
    if record.exc_info and (error := record.exc_info[1]) is not None and not isinstance(error, AntiphonError):
        record.msg, record.args = f"{record.getMessage()}: {type(error).__name__}{at_users_line(error)}", ()
        record.exc_info = record.exc_text = None
    return _without_traceback(record)


def _without_traceback(record: logging.LogRecord) -> bool:
    if record.exc_info and record.exc_info[1] is not None:
        error, text = record.exc_info[1], record.getMessage()
        if not str(error) or str(error) not in text:
            text = f"{text}: {type(error).__name__}: {error}"
        record.msg, record.args = f"{text}{at_users_line(error)}", ()
    record.exc_info = record.exc_text = None
    return True
