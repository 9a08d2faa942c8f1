"""A read-back: its words, its values, and where they stand. Replies are held against it.

Above: `language.consent`, which decides. Below: the tables of the language. It does not know what a reply amounts to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from antiphon.language.consent_tables import Tables, Tag
from antiphon.language.consent_values import Value


class ReadBack:
    """The read-back: its words, its values, and where they stand."""

    __slots__ = (
        "_after",
        "_atoms",
        "_before",
        "_by",
        "_is_done_to_you",
        "_like",
        "_named",
        "_pairs",
        "_prepositions",
        "_separated",
        "_valued",
        "_words",
        "acts",
        "acts_asked",
        "acts_said",
        "answers",
        "asked",
        "is_offer",
        "particles",
        "predicates",
        "reverses",
    )

    def __init__(self, text: str, values: Sequence[str], tables: Tables) -> None:
        self._atoms: set[tuple[str, str]] = set()
        self._pairs: set[tuple[tuple[str, str], ...]] = set()
        self._words: set[str] = set()
        self._named: set[str] = set()
        self._prepositions: dict[tuple[str, str], set[str]] = {}
        self._after: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._before: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for part in (text, *values):
            words = tables.tokens(part)
            self._named.update(then for first, then in pairwise(words) if first in tables.articles)
            # What it denies cannot be repeated without the "no".
            self._words.update(
                word for at, word in enumerate(words) if tables.negating.isdisjoint(words[max(at - 2, 0) : at])
            )
            self._learn(list(tables.values.atoms(words)), tables)
        if days := {atom for part in values for atom in tables.values.atoms(tables.tokens(part)) if atom[0] == "day"}:
            # A read-back may name what is not to be: "from Thursday to Friday".
            self._atoms = {atom for atom in self._atoms if atom[0] != "day"} | days
        acts, self.particles = _acts(text, tables)
        # "Stop" is said to what speaks, whatever was asked.
        self.acts = frozenset(act for act in acts if not tables.waits(act))
        you = set(tables.addressed.values())
        self._is_done_to_you = any(
            then in you and any(_is_form(first, act) for act in self.acts)
            for first, then in pairwise(tables.tokens(text))
        )
        self._separated, apart = _separated(self.acts, tables)
        self.particles |= apart
        self.acts_said = frozenset(act for act in self.acts if any(_is_form(word, act) for word in self._words))
        self._like = self.acts | _alike(self.acts_said, self.particles, tables)
        self._by: dict[str, list[str]] = {}
        for first, *rest, meant in tables.phrasal:
            if meant in self._like and (meant in self.acts_said or not self.acts_said):
                self._by.setdefault(first, []).append("_".join(("by", *rest)))
        asks = tables.tokens(re.split(r"[.!;:]\s+", text)[-1])
        self.acts_asked = self.acts.intersection(asks) | tables.confirming
        self._valued = frozenset(word for part in values for word in tables.tokens(part))
        self.asked = tables.statements.agreeing.intersection(asks)
        self.predicates = tables.predicates.intersection(asks)
        self.reverses = any(tables.reverses.at(asks, at) for at in range(len(asks)))
        self.answers = frozenset() if self.reverses else _answers(re.split(r"[.!;:,]\s+", text)[-1], tables)
        self.is_offer = any(tables.offers.at(asks, at) for at in range(len(asks)))

    def _learn(self, atoms: list[tuple[str, str]], tables: Tables) -> None:
        self._atoms.update(atoms)
        denied = [("word", word) for word in tables.negating]
        self._pairs.update(
            (first, then)
            for at, (first, then) in enumerate(pairwise(atoms))
            if first in denied or not any(atom in denied for atom in atoms[max(at - 1, 0) : at + 1])
        )
        preposition, since = "", 0
        for kind, text in atoms:
            since += 1
            if kind == "word" and text in tables.prepositions:
                preposition, since = tables.prepositions[text], 0
            elif kind == "word" and text in tables.joining and preposition in tables.ranges:
                preposition, since = tables.ranges[preposition], 0
            elif since <= 4:
                self._prepositions.setdefault((kind, text), set()).add(preposition)
        bare = [atom for atom in atoms if not _is_small(atom, tables)]
        for first, then in pairwise(bare):
            self._after.setdefault(first, set()).add(then)
            self._before.setdefault(then, set()).add(first)

    def has_word(self, word: str) -> bool:
        """It, or its plural or singular."""
        return word in self._words or f"{word}s" in self._words or (word.endswith("s") and word[:-1] in self._words)

    def has(self, value: Value) -> bool:
        """The same value in any of its forms."""
        if (value.kind, value.text) in self._atoms:
            return True
        return value.kind == "number" and all(("number", part) in self._atoms for part in value.parts)

    def has_whole(self, value: Value) -> bool:
        """The same value, and not only its parts."""
        return (value.kind, value.text) in self._atoms

    def is_valued(self, word: str) -> bool:
        """Whether it stands in one of the arguments."""
        return word in self._valued

    def is_counted(self, word: str) -> bool:
        """Whether it stands behind a number: "adults" in "two adults"."""
        return any(kind == "number" for kind, _ in self._before.get(("word", word), ()))

    def opened(self, said: Sequence[str], tables: Tables) -> list[str]:
        """The words, where what is short behind something of the read-back is in full: "Saturday's fine".

        "Cancel Saturday's" names it, and no more.
        """
        words: list[str] = []
        for at, word in enumerate(said):
            stem, mark, ending = word.rpartition("'")
            meant = tables.long_forms.get(f"{mark}{ending}", [])
            named = stem != "" and word not in tables.long_forms and len(meant) == 1
            if named and tables.values.value((stem,), 0) is None:
                named = stem in self._words and self._is_thing(stem, tables) and stem not in tables.pronouns
            if named and not (at + 1 < len(said) and tables.statements.finds(said[at + 1])):
                meant = []
            words += [stem, *meant] if named else [word]
        return words

    def has_any(self, kind: str) -> bool:
        """A value of this kind."""
        return any(atom[0] == kind for atom in self._atoms)

    def has_pair(self, words: Sequence[str], at: int, tables: Tables) -> bool:
        """Whether the two words or values at `at` stand side by side in it."""
        return tables.values.pair(words, at) in self._pairs

    def answered(self, words: Sequence[str], at: int) -> int:
        """What is behind the answer that begins at `at` and has its closing question's own words; 0 if none does."""
        return max((at + len(one) for one in self.answers if tuple(words[at : at + len(one)]) == one), default=0)

    def has_kind(self, word: str, tables: Tables) -> bool:
        """Whether what `word` is called, as "number", was read back."""
        kind = tables.kinds.get(word)
        return self.has_word(word) or (kind is not None and self.has_any(kind))

    def clauses(self, said: Sequence[str], tables: Tables) -> list[tuple[str, int] | None]:
        """For each word the longest clause that begins there: its rule, and what is behind it."""
        full: list[str] = []
        begins: list[int] = []
        for word in said:
            begins.append(len(full))
            full += tables.in_full(word)
        behind: dict[int, int] = {}
        for number, at in enumerate((*begins, len(full))):
            short = number and at - begins[number - 1] > 1 and full[at - 1] in tables.unfinished
            if not short:
                behind[at] = number
        flags = [self._flags(word, full[at - 1] if at else "", tables) for at, word in enumerate(full)]
        found = (tables.clauses.longest(full, flags, at, behind) for at in begins)
        clauses = [None if clause is None else (clause[0], behind[clause[1]]) for clause in found]
        return [
            None if clause is not None and clause[1] == at + 1 and self._is_only_like(said[at]) else clause
            for at, clause in enumerate(clauses)
        ]

    def _is_only_like(self, word: str) -> bool:
        """Whether it is a verb that may be said for one of the read-back: by itself it says nothing."""
        return word in self._like and word not in self.acts

    def _flags(self, word: str, before: str, tables: Tables) -> frozenset[str]:
        """What a word is to the rules of clauses, because the read-back has it."""
        is_known = word in self._words
        is_named = word in self._named and before in tables.articles
        flags = frozenset(
            flag
            for flag, holds in (
                ("act", word in self._like),
                ("any", word in tables.acts),
                ("sep", word in self._separated),
                ("acted", _undone(word, tables.participle, tables.participles, self._like)),
                ("acting", _undone(word, tables.gerund, {}, self._like)),
                ("thing", is_known and (is_named or self._is_thing(word, tables))),
                ("kind", word in tables.kinds and self.has_kind(word, tables)),
                ("whole", is_known and word in tables.whole),
                ("along", word in self.particles),
                ("ready", word in self.predicates),
                ("asked", word in self.asked),
                ("done", self._is_done_to_you and word in tables.addressed),
                ("soon", word in tables.at_once and self._is_soon(tables)),
                ("off", word in tables.abandons and word not in self._like and word not in self._by),
            )
            if holds
        )
        return flags.union(self._by.get(word, ()))

    def _is_thing(self, word: str, tables: Tables) -> bool:
        """Whether it names what is spoken of: "card" in "your debit card"."""
        known = tables.phrases.at((word,), 0)
        if tables.values.value((word,), 0) is not None or word in tables.prepositions:
            return False
        return word not in tables.particles and (known is None or known[0] is Tag.CHANGE) and len(word) > 2

    def _is_soon(self, tables: Tables) -> bool:
        """Whether "now" changes no time."""
        kinds = ("day", "month", "ordinal", "part")
        named = any(kind in kinds and text not in tables.at_once for kind, text in self._atoms)
        return not named or not self.acts.isdisjoint(tables.said_at_once)

    def fits(self, preposition: str, atom: tuple[str, str], tables: Tables) -> bool:
        """Whether what is repeated stood behind this preposition: "for seven" is another thing than "at seven"."""
        there = self._prepositions.get(atom)
        if not there or preposition in there:
            return True
        if atom[0] == "word" and preposition in tables.nearby and there <= tables.nearby:
            return True
        return preposition in tables.loose and (there == {""} or atom[0] in ("day", "month"))

    def agrees(self, first: tuple[str, str], then: tuple[str, str], beside_it: bool) -> bool:
        """False where it has another value of that kind there: "nine people" where it has "six people at nine".

        So has a name with another surname: words side by side must be so there.
        """
        if beside_it and first[0] == then[0] == "word" and first in self._after and then in self._before:
            return then in self._after[first]
        for atom, beside, there in (
            (then, first, self._after.get(first, set())),
            (first, then, self._before.get(then, set())),
        ):
            if beside[0] != atom[0] != "word" and atom not in there and any(other[0] == atom[0] for other in there):
                return False
        return True


