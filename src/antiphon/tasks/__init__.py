"""Conversations inside a conversation: tasks that take the floor until they have their result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use
from antiphon.tasks.agent_task import AgentTask
from antiphon.tasks.task_group import TaskCompletedEvent, TaskGroup, TaskGroupResult

if TYPE_CHECKING:
    from antiphon.tasks.address import GetAddressResult, GetAddressTask
    from antiphon.tasks.capture import CaptureTask
    from antiphon.tasks.credit_card import GetCreditCardResult, GetCreditCardTask
    from antiphon.tasks.date_of_birth import GetDOBResult, GetDOBTask
    from antiphon.tasks.dtmf import GetDtmfResult, GetDtmfTask, GetPinResult, GetPinTask
    from antiphon.tasks.email import GetEmailResult, GetEmailTask
    from antiphon.tasks.name import GetNameResult, GetNameTask
    from antiphon.tasks.phone import GetPhoneNumberResult, GetPhoneNumberTask

_HOME = {
    "address": ("GetAddressResult", "GetAddressTask"),
    "capture": ("CaptureTask",),
    "credit_card": ("GetCreditCardResult", "GetCreditCardTask"),
    "date_of_birth": ("GetDOBResult", "GetDOBTask"),
    "dtmf": ("GetDtmfResult", "GetDtmfTask", "GetPinResult", "GetPinTask"),
    "email": ("GetEmailResult", "GetEmailTask"),
    "name": ("GetNameResult", "GetNameTask"),
    "phone": ("GetPhoneNumberResult", "GetPhoneNumberTask"),
}

__all__ = [
    "AgentTask",
    "CaptureTask",
    "GetAddressResult",
    "GetAddressTask",
    "GetCreditCardResult",
    "GetCreditCardTask",
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
    "GetPinResult",
    "GetPinTask",
    "TaskCompletedEvent",
    "TaskGroup",
    "TaskGroupResult",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _HOME)
