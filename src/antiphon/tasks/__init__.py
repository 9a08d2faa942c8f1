"""Conversations inside a conversation: tasks that take the floor until they have their result."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from antiphon.tasks.agent_task import AgentTask
from antiphon.tasks.task_group import TaskCompletedEvent, TaskGroup, TaskGroupResult

if TYPE_CHECKING:
    from antiphon.tasks.address import GetAddressResult, GetAddressTask
    from antiphon.tasks.capture import CaptureTask
    from antiphon.tasks.date_of_birth import GetDOBResult, GetDOBTask
    from antiphon.tasks.dtmf import GetDtmfResult, GetDtmfTask
    from antiphon.tasks.email import GetEmailResult, GetEmailTask
    from antiphon.tasks.name import GetNameResult, GetNameTask
    from antiphon.tasks.phone import GetPhoneNumberResult, GetPhoneNumberTask

_HOME = {
    "address": ("GetAddressResult", "GetAddressTask"),
    "capture": ("CaptureTask",),
    "date_of_birth": ("GetDOBResult", "GetDOBTask"),
    "dtmf": ("GetDtmfResult", "GetDtmfTask"),
    "email": ("GetEmailResult", "GetEmailTask"),
    "name": ("GetNameResult", "GetNameTask"),
    "phone": ("GetPhoneNumberResult", "GetPhoneNumberTask"),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AgentTask",
    "CaptureTask",
    "GetAddressResult",
    "GetAddressTask",
    "GetDOBResult",
    "GetDOBTask",
    "GetDtmfResult",
    "GetDtmfTask",
    "GetEmailResult",
    "GetEmailTask",
    "GetNameResult",
    "GetNameTask",
    "GetPhoneNumberResult",
    "GetPhoneNumberTask",
    "TaskCompletedEvent",
    "TaskGroup",
    "TaskGroupResult",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
