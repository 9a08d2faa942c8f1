"""LiveKit's public names, one by one: what stands behind each here, and what to use where nothing does.

The finder answers imports from this table, and `page` renders it as documentation; a test keeps both in step with the
code. "supported": the same meaning. "different": the name works, and the note says what differs. "absent": importing
it is an `ImportError` that carries the note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal["supported", "different", "absent"]


@dataclass(frozen=True, slots=True)
class Name:
    """A public name of one of LiveKit's modules."""

    name: str
    status: Status
    home: str
    """Where the object is, "module:attribute"; "" if there is none."""
    note: str = ""
    """What differs, or what to use instead."""

    def load(self) -> Any:
        """The object."""
        module, _, attribute = self.home.partition(":")
        return getattr(import_module(module), attribute)


def find(module: str, name: str) -> Name | None:
    """What the table says of a name."""
    return _BY_NAME.get((module, name))


def refusal(module: str, name: str) -> str:
    """Why `from module import name` does not work, and what does."""
    found = find(module, name)
    if found is not None:
        return f"{module}.{name} is not available on Antiphon: {found.note}"
    near = [other.name for other in MODULES.get(module, ()) if other.home]
    hint = f"; there are {', '.join(near)}" if 0 < len(near) <= 12 else ""
    return f"{module} has no {name!r} on Antiphon{hint}. docs/livekit.md lists what there is."


# -- the table


def _same(home: str, *names: str) -> list[Name]:
    """Names of `antiphon.<home>` that mean the same."""
    return [Name(name, "supported", f"antiphon.{home}:{name}") for name in " ".join(names).split()]


def _as(name: str, home: str, note: str = "") -> Name:
    """A name that is another one here. It differs if there is a note."""
    home = home if home.startswith("antiphon_livekit.") else f"antiphon.{home}"
    return Name(name, "different" if note else "supported", home, note)


def _ours(home: str, names: str, note: str = "") -> list[Name]:
    """Names that are made for this layer, in `antiphon_livekit.<home>`."""
    return [_as(name, f"antiphon_livekit.{home}:{name}", note) for name in names.split()]


def _not(note: str, names: str) -> list[Name]:
    return [Name(name, "absent", "", note) for name in names.split()]


def _vendor_note(vendor: str, kind: str) -> str:
    if kind == "LLM" and vendor in VENDORS_BY_PYDANTIC_AI:
        return "by way of pydantic-ai; options that it does not know are told"
    return "not built yet: a local model takes its place"


def _realtime(vendor: str) -> list[Name]:
    note = "not built yet: a local model with a local voice takes its place"
    return [_as("RealtimeModel", f"antiphon_livekit.models:{vendor}_RealtimeModel", note)]


_TOOLS = [
    *_same(
        "tools.function",
        "FunctionTool RawFunctionTool Tool ToolError ToolFlag ToolResult StopResponse function_tool ProviderTool",
        "find_function_tools is_function_tool is_raw_function_tool",
    ),
    *_same("tools.toolset", "ToolContext Toolset"),
    *_same("options", "ToolChoice"),
    *_not(
        "a tool knows its name, description and schema: tool.name, tool.description, tool.spec",
        "get_function_info get_raw_function_info get_fnc_tool_names FunctionToolInfo RawFunctionToolInfo",
    ),
]

_CHAT = [
    *_same(
        "chat",
        "ChatContext ChatItem ChatMessage ChatRole ChatContent FunctionCall FunctionCallOutput AgentHandoff",
        "AgentConfigUpdate ImageContent",
    ),
    *_ours("agents", "Instructions"),
    *_not("messages hold text and images", "AudioContent CacheBreakpoint"),
]

_DUPLICATES = _same("options", "DuplicateMode DuplicateScope")

_BACKGROUND = [
    *_ours("agents", "AsyncToolset", "tool_handling= is told and not used; texts about progress are fixed"),
    *_same("toolkit.background", "AsyncRunContext"),
]

