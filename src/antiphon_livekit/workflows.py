"""The ready tasks, with the options of LiveKit's. Made when they are first asked for: two of them need libraries."""

from __future__ import annotations

from functools import cache
from typing import Any

from antiphon import tasks
from antiphon_livekit.models import lenient

_TASKS = ("GetAddressTask", "GetDOBTask", "GetDtmfTask", "GetEmailTask", "GetNameTask", "GetPhoneNumberTask")


def __getattr__(name: str) -> Any:
    if name not in _TASKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _task(name)


@cache
def _task(name: str) -> type[Any]:
    return lenient(getattr(tasks, name))
