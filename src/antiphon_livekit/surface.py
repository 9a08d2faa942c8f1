"""LiveKit's public names, one by one: what stands behind each here, and what to use where nothing does.

The finder answers imports from this table, and `page` renders it as documentation; a test keeps both in step with the
code. Below: `names` (what is said of a name), `vendors` (those of the plugins).
"""

from __future__ import annotations

from collections.abc import Mapping

from antiphon_livekit.names import Name, absent, ours, renamed, same
from antiphon_livekit.vendors import PLUGINS


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


_TOOLS = [
    *same(
        "tools.function",
        "FunctionTool RawFunctionTool Tool ToolError ToolFlag ToolResult StopResponse function_tool ProviderTool",
        "find_function_tools is_function_tool is_raw_function_tool",
    ),
    *same("tools.toolset", "ToolContext Toolset"),
    *same("options", "ToolChoice"),
    *absent(
        "a tool knows its name, description and schema: tool.name, tool.description, tool.spec",
        "get_function_info get_raw_function_info get_fnc_tool_names FunctionToolInfo RawFunctionToolInfo",
    ),
]

_CHAT = [
    *same(
        "chat",
        "ChatContext ChatItem ChatMessage ChatRole ChatContent FunctionCall FunctionCallOutput AgentHandoff",
        "AgentConfigUpdate ImageContent",
    ),
    *ours("agents", "Instructions"),
    *absent("messages hold text and images", "AudioContent CacheBreakpoint"),
]

_DUPLICATES = same("options", "DuplicateMode DuplicateScope")

_BACKGROUND = [
    *ours("agents", "AsyncToolset", "tool_handling= is told and not used; texts about progress are fixed"),
    *same("toolkit.background", "AsyncRunContext"),
]

_EVENTS = [
    *same(
        "events",
        "AgentEvent AgentStateChangedEvent UserStateChangedEvent AgentFalseInterruptionEvent",
        "ConversationItemAddedEvent SpeechCreatedEvent ToolExecutionUpdatedEvent",
        "ToolCallStarted ToolCallUpdated ToolCallEnded CloseEvent CloseReason",
    ),
    renamed("ErrorEvent", "events:ErrorEvent", "error is the exception itself; the session goes on after it"),
    *ours("sessions", "UserInputTranscribedEvent", "speaker_id and item_id are None: there is one caller"),
    *ours(
        "sessions", "FunctionToolsExecutedEvent", "cancel_tool_reply() raises: return ToolResult(reply_required=False)"
    ),
    *ours("sessions", "MetricsCollectedEvent", "all of a reply's measurements come when it is over"),
    *ours("sessions", "SessionUsageUpdatedEvent", "never given"),
    *absent(
        "there is no such event; a recogniser that fails gives an error event",
        "UserTranscriptionTimeoutEvent OverlappingSpeechEvent",
    ),
    renamed(
        "UserTurnExceededEvent", "events:UserTurnExceededEvent", "transcript is the whole turn; words are not counted"
    ),
    *absent("listen to conversation_item_added: replies for updates are messages like others", "ToolReplyUpdated"),
]

_RUN_CONTEXT = renamed(
    "RunContext",
    "run_context:RunContext",
    "foreground() is absent: say() in the tool waits for its turn to speak",
)

_RUN_RESULT = [
    *same(
        "run_result",
        "RunResult RunAssert RunEvent EventAssert EventRangeAssert ChatMessageEvent FunctionCallEvent",
        "FunctionCallOutputEvent AgentHandoffEvent",
    ),
    renamed("mock_tools", "run_result:mock_tools"),
]

_AGENTS = [
    *ours("agents", "Agent AgentTask", "turns are the session's business: turn options of an agent are told"),
    *same("options", "ModelSettings"),
]