_EVENTS = [
    *_same(
        "events",
        "AgentEvent AgentStateChangedEvent UserStateChangedEvent AgentFalseInterruptionEvent",
        "ConversationItemAddedEvent SpeechCreatedEvent ToolExecutionUpdatedEvent",
        "ToolCallStarted ToolCallUpdated ToolCallEnded CloseEvent CloseReason",
    ),
    _as("ErrorEvent", "events:ErrorEvent", "error is the exception itself; the session goes on after it"),
    *_ours("sessions", "UserInputTranscribedEvent", "speaker_id and item_id are None: there is one caller"),
    *_ours(
        "sessions", "FunctionToolsExecutedEvent", "cancel_tool_reply() raises: return ToolResult(reply_required=False)"
    ),
    *_ours("sessions", "MetricsCollectedEvent", "all of a reply's measurements come when it is over"),
    *_ours("sessions", "SessionUsageUpdatedEvent", "never given"),
    *_not(
        "there is no such event; a recogniser that fails gives an error event",
        "UserTranscriptionTimeoutEvent OverlappingSpeechEvent",
    ),
    _as("UserTurnExceededEvent", "events:UserTurnExceededEvent", "transcript is the whole turn; words are not counted"),
    *_not("listen to conversation_item_added: replies for updates are messages like others", "ToolReplyUpdated"),
]

_RUN_CONTEXT = _as(
    "RunContext",
    "run_context:RunContext",
    "foreground() is absent: say() in the tool waits for its turn to speak",
)

_RUN_RESULT = [
    *_same(
        "run_result",
        "RunResult RunAssert RunEvent EventAssert EventRangeAssert ChatMessageEvent FunctionCallEvent",
        "FunctionCallOutputEvent AgentHandoffEvent",
    ),
    _as("mock_tools", "run_result:mock_tools"),
]

_AGENTS = [
    *_ours("agents", "Agent AgentTask", "turns are the session's business: turn options of an agent are told"),
    *_same("options", "ModelSettings"),
]

_TURN_OPTIONS = [
    *_ours("sessions", "TurnHandlingOptions", ""),
    *_ours("sessions", "EndpointingOptions", "mode, min_delay and max_delay count; the defaults are our own"),
    *_ours(
        "sessions",
        "InterruptionOptions",
        "enabled, min_words (at least 1) and false_interruption_timeout count: a sound pauses the agent, words cut it",
    ),
    *_ours("sessions", "PreemptiveGenerationOptions", "off unless enabled; speech is made with the response"),
    *_ours("sessions", "UserTurnLimitOptions", ""),
]

_ROOM_OPTIONS = _ours(
    "sessions",
    "RoomInputOptions RoomOutputOptions RoomOptions AudioInputOptions AudioOutputOptions TextInputOptions "
    "TextOutputOptions VideoInputOptions",
    "accepted and not used: the room is in this process",
)

_SESSION = _ours(
    "sessions",
    "AgentSession",
    "options without effect are told once (listed below); input, output, room_io and amd are absent",
)

_BACKGROUND_AUDIO = [
    *_ours("background", "BackgroundAudioPlayer"),
    *_same("background_audio", "AudioConfig BuiltinAudioClip PlayHandle"),
]

_SPEECH_HANDLE = _same("speech_handle", "SpeechHandle")

_NOT_GIVEN = [
    *_same("options", "NotGiven NotGivenOr NOT_GIVEN"),
    *_ours(
        "utilities",
        "APIConnectOptions DEFAULT_API_CONNECT_OPTIONS",
        "accepted and not used: models have timeout= and max_retries= of their own",
    ),
    *_ours("utilities", "LanguageCode"),
]

_ERRORS = [
    _as("APIError", "errors:ProviderError", "to be caught; made with provider= and retryable="),
    _as("APIConnectionError", "errors:ProviderConnectionError", "to be caught"),
    _as("APIStatusError", "errors:ProviderStatusError", "to be caught"),
    _as("APITimeoutError", "errors:ProviderTimeout", "to be caught"),
    *_not("jobs are not assigned, they are calls; there is nothing to wait for", "AssignmentTimeoutError"),
    *_not("catch ToolError or ProviderError", "UnexpectedModelBehavior"),
    *_not("make a ProviderStatusError (antiphon.errors)", "create_api_error_from_http"),
]

