"""A docstring as the model reads it: what the tool does and returns, and what each argument means.

Google, NumPy and reST styles are understood. `Args:` goes to the parameters, not to the description.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.tools.signature import innermost


@dataclass(slots=True, frozen=True)
class Documentation:
    """What a docstring says."""

    description: str = ""
    """Summary, long text and returns."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Text by parameter name."""


def read_documentation(function: Callable[..., Any]) -> Documentation:
    """The documentation of a callable. A docstring that follows no style is all description."""
    return _parsed(inspect.getdoc(innermost(function)) or _own_docstring(function))


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> Documentation:
    # Kept by text: tools made anew for each call of a session often share their docstring.
    if not text:
        return Documentation()
    import docstring_parser

    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return Documentation(description=text)
    parts = [parsed.short_description, parsed.long_description]
    if parsed.returns is not None and (returns := parsed.returns.description or parsed.returns.type_name):
        parts.append(f"Returns: {returns}")
    return Documentation(
        description="\n\n".join(part.strip() for part in parts if part),
        parameters={p.arg_name: " ".join(p.description.split()) for p in parsed.params if p.description},
    )


def _own_docstring(function: Callable[..., Any]) -> str:
    """A callable object's class may speak for its `__call__`."""
    is_object = not inspect.isroutine(function) and not hasattr(function, "func")
    return inspect.cleandoc(type(function).__doc__ or "") if is_object else ""
