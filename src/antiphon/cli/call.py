"""A call from the command line: recorded or typed turns into an agent, and what came of it.

`voice_call` and `text_call` run one call each and give a `Call`; `save` writes what was asked for. They know neither
arguments nor exit codes: those are `main.py`'s. What makes a call impossible is an `AntiphonError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.cli.agent_file import describe, line_in_agent_file
from antiphon.cli.background import BackgroundWork
from antiphon.cli.call_log import CallLog, CallReport, Turn
from antiphon.cli.ends import DEFAULT_WAIT, first_end
from antiphon.cli.journal import Journal
from antiphon.cli.models import ModelChoice
from antiphon.cli.report import Sound, answers, write_report
from antiphon.cli.screen import Screen
from antiphon.errors import AgentFileError, AntiphonError
from antiphon.protocols import ModelKind
from antiphon.server.job import JobContext
from antiphon.server.room import Room
from antiphon.server.server import AgentServer
from antiphon.session import AgentSession
from antiphon.transports.recorder import RecordingOutput, StereoRecorder
from antiphon.transports.wav import RecordedCaller

CALL_LIMIT = 1800.0
"""Seconds after which a call from the command line ends, whatever happens."""
START_LIMIT = 60.0
"""Seconds in which an entrypoint must have started its session."""
TURN_LIMIT = 120.0
"""Seconds in which a typed turn must be answered."""


@dataclass(slots=True, frozen=True)
class Call:
    """A finished call."""

    report: CallReport
    models: str
    """What it ran with, in words."""
    recorder: StereoRecorder | None = None
    caller: RecordedCaller | None = None
    output: RecordingOutput | None = None
    journal: Journal | None = None
    interrupted: bool = False
    """It ended because the task that made it was cancelled: keep what there is, and then end that task."""

    def save(self, *, title: str, recording: Path | None, page: Path | None, journal: Path | None = None) -> None:
        """Write the stereo recording, the page, the journal. Raises `AntiphonError` if a file cannot be written."""
        try:
            if recording is not None and self.recorder is not None:
                self.recorder.save(recording)
            if page is not None:
                write_report(page, self.report, title=title, models=self.models, sound=self._sound(recording))
            if journal is not None and self.journal is not None:
                self.journal.save(journal, title)
        except OSError as error:
            raise AntiphonError(f"cannot write {error.filename}: {error.strerror}. Choose another path.") from error

    def _sound(self, recording: Path | None) -> Sound | None:
        if self.recorder is None or self.caller is None or self.output is None:
            return None
        return Sound(self.recorder, self.caller.spoken, self.output.cuts, recording)


async def voice_call(
    server: AgentServer,
    turns: Sequence[AudioFrame],
    *,
    barge_in: Mapping[int, float],
    models: ModelChoice,
    screen: Screen,
    journal: Journal | None = None,
    wait: float = DEFAULT_WAIT,
) -> Call:
    """Play recorded turns to the agent, in real time, until the caller hangs up or the agent ends the call.

    After the last turn the caller stays on the line for `wait` seconds at most, to be told what came of tools in the
    background.
    """
    recorder = StereoRecorder()
    output = RecordingOutput(recorder)
    sessions: list[AgentSession[Any]] = []
    work = BackgroundWork(wait)
    caller = RecordedCaller(
        turns,
        recorder,
        output,
        busy=lambda: not sessions or not sessions[0].idle,
        stays=work.keeps_waiting,
        barge_in=barge_in,
    )

    def on_turn(turn: Turn) -> None:
        if turn.role == "assistant":
            for answer in answers(recorder, caller.spoken):
                if answer is not None and turn.started - 0.5 <= answer.answered <= turn.ended:
                    turn.latency_ms = round(1000 * answer.delay, 1)
        screen.turn(turn)

    interrupted = False
    log = CallLog(recorder.now, on_turn=on_turn, on_tool=screen.tool, on_interim=screen.interim, on_reply=screen.reply)
    room = Room(audio_input=caller, audio_output=output)
    screen.interim("Loading models ...")
    async with server.job(room, models=models) as job:
        job.on_session(sessions.append)
        if journal is not None:
            job.on_session(journal.listen)
        job.on_session(log.listen)
        job.on_session(work.listen)
        session = await start_session(job)
        if not caller.started:
            raise AgentFileError(
                "the session does not hear the caller. Call `session.start(agent=..., room=ctx.room)`."
            )
        ran_with = describe_models(session, "llm", "stt", "tts")
        try:
            if not await first_end(job.wait_for_shutdown(), caller.hung_up(), timeout=CALL_LIMIT):
                screen.notice(f"The call was ended after {CALL_LIMIT:g} s.")
        except asyncio.CancelledError:
            interrupted = True
            screen.interrupted()
        _tell_given_up(work, screen)
        raise_error(job)
        duration = recorder.now()
    delays = [a.delay if a is not None else None for a in answers(recorder, caller.spoken)]
    report = log.report(duration, delays)
    screen.summary(report)
    return Call(report, ran_with, recorder, caller, output, journal, interrupted)


async def text_call(
    server: AgentServer,
    texts: Sequence[str],
    *,
    models: ModelChoice,
    screen: Screen,
    journal: Journal | None = None,
    wait: float = DEFAULT_WAIT,
) -> Call:
    """Type turns to the agent, each when the one before was answered.

    After the last one, wait for `wait` seconds at most to be told what came of tools in the background.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    interrupted = False
    log = CallLog(lambda: loop.time() - began, on_turn=screen.turn, on_tool=screen.tool, on_reply=screen.reply)
    work = BackgroundWork(wait)
    async with server.job(Room(), models=models) as job:
        job.on_session(log.listen)
        job.on_session(work.listen)
        if journal is not None:
            job.on_session(journal.listen)
        session = await start_session(job)
        ran_with = describe_models(session, "llm")
        try:
            await session.wait_for_idle()
            for text in texts:
                if job.reason or not session.is_running:
                    break
                await say(session, text)
            await first_end(job.wait_for_shutdown(), work.told(session))
        except asyncio.CancelledError:
            interrupted = True
            screen.interrupted()
        _tell_given_up(work, screen)
        raise_error(job)
    report = log.report(loop.time() - began)
    screen.summary(report)
    return Call(report, ran_with, journal=journal, interrupted=interrupted)


