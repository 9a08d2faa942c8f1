"""A record is told to a webhook: at least once, with an id, signed, across restarts, and within bounds."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from antiphon import AgentServer
from antiphon.errors import UsageError
from antiphon.records import Records, Webhook
from antiphon.records import delivery as module
from antiphon.records.delivery import GIVE_UP, Deliveries, delivery_id, signature
from antiphon.testing import run_virtual
from tests.records.recorded import BOOKS, call

SECRET = "a secret of more than sixteen"


@dataclass
class Receiver:
    """A web server of this machine, and what it was told."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    """What it answers, in order; then 200."""
    told: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None
    """What happens before it answers."""

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.told]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.meanwhile()
            found.told.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status = found.answers.pop(0) if found.answers else 200
            self.send_response(status)
            if status == 302:
                self.send_header("location", found.url)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}/calls?of=desk"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def queue(home: Path, url: str, clock: Clock | None = None) -> Deliveries:
    return Deliveries(home, Webhook(url, SECRET), clock=clock or Clock())


def asked(home: Path, url: str, *names: str) -> tuple[Deliveries, Clock]:
    """A queue with records that are there."""
    clock = Clock()
    made = queue(home, url, clock)
    for name in names:
        made.prepare(name, b"{}")
        made.ready(name)
        clock.now += 1
    return made, clock


def states(made: Deliveries) -> dict[str, str]:
    return {one["name"]: one["state"] for one in made.listed()}


def test_a_call_that_has_ended_is_told_once_signed_and_whole(tmp_path: Path, receiver: Receiver) -> None:
    records = Records(tmp_path, webhook=Webhook(receiver.url, SECRET))
    made = call(*BOOKS, server=AgentServer(records=records))
    run_virtual(records.aclose())
    (headers, body) = receiver.told[0]
    assert len(receiver.told) == 1
    told = json.loads(body)
    assert (told["type"], told["record"]["id"], told["place"]) == ("call.recorded", made, str(tmp_path))
    assert told["record"]["tool_calls"][0]["name"] == "book" and told["record"]["usage"]["tokens"] > 0
    assert headers["webhook-id"] == delivery_id(told["name"], receiver.url)
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert states(records.deliveries) == {told["name"]: "taken"}


def test_the_signature_is_that_of_standard_webhooks() -> None:
    # The example of the specification's libraries.
    key = Webhook("https://x.example", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").key
    made = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_is_not_taken_is_tried_again_later_with_the_same_id(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers = [500, 503]
    made, clock = asked(tmp_path, receiver.url, "a")
    waits = []
    for _ in range(3):
        waits.append(made.work())
        clock.now += waits[-1] or 0.0
    assert waits == [5.0, 15.0, None]
    assert len(receiver.told) == 3 and len(set(receiver.ids)) == 1
    assert receiver.told[0][0]["webhook-signature"] != receiver.told[1][0]["webhook-signature"]  # of its own time


def test_nothing_is_tried_before_its_time(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers = [500]
    made, _ = asked(tmp_path, receiver.url, "a")
    made.work()
    made.work()
    assert len(receiver.told) == 1


def test_another_process_goes_on_with_what_waits(tmp_path: Path, receiver: Receiver) -> None:
    _, clock = asked(tmp_path, receiver.url, "a", "b")
    again = queue(tmp_path, receiver.url, clock)
    again.work()
    assert states(again) == {"a": "taken", "b": "taken"}


@pytest.mark.parametrize(("exists", "told"), [(True, 1), (False, 0)])
def test_a_process_that_was_killed_before_it_could_say_so_forgets_no_record(
    exists: bool, told: int, tmp_path: Path, receiver: Receiver
) -> None:
    made = queue(tmp_path, receiver.url)
    made.prepare("a", b"{}")
    clock = Clock()
    again = queue(tmp_path, receiver.url, clock)
    again.recover(lambda name: exists)
    again.work()
    assert len(receiver.told) == told
    clock.now += 2 * module.PREPARED
    again.recover(lambda name: False)
    assert states(again) == ({"a": "taken"} if exists else {})


def test_two_processes_do_not_try_the_same_at_the_same_time(tmp_path: Path, receiver: Receiver) -> None:
    made, clock = asked(tmp_path, receiver.url, "a")
    other = queue(tmp_path, receiver.url, clock)
    receiver.meanwhile = other.work
    made.work()
    assert len(receiver.told) == 1


def test_a_receiver_that_never_takes_it_is_given_up_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made, clock = asked(tmp_path, "http://127.0.0.1:1/none", "a")
    for _ in range(100):
        wait = made.work()
        if wait is None:
            break
        clock.now += wait
    assert clock.now - Clock.now <= GIVE_UP + 2
    assert states(made) == {"a": "given up"} and "is given up" in caplog.text


def test_no_more_than_so_many_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    made, _ = asked(tmp_path, "http://127.0.0.1:1/none", "a", "b", "c")
    made.work()
    assert states(made) == {"a": "given up", "b": "waiting", "c": "waiting"}


def test_a_redirect_is_no_yes_and_is_not_followed(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers = [302]
    made, _ = asked(tmp_path, receiver.url, "a")
    made.work()
    assert len(receiver.told) == 1 and states(made) == {"a": "waiting"}


def test_a_record_that_is_removed_is_not_told(tmp_path: Path, receiver: Receiver) -> None:
    made = queue(tmp_path, receiver.url)
    made.prepare("a", b'{"said": "xylophon"}')
    made.ready("a")
    made.forget("a")
    made.work()
    assert receiver.told == [] and b"xylophon" not in made.path.read_bytes()


def test_a_long_record_is_told_without_what_was_said() -> None:
    head = {"id": "c", "began": 1.0, "turns": [{"text": "x" * 2_000_000}]}
    told = json.loads(module.body_of(head, {}, "name", "place"))
    assert told["record"] == {"id": "c", "began": 1.0, "shortened": True}


@pytest.mark.parametrize(
    ("url", "secret"), [("ftp://x", SECRET), ("https://", SECRET), ("x", SECRET), ("https://x", "short")]
)
def test_a_webhook_that_is_none_is_refused_in_words(url: str, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTIPHON_WEBHOOK_SECRET", raising=False)
    with pytest.raises(UsageError, match="Webhook"):
        Webhook(url, secret)


def test_its_secret_is_shown_nowhere(tmp_path: Path, receiver: Receiver) -> None:
    webhook = Webhook("https://user:password@x.example/y?token=abcdefgh", SECRET)
    assert SECRET not in repr(webhook) and "password" not in repr(webhook) and "abcdefgh" not in repr(webhook)
    asked(tmp_path, receiver.url, "a")[0].work()
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
