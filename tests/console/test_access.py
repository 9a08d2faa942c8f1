"""Who may call, and how much of what."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from starlette.requests import HTTPConnection

from antiphon.console.access import WRONG_TOKENS, Access, Allowance, ClientAllowances, is_loopback
from antiphon.console.protocol import CloseCode, Refused
from antiphon.errors import UsageError
from antiphon.server.tokens import mint_token


def connection(host: str, *, origin: str | None = None, query: str = "", client: str = "192.168.1.9") -> HTTPConnection:
    headers = [(b"host", host.encode("latin-1"))]
    if origin is not None:
        headers.append((b"origin", origin.encode("utf-8")))
    return HTTPConnection(
        {
            "type": "websocket",
            "path": "/call",
            "query_string": query.encode(),
            "headers": headers,
            "client": (client, 50_000),
        }
    )


def refused(access: Access, asked: HTTPConnection, now: float = 0.0) -> CloseCode | None:
    try:
        access.check(asked, now)
    except Refused as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8", "agent.localhost"])
def test_a_server_on_this_machines_own_addresses_asks_for_no_token(host: str) -> None:
    assert Access.to(host).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "example.org", "127.0.0.1.example.org"])
def test_any_other_server_asks_for_a_token_that_cannot_be_guessed(host: str) -> None:
    tokens = {Access.to(host).token for _ in range(10)}
    assert len(tokens) == 10
    assert all(token is not None and len(token) >= 24 for token in tokens)


def test_a_token_that_was_given_is_asked_for_everywhere() -> None:
    assert refused(Access.to("127.0.0.1", "secret"), connection("127.0.0.1:8080")) is CloseCode.UNAUTHORISED


@pytest.mark.parametrize("empty", ["", " ", "\n"])
def test_an_empty_token_as_of_a_variable_that_is_not_set_is_none(empty: str) -> None:
    assert Access.to("127.0.0.1", empty).token is None
    made = Access.to("0.0.0.0", empty).token
    assert made is not None and len(made) >= 24
    assert refused(Access(""), connection("192.168.1.7:8080", query="token=")) is CloseCode.FORBIDDEN


def test_a_token_that_is_not_text_is_refused_when_the_server_starts() -> None:
    with pytest.raises(UsageError, match="--token: expected text"):
        Access.to("0.0.0.0", "\udcff")


def guesses(access: Access, client: str, now: float = 0.0) -> list[CloseCode | None]:
    wrong = connection("10.0.0.1", query="token=wrong", client=client)
    return [refused(access, wrong, now) for _ in range(WRONG_TOKENS)]


def test_whoever_sends_wrong_tokens_is_refused_for_a_while_and_nobody_else_is() -> None:
    access = Access.to("0.0.0.0", "right")
    right = connection("10.0.0.1", query="token=right", client="10.0.0.9")
    assert set(guesses(access, "10.0.0.9")) == {CloseCode.UNAUTHORISED}
    assert refused(access, right) is CloseCode.TOO_MANY
    assert refused(access, connection("10.0.0.1", query="token=right", client="10.0.0.8")) is None
    assert refused(access, right, now=6.0) is None


def test_a_page_that_lacks_the_token_does_not_count_as_one_that_guesses() -> None:
    access = Access.to("0.0.0.0", "right")
    assert {refused(access, connection("10.0.0.1")) for _ in range(100)} == {CloseCode.UNAUTHORISED}
    assert refused(access, connection("10.0.0.1", query="token=right")) is None


def test_the_addresses_of_one_ipv6_network_are_one_client() -> None:
    access = Access.to("0.0.0.0", "right")
    guesses(access, "2001:db8::1")
    right = "token=right"
    assert refused(access, connection("10.0.0.1", query=right, client="2001:db8::2")) is CloseCode.TOO_MANY
    assert refused(access, connection("10.0.0.1", query=right, client="2001:db8:0:1::2")) is None


def test_what_is_remembered_of_clients_is_bounded_and_the_longest_unseen_is_forgotten() -> None:
    clients = ClientAllowances(rate=0.0, burst=1.0, remembered=3)
    for client in "abcad":
        clients.of(client).take(1, 0.0)
    assert len(clients) == 3
    assert [clients.of(client).holds(1, 0.0) for client in "ab"] == [False, True]


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "localhost", "[::1]:8080"])
def test_without_a_token_the_names_of_this_machine_are_answered(host: str) -> None:
    assert refused(Access.to("127.0.0.1"), connection(host)) is None


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:8080", "192.168.1.7:8080", "", "[nonsense", "[::1", "localhost.io"]
)
def test_without_a_token_a_name_that_was_made_to_mean_this_machine_is_refused(host: str) -> None:
    assert refused(Access.to("127.0.0.1"), connection(host)) is CloseCode.FORBIDDEN


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("token=right", None),
        ("token=wrong", CloseCode.UNAUTHORISED),
        ("token=", CloseCode.UNAUTHORISED),
        ("", CloseCode.UNAUTHORISED),
        ("token=r%C3%AFght", CloseCode.UNAUTHORISED),
    ],
)
def test_the_token_opens_and_nothing_else_does(query: str, code: CloseCode | None) -> None:
    access = Access.to("0.0.0.0", "right")
    assert refused(access, connection("192.168.1.7:8080", query=query)) is code


@pytest.mark.parametrize(
    ("origin", "code"),
    [
        ("http://localhost:8080", None),
        ("https://localhost:8080", None),
        (None, None),
        ("http://example.org", CloseCode.FORBIDDEN),
        ("http://localhost:9090", CloseCode.FORBIDDEN),
        ("null", CloseCode.FORBIDDEN),
        ("", CloseCode.FORBIDDEN),
        ("http://[", CloseCode.FORBIDDEN),
        ("http://[::1", CloseCode.FORBIDDEN),
        ("http://\u2100.example", CloseCode.FORBIDDEN),
    ],
)
def test_pages_of_another_place_are_refused(origin: str | None, code: CloseCode | None) -> None:
    assert refused(Access.to("127.0.0.1"), connection("localhost:8080", origin=origin)) is code


def test_a_page_of_another_place_is_refused_also_with_the_token() -> None:
    asked = connection("192.168.1.7:8080", origin="http://example.org", query="token=t")
    assert refused(Access.to("0.0.0.0", "t"), asked) is CloseCode.FORBIDDEN


@pytest.mark.parametrize("host", ["", "example.org", "10.0.0.1", "256.0.0.1"])
def test_other_names_are_not_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_an_allowance_is_used_up_and_grows_back() -> None:
    allowance = Allowance(rate=2.0, burst=3.0)
    assert [allowance.take(1, now=0.0) for _ in range(4)] == [True, True, True, False]
    assert allowance.take(1, now=1.0)


def test_what_was_refused_uses_nothing_of_an_allowance() -> None:
    allowance = Allowance(rate=0.0, burst=2.0)
    assert [allowance.take(amount, now=0.0) for amount in (3, 2)] == [False, True]


def test_an_allowance_never_grows_beyond_its_burst() -> None:
    allowance = Allowance(rate=100.0, burst=2.0)
    allowance.take(1, now=0.0)
    assert [allowance.take(1, now=99.0) for _ in range(3)] == [True, True, False]


LONG = "a token of more than twenty characters"


def test_a_token_that_was_made_of_the_long_one_does_until_its_time_is_up() -> None:
    times = [1000.0]
    access = Access(LONG, clock=lambda: times[-1])
    asked = connection("example.org", query=f"token={mint_token(LONG, seconds=60, now=1000.0)}")
    assert refused(access, asked) is None
    times.append(1061.0)
    assert refused(access, asked) is CloseCode.UNAUTHORISED


@pytest.mark.parametrize(
    "token",
    [
        mint_token("another long token altogether", now=1000.0),
        "9999999999." + mint_token(LONG, now=1000.0).partition(".")[2],
        "9999999999.x.",
        "..",
        "\u00e4.\u00f6.\u00fc",
    ],
)
def test_a_token_that_nobody_made_of_the_long_one_does_not(token: str) -> None:
    access = Access(LONG, clock=lambda: 1000.0)
    assert refused(access, connection("example.org", query=f"token={quote(token)}")) is CloseCode.UNAUTHORISED


def test_of_a_short_token_none_are_made() -> None:
    with pytest.raises(UsageError, match="20 characters"):
        mint_token("short")
    with pytest.raises(UsageError, match="86400 seconds"):
        mint_token(LONG, seconds=1e6)
