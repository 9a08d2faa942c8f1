"""What a reply to a read-back means: a yes to exactly these arguments, or anything else.

Above: the gate of the core, which decides by time as well. Below: `consent_reading`, and the words of the language
(`ConsentPhrases`). Pure, and without a model. A yes that was none is the worst outcome, so the rules are closed: what
is not known to belong to a yes makes it none. `docs/consent.md` has the rules, and how often they are right.
"""

from __future__ import annotations

from collections.abc import Sequence

from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.language.consent_reading import ReadBack, read_back_of
from antiphon.language.consent_sounds import heard
from antiphon.language.consent_tables import CLAUSES, Tables, Tag, tables_of
from antiphon.language.consent_values import Value
from antiphon.language.replies import Asked, Reply
from antiphon.record import record

__all__ = ["MAX_LENGTH", "Asked", "ConsentPhrases", "Reply", "decide"]

MAX_LENGTH = 400
"""Characters of a reply that are read. One that is longer is no plain answer, and never a yes."""


def decide(words: str, asked: Asked, phrases: ConsentPhrases) -> Reply:
    """What `words`, as the recogniser wrote them, mean in reply to `asked`. Never raises; linear in `words`."""
    tables = tables_of(phrases)
    read_back = read_back_of(asked.text, asked.values, tables)
    said = read_back.opened(tables.tokens(words[:MAX_LENGTH]), tables)
    pieces = _pieces(said, read_back, tables)
    if len(words) > MAX_LENGTH:
        return _otherwise(pieces, said, tables)
    return (
        _consent(pieces, read_back, tables)
        or _misheard(said, pieces, read_back, tables)
        or _otherwise(pieces, said, tables)
    )


def _pieces(said: Sequence[str], read_back: ReadBack, tables: Tables) -> list[Piece]:
    """Phrase by phrase, each for what it does here."""
    read = _read(said, read_back, tables)
    pieces = _settled(_reversed(read, tables) if read_back.reverses else read, tables)
    if read_back.is_offer:
        pieces = [_neutral(piece) if piece.text in tables.declining else piece for piece in pieces]
    return pieces


def _misheard(said: Sequence[str], pieces: Sequence[Piece], read_back: ReadBack, tables: Tables) -> Reply | None:
    """A yes, if all that was said belongs to one as it may have sounded, and a yes is clear without that."""
    found = heard(said, read_back, tables)
    if found is None:
        return None
    words, changed = found
    begin = 0
    clear = False
    for piece in pieces:
        clear = clear or (piece.tag in _AGREES and changed.isdisjoint(range(begin, piece.end)))
        begin = piece.end
    return _consent(_pieces(words, read_back, tables), read_back, tables) if clear else None


def _reversed(pieces: list[Piece], tables: Tables) -> list[Piece]:
    """To "is there anything to change?" a bare yes or no says nothing surely: what else is said decides."""
    turned: list[Piece] = []
    for piece in pieces:
        first, *rest = piece.text.split()
        if piece.text in tables.counters:
            turned.append(Piece(Tag.YES, piece.text, piece.end))
        elif piece.tag is Tag.LISTENING or (piece.tag is Tag.NO and piece.text in tables.bare):
            turned.append(_neutral(piece))
        elif piece.tag is Tag.NO and first in tables.bare and rest and _only_polite(rest, 0, tables):
            turned.append(_neutral(piece))
        elif piece.tag is Tag.YES and (
            piece.text in tables.bare or (first in tables.bare and first not in tables.negating)
        ):
            turned.append(Piece(Tag.HEDGE, piece.text, piece.end))
        else:
            turned.append(piece)
    return turned


_AGREES = (Tag.YES, Tag.LISTENING)

# -- reading


@record
class Piece:
    """A phrase of a reply."""

    tag: Tag
    text: str
    end: int
    """The token behind it."""
    kind: str = ""
    """Of a value: "number", "day" and so on; "word" for others that are repeated."""


