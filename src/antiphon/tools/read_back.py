"""What is read back of a call before it is made: its arguments as they are spoken, in the author's words or ours.

Above: the runtime, which has it read back. Below: what the author said (`confirm=`), the language's lines and forms.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import re
from collections.abc import Mapping
from typing import Any

from antiphon.errors import ToolDefinitionError
from antiphon.language.pack import Language
from antiphon.text.spoken import say_date, say_digits, say_time
from antiphon.tools.confirm import Confirm

_LONGEST_NUMBER = 4
"""Digits of a text that are said as a number. A longer one is said digit by digit."""

_FIRST_SENTENCE = re.compile(r"\s*(.+?)(?:[.!](?:\s|$)|\n\s*\n|$)", re.DOTALL)


def read_back_of(
    confirm: Confirm, name: str, description: str, arguments: Mapping[str, Any], language: Language
) -> tuple[str, tuple[str, ...]]:
    """What is read back of a call with these arguments, and those of them, as spoken, that it holds.

    Raises what a function given as `confirm` raises, and `ToolDefinitionError` if it gives no text.
    """
    spoken = {key: said(value, language) for key, value in arguments.items() if value is not None}
    if isinstance(confirm, str):
        text = confirm.format_map({**dict.fromkeys(arguments, ""), **spoken})
    elif callable(confirm):
        text = confirm(arguments)
        if not isinstance(text, str) or not text.strip():
            raise ToolDefinitionError(
                f"tool {name!r}: the function given as confirm= must return a text, got {text!r}."
            )
    else:
        text = _in_our_words(name, description, spoken, language)
    text = " ".join(text.split())
    folded = text.casefold()
    return text, tuple(value for value in spoken.values() if value and value.casefold() in folded)


def _in_our_words(name: str, description: str, spoken: Mapping[str, str], language: Language) -> str:
    lines = language.consent_lines
    first = _FIRST_SENTENCE.match(description)
    what = first.group(1).strip() if first else name.replace("_", " ")
    values = lines.between.join(
        lines.value.format(name=key.replace("_", " "), value=value) for key, value in spoken.items()
    )
    return lines.what.format(what=what, values=values) if values else f"{what}."


def said(value: Any, language: Language) -> str:
    """A value of an argument as a voice says it."""
    forms, lines = language.spoken, language.consent_lines
    if isinstance(value, bool):
        return lines.yes if value else lines.no
    if isinstance(value, enum.Enum):
        return said(value.value if isinstance(value.value, str) else value.name.lower(), language)
    if isinstance(value, str):
        return _text_said(value.strip(), language)
    if isinstance(value, (int, float)):
        number = int(value) if float(value).is_integer() else value
        return forms.digit_names[number] if isinstance(number, int) and 0 <= number <= 9 else str(number)
    if isinstance(value, dt.datetime):
        return f"{say_date(value.date(), forms)}, {say_time(value.time(), forms)}"
    if isinstance(value, dt.date):
        return say_date(value, forms)
    if isinstance(value, dt.time):
        return say_time(value, forms)
    return _parts_said(value, language)


def _parts_said(value: Any, language: Language) -> str:
    lines = language.consent_lines
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        value = dump()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        pairs = ((str(key), said(one, language)) for key, one in value.items() if one is not None)
        return lines.between.join(lines.value.format(name=key.replace("_", " "), value=one) for key, one in pairs)
    if isinstance(value, (list, tuple, set, frozenset)):
        return lines.between.join(said(one, language) for one in value)
    return str(value)


def _text_said(text: str, language: Language) -> str:
    """Dates and times as they are written for machines, and long numbers, are said as people say them."""
    if text[:1].isdigit() or text[:1] == "+":
        for kind in (dt.date, dt.time, dt.datetime):
            try:
                if len(text) >= len("7:30"):
                    return said(kind.fromisoformat(text), language)
            except ValueError:
                continue
        digits = re.sub(r"[\s().-]", "", text)
        if re.fullmatch(r"\+?\d+", digits) and len(digits) > _LONGEST_NUMBER:
            return say_digits(text, language.spoken)
    if "_" in text and " " not in text:
        return text.replace("_", " ")
    return text
