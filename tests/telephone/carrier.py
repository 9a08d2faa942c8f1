"""A carrier in the place of Twilio: it rings at a server, obeys its TwiML, signs, and has a REST interface."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl
from xml.etree import ElementTree

from antiphon.audio import AudioFrame
from antiphon.testing.sweep import Heard
from antiphon.testing.telephone import Door, FarEnd, StreamSocket

MAX_FETCHES = 20
"""Addresses that a call asks one after the other, before it is given up as going round in circles."""


@dataclass(slots=True)
class Person:
    """Who is behind a number that is called: what happens when it rings.

    `answers`: "person", "voicemail", "busy", "declined", "no answer", or "failed". `after`: seconds that it rings.
    `presses`: the key that is pressed when asked for one, "" for none; `thinks`: seconds before that. `plays`: what
    sounds from there when a stream has opened, one piece behind the other; `leaves`: seconds behind that until it hangs
    up; None: never.
    """

    answers: str = "person"
    after: float = 2.0
    presses: str = "1"
    thinks: float = 3.0
    plays: Sequence[AudioFrame] = ()
    leaves: float | None = None


@dataclass(slots=True)
class FakeCall:
    """A call as the carrier knows it."""

    sid: str
    to: str
    from_: str
    direction: str
    carrier: FakeCarrier = field(repr=False)
    status: str = "ringing"
    answered_by: str = ""
    said: list[str] = field(default_factory=list)
    """What `<Say>` said."""
    conference: str = ""
    far: FarEnd | None = None
    """The telephone, while there is a stream."""
    heard: list[Heard] = field(default_factory=list)
    """What sounded of earlier streams."""
    problems: list[str] = field(default_factory=list)
    """What the server sent by its streams that no carrier takes."""
    asked: list[str] = field(default_factory=list)
    """The addresses that were asked for it."""
    redirected: int = 0
    date_created: str = field(default_factory=lambda: format_datetime(datetime.now(UTC)))
    _socket: StreamSocket | None = field(default=None, repr=False)
    _task: asyncio.Task[None] | None = field(default=None, repr=False)
    _stream_over: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _status_url: str = ""
    _status_events: tuple[str, ...] = ("completed",)
    sip: str = ""
    """The answer by which its telephone declined."""

    @property
    def is_over(self) -> bool:
        return self.status in ("completed", "busy", "no-answer", "failed", "canceled")

    def speak(self, frame: AudioFrame) -> None:
        """The caller says this."""
        assert self.far is not None, "there is no stream"
        self.far.speak(frame)

    async def hang_up(self) -> None:
        """The person on this telephone hangs up."""
        await self.carrier.over(self, "completed")

    async def break_stream(self) -> None:
        """The stream breaks, and the call does not."""
        assert self._socket is not None
        await self._socket.close()
        self._stream_over.set()


class FakeCarrier:
    """Twilio, as a server knows it. `people` says who is behind numbers that are called: by default a person.

    `token` signs; `refuse(method, place)` may give a status with which the REST interface refuses a request; `lose` one
    that is answered by when the request was obeyed, -1 for no answer at all.
    """

    def __init__(
        self,
        door: Door,
        *,
        token: str = "secret",
        account: str = "AC1",
        number: str = "+15550100",
        people: Mapping[str, Person] | None = None,
        delay: Callable[[], float] = lambda: 0.0,
        loss: Callable[[], bool] = lambda: False,
        refuse: Callable[[str, str], int] = lambda method, place: 0,
        lose: Callable[[str, str], int] = lambda method, place: 0,
    ) -> None:
        self.calls: dict[str, FakeCall] = {}
        self.number = number
        self.people = dict(people or {})
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        """What the REST interface was asked for: method, place, parameters."""
        self._door, self._token, self._account = door, token, account
        self._delay, self._loss, self._refuse, self._lose = delay, loss, refuse, lose
        self._sids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    # -- people

    async def ring(self, url: str, *, from_: str = "+15550199") -> FakeCall:
        """Somebody calls the number, whose voice address is `url`. Returns when the call was answered, or refused."""
        call = self._new(to=self.number, from_=from_, direction="inbound")
        answered = asyncio.Event()
        call._task = self._start(self._obey(call, url, answered))
        await answered.wait()
        return call

    async def aclose(self) -> None:
        """End every call."""
        for call in list(self.calls.values()):
            await self.over(call, "completed")
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _new(self, *, to: str, from_: str, direction: str) -> FakeCall:
        sid = f"CA{next(self._sids):032x}"
        call = self.calls[sid] = FakeCall(sid, to, from_, direction, self)
        return call

    def _start(self, work: Awaitable[object]) -> asyncio.Task[None]:
        async def run() -> None:
            await work

        task = asyncio.create_task(run(), name="carrier")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def over(self, call: FakeCall, status: str) -> None:
        """A call is over."""
        if call.is_over:
            return
        call.status = status
        await self._leave_stream(call, stop=True)
        name, call.conference = call.conference, ""
        if call._task is not None and call._task is not asyncio.current_task():
            call._task.cancel()
            await asyncio.wait([call._task])
        if name:  # it ends with the first who leaves
            for other in [one for one in self.calls.values() if one.conference == name]:
                await self.over(other, "completed")
        self._tell(call, "completed")

    def _tell(self, call: FakeCall, event: str) -> None:
        if call._status_url and event in call._status_events:
            more = {"SipResponseCode": call.sip} if call.sip else {}
            self._start(self._post(call, call._status_url, more))

    async def _leave_stream(self, call: FakeCall, *, stop: bool) -> None:
        far, socket = call.far, call._socket
        call.far = call._socket = None
        if far is None or socket is None:
            return
        call.heard += far.heard
        call.problems += far.problems
        if stop:
            far.stop()
            await asyncio.sleep(0.2)  # what is under way arrives
        await far.aclose()
        await socket.close()
        call._stream_over.set()

    # -- what a call does

    async def _obey(self, call: FakeCall, url: str, answered: asyncio.Event | None = None) -> None:
        try:
            status, text = await self._post(call, url, {})
            if call.status == "ringing" and "<Reject" in text:
                call.status = "busy"
                return
            if not call.is_over:
                call.status = "in-progress"
            for _ in range(MAX_FETCHES):
                if status >= 400 or call.is_over:
                    break
                wanted = await self._do(call, text, answered)
                if wanted is None:
                    break
                status, text = await self._post(call, *wanted)
            await self.over(call, "completed")
        finally:
            if answered is not None:
                answered.set()

    async def _do(
        self, call: FakeCall, text: str, answered: asyncio.Event | None = None
    ) -> tuple[str, dict[str, str]] | None:
        """Do what a document says. Returns the address that is to be asked next, and with what."""
        for verb in ElementTree.fromstring(text):
            match verb.tag:
                case "Say":
                    call.said.append(verb.text or "")
                    await asyncio.sleep(0.06 * len(verb.text or ""))
                case "Hangup":
                    return None
                case "Gather":
                    for said in verb.findall("Say"):
                        call.said.append(said.text or "")
                        await asyncio.sleep(0.06 * len(said.text or ""))
                    person = self.people.get(call.to, Person())
                    if person.answers == "person" and person.presses:
                        await asyncio.sleep(person.thinks)
                        return verb.attrib["action"], {"Digits": person.presses}
                    await asyncio.sleep(float(verb.get("timeout", "5")))
                case "Dial":
                    call.conference = verb.findtext("Conference") or ""
                    await asyncio.Event().wait()
                case "Connect":
                    if await self._stream(call, verb, answered):
                        return verb.attrib["action"], {}
                    return None
                case tag:
                    raise AssertionError(f"the double does not know <{tag}>")
        return None

    async def _stream(self, call: FakeCall, verb: ElementTree.Element, answered: asyncio.Event | None) -> bool:
        stream = verb.find("Stream")
        assert stream is not None
        url = stream.attrib["url"]
        parameters = {one.attrib["name"]: one.attrib["value"] for one in stream.findall("Parameter")}
        call._stream_over = over = asyncio.Event()
        early: list[str] = []
        far: FarEnd | None = None

        def receive(text: str) -> None:
            early.append(text) if far is None else far.receive(text)

        headers = {"x-twilio-signature": signature(self._token, url, {})}
        try:
            socket = await self._door.connect(url, headers, receive, over.set)
        except ConnectionError:
            return True
        far = FarEnd(
            socket.send,
            stream=f"MZ{call.sid[2:]}",
            call=call.sid,
            parameters=parameters,
            delay=self._delay,
            loss=self._loss,
        )
        call.far, call._socket = far, socket
        far.begin()
        for text in early:
            far.receive(text)
        person = self.people.get(call.to, Person()) if call.direction == "outbound-api" else Person()
        for piece in person.plays:
            far.speak(piece)
        if person.leaves is not None:
            self._start(self._leave(call, sum(piece.duration for piece in person.plays) + person.leaves))
        if answered is not None:
            answered.set()
        await over.wait()
        await self._leave_stream(call, stop=False)
        return not call.is_over

    async def _leave(self, call: FakeCall, after: float) -> None:
        await asyncio.sleep(after)
        await self.over(call, "completed")

    async def _post(self, call: FakeCall, url: str, more: Mapping[str, str]) -> tuple[int, str]:
        call.asked.append(url)
        form = {
            "CallSid": call.sid,
            "AccountSid": self._account,
            "From": call.from_,
            "To": call.to,
            "Direction": call.direction,
            "CallStatus": call.status,
            **more,
        }
        return await self._door.post(url, form, {"x-twilio-signature": signature(self._token, url, form)})

    async def _call_out(self, call: FakeCall, form: Mapping[str, str]) -> None:
        person = self.people.get(call.to, Person())
        call.status = "initiated"
        self._tell(call, "initiated")
        await asyncio.sleep(0.1)
        call.status = "ringing"
        self._tell(call, "ringing")
        await asyncio.sleep(min(person.after, float(form.get("Timeout", "60"))))
        if person.answers not in ("person", "voicemail") or person.after > float(form.get("Timeout", "60")):
            call.sip = {"declined": "603", "busy": "486"}.get(person.answers, "")
            over = {"busy": "busy", "declined": "busy", "failed": "failed"}
            await self.over(call, over.get(person.answers, "no-answer"))
            return
        call.status = "in-progress"
        self._tell(call, "answered")
        if form.get("MachineDetection"):
            call.answered_by = "machine_start" if person.answers == "voicemail" else "human"
        if "Url" in form:
            await self._obey(call, form["Url"])
            return
        wanted = await self._do(call, form["Twiml"])
        if wanted is not None:
            _, text = await self._post(call, *wanted)
            await self._do(call, text)
        await self.over(call, "completed")

    # -- the REST interface

    async def answer(self, method: str, place: str, given: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """What the REST interface answers: `place` is what comes behind the account, "Calls/CA1.json"."""
        self.requests.append((method, place, dict(given)))
        await asyncio.sleep(0.05)
        if status := self._refuse(method, place):
            return status, {"message": "refused by the test"}
        answer = await self._obeyed(method, place, given)
        lost = self._lose(method, place)
        return (lost, {}) if lost else answer

    async def _obeyed(self, method: str, place: str, given: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        parts = place.removesuffix(".json").split("/")
        match method, parts:
            case "POST", ["Calls"]:
                call = self._new(to=given["To"], from_=given["From"], direction="outbound-api")
                call._status_url = given.get("StatusCallback", "")
                call._status_events = tuple(given.get("StatusCallbackEvent", "completed").split())
                call._task = self._start(self._call_out(call, given))
                return 201, {"sid": call.sid, "status": "queued"}
            case "GET", ["Calls"]:
                found = [one for one in self.calls.values() if (one.to, one.from_) == (given["To"], given["From"])]
                named = ("sid", "to", "status", "direction", "date_created")
                return 200, {"calls": [{name: getattr(one, name) for name in named} for one in reversed(found)]}
            case "GET", ["Calls", sid] if sid in self.calls:
                call = self.calls[sid]
                return 200, {"sid": sid, "status": call.status, "answered_by": call.answered_by or None}
            case "POST", ["Calls", sid] if sid in self.calls:
                return await self._change(self.calls[sid], given)
            case "GET", ["Conferences"]:
                name = given.get("FriendlyName", "")
                there = any(call.conference == name for call in self.calls.values())
                return 200, {"conferences": [{"sid": f"CF{name}", "friendly_name": name}] if there else []}
            case "GET", ["Conferences", sid, "Participants"]:
                people = [call for call in self.calls.values() if f"CF{call.conference}" == sid]
                return 200, {"participants": [{"call_sid": call.sid} for call in people]}
        return 404, {"message": f"{place} was not found"}

    async def _change(self, call: FakeCall, given: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        if call.is_over:
            return 400, {"message": "Call is not in-progress. Cannot redirect."}
        if given.get("Status") in ("completed", "canceled"):
            await self.over(call, "completed" if call.status == "in-progress" else "canceled")
        elif "Twiml" in given:
            call.redirected += 1
            if call._task is not None:
                call._task.cancel()
                await asyncio.wait([call._task])
            await self._leave_stream(call, stop=True)
            if not call.is_over:
                call._task = self._start(self._redirected(call, given["Twiml"]))
        return 200, {"sid": call.sid, "status": call.status}

    async def _redirected(self, call: FakeCall, text: str) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._do(call, text)
            await self.over(call, "completed")


def signature(token: str, url: str, form: Mapping[str, str]) -> str:
    """Twilio's signature of a request."""
    text = url + "".join(f"{name}{form[name]}" for name in sorted(form))
    return base64.b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()).decode()


def form_of(body: bytes) -> dict[str, str]:
    """The parameters of a posted form."""
    return dict(parse_qsl(body.decode(), keep_blank_values=True))
