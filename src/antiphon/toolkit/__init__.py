"""Tools that need a session: background work, ending a call, telephone keys."""

from antiphon.toolkit.background import AsyncRunContext, AsyncToolset
from antiphon.toolkit.dtmf import send_dtmf_events
from antiphon.toolkit.end_call import EndCallTool

__all__ = ["AsyncRunContext", "AsyncToolset", "EndCallTool", "send_dtmf_events"]
