"""What the page and the examples show is so: files are read, callers of the receptionist have what they want."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from antiphon.scenarios import Scenario, Settings, read_scenarios, simulate
from tests.docs.pages import blocks, text
from tests.scenarios.desk import AGENT, agent_file

ROOT = Path(__file__).parents[2]
SHOWN = re.findall(r"^```yaml\n(.*?)^```", text("simulation.md"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", SHOWN)
def test_the_files_of_the_page_are_read(block: str, tmp_path: Path) -> None:
    (tmp_path / "shown.yaml").write_text(block, encoding="utf-8")
    assert read_scenarios([tmp_path])


def test_the_functions_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = blocks("simulation.md")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "shown.py").write_text(first, encoding="utf-8")
    names: dict[str, object] = {}
    exec(first, names)
    assert isinstance(names["cannot_wait"], Scenario)
    text = AGENT.replace("look_up", "check_availability").replace('{"day": "Friday"}', '{"day": "Tuesday"}')
    agent_file(tmp_path, text=text.replace('"free":', '"anything":').replace('"wait":', '"there":'))
    names = {}
    exec(second, names)
    result = simulate(tmp_path / "agent.py", [tmp_path / "scenarios"], Settings()).results[0]
    assert result.runs[0].calls, result.failures


def test_callers_of_the_receptionist_have_what_they_want(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # its diary stands where it runs
    files = ROOT / "examples"
    simulation = simulate(files / "receptionist.py", [files / "scenarios"], Settings(models={"llm": "local"}, repeat=3))
    assert len(simulation.results) == 11
    assert {result.name: result.failures for result in simulation.results if result.failures} == {}
