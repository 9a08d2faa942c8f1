"""The caller's language, changed in mid-call: who keeps anything of it is told at once.

What was said stands, and what is being said ends as it began. A call that is being read back goes on to be asked about:
a reply that the new language does not know decides nothing, and the next question is in it.
"""

from __future__ import annotations

from antiphon.core.facts import ModelsChanged
from antiphon.core.floor import Floor


def changed(floor: Floor, fact: ModelsChanged) -> None:
    """Other models, or another language. The core knows the words of a language, and no models."""
    if fact.language is not None:
        floor.speaks(fact.language)
