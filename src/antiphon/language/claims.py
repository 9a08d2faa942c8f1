"""Claims: what a sentence of the agent says was done ("I've booked your table").

Above: the runtime, which asks whether any tool has done it. Below: nothing. Precise before sensitive: what may be a
question, a condition, a denial, somebody else's doing or the state of the world is no claim. A sentence is read clause
by clause.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable

from antiphon.record import record


@record
class Action:
    """Something that tools do, in the words of a language."""

    names: str
    """How tools call it, in names and descriptions."""
    done: str
    """How somebody says that it was done: participles, and the past where it is another word."""
    things: str = ""
    """What it makes or changes, of which is said that it stands ("your booking is confirmed")."""
    is_alone: bool = True
    """Said of an agent that has no such tool it is a claim all the same."""


@record
class ClaimPhrases:
    """How a language claims that something was done. In a pattern, `{done}` stands for what was, `{thing}` for its."""

    actions: tuple[Action, ...] = ()
    did: tuple[str, ...] = ()
    """Patterns (regular expressions) that say that the agent has done it."""
    states: tuple[str, ...] = ()
    """Patterns that say that it is done: perhaps it was before, and a tool has found it so."""
    voids: str = r"(?!)"
    """What makes a clause no claim, up to the claim."""
    voids_behind: str = r"(?!)"
    """The same behind it."""
    asks: str = r"(?!)"
    """How a clause begins that asks."""
    tags: str = r"(?!)"
    """Last clauses by which a sentence asks whether it is so."""
    cuts: str = r"[,;:\u2014\u2013]"
    """Where one clause ends and the next begins."""
    past: bool = False
    """Participles of the verbs in tools' names can be made as in English."""


@record
class Claim:
    """A claim that something was done."""

    words: str
    """The clause."""
    done: str
    """What was done, in its word ("booked")."""
    names: frozenset[str]
    """How tools call it."""
    is_state: bool
    """It says that it is so, and not who has done it."""
    is_alone: bool
    """It is a claim whether or not there is such a tool."""


def claims_in(sentence: str, phrases: ClaimPhrases, verbs: Iterable[str] = ()) -> list[Claim]:
    """What the sentence claims. `verbs`: what the tools do that the agent has, by the first words of their names."""
    table = _table(phrases, tuple(sorted(set(verbs))))
    if table is None:
        return []
    text = _normal(sentence)
    if table.quick.search(text) is None:
        return []
    is_question = text.endswith("?")
    clauses = [clause.strip() for clause in re.split(phrases.cuts, text)]
    if is_question and re.fullmatch(phrases.tags, clauses[-1].rstrip("?")):
        return []
    found: list[Claim] = []
    for number, clause in enumerate(clauses, 1):
        if (is_question and number == len(clauses)) or re.match(phrases.asks, clause):
            continue
        claim = table.claim(clause, phrases)
        if claim is not None:
            found.append(claim)
    return found


def _normal(sentence: str) -> str:
    text = sentence.lower().replace("\u2019", "'")
    return " ".join(re.sub(r"[\"“”„»«()*_]", " ", text).split())


class _Table:
    """The patterns of one language for one set of tools."""

    __slots__ = ("_actions", "_did", "_states", "_things", "quick")

    def __init__(self, phrases: ClaimPhrases, actions: Collection[Action]) -> None:
        self._actions = {word: action for action in actions for word in _listed(action.done)}
        self._things = {word: action for action in actions for word in _listed(action.things)}
        done, things = _any(self._actions), _any(self._things)
        self.quick = re.compile(rf"\b(?:{done}|{things})\b")
        self._did = [re.compile(_filled(one, done, things)) for one in phrases.did]
        self._states = [re.compile(_filled(one, done, things)) for one in phrases.states]

    def claim(self, clause: str, phrases: ClaimPhrases) -> Claim | None:
        for patterns, is_state in ((self._did, False), (self._states, True)):
            for pattern in patterns:
                match = pattern.search(clause)
                if match is None or _is_void(clause, match, phrases):
                    continue
                groups = match.groupdict()
                word = groups.get("done") or groups.get("thing") or ""
                action = self._actions.get(word) or self._things[word]
                return Claim(clause, word, frozenset(_listed(action.names)), is_state, action.is_alone)
        return None


