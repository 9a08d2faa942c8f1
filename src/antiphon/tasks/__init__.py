"""Conversations inside a conversation: tasks that take the floor until they have their result."""

from antiphon.tasks.address import GetAddressResult, GetAddressTask
from antiphon.tasks.agent_task import AgentTask
from antiphon.tasks.capture import CaptureTask
from antiphon.tasks.date_of_birth import GetDOBResult, GetDOBTask
from antiphon.tasks.dtmf import GetDtmfResult, GetDtmfTask
from antiphon.tasks.email import GetEmailResult, GetEmailTask
from antiphon.tasks.name import GetNameResult, GetNameTask
from antiphon.tasks.phone import GetPhoneNumberResult, GetPhoneNumberTask
from antiphon.tasks.task_group import TaskCompletedEvent, TaskGroup, TaskGroupResult

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
