"""A worker of a LiveKit server: it is offered jobs, takes those that it can hold, and holds them.

For each entrypoint there is one registration. An offer that is not answered is lost for all workers, so each is
answered, in time, whatever the application does. What ends a job is its room; the server's word of it is a hint.

Above: `antiphon start`. Below: `link`, the sockets; `hold`, the calls; `load`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import secrets
import uuid
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from antiphon.errors import pass_on
from antiphon.protocols import ModelResolver
from antiphon.server.admission import Admission, Reason
from antiphon.server.entrypoint import AgentServer, Entrypoint, Permissions
from antiphon.server.job import Job
from antiphon.server.livekit.again import LostJob
from antiphon.server.livekit.hold import HeldCall
from antiphon.server.livekit.link import Link
from antiphon.server.livekit.server import AGENT_NAME, STATE, LiveKitServer
from antiphon.server.livekit.takeover import PART
from antiphon.server.load import LoadMeter
from antiphon.server.process import longest_write_grace
from antiphon.server.request import Answer, JobRequest
from antiphon.transports.livekit import LiveKitCall

logger = logging.getLogger("antiphon")

REQUEST_TIMEOUT = 7.0
"""Seconds that `on_request` has; the server waits for 10."""
ASSIGNMENT_TIMEOUT = 7.5
"""Seconds from a job's acceptance to its assignment."""
CUT_OFF = 0.7
"""The load from which on the server offers nothing, whatever the worker says of itself."""
JOB_LOAD = 0.05
"""What a job that was accepted and has not begun to cost is counted as."""
END_TIMEOUT = 5.0
"""Seconds that calls have to end when the time for draining is up; tools that write have theirs beside."""

MAX_CALLS = 1000
"""Calls at the same time, unless an `Admission` says otherwise."""

MakeCall = Callable[..., LiveKitCall]


