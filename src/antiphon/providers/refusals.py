"""What an endpoint refuses a request for, if asking for less would help: vendors say so each in their own words.

Above: the language models of this package. A request with one bad schema is refused as a whole; whoever knows which
tool it was asks again without it. One that is too long is asked again with less in it (`antiphon.overflow`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from antiphon.errors import ContextOverflow, ProviderError, ProviderStatusError, ToolRefused
from antiphon.overflow import overflow_of
from antiphon.tools.function import Tool

_STATUSES: Final = frozenset({400, 404, 422})
_MAX_CHARS: Final = 10_000
"""Of what the endpoint says."""

# "tools[3].function.parameters" of OpenAI, "tools.3.custom.input_schema" of Anthropic, "'tools', 3" of FastAPI,
# "tools[0].function_declarations[3].parameters" of Google.
_PLACE: Final = re.compile(
    r"(?:function_?declarations|\btools)['\"]?(?:\[|\.|,\s{0,4})(\d{1,6})"
    r"(?!\d|\]?\.function_?decl)",  # the one tool of Google that holds all functions
    re.IGNORECASE,
)
# "Invalid schema for function 'look_up': ...", "tool `look_up` has an invalid schema".
_NAME: Final = re.compile(
    r"\b(?:function|tool)s?(?: name| named)?:? {0,2}['\"`]([A-Za-z0-9_-]{1,64})['\"`]", re.IGNORECASE
)
_OTHER_REASONS: Final = re.compile(r"tool_choice|\bmessages(?:\[|\.|['\"],)", re.IGNORECASE)
"""What is wrong is the choice or the history; the tools named beside it are not."""


def refused_tool(text: str, names: Sequence[str]) -> str | None:
    """The one of `names`, the tools of the request in their order, that `text` complains about; None if it does not."""
    text = text[:_MAX_CHARS]
    if _OTHER_REASONS.search(text):
        return None
    named = next((found[1] for found in _NAME.finditer(text) if found[1] in names), None)
    if named is not None:
        return named
    place = _PLACE.search(text)
    return names[int(place[1])] if place is not None and int(place[1]) < len(names) else None


def refusal(error: ProviderError, tools: Iterable[Tool], *, status: int) -> ToolRefused | ContextOverflow | None:
    """What an error of the request with these tools says that can be helped; None if nothing."""
    if (overflow := overflow_of(error)) is not None:
        return overflow
    body = getattr(error, "body", None)
    tool = refused_tool(f"{error.message}\n{body}", [tool.id for tool in tools]) if status in _STATUSES else None
    if tool is None:
        return None
    return ToolRefused(error.message, tool=tool, status=status, body=body, provider=error.provider)


@contextmanager
def naming_refusals(tools: Iterable[Tool]) -> Iterator[None]:
    """An error of the request with these tools becomes one that says what to leave out, if it can be known."""
    try:
        yield
    except ProviderStatusError as error:
        refused = refusal(error, tools, status=error.status)
        if refused is None or refused is error:
            raise
        raise refused from error
