"""The XML that a carrier's requests are answered with: TwiML, which Telnyx reads as TeXML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from antiphon.transports.telephone import Dialect

MEDIA_TYPE = "text/xml; charset=utf-8"
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def connect(dialect: Dialect, stream: str, *, parameters: Mapping[str, str], action: str) -> str:
    """Talk to the agent by the stream at this address. When it has ended, and the call has not, ask `action`."""
    attributes = _attributes({"url": stream, **dialect.stream_attributes})
    given = "".join(f"<Parameter{_attributes({'name': name, 'value': parameters[name]})}/>" for name in parameters)
    return _response(
        f"<Connect{_attributes({'action': action, 'method': 'POST'})}><Stream{attributes}>{given}</Stream></Connect>"
    )


def hang_up(line: str = "", *, language: str = "") -> str:
    """Say the line, if there is one, and end the call."""
    return _response(f"{_say(line, language)}<Hangup/>")


def refuse() -> str:
    """Do not answer the call: the caller hears that the line is busy, and pays nothing."""
    return _response('<Reject reason="busy"/>')


def nothing() -> str:
    """Nothing is to be done."""
    return _response("")


def announce(summary: str, accept_line: str, *, accept: str, language: str = "") -> str:
    """Tell the person called what it is about, and ask whether they take the call: a key asks `accept`."""
    gather = _attributes({"numDigits": "1", "timeout": "10", "action": accept, "method": "POST"})
    said = _say(summary, language) + _say(accept_line, language)
    return _response(f"<Gather{gather}>{said}</Gather><Hangup/>")


def conference(name: str) -> str:
    """Talk to whoever is in the conference of this name. It ends with the first who leaves."""
    how = _attributes({"beep": "false", "endConferenceOnExit": "true", "startConferenceOnEnter": "true"})
    return _response(f"<Dial><Conference{how}>{escape(_writable(name))}</Conference></Dial><Hangup/>")


def _response(content: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{content}</Response>'


def _say(line: str, language: str) -> str:
    if not line.strip():
        return ""
    return f"<Say{_attributes({'language': language}) if language else ''}>{escape(_writable(line))}</Say>"


def _attributes(attributes: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(_writable(value))}" for name, value in attributes.items())


def _writable(text: str) -> str:
    """The text without what no XML may hold."""
    return _UNWRITABLE.sub("\ufffd", text)
