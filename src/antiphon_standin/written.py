"""Values in the form that a slot documents: its examples and its description show how dates, times and codes look.

Below: `slots`, `moments`. Above: `typed`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

from antiphon_standin import moments
from antiphon_standin.kinds import words_of
from antiphon_standin.people import PersonName
from antiphon_standin.slots import Slot
from antiphon_standin.understand import Kind, Value
from antiphon_standin.words import stem


def write(slot: Slot, value: Value | bool, today: dt.date, offered: Sequence[tuple[int, int]] = ()) -> Any:
    """A typed value in the form that the slot documents."""
    if isinstance(value, moments.Day):
        return _write_day(slot, _looked_back(slot, value, today))
    if isinstance(value, moments.Clock):
        return _write_clock(slot, value, offered)
    if isinstance(value, PersonName):
        return _write_name(slot, value.text)
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and (slot.kind is not Kind.CODE or slot.json_type == "integer"):
        if slot.json_type == "integer":
            return int(value)
        return (
            float(value)
            if slot.json_type == "number" and value != int(value)
            else (value if slot.json_type != "string" else str(value))
        )
    if slot.kind is Kind.CODE and slot.json_type == "integer":
        return int(value) if str(value).isdigit() else value
    if slot.kind is Kind.CODE:
        return _shaped_code(slot, str(value))
    if slot.kind is Kind.PHONE:
        return _shaped_digits(slot, str(value))
    return value


_PAST = re.compile(r"\b(?:was|were|happened|took place|began|started|since|occurred|ago|incident)\b")


def looks_back(slot: Slot) -> bool:
    """True for a parameter that is about what has been: "the day on which it happened"."""
    about = f"{slot.label} {slot.description.lower()}"
    return bool(_PAST.search(about)) or bool({stem("birth"), stem("born")} & (slot.stems | slot.name_stems))


def _looked_back(slot: Slot, day: moments.Day, today: dt.date) -> moments.Day:
    """The day that was meant where a parameter is about what has been: the last one of that name, not the next."""
    if day.date <= today or day.year is not None or not looks_back(slot):
        return day
    if day.weekday:
        return dataclasses.replace(day, date=day.date - dt.timedelta(days=7 * -((today - day.date).days // 7)))
    if day.named:
        return dataclasses.replace(day, date=day.date.replace(year=day.date.year - 1))
    return day


def _write_day(slot: Slot, day: moments.Day) -> str:
    text = slot.description.lower()
    if day.year is not None and {stem("birth"), stem("born"), "dob"} & (slot.stems | slot.name_stems):
        day = dataclasses.replace(day, date=day.date.replace(year=day.year), text=f"{day.text} {day.year}")
    if (
        slot.form == "date"
        or "yyyy-mm-dd" in text
        or "iso" in text.split()
        or any(re.fullmatch(r"\d{4}-\d\d-\d\d", e) for e in slot.examples)
    ):
        return day.date.isoformat()
    if re.search(r"mm/dd/yyyy", text):
        return day.date.strftime("%m/%d/%Y")
    if re.search(r"dd/mm/yyyy", text):
        return day.date.strftime("%d/%m/%Y")
    lower = {e.lower() for e in slot.examples}
    weekdays = {w.lower() for w in moments.WEEKDAYS}
    if (lower and lower <= weekdays) or (not lower and re.search(r"day of (the )?week|weekday", text)):
        name = moments.WEEKDAYS[day.date.weekday()]
        return name.lower() if slot.examples and slot.examples[0].islower() else name
    months = {m.lower() for m in moments.MONTHS}
    if day.named and any(e.split()[0] in months and len(e.split()) == 2 for e in lower):
        return moments.month_day(day.date)
    if day.named and day.text[0].isdigit() and "/" in day.text:
        return moments.month_day(day.date)
    return re.sub(r"\b(" + "|".join(moments.MONTHS) + r")\b", lambda m: m[0].capitalize(), day.text, flags=re.I)


def _write_clock(slot: Slot, clock: moments.Clock, offered: Sequence[tuple[int, int]]) -> str:
    text = slot.description
    examples = slot.examples
    # A tool that shows a morning time is for people who may come at eight.
    early = any(hour < 12 for example in examples for hour, _ in moments.times_in(example))
    hour, minute = clock.resolved(offered, day_begins=8 if early else 9)

    if (
        slot.form == "time"
        or re.search(r"24.?hour|\bHH:MM\b", text)
        or any(re.fullmatch(r"\d{2}:\d{2}", e) for e in examples)
    ):
        return f"{hour:02d}:{minute:02d}"
    if any(re.search(r"\d:\d\d\s?[AaPp]\.?[Mm]", e) for e in examples):
        spaced = any(re.search(r"\d\s[AaPp]", e) for e in examples)
        written = moments.twelve_hour(hour, minute)
        if any(re.search(r"[ap]m", e) for e in examples):
            written = written.lower()
        return written if spaced else written.replace(" ", "")
    if any(re.search(r"\d\s?[AaPp]\.?[Mm]", e) for e in examples):
        written = moments.twelve_hour(hour, minute, minutes_always=False)
        if any(re.search(r"\d\s?[ap]m", e) for e in examples):
            written = written.lower()
        return written if any(re.search(r"\d\s[AaPp]", e) for e in examples) else written.replace(" ", "")
    return moments.twelve_hour(hour, minute)


def _write_name(slot: Slot, name: str) -> str:
    parts = words_of(slot.name).split()
    if ("first" in parts or "given" in parts) and " " in name:
        return name.split()[0]
    if ("last" in parts or "surname" in parts or "family" in parts) and " " in name:
        return name.split(" ", 1)[1]
    return name


def _shaped_code(slot: Slot, code: str) -> str:
    shapes = [e for e in slot.examples if any(c.isdigit() for c in e)]
    if not shapes:
        return code.upper() if any(c.isalpha() for c in code) and len(code) <= 14 else code
    shape = shapes[0]
    bare = re.sub(r"[^A-Za-z\d]", "", code)
    if "-" not in shape and " " not in shape:
        code = bare
    elif len(bare) == len(re.sub(r"[^A-Za-z\d]", "", shape)):
        letters = iter(bare)
        code = "".join(next(letters) if c.isalnum() else c for c in shape)
    elif "-" in shape and "-" not in code:
        code = re.sub(r"(?<=[A-Za-z])(?=\d)", "-", bare, count=1)
    return code.lower() if shape == shape.lower() and any(c.isalpha() for c in shape) else code.upper()


def _shaped_digits(slot: Slot, phone: str) -> str:
    for shape in slot.examples:
        if sum(c.isdigit() for c in shape) == sum(c.isdigit() for c in phone) and any(c.isdigit() for c in shape):
            digits = (c for c in phone if c.isdigit())
            return "".join(next(digits) if c.isdigit() else c for c in shape)
    return phone
