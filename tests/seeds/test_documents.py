"""The table of blocks leaves out nothing that the documents print, and adds nothing to their lines."""

from __future__ import annotations

import re

import pytest

from tests.seeds.documents import BLOCKS, ImportLines, lines_of, page, source_of

IMPORT = re.compile(r"^from (livekit\.agents[.\w]*|livekit\.plugins|antiphon[.\w]*) import")


def test_there_are_as_many_blocks_as_the_documents_print() -> None:
    count = {
        number: sum(block.document == number for block in BLOCKS.values()) for number in ("000", "001", "002", "003")
    }
    assert count == {"000": 2, "001": 19, "002": 1, "003": 9}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_lines_that_are_run_are_those_of_the_page(name: str) -> None:
    run = [IMPORT.sub("import", line.strip()) for line in source_of(name).splitlines()]
    printed = [IMPORT.sub("import", line.strip()) for line in lines_of(name)]
    footer = [BLOCKS[name].footer.strip()]
    assert run[-len(printed) - 1 :] == printed + footer


@pytest.mark.parametrize("number", ["000", "003"])
def test_no_python_of_a_page_without_fences_is_passed_over(number: str) -> None:
    """What stands in no block of the table begins no decorator, function, class or import."""
    left = page(number)
    for name, block in BLOCKS.items():
        if block.document == number:
            left = left.replace("\n".join(lines_of(name)), "", 1)
    assert not re.findall(
        r"^\s*(?:@function_tool|async def |def |class \w+\(|from \w+ import \w|session = )", left, re.M
    )


@pytest.mark.parametrize("name", BLOCKS)
def test_printed_import_lines_are_run_as_they_are(name: str, imports: ImportLines) -> None:
    printed = [line.strip() for line in lines_of(name) if IMPORT.match(line.strip())]
    run = [line.strip() for line in source_of(name).splitlines() if IMPORT.match(line.strip())]
    if imports == "printed":
        assert run[len(run) - len(printed) :] == printed
    else:
        assert not any("livekit" in line for line in run)
