"""Secrets in texts: in addresses, in command lines, in what a library says of them.

An address may hold a password (`https://user:password@host`) or a key (`?api_key=...`), a command line a token
(`--token ...`), and errors and logs quote both. Where they are shown, `***` stands for the secret.

Above: errors of providers, the log, the names of MCP servers. Below: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "***"

# What is bounded here keeps the search linear in any text.
_END_OF_NAME = r"(?:key|token|secret|passw|pwd|auth|signature|credential)[\w-]{0,40}"
_NAME = rf"[\w.-]{{0,40}}{_END_OF_NAME}"
_IN_TEXT = re.compile(
    r"(?P<user>://)[^/\s@?#'\"<>]{1,500}(?=@)"
    rf"|(?P<parameter>[?&;]{_NAME}=)[^&\s#'\"<>)]+"
    r"|(?P<header>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(rf"({_END_OF_NAME}=).+", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(rf"-{{1,2}}{_NAME}", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """The text with `***` in place of passwords and keys of addresses, and of what follows "Bearer"."""
    return _IN_TEXT.sub(lambda found: f"{found[found.lastgroup or 0]}{HIDDEN}", text)


def arguments_without_secrets(arguments: Iterable[str]) -> list[str]:
    """A command's arguments, likewise, and with `***` for values of `--api-key`, `TOKEN=` and what is called so."""
    shown: list[str] = []
    hide = False
    for argument in arguments:
        shown.append(HIDDEN if hide else _ASSIGNED.sub(rf"\g<1>{HIDDEN}", without_secrets(argument)))
        hide = not hide and _OPTION.fullmatch(argument) is not None
    return shown
