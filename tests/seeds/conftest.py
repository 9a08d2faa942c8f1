"""Without the documents their tests are skipped; with them, the summary says how many blocks were run.

Each test is made twice: with imports of this package, and with the import lines that the pages print.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from antiphon.compat import livekit
from tests.seeds.documents import BLOCKS, ImportLines, blocks_run, import_lines, missing


@pytest.fixture(autouse=True)
def documents_are_there() -> None:
    if missing:
        pytest.skip(missing)


@pytest.fixture(autouse=True, params=["native", "printed"])
def imports(request: pytest.FixtureRequest) -> Iterator[ImportLines]:
    """Which import lines the blocks have in this test."""
    mode: ImportLines = request.param
    if mode == "printed":
        livekit.install()
    token = import_lines.set(mode)
    yield mode
    import_lines.reset(token)
    livekit.uninstall()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not blocks_run:
        return
    for mode, how in (("native", "with imports of antiphon"), ("printed", "with their printed import lines")):
        count = sum(lines == mode for _, lines in blocks_run)
        terminalreporter.write_line(f"blocks of the seed documents that were run {how}: {count} of {len(BLOCKS)}")
