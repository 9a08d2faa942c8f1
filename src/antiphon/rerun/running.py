"""A recorded call, made again with an agent file, in virtual time.

Above: `antiphon replay`, tests. Below: jobs as every command has them, the line and the clock of `antiphon.testing`,
what is told of a call as for a record of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.calls.models import ModelChoice
from antiphon.calls.offered import offered_by
from antiphon.calls.offers import describe_model
from antiphon.calls.record import CallRecord
from antiphon.calls.report import reply_data
from antiphon.calls.start import describe, raise_error, start_session
from antiphon.errors import AntiphonError, UsageError
from antiphon.events import AgentStateChangedEvent, CloseEvent, JournalEvent, NewId
from antiphon.protocols import ModelKind
from antiphon.records.current import NOWHERE, call_records
from antiphon.records.findings import Finding
from antiphon.records.format import Record
from antiphon.records.requests import RequestLog, requests_in
from antiphon.rerun.call import RecordedCall
from antiphon.rerun.expecting import Expectation, problems_in, said_by
from antiphon.rerun.line import Line, Player
from antiphon.rerun.model import Models
from antiphon.rerun.reading import recorded_call
from antiphon.rerun.steps import Divergence, Step, divergence, steps_of
from antiphon.rerun.tools import Tools
from antiphon.run_result import stand_in_for_tools
from antiphon.server.agent_file import load_agent_file
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import Job, JobContext
from antiphon.server.room import Room
from antiphon.session import AgentSession
from antiphon.testing.clock import LeakedTasks, VirtualTimeError, run_virtual
from antiphon.testing.line import CallLine
from antiphon.visible import one_line

_LONGEST = 4 * 3600.0
"""Virtual seconds of a call."""
_BY_CALLER = ("job_shutdown", "participant_disconnected")


@dataclass(slots=True, frozen=True, kw_only=True)
class Settings:
    """How a call is made again."""

    models: Mapping[ModelKind, str] = field(default_factory=dict)
    """What answers requests that the recording does not have, by name: {"llm": "openai/gpt-4o-mini"}."""
    asks_others: bool = True
    """False: the call ends at the first request that the recording does not have."""
    run_tools: Sequence[str] = ()
    """Names (or patterns) of tools that run for real. ("*",): all."""
    strict_models: bool = False


@dataclass(slots=True, frozen=True)
class Rerun:
    """What came of it."""

    head: Mapping[str, Any]
    """As `record.json` has it: turns, tool_calls, errors, ..."""
    figures: Mapping[str, Any]
    """As `metrics.json` has it: replies."""
    steps: Sequence[Step]
    other_model: str = ""
    """What answered requests that the recording does not have; "": there were none."""
    asked_instead: int = 0
    not_recorded: Sequence[str] = ()
    """Calls of tools that the recording does not have, which were not run."""
    stopped: str = ""
    """Why it did not go on to its end."""
    ran: Sequence[str] = ()
    """Tools that were run."""

    @property
    def problems(self) -> list[Finding]:
        """What is wrong with it: findings as in a record, lost turns, what was done twice, unknown outcomes, ..."""
        return problems_in(self.head, self.figures)

    def story(self) -> str:
        """What was heard, called and said, a line each."""
        shown = {"heard": "caller", "call": "  call", "result": "  tool", "said": "agent", "end": "end"}
        lines = [f"{one.at:7.2f}  {shown[one.kind]:6}  {one_line(one.text)}" for one in self.steps if one.kind in shown]
        return "\n".join(lines)

    # -- for tests

    def expect_tool(self, name: str, /, **arguments: Any) -> None:
        """A tool was called, with at least these arguments. Raises `AssertionError` with the story of the call."""
        self._expect(Expectation("tool", name, arguments))

    def expect_once(self, name: str, /, **arguments: Any) -> None:
        """The same, and no second time."""
        self._expect(Expectation("once", name, arguments))

    def expect_no_tool(self, name: str, /, **arguments: Any) -> None:
        """It was not called with these arguments."""
        self._expect(Expectation("tool", name, arguments, is_not=True))

    def expect_says(self, pattern: str) -> None:
        """The agent was heard to say this (a regular expression, without regard to case)."""
        self._expect(Expectation("says", pattern))

    def expect_never_says(self, pattern: str) -> None:
        """The agent was not heard to say this."""
        self._expect(Expectation("says", pattern, is_not=True))

    def expect_no_problem(self, name: str, /, **about: str) -> None:
        """There is no problem of this name, such as "lost-turn"; with `tool=`, none about that tool."""
        self._expect(Expectation("problem", name, about, is_not=True))

    def _expect(self, expectation: Expectation) -> None:
        if objection := expectation.objection(self.head, self.figures):
            raise AssertionError(f"expected {expectation}, but {objection}\n{self.story()}")


@dataclass(slots=True, frozen=True)
class Compared:
    """A recorded call, and the same call now."""

    recorded: Sequence[Step]
    now: Rerun
    divergence: Divergence | None
    """None: they are the same, step by step."""


def compare(record: Record, agent: Path | AgentServer, settings: Settings | None = None) -> Compared:
    """Make the call of a record again, and find where it parts. Not in a running event loop.

    Raises `AntiphonError` where it cannot be made.
    """
    call = recorded_call(record)
    was = steps_of(record.head, record.requests, by_agent=call.by_agent)
    now = rerun(agent, call, settings)
    return Compared(was, now, divergence(was, now.steps))


def problems_of(record: Record) -> list[Finding]:
    """What is wrong with the call of a record. Raises `AntiphonError` for one that cannot be made again."""
    return problems_in({**record.head, "said": said_by(recorded_call(record).caller)}, record.metrics)


def rerun(agent: Path | AgentServer, call: RecordedCall, settings: Settings | None = None) -> Rerun:
    """Make a call again, in virtual time. Not in a running event loop. Raises `AntiphonError`."""
    settings = settings or Settings()
    server = agent if isinstance(agent, AgentServer) else load_agent_file(agent)
    made: list[Rerun] = []

    async def held() -> None:
        made.append(await _Again(call, settings).make(server))

    try:
        run_virtual(held(), timeout=_LONGEST)
    except LeakedTasks:
        pass  # what it came to is known
    except VirtualTimeError as error:
        raise AntiphonError(f"the call did not come to an end: {' '.join(str(error).split())}") from error
    except AntiphonError:
        raise
    except Exception as error:
        raise AntiphonError(f"the agent could not be called: {describe(error)}") from error
    return made[0]


class _Again:
    """One call, while it is made."""

    def __init__(self, call: RecordedCall, settings: Settings) -> None:
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._line = Line(call, lambda: self._began or 0.0)
        self._sound = CallLine() if call.voice else None
        choice = ModelChoice(named=settings.models, strict=settings.strict_models, voice=False)
        self._models = Models(call, self._line, choice, asks_others=settings.asks_others)
        self._runs_tools = bool(settings.run_tools)
        own = () if "*" in settings.run_tools else call.own_tools
        self._tools = Tools(call.tools, runs=(*settings.run_tools, *own))
        self._began: float | None = None
        self._facts = 0
        self._reason = ""
        self._is_speaking = False
        self._record = CallRecord(self._now)
        self._requests: RequestLog | None = None
        self._ended = 0.0
        self._session: AgentSession[Any] | None = None
        self._offered: dict[str, Any] = {}

    def _now(self) -> float:
        return 0.0 if self._began is None else self._loop.time() - self._began

    async def make(self, server: AgentServer) -> Rerun:
        """From the first ring to what came of it."""
        room = Room("replay")
        if self._sound is not None:
            caller, speaker = self._sound.caller.microphone, self._sound.speaker
            room = Room("replay", audio_input=caller, audio_output=speaker)
        job = Job(id="replay", call_id="replay")
        call_records.set(NOWHERE)  # in this task: it is no call of anybody's
        async with server.job(room, models=self._models, job=job) as context:
            context.on_session(self._starts)
            await self._talk(context)
            raise_error(context)
        return self._over()

    def _starts(self, session: AgentSession[Any]) -> None:
        """The session is about to start."""
        if session.store is not None:
            raise UsageError(
                "the agent file keeps its calls in a store of its own (store=), where a replay would write."
            )
        self._session = session
        session.on("journal", self._begins)
        session.on("close", self._closes)
        session.on("agent_state_changed", self._state)
        self._record.listen(session)
        self._requests = RequestLog(session, self._now)
        stand_in_for_tools(session, self._tools)
        if self._sound is not None:
            self._sound.begins(session)

    def _begins(self, event: JournalEvent) -> None:
        if self._began is None:
            self._began = event.at
        if event.fact is not None and not isinstance(event.fact, NewId):
            self._facts += 1

    def _closes(self, event: CloseEvent) -> None:
        self._reason = self._reason or event.reason.value
        self._ended = self._now()

    def _state(self, event: AgentStateChangedEvent) -> None:
        self._is_speaking = event.new_state == "speaking"
        if self._session is not None and self._session.is_running:
            self._offered |= {tool.name: {"effect": tool.effect} for tool in offered_by(self._session)}

    async def _talk(self, job: JobContext) -> None:
        session = await start_session(job)
        if self._sound is not None and not self._sound.caller.microphone.started:
            raise AntiphonError("the session does not hear the caller. Call `session.start(agent=..., room=ctx.room)`.")
        player = Player(
            self._call,
            self._line,
            session,
            is_another_way=self._goes_another_way,
            is_speaking=lambda: self._is_speaking,
            facts=lambda: self._facts,
            waits_at_the_end=self._runs_tools and not self._call.in_the_middle,
        )
        await player.play()
        if self._sound is not None:
            self._sound.ends()

    def _goes_another_way(self) -> bool:
        return bool(self._tools.not_recorded) or self._models.memory.is_another_way

    def _over(self) -> Rerun:
        report = self._record.report(self._ended)
        data = report.to_json()
        memory = self._models.memory
        head = {
            "duration": round(self._ended, 3),
            "turns": data["turns"],
            "tool_calls": data["tool_calls"],
            "errors": data["errors"],
            "claims": data["claims"],
            "voice": self._call.voice,
            "tools": self._offered,
            "reason": self._reason,
            "said": said_by(self._call.caller),
        }
        figures = {"replies": [reply_data(reply) for reply in report.replies]}
        requests = [] if self._requests is None else requests_in(self._requests.lines(), "replay")
        steps = steps_of(head, requests, by_agent=self._reason not in _BY_CALLER)
        other, stopped = memory.other, ""
        if memory.is_another_way and not self._models.asks_others:
            stopped = "a request is not the recorded one, and no model was named to answer it. Name one: --llm NAME."
        return Rerun(
            head,
            figures,
            steps,
            "" if other is None else describe_model(other),
            memory.asked_instead,
            tuple(self._tools.not_recorded),
            stopped,
            tuple(self._call.own_tools),
        )