def _tell_given_up(work: BackgroundWork, screen: Screen) -> None:
    if work.given_up:
        names = ", ".join(work.given_up)
        screen.notice(
            f"Still running after {work.limit:g} s, and ended with the call: {names}. Wait longer with --wait."
        )


async def say(session: AgentSession[Any], text: str) -> None:
    """Type one turn and wait until it was answered. Raises `AntiphonError` after `TURN_LIMIT` seconds."""
    try:
        async with asyncio.timeout(TURN_LIMIT):
            await session.run(user_input=text)
    except TimeoutError:
        raise AntiphonError(
            f"no answer to {text!r} within {TURN_LIMIT:g} s. Look for a tool that never ends."
        ) from None


def describe_models(session: AgentSession[Any], *kinds: ModelKind) -> str:
    """What the agent in charge runs with, for example "openai.LLM, deepgram.STT, tts.HibariTTS"."""
    models = [getattr(session.current_agent, kind) for kind in kinds]
    return ", ".join(model.label for model in models if model is not None)


async def start_session(job: JobContext) -> AgentSession[Any]:
    """Wait until the entrypoint has started its session. Raises `AntiphonError` if it does not."""
    try:
        async with asyncio.timeout(START_LIMIT):
            session = await job.wait_for_session()
    except TimeoutError:
        raise AgentFileError(f"the entrypoint started no session within {START_LIMIT:g} s.") from None
    raise_error(job)
    if session is None:
        raise AgentFileError("the job ended before its session had started. Call shutdown() later.")
    return session


def raise_error(job: JobContext) -> None:
    """Raise what the entrypoint raised, if it did, as an `AntiphonError` fit to be shown."""
    error = job.error
    if isinstance(error, AntiphonError):
        raise error
    if error is not None:
        raise AgentFileError(f"{line_in_agent_file(error)}the entrypoint raised {describe(error)}") from error
