"""A call by voice in the terminal: talk, or type, to an agent on this machine's microphone and loudspeaker.

The voice may come over another line (`--transport`); then the keyboard and the screen stay here.

Above: `main.py`, which gives the line and the models. Below: the transport, the agent server that runs the call,
`Stage` and `Screen`, which show it. On a terminal the words, levels and keys are live; anywhere else each thing that
is said or done is one plain line, and each line of the input is a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.calls.ends import first_end
from antiphon.calls.models import ModelChoice
from antiphon.calls.record import CallRecord, ToolCallRecord, ToolStep, Turn
from antiphon.calls.start import raise_error, start_session
from antiphon.cli.call import say
from antiphon.cli.console import typed_lines
from antiphon.cli.introduce import introduce
from antiphon.cli.keys import Key, Line, LineEditor, Typed, can_read_keys, typing
from antiphon.cli.screen import Screen
from antiphon.cli.stage import Stage, View
from antiphon.errors import UsageError
from antiphon.events import (
    AgentStateChangedEvent,
)
from antiphon.metrics import TurnMetrics
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import job_of
from antiphon.server.room import Room
from antiphon.session import AgentSession
from antiphon.transport import Transport, named_transport
from antiphon.transports.devices import device_settings
from antiphon.transports.processing import AudioProcessing
from antiphon.transports.terminal import TerminalAudio

SILENT_MICROPHONE = 5.0
"""Seconds of nothing but zeros after which the caller is told."""
TAIL = 0.3
"""Seconds that the microphone stays open after the talk key: people press it with their last word."""


@dataclass(slots=True, frozen=True)
class TalkOptions:
    """How a call by voice is made."""

    devices: Sequence[str] = ()
    """Numbers or names, see `choose_devices`; none: the system's own."""
    null: bool = False
    """No sound devices."""
    processing: bool | None = None
    """Clean the microphone; None: that of this machine, if the package is there."""
    push_to_talk: bool = False
    transport: str = ""
    """The line, see `named_transport`; "": that of the devices."""
    resume: str | None = None
    """The id of a call whose process has ended, which goes on here."""


async def talk(server: AgentServer, *, options: TalkOptions, models: ModelChoice, screen: Screen) -> None:
    """Run the call until the caller or the agent ends it. Raises `AntiphonError` for what makes it impossible."""
    line = await _line(options)
    processing = await _processing(options, screen)
    async with line as audio:
        room = Room(
            audio_input=audio.input, audio_output=audio.output, processing=processing, muted=options.push_to_talk
        )
        await _Conversation(server, audio, room, options, screen).run(models)


async def _line(options: TalkOptions) -> Transport:
    """The line that was asked for. Raises `UsageError` for one that is not there."""
    if options.transport:
        return named_transport(options.transport)
    # The sound system is asked for its devices, and may be slow to answer.
    return TerminalAudio(await asyncio.to_thread(device_settings, options.devices, null=options.null))


async def _processing(options: TalkOptions, screen: Screen) -> AudioProcessing | None:
    if options.processing is False or (options.transport and not options.processing):
        return None
    processing = AudioProcessing()
    try:
        await processing.prepare()
    except UsageError as error:
        if options.processing:
            raise
        screen.notice(f"The agent may hear itself, use headphones: {error}")
        return None
    return processing