_JOBS = [
    *_ours("servers", "AgentServer WorkerOptions", "scaling, load and dispatch options are told: one process"),
    *_ours("servers", "WorkerType WorkerPermissions JobExecutorType AutoSubscribe", "accepted and not used"),
    *_ours("servers", "JobContext", "of ctx.api there is room.delete_room(); one caller, there from the start"),
    *_same("server.job", "JobProcess"),
    *_same("protocols", "get_job_context"),
    *_ours("servers", "JobRequest", "for annotations: each call is a job, nobody asks"),
]

_WORKFLOWS = [
    *_ours("agents", "TaskGroup", "summarize_chat_ctx= is told and not used"),
    *_same("tasks.task_group", "TaskCompletedEvent TaskGroupResult"),
    *_ours(
        "workflows",
        "GetAddressTask GetDOBTask GetDtmfTask GetEmailTask GetNameTask GetPhoneNumberTask",
        "questions and read-backs are our own; options that they do not know are told",
    ),
    *_same(
        "tasks",
        "GetAddressResult GetDOBResult GetDtmfResult GetEmailResult GetNameResult GetPhoneNumberResult",
    ),
    *_not(
        "card numbers should not pass through a model; take them by a payment provider's own line",
        "GetCreditCardTask GetCreditCardResult GetCardNumberTask GetSecurityCodeTask GetExpirationDateTask",
    ),
    *_not(
        "there is no telephone to transfer to; hand off to another Agent",
        "WarmTransferTask WarmTransferResult TwilioConnectorWarmTransferTask",
    ),
    *_not("give an AgentTask instructions=", "WorkflowInstructions"),
]

_BETA_TOOLS = [
    *_same("toolkit.end_call", "EndCallTool"),
    *_same("toolkit.dtmf", "send_dtmf_events"),
]

_TOOLSETS = [
    *_BACKGROUND,
    _as(
        "ToolSearchToolset",
        "tools.search:ToolSearchToolset",
        "one way of ranking, and found tools stay; no search_strategy=",
    ),
    _as("ToolProxyToolset", "tools.search:ToolProxyToolset", "calls keep the policies of the tools"),
    *_not("there is one way of ranking; leave search_strategy= out", "BM25SearchStrategy KeywordSearchStrategy"),
]

_SESSION_PARTS = [
    *_not("there are no recordings by option; antiphon call --out writes one", "RecordingOptions"),
    *_not("use a tool that takes the result", "RunOutputOptions"),
    *_not("write in the instructions how to speak", "ExpressiveOptions NonverbalOptions SpeechSteeringOptions"),
    *_not("override Agent.stt_node", "AudioRecognition"),
    *_not(
        "name the words in the recogniser: deepgram.STT(keyterms=[...])",
        "KeytermsOptions KeytermDetectionOptions STTContextOptions",
    ),
    *_not("session.start takes input= and output= (AudioInput, AudioOutput)", "io"),
    *_not("override Agent.tts_node; markup is taken out before speech", "text_transforms"),
]

_NO_REALTIME = "antiphon.realtime has a contract of its own"
_REALTIME_PARTS = (
    "RealtimeAvailabilityChangedEvent DuplexModel DuplexSession DuplexCapabilities DuplexAudioFrame "
    "DuplexOutputTranscriptDelta DuplexRealtimeAdapter InputTranscriptionCompleted InputSpeechStartedEvent "
    "InputSpeechStoppedEvent GenerationCreatedEvent MessageGeneration RealtimeSessionReconnectedEvent "
    "RemoteItemAddedEvent"
)
_NO_DECISIONS = "ask a model with llm.chat(response_format=...)"
_DECISIONS = (
    "Choice ChoiceResult Decision DecisionCapabilities DecisionKind DecisionModel DecisionResponse DecisionResult "
    "Probability ProbabilityResult Score ScoreResult"
)
_STREAM_ADAPTER = "recognisers hear pauses themselves: antiphon.adapters.stream.StreamAdapter over a Recognizer"
_FALLBACK = "of the members that can be used; retries and sticky= are told"
_TOKENIZE = "voices cut text into sentences themselves; put your own cut into tts_node"