def _read(said: Sequence[str], read_back: ReadBack, tables: Tables) -> list[Piece]:
    """Phrase by phrase, from left to right."""
    pieces: list[Piece] = []
    clauses = read_back.clauses(said, tables)
    at = 0
    agreed = False
    while at < len(said):
        found = agreed and _besides(said, at, read_back, tables)
        if not found:
            piece = _piece(said, at, read_back, tables, pieces)
            clause = _clause(said, at, clauses[at], piece)
            found = [piece if clause is None else clause]
        pieces += found
        at = found[-1].end
        agreed = agreed or any(piece.tag in _AGREES for piece in found)
    return pieces


_SURE = frozenset({Tag.NO, Tag.WAIT, Tag.HEDGE, Tag.FILLER, Tag.HESITATION, Tag.SPEAKING, Tag.OTHER, Tag.MARK})


def _clause(said: Sequence[str], at: int, clause: tuple[str, int] | None, piece: Piece) -> Piece | None:
    """The clause that begins here, if it says more than the phrase does."""
    if clause is None or clause[1] < piece.end:
        return None
    name, end = clause
    tag = CLAUSES[name]
    if end == piece.end and (piece.tag in _SURE or (piece.tag in _AGREES and tag in (Tag.YES, Tag.FILLER))):
        return None
    return Piece(tag, " ".join(said[at:end]), end, name)


def _besides(said: Sequence[str], at: int, read_back: ReadBack, tables: Tables) -> list[Piece] | None:
    """What is wanted besides, as far as it is known to touch nothing: "and text me the address"."""
    begin = at
    while at < len(said) and (found := tables.asking.at(said, at)) is not None:
        at = found[1]
        if found[0] is Tag.EXTRA:
            if not read_back.acts.isdisjoint(said[begin:at]):
                return None  # what was read back, done in another way
            while at < len(said) and tables.values.value(said, at) is None:
                more = tables.extra_words.at(said, at)
                if more is None:
                    break
                at = more[1]
            return [Piece(Tag.EXTRA, " ".join(said[begin:at]), at)]
    return None


def _piece(said: Sequence[str], at: int, read_back: ReadBack, tables: Tables, before: Sequence[Piece]) -> Piece:
    word = said[at]
    if word == "?":
        return Piece(Tag.MARK, word, at + 1)
    if word in tables.persons and at + 1 < len(said):
        if tables.values.value(said, at + 1) is not None or read_back.has_word(said[at + 1]):
            return Piece(Tag.NEUTRAL, word, at + 1)
    known = tables.phrases.at(said, at, read_back.acts)
    if (beside := _beside(said, at, known, read_back, tables, before)) is not None:
        return beside
    good = max(tables.statements.end(said, at, read_back.predicates), read_back.answered(said, at))
    if not good and before and before[-1].tag is Tag.ECHO:
        good = tables.statements.after(said, at, read_back.predicates)
    if good and (known is None or known[1] <= good):
        return Piece(Tag.YES, " ".join(said[at:good]), good)
    if known is not None and known[0] in _FIRST and not _is_month(said, at, known[1], tables):
        return Piece(known[0], " ".join(said[at : known[1]]), known[1])
    if (value := tables.values.value(said, at)) is not None and (known is None or known[1] <= value.end):
        return _value(value, before, read_back, tables)
    if before and before[-1].kind == "number" and (word in tables.suffixes or _counts(word, read_back, tables)):
        return Piece(Tag.NEUTRAL, word, at + 1)
    if read_back.has_pair(said, at, tables) and not _opens(known):
        return Piece(Tag.ECHO, word, at + 1, "word")
    if before and before[-1].tag in (Tag.YES, Tag.FILLER) and _goes_along(said, at, read_back, tables):
        return Piece(Tag.FILLER, word, at + 1)
    if word in tables.prepositions:
        following = at + 1
        while following < len(said) and (small := tables.phrases.at(said, following)) and small[0] is Tag.NEUTRAL:
            following = small[1]
        if tables.sounds.get(word) in tables.counts and following < len(said) and read_back.is_counted(said[following]):
            return Piece(Tag.UNKNOWN, word, at + 1)  # "for adults" may be "four adults"
        named = following < len(said) and tables.values.value(said, following) is not None
        if named or (following < len(said) and _repeats(said[following], read_back, tables)):
            return Piece(Tag.NEUTRAL, word, at + 1, "preposition")
    if known is not None:
        return Piece(known[0], " ".join(said[at : known[1]]), known[1])
    does = word in tables.acts and word not in read_back.acts and at + 1 < len(said) and said[at + 1] in tables.pronouns
    if not does and _repeats(word, read_back, tables):  # "order it" repeats nothing of "shall I cancel the order?"
        repeated = _stands(("word", word), before, read_back, tables)
        return Piece(Tag.ECHO if repeated else Tag.OTHER, word, at + 1, "word")
    return Piece(Tag.UNKNOWN, word, at + 1)


