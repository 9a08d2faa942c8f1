"""What stands beside the framework, found by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.calls.models import named_model
from antiphon.discovery import found, load
from antiphon.errors import UsageError

MODELS = """
from antiphon.testing import FakeLLM

class LLM(FakeLLM):
    def __init__(self, model="small"):
        super().__init__(["hello"])
        self.name = model
"""


@pytest.fixture
def strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that names two providers, one of which cannot be imported."""
    (tmp_path / "strangers_models.py").write_text(MODELS)
    info = tmp_path / "strangers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[antiphon.providers]\nmine = strangers_models\nbroken = no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found.cache_clear()
    yield
    found.cache_clear()


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
