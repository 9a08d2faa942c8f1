"""Calls by telephone at the page's server: the addresses that a carrier asks, and the calls that come of it.

| under `/telephone/NAME/` | is asked |
|---|---|
| `voice` | when a call comes in, or one that was made from here is answered |
| `again` | when a stream has ended and its call has not: it goes on at whichever process is asked |
| `status` | when something has become of a call |
| `accept/CONFERENCE` | when somebody takes a call that is passed on to them |
| `stream/TICKET` | for the sound of a call: a WebSocket |
| `calls`, `calls/ID` | by whoever has the server's token: to make a call, and how it stands (`dial_requests`) |

Above: the web application. Below: `phone_call`, which holds one call; the same places and the same archive as pages'.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from antiphon.chat import ChatContext
from antiphon.console.calls import LEASE_LOOK, LEASE_PATIENCE, Calls
from antiphon.console.dial_requests import dial_routes
from antiphon.console.line import Line
from antiphon.console.phone_call import PhoneCall, PhoneIncoming
from antiphon.console.protocol import CloseCode, Refused
from antiphon.console.wires import BODIES, MAX_BODY
from antiphon.errors import StoreError, UsageError
from antiphon.protocols import call_store
from antiphon.server.admission import NotAdmitted
from antiphon.server.job import Job
from antiphon.server.telephone import CarrierApi, DialedCall, Dialing, DialRequest, Settings, Transfers, markup
from antiphon.server.telephone.api import OVER
from antiphon.transports.telephone import Started
from antiphon.visible import one_line

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.websockets import WebSocket

logger = logging.getLogger("antiphon")

MAX_FIELDS = 100
"""Parameters of a request."""
MAX_AGAIN = 5
"""How often the stream of one call may break."""
DIAL = "telephone.dial"
"""The attribute of a caller that says by which request they were called."""
SORRY = "Sorry, we have been cut off. Please call again."
"""What a caller hears whose call cannot go on."""


class _Unsigned(Exception):
    """A request does not come from the carrier."""


class Telephone:
    """The telephone of one server. `api`: the carrier's; its owner closes it."""

    def __init__(self, calls: Calls, settings: Settings, api: CarrierApi) -> None:
        self.calls = calls
        self.settings = settings
        self.api = api
        self.transfers = Transfers(api)
        self._root = f"{BODIES}{settings.dialect.name}"
        self.dialing = Dialing(api, settings, calls.admission, address=self._own_address)
        self._bind()
        calls.file.on_change(self._bind)
        self._running: dict[str, PhoneCall] = {}
        """By the carrier's ids."""
        self._over: dict[str, None] = {}
        """Calls that came to their end here, the last ones: none of them goes on."""

    def routes(self) -> list[BaseRoute]:
        """Where the carrier asks."""
        return [
            Route(f"{self._root}/voice", self.voice, methods=["GET", "POST"]),
            Route(f"{self._root}/again", self.again, methods=["GET", "POST"]),
            Route(f"{self._root}/status", self.status, methods=["GET", "POST"]),
            Route(f"{self._root}/accept/{{conference}}", self.accept, methods=["GET", "POST"]),
            WebSocketRoute(f"{self._root}/stream/{{ticket}}", self.stream),
            *dial_routes(self._root, self.calls, self.settings, self.dialing),
        ]

    async def aclose(self) -> None:
        """Nothing rings any more, and the carrier is let go."""
        await self.dialing.aclose()
        await self.api.aclose()

    def _bind(self) -> None:
        """`AgentServer.dial` of the file as it is now leads here."""
        if self.calls.file.server is not None:
            self.calls.file.server.dial_by(self._dial)

    async def _dial(self, to: str, from_: str, **wish: Any) -> DialedCall:
        self._own_address()
        return await self.dialing.dial(DialRequest.checked(to, from_ or self.settings.number, **wish))

    def _own_address(self) -> str:
        if not self.settings.public_url:
            raise UsageError("dial: the carrier must know where this server is. Start with --public-url https://...")
        return f"{self.settings.public_url}{self._root}/"

    # -- what is asked

    async def voice(self, request: Request) -> Response:
        """A call begins."""
        try:
            given = await self._parameters(request)
        except _Unsigned as refusal:
            return _refusal(refusal)
        dial = request.query_params.get("dial", "")
        if dial:
            if self.dialing.is_second(dial, given.get("CallSid", "")):
                return _xml(markup.hang_up())
            self.dialing.told(dial, given.get("CallSid", ""))
        may_talk = self.calls.admission.is_open or self.dialing.has_place(dial)
        if not may_talk or self.calls.file.server is None:
            return _xml(markup.hang_up() if dial else markup.refuse())
        return self._connected(request, given, again=0)

    async def again(self, request: Request) -> Response:
        """A stream has ended: its call is over, or goes on here."""
        try:
            given = await self._parameters(request)
        except _Unsigned as refusal:
            return _refusal(refusal)
        call = given.get("CallSid", "")
        number = _number(request.query_params.get("n", ""))
        if given.get("CallStatus") in OVER or call in self._over or await self._has_ended(call):
            return _xml(markup.hang_up())
        if number >= MAX_AGAIN or self.calls.file.server is None:
            logger.warning("the stream of a call broke %d times: the call is ended", number + 1)
            return _xml(markup.hang_up(SORRY))
        return self._connected(request, given, again=number + 1)

    async def status(self, request: Request) -> Response:
        """Something has become of a call."""
        try:
            given = await self._parameters(request)
        except _Unsigned as refusal:
            return _refusal(refusal)
        call = given.get("CallSid", "")
        self.transfers.nudge(call)
        self.dialing.told(request.query_params.get("dial", ""), call, given.get("SipResponseCode", ""))
        running = self._running.get(call)
        if running is not None and given.get("CallStatus") in OVER:
            running.hung_up()
        return Response(status_code=204)

    async def accept(self, request: Request) -> Response:
        """Somebody whom a call is passed on to pressed a key."""
        try:
            await self._parameters(request)
        except _Unsigned as refusal:
            return _refusal(refusal)
        return _xml(markup.conference(request.path_params["conference"]))

    async def stream(self, socket: WebSocket) -> None:
        """The sound of a call."""
        url = self._address(socket, socket.url.path)
        if not self.settings.is_signed(dict(socket.headers), url, b"", (), socket=True):
            logger.warning("a stream was refused: its signature is missing or wrong")
            await socket.send_denial_response(Response("the signature is missing or wrong", 403))
            return
        await socket.accept()
        with self.calls.admission.guest():
            await self._answer(socket)

    # -- a stream

    async def _answer(self, socket: WebSocket) -> None:
        line = Line(socket, beats=False)
        sender = asyncio.create_task(line.run(), name="telephone: sending")
        code, reason = CloseCode.GOING_AWAY, "the server stops"
        try:
            code, reason = CloseCode.NORMAL, await self._hold(socket, line)
        except Refused as refusal:
            code, reason = refusal.code, refusal.reason
            logger.warning("a call by telephone was ended: %s", one_line(reason))
        except NotAdmitted as refused:
            code, reason = CloseCode.TOO_MANY, f"the call was not admitted: {refused.reason.value}"
        except Exception as error:
            logger.exception("a call by telephone failed")
            code, reason = CloseCode.INTERNAL, f"{type(error).__name__}: {error}"
        finally:
            await line.finish(sender, code, reason)

    async def _hold(self, socket: WebSocket, line: Line) -> str:
        incoming = PhoneIncoming(socket, self.settings.dialect, self.calls.limits)
        started = await self.calls.admission.first_word(incoming.start())
        if not self.settings.admits(socket.path_params["ticket"], started.call):
            raise Refused(CloseCode.UNAUTHORISED, "the ticket is old, or for another call")
        await self._end_running(started.call)
        server = self.calls.file.server
        if server is None:
            raise Refused(CloseCode.AGENT_FILE, self.calls.file.problem)
        job, earlier = await self._job(started)
        async with self.dialing.claim(job.attributes.get(DIAL, "")):
            call = PhoneCall(self, server, line, incoming, started, job=job, earlier=earlier)
            self._running[started.call] = call
            try:
                return await call.hold(self._base(socket))
            finally:
                del self._running[started.call]
                if call.is_over:
                    self._remember(started.call)

    async def _end_running(self, call: str) -> None:
        """The same call comes again by another stream, and the first has not noticed its end."""
        running = self._running.get(call)
        if running is not None:
            running.broken("the call comes again by another stream")
            await running.left.wait()

    async def _job(self, started: Started) -> tuple[Job, ChatContext | None]:
        """What is asked for; and what was said before, if only this process knows it."""
        call_id = self.settings.call_id(started.call)
        known = await self._stored(call_id, wait=True)
        resumes = known is not None and not known
        filed = None if resumes else self.calls.archive.get(call_id)
        parameters = started.parameters
        attributes = {
            "sip.phoneNumber": parameters.get("caller", ""),
            "sip.trunkPhoneNumber": parameters.get("called", ""),
            "sip.callID": started.call,
            "sip.callStatus": "active",
            "telephone.direction": parameters.get("direction", "inbound"),
        }
        if parameters.get("dial"):
            attributes[DIAL] = parameters["dial"]
        job = Job(
            call_id=call_id,
            resumes=resumes,
            by_turns=True,
            metadata=parameters.get("metadata", ""),
            agent_name=parameters.get("agent", ""),
            attributes=attributes,
        )
        return job, None if filed is None else filed.chat_ctx

    async def _has_ended(self, call: str) -> bool:
        return bool(await self._stored(self.settings.call_id(call), wait=False))

    async def _stored(self, call_id: str, *, wait: bool) -> bool | None:
        """Whether the call has ended, as its store has it; None: there is no store, or it does not know the call.

        `wait`: until nobody holds it, for a moment: a process that was killed holds its calls for a while.
        """
        find = call_store.get()
        store = None if find is None else await find()
        if store is None:
            return None
        clock = asyncio.get_running_loop().time
        until = clock() + LEASE_PATIENCE
        with contextlib.suppress(StoreError):
            stored = await store.load(call_id)
            while wait and stored is not None and stored.info.is_held and clock() < until:
                await asyncio.sleep(LEASE_LOOK)
                stored = await store.load(call_id)
            return None if stored is None else stored.info.meta.ended is not None
        return None

    def _remember(self, call: str) -> None:
        self._over[call] = None
        if len(self._over) > 1000:
            self._over.pop(next(iter(self._over)))

    # -- addresses and signatures

    async def _parameters(self, request: Request) -> Mapping[str, str]:
        """What a request of the carrier's says. Raises `_Unsigned` for anybody else's."""
        body = await _body(request)
        sent = _fields(body.decode("utf-8", "replace"))
        asked = _fields(request.url.query)
        query = f"?{request.url.query}" if request.url.query else ""
        url = self._address(request, request.url.path) + query
        if not self.settings.is_signed(dict(request.headers), url, body, sent):
            logger.warning(
                "a request to %s was refused: its signature is missing or wrong. Is --public-url the address that the"
                " carrier asks?",
                one_line(request.url.path),
            )
            raise _Unsigned
        return {**dict(asked), **dict(sent)}

    def _base(self, asked: Request | WebSocket) -> str:
        """Where the carrier finds this server, without a path."""
        if self.settings.public_url:
            return self.settings.public_url
        host = asked.headers.get("host", "localhost")
        return f"https://{host}"

    def _address(self, asked: Request | WebSocket, path: str) -> str:
        return self._base(asked) + path

    def _connected(self, request: Request, given: Mapping[str, str], *, again: int) -> Response:
        call = given.get("CallSid", "")
        if not call or len(call) > 200:
            return Response("expected CallSid", 400)
        base = self._base(request)
        outbound = given.get("Direction", "inbound").startswith("outbound")
        caller, called = given.get("From", "")[:100], given.get("To", "")[:100]
        parameters = {
            "caller": called if outbound else caller,
            "called": caller if outbound else called,
            "direction": "outbound" if outbound else "inbound",
            "metadata": request.query_params.get("metadata", "")[:500],
            "agent": request.query_params.get("agent", "")[:100],
            "dial": request.query_params.get("dial", "")[:100],
        }
        return _xml(
            markup.connect(
                self.settings.dialect,
                f"ws{base[4:]}{self._root}/stream/{self.settings.ticket(call)}",
                parameters={name: value for name, value in parameters.items() if value},
                action=f"{base}{self._root}/again?{urlencode({'n': again, **self._carried(request)})}",
            )
        )

    @staticmethod
    def _carried(request: Request) -> dict[str, str]:
        """What of a call from here goes along when its stream breaks."""
        asked = request.query_params
        return {name: asked[name][:500] for name in ("dial", "agent", "metadata") if asked.get(name)}

    def path_maker(self, base: str) -> Paths:
        """Makes the addresses of a call."""
        return Paths(f"{base}{self._root}/")


class Paths:
    """Makes the address of a path at which the carrier finds this server."""

    def __init__(self, root: str) -> None:
        self._root = root

    def __call__(self, path: str) -> str:
        return self._root + path


async def _body(request: Request) -> bytes:
    """What is sent behind a request. Raises `_Unsigned`, and reads nothing, where that is too long, or not said."""
    length = request.headers.get("content-length", "0")
    is_short = length.isascii() and length.isdecimal() and len(length) < 6 and int(length) <= MAX_BODY
    if not is_short or "transfer-encoding" in request.headers:
        raise _Unsigned
    body = b""
    async for piece in request.stream():
        body += piece
    return body


def _fields(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise _Unsigned from None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0


def _xml(content: str) -> Response:
    return Response(content, media_type=markup.MEDIA_TYPE, headers={"Cache-Control": "no-store"})


def _refusal(refusal: _Unsigned) -> Response:
    return Response("the signature is missing or wrong", 403)
