"""Tools that need a session: background work, ending a call, passing a caller on, telephone keys, who answered."""

from antiphon.toolkit.answer_watch import AnswerWatch
from antiphon.toolkit.answered import CallAnsweredEvent, MessageLeftEvent
from antiphon.toolkit.background import AsyncRunContext, AsyncToolset
from antiphon.toolkit.dtmf import send_dtmf_events
from antiphon.toolkit.end_call import EndCallTool
from antiphon.toolkit.mailbox import LeaveMessage
from antiphon.toolkit.tones import Tone, ToneDetector
from antiphon.toolkit.transfer import TransferCallTool

__all__ = [
    "AnswerWatch",
    "AsyncRunContext",
    "AsyncToolset",
    "CallAnsweredEvent",
    "EndCallTool",
    "LeaveMessage",
    "MessageLeftEvent",
    "Tone",
    "ToneDetector",
    "TransferCallTool",
    "send_dtmf_events",
]
