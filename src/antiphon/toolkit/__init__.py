"""Tools that need a session: background work, ending a call, passing a caller on, telephone keys."""

from antiphon.toolkit.background import AsyncRunContext, AsyncToolset
from antiphon.toolkit.dtmf import send_dtmf_events
from antiphon.toolkit.end_call import EndCallTool
from antiphon.toolkit.transfer import TransferCallTool

__all__ = ["AsyncRunContext", "AsyncToolset", "EndCallTool", "TransferCallTool", "send_dtmf_events"]
