"""How claims that something was done are made in English. `language.claims` reads them."""

from __future__ import annotations

import re

from antiphon.language.claims import Action, ClaimPhrases


def _participle(verb: str) -> str:
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
    participle=_participle,
)
