"""All wires as part of the test suite: a few thousand inputs, and as many as `ANTIPHON_WIRE_INPUTS` asks for."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from tests.wires import bad
from tests.wires.run import Found, all_wires, made, run
from tests.wires.wire import Wire

INPUTS = int(os.environ.get("ANTIPHON_WIRE_INPUTS", "5700"))
WIRES = all_wires()

pytestmark = pytest.mark.timeout(max(120, INPUTS // 100))  # whichever test comes first waits for the run of all


def found_in(wires: Sequence[Wire], inputs: int, jobs: int = 1, freeze: float = 20.0) -> dict[str, Found]:
    totals = {wire.name: Found(wire.name) for wire in wires}
    for found in run(wires, inputs, "tests", jobs, freeze=freeze):
        totals[found.name].add(found)
    return totals


@pytest.fixture(scope="module")
def found() -> dict[str, Found]:
    """What came of a run of all."""
    return found_in(list(WIRES.values()), INPUTS, os.cpu_count() or 1)


@pytest.mark.parametrize("name", sorted(WIRES))
def test_nothing_escapes_freezes_or_grows_at(name: str, found: dict[str, Found]) -> None:
    assert found[name].inputs > 0
    assert not found[name].findings, "\n\n".join(found[name].findings)


@pytest.mark.parametrize("name", sorted(WIRES))
def test_an_input_is_the_same_whenever_it_is_made(name: str) -> None:
    assert repr(made(WIRES[name], "tests", 3)) == repr(made(WIRES[name], "tests", 3))


class TestTheRunner:
    """Each of the bad wires has one defect, which must be told with the input that shows it."""

    def test_tells_what_escaped(self) -> None:
        found = found_in([bad.ESCAPES], 300)["escapes"]
        assert found.inputs == 300
        assert "ZeroDivisionError" in found.findings[0]
        assert "--wire escapes --only tests/" in found.findings[0]

    def test_tells_where_it_froze_and_goes_on(self) -> None:
        found = found_in([bad.FREEZES], 5, freeze=0.5)["freezes"]
        assert found.inputs == 5
        assert [finding[:15] for finding in found.findings] == ["freezes tests/0", "freezes tests/4"]
        assert "in spin" in found.findings[0]

    def test_tells_what_died_and_goes_on(self) -> None:
        found = found_in([bad.DIES], 20)["dies"]
        assert found.inputs == 20
        assert "the process died (7)" in found.findings[0]

    def test_tells_what_grows_a_little(self) -> None:
        assert "memory blocks stay" in found_in([bad.GROWS], 600)["grows"].findings[0]

    def test_tells_what_grows_in_a_few_large_blocks(self) -> None:
        assert "MB more" in found_in([bad.SWELLS], 600)["swells"].findings[0]

    def test_counts_what_is_refused(self) -> None:
        found = found_in([bad.REFUSES], 10)["refuses"]
        assert (found.refused, found.findings) == (10, [])
