"""Without the documents their tests are skipped; with them, the summary says how many blocks were run."""

from __future__ import annotations

import pytest

from tests.seeds.documents import BLOCKS, blocks_run, missing


@pytest.fixture(autouse=True)
def documents_are_there() -> None:
    if missing:
        pytest.skip(missing)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if blocks_run:
        terminalreporter.write_line(f"blocks of the seed documents that were run: {len(blocks_run)} of {len(BLOCKS)}")
