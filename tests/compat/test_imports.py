"""Imports of LiveKit's names: whose they are while installed, whose afterwards, and what a missing one says."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import antiphon
from antiphon.compat import livekit
from antiphon_livekit.surface import MODULES

pytestmark = pytest.mark.usefixtures("without_api")

ABSENT = [(module, name.name) for module, names in MODULES.items() for name in names if not name.home]


@pytest.mark.usefixtures("installed")
def test_names_that_mean_the_same_are_the_same_objects() -> None:
    agents = importlib.import_module("livekit.agents")
    assert agents.function_tool is antiphon.function_tool
    assert agents.RunContext is antiphon.RunContext
    assert agents.llm.ToolError is antiphon.ToolError
    assert issubclass(agents.Agent, antiphon.Agent)


@pytest.mark.usefixtures("installed")
def test_modules_are_reached_as_attributes_too() -> None:
    names: dict[str, ModuleType] = {}
    exec("from livekit import agents\nimport livekit.agents.voice.events as events", names)
    assert names["agents"].voice.events is names["events"]
    assert callable(names["agents"].cli.run_app)


@pytest.mark.usefixtures("installed")
def test_everything_at_once() -> None:
    names: dict[str, object] = {}
    exec("from livekit.agents import *", names)
    assert {"Agent", "AgentSession", "function_tool", "llm", "cli", "NOT_GIVEN"} <= set(names)
    assert "AMD" not in names


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("module", "name"), ABSENT, ids=[f"{module}.{name}" for module, name in ABSENT])
def test_an_absent_name_says_what_to_use_instead(module: str, name: str) -> None:
    with pytest.raises(ImportError, match=f"{module}.{name} is not available on Antiphon: .{{10}}"):
        exec(f"from {module} import {name}", {})
    found = importlib.import_module(module)
    assert not hasattr(found, name)
    with pytest.raises(AttributeError, match="not available on Antiphon"):
        getattr(found, name)


@pytest.mark.usefixtures("installed")
def test_a_name_that_nobody_knows_says_where_to_look() -> None:
    with pytest.raises(ImportError, match=r"livekit\.agents has no 'Agnet' on Antiphon.*docs/livekit\.md"):
        exec("from livekit.agents import Agnet", {})
    with pytest.raises(ImportError, match=r"livekit\.plugins has no 'nobody'"):
        exec("from livekit.plugins import nobody", {})


def test_without_installing_there_is_no_livekit() -> None:
    livekit.install()
    livekit.uninstall()
    assert not livekit.installed()
    assert [name for name in sys.modules if name.startswith("livekit.")] == []
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("livekit.agents")


def test_installing_twice_is_installing_once() -> None:
    livekit.install()
    livekit.install()
    livekit.uninstall()
    livekit.uninstall()
    assert not livekit.installed()


@pytest.fixture
def real_livekit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed LiveKit: a namespace package with `agents`, `api` and `rtc` in it."""
    for part in ("agents", "api", "rtc"):
        package = tmp_path / "livekit" / part
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"real = {part!r}\n")
    (tmp_path / "livekit" / "agents" / "llm.py").write_text("real = 'llm'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    livekit.uninstall()
    for name in [name for name in sys.modules if name.partition(".")[0] == "livekit"]:
        del sys.modules[name]


@pytest.mark.usefixtures("real_livekit")
def test_beside_a_real_one_only_agents_plugins_and_rooms_are_ours() -> None:
    livekit.install()
    assert importlib.import_module("livekit.agents").Agent
    assert not hasattr(importlib.import_module("livekit.agents"), "real")
    assert importlib.import_module("livekit.rtc").Room
    assert not hasattr(importlib.import_module("livekit.rtc"), "real")
    assert importlib.import_module("livekit.api").real == "api"
    assert issubclass(importlib.import_module("livekit.plugins.openai").LLM, antiphon.LLM)


@pytest.mark.usefixtures("installed")
def test_without_a_real_one_what_asks_a_server_is_refused() -> None:
    with pytest.raises(ImportError, match="there is no LiveKit server"):
        exec("from livekit.api import LiveKitAPI", {})


@pytest.mark.usefixtures("real_livekit")
def test_a_real_one_has_its_names_back_afterwards() -> None:
    before = importlib.import_module("livekit.agents")
    nested = importlib.import_module("livekit.agents.llm")
    livekit.install()
    assert importlib.import_module("livekit.agents.llm") is not nested
    livekit.uninstall()
    assert importlib.import_module("livekit.agents") is before
    assert importlib.import_module("livekit.agents.llm") is nested
    assert importlib.import_module("livekit").agents is before


def test_installing_costs_little() -> None:
    code = (
        "import sys\nfrom antiphon.compat import livekit\nlivekit.install()\n"
        "from livekit.agents import Agent, AgentSession, JobContext, WorkerOptions, cli, function_tool\n"
        "from livekit.plugins import openai, deepgram, cartesia, silero\n"
        "print([name for name in ('numpy', 'openai', 'onnxruntime', 'rich', 'websockets') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"
