"""A docstring as the model reads it: what the tool does and returns, and what each argument means.

Google, NumPy and reST styles are understood. `Args:` goes to the parameters, not to the description.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final

from antiphon.record import frozen
from antiphon.tools.signature import innermost


@frozen
class Documentation:
    """What a docstring says."""

    description: str = ""
    """Summary, long text and returns."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Text by parameter name."""


def read_documentation(function: Callable[..., Any]) -> Documentation:
    """The documentation of a callable. A docstring that follows no style is all description."""
    return _parsed(inspect.getdoc(innermost(function)) or _own_docstring(function))


MAX_DESCRIPTION: Final = 4_000
"""Characters of a description that somebody else wrote; what is longer is cut, and says so."""


def documented(description: str, parameters: Any) -> tuple[str, Any]:
    """A description that may be a docstring, and a JSON schema: `Args:` goes to the properties that say nothing.

    For what others wrote: nothing is raised, and what is not understood stays as it is.
    """
    if len(description) > MAX_DESCRIPTION:
        description = (
            f"{description[:MAX_DESCRIPTION]}\n[cut: the first {MAX_DESCRIPTION} of {len(description)} characters]"
        )
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if not isinstance(properties, Mapping):
        return description, parameters
    try:
        read = _parsed(inspect.cleandoc(description))
    except Exception:  # a stranger's text, and a parser that was written for authors
        return description, parameters
    if not read.parameters.keys() & properties.keys():
        return description, parameters
    described = {
        name: {**schema, "description": read.parameters[name]}
        if name in read.parameters and isinstance(schema, Mapping) and not schema.get("description")
        else schema
        for name, schema in properties.items()
    }
    return read.description, {**parameters, "properties": described}


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
