"""A call from the command line: recorded or typed turns into an agent, and what came of it.

`voice_call` and `text_call` run one call each and give a `Call`; `save` writes what was asked for. They know neither
arguments nor exit codes: those are `main.py`'s. What makes a call impossible is an `AntiphonError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from antiphon.audio import AudioFrame, Resampler
from antiphon.calls.ends import DEFAULT_WAIT, BackgroundWork, first_end
from antiphon.calls.models import ModelChoice, local_model
from antiphon.calls.record import CallRecord, CallReport, Turn
from antiphon.calls.report import Answer, Sound, answers, delays, write_report
from antiphon.calls.start import raise_error, start_session
from antiphon.calls.verdict import shortcomings
from antiphon.cli.introduce import introduce
from antiphon.cli.screen import Screen
from antiphon.errors import AgentFileError, AntiphonError, UsageError
from antiphon.replay import JournalWriter
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import JobContext, job_of
from antiphon.server.room import Room
from antiphon.session import AgentSession
from antiphon.transports.recorder import RecordingOutput, StereoRecorder
from antiphon.transports.wav import RecordedCaller

CALL_LIMIT = 1800.0
"""Seconds after which a call from the command line ends, whatever happens."""
CALLER_RATE = 16_000
"""Hz of a caller whose words are spoken here."""
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
    journal: JournalWriter | None = None
    has_spoken: bool = True
    """The caller said something."""
    interrupted: bool = False
    """It ended because the task that made it was cancelled: keep what there is, and then end that task."""

    @property
    def shortcomings(self) -> list[str]:
        """What went wrong in it, each in a few words."""
        return [] if self.interrupted else shortcomings(self.report, has_spoken=self.has_spoken)

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {**self.report.to_json(), "failed": self.shortcomings}

    def save(self, *, title: str, recording: Path | None, page: Path | None) -> None:
        """Write the stereo recording, the page, the end of the journal, each whatever becomes of the others.

        Raises `AntiphonError`, which says which could not be written and why, once all others are.
        """
        failures: list[str] = []

        def write(path: Path, how: Callable[[], None]) -> Path | None:
            try:
                how()
            except OSError as error:
                failures.append(f"{error.filename or path}: {error.strerror or error}")
                return None
            return path

        if recording is not None and (recorder := self.recorder) is not None:
            recording = write(recording, partial(recorder.save, recording))
        if page is not None:
            sound = self._sound(recording)
            write(page, partial(write_report, page, self.report, title=title, models=self.models, sound=sound))
        if self.journal is not None:
            write(self.journal.path, self.journal.close)
        if failures:
            raise AntiphonError(f"cannot write {', '.join(failures)}. Choose another path.")

    def _sound(self, recording: Path | None) -> Sound | None:
        if self.recorder is None or self.caller is None or self.output is None:
            return None
        return Sound(self.recorder, self.caller.spoken, self.output.cuts, recording)


async def spoken_turns(texts: Sequence[str]) -> list[AudioFrame]:
    """What a caller says, as sound by this machine's voice, in English. Raises `UsageError` for what is no speech."""
    voice = local_model("tts")
    turns: list[AudioFrame] = []
    for text in texts:
        frames = [said.frame async for said in voice.synthesize(text)]
        if not frames:
            raise UsageError(f"--say {text!r}: there is nothing in it that a voice could say. Give words.")
        resampler = Resampler(CALLER_RATE)
        parts = [*(resampler.push(frame).data for frame in frames), resampler.flush().data]
        turns.append(AudioFrame(b"".join(parts), CALLER_RATE))
    return turns


