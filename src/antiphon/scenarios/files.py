"""From paths to scenarios: YAML and Python files, and folders of them, in the order of their names.

Above: whoever runs scenarios. Below: what a scenario may say.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from antiphon.errors import UsageError, pass_on
from antiphon.evaluation.reading import read_file
from antiphon.scenarios.definition import Scenario, Scenarios

if TYPE_CHECKING:
    from antiphon.scenarios.on_the_line import OnTheLine

GUIDE = "docs/simulation.md"
_ENDINGS = (".yaml", ".yml", ".json", ".py")


@dataclass(slots=True, frozen=True)
class Placed:
    """A scenario, and the file that it stands in."""

    scenario: Scenario
    file: Path


def scenario(name: str, **fields: Any) -> Callable[[Callable[[OnTheLine], Awaitable[None]]], Scenario]:
    """Make a scenario of a coroutine function, which is given the caller's end of the line.

    `fields` are those of a `Scenario`: `tools`, `expect`, `medium`, `minutes`. Raises `UsageError` for fields that make
    no sense.
    """

    def made(plays: Callable[[OnTheLine], Awaitable[None]]) -> Scenario:
        try:
            return Scenario.model_validate({"name": name, "plays": plays, **fields})
        except ValidationError as error:
            first: Mapping[str, Any] = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "fields"
            raise UsageError(f"@scenario({name!r}): {where}: {_why(first)}. Mend it; {GUIDE} has the list.") from None

    return made


def read_scenarios(paths: Sequence[Path]) -> tuple[Placed, ...]:
    """All scenarios of these files and folders. Raises `UsageError`, one line: file, line, field, what helps."""
    placed: list[Placed] = []
    for path in paths:
        for file in _files(path):
            placed += [Placed(one, file) for one in (_in_python(file) if file.suffix == ".py" else _in_yaml(file))]
    seen: dict[str, Path] = {}
    for one in placed:
        if (before := seen.get(one.scenario.name)) is not None:
            also = f" and {before}" if before != one.file else ""
            raise UsageError(f"{one.file}{also}: two scenarios are called {one.scenario.name!r}. Name one differently.")
        seen[one.scenario.name] = one.file
    return tuple(placed)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.suffix in _ENDINGS and not one.name.startswith(("_", ".")))
        if not found:
            raise UsageError(f"{path}: no scenarios in this folder. Expected files ending in {', '.join(_ENDINGS)}.")
        return found
    if not path.is_file():
        raise UsageError(f"no such file or folder of scenarios: {path}. Give a path; {GUIDE} shows what stands in one.")
    if path.suffix not in _ENDINGS:
        raise UsageError(f"{path}: expected a file ending in {', '.join(_ENDINGS)}, got {path.suffix or 'no ending'}.")
    return [path]


def _in_yaml(file: Path) -> Sequence[Scenario]:
    return read_file(file, Scenarios, of="scenarios", guide=GUIDE, command="antiphon simulate").scenarios


def _in_python(file: Path) -> Sequence[Scenario]:
    name = f"antiphon_scenarios_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # it ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        pass_on(error)
        raise UsageError(f"{_where(file, error)}: {type(error).__name__}: {_told(error)}. Mend the file.") from error
    found = [one for one in _values(vars(module)) if isinstance(one, Scenario)]
    if not found:
        raise UsageError(f"{file}: no scenario in it. Write `@scenario(NAME)` above a coroutine function, see {GUIDE}.")
    return found


def _told(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {_why(first)}"
    return " ".join(str(error).split()).rstrip(".")


def _why(error: Mapping[str, Any]) -> str:
    if error["type"] == "no_such_key":
        return f"there is no key {error['ctx']['key']!r}, expected {', '.join(error['ctx']['known'])}"
    return str(error["msg"]).removeprefix("Value error, ").rstrip(".")


def _values(names: Mapping[str, Any]) -> list[Any]:
    """Each value once, and those of lists and tuples, in order of definition."""
    flat: dict[int, Any] = {}
    for value in names.values():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            flat.setdefault(id(one), one)
    return list(flat.values())


def _where(file: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename or file}:{error.lineno}"
    here = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == str(file)]
    return f"{file}:{here[-1].lineno}" if here else str(file)
