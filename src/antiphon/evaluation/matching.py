"""Whether what came is what was expected, and in which words it is not.

Above: `running`. Below: nothing that calls.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.evaluation.cases import Expected, ExpectedCall

_MATCHERS = ("matches", "one_of", "any", "contains")


def is_as_expected(wanted: Any, got: Any) -> bool:
    """A value against what is expected: texts without regard to case and blanks around, numbers by value.

    `{matches: REGEX}`, `{contains: TEXT}`, `{one_of: [...]}`, `{any: true}` say more; another mapping is a part of what
    has to be there; a list has to be equal, item by item.
    """
    if isinstance(wanted, Mapping):
        if len(wanted) == 1 and (name := next(iter(wanted))) in _MATCHERS:
            return _matches(name, wanted[name], got)
        held = fields_of(got)
        return all(key in held and is_as_expected(value, held[key]) for key, value in wanted.items())
    if isinstance(wanted, str) and isinstance(got, str):
        return wanted.strip().casefold() == got.strip().casefold()
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    if isinstance(wanted, list):
        return (
            isinstance(got, Sequence)
            and not isinstance(got, str)
            and len(wanted) == len(got)
            and all(is_as_expected(one, other) for one, other in zip(wanted, got, strict=True))
        )
    return bool(wanted == got)


def fields_of(value: Any) -> Mapping[str, Any]:
    """What a mapping, a dataclass, a model or another object holds, by name."""
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    return vars(value) if hasattr(value, "__dict__") else {}


def missing_calls(wanted: Sequence[ExpectedCall], made: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """What is wrong with the calls that were made; "": nothing."""
    left = list(made)
    for call in wanted:
        at = next((n for n, (name, said) in enumerate(left) if name == call.tool and _fits(call, said)), None)
        if at is None:
            wanted_call = shown(call.tool, call.arguments) if call.arguments else f"a call of {call.tool}"
            return f"expected {wanted_call}, got {_listed(made)}"
        left = left[at + 1 :]
    return ""


def wrong_calls(expected: Expected, made: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """What was called that may not be, or not called that has to be; "": nothing."""
    if expected.no_tools and made:
        return f"expected no call, got {_listed(made)}"
    if refused := [name for name, _ in made if name in expected.not_tools]:
        return f"{refused[0]} was called, and may not be"
    return missing_calls(expected.all_calls, made)


def wrong_words(expected: Expected, said: str) -> str:
    """What is not in the answer that has to be, or is in it and may not; "": nothing."""
    for pattern in expected.says:
        if not re.search(pattern, said, re.IGNORECASE):
            return f"expected {pattern!r} in the answer, got {said!r}"
    for pattern in expected.not_says:
        if re.search(pattern, said, re.IGNORECASE):
            return f"{pattern!r} is in the answer, and may not be: {said!r}"
    return ""


def shown(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call, for people."""
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def _fits(call: ExpectedCall, said: Mapping[str, Any]) -> bool:
    return all(name in said and is_as_expected(value, said[name]) for name, value in call.arguments.items())


def _listed(made: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    return ", then ".join(shown(*one) for one in made) or "no call"


def _matches(name: str, wanted: Any, got: Any) -> bool:
    match name:
        case "any":
            return got is not None
        case "one_of":
            return any(is_as_expected(one, got) for one in wanted)
        case "contains":
            return str(wanted).casefold() in str(got).casefold()
        case _:
            return re.search(str(wanted), str(got), re.IGNORECASE) is not None
