"""What names and descriptions say, by their words. English: it is what they are written in.

Above: rules. Below: nothing.
"""

from __future__ import annotations

import re
from typing import Final

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-\s]+")
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")

READING: Final = frozenset("get fetch find look lookup retrieve read search query show list check view load".split())
WRITING: Final = frozenset(
    "book reserve schedule reschedule cancel create insert update delete remove erase send email pay charge refund wire"
    " order place buy purchase submit register subscribe unsubscribe upload publish assign dispatch ship redeem enroll"
    " activate deactivate block unblock issue terminate post transfer withdraw deposit move change rename add save set"
    " modify approve reject lock unlock".split()
)
"""First words of tools that change the world."""
WRITING_LAST: Final = frozenset("create update delete cancel send remove".split())
"""The same as last words, behind a service and a resource."""
GRAVE: Final = frozenset("pay charge refund wire delete erase terminate".split())
"""What cannot be taken back, or costs money."""
GENERIC: Final = frozenset(
    "get gets fetch fetches data info information thing things stuff do does handle handles process processes run runs"
    " execute executes function tool method helper result results value values item object call calls perform performs"
    " operation action manage manages utility return returns the a an this that some it of for from to with and"
    " or".split()
)
_STOP: Final = frozenset(
    "the a an this that some it of for from to with and or in on by is are be as at its their his her your".split()
)

WHEN: Final = re.compile(
    r"\b(when|whenever|if|once|after|before|only|until|unless|while|instead|rather|don't|do not|never|not"
    r"|use (this|it)|call (this|it))\b",
    re.IGNORECASE,
)
"""A description says when to call, or when not to."""
EXAMPLE: Final = re.compile(
    r"\d|[\"'\u201c`][^\"'\u201d`]+[\"'\u201d`]|[A-Z]{3}\b"
    r"|\b(YYYY|HH|MM|ISO|e\.g|eg|such as|for example|for instance|format|letters?|natural|words?)\b"
    r"|\bas (the )?(caller|user|they|people) sa\w+"
)
"""A description gives an example, or names a format."""

FREE_TEXT: Final = frozenset(
    "note notes comment comments message text reason description summary details body subject remark remarks"
    " requests instructions wishes".split()
)
"""Last words of parameters that a model words anew each time."""
VAGUE: Final = frozenset(
    "value values data input inputs arg args argument info params param kind type mode flag option options payload text"
    " item items thing what number query x y z a b c n obj object content contents key code ref".split()
)
"""Last words of parameters that may be anything."""
FORMATTED: Final = frozenset("date time datetime timestamp phone currency country locale timezone duration".split())
"""Last words of parameters whose format no type can say."""


def parts_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: `search_customer_by_id`, `searchCustomerById`."""
    return tuple(part.lower() for part in _CAMEL.split(name) if part)


def stem(word: str) -> str:
    """A word without the endings by which names differ for no reason."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def content_of(text: str) -> frozenset[str]:
    """The words of a text that carry it."""
    return frozenset(stem(word.lower()) for word in _WORD.findall(text) if word.lower() not in _STOP)


def verb_of(name: str) -> str:
    """The word of a tool's name that says what it does, if it writes: "" if it does not say so."""
    parts = parts_of(name)
    if parts and parts[0] in WRITING:
        return parts[0]
    return parts[-1] if len(parts) > 2 and parts[-1] in WRITING_LAST else ""


def is_generic(text: str) -> bool:
    """Whether a description says nothing: "Gets data."."""
    return all(word.lower() in GENERIC for word in _WORD.findall(text))


def is_echo(text: str, name: str) -> bool:
    """Whether a description is one word, which the name of the tool has, too."""
    words = [word.lower() for word in _WORD.findall(text) if word.lower() not in GENERIC]
    return len(words) == 1 and stem(words[0]) in {stem(part) for part in parts_of(name)}