def _is_small(atom: tuple[str, str], tables: Tables) -> bool:
    """A word that says nothing by itself."""
    if atom[0] != "word":
        return False
    known = tables.phrases.at((atom[1],), 0)
    return atom[1] in tables.prepositions or (known is not None and known[0] is Tag.NEUTRAL)


def _acts(text: str, tables: Tables) -> tuple[frozenset[str], frozenset[str]]:
    """The verbs of the last sentence that has one, and what goes with them ("off").

    "You may cancel until Friday. Shall I book it?" asks to book.
    """
    sentences = [words for sentence in re.split(r"[.!?;:]\s+", text) if (words := tables.tokens(sentence))]
    if sentences and any(tables.reverses.at(sentences[-1], at) for at in range(len(sentences[-1]))):
        sentences.pop()  # "is there anything to change?" asks for no change
    confirming: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    for words in reversed(sentences):
        found = _known_acts(words, tables)
        named, particles = _named_acts(words, tables, asks=words is sentences[-1])
        if (found | named) & tables.confirming:
            confirming = tables.confirming
        if named := named - tables.confirming:
            return named.union(confirming, *(tables.acts.get(act, ()) for act in named)), particles
        if words is not sentences[-1] and not tables.allowing.isdisjoint(words):
            continue
        passive = _passive_acts(words, tables) - tables.confirming
        known = known or passive.union(*(tables.acts.get(act, ()) for act in (found - tables.confirming) | passive))
    return confirming | (known or next(iter(tables.acts.values()), frozenset())), frozenset()


