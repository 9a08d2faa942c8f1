"""What is wrong with arguments, in words that a model can act on.

Each complaint names the field, says what was expected and what was given. No library's terms, links or internals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from antiphon.tools.arguments import BadArguments, shown
from antiphon.tools.checking import MAX_FAILURES, Failure

_KINDS: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_FORMATS: Final = {
    "date": "a date such as 2025-03-31",
    "date-time": "a date and time such as 2025-03-31T18:30:00",
    "time": "a time such as 18:30",
    "duration": "a duration such as PT30M",
    "uuid": "a UUID",
}
_EXPECTED: Final = {
    # Templates are filled with the details of the error.
    "int": "an integer",
    "float": "a number",
    "string": "a string",
    "bool": "true or false",
    "list": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "tuple": "a list",
    "dict": "an object",
    "mapping": "an object",
    "model": "an object",
    "model_attributes": "an object",
    "dataclass": "an object",
    "typed_dict": "an object",
    "none_required": "null",
    "date": _FORMATS["date"],
    "datetime": _FORMATS["date-time"],
    "time": _FORMATS["time"],
    "time_delta": _FORMATS["duration"],
    "uuid": _FORMATS["uuid"],
    "decimal": "a number",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "text that matches {pattern}",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "union_tag_invalid": "{discriminator} to be one of {expected_tags}",
    "union_tag_not_found": "an object that says its {discriminator}",
    "json_invalid": "less nesting",
    "finite_number": "a finite number",
    "int_from_float": "an integer",
}
_MAX_COMPLAINT: Final = 600
"""Characters: a complaint quotes what strangers wrote."""
_MAX_CHOICES: Final = 20
_MAX_ERRORS: Final = 200
"""Of one check: several may stand for one complaint."""
_MAX_NESTING: Final = 3
_MAX_PATH: Final = 120
_KIND_SUFFIXES: Final = ("_type", "_parsing", "_parsing_size", "_from_datetime_parsing", "_from_date_parsing")


def bad_arguments(complaints: Iterable[str]) -> BadArguments:
    """One error of several complaints, each said once; of many the first, each cut short."""
    said = list(dict.fromkeys(complaints))
    words = [_cut(complaint, _MAX_COMPLAINT) for complaint in said[:MAX_FAILURES]]
    if len(said) >= MAX_FAILURES:
        words.append("there may be more")
    return BadArguments(f"{'; '.join(words)}. Correct the arguments and call again.")


def describe(schema: Any, depth: int = 0) -> str:
    """What a JSON schema asks for, in a few words: "a string", "lunch or dinner"."""
    if not isinstance(schema, Mapping) or depth > _MAX_NESTING:
        return ""
    if "enum" in schema:
        return _either(map(shown, schema["enum"][: _MAX_CHOICES + 1]))
    if "const" in schema:
        return shown(schema["const"])
    for combination in ("anyOf", "oneOf"):
        if combination in schema:
            return _either(describe(option, depth + 1) for option in schema[combination][: _MAX_CHOICES + 1])
    if (form := _FORMATS.get(schema.get("format", ""))) is not None:
        return form
    kinds = schema.get("type")
    if depth and schema.get("required") and kinds in (None, "object"):
        return f"an object with {' and '.join(f'`{name}`' for name in schema['required'][:_MAX_CHOICES])}"
    if isinstance(kinds, str):
        return _KINDS.get(kinds, kinds)
    if isinstance(kinds, list):
        return " or ".join(_KINDS.get(kind, str(kind)) for kind in kinds)
    return ""


def _either(choices: Iterable[str]) -> str:
    words = list(dict.fromkeys(filter(None, choices)))
    if len(words) > _MAX_CHOICES:
        words[_MAX_CHOICES:] = ["others"]
    return " or ".join(words)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}..."


def _missing(where: str, schema: Mapping[str, Any]) -> str:
    expected = describe(schema)
    return f"`{where}` is missing, expected {expected}" if expected else f"`{where}` is missing"


def from_pydantic(errors: Sequence[Mapping[str, Any]], given: Any, schema: Mapping[str, Any]) -> BadArguments:
    """The complaints behind pydantic's list of errors about `given`."""
    missing: list[str] = []
    wrong: dict[str, tuple[list[str], Any]] = {}
    for error in errors[:_MAX_ERRORS]:
        path = _path(error["loc"], given, keep_last=error["type"] == "missing")
        where = _written(path)
        if error["type"] == "missing":
            missing.append(_missing(where, _schema_at(schema, path)))
            continue
        expectations, _ = wrong.setdefault(where, ([], error["input"]))
        expected = _expected(error)
        if expected not in expectations:
            expectations.append(expected)
    complaints = missing + [
        f"`{where}`: expected {' or '.join(expectations)}, got {shown(value)}"
        if where
        else f"expected {' or '.join(expectations)}, got {shown(value)}"
        for where, (expectations, value) in wrong.items()
    ]
    return bad_arguments(complaints)


