"""From a YAML file to a model, or to what is said to somebody who writes another thing: file, line, and what helps.

Above: files of cases and of scenarios. Below: YAML (`pip install 'antiphon[eval]'`), and pydantic.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from antiphon.errors import UsageError, missing_package
from antiphon.visible import one_line, shortened

_LONGEST_VALUE = 80
"""Characters of what was got instead."""


class Strict(BaseModel):
    """What is misspelt is an error, and not left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_its_keys(cls, said: Any) -> Any:
        if isinstance(said, Mapping):
            known = list(cls.model_fields)
            for key in said:
                if key not in known:
                    near = difflib.get_close_matches(str(key), known, 1)
                    raise PydanticCustomError("no_such_key", "", {"key": key, "known": known, "near": near})
        return said


Model = TypeVar("Model", bound=Strict)


def read_file(path: Path, cls: type[Model], *, of: str, guide: str, command: str) -> Model:
    """What a YAML file says (or JSON, which is YAML), under its key `of`.

    Raises `UsageError`, one line: the file, the line, the field, what is wrong, what helps. `guide` is the page that
    has the list of keys; `command` needs the package.
    """
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise missing_package(command, "PyYAML", "eval") from error
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}. Give a file of {of}.") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or str(error)
        remedy = "Look at the indentation, and put words with any of ? : # , [ ] { } in quotes"
        raise UsageError(f"{where}: no YAML: {problem}. {remedy}.") from None
    if isinstance(data, list):
        raise UsageError(f"{path}:1: expected `{of}:` with a list under it, got a list. Put `{of}:` above it.")
    try:
        return cls.model_validate(data)
    except ValidationError as error:
        first: Mapping[str, Any] = error.errors(include_url=False)[0]
        loc, told = first["loc"], _told(first, guide)
        if first["type"] == "no_such_key":
            loc = (*loc, first["ctx"]["key"])
        named = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in loc)
        raise UsageError(f"{path}:{_line(root, loc)}: {named or 'the file'}: {told}") from None


def _told(error: Mapping[str, Any], guide: str) -> str:
    message = error["msg"].removeprefix("Value error, ")
    match error["type"]:
        case "no_such_key":
            near = error["ctx"]["near"]
            meant = f"Did you mean {near[0]}? " if near else ""
            return f"there is no such key. {meant}Expected {', '.join(error['ctx']['known'])}; see {guide}."
        case "missing":
            return "it is missing. Add it."
        case "value_error":
            return f"{message}."
        case _:
            if isinstance(error["input"], bool):
                quoted = '"yes"' if error["input"] else '"no"'
                return f"{message}, got {error['input']}: YAML reads yes and no as that. Put them in quotes: {quoted}."
            got = shortened(one_line(repr(error["input"])), _LONGEST_VALUE)
            return f"{message}, got {got}. Mend the value: {guide} says what may stand here."


def _line(node: Any, loc: tuple[int | str, ...]) -> int:
    """The line of what an error is about, or of the nearest thing around it."""
    line = 1 if node is None else node.start_mark.line + 1
    for part in loc:
        found = _child(node, part)
        if found is None:
            break
        key, node = found
        line = key.start_mark.line + 1
    return int(line)


def _child(node: Any, part: int | str) -> tuple[Any, Any] | None:
    value = getattr(node, "value", None)
    if not isinstance(value, list):
        return None
    if isinstance(part, int):
        return (value[part], value[part]) if part < len(value) and not isinstance(value[part], tuple) else None
    pairs = [one for one in value if isinstance(one, tuple)]
    return next(((key, inner) for key, inner in pairs if getattr(key, "value", None) == part), None)