def _is_void(clause: str, match: re.Match[str], phrases: ClaimPhrases) -> bool:
    return bool(
        re.search(phrases.voids, clause[: match.end()]) or re.search(phrases.voids_behind, clause[match.end() :])
    )


@functools.lru_cache(maxsize=64)
def _table(phrases: ClaimPhrases, verbs: tuple[str, ...]) -> _Table | None:
    if not phrases.actions:
        return None
    known = {name for action in phrases.actions for name in _listed(action.names)}
    own = [Action(verb, _past(verb), is_alone=False) for verb in verbs if phrases.past and verb not in known]
    return _Table(phrases, [*phrases.actions, *(action for action in own if action.done)])


def _past(verb: str) -> str:
    """The past of a regular English verb, both ways of spelling; "" for what is none, or does nothing to the world."""
    if not re.fullmatch(r"[a-z]{3,}", verb) or verb in _NO_DEEDS or verb.endswith("ing"):
        return ""
    if verb.endswith("e"):
        return f"{verb}d"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ied"
    return f"{verb}ed|{verb}{verb[-1]}ed"


_NO_DEEDS = frozenset(
    "get find look lookup search check list read show tell see fetch query view describe explain calculate count"
    " compare estimate verify validate weather ask answer wait help end say speak talk transfer handle run call use set"
    " put let make do go come start begin think know the and for with from this that".split()
)


def _listed(words: str) -> list[str]:
    return [word for word in words.split("|") if word]


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word))) or "(?!)"


def _filled(pattern: str, done: str, things: str) -> str:
    return pattern.replace("{done}", rf"(?P<done>{done})\b").replace("{thing}", rf"(?P<thing>{things})\b")


_ADVERBS = r"(?: (?:just|now|also|already|successfully|actually|indeed|gone ahead and|went ahead and|both))*"
_SAYS = r"(?:^|\b(?:and|so|but|then|okay|ok|great|perfect|alright|right|well|good|sure|yes|done) |\bthat )"

