"""Calls from the page: each is one socket, one job of the agent's server, and what is filed of it afterwards.

Above: the web application, which hands over sockets. Below: the line to the page, its sound (`media`), the narration of
the session, the archive. Whatever goes wrong in a call ends that call, with a code and a reason, and no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, assert_never

from antiphon.application.resuming import history_of
from antiphon.calls.record import CallRecord, CallReport, ToolCallRecord, Turn
from antiphon.calls.report import Sound, delays
from antiphon.calls.start import describe_models, raise_error, start_session
from antiphon.chat import ChatContext
from antiphon.console import protocol
from antiphon.console.about import Insight, about_file, about_session, shown_name
from antiphon.console.access import Access, Limits, client_of
from antiphon.console.archive import Archive
from antiphon.console.incoming import Incoming
from antiphon.console.line import Line
from antiphon.console.media import media_for
from antiphon.console.narration import MAX_TEXT, Narration
from antiphon.console.protocol import CloseCode, Message, Refused, Start
from antiphon.console.reload import AgentFile
from antiphon.errors import AntiphonError, SessionClosed, StoreError
from antiphon.protocols import ModelResolver, call_store
from antiphon.records.requests import RequestLog
from antiphon.server.admission import Admission, NotAdmitted, Reason
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import Job, JobContext, job_of
from antiphon.server.room import Room
from antiphon.session import AgentSession
from antiphon.transports.recorder import Span, StereoRecorder
from antiphon.visible import visible_data

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

logger = logging.getLogger("antiphon")

T = TypeVar("T")

MAX_RECORDING = 700_000_000
"""Bytes of sound on disk, both directions together, after which a call is not recorded any further."""
POLITENESS = 2.0
"""Seconds that a call has to come to a rest when the agent file has changed."""
MAX_TYPED_EARLY = 10
HANDING_OVER = 3.0
"""Seconds that a call has to end when another one continues it."""


@dataclass(slots=True, frozen=True)
class Models:
    """How calls choose their models."""

    voice: ModelResolver
    text: ModelResolver


class _Over(Exception):
    """The call has ended, for this reason."""


Earlier: TypeAlias = ChatContext | str | None
"""What a call goes on from: what was said in another one; or its own id, if another process began it."""

LEASE_PATIENCE, LEASE_LOOK = 2.5, 0.1
"""Seconds for which a call is waited for that a process holds which may have ended, and between two looks."""
KEPT = 600.0
"""Seconds after its end for which a page may go on with a call that another process held."""


class Calls:
    """All calls of one server."""

    def __init__(
        self,
        file: AgentFile,
        *,
        models: Models,
        access: Access,
        archive: Archive,
        limits: Limits | None = None,
        ice_hosts: tuple[str, ...] | None = None,
        admission: Admission | None = None,
        for_developer: bool = False,
    ) -> None:
        self.file = file
        self.models = models
        self.access = access
        self.archive = archive
        self.limits = limits or Limits()
        self.ice_hosts = ice_hosts
        """Addresses to be reached at by WebRTC; None: all of this machine but its own loopback."""
        self.for_developer = for_developer
        """Whoever calls may look into the agent: its instructions, tools, history, requests."""
        self._about: Message | None = None
        """What is known of the agent since a call had it, until the file changes."""
        self._running: dict[str, PageCall] = {}
        self.admission = admission or self.limits.admission()
        """Whoever gives one may have other calls take places of it."""
        file.on_change(self.tell_news)

    async def about(self) -> Message | None:
        """What the page may tell of the agent before a call; None: nothing, or its file cannot be served."""
        if not self.for_developer or self.file.server is None:
            return None
        if self._about is None:
            self._about = await asyncio.to_thread(about_file, self.file.path, self.models.voice)
        return self._about

    def learn(self, session: AgentSession[Any]) -> None:
        """A call has begun: what its agent is, is known for certain."""
        if self.for_developer:
            phrases = [] if self._about is None else self._about["phrases"]
            self._about = about_session(session, self.file.path, phrases)

    @property
    def running(self) -> int:
        """How many calls there are."""
        return len(self._running)

    @property
    def held(self) -> Sequence[PageCall]:
        """The calls that there are."""
        return list(self._running.values())

    async def answer(self, socket: WebSocket) -> None:
        """Hold the call that a socket is, to its end. The socket is open, and its page may call."""
        with self.admission.guest():
            await self._answer(socket)

    async def _answer(self, socket: WebSocket) -> None:
        line = Line(socket)
        sender = asyncio.create_task(line.run(), name="page: sending")
        code, reason = CloseCode.GOING_AWAY, "the server stops"
        try:
            code, reason = CloseCode.NORMAL, await self._admit(socket, line)
        except Refused as refusal:
            code, reason = refusal.code, refusal.reason
        except Exception as error:
            logger.exception("a call from the page failed")
            code, reason = CloseCode.INTERNAL, f"{type(error).__name__}: {error}"
            line.send(protocol.error(reason, fatal=True))
        finally:
            await line.finish(sender, code, reason)

    async def _admit(self, socket: WebSocket, line: Line) -> str:
        incoming = Incoming(socket, self.limits)
        try:
            start = await self.admission.first_word(incoming.start())
            earlier = await self._earlier(start.resume)
            async with self.admission.place(client_of(socket)):
                return await self._hold(line, incoming, start, earlier)
        except NotAdmitted as refused:
            raise self._refusal(refused.reason) from None

    async def _hold(self, line: Line, incoming: Incoming, start: Start, earlier: Earlier) -> str:
        if self.file.server is None:
            line.send(protocol.agent_file("broken", self.file.problem))
            raise Refused(CloseCode.AGENT_FILE, self.file.problem)
        call = PageCall(self, self.file.server, line, incoming, start, earlier)
        self._running[call.id] = call
        try:
            return await call.hold()
        finally:
            del self._running[call.id]

    def _refusal(self, reason: Reason) -> Refused:
        match reason:
            case Reason.FULL:
                held = f"{self.limits.max_calls} calls are being held. Hang up, or raise --max-calls."
                return Refused(CloseCode.TOO_MANY, held)
            case Reason.CLIENT:
                most = self.limits.max_calls_per_client
                return Refused(CloseCode.TOO_MANY, f"{most} calls from this address are being held. Hang up.")
            case Reason.SILENT:
                return Refused(CloseCode.NO_START, "too many pages are open that have not begun. Say start at once.")
            case Reason.DRAINING:
                return Refused(CloseCode.GOING_AWAY, "the server stops")

    async def _earlier(self, call_id: str | None) -> Earlier:
        """What was said in the call that another one continues. If the old one still runs, it ends.

        One that another process held, which has ended, goes on here itself.
        """
        if call_id is None:
            return None
        running = self._running.get(call_id)
        if running is not None:
            running.end("the page calls again")
            return await running.said()
        filed = self.archive.get(call_id)
        if filed is None:
            return await _kept(call_id)
        return filed.chat_ctx

    def file_news(self) -> Message:
        """How it stands with the agent file."""
        if self.file.server is None:
            return protocol.agent_file("broken", self.file.problem)
        return protocol.agent_file("loaded")

    def tell_news(self) -> None:
        """Tell every call how it stands with the agent file; where there is newer code, have them end politely."""
        self._about = None
        for call in list(self._running.values()):
            call.line.send(self.file_news())
            if self.file.server is not None:
                call.supersede()

    async def end_all(self, reason: str, *, timeout: float) -> None:
        """End every call, and wait until their pages know, `timeout` seconds at most."""
        for call in list(self._running.values()):
            call.end(reason)
        if not await self.admission.drain(timeout):
            logger.warning("%d calls did not end within %g s", len(self._running), timeout)


async def _kept(call_id: str) -> Earlier:
    """A call that another process held: its id, if it was cut off and can go on here; what was said, if it has ended.

    A process that was killed, or stands still, holds its calls for a moment yet. Raises `Refused` for one that goes on,
    is not known, or ended too long ago.
    """
    find = call_store.get()
    store = None if find is None else await find()
    stored = None
    if store is not None:
        clock = asyncio.get_running_loop().time
        until = clock() + LEASE_PATIENCE
        with contextlib.suppress(StoreError):
            stored = await store.load(call_id)
            while stored is not None and stored.info.is_held and clock() < until:
                await asyncio.sleep(LEASE_LOOK)
                stored = await store.load(call_id)
    if store is None or stored is None:
        raise Refused(CloseCode.UNKNOWN_CALL, "the call that was to be continued is not known here")
    if stored.info.is_held:
        # Its line may be dead, and nobody has noticed: the page asks again.
        raise Refused(CloseCode.GOING_AWAY, f"the call goes on elsewhere. See: antiphon calls show {call_id[:8]}")
    if stored.info.meta.ended is None:
        return call_id
    if time.time() - stored.info.meta.ended > KEPT:
        raise Refused(CloseCode.UNKNOWN_CALL, f"the call has ended. See: antiphon calls show {call_id[:8]}")
    return ChatContext(await history_of(store, stored))


class _Clock:
    """Seconds since a call without sound began. It holds nothing of the call."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._time = loop.time
        self.begin()

    def begin(self) -> None:
        """It begins now."""
        self._began = self._time()

    def now(self) -> float:
        """The seconds until now."""
        return self._time() - self._began


