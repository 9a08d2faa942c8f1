"""The journal of a call as a file: all that the conversation was told, and when.

Replayed, it gives the same conversation, which makes a defect that was met in a call one that can be met again. It
holds what was said and what tools returned.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from antiphon.chat import ImageContent
from antiphon.events import JournalEvent
from antiphon.session import AgentSession


class Journal:
    """Listens to one session."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._entries: list[str] = []

    def listen(self, session: AgentSession[Any]) -> None:
        """Begin to keep the journal of a session, which must not have started."""
        session.on("journal", self._told)

    def _told(self, event: JournalEvent) -> None:
        if not self._entries:
            self._head = {"agent": event.agent, "options": _plain(event.options)}
        self._entries.append(json.dumps([event.at, _plain(event.fact)], ensure_ascii=False))

    def save(self, path: Path, about: str) -> None:
        """Write it as JSON, one entry a line. Raises `OSError` if it cannot be written."""
        path.parent.mkdir(parents=True, exist_ok=True)
        head = json.dumps({"about": about, "at_rest": False, "draws_ids": True, **self._head}, ensure_ascii=False)
        lines = ",\n".join(self._entries)
        path.write_text(f'{head[:-1]}, "entries": [\n{lines}\n]}}\n', encoding="utf-8")


def _plain(value: Any) -> Any:
    """A fact as an object that names its class; what depends on the machine's clock or a provider is left out."""
    if isinstance(value, ImageContent):
        return {"is": "ImageContent", "image": value.url}
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if one.name not in ("wire", "created_at", "type")]
        return {"is": type(value).__name__, **{name: _plain(getattr(value, name)) for name in names}}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
