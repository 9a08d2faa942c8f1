"""For pytest: files `*.eval.yaml` are collected, each case a test; and a fixture, `evaluate_cases`.

A `conftest.py` asks for it: `pytest_plugins = ["antiphon.evaluation.plugin"]`. It is no entry point: pytest would
rewrite all modules of a distribution that has one, for everybody who has it installed. Nothing of Antiphon is imported
until there is such a file, or a test that uses the fixture.

Above: pytest. Below: cases and calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from antiphon.evaluation.cases import Case
    from antiphon.evaluation.running import Evaluation

ENDING = ".eval.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of pytest."""
    group = parser.getgroup("antiphon")
    group.addoption("--antiphon-llm", metavar="NAME", help="the language model of agents in *.eval.yaml")
    group.addoption("--antiphon-judge", metavar="NAME", help="the language model that judges intents")
    group.addoption("--antiphon-repeats", type=int, metavar="N", help="calls of each case, whatever it says")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A file of cases; None for any other."""
    if not file_path.name.endswith(ENDING):
        return None
    found: pytest.Collector = CasesFile.from_parent(parent, path=file_path)
    return found


class CasesFile(pytest.File):
    """A file of cases, which names its agent: `agent: agent.py`."""

    def collect(self) -> Iterator[pytest.Item]:
        from antiphon.errors import UsageError
        from antiphon.evaluation.cases import read_cases

        try:
            cases = read_cases(self.path)
            if cases.agent is None:
                raise UsageError(f"{self.path}: nothing says which agent it is for. Add `agent: agent.py`.")
        except UsageError as error:
            raise self.CollectError(str(error)) from None
        for case in cases.cases:
            one = cases.model_copy(update={"cases": (case,)})
            yield CaseItem.from_parent(self, name=case.name, run=lambda one=one: self._evaluate(one), case=case)

    def _evaluate(self, cases: Any) -> Evaluation:
        return _evaluated(self.config, self.path.parent / cases.agent, cases)


class CaseItem(pytest.Item):
    """A case."""

    def __init__(self, *, run: Callable[[], Evaluation], case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self._run = run
        self._case = case

    def runtest(self) -> None:
        """Raises `CaseFailed`."""
        evaluation = self._run()
        if not evaluation.is_at_least(1.0):
            raise CaseFailed(_why(evaluation))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What was not as expected, without a traceback through our code."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands, and what it is called."""
        return self.path, None, self.name


class CaseFailed(AssertionError):
    """Something was not as expected. The message says what, case by case."""


@pytest.fixture
def evaluate_cases(request: pytest.FixtureRequest) -> Callable[..., Evaluation]:
    """A function of a file of cases, and of an agent file (without one: that which the cases name).

    It runs them, and fails the test unless each case passes as often as `at_least=` says (1.0). Returns the evaluation.
    """

    def run(cases_file: str | Path, agent: str | Path | None = None, *, at_least: float = 1.0) -> Evaluation:
        from antiphon.errors import UsageError
        from antiphon.evaluation.cases import read_cases

        path = request.path.parent / cases_file
        cases = read_cases(path)
        if agent is None and cases.agent is None:
            raise UsageError(f"{path}: nothing says which agent it is for. Add `agent: agent.py`, or give one.")
        file = request.path.parent / agent if agent is not None else path.parent / str(cases.agent)
        evaluation = _evaluated(request.config, file, cases)
        if not evaluation.is_at_least(at_least):
            raise CaseFailed(_why(evaluation))
        return evaluation

    return run


def _evaluated(config: pytest.Config, agent: Path, cases: Any) -> Evaluation:
    from antiphon.calls.models import named_model
    from antiphon.evaluation.running import Settings, evaluate

    llm, judge = config.getoption("--antiphon-llm"), config.getoption("--antiphon-judge")
    settings = Settings(
        models={"llm": llm} if llm else {},
        judge=named_model("llm", judge) if judge else None,
        repeats=config.getoption("--antiphon-repeats"),
    )
    return evaluate(agent, cases, settings)


def _why(evaluation: Evaluation) -> str:
    from antiphon.evaluation.report import as_lines

    return "\n".join(as_lines(evaluation, at_least=1.0))