async def voice_call(
    server: AgentServer,
    turns: Sequence[AudioFrame],
    *,
    barge_in: Mapping[int, float],
    models: ModelChoice,
    screen: Screen,
    journal: JournalWriter | None = None,
    wait: float = DEFAULT_WAIT,
    resume: str | None = None,
) -> Call:
    """Play recorded turns to the agent, in real time, until the caller hangs up or the agent ends the call.

    After the last turn they stay for `wait` seconds at most, to be told what came of tools in the background.
    """
    recorder = StereoRecorder()
    output = RecordingOutput(recorder)
    sessions: list[AgentSession[Any]] = []
    interrupted, record = False, CallRecord(recorder.now)
    work = BackgroundWork(record, wait)
    caller = RecordedCaller(
        turns,
        recorder,
        output,
        busy=lambda: not sessions or not sessions[0].idle,
        stays=work.keeps_waiting,
        barge_in=barge_in,
    )

    def on_turn(turn: Turn) -> None:
        _find_latency(turn, answers(recorder, caller.spoken))
        screen.turn(turn)

    screen.follow(record, on_turn)
    record.on("interim", screen.interim)
    record.on("reply", screen.reply)
    room = Room(audio_input=caller, audio_output=output)
    room.sound.kept_by(recorder, output.cuts, caller.spoken)
    screen.interim("Loading models ...")
    async with server.job(room, models=models, job=job_of(resume)) as job:
        job.on_session(sessions.append)
        _keep_record(job, record, journal, recorder)
        session = await start_session(job)
        if not caller.started:
            raise AgentFileError(
                "the session does not hear the caller. Call `session.start(agent=..., room=ctx.room)`."
            )
        ran_with = await introduce(session, screen, "llm", "stt", "tts")
        try:
            if not await first_end(job.wait_for_shutdown(), caller.hung_up(), timeout=CALL_LIMIT):
                screen.notice(f"The call was ended after {CALL_LIMIT:g} s.")
        except asyncio.CancelledError:
            interrupted = True
            screen.interrupted()
        _tell_given_up(work, screen)
        raise_error(job)
        duration = recorder.now()
    report = record.report(duration, delays(recorder, caller.spoken))
    screen.summary(report)
    return Call(report, ran_with, recorder, caller, output, journal, bool(caller.spoken), interrupted)


async def text_call(
    server: AgentServer,
    texts: Sequence[str],
    *,
    models: ModelChoice,
    screen: Screen,
    journal: JournalWriter | None = None,
    wait: float = DEFAULT_WAIT,
    resume: str | None = None,
) -> Call:
    """Type turns to the agent, each when the one before was answered.

    After the last one, wait for `wait` seconds at most to be told what came of tools in the background. `resume`: the
    id of a call whose process has ended, which goes on here.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    interrupted = has_spoken = False
    record = CallRecord(lambda: loop.time() - began)
    screen.follow(record, screen.turn)
    record.on("reply", screen.reply)
    work = BackgroundWork(record, wait)
    async with server.job(Room(), models=models, job=job_of(resume)) as job:
        _keep_record(job, record, journal)
        session = await start_session(job)
        ran_with = await introduce(session, screen, "llm")
        try:
            await session.wait_for_idle()
            for text in texts:
                if job.reason or not session.is_running:
                    break
                has_spoken = True
                await say(session, text)
            await first_end(job.wait_for_shutdown(), work.told(session))
        except asyncio.CancelledError:
            interrupted = True
            screen.interrupted()
        _tell_given_up(work, screen)
        raise_error(job)
    report = record.report(loop.time() - began)
    screen.summary(report)
    return Call(report, ran_with, journal=journal, has_spoken=has_spoken, interrupted=interrupted)


def _find_latency(turn: Turn, found: Sequence[Answer | None]) -> None:
    for answer in found if turn.role == "assistant" else ():
        if answer is not None and turn.started - 0.5 <= answer.answered <= turn.ended:
            turn.answers(answer.delay)


def _keep_record(
    job: JobContext, record: CallRecord, journal: JournalWriter | None, recorder: StereoRecorder | None = None
) -> None:
    job.on_session(record.listen)
    if recorder is not None:
        job.on_session(recorder.follow)
    if journal is not None:
        job.on_session(journal.listen)


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
