"""Methods that listen to certain facts, commands and notices."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., None])


def on(*kinds: type) -> Callable[[_Method], _Method]:
    """The method is called with facts, commands or notices of these kinds."""

    def mark(method: _Method) -> _Method:
        method.__dict__["listens_to"] = kinds
        return method

    return mark


class Listener:
    """Has methods that listen."""

    listens: ClassVar[dict[type, str]] = {}
    """By kind: the name of the method."""

    def __init_subclass__(cls) -> None:
        named = {kind: name for name, method in vars(cls).items() for kind in getattr(method, "listens_to", ())}
        cls.listens = cls.listens | named
