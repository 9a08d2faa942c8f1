"""One call by telephone: a stream, a job of the agent's server, and what is filed of it.

Above: `telephone`, which was asked for it. Below: the socket, and the two halves of the line.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Protocol

from antiphon.calls.record import CallRecord
from antiphon.calls.report import Sound as ReportSound
from antiphon.calls.report import delays
from antiphon.calls.start import describe_models, raise_error, start_session
from antiphon.chat import ChatContext
from antiphon.console.access import Allowance, Limits
from antiphon.console.calls import MAX_RECORDING
from antiphon.console.protocol import CloseCode, Refused
from antiphon.errors import AntiphonError, SessionClosed
from antiphon.server.job import Job, JobContext
from antiphon.server.room import Participant
from antiphon.server.telephone import CarrierApi, CarrierError, PhoneRoom, Settings, Transfers
from antiphon.server.telephone.room import TELEPHONE
from antiphon.transports.recorder import Span, StereoRecorder
from antiphon.transports.telephone import (
    Dialect,
    Key,
    Malformed,
    Marked,
    Message,
    Sound,
    Started,
    Stopped,
    TelephoneInput,
    TelephoneOutput,
    read,
)
from antiphon.transports.telephone.mulaw import RATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.websockets import WebSocket

    from antiphon.console.calls import Calls
    from antiphon.console.line import Line
    from antiphon.server.entrypoint import AgentServer
    from antiphon.session import AgentSession

logger = logging.getLogger("antiphon")

MAX_BEFORE = 10
"""Messages that may come before `start`."""


class Exchange(Protocol):
    """Whoever answers telephones: `Telephone` is one."""

    @property
    def calls(self) -> Calls: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def api(self) -> CarrierApi: ...
    @property
    def transfers(self) -> Transfers: ...
    def path_maker(self, base: str) -> Callable[[str], str]: ...


class PhoneIncoming:
    """What comes by one stream, within the limits."""

    def __init__(self, socket: WebSocket, dialect: Dialect, limits: Limits) -> None:
        self._socket = socket
        self._dialect = dialect
        self._limits = limits
        self._messages = Allowance(limits.messages_per_second, limits.messages_burst)
        self._sound = Allowance(limits.sound_per_second, limits.sound_burst)

    async def start(self) -> Started:
        """How the stream begins. Raises `Refused` if it does not, or late."""
        try:
            async with asyncio.timeout(self._limits.start_timeout):
                for _ in range(MAX_BEFORE):
                    message = await self.next()
                    if isinstance(message, Started):
                        return message
                    if message is not None:
                        break
        except TimeoutError:
            raise Refused(
                CloseCode.NO_START, f"expected start within {self._limits.start_timeout:g} s, got nothing."
            ) from None
        except ConnectionError:
            raise Refused(CloseCode.NO_START, "the stream ended before it had begun") from None
        raise Refused(CloseCode.MALFORMED, "expected start as the first message.")

    async def next(self) -> Message | None:
        """The next message; None for one that says nothing to us.

        Raises `ConnectionError` when the socket is gone, `Refused` for what makes no sense, or more than is allowed.
        """
        received = await self._socket.receive()
        if received["type"] == "websocket.disconnect":
            raise ConnectionError
        now = asyncio.get_running_loop().time()
        if not self._messages.take(1, now):
            raise Refused(CloseCode.TOO_MANY, f"more than {self._limits.messages_per_second:g} messages a second.")
        text = received.get("text")
        if text is None:
            raise Refused(CloseCode.MALFORMED, "expected text, got a binary frame.")
        try:
            message = read(text, self._dialect)
        except Malformed as error:
            raise Refused(CloseCode.MALFORMED, f"{error}.") from None
        if isinstance(message, Sound) and not self._sound.take(len(message.data) / RATE, now):
            raise Refused(CloseCode.TOO_MANY, "more sound than time has passed.")
        return message


class PhoneCall:
    """One call, or what of it one stream carries."""

    def __init__(
        self,
        exchange: Exchange,
        server: AgentServer,
        line: Line,
        incoming: PhoneIncoming,
        started: Started,
        *,
        job: Job,
        earlier: ChatContext | None,
    ) -> None:
        self.left = asyncio.Event()
        """Set when the session has ended, and what was said is filed."""
        self.is_over = False
        """The call came to its end; what goes on elsewhere does not."""
        self._exchange = exchange
        self._server = server
        self._line = line
        self._incoming = incoming
        self._call = started.call
        self._job = job
        self._earlier = earlier
        self._input = TelephoneInput()
        self._output = TelephoneOutput(exchange.settings.dialect, started.stream, line.send_text)
        self._recorder = self._make_recorder()
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._now: Callable[[], float] = (lambda: loop.time() - began) if self._recorder is None else self._recorder.now
        self._record = CallRecord(self._now)
        self._session: AgentSession[Any] | None = None
        self._models = ""
        self._room: PhoneRoom | None = None
        self._context: JobContext | None = None
        self._broken: asyncio.Future[str] = loop.create_future()

    def _make_recorder(self) -> StereoRecorder | None:
        calls = self._exchange.calls
        if not calls.archive.keeps:
            return None
        longest = min(calls.limits.max_duration, MAX_RECORDING / 4 / RATE)
        return StereoRecorder(caller_rate=RATE, agent_rate=RATE, max_duration=longest)

    # -- what others tell it

    def hung_up(self) -> None:
        """The line is over: the caller hung up, or is put through to somebody."""
        self.is_over = True
        if self._room is not None and self._room.connected:
            self._room.line_ended()

    def broken(self, reason: str) -> None:
        """The stream is of no use any more, and the call goes on by another. Later calls do nothing."""
        if not self._broken.done():
            self._broken.set_result(reason)

    # -- from beginning to end

    async def hold(self, base: str) -> str:
        """Hold it, and return why it ended. `base`: where the carrier finds this server.

        Raises `Refused` for what the carrier did.
        """
        self._room = room = self._make_room(base)
        receiving = asyncio.create_task(self._receive(), name="telephone: receiving")
        reason = ""
        try:
            reason = await self._talk(room, receiving)
            return reason
        except AntiphonError as error:
            self.is_over = True
            raise Refused(CloseCode.INTERNAL, " ".join(str(error).split())) from error
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)
            await self._hang_up()
            await self._file(reason)
            self.left.set()

    def _make_room(self, base: str) -> PhoneRoom:
        attributes = dict(self._job.attributes)
        number = attributes["sip.phoneNumber"]
        return PhoneRoom(
            f"phone-{self._job.call_id}",
            caller=Participant(f"sip_{number}", name=number, attributes=attributes, kind=TELEPHONE),
            call=self._call,
            transfers=self._exchange.transfers,
            address=self._exchange.path_maker(base),
            audio_input=self._input,
            audio_output=self._output,
            recorder=self._recorder,
        )

    async def _talk(self, room: PhoneRoom, receiving: asyncio.Task[None]) -> str:
        models = self._exchange.calls.models.voice
        async with self._server.job(room, models=models, job=self._job) as job:
            self._context = job
            if self._earlier is not None:
                job.continue_from(self._earlier)
            job.on_session(self._attach)
            talking = asyncio.create_task(self._converse(job), name="telephone: the conversation")
            ends: list[asyncio.Future[Any]] = [receiving, self._broken, talking]
            try:
                done, _ = await asyncio.wait(
                    ends, timeout=self._exchange.calls.limits.max_duration, return_when=asyncio.FIRST_COMPLETED
                )
                return self._why(done, job, room)
            finally:
                talking.cancel()
                await asyncio.gather(talking, return_exceptions=True)

    def _why(self, done: set[asyncio.Future[Any]], job: JobContext, room: PhoneRoom) -> str:
        """Why the call ends, or goes on elsewhere. Raises what ended it."""
        if not done:
            self.is_over = True
            job.shutdown("the call took as long as a call may")
            return job.reason
        if room.caller_left:
            return f"passed on to {room.passed_on}" if room.passed_on else "the caller hung up"
        try:
            for one in done:
                one.result()
        except ConnectionError:
            job.shutdown("the stream broke")
            return "the stream broke"
        except Refused as refusal:
            job.shutdown(refusal.reason)
            raise
        if self._broken.done():
            job.shutdown(self._broken.result())
            return self._broken.result()
        self.is_over = True
        return job.reason

    async def _converse(self, job: JobContext) -> None:
        session = await start_session(job)
        if job.resumes and session.language.resumed_line:
            session.say(session.language.resumed_line)
        await job.wait_for_shutdown()
        raise_error(job)
        self.is_over = True

    def _attach(self, session: AgentSession[Any]) -> None:
        self._session = session
        session.once("agent_state_changed", lambda _: self._describe(session))
        if self._recorder is not None:
            self._recorder.follow(session)
        self._record.listen(session)

    def _describe(self, session: AgentSession[Any]) -> None:
        self._models = describe_models(session, "llm", "stt", "tts")
        self._exchange.calls.learn(session)

    # -- what comes

    async def _receive(self) -> None:
        """Until the caller hangs up. Raises `ConnectionError` when the stream breaks, and `Refused`."""
        while True:
            try:
                message = await self._incoming.next()
            except ConnectionError:
                if self._context is None or not self.is_over:
                    raise
                await self._context.wait_for_shutdown()  # a caller who is put through is noted first
                return
            match message:
                case Sound() as sound:
                    self._input.push(sound)
                case Marked(name):
                    self._output.marked(name)
                case Key(digit):
                    if self._room is not None:
                        self._room.receive_dtmf(digit)
                case Stopped():
                    self.hung_up()
                case Started():
                    raise Refused(CloseCode.MALFORMED, "expected one start in a stream, got a second.")
                case None:
                    pass

    # -- afterwards

    async def _hang_up(self) -> None:
        """End the carrier's call, if the agent ended it. Where that fails, `again` is asked, and ends it."""
        if not self.is_over or self._room is None or self._room.caller_left or self._room.passed_on:
            return
        if self._exchange.api.is_usable:
            try:
                await self._exchange.api.end(self._call)
            except CarrierError as error:
                logger.warning("a call could not be ended: %s", error)

    async def _file(self, reason: str) -> None:
        chat_ctx = self._chat_ctx()
        if chat_ctx is None:
            return
        calls = self._exchange.calls
        report = self._record.report(self._now(), await asyncio.to_thread(self._delays))
        await calls.archive.file(
            self._job.call_id,
            report,
            title=f"Call with {calls.file.path.name}",
            models=self._models,
            sound=self._sound(),
            chat_ctx=chat_ctx,
        )
        logger.info("a call by telephone is over: %s", reason or "the server stops")

    def _chat_ctx(self) -> ChatContext | None:
        try:
            return None if self._session is None else self._session.current_agent.chat_ctx.copy()
        except SessionClosed:
            return None

    def _sound(self) -> ReportSound | None:
        if self._recorder is None or not self._recorder.duration or self._room is None:
            return None
        spoken = [Span(t.started, t.ended) for t in self._record.turns if t.role == "user" and t.ended > t.started]
        return ReportSound(self._recorder, spoken, self._room.sound.cuts)

    def _delays(self) -> list[float | None]:
        sound = self._sound()
        return [] if sound is None else delays(sound.recorder, sound.caller)