_TURN_OPTIONS = [
    *ours("sessions", "TurnHandlingOptions", ""),
    *ours("sessions", "EndpointingOptions", "mode, min_delay and max_delay count; the defaults are our own"),
    *ours(
        "sessions",
        "InterruptionOptions",
        "enabled, min_words (at least 1) and false_interruption_timeout count: a sound pauses the agent, words cut it",
    ),
    *ours("sessions", "PreemptiveGenerationOptions", "off unless enabled; speech is made with the response"),
    *ours("sessions", "UserTurnLimitOptions", ""),
]

_ROOM_OPTIONS = ours(
    "sessions",
    "RoomInputOptions RoomOutputOptions RoomOptions AudioInputOptions AudioOutputOptions TextInputOptions "
    "TextOutputOptions VideoInputOptions",
    "accepted and not used: the room is in this process",
)

_SESSION = ours(
    "sessions",
    "AgentSession",
    "options without effect are told once (listed below); input, output, room_io and amd are absent",
)

_BACKGROUND_AUDIO = [
    *ours("background", "BackgroundAudioPlayer"),
    *same("background_audio", "AudioConfig BuiltinAudioClip PlayHandle"),
]

_SPEECH_HANDLE = same("speech_handle", "SpeechHandle")

_NOT_GIVEN = [
    *same("options", "NotGiven NotGivenOr NOT_GIVEN"),
    *ours(
        "utilities",
        "APIConnectOptions DEFAULT_API_CONNECT_OPTIONS",
        "accepted and not used: models have timeout= and max_retries= of their own",
    ),
    *ours("utilities", "LanguageCode"),
]

_ERRORS = [
    renamed("APIError", "errors:ProviderError", "to be caught; made with provider= and retryable="),
    renamed("APIConnectionError", "errors:ProviderConnectionError", "to be caught"),
    renamed("APIStatusError", "errors:ProviderStatusError", "to be caught"),
    renamed("APITimeoutError", "errors:ProviderTimeout", "to be caught"),
    *absent("jobs are not assigned, they are calls; there is nothing to wait for", "AssignmentTimeoutError"),
    *absent("catch ToolError or ProviderError", "UnexpectedModelBehavior"),
    *absent("make a ProviderStatusError (antiphon.errors)", "create_api_error_from_http"),
]

_JOBS = [
    *ours(
        "servers",
        "AgentServer WorkerOptions",
        "a process holds many calls; options that make no sense then are told (listed below)",
    ),
    *ours("servers", "WorkerType"),
    *ours("servers", "WorkerPermissions", "can_publish_sources is not used"),
    *ours("servers", "JobExecutorType AutoSubscribe", "accepted and not used"),
    *ours(
        "servers",
        "JobContext",
        "without a LiveKit server: one caller, there from the start, and of ctx.api room.delete_room()",
    ),
    *same("server.job", "JobProcess"),
    *same("protocols", "get_job_context"),
    *ours("servers", "JobRequest"),
]

_WORKFLOWS = [
    *ours("agents", "TaskGroup", "summarize_chat_ctx= is told and not used"),
    *same("tasks.task_group", "TaskCompletedEvent TaskGroupResult"),
    *ours(
        "workflows",
        "GetAddressTask GetDOBTask GetDtmfTask GetEmailTask GetNameTask GetPhoneNumberTask",
        "questions and read-backs are our own; options that they do not know are told",
    ),
    *same(
        "tasks",
        "GetAddressResult GetDOBResult GetDtmfResult GetEmailResult GetNameResult GetPhoneNumberResult",
    ),
    *absent(
        "antiphon.tasks.GetCreditCardTask takes number and expiry, as secrets that no history and no recording has",
        "GetCreditCardTask GetCreditCardResult GetCardNumberTask GetSecurityCodeTask GetExpirationDateTask",
    ),
    *absent(
        "there is no telephone to transfer to; hand off to another Agent",
        "WarmTransferTask WarmTransferResult TwilioConnectorWarmTransferTask",
    ),
    *absent("give an AgentTask instructions=", "WorkflowInstructions"),
]

_BETA_TOOLS = [
    *same("toolkit.end_call", "EndCallTool"),
    *same("toolkit.dtmf", "send_dtmf_events"),
]

