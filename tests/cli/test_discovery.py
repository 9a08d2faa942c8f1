"""What stands beside the framework, found by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.calls.models import named_model
from antiphon.discovery import load, load_for
from antiphon.errors import UsageError
from antiphon.transport import named_transport
from antiphon.transports.terminal import TerminalAudio

MODELS = """
from antiphon.testing import FakeLLM

class LLM(FakeLLM):
    def __init__(self, model="small"):
        super().__init__(["hello"])
        self.name = model
"""


@pytest.fixture
def strangers(stranger: Callable[..., None]) -> None:
    """An installed package that names two providers, one of which cannot be imported."""
    stranger(
        "[antiphon.providers]\nmine = strangers_models\nbroken = no_such_module\n",
        strangers_models=MODELS,
    )


@pytest.mark.usefixtures("strangers")
def test_a_strangers_model_is_taken_by_name() -> None:
    assert named_model("llm", "mine/large").name == "large"
    assert named_model("llm", "mine").name == "small"


@pytest.mark.usefixtures("strangers")
def test_a_provider_without_such_a_model_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no STT called 'mine': expected local, deepgram, openai, .*mine"):
        named_model("stt", "mine")


@pytest.mark.usefixtures("strangers")
def test_a_provider_that_cannot_be_imported_is_told_with_the_reason() -> None:
    with pytest.raises(UsageError, match="'broken' cannot be imported: No module named 'no_such_module'"):
        named_model("llm", "broken/x")


def test_an_unknown_entry_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"antiphon\.compat: expected one of those installed \(livekit\), got 'x'"):
        load("antiphon.compat", "x")


# -- transports

LINE = """
from antiphon.testing import FakeMicrophone, FakeSpeaker
from antiphon.transport import Transport

class Line(Transport):
    def __init__(self, address=""):
        self.input, self.output, self.address = FakeMicrophone(), FakeSpeaker(), address

def number():
    return 7
"""


@pytest.fixture
def lines(stranger: Callable[..., None]) -> None:
    """An installed package that names a transport, and something else as one."""
    stranger("[antiphon.transports]\nmine = strangers_line:Line\nnone = strangers_line:number\n", strangers_line=LINE)


@pytest.mark.usefixtures("lines")
def test_a_strangers_transport_is_taken_by_name() -> None:
    assert type(named_transport("mine")).__name__ == "Line"


@pytest.mark.usefixtures("lines")
def test_what_comes_behind_the_slash_is_for_the_transport() -> None:
    line: Any = named_transport("mine/wss://far.example/room")
    assert line.address == "wss://far.example/room"


@pytest.mark.usefixtures("lines")
def test_a_transport_that_is_none_is_an_error_that_says_what_it_must_be() -> None:
    with pytest.raises(UsageError, match=r"expected 'none' to make an antiphon\.transport\.Transport, got int"):
        named_transport("none")


@pytest.mark.usefixtures("lines")
def test_an_unknown_transport_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"expected one of those installed \(mine, none, terminal\), got 'your'"):
        named_transport("your/address")


def test_our_own_transport_has_a_name() -> None:
    line = named_transport("terminal/null")
    assert isinstance(line, TerminalAudio)
    assert line.settings.null


# -- stores


def test_a_strangers_store_is_taken_by_the_scheme_of_its_address(stranger: Callable[..., None]) -> None:
    stranger("[antiphon.stores]\nmine = strangers_store:at\n", strangers_store="def at(url): return url.upper()")
    assert load_for("antiphon.stores", "mine://host/calls") == "MINE://HOST/CALLS"


def test_a_store_that_nobody_brings_is_an_error_that_says_so() -> None:
    with pytest.raises(UsageError, match=r"antiphon\.stores: expected one of those installed .*, got 'redis'"):
        load_for("antiphon.stores", "redis://host")


def test_an_address_without_a_scheme_is_an_error_that_shows_one() -> None:
    with pytest.raises(UsageError, match=r"expected an address with a scheme, such as name://place, got 'calls\.db'"):
        load_for("antiphon.stores", "calls.db")
