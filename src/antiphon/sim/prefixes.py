"""Whether requests only grow, so that what a provider has cached of the one before holds.

Above: the world, which is asked. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from antiphon.chat import (
    NOTE_ID,
    REPLY_INSTRUCTIONS_ID,
    SUMMARY_ID,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
)


@dataclass(slots=True, frozen=True)
class _Shown:
    """An item as a model is shown it."""

    id: str
    role: str
    text: str
    cut: bool = False


class Prefixes:
    """Compares each request of an agent with the one before it.

    What was cut is shown as it was heard, or not at all if nothing was; a turn that was answered ahead may have gone
    on. All else stays as it was shown first, until the talk is trimmed: then another beginning stands in its place.
    """

    def __init__(self) -> None:
        self._latest: dict[str, list[_Shown]] = {}
        """By agent."""
        self.unstable: list[str] = []
        """What did not stay, in words."""

    def asked(self, agent: str, items: Iterable[ChatItem]) -> None:
        """A model is asked with these."""
        shown = list(_shown(items))
        before, self._latest[agent] = self._latest.get(agent, []), shown
        known = {item.id: item for item in shown}
        if any(item.id.startswith(SUMMARY_ID) and all(item.id != one.id for one in before) for item in shown):
            return
        if before and before[-1].role == "user" and before[-1].id not in known:
            before = before[:-1]
        gone = {one.id for one in before if one.role == "assistant" and (one.id not in known or known[one.id].cut)}
        kept = [item for item in shown if item.id not in gone]
        for at, one in enumerate(item for item in before if item.id not in gone):
            now = kept[at] if at < len(kept) else None
            if now is None or (now.role, now.text) != (one.role, one.text):
                self.unstable.append(
                    f"{agent} was shown {one.text!r}, and then {now.text if now else ''!r} in its place"
                )
                return


def _shown(items: Iterable[ChatItem]) -> Iterable[_Shown]:
    for item in items:
        match item:
            case ChatMessage():
                if item.id.startswith((NOTE_ID, REPLY_INSTRUCTIONS_ID)):
                    continue  # for one response
                raw = None if item.interrupted else item.extra.get("raw")
                yield _Shown(item.id, item.role, str(raw or item.text_content), item.interrupted)
            case FunctionCall():
                yield _Shown(item.id, "call", f"{item.name}({item.arguments})")
            case FunctionCallOutput():
                yield _Shown(item.id, "output", item.output)
            case _:
                pass