def _beside(
    said: Sequence[str],
    at: int,
    known: tuple[Tag, int] | None,
    read_back: ReadBack,
    tables: Tables,
    before: Sequence[Piece],
) -> Piece | None:
    """What counts only right behind something: "love" and "do" in "yes love", "yes do"; or is said of a yes."""
    right = tables.rights.at(said, at)
    if right is not None and right[1] < len(said) and read_back.has_kind(said[right[1]], tables):
        return Piece(Tag.FILLER, " ".join(said[at : right[1] + 1]), right[1] + 1)
    last = before[-1] if before else None
    if last is not None and last.tag in (Tag.NO, Tag.WAIT) and (later := tables.afterwards.at(said, at)) is not None:
        return Piece(Tag.FILLER, " ".join(said[at : later[1]]), later[1])
    if last is None or last.tag not in _CALLED or tables.statements.is_adverb(last.text):
        return None
    called = tables.vocatives.at(said, at)
    if called is not None and not (known is not None and known[1] > called[1]):
        return (
            None
            if read_back.has_word(said[called[1] - 1])
            else Piece(Tag.FILLER, " ".join(said[at : called[1]]), called[1])
        )
    closes = tables.closing.at(said, at)
    longer = closes is not None and known is not None and known[1] > closes[1]
    if closes is not None and not longer and last.tag in _AGREES and _only_polite(said, closes[1], tables):
        return Piece(Tag.YES, said[at], closes[1])
    return None


_CALLED = frozenset({Tag.YES, Tag.LISTENING, Tag.NO, Tag.ALONE, Tag.FILLER})


def _only_polite(said: Sequence[str], at: int, tables: Tables) -> bool:
    """Whether nothing but politeness, and who is spoken to, follows; or a no, which counts by itself."""
    while at < len(said):
        polite = tables.phrases.at(said, at) or tables.vocatives.at(said, at)
        short = polite is not None and polite[0] in _AGREES and polite[1] == at + 1  # "lovely"
        if polite is None or (polite[0] not in (Tag.FILLER, Tag.NO) and not short):
            return False
        if polite[0] is Tag.NO:
            return True
        at = polite[1]
    return True


def _repeats(word: str, read_back: ReadBack, tables: Tables) -> bool:
    return read_back.has_word(word) and word not in tables.pronouns and word not in tables.persons


def _value(value: Value, before: Sequence[Piece], read_back: ReadBack, tables: Tables) -> Piece:
    if value.text in tables.at_once and not any(
        read_back.has_any(kind) for kind in ("day", "month", "ordinal", "part")
    ):
        return Piece(Tag.FILLER, value.text, value.end)
    repeated = read_back.has(value) and _stands((value.kind, value.text), before, read_back, tables)
    return Piece(Tag.ECHO if repeated else Tag.OTHER, value.text, value.end, value.kind)


def _goes_along(said: Sequence[str], at: int, read_back: ReadBack, tables: Tables) -> bool:
    """Whether it is "off" or "me" behind a verb that the read-back has with "off" or "you"."""
    you = tables.addressed.get(said[at])
    if you is not None:
        return at > 0 and said[at - 1] in read_back.acts and read_back.has_pair((said[at - 1], you), 0, tables)
    return said[at] in read_back.particles


def _counts(word: str, read_back: ReadBack, tables: Tables) -> bool:
    """Whether it only counts, as in "four people" where the read-back has "four"."""
    return word in tables.counted and not read_back.has_word(word)


