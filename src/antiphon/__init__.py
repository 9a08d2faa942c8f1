"""Antiphon: voice agents that do things.

    from antiphon import Agent, AgentSession, RunContext, function_tool

Names are loaded when they are first used, so that importing the package stays cheap.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

from antiphon.exports import on_first_use
from antiphon.visible import guard_logs

guard_logs()

# onnxruntime, on which the local models run, tells its maker of its use and keeps a device id in the home directory. It
# asks once, when it is loaded, so it is told here, before anything of ours, or an agent file, can load it.
if "onnxruntime" in sys.modules and not os.environ.get("ORT_DISABLE_TELEMETRY"):
    warnings.warn(
        "onnxruntime was loaded before antiphon, with its telemetry on, which nothing can turn off any more."
        " Import antiphon first, or set ORT_DISABLE_TELEMETRY=1.",
        RuntimeWarning,
        stacklevel=2,
    )
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

if TYPE_CHECKING:
    from antiphon.adapters.cached_tts import CachedTTS
    from antiphon.agent import Agent
    from antiphon.audio import AudioFrame
    from antiphon.background_audio import AudioConfig, BackgroundAudioPlayer, BuiltinAudioClip, PlayHandle
    from antiphon.before_speech import BeforeSpeech, Deed, Sentence
    from antiphon.chat import (
        AgentConfigUpdate,
        AgentHandoff,
        ChatContent,
        ChatContext,
        ChatItem,
        ChatMessage,
        ChatRole,
        FunctionCall,
        FunctionCallOutput,
        ImageContent,
    )
    from antiphon.errors import (
        AntiphonError,
        ContextOverflow,
        MissingKey,
        ProviderConnectionError,
        ProviderError,
        ProviderStatusError,
        ProviderTimeout,
        SessionClosed,
        ToolDefinitionError,
        ToolRefused,
        UsageError,
        UserdataNotSet,
    )
    from antiphon.events import (
        AgentFalseInterruptionEvent,
        AgentOutputTranscribedEvent,
        AgentStateChangedEvent,
        CloseEvent,
        CloseReason,
        ContextTrimmedEvent,
        ConversationItemAddedEvent,
        ErrorEvent,
        FunctionToolsExecutedEvent,
        MaxToolStepsReachedEvent,
        ModelAnsweredEvent,
        ModelRequestEvent,
        SaidAsideEvent,
        SpeechCreatedEvent,
        ToolExecutionUpdatedEvent,
        ToolResultEvent,
        TurnMetricsEvent,
        UnbackedClaimEvent,
        UnheardOutcome,
        UserInputTranscribedEvent,
        UserStateChangedEvent,
        UserTurnExceededEvent,
    )
    from antiphon.llm import LLM, ChatChunk, ChoiceDelta, FunctionToolCall, LLMStream
    from antiphon.options import (
        NOT_GIVEN,
        AwayLadder,
        ContextBudget,
        Endpointing,
        Fillers,
        Interruption,
        ModelSettings,
        NotGiven,
        NotGivenOr,
        PreemptiveGeneration,
        ToolChoice,
        TurnHandling,
        UserTurnLimit,
    )
    from antiphon.protocols import get_job_context
    from antiphon.run_context import RunContext
    from antiphon.run_result import RunResult, mock_tools
    from antiphon.running_tool import RunningTool
    from antiphon.secret import Secret
    from antiphon.server.entrypoint import AgentServer
    from antiphon.server.job import JobContext
    from antiphon.session import AgentSession
    from antiphon.session_api import Session, current_session
    from antiphon.speech_handle import SpeechHandle
    from antiphon.stt import STT, SpeechEvent
    from antiphon.tasks import AgentTask, TaskGroup
    from antiphon.toolkit import AsyncRunContext, AsyncToolset, EndCallTool
    from antiphon.tools.function import (
        FunctionTool,
        RawFunctionTool,
        StopResponse,
        Tool,
        ToolError,
        ToolFlag,
        ToolResult,
        function_tool,
    )
    from antiphon.tools.hooks import CallHook, Proceed, ToolCall
    from antiphon.tools.mcp import MCPServerHTTP, MCPServerStdio, MCPToolOptions, MCPToolset
    from antiphon.tools.reconciling import DidNotHappen, Happened
    from antiphon.tools.search import ToolProxyToolset, ToolSearchToolset
    from antiphon.tools.toolset import ToolContext, Toolset
    from antiphon.transport import AudioInput, AudioInputOptions, AudioOutput, RoomInputOptions, RoomOptions
    from antiphon.transports.processing import AudioProcessing
    from antiphon.tts import TTS
    from antiphon.turn_detector import TurnDetector
    from antiphon.vad import VAD

_HOME = {
    "before_speech": ("BeforeSpeech", "Deed", "Sentence"),
    "adapters.cached_tts": ("CachedTTS",),
    "agent": ("Agent",),
    "audio": ("AudioFrame",),
    "background_audio": ("AudioConfig", "BackgroundAudioPlayer", "BuiltinAudioClip", "PlayHandle"),
    "chat": (
        "AgentConfigUpdate",
        "AgentHandoff",
        "ChatContent",
        "ChatContext",
        "ChatItem",
        "ChatMessage",
        "ChatRole",
        "FunctionCall",
        "FunctionCallOutput",
        "ImageContent",
    ),
    "errors": (
        "AntiphonError",
        "ContextOverflow",
        "MissingKey",
        "ProviderConnectionError",
        "ProviderError",
        "ProviderStatusError",
        "ProviderTimeout",
        "SessionClosed",
        "ToolDefinitionError",
        "ToolRefused",
        "UsageError",
        "UserdataNotSet",
    ),
    "events": (
        "AgentFalseInterruptionEvent",
        "AgentOutputTranscribedEvent",
        "AgentStateChangedEvent",
        "CloseEvent",
        "CloseReason",
        "ConversationItemAddedEvent",
        "ContextTrimmedEvent",
        "ErrorEvent",
        "FunctionToolsExecutedEvent",
        "MaxToolStepsReachedEvent",
        "SpeechCreatedEvent",
        "ToolExecutionUpdatedEvent",
        "ToolResultEvent",
        "TurnMetricsEvent",
        "ModelAnsweredEvent",
        "ModelRequestEvent",
        "SaidAsideEvent",
        "UnbackedClaimEvent",
        "UnheardOutcome",
        "UserInputTranscribedEvent",
        "UserStateChangedEvent",
        "UserTurnExceededEvent",
    ),
    "llm": ("LLM", "ChatChunk", "ChoiceDelta", "FunctionToolCall", "LLMStream"),
    "options": (
        "NOT_GIVEN",
        "AwayLadder",
        "ContextBudget",
        "Endpointing",
        "Fillers",
        "Interruption",
        "ModelSettings",
        "NotGiven",
        "NotGivenOr",
        "PreemptiveGeneration",
        "ToolChoice",
        "TurnHandling",
        "UserTurnLimit",
    ),
    "protocols": ("get_job_context",),
    "run_context": ("RunContext",),
    "secret": ("Secret",),
    "run_result": ("RunResult", "mock_tools"),
    "running_tool": ("RunningTool",),
    "server.job": ("JobContext",),
    "server.entrypoint": ("AgentServer",),
    "session": ("AgentSession",),
    "session_api": ("Session", "current_session"),
    "speech_handle": ("SpeechHandle",),
    "stt": ("STT", "SpeechEvent"),
    "tasks": ("AgentTask", "TaskGroup"),
    "toolkit": ("AsyncRunContext", "AsyncToolset", "EndCallTool"),
    "tools.function": (
        "FunctionTool",
        "RawFunctionTool",
        "StopResponse",
        "Tool",
        "ToolError",
        "ToolFlag",
        "ToolResult",
        "function_tool",
    ),
    "tools.mcp": ("MCPServerHTTP", "MCPServerStdio", "MCPToolOptions", "MCPToolset"),
    "tools.reconciling": ("DidNotHappen", "Happened"),
    "tools.search": ("ToolProxyToolset", "ToolSearchToolset"),
    "tools.hooks": ("CallHook", "Proceed", "ToolCall"),
    "tools.toolset": ("ToolContext", "Toolset"),
    "transport": ("AudioInput", "AudioInputOptions", "AudioOutput", "RoomInputOptions", "RoomOptions"),
    "transports.processing": ("AudioProcessing",),
    "tts": ("TTS",),
    "turn_detector": ("TurnDetector",),
    "vad": ("VAD",),
}

__all__ = [  # noqa: RUF022 - plainly sorted, as a test wants them
    "Agent",
    "AgentConfigUpdate",
    "AgentFalseInterruptionEvent",
    "AgentHandoff",
    "AgentOutputTranscribedEvent",
    "AgentServer",
    "AgentSession",
    "AgentStateChangedEvent",
    "AgentTask",
    "AntiphonError",
    "AsyncRunContext",
    "AsyncToolset",
    "AudioConfig",
    "AudioFrame",
    "AudioInput",
    "AudioInputOptions",
    "AudioOutput",
    "AudioProcessing",
    "AwayLadder",
    "BackgroundAudioPlayer",
    "BeforeSpeech",
    "BuiltinAudioClip",
    "CachedTTS",
    "CallHook",
    "ChatChunk",
    "ChatContent",
    "ChatContext",
    "ChatItem",
    "ChatMessage",
    "ChatRole",
    "ChoiceDelta",
    "CloseEvent",
    "CloseReason",
    "ContextBudget",
    "ContextOverflow",
    "ContextTrimmedEvent",
    "ConversationItemAddedEvent",
    "Deed",
    "DidNotHappen",
    "EndCallTool",
    "Endpointing",
    "ErrorEvent",
    "Fillers",
    "FunctionCall",
    "FunctionCallOutput",
    "FunctionTool",
    "FunctionToolCall",
    "FunctionToolsExecutedEvent",
    "Happened",
    "ImageContent",
    "Interruption",
    "JobContext",
    "LLM",
    "LLMStream",
    "MCPServerHTTP",
    "MCPServerStdio",
    "MCPToolOptions",
    "MCPToolset",
    "MaxToolStepsReachedEvent",
    "MissingKey",
    "ModelAnsweredEvent",
    "ModelRequestEvent",
    "ModelSettings",
    "NOT_GIVEN",
    "NotGiven",
    "NotGivenOr",
    "PlayHandle",
    "PreemptiveGeneration",
    "Proceed",
    "ProviderConnectionError",
    "ProviderError",
    "ProviderStatusError",
    "ProviderTimeout",
    "RawFunctionTool",
    "RoomInputOptions",
    "RoomOptions",
    "RunContext",
    "RunResult",
    "RunningTool",
    "STT",
    "SaidAsideEvent",
    "Secret",
    "Sentence",
    "Session",
    "SessionClosed",
    "SpeechCreatedEvent",
    "SpeechEvent",
    "SpeechHandle",
    "StopResponse",
    "TTS",
    "TaskGroup",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolExecutionUpdatedEvent",
    "ToolFlag",
    "ToolProxyToolset",
    "ToolRefused",
    "ToolResult",
    "ToolResultEvent",
    "ToolSearchToolset",
    "Toolset",
    "TurnDetector",
    "TurnHandling",
    "TurnMetricsEvent",
    "UnbackedClaimEvent",
    "UnheardOutcome",
    "UsageError",
    "UserInputTranscribedEvent",
    "UserStateChangedEvent",
    "UserTurnExceededEvent",
    "UserTurnLimit",
    "UserdataNotSet",
    "VAD",
    "current_session",
    "function_tool",
    "get_job_context",
    "mock_tools",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _HOME)
