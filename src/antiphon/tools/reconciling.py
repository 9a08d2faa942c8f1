"""What a backend says when it is asked whether a call happened: the answers of `function_tool(reconcile=)`.

Above: the runtime and the command line, which ask. Below: nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from antiphon.errors import pass_on
from antiphon.record import frozen
from antiphon.timer import within

logger = logging.getLogger("antiphon")

ANSWER_LIMIT = 10.0
"""Seconds that a backend has for an answer."""


@frozen
class Happened:
    """The call was done, once. It counts as if the tool had returned `output`."""

    output: Any = ""


@frozen
class DidNotHappen:
    """The call was not done, and what was sent for it will not be any more: it may be made again, with the same key."""


Reconcile: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Happened | DidNotHappen | None]]
"""Given the idempotency key and the arguments, as the tool got them. None: it is not known yet, ask again later."""


async def asked(
    name: str, reconcile: Reconcile, key: str, arguments: Mapping[str, Any]
) -> Happened | DidNotHappen | None:
    """What a backend says of a key. None: it does not know yet, raised, or said nothing in `ANSWER_LIMIT` seconds."""
    try:
        async with within(ANSWER_LIMIT):
            answer = await reconcile(key, arguments)
    except BaseException as error:
        pass_on(error)
        if isinstance(error, TimeoutError):
            logger.warning("reconcile of tool %r gave no answer; it is asked again", name)
        else:
            logger.exception("reconcile of tool %r raised; it is asked again", name)
        return None
    if answer is not None and not isinstance(answer, (Happened, DidNotHappen)):
        logger.error("reconcile of tool %r: expected Happened, DidNotHappen or None, got %r", name, type(answer))
        return None
    return answer