_TIMES = ("day", "month", "ordinal", "part")
_FIRST = frozenset(
    {Tag.YES, Tag.LISTENING, Tag.NO, Tag.WAIT, Tag.HEDGE, Tag.FILLER, Tag.HESITATION, Tag.SPEAKING, Tag.ALONE}
)
"""Go before the words of the read-back."""


def _opens(known: tuple[Tag, int] | None) -> bool:
    return known is not None and known[0] is Tag.QUESTION


def _is_month(said: Sequence[str], at: int, end: int, tables: Tables) -> bool:
    """Whether it is "May" behind a day: the month."""
    return end == at + 1 and tables.values.named.get(said[at], ("",))[0] == "month" and at > 0 and said[at - 1] == "of"


def _stands(atom: tuple[str, str], before: Sequence[Piece], read_back: ReadBack, tables: Tables) -> bool:
    """Whether what is repeated stands where the read-back has it."""
    for piece in reversed(before):
        if piece.kind == "preposition":
            if not read_back.fits(tables.prepositions[piece.text], atom, tables):
                return False
        elif piece.tag is not Tag.NEUTRAL:
            return piece.tag is not Tag.ECHO or read_back.agrees((piece.kind, piece.text), atom, piece is before[-1])
    return True


# -- deciding


def _settled(pieces: list[Piece], tables: Tables) -> list[Piece]:
    """The same, where what was taken back or said by the way is a filler: "no no that's right", "no wait, yes"."""
    settled: list[Piece] = []
    for number, piece in enumerate(pieces):
        following = next((later for later in pieces[number + 1 :] if not _passes(later, piece)), None)
        after = following.tag if following is not None else None
        if (piece.text in tables.elliptic or piece.kind == "short") and after in (Tag.ECHO, Tag.NEUTRAL):
            settled.append(_neutral(piece))
            continue
        if piece.text in tables.correction and after in (Tag.YES, Tag.NO):
            if after is Tag.YES:
                settled = [_idle(one) if one.tag in (Tag.NO, Tag.WAIT) else one for one in settled]
            settled.append(_idle(piece))
        elif number and piece.tag in _AGREES and _negates(pieces[number - 1], tables):
            settled.append(_idle(piece))  # "it's not all right"
        elif piece.tag is Tag.NO and following is not None and following.tag is Tag.YES:
            last = next((one.tag for one in reversed(settled) if one.tag is not Tag.FILLER), None)
            affirms = any(f"{following.text} ".startswith(f"{phrase} ") for phrase in tables.affirming)
            idle = affirms or (last in _AGREES and following.text in tables.excusing)
            declines = not idle and following.text in tables.excusing
            settled.append(_idle(piece) if idle and " " not in piece.text else piece)
            if declines:
                # "No, that's okay": thank you, but no.
                return [*settled, Piece(Tag.NEGATION, piece.text, pieces[-1].end)]
        else:
            settled.append(piece)
    return settled


def _negates(piece: Piece, tables: Tables) -> bool:
    """Whether it negates what comes next: "it's not", "that would not be"."""
    words = piece.text.split()
    return piece.tag is Tag.NO and len(words) > 1 and not tables.negating.isdisjoint(words[1:])


def _neutral(piece: Piece) -> Piece:
    return Piece(Tag.NEUTRAL, piece.text, piece.end)


def _idle(piece: Piece) -> Piece:
    return Piece(Tag.FILLER, piece.text, piece.end)


def _passes(later: Piece, piece: Piece) -> bool:
    """Whether `later` stands between `piece` and what follows it without a meaning of its own."""
    if piece.tag is Tag.NO and later.text == piece.text:
        return True
    return later.tag in (Tag.FILLER, Tag.HESITATION) or (piece.tag is Tag.WAIT and later.tag is Tag.LISTENING)


_ALLOWED = frozenset(
    {
        Tag.YES,
        Tag.LISTENING,
        Tag.FILLER,
        Tag.HESITATION,
        Tag.NEUTRAL,
        Tag.ECHO,
        Tag.EXTRA,
        Tag.MARK,
        Tag.ALONE,
    }
)