class PageCall:
    """One call."""

    def __init__(
        self,
        calls: Calls,
        server: AgentServer,
        line: Line,
        incoming: Incoming,
        start: Start,
        earlier: Earlier,
    ) -> None:
        self._resumed = earlier if isinstance(earlier, str) else None
        self.began = time.time()
        self.id = self._resumed or secrets.token_hex(16)
        self.line = line
        self._calls = calls
        self._server = server
        self._incoming = incoming
        self._start = start
        self._earlier = earlier
        self._loop = asyncio.get_running_loop()
        self._clock = _Clock(self._loop)
        self._media = media_for(start, line, calls.limits, calls.ice_hosts)
        self._recorder = self._make_recorder()
        self._room = Room(
            f"page-{self.id}",
            audio_input=self._media.input,
            audio_output=self._media.output,
            recorder=self._recorder,
        )
        self._now = self._clock.now if self._recorder is None else self._recorder.now
        self._record = CallRecord(self._now)
        self._session: AgentSession[Any] | None = None
        self._models = ""
        self._insight: Insight | None = None
        self._requests: RequestLog | None = None
        self._told_to_end: asyncio.Future[str] = self._loop.create_future()
        self._typed_early: list[str] = []
        """Turns that were typed before the session ran."""
        self._commit: asyncio.TimerHandle | None = None
        """Ends a turn once the last of its sound has arrived."""
        self._superseded = asyncio.Event()
        self._silent = asyncio.Event()
        """Set when the session has ended and all that was said is in its history."""
        self._ends: set[asyncio.Task[str]] = set()

    def _job(self) -> Job:
        return Job(call_id=self.id) if self._resumed is None else job_of(self._resumed)

    def _make_recorder(self) -> StereoRecorder | None:
        if self._media.output is None or not self._calls.archive.keeps:
            return None
        rate, longest = self._media.output.sample_rate, self._calls.limits.max_duration
        return StereoRecorder(caller_rate=rate, agent_rate=rate, max_duration=min(longest, MAX_RECORDING / 4 / rate))

    # -- what others may ask of it

    @property
    def models(self) -> str:
        """What it runs with, in words; empty before its session runs."""
        return self._models

    def said_and_done(self) -> tuple[Sequence[Turn], Sequence[ToolCallRecord]]:
        """The turns and the calls of tools until now."""
        return self._record.turns, self._record.tool_calls

    def so_far(self) -> CallReport | None:
        """What happened in it until now. None: nothing yet."""
        return None if self._session is None else self._record.so_far()

    def requests(self) -> list[dict[str, Any]]:
        """What its models were asked, as in a record, where its page is a developer's."""
        return [] if self._requests is None else self._requests.lines()

    def end(self, reason: str) -> None:
        """End it. Returns at once; later calls do nothing."""
        if not self._told_to_end.done():
            self._told_to_end.set_result(reason)

    def supersede(self) -> None:
        """There is newer code: end politely."""
        self._superseded.set()

    async def said(self) -> ChatContext | None:
        """What was said, once it has ended, or after `HANDING_OVER` seconds."""
        try:
            async with asyncio.timeout(HANDING_OVER):
                await self._silent.wait()
        except TimeoutError:
            pass
        return self._chat_ctx()

    # -- from beginning to end

    async def hold(self) -> str:
        """Hold it. Returns why it ended. Raises `Refused` for what the page did."""
        refusal: Refused | None = None
        try:
            reason = await self._talk()
        except _Over as over:
            reason = str(over)
        except Refused as error:
            refusal, reason = error, error.reason
        except AntiphonError as error:
            reason = " ".join(str(error).split())
            refusal = Refused(CloseCode.INTERNAL, reason)
            self.line.send(protocol.error(reason, fatal=True))
        finally:
            if self._commit is not None:
                self._commit.cancel()
            self._silent.set()
            await self._media.aclose()
        # A page that was refused learns why from the code; `ended` would tell it that all is well.
        await self._file(reason, tell=refusal is None or refusal.code is CloseCode.INTERNAL)
        if refusal is not None:
            raise refusal
        return reason

    async def _talk(self) -> str:
        self._ends = {
            asyncio.create_task(end, name=f"page: {name}")
            for name, end in (
                ("receiving", self._receive()),
                ("sending", self._unread()),
                ("told to end", self._told()),
                ("superseded", self._newer_code()),
                ("sound", self._media.ended()),
            )
        }
        try:
            await self._unless_over(self._media.connect())
            models = self._calls.models.text if self._media.kind == "text" else self._calls.models.voice
            async with self._server.job(self._room, models=models, job=self._job()) as job:
                if isinstance(self._earlier, ChatContext):
                    job.continue_from(self._earlier)
                job.on_session(self._attach)
                try:
                    return await self._converse(job)
                except (_Over, Refused) as over:
                    job.shutdown(str(over))
                    raise
        finally:
            for task in self._ends:
                task.cancel()
            await asyncio.gather(*self._ends, return_exceptions=True)
            self._ends = set()

    async def _converse(self, job: JobContext) -> str:
        session = await self._unless_over(start_session(job))
        for text in self._typed_early:
            if session.is_running:
                session.submit_user_turn(text)
        longest = self._calls.limits.max_duration
        try:
            async with asyncio.timeout(longest):
                await self._unless_over(job.wait_for_shutdown())
        except TimeoutError:
            raise _Over(f"the call was ended after {longest:g} s") from None
        raise_error(job)
        return job.reason

    async def _unless_over(self, work: Coroutine[Any, Any, T]) -> T:
        """Do `work`. Raises `_Over` or `Refused` if the call ends before it is done."""
        task = asyncio.create_task(work)
        try:
            await asyncio.wait([task, *self._ends], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                over = next(end for end in self._ends if end.done())
                raise _Over(over.result())
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])

    def _attach(self, session: AgentSession[Any]) -> None:
        """The session of this call is about to start."""
        self._session = session
        self._clock.begin()  # as the session's own figures have it
        if self._calls.for_developer:
            self._insight = Insight(session, self._calls.file.path)
            self._requests = RequestLog(session, self._now)
        if self._start.push_to_talk and self._media.kind != "text":
            session.set_turn_detection("manual")
        # The first event of all: nothing is sent before the page knows that the call has begun.
        session.once("agent_state_changed", lambda _: self._announce(session))
        if self._recorder is not None:
            self._recorder.follow(session)
        self._record.listen(session)
        Narration(self.line.send, self._record, name=self._name).listen(session)

    def _name(self, label: str) -> str:
        return shown_name(label, self._calls.file.path)

    def _announce(self, session: AgentSession[Any]) -> None:
        kinds = ("llm",) if self._media.kind == "text" else ("llm", "stt", "tts")
        self._models = describe_models(session, *kinds)
        agent = shown_name(session.current_agent.label, self._calls.file.path)
        self._calls.learn(session)
        transport = self._start.transport if self._media.kind != "text" else "websocket"
        rate = self._start.rate if self._media.output is None else self._media.output.sample_rate
        self.line.send(protocol.ready(self.id, rate=rate, agent=agent, models=self._models, transport=transport))

    # -- ways to end

    async def _receive(self) -> str:
        while (frame := await self._incoming.next()) is not None:
            if isinstance(frame, bytes):
                self._media.hear(frame, self._loop.time())
            elif self._obey(frame):
                return "the caller hung up"
        return "the page is gone"

    async def _unread(self) -> str:
        await self.line.broken()
        return "the page is gone"

    async def _told(self) -> str:
        return await asyncio.shield(self._told_to_end)

    async def _newer_code(self) -> str:
        await self._superseded.wait()
        if self._session is not None and self._session.is_running:
            try:
                async with asyncio.timeout(POLITENESS):
                    await self._session.wait_for_idle()
            except (TimeoutError, SessionClosed):
                pass
        return "the agent file changed"

    # -- what the page says

    def _obey(self, text: str) -> bool:
        """Do what a message asks for. True: hang up."""
        message = protocol.parse(text)
        session = self._session if self._session is not None and self._session.is_running else None
        match message:
            case protocol.Text():
                if session is not None:
                    session.submit_user_turn(message.text)
                elif len(self._typed_early) < MAX_TYPED_EARLY:
                    self._typed_early.append(message.text)
            case protocol.Push():
                if session is not None:
                    self._push(session, down=message.down)
            case protocol.Played():
                self._media.report(message.epoch, message.samples)
            case protocol.Dtmf():
                self._room.receive_dtmf(message.digit)
            case protocol.Consent():
                if session is not None:
                    session.answer_consent(message.yes, call_id=message.call_id)
            case protocol.Inspect():
                if session is not None and self._insight is not None:
                    self.line.send(visible_data(self._insight.look(), MAX_TEXT))
            case protocol.Offer():
                self._media.offer(message.sdp)
            case protocol.HangUp():
                return True
            case Start():
                raise Refused(CloseCode.MALFORMED, "expected one start in a call, got a second. Make a new call.")
            case _:
                assert_never(message)
        return False

    def _push(self, session: AgentSession[Any], *, down: bool) -> None:
        if self._commit is not None:
            self._commit.cancel()
            self._commit = None
        if down:
            session.interrupt()
            session.clear_user_turn()
        elif self._media.lag:
            self._commit = self._loop.call_later(self._media.lag, self._commit_turn, session)
        else:
            self._commit_turn(session)

    def _commit_turn(self, session: AgentSession[Any]) -> None:
        if session.is_running:
            session.commit_user_turn()

    # -- afterwards

    def _chat_ctx(self) -> ChatContext | None:
        if self._session is None:
            return None
        try:
            return self._session.current_agent.chat_ctx.copy()
        except SessionClosed:
            return None

    async def _file(self, reason: str, *, tell: bool) -> None:
        """File it, and tell the page where."""
        report_path = recording_path = None
        chat_ctx = self._chat_ctx()
        if chat_ctx is not None:  # a session ran
            report = self._record.report(self._now(), await asyncio.to_thread(self._delays))
            filed = await self._calls.archive.file(
                self.id,
                report,
                title=f"Call with {self._calls.file.path.name}",
                models=self._models,
                sound=self._sound(),
                chat_ctx=chat_ctx,
            )
            report_path, recording_path = filed.report_path, filed.recording_path
        if tell:
            self.line.send(protocol.ended(reason, report=report_path, recording=recording_path))

    def _sound(self) -> Sound | None:
        if self._recorder is None or not self._recorder.duration:
            return None
        # What was typed takes no time.
        spoken = [Span(t.started, t.ended) for t in self._record.turns if t.role == "user" and t.ended > t.started]
        return Sound(self._recorder, spoken, self._room.sound.cuts)

    def _delays(self) -> list[float | None]:
        sound = self._sound()
        return [] if sound is None else delays(sound.recorder, sound.caller)