class _Conversation:
    """One call: what the session does, shown; what the caller types and presses, done."""

    def __init__(
        self,
        server: AgentServer,
        audio: Transport,
        room: Room,
        options: TalkOptions,
        screen: Screen,
    ) -> None:
        self._server = server
        self._audio = audio
        self._room = room
        self._options = options
        self._screen = screen
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._live = can_read_keys() and screen.console.is_terminal
        self._view = View(push_to_talk=options.push_to_talk, muted=options.push_to_talk)
        self._editor = LineEditor()
        self._session: AgentSession[Any] | None = None
        self._early: list[str] = []
        """Lines typed while the models were loaded."""
        self._record = CallRecord(self._now)
        self._hung_up = asyncio.Event()
        self._delays: list[float | None] = []
        """Seconds that the caller waited for each answer."""
        self._heard = 0.0
        """Seconds of silence that the microphone has given, as long as it gave nothing else."""

    async def run(self, models: ModelChoice) -> None:
        record = self._record
        record.on("turn", self._on_turn)
        record.on("tool", self._on_tool)
        record.on("consent", self._screen.consent)
        record.on("claim", self._screen.claim)
        record.on("reply", self._on_reply)
        async with self._shown(), self._server.job(self._room, models=models, job=job_of(self._options.resume)) as job:
            job.on_session(record.listen)
            job.on_session(self._listen)
            self._session = await start_session(job)
            await introduce(self._session, self._screen, "llm", "stt", "tts", more=" Ctrl-D ends the call.")
            for text in self._early:
                self._session.submit_user_turn(text)
            await first_end(job.wait_for_shutdown(), self._audio.wait_failed(), self._caller(self._session))
            raise_error(job)
        self._screen.summary(record.report(self._now(), self._delays))

    def _now(self) -> float:
        return self._loop.time() - self._began

    @contextlib.asynccontextmanager
    async def _shown(self) -> AsyncIterator[None]:
        if not self._live:
            yield
            return
        if isinstance(self._audio, TerminalAudio):
            self._audio.input.listen(self._on_block)
        with typing(self._editor, self._on_typed):
            async with Stage(self._screen.console, self._view).shown():
                yield

    # -- what the session does

    def _listen(self, session: AgentSession[Any]) -> None:
        session.once("agent_state_changed", self._begin)
        if not self._live:
            return
        session.on("agent_state_changed", self._view.agent_state_changed)
        session.on("user_state_changed", self._view.user_state_changed)
        session.on("user_input_transcribed", self._view.user_input_transcribed)
        session.on("agent_output_transcribed", self._view.agent_output_transcribed)

    def _begin(self, event: AgentStateChangedEvent) -> None:
        """The models are loaded: the call begins now."""
        self._began = self._loop.time()

    def _on_tool(self, call: ToolCallRecord, step: ToolStep) -> None:
        self._view.tools = {one.call_id: (one.name, one.started) for one in self._record.running}
        self._screen.tool(call, step)

    def _on_reply(self, reply: TurnMetrics) -> None:
        if reply.response_delay is not None:
            self._delays.append(reply.response_delay)
            self._view.response = reply.response_delay

    def _on_turn(self, turn: Turn) -> None:
        self._view.written_down(turn.role)
        self._screen.turn(turn)

    def _on_block(self, recorded: AudioFrame, given: AudioFrame) -> None:
        self._view.hear(self._now(), recorded, given)
        if self._view.caller.ever or self._options.null or self._heard > SILENT_MICROPHONE:
            return
        self._heard += recorded.duration
        if self._heard > SILENT_MICROPHONE:
            self._screen.notice(
                "The microphone is silent. Is it switched off, or another one? --list-devices shows them."
            )

    # -- what the caller does

    async def _caller(self, session: AgentSession[Any]) -> None:
        """Wait until the caller hangs up."""
        if self._live:
            await self._hung_up.wait()
            return
        await session.wait_for_idle()
        never: asyncio.Future[None] = self._loop.create_future()
        async for text in typed_lines("", never):
            if not session.is_running:
                break
            await say(session, text)

    def _on_typed(self, typed: Sequence[Typed]) -> None:
        for one in typed:
            self._do(one)
        self._view.typed = self._editor.text

    def _do(self, typed: Typed) -> None:
        match typed:
            case Line(text=text):
                if self._session is None:
                    self._early.append(text)
                elif self._session.is_running:
                    self._session.submit_user_turn(text)
            case Key.END:
                self._hung_up.set()
            case Key.MUTE:
                self._mute(not self._view.muted)
            case Key.TALK if self._options.push_to_talk:
                self._press_to_talk()

    def _mute(self, muted: bool) -> None:
        self._view.muted = muted
        if muted:
            self._room.mute()
        else:
            self._room.unmute()

    def _press_to_talk(self) -> None:
        if self._view.muted:
            self._mute(False)
            return
        self._view.muted = True
        self._loop.call_later(TAIL, self._talked)

    def _talked(self) -> None:
        if self._view.muted and self._session is not None and self._session.is_running:
            self._room.mute()
            self._session.commit_user_turn()