_TOOLSETS = [
    *_BACKGROUND,
    renamed(
        "ToolSearchToolset",
        "tools.search:ToolSearchToolset",
        "one way of ranking, and found tools stay; no search_strategy=",
    ),
    renamed("ToolProxyToolset", "tools.search:ToolProxyToolset", "calls keep the policies of the tools"),
    *absent("there is one way of ranking; leave search_strategy= out", "BM25SearchStrategy KeywordSearchStrategy"),
]

_SESSION_PARTS = [
    *absent("there are no recordings by option; antiphon call --out writes one", "RecordingOptions"),
    *absent("use a tool that takes the result", "RunOutputOptions"),
    *absent("write in the instructions how to speak", "ExpressiveOptions NonverbalOptions SpeechSteeringOptions"),
    *absent("override Agent.stt_node", "AudioRecognition"),
    *absent(
        "name the words in the recogniser: deepgram.STT(keyterms=[...])",
        "KeytermsOptions KeytermDetectionOptions STTContextOptions",
    ),
    *absent("session.start takes input= and output= (AudioInput, AudioOutput)", "io"),
    *absent("override Agent.tts_node; markup is taken out before speech", "text_transforms"),
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
        *absent("session.start(room=ctx.room) does what is needed", "RoomIO"),
        *absent("there is no picture of the agent", "avatar"),
        *_BACKGROUND_AUDIO,
        *absent("there is no detection of answering machines", "AMD AMDCategory AMDPredictionEvent"),
        *_RUN_RESULT,
        *_ERRORS,
        *_NOT_GIVEN,
        *absent("end the text of a node where the segment ends", "FlushSentinel"),
        *absent(
            "write tests with session.run() and mock_tools",
            "Scenario ScenarioGroup ScenarioUserdata Simulation SimulationContext SimulationDispatch SimulationRun "
            "SimulationVerdict",
        ),
        *absent("there is nothing to register: models are imported where they are used", "Plugin"),
        *absent("jobs run in this process", "ipc"),
    ],
    "livekit.agents.llm": [
        *_TOOLS,
        *_CHAT,
        *_DUPLICATES,
        *_BACKGROUND,
        *same("llm", "LLM LLMStream ChatChunk ChoiceDelta FunctionToolCall CompletionUsage CollectedResponse"),
        renamed("LLMError", "errors:ProviderError", "to be caught"),
        renamed("RealtimeError", "errors:ProviderError", "to be caught"),
        renamed("RealtimeModelError", "errors:ProviderError", "to be caught"),
        *absent(_NO_REALTIME, _REALTIME_PARTS),
        *absent(_NO_DECISIONS, _DECISIONS),
        *absent("the session filters what it hears with its VAD", "AudioGate AdaptiveNoiseGate FixedGate"),
        *absent("listen to the session's error events", "AvailabilityChangedEvent MetricsReport"),
        *absent("they are inner parts of LiveKit", "utils remote_chat_context"),
        renamed("FallbackAdapter", "antiphon_livekit.fallback:FallbackLLM", _FALLBACK),
        *absent("llm.FallbackAdapter", "RealtimeModelFallbackAdapter"),
        *[
            renamed(name, f"realtime:{name}", "a contract of its own: responses are events of the session")
            for name in ("RealtimeModel", "RealtimeSession", "RealtimeCapabilities")
        ],
        *absent(
            "tools run in sessions; call tool.prepare() and tool.call()", "execute_function_call FunctionCallResult"
        ),
        *absent("AsyncToolset(on_duplicate_call=) and function_tool(on_duplicate=)", "ToolHandlingOptions"),
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
        *absent("there is no picture of the caller", "VoiceActivityVideoSampler"),
        *absent("sessions run in this process", "RemoteSession"),
        *absent("listen to agent_output_transcribed: captions follow the sound", "TranscriptSynchronizer"),
    ],
    "livekit.agents.voice.agent": _AGENTS,
    "livekit.agents.voice.agent_session": _SESSION,
    "livekit.agents.voice.events": [_RUN_CONTEXT, *_EVENTS],
    "livekit.agents.voice.speech_handle": _SPEECH_HANDLE,
    "livekit.agents.voice.background_audio": _BACKGROUND_AUDIO,
    "livekit.agents.voice.room_io": [
        *_ROOM_OPTIONS,
        *absent("session.start(room=ctx.room) does what is needed", "RoomIO"),
        *absent("text comes as a turn: session.run(user_input=)", "TextInputEvent ATTRIBUTE_PUBLISH_ON_BEHALF"),
    ],
    "livekit.agents.voice.run_result": _RUN_RESULT,
    "livekit.agents.room_io": [
        *_ROOM_OPTIONS,
        *absent("session.start(room=ctx.room) does what is needed", "RoomIO"),
    ],
    "livekit.agents.beta": [
        *_BETA_TOOLS,
        *ours("agents", "Instructions"),
        *_TOOLSETS,
        *absent(
            "tell the model in the instructions which language to speak",
            "TranslationModel TranslationSession translation",
        ),
    ],
    "livekit.agents.beta.tools": _BETA_TOOLS,
    "livekit.agents.beta.toolsets": _TOOLSETS,
    "livekit.agents.beta.workflows": _WORKFLOWS,
    "livekit.agents.cli": [
        *ours("servers", "run_app", "commands console and call; start, dev and connect are not"),
        *absent("the command is antiphon console", "AgentsConsole"),
    ],
    "livekit.agents.job": _JOBS,
    "livekit.agents.worker": _JOBS,
    "livekit.agents.inference": [
        renamed("LLM", "antiphon_livekit.models:inference_LLM", "without LiveKit's gateway: by the vendor's own key"),
        renamed("STT", "antiphon_livekit.models:inference_STT", "without LiveKit's gateway: by the vendor's own key"),
        renamed("TTS", "antiphon_livekit.models:inference_TTS", "without LiveKit's gateway: by the vendor's own key"),
        renamed("TurnDetector", "antiphon_livekit.models:TurnDetector", "judges the words, in this process"),
        renamed("VAD", "antiphon_livekit.models:VAD", "in this process; its options are its own"),
        renamed(
            "RealtimeModel", "antiphon_livekit.models:inference_RealtimeModel", "not built yet: a local model instead"
        ),
        renamed("LLMStream", "llm:LLMStream", "an async iterable of ChatChunk"),
        *absent("there is no picture of the agent", "AvatarSession LemonSliceOptions"),
        *absent(
            "annotate names of models with str",
            "LLMModels STTModels TTSModels VADModels RealtimeModels DuplexModels DecisionModels OpenAIRealtimeModels "
            "XAIRealtimeModels",
        ),
        *absent("annotate names with str", "InferenceClass TurnDetectorModels TurnDetectorVersions"),
        *absent(
            "words cut the agent, sounds only pause it; AgentSession(turn_handling=) has the limits",
            "AdaptiveInterruptionDetector InterruptionDetectionError InterruptionDataFrameType OverlappingSpeechEvent",
        ),
        *absent(_NO_REALTIME, "RealtimeSession DuplexModel DuplexSession is_realtime_model is_duplex_model"),
        *absent(_NO_DECISIONS, "DecisionModel"),
        *absent("inference.LLM(name)", "llm_from_model_string"),
    ],
    "livekit.agents.mcp": [
        renamed("MCPServerHTTP", "tools.mcp:MCPServerHTTP", "no tool_result_resolver=; texts and pictures are told"),
        renamed("MCPServerStdio", "tools.mcp:MCPServerStdio", "no tool_result_resolver="),
        *same("tools.mcp", "MCPServer MCPToolset MCPToolOptions"),
    ],
    "livekit.agents.metrics": [
        *ours("quiet", "UsageCollector UsageSummary", "tokens and characters; seconds of sound are not counted"),
        *ours("quiet", "log_metrics"),
        *ours("metrics", "AgentMetrics LLMMetrics EOUMetrics", "told when the reply is over"),
        *ours("metrics", "TTSMetrics", "told when the reply is over, without durations"),
        *absent(
            "listen to the session's turn_metrics events: docs/metrics.md",
            "STTMetrics VADMetrics RealtimeModelMetrics ModelUsageCollector "
            "DecisionMetrics EOTInferenceMetrics InterruptionMetrics LLMModelUsage TTSModelUsage STTModelUsage "
            "InterruptionModelUsage EOTModelUsage ModelUsage AgentSessionUsage",
        ),
    ],
    "livekit.agents.stt": [
        renamed("STT", "stt:STT", "a subclass has stream(), which is pushed frames and marks"),
        *same("stt", "SpeechEvent SpeechEventType SpeechData"),
        *absent(_STREAM_ADAPTER, "StreamAdapter"),
        renamed("FallbackAdapter", "antiphon_livekit.fallback:FallbackSTT", _FALLBACK),
        renamed("STTError", "errors:ProviderError", "to be caught"),
        *absent("subclass STTStream (antiphon.stt)", "RecognizeStream SpeechStream STTCapabilities RecognitionUsage"),
        *absent("there is one caller", "SpeakerContext MultiSpeakerAdapter"),
        *absent("listen to the session's error events", "AvailabilityChangedEvent"),
        *absent(_STREAM_ADAPTER, "StreamAdapterWrapper"),
    ],
    "livekit.agents.tts": [
        renamed("TTS", "tts:TTS", "a subclass has synthesize(text), an async iterator"),
        *same("tts", "SynthesizedAudio"),
        renamed("TTSError", "errors:ProviderError", "to be caught"),
        *absent(
            "voices speak sentence by sentence by themselves",
            "StreamAdapter StreamAdapterWrapper SentenceStreamPacer TTSCapabilities MarkupInfo",
        ),
        *absent("listen to the session's error events", "AvailabilityChangedEvent"),
        *absent("tts.FallbackAdapter", "FallbackChunkedStream FallbackSynthesizeStream"),
        renamed("FallbackAdapter", "antiphon_livekit.fallback:FallbackTTS", _FALLBACK),
        *absent("write synthesize(text) as an async generator", "ChunkedStream SynthesizeStream AudioEmitter"),
    ],
    "livekit.agents.vad": [
        renamed("VAD", "vad:VAD", "a subclass has stream(), which is pushed frames"),
        *same("vad", "VADStream VADEvent"),
        *absent("events are SpeechStarted and SpeechEnded (antiphon.vad)", "VADEventType"),
    ],
    "livekit.agents.tokenize": absent(
        _TOKENIZE,
        "basic blingfire utils SentenceTokenizer WordTokenizer SentenceStream WordStream TokenData "
        "BufferedSentenceStream BufferedWordStream",
    ),
    "livekit.agents.types": _NOT_GIVEN,
    "livekit.agents.utils": [
        *ours("utilities", "shortuuid wait_for_participant"),
        *same("options", "is_given"),
        *absent("antiphon.audio has Resampler and AudioFrame", "audio AudioBuffer combine_frames merge_frames"),
        *absent("use ImageContent with an image's bytes or URL", "images"),
        *same("events", "EventEmitter"),
        *absent("antiphon.audio has Resampler and AudioFrame", "AudioArrayBuffer codecs"),
        *absent("there is one room and one caller, in this process", "wait_for_agent wait_for_track_publication"),
        *absent("use the standard library", "time_ms nodename log_exceptions resolve_env_var resolve_env_int hw"),
        *absent("they are inner parts of LiveKit", "ExpFilter MovingAverage BoundedDict ConnectionPool http_server"),
        *absent("programs run here the same everywhere", "is_dev_mode is_hosted"),
    ],
    "livekit.agents.utils.aio": [
        *ours("utilities", "cancel_and_wait gracefully_cancel"),
        *absent("use asyncio.Queue", "Chan ChanClosed"),
        *absent("use asyncio.Queue", "ChanSender ChanReceiver"),
        *absent("use asyncio.create_task", "duplex_unix tee itertools TaskSet WaitGroup AsyncAtomicCounter debug"),
        *absent("use asyncio.sleep", "Interval interval Sleep SleepFinished sleep"),
    ],
    "livekit.agents.utils.misc": [*same("options", "is_given"), *ours("utilities", "shortuuid")],
    "livekit.agents.utils.http_context": ours("utilities", "http_session"),
    "livekit.agents.testing": absent("session.start() needs no job in tests", "fake_job_context"),
    "livekit.rtc": [
        *ours("rooms", "AudioFrame"),
        *ours("rooms", "Room", "without a LiveKit server: of one caller, in this process"),
        *ours(
            "rooms",
            "Participant RemoteParticipant LocalParticipant",
            "without a LiveKit server nothing that is sent arrives",
        ),
        *ours("rooms", "ParticipantKind ConnectionState RpcInvocationData"),
        *ours("rooms", "RpcError", "never raised by a room here"),
        *same("events", "EventEmitter"),
        *absent("antiphon.audio has Resampler", "AudioResampler AudioResamplerQuality combine_audio_frames AudioMixer"),
        *absent(
            "rooms here have no options", "RoomOptions DataStreamOptions RtcConfiguration IceServer IceTransportType"
        ),
        *absent("rooms here have no options", "ContinualGatheringPolicy SimulateScenarioKind E2EEManager E2EEOptions"),
        *absent(
            "rooms here have no options", "KeyProviderOptions KeyProvider FrameCryptor EncryptionType EncryptionState"
        ),
        *absent(
            "rooms here have no options", "KeyDerivationFunction NoiseCancellationOptions AudioFilter FrameProcessor"
        ),
        *absent("on('disconnected') is given the reason as text", "DisconnectReason ConnectError ParticipantState"),
        *absent("there are no statistics", "stats RtcStats ConnectionQuality StreamState ParticipantKindDetail"),
        *absent(
            "nothing is sent to other clients",
            "DataPacket DataPacketKind SipDTMF Transcription TranscriptionSegment RpcCallInfo RpcInterceptor "
            "TextStreamInfo ByteStreamInfo TextStreamReader TextStreamWriter ByteStreamReader ByteStreamWriter "
            "StreamError "
            "LocalDataTrack RemoteDataTrack DataTrackStream DataTrackFrame DataTrackInfo PushFrameError "
            "SubscribeDataTrackError ParticipantTrackPermission",
        ),
        *absent(
            "there are no tracks",
            "LocalTrack RemoteTrack AudioTrack VideoTrack LocalVideoTrack RemoteVideoTrack TrackPublishOptions "
            "TrackPublication LocalTrackPublication RemoteTrackPublication AudioFrameEvent DegradationPreference "
            "AudioProcessingModule PlatformAudio PlatformAudioSource PlatformAudioOptions PlatformAudioError "
            "AudioDeviceInfo",
        ),
        *absent(
            "there is no video",
            "VideoFrame VideoFrameEvent VideoSource VideoCodec VideoEncoding VideoQuality VideoBufferType "
            "VideoRotation "
            "AVSynchronizer EncodedFrameType EncodedVideoFrame EncodedVideoSource EncodedVideoSourceFeedback "
            "EncodedRateControl VideoEncoderBackend FrameMetadata FrameMetadataFeature",
        ),
        *absent(
            "there are no tracks; session.start(input=, output=) takes audio of your own", "AudioSource AudioStream"
        ),
        *absent("there are no tracks", "Track LocalAudioTrack RemoteAudioTrack TrackKind TrackSource VideoStream"),
    ],
    "livekit.api": [
        *ours("rooms", "DeleteRoomRequest", "for ctx.api.room.delete_room(), which ends this call"),
        *absent(
            "there is no LiveKit server to ask without livekit-api: pip install 'antiphon[livekit]'",
            "LiveKitAPI AccessToken VideoGrants CreateRoomRequest CreateSIPParticipantRequest "
            "TransferSIPParticipantRequest RoomParticipantIdentity",
        ),
    ],
    **PLUGINS,
}

_BY_NAME = {(module, name.name): name for module, names in MODULES.items() for name in names}
