"""Which errors mean that a request is longer than the model can read: services say so, each in its own words.

Above: language models, which raise `ContextOverflow`, and the runtime, which trims what it asks with. Below: errors.
"""

from __future__ import annotations

import re
from typing import Final

from antiphon.errors import ContextOverflow, ProviderError

_MAX_CHARS: Final = 10_000
"""Of what the service says."""

_OVERFLOW: Final = re.compile(
    r"context_length_exceeded|exceed_context_size"  # codes of OpenAI and llama.cpp
    r"|maximum (?:context|prompt|input) length"  # OpenAI, vLLM, DeepSeek, xAI
    r"|model_max_prompt_tokens_exceeded|max(?:imum)?_?(?:model|context|sequence)_?len"
    r"|(?:context|prompt|input|messages?)[\w`' ]{0,40} (?:is|are) too (?:long|large)"  # Anthropic, Bedrock
    r"|exceeds? (?:the |this |its )?(?:model'?s? )?(?:available |maximum )?context"  # llama.cpp, Anthropic, Cohere
    r"|input token count\b.{0,40}\bexceeds?"  # Google
    r"|too large for model with \d+ maximum context"  # Mistral
    r"|reduce (?:the|your) (?:length of the )?(?:messages?|prompt|input)|tokens must be reduced"  # limits a minute
    r"|too many (?:input |prompt )?tokens in|too many tokens: |greater than the context length"
    r"|must have less than \d+ tokens|inputs` tokens \+",  # text-generation-inference
    re.IGNORECASE,
)
# Which of the numbers in such a sentence is what: "208310 tokens > 200000 maximum", "contains 40000 tokens".
_LIMIT: Final = re.compile(
    r"(?:(?:context|prompt|input) length is|size \(|n_ctx['\"]?:|tokens >|limit:? .{0,24}> "
    r"|tokens? allowed \(?|model with|must have less than|Limit) {0,2}(\d[\d,]{2,9})",
    re.IGNORECASE,
)
_SIZE: Final = re.compile(
    r"(?:resulted in|requested(?: about)?|request contains|contains|count \(|request \(|n_prompt_tokens['\"]?:|Given:"
    r"|too long:) {0,2}(\d[\d,]{2,9})",
    re.IGNORECASE,
)


def overflow_of(error: BaseException) -> ContextOverflow | None:
    """The same as an overflow, if it says that the request is too long; None if it means something else."""
    if isinstance(error, ContextOverflow):
        return error
    body = getattr(error, "body", None)
    said = f"{error}\n{body or ''}"[:_MAX_CHARS]
    if _OVERFLOW.search(said) is None:
        return None
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    return ContextOverflow(
        str(error),
        status=status if isinstance(status, int) else 400,
        limit=_number(_LIMIT, said),
        size=_number(_SIZE, said),
        body=body,
        provider=error.provider if isinstance(error, ProviderError) else "",
    )


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else int(found[1].replace(",", ""))