def _alike(acts: frozenset[str], particles: frozenset[str], tables: Tables) -> frozenset[str]:
    """With verbs that may be said for these."""
    meant = {verb for first, *rest, verb in tables.phrasal if first in acts and particles.issuperset(rest)}
    said = acts.union(meant, *(tables.acts.get(act, ()) for act in meant))
    return said.union(*(tables.alike.get(act, ()) for act in said))


def _separated(acts: frozenset[str], tables: Tables) -> tuple[frozenset[str], frozenset[str]]:
    """Verbs without the particles that may stand apart from them, and those: "sagen" and "ab"."""
    split = {(act.removeprefix(one), one) for act in acts for one in tables.separable if act.startswith(one)}
    long = {(rest, one) for rest, one in split if len(rest) > 3}
    return frozenset(rest for rest, _ in long), frozenset(one for _, one in long)


def _known_acts(words: Sequence[str], tables: Tables) -> set[str]:
    return {act for word in words for act in tables.acts_by_start.get(word[:2], ()) if _is_form(word, act)}


def _named_acts(words: Sequence[str], tables: Tables, *, asks: bool) -> tuple[frozenset[str], frozenset[str]]:
    """Verbs that stand where the verb of what is done stands: "Shall I grant it?", "Turning off the alarm"."""
    acts: set[str] = set()
    particles: set[str] = set()
    for at, word in enumerate(words):
        lead, doing = tables.leads.at(words, at), tables.doing.at(words, at)
        if lead is not None and lead[1] < len(words):
            behind = lead[1]
            verb = next(word for word in reversed(words) if word != "?") if tables.infinitive else words[behind]
            is_verb = verb.endswith(tables.infinitive) or verb in tables.acts
            acts.update(_verb(verb, tables) if is_verb else ())
            if verb in tables.light:
                made = {tables.nouns[noun] for noun in words[behind + 1 : behind + 4] if noun in tables.nouns}
                acts |= made.union(*(tables.acts.get(act, ()) for act in made))
        elif at == 0 and _is_gerund(word, tables):  # "Turning off the alarm."
            behind = 1
            acts |= _stems(word, tables.gerund)
        elif doing is not None and doing[1] < len(words) and _is_gerund(words[doing[1]], tables):
            behind = doing[1] + 1
            acts |= _stems(words[doing[1]], tables.gerund)
        elif at == 0 and asks and lead is None and len(words) <= 4:  # "Delete it?"
            behind = 1
            is_verb = word.endswith(tables.infinitive) and word not in tables.statements.agreeing
            acts.update(_verb(word, tables) if is_verb else ())
        else:
            continue
        particles.update(other for other in words[behind : behind + 3] if other in tables.particles)
    if acts and not tables.infinitive:  # "I'm sending a new card and blocking the old one."
        for joined, verb in pairwise(words):
            if joined in tables.joining and (_is_gerund(verb, tables) or verb in tables.acts):
                acts |= _stems(verb, tables.gerund) if _is_gerund(verb, tables) else {verb}
    return frozenset(acts), frozenset(particles)


