"""What a backend says when it is asked whether a call happened: the answers of `function_tool(reconcile=)`.

Above: the runtime, which asks. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(slots=True, frozen=True)
class Happened:
    """The call was done, once. It counts as if the tool had returned `output`."""

    output: Any = ""


@dataclass(slots=True, frozen=True)
class DidNotHappen:
    """The call was not done, and what was sent for it will not be any more: it may be made again, with the same key."""


Reconcile: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Happened | DidNotHappen | None]]
"""Given the idempotency key and the arguments, as the tool got them. None: it is not known yet, ask again later."""