ENGLISH_CLAIMS = ClaimPhrases(
    actions=(
        Action("book|reserve|booking|reservation", "booked|reserved", "booking|reservation"),
        Action("cancel|cancellation", "cancelled|canceled|called off", "cancellation"),
        Action("reschedule|move|postpone|rebook|change", "rescheduled|postponed|rebooked"),
        Action("schedule|appointment|book|arrange", "scheduled|arranged", "appointment"),
        Action("order|purchase|buy|checkout", "ordered|purchased|bought", "order|purchase"),
        Action("pay|payment|charge|bill", "paid|charged|billed", "payment"),
        Action("refund|reimburse|credit", "refunded|reimbursed|credited", "refund"),
        Action("email|mail|send|notify", "emailed|mailed"),
        Action("text|sms|send|notify|message", "texted"),
        Action("send|email|mail|sms|text|message|notify|dispatch|ship|forward", "sent|shipped|dispatched"),
        Action(
            "register|enroll|enrol|signup|subscribe", "registered|enrolled|subscribed|signed you up", "registration"
        ),
        Action("unsubscribe|deregister", "unsubscribed"),
        Action("delete|remove|erase|drop|wipe", "deleted|erased|removed"),
        Action("update|change|edit|modify|set|correct", "updated|amended|modified", is_alone=False),
        Action("change|update|edit|modify|set|move|switch|reschedule", "changed|switched|moved", is_alone=False),
        Action("create|open|add|make|new|place|file|submit|log", "created|opened|filed|submitted", is_alone=False),
        Action("add|create|append|put|insert|book|order", "added", is_alone=False),
        Action("place|order|create|submit", "placed", is_alone=False),
        Action("save|store|note|record|write|log|update|add", "saved|recorded|stored", is_alone=False),
        Action("transfer|wire|move|pay|send", "transferred|wired"),
        Action("activate|enable|turn|switch|start", "activated|enabled|turned on|switched on", is_alone=False),
        Action(
            "deactivate|disable|turn|switch|block|stop|freeze",
            "deactivated|disabled|turned off|switched off|blocked",
            is_alone=False,
        ),
        Action("reset|restart|reboot", "reset|restarted", is_alone=False),
        Action("confirm", "confirmed", is_alone=False),
    ),
    did=(
        rf"\b(?:i|we)(?:'ve| have){_ADVERBS} {{done}}",
        rf"{_SAYS}(?:i|we){_ADVERBS} {{done}}(?! (?:every|all day))",
        r"\b(?:i|we)(?:'ve| have)(?: just| now| also)? (?:got|had) (?:you|it|that|this|them|your \w+(?: \w+)?)"
        r"(?: all| now)* {done}",
        r"\byou(?:'re| are)(?: all| now| officially)* {done}(?! (?:out|up|solid|by|to|for being))",
        r"^(?:(?:okay|ok|great|perfect|alright|all|done|and|successfully|good|excellent|wonderful)\W* )*{done}"
        r"(?=$|[.!]| (?:for|on|at|it|your|you|the|a|that|under|in|both|two|three|four|as)\b)",
        r"\byour (?:[\w'-]+ ){0,3}{thing}(?:'s| is| has been| was)(?: now| all| successfully)*"
        r" (?:confirmed|complete|completed|placed|made|processed|set|done|in the system|scheduled)\b",
        r"\byour (?:[\w'-]+ ){0,3}{thing} (?:has gone through|went through|is all set)\b",
        r"\b(?:it|that)(?:'s| is)(?: all| now)+ {done}(?! (?:out|up|solid|by))",
    ),
    states=(
        r"\byour [\w' -]{2,40}?(?:'s| is| are| has been| have been| was| were)(?: now| all| successfully| officially)*"
        r" {done}(?! (?:out|up|solid|by|to be))",
        r"\b(?:that|this|everything)(?:'s| is| has been|'s been)(?: now| all)* {done}(?! (?:out|up|solid|by))",
        r"\b(?:it|they)(?:'s been| has been| have been|'ve been)(?: now| all)* {done}(?! (?:out|up|solid|by))",
        r"\bthe (?:[\w'-]+ ){0,3}?[\w'-]+ (?:has|have) (?:now |just )*been {done}(?! (?:out|up|solid|by))",
    ),
    voids=(
        r"n't\b|\b(?:not|never|no|nothing|nobody|none|neither|nor|cannot|unable|without|hardly|if|once|when|whenever"
        r"|after|before|until|till|unless|whether|as soon as|would|could|should|might|may (?:have|be)|will|shall|'ll"
        r"|had (?:i|we)|in case|try|tried|trying|say|said|says|saying|told|think|thought|believe|assume|wish|want|hope"
        r"|need|going to|about to|gonna|example|somebody|someone|pretend|imagine|confirm (?:that|whether)|check"
        r"|suppose|unfortunately|almost|nearly|only (?:if|when)|far from|how|what|why|which|who|like|supposed)\b"
        r"|\b(?:i|we)'d\b"
    ),
    voids_behind=(
        r"^ (?:no|nothing|none|nobody|neither)\b|\b(?:yesterday|ago|previously|in the past|last (?:week|month|year|time"
        r"|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|before\b(?! (?:\d|noon|lunch|you|the)))"
    ),
    asks=(
        r"(?:so |and |but |or )?(?:have|has|had|did|do|does|is|are|was|were|am|can|could|shall|should|will|would|may"
        r"|might|what|which|who|whom|when|where|why|how)\b"
    ),
    cuts=(
        r"[,;:\u2014\u2013]|[.!?](?= )| - | but | because | although | though (?=i |we |you|it|that)"
        r"| and (?=(?:i|we|you|it)(?:'| ))"
    ),
    tags=r"right|correct|yes|no|okay|ok|true|or not|is that (?:right|correct)|isn't it|hasn't it|haven't i|didn't i",
    past=True,
)