def from_failures(failures: Iterable[Failure]) -> BadArguments:
    """The complaints behind what a check against a JSON schema found."""
    complaints: list[str] = []
    for failure in sorted(failures, key=lambda failure: list(map(str, failure.path))):
        where = _written(failure.path)
        if failure.rule == "required":
            missing = [name for name in failure.expected if name not in failure.value]
            for name in missing[:MAX_FAILURES]:
                path = f"{where}.{name}" if where else name
                complaints.append(_missing(path, failure.schema.get("properties", {}).get(name, {})))
            continue
        subject = f"`{where}`: " if where else ""
        complaints.append(f"{subject}expected {_rule(failure)}, got {shown(failure.value)}")
    return bad_arguments(complaints)


def _expected(error: Mapping[str, Any]) -> str:
    kind = error["type"]
    details = error.get("ctx", {})
    if kind in ("value_error", "assertion_error"):
        # The words of the author's own validator.
        return f"something else ({details.get('error', 'it was refused')})"
    template = _EXPECTED.get(kind)
    for suffix in _KIND_SUFFIXES:
        if template is None and kind.endswith(suffix):
            template = _EXPECTED.get(kind.removesuffix(suffix))
    if template is not None:
        return template.format(**details)
    message = str(error["msg"])
    return message.removeprefix("Input should be ").removeprefix("Input should ")


def _rule(failure: Failure) -> str:
    rule, value = failure.rule, failure.expected
    if rule in ("type", "enum", "const", "anyOf", "oneOf") and (choice := describe({rule: value})):
        return choice
    words = {
        "minimum": f"at least {value}",
        "maximum": f"at most {value}",
        "exclusiveMinimum": f"more than {value}",
        "exclusiveMaximum": f"less than {value}",
        "multipleOf": f"a multiple of {value}",
        "minLength": f"at least {value} characters",
        "maxLength": f"at most {value} characters",
        "minItems": f"at least {value} items",
        "maxItems": f"at most {value} items",
        "pattern": f"text that matches {value}",
        "additionalProperties": "no other properties than those described",
        "uniqueItems": "no item twice",
    }
    return words.get(rule, f"what its schema says about {rule}")


def _path(location: Sequence[Any], given: Any, *, keep_last: bool) -> list[str | int]:
    """The part of an error's location that is in the data: unions add labels of their own to it."""
    path: list[str | int] = []
    current = given
    for position, part in enumerate(location):
        if isinstance(current, dict) and part in current:
            current = current[part]
        elif isinstance(current, list) and isinstance(part, int) and part < len(current):
            current = current[part]
        elif not (keep_last and position == len(location) - 1):
            continue
        path.append(part)
    return path


def _written(path: Sequence[str | int]) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
        if len(text) > _MAX_PATH:
            return _cut(text, _MAX_PATH)
    return text


def _schema_at(schema: Mapping[str, Any], path: Sequence[str | int]) -> Mapping[str, Any]:
    """The schema of what is at `path`; of several alternatives the first that has it. Empty if there is none."""
    candidates = [schema]
    for part in path:
        found = [
            option.get("items") if isinstance(part, int) else option.get("properties", {}).get(part)
            for option in _alternatives(candidates, schema)
        ]
        candidates = [item for item in found if isinstance(item, Mapping)]
    return candidates[0] if candidates else {}


def _alternatives(schemas: Sequence[Mapping[str, Any]], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas and what they may stand for, each once."""
    found: dict[int, Mapping[str, Any]] = {}
    todo = list(reversed(schemas))
    while todo:
        schema = todo.pop()
        if isinstance(reference := schema.get("$ref"), str):
            schema = root.get("$defs", {}).get(reference.rpartition("/")[2], {})
        if id(schema) not in found:
            found[id(schema)] = schema
            todo += reversed([*schema.get("anyOf", ()), *schema.get("oneOf", ())])
    return list(found.values())