def _consent(pieces: Sequence[Piece], read_back: ReadBack, tables: Tables) -> Reply | None:
    """A yes, if all that was said belongs to one."""
    if any(piece.tag not in _ALLOWED for piece in pieces):
        return None
    agreeing = [piece.text for piece in pieces if piece.tag in _AGREES]
    if agreeing and all(text in read_back.acts and text not in read_back.acts_asked for text in agreeing):
        return None  # "freeze": one word that the question has not is as soon one that was not understood
    tags = [piece.tag for piece in pieces]
    if Tag.ALONE in tags or all(tag is Tag.FILLER for tag in tags):
        return _alone(pieces, tables)
    if Tag.YES not in tags and Tag.LISTENING not in tags:
        return None
    if _is_asked(pieces, tables) or _is_left_open(pieces, read_back, tables):
        return None
    if any(piece.text in tables.greetings for piece in pieces) and not any(" " in text for text in agreeing):
        return None
    if Tag.EXTRA in tags:
        return Reply.YES_AND
    if Tag.YES in tags:
        return Reply.YES
    if Tag.HESITATION in tags or (Tag.ECHO in tags and tags.index(Tag.LISTENING) > tags.index(Tag.ECHO)):
        return None  # "Friday at seven, right" may ask
    return Reply.YES if Tag.ECHO in tags else Reply.BACKCHANNEL


def _alone(pieces: Sequence[Piece], tables: Tables) -> Reply | None:
    """A yes, if what agrees by itself ("please") stands beside nothing that is more than polite, or agrees as well."""
    if sum(len(piece.text) == 1 for piece in pieces) > 1:
        return None  # "o k o" spells a name
    agrees = all(piece.tag in (Tag.YES, Tag.LISTENING, Tag.FILLER, Tag.ALONE) for piece in pieces)
    return Reply.YES if agrees and any(piece.text in tables.alone for piece in pieces) else None


def _is_asked(pieces: Sequence[Piece], tables: Tables) -> bool:
    """Whether a question mark makes the yes a question. "Eight thirty? Yes." is none."""
    agreed = False
    for piece in pieces:
        if piece.tag is Tag.MARK and agreed:
            return True
        if piece.tag in _AGREES:
            agreed = piece.text.split()[-1] not in tables.negation
        elif piece.tag is Tag.EXTRA:
            agreed = False
    return False


def _is_left_open(pieces: Sequence[Piece], read_back: ReadBack, tables: Tables) -> bool:
    """Whether more was to come: it ends in the middle, or goes on with "and" behind a yes, and then only repeats."""
    if pieces[-1].tag is not Tag.EXTRA and pieces[-1].text in tables.open_end:
        return True
    told = [piece for piece in pieces if piece.tag is not Tag.FILLER]
    if len(told) > 1 and told[-1].text in tables.pronouns and told[-2].tag is Tag.YES and " " not in told[-2].text:
        return True  # "correct it"
    for number, piece in enumerate(pieces):
        following = pieces[number + 1] if number + 1 < len(pieces) else None
        if piece.kind == "preposition" and following is None:
            return True
        if piece.tag is Tag.YES and piece.text.split()[-1] in tables.open_end and not _ends(pieces, number):
            return True
        if piece.text in tables.articles | tables.persons and following is not None and following.tag in _AGREES:
            return True  # "a right", "I'm okay"
        while following is not None and following.tag is Tag.NEUTRAL and following.end < pieces[-1].end:
            following = pieces[pieces.index(following) + 1]
        if piece.text in tables.copulas and following is not None and following.kind == "word":
            named = number and following.end == pieces[-1].end and read_back.is_valued(following.text)
            if not named or following is not pieces[number + 1]:
                return True  # "yes, that's Tilly", but not "it's a birthday"
        if piece.text in tables.joining and piece.tag is Tag.NEUTRAL:
            before = next((one.tag for one in reversed(pieces[:number]) if one.tag is not Tag.FILLER), None)
            after = next((one.tag for one in pieces[number + 1 :] if one.tag is not Tag.FILLER), None)
            if after is None or (before in _AGREES and after not in _AGREES):
                return True
    return False


def _ends(pieces: Sequence[Piece], number: int) -> bool:
    """Whether nothing that names something follows: "I'd like to, please", but not "I'd like to go"."""
    after = next((piece.tag for piece in pieces[number + 1 :] if piece.tag is not Tag.FILLER), None)
    return after in (None, *_AGREES, Tag.MARK, Tag.HESITATION, Tag.EXTRA)


