"""The phrases of a language, ready to be looked up, and what each does in a reply to a read-back.

Above: `consent_reading` and `consent`. Below: `ConsentPhrases`, which holds the phrases.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import lru_cache

from antiphon.language.consent_grammar import Grammar
from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.language.consent_values import Values, pairs, row, tokens


class Tag(enum.Enum):
    """What a piece of a reply does."""

    YES = enum.auto()
    LISTENING = enum.auto()
    ALONE = enum.auto()
    """Agrees if nothing else was said."""
    NO = enum.auto()
    WAIT = enum.auto()
    NEGATION = enum.auto()
    HEDGE = enum.auto()
    SPEAKING = enum.auto()
    REPORTED = enum.auto()
    CONDITION = enum.auto()
    CONTRAST = enum.auto()
    CHANGE = enum.auto()
    QUESTION = enum.auto()
    FILLER = enum.auto()
    HESITATION = enum.auto()
    EXTRA = enum.auto()
    NEUTRAL = enum.auto()
    ECHO = enum.auto()
    """Stands in the read-back."""
    OTHER = enum.auto()
    """A value that does not, or in another place there."""
    UNKNOWN = enum.auto()
    MARK = enum.auto()
    """A question mark."""


class PhraseTable:
    """Phrases, and what each does. What stands in it already stays."""

    __slots__ = ("_longest", "_phrases")

    def __init__(self, phrases: str = "", tag: Tag = Tag.UNKNOWN) -> None:
        self._phrases: dict[tuple[str, ...], Tag] = {}
        self._longest: dict[str, int] = {}
        self.add(phrases, tag)

    def add(self, phrases: str, tag: Tag) -> None:
        """A row of phrases that all do the same."""
        for phrase in row(phrases):
            words = tuple(phrase.split())
            self._phrases.setdefault(words, tag)
            self._longest[words[0]] = max(self._longest.get(words[0], 0), len(words))

    def at(self, words: Sequence[str], at: int, acts: frozenset[str] = frozenset()) -> tuple[Tag, int] | None:
        """What the longest phrase at `at` does, and what is behind it. "*" is any of `acts`."""
        word = words[at]
        longest = self._longest.get(word, 0)
        if acts and word in acts:
            longest = max(longest, self._longest.get("*", 0))
        for length in range(min(longest, len(words) - at), 0, -1):
            phrase = tuple(words[at : at + length])
            for number, said in enumerate(phrase) if acts else ():
                if said in acts:
                    general = (*phrase[:number], "*", *phrase[number + 1 :])
                    if (tag := self._phrases.get(general)) is not None:
                        return tag, at + length
            if (tag := self._phrases.get(phrase)) is not None:
                return tag, at + length
        return None


class Statements:
    """Statements that find something good, by their parts: "all of that is perfectly fine"."""

    __slots__ = ("_adverbs", "_good", "_selves", "_subjects", "_verbs", "agreeing")

    def __init__(self, phrases: ConsentPhrases) -> None:
        self._subjects = PhraseTable(phrases.subjects, Tag.YES)
        self._selves = PhraseTable(phrases.selves, Tag.YES)
        self._verbs = PhraseTable("", Tag.YES)
        self._adverbs = PhraseTable(phrases.adverbs, Tag.YES)
        self._good = PhraseTable(phrases.good, Tag.YES)
        self.agreeing = frozenset(row(phrases.good))
        for verb in row(phrases.verbs):
            if verb[0] != "'":
                self._verbs.add(verb, Tag.YES)
                continue
            for subject in row(phrases.subjects):
                # "that's", and "thats" as recognisers write it
                self._subjects.add(f"{subject}{verb}|{subject}{verb[1:]}", Tag.NEUTRAL)

    def is_subject(self, word: str) -> bool:
        """Whether it is "this" or "everything", which is found good, and is no verb."""
        return self._subjects.at((word,), 0) is not None

    def is_adverb(self, word: str) -> bool:
        """Whether it goes with what comes: "really", "very"."""
        return self._adverbs.at((word,), 0) is not None

    def finds(self, word: str) -> bool:
        """Whether it may follow "is" in such a statement: "fine", "perfectly"."""
        return self.is_adverb(word) or self._good.at((word,), 0) is not None

    def end(self, words: Sequence[str], at: int, predicates: frozenset[str]) -> int:
        """What is behind the one that begins at `at`; 0 if there is none. `predicates` are good as well."""
        if (myself := self._selves.at(words, at)) is not None:
            return self._rest(words, myself[1], predicates, PhraseTable())
        subject = self._subjects.at(words, at)
        if subject is None:
            return 0
        tag, at = subject
        if at < len(words) and tag is Tag.YES and (verb := self._verbs.at(words, at)) is not None:
            at = verb[1]
        return self._rest(words, at, predicates, self._good)

    def after(self, words: Sequence[str], at: int, predicates: frozenset[str]) -> int:
        """The same, where what is found good was named before: "is fine", behind "Friday at seven"."""
        verb = self._verbs.at(words, at)
        return 0 if verb is None else self._rest(words, verb[1], predicates, self._good)

    def _rest(self, words: Sequence[str], at: int, predicates: frozenset[str], good: PhraseTable) -> int:
        while at < len(words):
            adverb = self._adverbs.at(words, at)
            if words[at] in predicates:
                return at + 1
            if (found := good.at(words, at)) is not None:
                more = adverb is not None and adverb[1] < len(words) and good.at(words, adverb[1])
                if not more:
                    return found[1]
            if adverb is None:
                return 0
            at = adverb[1]
        return 0


CLAUSES = {
    "hedge": Tag.HEDGE,
    "no": Tag.NO,
    "yes": Tag.YES,
    "short": Tag.YES,
    "filler": Tag.FILLER,
}
"""What clauses of a rule do."""


class Tables:
    """All of a language."""

    __slots__ = (
        "abandons",
        "able",
        "acts",
        "acts_by_start",
        "addressed",
        "affirming",
        "afterwards",
        "alike",
        "allowing",
        "alone",
        "articles",
        "asking",
        "at_once",
        "bare",
        "checking",
        "clauses",
        "closing",
        "closings",
        "confirming",
        "contracted",
        "copulas",
        "correction",
        "counted",
        "counters",
        "counts",
        "declining",
        "does",
        "doing",
        "elliptic",
        "excusing",
        "extra_words",
        "gerund",
        "greetings",
        "infinitive",
        "joining",
        "kinds",
        "leads",
        "light",
        "long_forms",
        "loose",
        "nearby",
        "negating",
        "negation",
        "nouns",
        "offers",
        "open_end",
        "participle",
        "participles",
        "particles",
        "passives",
        "persons",
        "phrasal",
        "phrases",
        "predicates",
        "prepositions",
        "pronouns",
        "ranges",
        "reasons",
        "requests",
        "reverses",
        "rights",
        "said_at_once",
        "same",
        "selves",
        "separable",
        "shown",
        "sounds",
        "statements",
        "states",
        "suffixes",
        "turned",
        "unfinished",
        "values",
        "vocatives",
        "whole",
        "wishes",
    )

    def __init__(self, phrases: ConsentPhrases) -> None:
        self.values = Values(phrases)
        self.statements = Statements(phrases)
        self.phrases = _tagged(phrases)
        self._read_clauses(phrases)
        self._read_verbs(phrases)
        self.asking = PhraseTable(phrases.asking, Tag.NEUTRAL)
        self.asking.add(phrases.extra, Tag.EXTRA)
        self.extra_words = PhraseTable(phrases.extra_words, Tag.NEUTRAL)
        self.checking = PhraseTable(phrases.checking, Tag.QUESTION)
        self.requests = PhraseTable(phrases.requests, Tag.QUESTION)
        self.offers = PhraseTable(phrases.offers, Tag.QUESTION)
        self.elliptic = frozenset(row(phrases.elliptic))
        self.declining = frozenset(row(phrases.declining))
        self.alone = frozenset(row(phrases.alone))
        self.affirming = frozenset(row(phrases.affirming))
        self.excusing = frozenset(row(phrases.excusing))
        self.correction = frozenset(row(phrases.correction))
        self.counted = frozenset(row(phrases.counted))
        self.suffixes = frozenset(row(phrases.suffixes))
        self.joining = frozenset(row(phrases.joining))
        self.negation = frozenset(row(phrases.negation))
        self.negating = frozenset(row(phrases.negating))
        self.at_once = frozenset(row(phrases.at_once))
        self.open_end = frozenset(row(phrases.open_end))
        self.confirming = frozenset(row(phrases.confirming))
        self.addressed = pairs(phrases.addressed)
        self.articles = frozenset(row(phrases.articles))
        self.copulas = frozenset(row(phrases.copulas))
        self.loose = frozenset(row(phrases.loose)) | frozenset(pairs(phrases.ranges))
        self.leads = PhraseTable(phrases.leads, Tag.QUESTION)
        self.closing = PhraseTable(phrases.closing, Tag.YES)
        self.vocatives = PhraseTable(phrases.vocatives, Tag.FILLER)
        self.closings = frozenset(row(phrases.closings))
        self.turned = {word: meant.split() for word, meant in pairs(phrases.turned).items()}
        self.contracted = pairs(phrases.contracted)
        self.rights = PhraseTable(phrases.rights, Tag.FILLER)
        self.kinds = pairs(phrases.kinds)
        self.passives = PhraseTable(phrases.passives, Tag.NEUTRAL)
        self.participles = pairs(phrases.participles)
        self.participle = phrases.participle
        self.gerund = phrases.gerund
        self.infinitive = phrases.infinitive
        self.predicates = frozenset(row(phrases.predicates))
        self.particles = frozenset(row(phrases.particles))
        self.prepositions = pairs(phrases.prepositions)
        self.ranges = pairs(phrases.ranges)

    def _read_clauses(self, phrases: ConsentPhrases) -> None:
        """The rules for clauses, and what words of a reply are to them and beside them."""
        self.clauses = Grammar(phrases.clauses, tuple(CLAUSES))
        self.long_forms = {word: meant.split() for word, meant in pairs(phrases.long_forms).items()}
        self.unfinished = frozenset(row(phrases.unfinished))
        self.allowing = frozenset(row(phrases.allowing))
        self.doing = PhraseTable(phrases.doing, Tag.NEUTRAL)
        self.states = frozenset(row(phrases.states))
        self.persons = frozenset(row(phrases.persons))
        self.nearby = frozenset(row(phrases.nearby))
        self.same = {tuple(words.split()): meant for words, meant in pairs(phrases.same).items()}
        self.greetings = frozenset(row(phrases.greetings))
        self.afterwards = PhraseTable(phrases.afterwards, Tag.FILLER)
        self.pronouns = frozenset(row(phrases.pronouns))
        self.separable = tuple(row(phrases.separable))
        self.whole = frozenset(row(phrases.whole))
        self.abandons = frozenset(row(phrases.abandons))
        self.said_at_once = frozenset(row(phrases.said_at_once))

    def _read_verbs(self, phrases: ConsentPhrases) -> None:
        """Verbs of what is done, what may be said for them, and what is said to questions that turn it round."""
        acts = pairs(phrases.acts)
        self.acts = {act: frozenset(like for like, meant in acts.items() if meant == acts[act]) for act in acts}
        self.alike: dict[str, set[str]] = {}
        for like in map(str.split, row(phrases.alike)):
            for act in like:
                self.alike.setdefault(act, set()).update(like)
        self.phrasal = [(*words.split(), meant) for words, meant in map(_meant, row(phrases.phrasal))]
        self.nouns = pairs(phrases.nouns)
        self.light = frozenset(row(phrases.light))
        self.sounds = pairs(phrases.sounds)
        self.does = frozenset(row(phrases.does))
        self.able = frozenset(row(phrases.able))
        self.shown = tuple(row(phrases.shown))
        self.counts = frozenset(meant for meant in self.sounds.values() if self.values.value((meant,), 0) is not None)
        self.reasons = PhraseTable(phrases.reasons, Tag.NEUTRAL)
        self.wishes = frozenset(row(phrases.wishes))
        self.counters = frozenset(row(phrases.counters))
        self.selves = frozenset(row(phrases.selves))
        self.reverses = PhraseTable(phrases.reverses, Tag.QUESTION)
        self.bare = frozenset(row(phrases.bare))
        self.acts_by_start: dict[str, list[str]] = {}
        for act in acts:
            self.acts_by_start.setdefault(act[:2], []).append(act)

    def tokens(self, text: str) -> list[str]:
        """Those of a text, where words that say the same are the same."""
        words = tokens(text)
        for phrase, meant in self.same.items():
            for at in range(len(words) - len(phrase), -1, -1):
                if words[at] == phrase[0] and tuple(words[at : at + len(phrase)]) == phrase:
                    words[at : at + len(phrase)] = [meant]
        return words

    def waits(self, word: str) -> bool:
        """Whether it asks to wait, by itself."""
        known = self.phrases.at((word,), 0)
        return known is not None and known[0] is Tag.WAIT

    def in_full(self, word: str) -> list[str]:
        """In its long form: "that is" for "that's"."""
        if (full := self.long_forms.get(word)) is not None:
            return full
        for ending, meant in self.long_forms.items():
            if "'" in ending and word.endswith(ending) and len(word) > len(ending):
                return [word.removesuffix(ending), *meant]
        return [word]


def _meant(entry: str) -> tuple[str, str]:
    """What stands before "=", and behind it."""
    words, _, meant = entry.partition("=")
    return words, meant


def _tagged(phrases: ConsentPhrases) -> PhraseTable:
    table = PhraseTable()
    for tagged, tag in (
        (phrases.yes, Tag.YES),
        (phrases.listening, Tag.LISTENING),
        (phrases.no, Tag.NO),
        (phrases.wait, Tag.WAIT),
        (phrases.hedge, Tag.HEDGE),
        (phrases.filler, Tag.FILLER),
        (phrases.hesitation, Tag.HESITATION),
        (phrases.greetings, Tag.HESITATION),
        (phrases.speaking, Tag.SPEAKING),
        (phrases.reported, Tag.REPORTED),
        (phrases.negating, Tag.NEGATION),
        (phrases.condition, Tag.CONDITION),
        (phrases.contrast, Tag.CONTRAST),
        (phrases.change, Tag.CHANGE),
        (phrases.question, Tag.QUESTION),
        (phrases.neutral, Tag.NEUTRAL),
        (phrases.alone, Tag.ALONE),
    ):
        table.add(tagged, tag)
    return table


@lru_cache(maxsize=16)
def tables_of(phrases: ConsentPhrases) -> Tables:
    """The tables of a language, made once."""
    return Tables(phrases)
