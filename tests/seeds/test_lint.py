"""Lint knows the guides' bad examples from their good ones."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from antiphon.lint import Finding, check
from antiphon.lint.reading import describe_module
from tests.seeds.documents import source_of

GOOD = ("receptionist", "ReservationAgent", "book_appointment", "MyAgent", "StockAgent", "place_order", "get_weather")
"""What the guides show as it should be, as a whole."""
OTHERS = (
    "AddressAgent", "process_order", "lookup_user", "create_database_tool", "lookup_weather", "check_availability",
    "lookup_reservation", "confirm_reservation", "find_alternative_times", "lookup_reservation_status", "verify_user",
)  # fmt: skip


def found_in(folder: Path, name: str) -> list[Finding]:
    file = folder / f"block_{name.replace(' ', '_')}.py"
    file.write_text(source_of(name), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
        return check(describe_module(module))
    finally:
        del sys.modules[file.stem]


def test_nothing_is_found_in_the_good_examples_but_what_their_decorator_cannot_say(tmp_path: Path) -> None:
    found = {(one.rule, one.tool, one.level) for name in GOOD for one in found_in(tmp_path, name)}
    unsaid = ("write-without-effect", "advice")
    assert found == {(unsaid[0], tool, unsaid[1]) for tool in ("book_reservation", "place_order")}


def test_what_is_bad_is_found_and_of_the_rest_only_what_the_guide_itself_advises(tmp_path: Path) -> None:
    found = {(one.rule, one.tool) for name in OTHERS for one in found_in(tmp_path, name) if one.counts}
    assert found == {
        ("vague-description", "get_data"),  # "Avoid"
        ("no-description", "lookup_weather"),  # shows how to raise, and has no docstring
        ("undocumented-format", "find_alternative_times"),  # shows how to speak meanwhile; its date has no format
    }