def _stems(word: str, ending: str) -> set[str]:
    """What a form of a verb may come from: "planned" from "plan", "plane" or "plann"."""
    stem = word.removesuffix(ending)
    return {stem, f"{stem}e"} | ({stem[:-1]} if stem[-1:] == stem[-2:-1] else set())


def _passive_acts(words: Sequence[str], tables: Tables) -> frozenset[str]:
    """Verbs in "will be frozen", if nothing is denied or a condition there."""
    acts: set[str] = set()
    if tables.infinitive:  # what is done stands at the end: "soll der Termin abgesagt werden?"
        if tables.negating.isdisjoint(words) and any(tables.passives.at(words, at) for at in range(len(words))):
            acts |= {tables.participles[word] for word in words if word in tables.participles}
        return frozenset(acts)
    for at, word in enumerate(words):
        known = tables.phrases.at(words, at)
        if word in tables.negating or (known is not None and known[0] is Tag.CONDITION):
            return frozenset()
        passive = tables.passives.at(words, at)
        if passive is None or passive[1] >= len(words):
            continue
        done = words[passive[1]]
        if done in tables.participles:
            acts.add(tables.participles[done])
        elif tables.participle and done.endswith(tables.participle) and len(done) > len(tables.participle) + 2:
            acts |= _stems(done, tables.participle)
    return frozenset(acts)


_LONGEST_QUESTION = 12


