"""What an endpoint lacks of the protocol, known by the words in which it refuses: vendors say so each in their own.

Above: `antiphon.providers.openai`, which asks again without it, and never asks for it again. The phrases are those that
OpenAI, Mistral, Azure, Databricks, Anthropic, Ollama, vLLM, llama.cpp, Groq and OpenRouter are known to answer with.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Any, Final

from antiphon.errors import ProviderError, ProviderStatusError

_STATUSES: Final = frozenset({400, 404, 422, 500, 501})
_MAX_CHARS: Final = 10_000

_REFUSED: Final = (
    r"(?:not (?:permitted|supported|allowed|available|yet supported)|unsupported|unknown|unrecognized|unexpected|"
    r"extra_forbidden|extra inputs|does(?:n't| not) support|invalid (?:parameter|argument|field))"
)


def _beside(name: str) -> re.Pattern[str]:
    """A refusal close to this name, before or behind it."""
    return re.compile(rf"{_REFUSED}.{{0,80}}{name}|{name}.{{0,120}}?{_REFUSED}", re.IGNORECASE | re.DOTALL)


class Lacking(enum.Enum):
    """A part of the protocol that not every endpoint has, and what follows from going without it."""

    USAGE = "stream_options"
    PARALLEL = "parallel_tool_calls"
    STRICT = "strict"
    TOOLS = "tools"

    @property
    def consequence(self) -> str:
        """What is different from now on, for the log."""
        return _CONSEQUENCES[self]


_CONSEQUENCES: Final = {
    Lacking.USAGE: "tokens are not counted",
    Lacking.PARALLEL: "how many calls it makes at once is left to it",
    Lacking.STRICT: "arguments are checked here alone",
    Lacking.TOOLS: "the agent can call none of its tools. Choose a model, or options of its server, with tools",
}

_PHRASES: Final[Mapping[Lacking, re.Pattern[str]]] = {
    Lacking.USAGE: _beside("stream_options"),
    Lacking.PARALLEL: _beside("parallel_tool_calls"),
    Lacking.STRICT: re.compile(
        rf"{_REFUSED}.{{0,40}}['\"`.]strict\b|[.'\"`]strict['\"`]?.{{0,60}}?{_REFUSED}|number of strict tools",
        re.IGNORECASE | re.DOTALL,
    ),
    Lacking.TOOLS: re.compile(
        r"(?:does(?:n't| not) support|no endpoints found that support) (?:tools?|function[ -]call|tool (?:use|call))"
        r"|tools?[ _-]?(?:use|calling|calls?)?['\"`]? (?:is|are) not supported (?:with|by|for) this model"
        r"|requires --enable-auto-tool-choice|tools param requires --jinja",
        re.IGNORECASE,
    ),
}


def lacking(error: ProviderError, body: Mapping[str, Any]) -> Lacking | None:
    """The part of the request of this body that the endpoint does not have, if that is what it says."""
    if isinstance(error, ProviderStatusError) and error.status not in _STATUSES:
        return None
    text = f"{error.message}\n{getattr(error, 'body', None)}"[:_MAX_CHARS]
    return next((part for part, words in _PHRASES.items() if _has(body, part) and words.search(text)), None)


def _has(body: Mapping[str, Any], part: Lacking) -> bool:
    if part is Lacking.STRICT:
        return any(tool.get("function", {}).get("strict") for tool in body.get("tools", ()))
    return part.value in body