def _gives_reason(pieces: Sequence[Piece], said: Sequence[str], tables: Tables) -> bool:
    """Whether it refuses and then says why: "no thanks, we found another one"."""
    if any(piece.tag in (Tag.OTHER, Tag.CONDITION) for piece in pieces):
        return False
    refused = next((number for number, piece in enumerate(pieces) if piece.tag in (Tag.NO, Tag.WAIT)), None)
    if refused is None or any(piece.tag in _AGREES for piece in pieces[:refused]):
        return False
    at = pieces[refused].end
    for piece in pieces[refused + 1 :]:
        if piece.tag not in (Tag.NO, Tag.WAIT, Tag.FILLER):
            break
        at = piece.end
    reason = tables.reasons.at(said, at) if at < len(said) else None
    return reason is not None and tables.wishes.isdisjoint(said[reason[1] :])


_CHANGES = frozenset({Tag.OTHER, Tag.CONDITION, Tag.CONTRAST, Tag.CHANGE})
_PASSING = frozenset({Tag.FILLER, Tag.HESITATION, Tag.NEUTRAL, Tag.YES, Tag.LISTENING, Tag.WAIT})
_DECISIVE = frozenset({Tag.YES, Tag.LISTENING, Tag.NO, Tag.WAIT})


def _otherwise(pieces: Sequence[Piece], said: Sequence[str], tables: Tables) -> Reply:
    """What it is if it is no yes."""
    tags = {piece.tag for piece in pieces}
    first = next((number for number, piece in enumerate(pieces) if piece.tag not in _PASSING), len(pieces))
    opens = pieces[first].tag if first < len(pieces) else None
    begin = pieces[first - 1].end if first else 0
    if opens is Tag.QUESTION:
        requests = tables.requests.at(said, begin) and not tables.checking.at(said, begin)
        return Reply.CHANGE if requests and tags & _CHANGES else Reply.QUESTION
    if any(tables.checking.at(said, at) for at in range(min(3, len(said)))):
        return Reply.QUESTION
    told = bool(tags & {Tag.REPORTED, Tag.SPEAKING})
    if _gives_reason(pieces, said, tables):
        return Reply.NO
    if opens is Tag.NO and not tags & (_CHANGES | {Tag.YES, Tag.LISTENING}):
        return _answer(pieces, tags)
    if tags & _CHANGES:
        return Reply.UNCLEAR if told and Tag.OTHER not in tags else Reply.CHANGE
    if told or Tag.HEDGE in tags:
        return Reply.UNCLEAR
    if Tag.MARK in tags:
        return Reply.QUESTION if tags & {Tag.ECHO, Tag.UNKNOWN, Tag.QUESTION} else Reply.UNCLEAR
    return _answer(pieces, tags)


def _answer(pieces: Sequence[Piece], tags: set[Tag]) -> Reply:
    """What a statement is that agrees with something unknown, or refuses."""
    decisive = [piece.tag for piece in pieces if piece.tag in _DECISIVE]
    if Tag.NEGATION in tags:
        return Reply.NO
    refuses = [tag in (Tag.NO, Tag.WAIT) for tag in decisive]
    told = [piece for piece in pieces if piece.tag not in (Tag.FILLER, Tag.HESITATION)]
    if decisive and (refuses[-1] or (refuses[0] and Tag.UNKNOWN in tags)):
        names = told[0].tag is Tag.NO and len(told) > 1 and (told[1].tag is Tag.ECHO or told[1].kind == "preposition")
        return Reply.CHANGE if names and Tag.UNKNOWN in tags else Reply.NO
    if decisive and decisive[0] is Tag.YES and tags & {Tag.UNKNOWN, Tag.ECHO, Tag.QUESTION}:
        return Reply.CHANGE
    if Tag.UNKNOWN in tags and (Tag.ECHO in tags or told[0].tag is Tag.NEUTRAL or told[0].kind == "preposition"):
        return Reply.CHANGE
    return Reply.UNCLEAR
