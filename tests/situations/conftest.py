"""At the end of the test run: what was measured in each situation."""

from __future__ import annotations

import pytest  # noqa: TC002 - for the annotation of a hook

from tests.situations.figures import figures


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if figures:
        terminalreporter.section("situations, measured on the sound of the call")
        for figure in figures.values():
            terminalreporter.write_line(str(figure))
