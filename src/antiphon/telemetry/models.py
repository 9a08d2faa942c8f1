"""Models by the names that the semantic conventions have for them.

Above: the spans of a call. Below: nothing but labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_PROVIDERS = {
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "xai": "x_ai",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
}
"""By the first part of a model's label, where the conventions call it otherwise."""

_LOCAL = "antiphon.providers.local"
"""Models of this machine have the names of their classes."""


class Named(NamedTuple):
    """A model: who provides it, and what it is called there ("" where nobody says)."""

    provider: str
    model: str

    def span(self, operation: str) -> str:
        """The name of a span of this operation."""
        return f"{operation} {self.model}" if self.model else operation


def named(model: Any) -> Named:
    """The names of a model of a session, or of none."""
    if model is None:
        return Named("unknown", "")
    label, name = str(getattr(model, "label", type(model).__name__)), getattr(model, "model", "")
    first, _, own = label.partition(".")
    if type(model).__module__.startswith(_LOCAL):
        return Named("local", own)
    provider = first.lower()
    return Named(_PROVIDERS.get(provider, provider), name if isinstance(name, str) else "")
