"""Imports point down only. Type-only imports and imports inside functions count."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "antiphon"
BESIDE = ("antiphon_livekit", "antiphon_standin")
"""Packages of the same distribution that stand beside the framework."""

LAYERS: dict[int, frozenset[str]] = {
    0: frozenset(
        {
            "audio",
            "before_speech",
            "chat",
            "read_only",
            "events",
            "options",
            "errors",
            "overflow",
            "record",
            "metrics",
            "exports",
            "language",
            "scope",
            "visible",
            "private",
            "secrets",
            "secret",
            "timer",
            "vault",
        }
    ),
    1: frozenset({"core", "text"}),
    2: frozenset(
        {
            "model",
            "streams",
            "vad",
            "stt",
            "turn_detector",
            "llm",
            "tts",
            "realtime",
            "transport",
            "store",
            "protocols",
            "tools",
            "adapters",
            "discovery",
        }
    ),
    3: frozenset({"runtime"}),
    4: frozenset(
        {
            "agent",
            "application",
            "session",
            "session_api",
            "session_options",
            "run_context",
            "running_tool",
            "speech_handle",
            "run_result",
            "tasks",
            "toolkit",
        }
    ),
    5: frozenset(
        {
            "providers",
            "transports",
            "stores",
            "calls",
            "records",
            "server",
            "cli",
            "console",
            "testing",
            "compat",
            "plugins",
            "inference",
            "replay",
            "sim",
            "lint",
            "evaluation",
            "scenarios",
            "rerun",
            "telemetry",
            "background_audio",
        }
    ),
}
LAYER = {part: layer for layer, parts in LAYERS.items() for part in parts}

SHELLS: dict[str, frozenset[str]] = {
    "calls": frozenset({"transports", "providers"}),
    "records": frozenset({"calls", "replay", "telemetry", "transports"}),  # of telemetry: prices, names of models
    "server": frozenset({"calls", "records", "transports"}),
    "console": frozenset({"calls", "records", "server", "transports"}),  # the studio shows records
    "cli": frozenset(
        {
            "calls",
            "records",
            "server",
            "transports",
            "console",
            "replay",
            "testing",
            "providers",
            "lint",
            "evaluation",
            "telemetry",
            "scenarios",
            "rerun",
        }
    ),  # `doctor`
    "testing": frozenset({"replay", "stores"}),  # a call that went wrong is kept as a journal; stores that fail
    "background_audio": frozenset({"transports"}),
    "evaluation": frozenset({"calls", "records", "server", "testing"}),  # calls in virtual time, not recorded
    "scenarios": frozenset(
        {"calls", "records", "server", "transports", "testing", "evaluation", "providers", "background_audio"}
    ),
    "rerun": frozenset({"calls", "records", "server", "testing", "evaluation", "scenarios"}),
    "lint": frozenset({"calls", "server"}),  # it loads agent files, and knows which lines are the user's
    "sim": frozenset({"server", "testing"}),  # rooms, whose keys callers press
    "plugins": frozenset({"providers"}),
    "inference": frozenset({"providers"}),
    "antiphon_standin": frozenset({"providers"}),  # it answers in the form that providers ask for
    "antiphon_livekit": frozenset({"server", "plugins", "inference", "providers", "background_audio"}),
}
"""Which shells a shell may use, besides itself."""


def allowed(part: str) -> frozenset[str]:
    """The parts of the package that modules of `part` may import."""
    contracts = LAYERS[0] | LAYERS[2]
    match LAYER[part]:
        case 0:
            return LAYERS[0]
        case 1:
            return LAYERS[0] | LAYERS[1]
        case 2:
            return contracts | {"text"}
        case 3 | 4 as layer:
            return frozenset().union(*(LAYERS[below] for below in range(layer + 1)))
    shells = SHELLS.get(part, frozenset()) | {part}
    match part:
        case "providers":
            return contracts | {"text"} | shells
        case "replay":  # it drives the core, and knows nothing of agents
            return LAYERS[0] | {"core", "replay"}
        case "testing":
            return contracts | LAYERS[4] | {"core", "text"} | shells
        case _:
            return contracts | LAYERS[4] | {"text"} | shells


@dataclass(frozen=True)
class Import:
    """One name that a module imports from the package."""

    file: str
    line: int
    importer: str
    imported: str
    """The part of the package, for example "core"; "" for the package itself."""
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.importer} imports {self.name}"


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def modules_beside() -> list[Path]:
    return sorted(path for name in BESIDE for path in (SOURCE.parent / name).rglob("*.py"))


def imports(path: Path, source: Path | None = None) -> Iterator[Import]:
    """Everything of the package that a module imports, wherever in the file."""
    source = source or SOURCE
    inside = path.relative_to(source).with_suffix("").parts
    importer = inside[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = ["antiphon", *inside[: len(inside) - node.level]] if node.level else []
            module = ".".join([*package, node.module] if node.module else package)
            targets = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            parts = target.split(".")
            if parts[0] == "antiphon":
                imported = parts[1] if len(parts) > 1 and parts[1] in LAYER else ""
                yield Import(str(path.relative_to(source)), node.lineno, importer, imported, target)


def test_every_module_has_a_layer() -> None:
    parts = {path.relative_to(SOURCE).with_suffix("").parts[0] for path in modules()}
    assert parts - {"__init__", "__main__"} <= set(LAYER)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down_only(path: Path) -> None:
    found = [one for one in imports(path) if one.importer in LAYER]
    assert [str(one) for one in found if one.imported not in allowed(one.importer)] == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_another_part_needs_of_a_module_is_public(path: Path) -> None:
    private = [
        str(one)
        for one in imports(path)
        if one.imported != one.importer and any(p.startswith("_") and p != "__future__" for p in one.name.split("."))
    ]
    assert private == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_entry_points_lead_to_what_stands_beside(path: Path) -> None:
    named = [
        name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]
    assert [name for name in named if name.split(".")[0] in BESIDE] == []


@pytest.mark.parametrize("path", modules_beside(), ids=lambda path: str(path.relative_to(SOURCE.parent)))
def test_what_stands_beside_uses_public_parts(path: Path) -> None:
    package = path.relative_to(SOURCE.parent).parts[0]
    parts = LAYERS[0] | LAYERS[2] | {"text", "", "tasks"} | SHELLS.get(package, frozenset())
    if package == "antiphon_livekit":
        parts |= LAYERS[4]
    found = list(imports(path, SOURCE.parent))
    assert [str(one) for one in found if one.imported not in parts] == []


def test_the_walk_sees_type_only_local_and_relative_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    (tmp_path / "tools").mkdir()
    module = tmp_path / "tools" / "x.py"
    module.write_text(
        "from typing import TYPE_CHECKING\n"
        "from antiphon import session\n"
        "from ..core import facts\n"
        "if TYPE_CHECKING:\n    from antiphon.runtime.driver import Driver\n"
        "def f():\n    import antiphon.agent\n"
    )
    assert sorted(one.imported for one in imports(module)) == ["agent", "core", "runtime", "session"]
    assert all(one.imported not in allowed("tools") for one in imports(module))
