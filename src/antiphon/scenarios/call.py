"""One call of a scenario, from the first ring to what was not as it must be.

Above: whoever makes many. Below: jobs as every command has them, the line and the clock of `antiphon.testing`, the
record of a call; what the caller does is `script`, `persona`, or a function of the user's.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.calls.models import ModelChoice
from antiphon.calls.record import CallRecord, CallReport
from antiphon.calls.report import Sound as ReportSound
from antiphon.calls.report import write_report
from antiphon.calls.start import describe, describe_models, raise_error, start_session
from antiphon.calls.verdict import shortcomings
from antiphon.errors import AntiphonError, SessionClosed, UserdataNotSet
from antiphon.evaluation.mocks import put_mocks
from antiphon.llm import LLM
from antiphon.records.current import NOWHERE, call_records
from antiphon.scenarios import persona, script
from antiphon.scenarios.checks import EndedBy, Over, wrong
from antiphon.scenarios.definition import Medium, Scenario
from antiphon.scenarios.ear import Ear
from antiphon.scenarios.models import Voices
from antiphon.scenarios.mouths import HeardThrough, Mouth, SoundMouth, TextMouth, VoiceMouth
from antiphon.scenarios.on_the_line import CallerGaveUp, OnTheLine
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import Job, JobContext
from antiphon.server.room import Room
from antiphon.session import AgentSession
from antiphon.testing.caller import RATE, Caller
from antiphon.testing.line import CallLine
from antiphon.transports.recorder import Span, StereoRecorder

_ANSWERED = 3.0
"""Seconds that somebody who hangs up would have had to wait for an answer."""


@dataclass(slots=True, frozen=True)
class Wanted:
    """A call that is to be made."""

    scenario: Scenario
    seed: int
    medium: Medium = "sound"
    caller_llm: LLM | None = None


@dataclass(slots=True, frozen=True)
class Outcome:
    """A call that was made. `to_json` is the same for the same seed, byte for byte."""

    scenario: str
    seed: int
    failures: tuple[str, ...] = ()
    ended_by: EndedBy = "caller"
    duration: float = 0.0
    """Seconds of the call's own time."""
    dead_air: float = 0.0
    """The longest, in seconds."""
    answers: tuple[float, ...] = ()
    turns: tuple[Mapping[str, Any], ...] = ()
    calls: tuple[Mapping[str, Any], ...] = ()
    page: str = ""
    """Where its report is, if one was written."""

    @property
    def passed(self) -> bool:
        """All was as it must be."""
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "scenario": self.scenario,
            "seed": self.seed,
            "passed": self.passed,
            "failures": list(self.failures),
            "ended_by": self.ended_by,
            "duration": round(self.duration, 3),
            "dead_air": round(self.dead_air, 3),
            "answers": [round(one, 3) for one in self.answers],
            "turns": [dict(one) for one in self.turns],
            "calls": [dict(one) for one in self.calls],
            **({"page": self.page} if self.page else {}),
        }


