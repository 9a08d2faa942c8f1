"""What a session knows of the caller's language: words that are no turn, how people spell, and what it says itself.

English is the default. Another language is a `Language` of yours, or the code of one that comes along, given as
`AgentSession(language=...)`. What tools and agents say is theirs.

| module | holds |
|---|---|
| `phrases` | `Phrases`: the words that the core hears out of a turn |
| `spoken` | `SpokenForms`: numbers, letters, marks and dates as people say them |
| `lines` | `Fillers`, `CaptureLines`: what is said |
| `replies` | `Asked`, `Reply`: what a caller was asked, and what a reply may mean |
| `consent` | `decide`: what a reply to a read-back means |
| `consent_phrases` | `ConsentPhrases`: the words of such replies |
| `consent_grammar`, `consent_clauses`, `german_clauses` | clauses by rules: "go ahead and place the order" |
| `consent_reading`, `consent_tables`, `consent_values` | how such replies, and what was read back, are read |
| `claims` | `ClaimPhrases`, `claims_in`: what a sentence of the agent says was done |
| `answering` | `AnswerPhrases`, `who_answered`: a person, or which machine |
| `pack` | `Language`, which is all of these |
| `english_claims`, `german_claims`, `english_answers`, `german_answers` | their tables |
| `english`, `german` | the packs that come along |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.errors import UsageError
from antiphon.exports import on_first_use
from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.language.english import ENGLISH
from antiphon.language.lines import CaptureLines, Fillers, ValueLines
from antiphon.language.pack import Language
from antiphon.language.phrases import Phrases
from antiphon.language.replies import Asked, Reply
from antiphon.language.spoken import SpokenForms

if TYPE_CHECKING:
    from antiphon.language.consent import decide
    from antiphon.language.german import GERMAN

__all__ = [
    "ENGLISH",
    "GERMAN",
    "Asked",
    "CaptureLines",
    "ConsentPhrases",
    "Fillers",
    "Language",
    "Phrases",
    "Reply",
    "SpokenForms",
    "ValueLines",
    "decide",
    "language_pack",
]

CODES = ("en", "de")
"""The packs that come along."""


def language_pack(language: Language | str) -> Language:
    """A language by its code. Raises `UsageError` for one that is not there."""
    if isinstance(language, Language):
        return language
    match language:
        case "en":
            return ENGLISH
        case "de":
            from antiphon.language.german import GERMAN

            return GERMAN
    raise UsageError(
        f"language={language!r}: expected a Language or one of {', '.join(CODES)}; make one of your own with"
        " antiphon.language.Language(...)"
    )


if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, {"consent": ("decide",), "german": ("GERMAN",)})
