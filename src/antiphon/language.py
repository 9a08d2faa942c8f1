"""What a session knows of the caller's language: words that are no turn, and the lines it says itself.

English is the default. Another language is a `Language` of yours, or the code of one that comes along, given as
`AgentSession(language=...)`. What tools and agents say is theirs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from antiphon.errors import UsageError

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


@dataclass(slots=True, frozen=True)
class Fillers:
    """What is said while the caller would otherwise wait in silence: a ladder, one rung at a time.

    Each rung has one or several lines, which take turns. A tool's own `filler=` comes before the first rung.
    """

    short: tuple[str, ...] = ("One moment.", "Just a second.")
    """The first line of a wait."""
    long: tuple[str, ...] = ("One moment, this may take a little while.",)
    """The first line where the tools at work are known to take `long_after` seconds or more."""
    progress: tuple[str, ...] = ("Still working on it.", "I'm still on it.", "Bear with me, it is not done yet.")
    """Every further line."""
    offer: str = "This is taking longer than usual. I can also call you back."
    """Said once, when the wait has lasted `offer_after` seconds, or is known to. Empty: never."""
    long_after: float = 4.0
    offer_after: float = 10.0


@dataclass(slots=True, frozen=True)
class Language:
    """A language pack. Words are lower case, without marks."""

    code: str
    """ISO 639-1, "en"."""
    listening: tuple[str, ...]
    """Words that only say that the caller listens."""
    farewell: tuple[str, ...]
    """One of these makes a farewell."""
    padding: tuple[str, ...]
    """What a farewell may hold beside those and `listening`."""
    fallback_line: str
    """Said when the model has nothing to say after its last round."""
    failure_line: str
    """Said when the model failed."""
    unheard_line: str
    """Said when the caller spoke and the recogniser gave no words in time."""
    fillers: Fillers = field(default_factory=Fillers)
    """What is said while the caller would otherwise wait in silence."""

    def is_backchannel(self, text: str) -> bool:
        """True if the caller said nothing but that they listen, in three words at most."""
        words = _words(text)
        return 0 < len(words) <= 3 and all(word in self.listening for word in words)

    def is_farewell(self, text: str) -> bool:
        """True if the caller said goodbye and nothing else ("bye", "thanks, take care"), in twelve words at most."""
        words = _words(text)
        allowed = (self.farewell, self.padding, self.listening)
        return (
            0 < len(words) <= 12
            and any(word in self.farewell for word in words)
            and all(any(word in known for known in allowed) for word in words)
        )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def _listed(words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words.split()))


ENGLISH = Language(
    code="en",
    listening=_listed(
        "uh huh uhhuh mm hmm mmhmm mhm hm yeah yep right okay ok sure alright cool aha ah oh gotcha i see got it"
    ),
    farewell=_listed("bye goodbye cheerio farewell ciao ta thanks thank care night later"),
    padding=_listed(
        "you too very much so a lot for your the help all that's that is it was everything great perfect good and no"
        " nope have nice lovely day evening one weekend take see soon talk to then now well wonderful excellent"
    ),
    fallback_line="I'm sorry, I couldn't work that out. Could you say it another way?",
    failure_line="I'm sorry, something went wrong on my side. Could you say that again?",
    unheard_line="I'm sorry, I didn't catch that. Could you say it again?",
)

GERMAN = Language(
    code="de",
    listening=_listed("hm hmm mhm mh aha ah oh ja jo jep genau richtig okay ok gut klar verstehe alles stimmt na und"),
    farewell=_listed("tschüss tschüs ciao danke dankeschön servus ade bis wiederhören wiedersehen"),
    padding=_listed(
        "auf vielen lieben schönen schöne ihnen dir noch einen eine tag abend woche wochenende dann bald später das"
        " war's war es nein nichts mehr weiter alles sehr super prima wunderbar für die hilfe auch ebenso"
    ),
    fallback_line="Entschuldigung, das habe ich nicht hinbekommen. Können Sie es anders sagen?",
    failure_line="Entschuldigung, bei mir ist etwas schiefgegangen. Können Sie das noch einmal sagen?",
    unheard_line="Entschuldigung, das habe ich nicht verstanden. Können Sie es noch einmal sagen?",
    fillers=Fillers(
        short=("Einen Moment.", "Eine Sekunde."),
        long=("Einen Moment, das kann etwas dauern.",),
        progress=("Ich bin noch dabei.", "Ich arbeite noch daran.", "Bitte noch etwas Geduld."),
        offer="Das dauert länger als sonst. Ich kann Sie auch zurückrufen.",
    ),
)

LANGUAGES: dict[str, Language] = {language.code: language for language in (ENGLISH, GERMAN)}
"""The packs that come along, by code."""


def language_pack(language: Language | str) -> Language:
    """A language by its code. Raises `UsageError` for one that is not there."""
    if isinstance(language, Language):
        return language
    if language not in LANGUAGES:
        raise UsageError(
            f"language={language!r}: expected a Language or one of {', '.join(LANGUAGES)}; make one of your own with"
            " antiphon.language.Language(...)"
        )
    return LANGUAGES[language]