@dataclass(slots=True)
class Made:
    """A call with its record and sound, for its page."""

    outcome: Outcome
    report: CallReport
    line: CallLine | None
    models: str = ""
    is_spoken: bool = False
    """A real voice spoke: its sound is worth to be kept."""

    def sound(self) -> AudioFrame | None:
        """As a third party hears it: the caller left, the agent right. None: it was in text."""
        return None if self.line is None else self.line.audio()

    def write_page(self, path: Path, *, title: str, failures: Sequence[str]) -> None:
        """Write its report, and beside it the sound, if a real voice spoke. Raises `OSError`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        told = replace(self.report, errors=[*failures, *self.report.errors])
        sound = None
        if self.line is not None:
            recorder = recorded(self.line)
            begin = self.line.timeline.begin
            spans = [Span(one.start - begin, one.end - begin) for one in self.line.caller.utterances if one.words]
            wav = path.with_suffix(".wav") if self.is_spoken else None
            if wav is not None:
                recorder.save(wav)
            sound = ReportSound(recorder, spans, (), wav)
        write_report(path, told, title=title, models=self.models, sound=sound)


def recorded(line: CallLine) -> StereoRecorder:
    """What sounded on a line, as a recording."""
    told = line.timeline
    recorder = StereoRecorder(caller_rate=RATE, agent_rate=RATE)
    recorder.hear_caller(line.caller.microphone.track.render(told.begin, told.end - told.begin))
    for one in told.agent:
        at = round((one.start - told.begin) * RATE)
        recorder.hear_agent(max(0, at), line.speaker.track.render(one.start, one.duration).data)
    return recorder


class Calling:
    """One call while it is made."""

    def __init__(self, wanted: Wanted, models: ModelChoice) -> None:
        scenario = wanted.scenario
        self.wanted = wanted
        self.rng = random.Random(f"{wanted.seed}/{scenario.name}")
        pace = scenario.caller.pace
        self.line = None if wanted.medium == "text" else CallLine(Caller(words_per_second=pace))
        self.caller = Caller() if self.line is None else self.line.caller
        self.models = Voices(models, wanted.medium, self.caller)
        self.ear = Ear()
        self.session: AgentSession[Any] | None = None
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.record = CallRecord(lambda: self._loop.time() - self._began)
        self.room = self._room()
        self.end = OnTheLine(ear=self.ear, mouth=self._mouth(), room=self.room, manner=scenario.caller, rng=self.rng)
        self.failures: list[str] = []
        self.models_told = ""
        self._duration = 0.0
        self._in_charge: tuple[str, ...] = ()
        self.record.on("turn", lambda _: self._look())

    def _room(self) -> Room:
        if self.line is None:
            return Room(f"simulated-{self.wanted.seed}")
        heard = (
            self.caller.microphone
            if self.wanted.medium == "sound"
            else HeardThrough(self.caller, self.wanted.scenario.line, self.rng.random())
        )
        return Room(f"simulated-{self.wanted.seed}", audio_input=heard, audio_output=self.line.speaker)

    def _mouth(self) -> Mouth:
        if self.line is None:
            return TextMouth(lambda: self.session, lambda: None)
        if self.wanted.medium == "sound":
            return SoundMouth(self.line)
        from antiphon.providers.local import HibariTTS

        return VoiceMouth(self.line, HibariTTS(speed=max(0.8, min(1.3, self.wanted.scenario.caller.pace / 3))))

    def starts(self, session: AgentSession[Any]) -> None:
        """The session is about to start."""
        self.session = session
        self.record.listen(session)
        self.ear.listen(session)
        put_mocks(session, self.wanted.scenario.tools, self.rng)
        if self.line is not None:
            self.line.begins(session)

    async def talk(self, job: JobContext) -> None:
        """From the agent's first word to the end."""
        session = await start_session(job)
        if self.line is not None and not self.caller.microphone.started:
            raise AntiphonError("the session does not hear the caller. Call `session.start(agent=..., room=ctx.room)`.")
        self.end.is_answered_by(session)
        self.models_told = describe_models(session, "llm")
        try:
            await self._limited()
        finally:
            self._look()
            self._duration = self._loop.time() - self._began
            if self.line is not None:
                self.line.ends()

    def _look(self) -> None:
        """Who is in charge, while it can be known."""
        if self.session is not None:
            with contextlib.suppress(SessionClosed):
                agent = self.session.current_agent
                self._in_charge = type(agent).__name__, agent.id

    async def _limited(self) -> None:
        scenario = self.wanted.scenario
        try:
            async with asyncio.timeout(60 * scenario.minutes):
                await self._play()
        except TimeoutError:
            said = f"the caller said {self.end.last_said!r} last, and heard {self.end.heard!r}"
            self.failures.append(f"not over after {scenario.minutes:g} virtual minutes (minutes): {said}")
            self.end.hangs_up()
        except CallerGaveUp as gave_up:
            self.failures.append(f"the caller gave up: {gave_up}")
            self.end.hangs_up()

    async def _play(self) -> None:
        scenario = self.wanted.scenario
        if scenario.plays is not None:
            try:
                await scenario.plays(self.end)
            except (CallerGaveUp, TimeoutError):
                raise
            except Exception as error:
                raise CallerGaveUp(f"the scenario raised {describe(error)}") from error
            self.end.hangs_up()
        elif self.wanted.caller_llm is not None:
            await persona.play(scenario.caller, self.end, self.wanted.caller_llm)
        else:
            await script.follow(scenario.caller, self.end)

    def over(self) -> Made:
        """What came of it, once the job has ended."""
        answers = tuple(self._answers())
        report = self.record.report(self._duration, answers)
        over = Over(
            report=report,
            heard=self.ear.heard,
            ended_by="caller" if self.end.has_hung_up else "agent",
            dead_air=() if self.line is None else self.line.timeline.silences(self.line.pending),
            answers=answers,
            userdata=self._userdata(),
            in_charge=self._in_charge,
            duration=self._duration,
        )
        found = [*self.failures, *self.end.failures, *self._shortcomings(report)]
        outcome = outcome_of(self.wanted, over, [*found, *wrong(self.wanted.scenario.expect, over)])
        return Made(outcome, report, self.line, self.models_told, self.wanted.medium == "voice")

    def _answers(self) -> Iterator[float]:
        """Seconds from the end of each turn to its answer, where the agent was silent then and did answer."""
        if self.line is None:
            return
        line = self.line.timeline
        said = [one for one in self.caller.utterances if one.words]
        for number, one in enumerate(said):
            until = said[number + 1].start if number + 1 < len(said) else line.end
            begins = line.agent_begins(one.end)
            if begins is not None and one.end < begins < until:
                yield begins - one.end

    def _userdata(self) -> Any:
        try:
            return None if self.session is None else self.session.userdata
        except UserdataNotSet:
            return None

    def _shortcomings(self, report: CallReport) -> Iterator[str]:
        """What went wrong that no scenario has to name; tools that break because the scenario says so are none."""
        tools = self.wanted.scenario.tools
        breaks = {f"the tool {name} raised" for name, mock in tools.items() if mock.may_crash}
        hung_up = self.end.has_hung_up and self.end.silent_at_the_end < _ANSWERED
        for one in shortcomings(report, has_spoken=bool(self.end.last_said) and not hung_up):
            if one not in breaks:
                yield one


