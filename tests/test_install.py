"""What `pip install antiphon` brings is enough for a session in text; what needs more names its extra."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from antiphon.discovery import extra_with

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

BARE = """
import re, sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

def name_of(requirement):
    return re.match(r"[\\w.-]+", requirement)[0].lower().replace("_", "-")

there, more = set(), DEPENDENCIES
while more:
    name = name_of(more.pop())
    if name not in there:
        there.add(name)
        try:
            more += [one for one in requires(name) or () if "extra ==" not in one]
        except PackageNotFoundError:  # not needed on this version of Python
            pass
absent = {
    module for module, packages in packages_distributions().items()
    if module.split(".")[0] not in ("antiphon", "antiphon_livekit", "antiphon_standin")
    and there.isdisjoint(name_of(package) for package in packages)
}

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nothing())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in absent else find(name, package)
"""
"""Has Python find only what the default install brings."""

TALK = """
from antiphon import Agent, AgentSession, EndCallTool, RunContext, function_tool
from antiphon.tasks import GetNameTask
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript

class Host(Agent):
    @function_tool(effect="writes")
    async def book(self, ctx: RunContext, day: str, people: int = 2) -> str:
        '''Book a table.

        Args:
            day: The day.
        '''
        return f"booked for {people} on {day}"

async def main():
    llm = FakeLLM([Reply(calls=[("book", '{"day": "Friday", people: "4"}')]), "It is booked."])
    async with AgentSession(llm=llm, language="de") as session:
        await session.start(Host(instructions="You take reservations.", tools=[EndCallTool()]))
        await session.run(user_input="A table on Friday")
        print(*transcript(session.history), sep="\\n")

run_virtual(main())
"""


def bare(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program where nothing but the default install can be imported."""
    program = BARE.replace("DEPENDENCIES", repr(PROJECT["dependencies"])) + code
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=dict(os.environ), check=False
    )


def test_a_session_in_text_needs_no_extra() -> None:
    ran = bare(TALK)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-2:] == ["output book: booked for 4 on Friday", "assistant: It is booked."]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("from antiphon import ToolSearchToolset as T; T([])", "ToolSearchToolset needs the package snowballstemmer"),
        ("from antiphon import ToolProxyToolset as T; T([])", "ToolProxyToolset needs the package snowballstemmer"),
        ("from antiphon.audio import AudioFrame as F; F(b'', 8000).to_float32()", "needs the package numpy"),
        (
            "from antiphon.audio import AudioFrame as F, Resampler as R; R(16000).push(F(b'', 8000))",
            "needs the package soxr",
        ),
        ("from antiphon.tasks import GetPhoneNumberTask as T; T()", "needs the package phonenumbers"),
        ("from antiphon.transports.devices import list_devices; list_devices()", "needs the package miniaudio"),
    ],
)
def test_what_needs_more_names_the_package_and_its_extra(code: str, told: str) -> None:
    said = bare(code).stderr.splitlines()[-1]
    assert "UsageError" in said
    assert told in said
    assert re.search(r"pip install 'antiphon\[\w+\]'$", said)


def test_every_extra_that_is_named_is_there_and_brings_what_it_says() -> None:
    named: dict[str, set[str]] = {}
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"):
        for extras in re.findall(r"antiphon\[([a-z,-]+)\]", path.read_text(encoding="utf-8")):
            for extra in extras.split(","):
                named.setdefault(extra, set()).add(path.name)
    assert set(named) - set(PROJECT["optional-dependencies"]) == set()
    calls = re.compile(r'missing_package\([^)]*?"([\w-]+)", "([\w-]+)"\)')
    for path in (ROOT / "src").rglob("*.py"):
        for package, extra in calls.findall(path.read_text(encoding="utf-8")):
            brought = " ".join(PROJECT["optional-dependencies"][extra])
            assert re.search(rf"\b{package}\b", brought), f"{path}: antiphon[{extra}] does not bring {package}"


def test_a_wheel_has_what_the_demo_plays() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    taken = build["wheel"]["force-include"]
    assert taken == {name: f"antiphon/{name}" for name in taken}
    played = {f"examples/recordings/{path.name}" for path in (ROOT / "examples" / "recordings").glob("demo-*.wav")}
    assert set(taken) == {"examples/receptionist.py"} | played


@pytest.mark.parametrize(
    ("module", "extra"),
    [("rich", "cli"), ("numpy", "local"), ("uvicorn", "dev"), ("miniaudio", "audio")],
)
def test_a_module_that_is_missing_names_the_smallest_extra_that_brings_it(module: str, extra: str) -> None:
    assert extra_with(module) == extra


def test_a_module_that_no_extra_brings_names_none() -> None:
    assert extra_with("somebodys_package") == ""


def test_the_command_line_brings_what_answers_without_a_model() -> None:
    for extra in ("cli", "dev", "local"):
        brought = " ".join(PROJECT["optional-dependencies"][extra])
        assert "snowballstemmer" in brought
        assert "rapidfuzz" in brought
    told = bare("from antiphon.discovery import load; load('antiphon.providers', 'standin').LLM()").stderr
    assert re.search(r"Install it with: pip install 'antiphon\[(cli|local)\]'$", told.splitlines()[-1])
