"""Methods that listen to certain facts, commands and notices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., None])


def on(*kinds: type) -> Callable[[_Method], _Method]:
    """The method is called with facts, commands or notices of these kinds."""

    def mark(method: _Method) -> _Method:
        method.__dict__["listens_to"] = kinds
        return method

    return mark


class Listener:
    """Has methods that listen."""

    def __init__(self) -> None:
        self.listening: dict[type, Callable[[Any], None]] = {}
        """By kind: the method that listens to it."""
        for name in dir(type(self)):
            method = getattr(type(self), name)
            for kind in getattr(method, "listens_to", ()):
                self.listening[kind] = getattr(self, name)
