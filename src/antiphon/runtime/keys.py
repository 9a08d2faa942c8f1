"""Keys: what a backend knows one wish by, however often it hears of it.

Above: the tool runner and the contexts of tools. Below: the core, which numbers the wishes and knows no hashing. A key
is a keyed hash: nobody reads tool or arguments out of it, and no two calls have the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b

from antiphon.core.commands import RunTool
from antiphon.core.facts import Call
from antiphon.core.ledger import tool_of

KEY_LIFETIME = 24 * 3600.0
"""Seconds for which a backend can be expected to know a key. Nothing is tried again with an older one."""

_SIZE = 16


class Keys:
    """The keys of one call. `secret`: of the store that keeps it, so that a wish has one key in every process.

    Without it they are of this process alone.
    """

    __slots__ = ("_call", "_process", "_secret")

    def __init__(self, secret: Callable[[], bytes] | None = None, call: str = "") -> None:
        self._secret = secret or _one_secret()
        self._call = call
        self._process = os.urandom(8).hex()
        """Another process numbers its runs anew."""

    def of(self, command: RunTool) -> str:
        """The key of a run, in 32 hexadecimal digits: equal for runs of one wish, and only for these.

        Two runs of a tool that does not write are two wishes: what such a tool did before is not kept for long.
        """
        call = command.call
        if command.undoes is not None:
            first = self._of(command.undoes.call, f"wish {command.undoes.number}")
            wish = f"{tool_of(call)} {call.identity or call.canonical} {command.number}"
            return derived(first, f"undone by {wish}")
        number = f"wish {command.number}" if command.number else f"run {self._process} {command.run}"
        return self._of(call, number)

    def of_wish(self, command: RunTool) -> str:
        """What the keys of effects within a run are made of: equal for all runs of one wish, also after failures."""
        return self._of(command.call, f"effects of {command.wish}") if command.wish else self.of(command)

    def _of(self, call: Call, number: str) -> str:
        return _hash(self._secret(), self._call, tool_of(call), call.identity or call.canonical, number)


def _one_secret() -> Callable[[], bytes]:
    secret = os.urandom(32)
    return lambda: secret


def derived(key: str, name: str) -> str:
    """The key of something that belongs to what has `key`: an effect within it, what undoes it."""
    return _hash(key.encode(), name)


def _hash(secret: bytes, *parts: str) -> str:
    made = blake2b(key=secret, digest_size=_SIZE)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "big"))  # so that no two lists of parts are one text
        made.update(data)
    return made.hexdigest()