class Worker:
    """Takes jobs for the entrypoints of an `AgentServer`, as many as its load and `admission` allow.

    The places of an `admission` that is given may be taken by calls from elsewhere, too; a `meter` that is given is run
    by whoever gives it. `changed` is called when there is a new one among the `jobs`.
    """

    def __init__(
        self,
        server: AgentServer,
        livekit: LiveKitServer,
        *,
        models: ModelResolver | None = None,
        admission: Admission | None = None,
        meter: LoadMeter | None = None,
        changed: Callable[[], None] = lambda: None,
        make_call: MakeCall = LiveKitCall,
    ) -> None:
        self._server = server
        self._livekit = livekit
        self._models = models
        self._make_call = make_call
        self._measures = meter is None
        self._meter = meter or LoadMeter(server.load_fnc, server)
        self._admission = admission or Admission(max_calls=MAX_CALLS, max_silent=0)
        self._is_full = False
        self._accepted: dict[str, asyncio.Future[Any]] = {}
        """By job id: jobs that were taken, and wait for their assignment."""
        self._held: dict[str, HeldCall] = {}
        self._jobs: dict[str, LostJob] = {}
        self._changed = changed
        self._tasks: set[asyncio.Task[None]] = set()
        self._linked: list[asyncio.Task[None]] = []
        """What keeps the sockets up: it goes on while the calls come to their end."""
        self.links = [
            Link(
                livekit,
                _registration(one, server.permissions),
                self,
                max_retry=server.max_retry,
                proxy=server.http_proxy,
            )
            for one in server.entrypoints
        ]
        self._by_link = dict(zip(self.links, server.entrypoints, strict=True))

    @property
    def is_ready(self) -> bool:
        """Whether it is registered with the server, for all its entrypoints."""
        return all(link.is_registered for link in self.links)

    async def until_ready(self) -> None:
        """Wait until it is registered with the server, for all its entrypoints."""
        for link in self.links:
            await link.registered.wait()

    @property
    def jobs(self) -> Sequence[LostJob]:
        """The jobs that are held, as they would be asked for again if this process died."""
        return list(self._jobs.values())

    @property
    def calls(self) -> Sequence[HeldCall]:
        """Those that are held now."""
        return list(self._held.values())

    async def run(self) -> None:
        """Work until cancelled; calls go on then. Raises `AntiphonError` if the server is not to be had."""
        self._linked = [asyncio.create_task(link.run(), name="LiveKit: worker") for link in self.links]
        if self._measures:
            self._linked.append(asyncio.create_task(self._meter.run(), name="load"))
        done, _ = await asyncio.wait(self._linked, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def drain(self, timeout: float) -> bool:
        """Take no more jobs, and wait for the calls to come to their end. False: some were ended after `timeout`."""
        draining = asyncio.create_task(self._admission.drain(timeout))
        await asyncio.sleep(0)
        self.tell_status()
        empty = await draining
        if not empty:
            for call in self.calls:
                call.end("the server stops")
            await self._admission.drain(END_TIMEOUT + longest_write_grace())
        return empty

    async def aclose(self) -> None:
        """Be gone: the sockets are closed, and what still runs is cancelled."""
        tasks = [*self._linked, *self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # -- how it is

    @property
    def load(self) -> float:
        """0 is idle, 1 is all that there is; with what was accepted and has not begun to cost."""
        return self._meter.load + JOB_LOAD * len(self._accepted)

    @property
    def is_available(self) -> bool:
        """Whether it would take another job."""
        return self._admission.is_open and self.load < self._server.load_threshold

    def status(self) -> Any:
        from livekit.protocol import agent

        self._tell_if_full()
        if not self.is_available:
            return agent.UpdateWorkerStatus(status=agent.WS_FULL, load=min(self.load, 1.0), job_count=len(self._held))
        # What the worker still takes, the server must not cut off.
        load = min(self.load * CUT_OFF / max(self._server.load_threshold, CUT_OFF), CUT_OFF - 0.01)
        return agent.UpdateWorkerStatus(status=agent.WS_AVAILABLE, load=load, job_count=len(self._held))

    def _tell_if_full(self) -> None:
        """Who runs it wants to know why no calls come."""
        full = not self.is_available and not self._admission.is_draining
        if full and not self._is_full:
            logger.warning("no more calls for now: load %.2f, %d calls", self.load, len(self._held))
        self._is_full = full

    def running(self) -> Sequence[str]:
        return list(self._held)

    def tell_status(self) -> None:
        """Tell the server how it is, which it is told again and again anyway."""
        for link in self.links:
            link.send(update_worker=self.status())

    # -- offers

    def offered(self, link: Link, offer: Any) -> None:
        self._spawn(self._consider(link, offer.job), f"{offer.job.id} offer")

    def assigned(self, link: Link, assignment: Any) -> None:
        waiting = self._accepted.get(assignment.job.id)
        if waiting is None or waiting.done():
            logger.warning("%s was assigned, and nobody had taken it", assignment.job.id)
        else:
            waiting.set_result(assignment)

    def terminated(self, job: str) -> None:
        call = self._held.get(job)
        if call is not None:
            call.end("ended by the LiveKit server")

    async def _consider(self, link: Link, job: Any) -> None:
        """Answer an offer; hold the call if it is assigned."""
        entrypoint = self._by_link[link]
        reason = self._refusal(job)
        answer = Answer(False, reason=reason) if reason else await _ask(entrypoint, JobRequest(job))
        if answer.available and (reason := self._refusal(job)):  # while the application thought about it
            answer = Answer(False, reason=reason)
        if not answer.available:
            if reason:
                self._admission.refuse(Reason.DRAINING if self._admission.is_draining else Reason.FULL)
            logger.info("%s refused: %s", job.id, answer.reason or "by the application")
            link.send(availability=_answered(job, answer))
            return
        with self._admission.guest():
            async with self._admission.place():
                assignment = await self._accept(link, job, answer)
                if assignment is not None:
                    await self._hold(link, assignment)

    async def _accept(self, link: Link, job: Any, answer: Answer) -> Any:
        """Take a job. Returns its assignment, or None if none comes."""
        assigned: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._accepted[job.id] = assigned
        try:
            link.send(availability=_answered(job, answer))
            async with asyncio.timeout(ASSIGNMENT_TIMEOUT):
                return await assigned
        except TimeoutError:
            logger.warning("%s was taken, and not assigned within %g s", job.id, ASSIGNMENT_TIMEOUT)
            return None
        finally:
            del self._accepted[job.id]

    def _refusal(self, job: Any) -> str:
        """Why a job cannot be taken; "" if it can."""
        if self._admission.is_draining:
            return "no more calls are taken"
        if not self.is_available:
            return "full"
        if _is_automatic(job) and any(call.room.name == job.room.name for call in self.calls):
            # A server that was restarted sends an agent into every room again.
            return f"an agent is in the room {job.room.name} already"
        return ""

    # -- calls

    async def _hold(self, link: Link, assignment: Any) -> None:
        from livekit.protocol import agent

        job, name = assignment.job, assignment.job.room.name
        participant = job.participant if job.HasField("participant") else None

        def leaving(error: BaseException | None) -> None:
            status = agent.JS_SUCCESS if error is None else agent.JS_FAILED
            message = "" if error is None else f"{type(error).__name__}: {error}"
            link.send(update_job=agent.UpdateJobStatus(job_id=job.id, status=status, error=message))

        identity = job.state.participant_identity
        whom = "" if participant is None else participant.identity
        lost = LostJob(job.id, name, link.agent_name, job.metadata, identity, whom, call=secrets.token_hex(8))
        asked = self._asked(lost, attributes=dict(job.attributes), participant=participant)
        call = self._make_call(
            assignment.url or self._livekit.url,
            assignment.token,
            delete=partial(self._livekit.delete_room, name),
            unless_agent=link.agent_name if _is_automatic(job) else None,
        )
        held = HeldCall(self._server, call, name, job=asked, models=self._models, on_leaving=leaving)
        link.send(update_job=agent.UpdateJobStatus(job_id=job.id, status=agent.JS_RUNNING))
        await self._held_to_its_end(held, lost)

    def _asked(self, lost: LostJob, **more: Any) -> Job:
        """What the application knows of a job."""
        return Job(
            id=lost.id,
            metadata=lost.metadata,
            agent_name=lost.agent_name,
            api=self._livekit.api,
            call_id=lost.call,
            parts={PART: lost.to_part()},
            **more,
        )

    async def _held_to_its_end(self, held: HeldCall, job: LostJob) -> None:
        if job.participant:
            held.room.listen_to(job.participant)
        self._held[job.id], self._jobs[job.id] = held, job
        self._changed()
        self.tell_status()
        try:
            logger.info("%s ended: %s", job.id, await held.run())
        except Exception as error:
            pass_on(error)
            logger.error("%s failed: %s", job.id, error)
        finally:
            del self._held[job.id], self._jobs[job.id]
            self.tell_status()

    async def take_over(self, job: LostJob) -> None:
        """Go on with a call of another process, which this one has the lease of, to its end."""
        identity = f"agent-{uuid.uuid4().hex[:12]}"
        attributes = {AGENT_NAME: job.agent_name, STATE: "initializing"}
        token = self._livekit.agent_token(
            job.room, identity=identity, attributes=attributes, permissions=self._server.permissions
        )
        lost = replace(job, identity=identity)
        call = self._make_call(self._livekit.url, token, delete=partial(self._livekit.delete_room, job.room))
        held = HeldCall(self._server, call, job.room, job=self._asked(lost, resumes=True), models=self._models)
        with self._admission.guest():
            async with self._admission.place():
                await self._held_to_its_end(held, lost)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_automatic(job: Any) -> bool:
    """Whether it came with its room, and nobody asked for it."""
    from livekit.protocol import agent

    return not job.agent_name and job.type == agent.JT_ROOM


async def _ask(entrypoint: Entrypoint, request: JobRequest) -> Answer:
    """What the application says of an offer. It always has an answer, and in time."""
    if entrypoint.on_request is None:
        await request.accept()
    else:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                asked = entrypoint.on_request(request)
                if inspect.isawaitable(asked):
                    await asked
        except TimeoutError:
            logger.error("%s: on_request did not answer within %g s", request.id, REQUEST_TIMEOUT)
        except Exception as error:
            pass_on(error)
            logger.exception("%s: on_request raised", request.id)
    return request.answer or Answer(False, reason="on_request gave no answer")


def _answered(job: Any, answer: Answer) -> Any:
    from livekit.protocol import agent

    if not answer.available:
        return agent.AvailabilityResponse(job_id=job.id, available=False, terminate=answer.terminate)
    return agent.AvailabilityResponse(
        job_id=job.id,
        available=True,
        participant_identity=answer.identity,
        participant_name=answer.name,
        participant_metadata=answer.metadata,
        participant_attributes={AGENT_NAME: job.agent_name, STATE: "initializing", **answer.attributes},
    )


def _registration(entrypoint: Entrypoint, permissions: Permissions) -> Any:
    from livekit.protocol import agent, models

    types = {"room": agent.JT_ROOM, "publisher": agent.JT_PUBLISHER, "participant": agent.JT_PARTICIPANT}
    return agent.RegisterWorkerRequest(
        type=types[entrypoint.type],
        agent_name=entrypoint.agent_name,
        version="antiphon",
        allowed_permissions=models.ParticipantPermission(**asdict(permissions), agent=True),
    )
