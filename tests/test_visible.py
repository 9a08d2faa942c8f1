"""Text of strangers, shown: nothing in it acts on a terminal or a log, and JSON is JSON."""

from __future__ import annotations

import io
import json
import logging
import math
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import antiphon
from antiphon.cli.main import main
from antiphon.visible import VisibleRecords, one_line, shortened, to_json, visible, visible_data

SOURCE = Path(antiphon.__file__).parent
ACTING = ["\x1b]0;owned\x07", "\x9b2J", "a\rb", "\x08", "\x7f", "\u202egpj.exe", "\u2066x\u2069", "\ud800", "a\u2028b"]

texts = st.text(st.characters(codec=None))
data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@pytest.mark.parametrize("text", ACTING)
def test_what_acts_is_shown_as_an_escape(text: str) -> None:
    shown = visible(text)
    assert "\\" in shown
    shown.encode()
    assert all(unicodedata.category(one) not in ("Cc", "Cs") for one in shown)


def test_ordinary_text_stays() -> None:
    for text in ("Grüße", "שלום \u200e(ok)\u200e", "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "two\n\tlines", "a \\x1b"):
        assert visible(text) == text
    assert visible("dos\r\nlines") == "dos\nlines"


def test_one_line_is_one_line_and_says_what_was_cut() -> None:
    assert one_line("a\nERROR antiphon: b") == "a\\nERROR antiphon: b"
    assert one_line("x" * 3000) == "x" * 2000 + "... (3,000 characters)"
    assert shortened("12345", 5) == "12345"


def test_data_is_visible_at_every_depth() -> None:
    assert visible_data({"\x1b": [("\r", 1)]}) == {"\\x1b": [["\\x0d", 1]]}
    assert visible_data(["x" * 9], 3) == ["xxx... (9 characters)"]


def refuse(name: str) -> None:
    raise ValueError(name)


@given(data)
def test_json_is_valid_has_nothing_that_acts(value: Any) -> None:
    text = to_json(value)
    text.encode()
    assert visible(text) == text
    json.loads(text, parse_constant=refuse)


@given(texts)
def test_a_text_in_json_is_read_as_it_was(text: str) -> None:
    assert json.loads(to_json({"text": [text]}, indent=2)) == {"text": [text]}


def test_numbers_that_json_has_not_and_keys_that_are_no_texts_are_texts() -> None:
    value = {"a": math.nan, "b": [math.inf, (-math.inf, 1.5)], (1, 2): Path("x")}
    assert json.loads(to_json(value)) == {"a": "NaN", "b": ["Infinity", ["-Infinity", 1.5]], "(1, 2)": "x"}


def logged(message: str, *arguments: object, error: BaseException | None = None, name: str = "antiphon") -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        logger.error(message, *arguments, exc_info=error)  # noqa: G004, RUF100
    finally:
        logger.removeHandler(handler)
    return stream.getvalue()


def test_a_log_line_cannot_be_forged() -> None:
    assert logged("tool %r: %s", "t", "\x1b[2J\nERROR forged") == "tool 't': \\x1b[2J\\nERROR forged\n"


def test_the_traceback_of_a_hostile_error_is_visible() -> None:
    try:
        raise ValueError("\x1b]0;owned\x07")
    except ValueError as error:
        told = logged("failed", error=error)
    assert "\x1b" not in told
    assert "ValueError: \\x1b]0;owned\\x07" in told
    assert told.count("\n") > 2


def test_a_command_that_leaves_tracebacks_out_shows_no_escape_either(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["call", "none.py", "--say", "Hi"])
    capsys.readouterr()
    try:
        raise ValueError("\x1b]0;owned\x07")
    except ValueError as error:
        logging.getLogger("antiphon").error("failed", exc_info=error)
    told = capsys.readouterr().err
    assert told.startswith("ERROR antiphon: failed: ValueError: \\x1b]0;owned\\x07 (tests/test_visible.py:")
    assert not any(unicodedata.category(letter) == "Cc" for letter in told.removesuffix("\n"))


def test_every_logger_of_the_package_is_guarded() -> None:
    names = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r'getLogger\("(antiphon[^"]*)"\)', path.read_text())
    }
    assert len(names) > 1
    for name in names:
        assert any(isinstance(one, VisibleRecords) for one in logging.getLogger(name).filters), name