def _answers(asks: str, tables: Tables) -> frozenset[tuple[str, ...]]:
    """The question that ends the read-back, turned round: "is that what you meant", "that is what I meant"."""
    words = [word for word in tables.tokens(asks) if word != "?"]
    if asks.rstrip()[-1:] == "?" and words and tables.values.value(words, 0) is None:
        if words[0] in tables.predicates or tables.statements.is_subject(words[0]):
            return _begun(words, tables)
    if not 3 <= len(words) <= _LONGEST_QUESTION or words[0] not in tables.closings:
        return frozenset()
    tags = {known[0] for at in range(len(words)) if (known := tables.phrases.at(words, at)) is not None}
    if tags & {Tag.NEGATION, Tag.NO, Tag.HEDGE, Tag.CONDITION, Tag.REPORTED} or "or" in words:
        return frozenset()
    others = tables.turned.get(words[1], words[1:2])
    others = list(tables.shown) if others[0] in tables.shown else others
    does = words[0] in tables.does  # "do we have a deal?", "we have a deal"
    turned = [one for first in others for one in ([(first, words[0]), (first,)] if does else [(first, words[0])])]
    begun = {one for one in turned if len(one) > 1 and words[0] in tables.able}
    for word in words[2:]:
        options = tables.turned.get(word, [word])
        turned = [(*answer, option) for answer in turned for option in options][:12]
    found: set[tuple[str, ...]] = set(begun)
    for answer in turned:
        if any(known[0] is Tag.HEDGE for at in range(len(answer)) if (known := tables.phrases.at(answer, at))):
            continue
        begin, rest = " ".join(answer[:2]), answer[2:]
        short = tables.contracted.get(begin, "")
        forms = [begin, short] if not short.startswith("i am") else ["i am", "i'm"]
        found |= {(*form.split(), *rest) for form in forms if form}
    return frozenset(found)


def _begun(words: Sequence[str], tables: Tables) -> frozenset[tuple[str, ...]]:
    """How a question without a verb may be answered by how it begins: "all done from your side?", "all done"."""
    found: set[tuple[str, ...]] = set()
    good = tables.statements.agreeing | tables.predicates
    for end in range(1, min(len(words), 6) + 1):
        if words[end - 1] in tables.loose or words[end - 1] in tables.pronouns or "or" in words:
            continue
        if good.isdisjoint(words[:end]):
            continue
        turned: list[tuple[str, ...]] = [()]
        for word in words[:end]:
            turned = [(*answer, option) for answer in turned for option in tables.turned.get(word, [word])][:8]
        found.update(turned)
    return frozenset(found)


def _is_gerund(word: str, tables: Tables) -> bool:
    return tables.gerund != "" and word.endswith(tables.gerund) and len(word) > len(tables.gerund) + 2


def _undone(word: str, ending: str, others: Mapping[str, str], acts: frozenset[str]) -> bool:
    """Whether it is a verb of these with an ending, as "booked" and "planned" are, or "sent"."""
    if word in others:
        return others[word] in acts
    if not ending or not word.endswith(ending):
        return False
    return not acts.isdisjoint(_stems(word, ending))


def _verb(word: str, tables: Tables) -> tuple[str, ...]:
    """The word itself, if it can be a verb: what has another meaning in a reply, or is as short as "do", is none."""
    known = tables.phrases.at((word,), 0)
    if tables.statements.is_subject(word) or word in tables.states or word in tables.predicates:
        return ()
    if tables.values.value((word,), 0) is not None:
        return ()
    meant = known is None or known[0] is Tag.CHANGE or (known[0] is Tag.YES and len(word) > 3)
    return (word,) if meant or word in tables.acts or word in tables.abandons else ()


def _is_form(word: str, act: str) -> bool:
    """Whether `word` is a form of the verb: "cancelling", "reserved"."""
    if len(act) <= 3:
        return word == act or word in (f"{act}s", f"{act}ing", f"{act}{act[-1]}ing")
    return word.startswith(act.removesuffix("e")) and len(word) <= len(act) + 4


@lru_cache(maxsize=64)
def read_back_of(text: str, values: tuple[str, ...], tables: Tables) -> ReadBack:
    """The read-back, looked through once."""
    return ReadBack(text, values, tables)
