"""A history that can be read and not changed: what a session shows of its own, and an agent of its.

Above: `agent`, `session`. Below: `chat`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Self

from antiphon.chat import ChatContext, ChatItem, ChatMessage
from antiphon.errors import UsageError


def _read_only() -> UsageError:
    return UsageError(
        "this chat context is read-only: change a copy (chat_ctx.copy()) and give it to agent.update_chat_ctx()"
    )


class ReadOnlyItems(list[ChatItem]):
    """The items of a read-only context: a list that refuses to be changed."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise _read_only()

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copied in depth, or sent elsewhere, it is a list as any other."""
        return list, (list(self),)


class ReadOnlyChatContext(ChatContext):
    """A view of an agent's context. Reading works as usual; every change raises `UsageError`."""

    __slots__ = ()

    def __init__(self, items: list[ChatItem]) -> None:
        super().__init__()
        self._items = items

    @property
    def readonly(self) -> bool:
        return True

    @property
    def items(self) -> list[ChatItem]:
        return ReadOnlyItems(self._items)

    @items.setter
    def items(self, items: list[ChatItem]) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise _read_only()

    def add_message(self, **_: Any) -> ChatMessage:
        self._refuse()

    def append(self, item: ChatItem) -> None:
        self._refuse()

    def insert(self, item: ChatItem | Iterable[ChatItem]) -> None:
        self._refuse()

    def remove(self, item: ChatItem | str) -> None:
        self._refuse()

    def truncate(self, *, max_items: int) -> Self:
        self._refuse()
        return self
