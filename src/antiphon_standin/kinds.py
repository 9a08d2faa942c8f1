"""What kind of value a parameter takes: by its schema, else by the words of its name, else by its description.

Below: `understand` (the kinds). Above: `slots`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon_standin.understand import Kind


def kind_of(name: str, description: str, schema: Mapping[str, Any], choices: Sequence[Any]) -> Kind:
    """The kind of a parameter, which has a name, a description, a schema and perhaps a closed list of values."""
    parts, text, form = words_of(name).split(), description.lower(), schema.get("format", "")
    head = parts[-1] if parts else ""
    return (
        (Kind.CODE if schema.get("type") == "integer" and not choices and _is_name_of_one(parts, head, text) else None)
        or _by_type(schema.get("type", "string"), choices)
        or {"date": Kind.DATE, "time": Kind.TIME}.get(form)
        or (Kind.NUMBER if _COORDINATES & set(parts) else None)
        or _contact(parts, text, form)
        or _moment(parts, head, text, form)
        or _name(parts, head, text)
        or _by_nouns(set(parts), text)
        or _by_description(text)
        or Kind.THING
    )


def words_of(name: str) -> str:
    """As in "checkAvailability" and "check_availability" become "check availability"."""
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").strip().lower()


_COORDINATES = frozenset("latitude longitude lat lon lng".split())
_PERSON_WORDS = frozenset(
    "full first last sur given family person caller customer client user contact holder host owner guest member your"
    " recipient sender attendee passenger visitor resident tenant student".split()
)
_ROLE = re.compile(r"(?:er|or|ent|ant|ee|ist|ian)$")
_CODES = frozenset("code id number reference ref confirmation pin zip postcode zipcode barcode digits serial".split())
_PLACES = frozenset(
    "address location city place origin destination street pickup dropoff town where from to country area branch"
    " store".split()
)
_NOTES = frozenset(
    "reason note notes message comment comments details description request requests issue problem feedback question"
    " symptoms instructions summary special".split()
)


def _is_name_of_one(parts: Sequence[str], head: str, text: str) -> bool:
    """True for a number that names one thing ("the number of the ticket"), and counts nothing."""
    if head not in ("number", "no", "id", "code", "pin") or parts[:1] == ["how"]:
        return False
    return not re.search(r"how many|\b(?:number|count|amount) of (?!the\b|an?\b)\w+s\b", text)


def _by_type(json_type: str, choices: Sequence[Any]) -> Kind | None:
    if json_type == "boolean":
        return Kind.FLAG
    if choices:
        return Kind.CHOICE
    return Kind.NUMBER if json_type in ("integer", "number") else None


def _contact(parts: Sequence[str], text: str, form: str) -> Kind | None:
    if form == "email" or "email" in parts or "e-mail" in text or "email address" in text:
        return Kind.EMAIL
    if {"phone", "mobile", "telephone", "cell"} & set(parts) or re.search(
        r"\b(phone|mobile|telephone|callback) number", text
    ):
        return Kind.PHONE
    return None


def _moment(parts: Sequence[str], head: str, text: str, form: str) -> Kind | None:
    if "yyyy-mm-dd" in text:
        return Kind.DATE
    if re.search(r"\bhh:mm\b", text):
        return Kind.TIME
    if form == "date-time" or ({"date", "day", "weekday"} & set(parts) and head not in ("name", "time")):
        return Kind.DATE
    return Kind.TIME if head in ("time", "slot", "hour") or "time" in parts else None


def _name(parts: Sequence[str], head: str, text: str) -> Kind | None:
    """A person, or a thing that has a name; None where nothing is named."""
    if "name" in parts or head in ("surname", "firstname", "lastname", "fullname"):
        rest = set(parts) - {"name"}
        if not rest or rest & _PERSON_WORDS or _SPEAKS_OF_PERSON.search(text):
            thing = not rest and re.search(r"\bname of the (?!person|caller|customer|user|client)\w+", text)
            if not thing or any(_ROLE.search(w) for w in thing.group().split()[3:]):
                return Kind.PERSON
        return Kind.PERSON if any(_ROLE.search(word) for word in rest) else Kind.THING
    if parts and set(parts) <= _PERSON_WORDS and re.search(r"\bname\b", text):
        return Kind.PERSON
    return Kind.PERSON if re.search(r"\bfull name\b|\bname of the (?:person|caller|customer)\b", text) else None


_SPEAKS_OF_PERSON = re.compile(
    r"full name|first and last|person|caller|customer|whose name|surname|name (?:is )?under"
    r"|(?:your|their) name|user's"
)


def _by_nouns(parts: set[str], text: str) -> Kind | None:
    if parts & _CODES or re.search(
        r"\b(?:confirmation|reference|tracking|booking|order|account|membership) (?:code|number|id)\b"
        r"|\b(?:code|number) (?:of|for|on)\b",
        text,
    ):
        return Kind.CODE
    if parts & _PLACES:
        return Kind.PLACE
    return Kind.NOTE if parts & _NOTES else None


def _by_description(text: str) -> Kind | None:
    if re.search(r"\b(?:the|a)? ?(?:date|day) (?:of|for|to|on)\b", text):
        return Kind.DATE
    if re.search(r"^(?:the )?(?:\w+ )?time\b", text):
        return Kind.TIME
    return Kind.PLACE if re.search(r"\b(?:address|location|city|where)\b", text) else None