def outcome_of(wanted: Wanted, over: Over, failures: Sequence[str]) -> Outcome:
    """A call as data."""
    turns = over.report.turns
    return Outcome(
        wanted.scenario.name,
        wanted.seed,
        tuple(dict.fromkeys(failures)),
        over.ended_by,
        over.duration,
        max((one.duration for one in over.dead_air), default=0.0),
        tuple(over.answers),
        tuple(
            {"role": turn.role, "text": turn.text, "at": round(turn.started, 3), "interrupted": turn.interrupted}
            for turn in turns
        ),
        tuple(
            {"tool": call.name, "arguments": call.arguments, "status": call.status, "output": call.output}
            for call in over.report.tool_calls
        ),
    )


async def make_call(server: AgentServer, wanted: Wanted, models: ModelChoice) -> Made:
    """Make one call. Raises `AntiphonError` where none can be made: an entrypoint raises, a model lacks."""
    calling = Calling(wanted, models)
    known = hashlib.sha256(f"{wanted.seed}/{wanted.scenario.name}".encode()).hexdigest()[:16]
    job = Job(id=f"simulated-{known}", call_id=known)
    call_records.set(NOWHERE)  # in this task: it is no call of anybody's
    async with server.job(calling.room, models=calling.models, job=job) as context:
        context.on_session(calling.starts)
        await calling.talk(context)
        raise_error(context)
    return calling.over()
