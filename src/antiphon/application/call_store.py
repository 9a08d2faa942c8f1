"""Where the call of a session is kept: a store of the application's, or one that is opened and closed for it.

Above: the session. Below: the contract of stores.
"""

from __future__ import annotations

from antiphon.options import NotGivenOr, is_given
from antiphon.protocols import call_store
from antiphon.store import Store, open_store


class CallStore:
    """The store of one session. `given`: it, or its address; None: none; not given: the command's that runs it."""

    __slots__ = ("_given", "_own", "store")

    def __init__(self, given: NotGivenOr[Store | str | None]) -> None:
        self._given = given
        self.store = given if isinstance(given, Store) else None
        """Once it is open. None: the call is kept nowhere but in the memory of the process."""
        self._own: Store | None = None

    async def open(self) -> Store | None:
        """Open it, if there is one. A second time: no effect. Raises `StoreError`."""
        if not is_given(self._given):
            find = call_store.get()
            self._given = None if find is None else await find()
        if isinstance(self._given, str) and self._own is None:
            self._own = self.store = await open_store(self._given).__aenter__()
        elif isinstance(self._given, Store):
            self.store = self._given
        return self.store

    async def aclose(self) -> None:
        """Close it if it was opened here. Behind that, `open` opens it anew."""
        own, self._own = self._own, None
        if own is not None:
            await own.aclose()