OTHER_VENDORS: Mapping[str, str] = {
    "anthropic": "LLM",
    "assemblyai": "STT",
    "aws": "LLM STT TTS",
    "azure": "STT TTS",
    "baseten": "LLM STT TTS",
    "cerebras": "LLM",
    "clova": "STT",
    "elevenlabs": "STT TTS",
    "fal": "STT",
    "fireworksai": "LLM STT",
    "gladia": "STT",
    "google": "LLM STT TTS",
    "groq": "LLM STT TTS",
    "hume": "TTS",
    "inworld": "TTS",
    "lmnt": "TTS",
    "mistralai": "LLM STT",
    "neuphonic": "TTS",
    "playai": "TTS",
    "resemble": "TTS",
    "rime": "TTS",
    "sarvam": "STT TTS",
    "smallestai": "TTS",
    "soniox": "STT",
    "speechmatics": "STT TTS",
    "spitch": "STT TTS",
}
"""Vendors whose models have a name only: a local one takes their place, with a line that says so."""

VENDORS_BY_PYDANTIC_AI = ("anthropic", "cerebras", "google", "groq", "mistralai")
"""Those of them whose language models are used, by way of pydantic-ai."""

MODULES: Mapping[str, list[Name]] = {
    "livekit": [],
    "livekit.agents": [
        *_JOBS,
        *(n for n in _TOOLS if n.name in ("FunctionTool", "function_tool", "ProviderTool", "ToolContext", "ToolError")),
        *(n for n in _TOOLS if n.name in ("ToolResult", "StopResponse")),
        _RUN_CONTEXT,
        *(n for n in _CHAT if n.name in ("ChatContext", "ChatItem", "ChatMessage", "ChatRole", "ChatContent")),
        *(n for n in _CHAT if n.name in ("FunctionCall", "FunctionCallOutput", "AgentHandoff", "AgentConfigUpdate")),
        *_AGENTS,
        *_SESSION,
        *_EVENTS,
        *_TURN_OPTIONS,
        *_SESSION_PARTS,
        *(n for n in _ROOM_OPTIONS if n.name in ("RoomInputOptions", "RoomOutputOptions")),
        *_not("session.start(room=ctx.room) does what is needed", "RoomIO"),
        *_not("there is no picture of the agent", "avatar"),
        *_BACKGROUND_AUDIO,
        *_not("there is no detection of answering machines", "AMD AMDCategory AMDPredictionEvent"),
        *_RUN_RESULT,
        *_ERRORS,
        *_NOT_GIVEN,
        *_not("end the text of a node where the segment ends", "FlushSentinel"),
        *_not(
            "write tests with session.run() and mock_tools",
            "Scenario ScenarioGroup ScenarioUserdata Simulation SimulationContext SimulationDispatch SimulationRun "
            "SimulationVerdict",
        ),
        *_not("there is nothing to register: models are imported where they are used", "Plugin"),
        *_not("jobs run in this process", "ipc"),
    ],
    "livekit.agents.llm": [
        *_TOOLS,
        *_CHAT,
        *_DUPLICATES,
        *_BACKGROUND,
        *_same("llm", "LLM LLMStream ChatChunk ChoiceDelta FunctionToolCall CompletionUsage CollectedResponse"),
        _as("LLMError", "errors:ProviderError", "to be caught"),
        _as("RealtimeError", "errors:ProviderError", "to be caught"),
        _as("RealtimeModelError", "errors:ProviderError", "to be caught"),
        *_not(_NO_REALTIME, _REALTIME_PARTS),
        *_not(_NO_DECISIONS, _DECISIONS),
        *_not("the session filters what it hears with its VAD", "AudioGate AdaptiveNoiseGate FixedGate"),
        *_not("listen to the session's error events", "AvailabilityChangedEvent MetricsReport"),
        *_not("they are inner parts of LiveKit", "utils remote_chat_context"),
        _as("FallbackAdapter", "antiphon_livekit.fallback:FallbackLLM", _FALLBACK),
        *_not("llm.FallbackAdapter", "RealtimeModelFallbackAdapter"),
        *[
            _as(name, f"realtime:{name}", "a contract of its own: responses are events of the session")
            for name in ("RealtimeModel", "RealtimeSession", "RealtimeCapabilities")
        ],
        *_not("tools run in sessions; call tool.prepare() and tool.call()", "execute_function_call FunctionCallResult"),
        *_not("AsyncToolset(on_duplicate_call=) and function_tool(on_duplicate=)", "ToolHandlingOptions"),
    ],
    "livekit.agents.llm.tool_context": [*_TOOLS, *_DUPLICATES],
    "livekit.agents.llm.chat_context": _CHAT,
    "livekit.agents.llm.async_toolset": _BACKGROUND,
    "livekit.agents.voice": [
        *_AGENTS,
        *_SESSION,
        _RUN_CONTEXT,
        *_EVENTS,
        *_SPEECH_HANDLE,
        *_TURN_OPTIONS,
        *_BACKGROUND_AUDIO,
        *_SESSION_PARTS,
        *_not("there is no picture of the caller", "VoiceActivityVideoSampler"),
        *_not("sessions run in this process", "RemoteSession"),
        *_not("listen to agent_output_transcribed: captions follow the sound", "TranscriptSynchronizer"),
    ],
    "livekit.agents.voice.agent": _AGENTS,
    "livekit.agents.voice.agent_session": _SESSION,
    "livekit.agents.voice.events": [_RUN_CONTEXT, *_EVENTS],
    "livekit.agents.voice.speech_handle": _SPEECH_HANDLE,
    "livekit.agents.voice.background_audio": _BACKGROUND_AUDIO,
    "livekit.agents.voice.room_io": [
        *_ROOM_OPTIONS,
        *_not("session.start(room=ctx.room) does what is needed", "RoomIO"),
        *_not("text comes as a turn: session.run(user_input=)", "TextInputEvent ATTRIBUTE_PUBLISH_ON_BEHALF"),
    ],
    "livekit.agents.voice.run_result": _RUN_RESULT,
    "livekit.agents.room_io": [
        *_ROOM_OPTIONS,
        *_not("session.start(room=ctx.room) does what is needed", "RoomIO"),
    ],
    "livekit.agents.beta": [
        *_BETA_TOOLS,
        *_ours("agents", "Instructions"),
        *_TOOLSETS,
        *_not(
            "tell the model in the instructions which language to speak",
            "TranslationModel TranslationSession translation",
        ),
    ],
    "livekit.agents.beta.tools": _BETA_TOOLS,
    "livekit.agents.beta.toolsets": _TOOLSETS,
    "livekit.agents.beta.workflows": _WORKFLOWS,
    "livekit.agents.cli": [
        *_ours("servers", "run_app", "commands console and call; start, dev and connect are not"),
        *_not("the command is antiphon console", "AgentsConsole"),
    ],
    "livekit.agents.job": _JOBS,
    "livekit.agents.worker": _JOBS,
    "livekit.agents.inference": [
        _as("LLM", "antiphon_livekit.models:inference_LLM", "without LiveKit's gateway: by the vendor's own key"),
        _as("STT", "antiphon_livekit.models:inference_STT", "without LiveKit's gateway: by the vendor's own key"),
        _as("TTS", "antiphon_livekit.models:inference_TTS", "without LiveKit's gateway: by the vendor's own key"),
        _as("TurnDetector", "antiphon_livekit.models:TurnDetector", "judges the words, in this process"),
        _as("VAD", "antiphon_livekit.models:VAD", "in this process; its options are its own"),
        _as("RealtimeModel", "antiphon_livekit.models:inference_RealtimeModel", "not built yet: a local model instead"),
        _as("LLMStream", "llm:LLMStream", "an async iterable of ChatChunk"),
        *_not("there is no picture of the agent", "AvatarSession LemonSliceOptions"),
        *_not(
            "annotate names of models with str",
            "LLMModels STTModels TTSModels VADModels RealtimeModels DuplexModels DecisionModels OpenAIRealtimeModels "
            "XAIRealtimeModels",
        ),
        *_not("annotate names with str", "InferenceClass TurnDetectorModels TurnDetectorVersions"),
        *_not(
            "words cut the agent, sounds only pause it; AgentSession(turn_handling=) has the limits",
            "AdaptiveInterruptionDetector InterruptionDetectionError InterruptionDataFrameType OverlappingSpeechEvent",
        ),
        *_not(_NO_REALTIME, "RealtimeSession DuplexModel DuplexSession is_realtime_model is_duplex_model"),
        *_not(_NO_DECISIONS, "DecisionModel"),
        *_not("inference.LLM(name)", "llm_from_model_string"),
    ],
    "livekit.agents.mcp": [
        _as("MCPServerHTTP", "tools.mcp:MCPServerHTTP", "no tool_result_resolver=; texts and pictures are told"),
        _as("MCPServerStdio", "tools.mcp:MCPServerStdio", "no tool_result_resolver="),
        *_same("tools.mcp", "MCPServer MCPToolset MCPToolOptions"),
    ],
    "livekit.agents.metrics": [
        *_ours("quiet", "UsageCollector UsageSummary", "tokens and characters; seconds of sound are not counted"),
        *_ours("quiet", "log_metrics"),
        *_ours("metrics", "AgentMetrics LLMMetrics EOUMetrics", "told when the reply is over"),
        *_ours("metrics", "TTSMetrics", "told when the reply is over, without durations"),
        *_not(
            "listen to the session's turn_metrics events: docs/metrics.md",
            "STTMetrics VADMetrics RealtimeModelMetrics ModelUsageCollector "
            "DecisionMetrics EOTInferenceMetrics InterruptionMetrics LLMModelUsage TTSModelUsage STTModelUsage "
            "InterruptionModelUsage EOTModelUsage ModelUsage AgentSessionUsage",
        ),
    ],
    "livekit.agents.stt": [
        _as("STT", "stt:STT", "a subclass has stream(), which is pushed frames and marks"),
        *_same("stt", "SpeechEvent SpeechEventType SpeechData"),
        *_not(_STREAM_ADAPTER, "StreamAdapter"),
        _as("FallbackAdapter", "antiphon_livekit.fallback:FallbackSTT", _FALLBACK),
        _as("STTError", "errors:ProviderError", "to be caught"),
        *_not("subclass STTStream (antiphon.stt)", "RecognizeStream SpeechStream STTCapabilities RecognitionUsage"),
        *_not("there is one caller", "SpeakerContext MultiSpeakerAdapter"),
        *_not("listen to the session's error events", "AvailabilityChangedEvent"),
        *_not(_STREAM_ADAPTER, "StreamAdapterWrapper"),
    ],
    "livekit.agents.tts": [
        _as("TTS", "tts:TTS", "a subclass has synthesize(text), an async iterator"),
        *_same("tts", "SynthesizedAudio"),
        _as("TTSError", "errors:ProviderError", "to be caught"),
        *_not(
            "voices speak sentence by sentence by themselves",
            "StreamAdapter StreamAdapterWrapper SentenceStreamPacer TTSCapabilities MarkupInfo",
        ),
        *_not("listen to the session's error events", "AvailabilityChangedEvent"),
        *_not("tts.FallbackAdapter", "FallbackChunkedStream FallbackSynthesizeStream"),
        _as("FallbackAdapter", "antiphon_livekit.fallback:FallbackTTS", _FALLBACK),
        *_not("write synthesize(text) as an async generator", "ChunkedStream SynthesizeStream AudioEmitter"),
    ],
    "livekit.agents.vad": [
        _as("VAD", "vad:VAD", "a subclass has stream(), which is pushed frames"),
        *_same("vad", "VADStream VADEvent"),
        *_not("events are SpeechStarted and SpeechEnded (antiphon.vad)", "VADEventType"),
    ],
    "livekit.agents.tokenize": _not(
        _TOKENIZE,
        "basic blingfire utils SentenceTokenizer WordTokenizer SentenceStream WordStream TokenData "
        "BufferedSentenceStream BufferedWordStream",
    ),
    "livekit.agents.types": _NOT_GIVEN,
    "livekit.agents.utils": [
        *_ours("utilities", "shortuuid wait_for_participant"),
        *_same("options", "is_given"),
        *_not("antiphon.audio has Resampler and AudioFrame", "audio AudioBuffer combine_frames merge_frames"),
        *_not("use ImageContent with an image's bytes or URL", "images"),
        *_same("events", "EventEmitter"),
        *_not("antiphon.audio has Resampler and AudioFrame", "AudioArrayBuffer codecs"),
        *_not("there is one room and one caller, in this process", "wait_for_agent wait_for_track_publication"),
        *_not("use the standard library", "time_ms nodename log_exceptions resolve_env_var resolve_env_int hw"),
        *_not("they are inner parts of LiveKit", "ExpFilter MovingAverage BoundedDict ConnectionPool http_server"),
        *_not("programs run here the same everywhere", "is_dev_mode is_hosted"),
    ],
    "livekit.agents.utils.aio": [
        *_ours("utilities", "cancel_and_wait gracefully_cancel"),
        *_not("use asyncio.Queue", "Chan ChanClosed"),
        *_not("use asyncio.Queue", "ChanSender ChanReceiver"),
        *_not("use asyncio.create_task", "duplex_unix tee itertools TaskSet WaitGroup AsyncAtomicCounter debug"),
        *_not("use asyncio.sleep", "Interval interval Sleep SleepFinished sleep"),
    ],
    "livekit.agents.utils.misc": [*_same("options", "is_given"), *_ours("utilities", "shortuuid")],
    "livekit.agents.utils.http_context": _ours("utilities", "http_session"),
    "livekit.agents.testing": _not("session.start() needs no job in tests", "fake_job_context"),
    "livekit.rtc": [
        *_ours("rooms", "AudioFrame"),
        *_ours("rooms", "Room", "of one caller, in this process"),
        *_ours("rooms", "Participant RemoteParticipant LocalParticipant", "nothing that is sent arrives anywhere"),
        *_ours("rooms", "ParticipantKind ConnectionState RpcInvocationData"),
        *_ours("rooms", "RpcError", "never raised by a room here"),
        *_same("events", "EventEmitter"),
        *_not("antiphon.audio has Resampler", "AudioResampler AudioResamplerQuality combine_audio_frames AudioMixer"),
        *_not(
            "rooms here have no options", "RoomOptions DataStreamOptions RtcConfiguration IceServer IceTransportType"
        ),
        *_not("rooms here have no options", "ContinualGatheringPolicy SimulateScenarioKind E2EEManager E2EEOptions"),
        *_not(
            "rooms here have no options", "KeyProviderOptions KeyProvider FrameCryptor EncryptionType EncryptionState"
        ),
        *_not(
            "rooms here have no options", "KeyDerivationFunction NoiseCancellationOptions AudioFilter FrameProcessor"
        ),
        *_not("on('disconnected') is given the reason as text", "DisconnectReason ConnectError ParticipantState"),
        *_not("there are no statistics", "stats RtcStats ConnectionQuality StreamState ParticipantKindDetail"),
        *_not(
            "nothing is sent to other clients",
            "DataPacket DataPacketKind SipDTMF Transcription TranscriptionSegment RpcCallInfo RpcInterceptor "
            "TextStreamInfo ByteStreamInfo TextStreamReader TextStreamWriter ByteStreamReader ByteStreamWriter "
            "StreamError "
            "LocalDataTrack RemoteDataTrack DataTrackStream DataTrackFrame DataTrackInfo PushFrameError "
            "SubscribeDataTrackError ParticipantTrackPermission",
        ),
        *_not(
            "there are no tracks",
            "LocalTrack RemoteTrack AudioTrack VideoTrack LocalVideoTrack RemoteVideoTrack TrackPublishOptions "
            "TrackPublication LocalTrackPublication RemoteTrackPublication AudioFrameEvent DegradationPreference "
            "AudioProcessingModule PlatformAudio PlatformAudioSource PlatformAudioOptions PlatformAudioError "
            "AudioDeviceInfo",
        ),
        *_not(
            "there is no video",
            "VideoFrame VideoFrameEvent VideoSource VideoCodec VideoEncoding VideoQuality VideoBufferType "
            "VideoRotation "
            "AVSynchronizer EncodedFrameType EncodedVideoFrame EncodedVideoSource EncodedVideoSourceFeedback "
            "EncodedRateControl VideoEncoderBackend FrameMetadata FrameMetadataFeature",
        ),
        *_not("there are no tracks; session.start(input=, output=) takes audio of your own", "AudioSource AudioStream"),
        *_not("there are no tracks", "Track LocalAudioTrack RemoteAudioTrack TrackKind TrackSource VideoStream"),
    ],
    "livekit.api": [
        *_ours("rooms", "DeleteRoomRequest", "for ctx.api.room.delete_room(), which ends this call"),
        *_not(
            "there is no LiveKit server to ask; ctx.delete_room() and ctx.shutdown() end a call",
            "LiveKitAPI AccessToken VideoGrants CreateRoomRequest CreateSIPParticipantRequest "
            "TransferSIPParticipantRequest RoomParticipantIdentity",
        ),
    ],
    "livekit.plugins": [],
    "livekit.plugins.openai": [
        _as("LLM", "antiphon_livekit.models:openai_LLM", "options that it does not know are told"),
        _as("STT", "antiphon_livekit.models:openai_STT", "options that it does not know are told"),
        _as("TTS", "antiphon_livekit.models:openai_TTS", "options that it does not know are told"),
        *_not("use openai.LLM", "responses"),
    ],
    "livekit.plugins.openai.realtime": [
        _as("RealtimeModel", "providers.openai_realtime:RealtimeModel", "options that it does not know are a TypeError")
    ],
    "livekit.plugins.google.realtime": _realtime("google"),
    "livekit.plugins.google.beta": [],
    "livekit.plugins.google.beta.realtime": _realtime("google"),
    "livekit.plugins.deepgram": [
        _as("STT", "antiphon_livekit.models:deepgram_STT", "options that it does not know are told"),
        _as("TTS", "antiphon_livekit.models:deepgram_TTS", "options that it does not know are told"),
        *_not("use deepgram.STT", "STTv2"),
    ],
    "livekit.plugins.cartesia": [
        _as("TTS", "antiphon_livekit.models:cartesia_TTS", "options that it does not know are told"),
        *_not("use deepgram.STT", "STT"),
    ],
    "livekit.plugins.silero": [
        _as("VAD", "antiphon_livekit.models:VAD", "its options are its own; those of load() are told")
    ],
    "livekit.plugins.turn_detector": [],
    "livekit.plugins.turn_detector.multilingual": [
        _as(
            "MultilingualModel", "antiphon_livekit.models:TurnDetector", "judges the words, in English, without a model"
        )
    ],
    "livekit.plugins.turn_detector.english": [
        _as("EnglishModel", "antiphon_livekit.models:TurnDetector", "judges the words, without a model")
    ],
    "livekit.plugins.noise_cancellation": _ours("quiet", "NC BVC BVCTelephony", "audio is heard as it comes"),
    **{
        f"livekit.plugins.{vendor}": [
            _as(kind, f"antiphon_livekit.models:{vendor}_{kind}", _vendor_note(vendor, kind)) for kind in kinds.split()
        ]
        for vendor, kinds in OTHER_VENDORS.items()
    },
}

_BY_NAME = {(module, name.name): name for module, names in MODULES.items() for name in names}
