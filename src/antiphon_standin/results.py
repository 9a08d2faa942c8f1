"""What a tool's result says to the caller, and what it tells the model to do.

A result is split into sentences. Guidance aimed at the model ("Ask the user to double-check the code.") is turned into
what it asks for; the rest is made fit for speech. Sentences that the tool has already spoken itself are left out.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from antiphon_standin import moments
from antiphon_standin.own_outputs import in_words
from antiphon_standin.words import content_stems, join_words


@dataclass(slots=True, frozen=True)
class Digest:
    """A result, taken apart."""

    facts: tuple[str, ...] = ()
    """Sentences for the caller, ready to be spoken."""
    questions: tuple[str, ...] = ()
    """What the guidance wants asked, as questions."""
    remarks: tuple[str, ...] = ()
    """What the guidance wants said."""
    wants_read_back: bool = False
    again: bool = False
    """The call is to be made again as it is."""
    goodbye: bool = False
    anything_else: bool = False
    retry_later: bool = False
    times: tuple[tuple[int, int], ...] = ()
    items: tuple[str, ...] = ()
    """What it lists."""
    negative: bool = False
    """It says that there is nothing, or that it cannot be done."""


_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(#\d])|\n+|;\s+(?=[A-Z])")
_ABBREVIATIONS = re.compile(r"\b(Mr|Mrs|Ms|Dr|St|No|vs|a\.m|p\.m)\.$", re.I)


def sentences(text: str) -> list[str]:
    """The sentences of a text, initials and abbreviations left whole."""
    out: list[str] = []
    for part in _SENTENCE.split(text.strip()):
        part = part.strip()
        if not part:
            continue
        if out and _ABBREVIATIONS.search(out[-1]):
            out[-1] += " " + part
        else:
            out.append(part)
    return out


_GUIDE = re.compile(
    r"^(?:please |now |then |next,? |you (?:should|must|can|may) |and )?"
    r"(ask|tell|say|let|inform|offer|suggest|apologi[sz]e|confirm with|read|thank (?:the|them|him|her)|do not|don't|"
    r"never|use|call|wait|"
    r"remind|advise|encourage|explain|greet|wish|mention|repeat|respond|reply|answer|invite|summari[sz]e|check with|"
    r"proceed|continue|give the|provide the|notify|relay|convey|speak|keep|warn|welcome|verify with|recommend)\b",
    re.I,
)
_ADDRESSEE = re.compile(r"\b(?:the|this) (?:user|caller|customer|client|guest|visitor|person|member)\b", re.I)


def is_guidance(sentence: str) -> bool:
    """True for a sentence that instructs the model and is not meant for the caller's ears."""
    if _GUIDE.match(sentence):
        return not re.match(
            r"(?:please )?(?:call|use|keep|wait|check)\b(?!.*\b(?:tool|function|again|user|caller|customer)\b)",
            sentence,
            re.I,
        )
    return bool(_ADDRESSEE.search(sentence)) and bool(re.match(r"(?:if|when|once|after|before)\b", sentence, re.I))


def to_you(text: str) -> str:
    """Third person to second: "the user's code" becomes "your code"."""
    text = re.sub(r"\b(?:the|a) (?:user|caller|customer|client|person)'s\b", "your", text, flags=re.I)
    text = re.sub(r"\b(?:the|a) (?:user|caller|customer|client|person) (?:is|are)\b", "you are", text, flags=re.I)
    text = re.sub(r"\b(?:the|a) (?:user|caller|customer|client|person) (?:was)\b", "you were", text, flags=re.I)
    text = re.sub(r"\b(?:the|a) (?:user|caller|customer|client|person) has\b", "you have", text, flags=re.I)
    text = re.sub(r"\b(?:the|a) (?:user|caller|customer|client|person) (\w+?)s\b", r"you \1", text, flags=re.I)
    text = re.sub(r"\b(?:the|a) (?:user|caller|customer|client|person)\b", "you", text, flags=re.I)
    text = re.sub(r"\btheir\b", "your", text)
    text = re.sub(r"\bthemselves\b", "yourself", text)
    text = re.sub(r"\bthem\b", "you", text)
    return re.sub(r"\bthey(?:'re| are)\b", "you are", re.sub(r"\bthey\b", "you", text))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@dataclass(slots=True, frozen=True)
class Guide:
    """A sentence of guidance, understood."""

    question: str = ""
    remark: str = ""
    anything_else: bool = False
    goodbye: bool = False
    read_back: bool = False
    again: bool = False
    retry_later: bool = False
    greet: bool = False


def guide(sentence: str) -> Guide:
    """What a sentence of guidance asks for, put in words for the caller."""
    text = sentence.strip().rstrip(".!").strip()
    if _ADDRESSEE.search(text):
        text = re.sub(r"(?<=that )you are\b|(?<=that )you're\b", "I am", text)
        text = re.sub(r"(?<=that )you (?=will|can|have|cannot|can't|could|do|don't)", "I ", text)
    low = text.lower()
    signal = _signal(low)
    if signal is not None:
        return signal
    if match := re.match(r"(?:please )?greet\b(.*)", text, re.I):
        follow = re.search(r"(?:and|then) ((?:ask|offer|tell|invite|find)\b.*)", match[1], re.I)
        inner = guide(follow[1]) if follow else Guide()
        return Guide(greet=True, question=inner.question)
    if re.match(r"(?:please )?(?:offer|find out)\b.*\b(?:help|assistance|how you can)\b", low):
        return Guide(question="How can I help you?")
    if match := re.search(
        r"\bask (?:\w+ )?(?:the user|the caller|the customer|them|the person|the client|)\s*"
        r"(?:to (?:try|call) (?:it )?again)\b(.*)",
        text,
        re.I,
    ):
        return Guide(question=f"Could you try again{to_you(match[1])}?", retry_later=True)
    if match := re.match(
        r".*?\b(?:ask|remind|invite|encourage|advise|tell|check with|confirm with|verify with)\b\s+(?:\w+ly )?"
        r"(?:(?:the user|the caller|the customer|the client|the person|them|they|user|caller)\b)?\s*(?:again )?(.*)",
        text,
        re.I,
    ):
        return _asking(match[1], low)
    return _stating(text, low)


def _signal(low: str) -> Guide | None:
    """A sentence that says what happens next, and nothing to put in words."""
    if re.search(r"\bread\b.*\bback\b", low):
        return Guide(read_back=True)
    if re.search(r"\bcall (?:this (?:tool|function)|it|the tool)?\s*again|\bcall again\b", low) and "user" not in low:
        return Guide(again=True)
    if re.search(
        r"\b(?:goodbye|good-bye|farewell)\b|\bend the (?:call|conversation)\b|wish .* (?:good|nice|great) day", low
    ):
        return Guide(goodbye=True)
    if re.search(r"\banything else\b", low):
        return Guide(anything_else=True)
    return None


def _stating(text: str, low: str) -> Guide:
    """A sentence that says what the caller is to be told, or offered."""
    if match := re.match(
        r"(?:please )?(?:say|mention|explain|relay|convey|respond with|reply with|answer with)\b(?: that)?:?\s*(.*)",
        text,
        re.I,
    ):
        return Guide(remark=_capital(to_you(match[1]).strip("\"'")) + ".")
    if match := re.match(
        r"(?:please )?(?:let|inform|notify|warn)\s+(?:the user|the caller|the customer|them)(?: know)?\s*"
        r"(?:that|of|about)?\s*(.*)",
        text,
        re.I,
    ):
        return Guide(remark=_capital(to_you(match[1])) + ".") if match[1] else Guide()
    if match := re.match(
        r"(?:please )?(?:offer|suggest|recommend)\b\s*(?:(?:the user|the caller|them)\s+)?(.*)", text, re.I
    ):
        rest = to_you(match[1])
        return Guide(question=f"Would you like {_lower(re.sub('^to ', 'me to ', rest))}?") if rest else Guide()
    if re.match(r"(?:please )?apologi[sz]e", low):
        return Guide(remark="I'm sorry about that.")
    if re.match(r"(?:please )?thank", low):
        return Guide(remark="Thank you.")
    if re.match(r"(?:please )?welcome", low):
        return Guide(greet=True)
    return Guide()


def _lower(text: str) -> str:
    return text if text[:2].isupper() or text.startswith(("I ", "I'")) else text[:1].lower() + text[1:]


def _asking(rest: str, low: str) -> Guide:
    rest = to_you(rest.strip().strip("\"'"))
    if not rest:
        return Guide(question="How can I help?")
    verb = re.match(r"\W*(\w+)", low)
    if rest.startswith("to ") and verb and verb[1] in ("tell", "remind", "advise", "encourage"):
        return Guide(remark=f"Please {rest[3:]}.")
    if rest.startswith("to "):
        return Guide(question=f"Could you {re.sub(r'(?<= )and to ', 'and ', rest[3:])}?")
    if match := re.match(r"(?:for|about) (.*)", rest, re.I):
        return Guide(
            question=f"Could you tell me {_lower(match[1])}?"
            if not match[1].lower().startswith("a ")
            else f"Could you give me {match[1]}?"
        )
    if match := re.match(r"(?:if|whether) (.*)", rest, re.I):
        inner = match[1]
        swapped = re.match(r"you (would|can|could|will|have|want|need|are|do) ?(.*)", inner)
        if swapped and swapped[1] in ("would", "can", "could", "will", "are"):
            return Guide(question=f"{swapped[1].capitalize()} you {swapped[2]}?")
        if inner.startswith("you "):
            return Guide(question=f"Do {inner}?")
        if inner.startswith("there is "):
            return Guide(question=f"Is there {inner[9:]}?")
        return Guide(question=f"Could you tell me whether {inner}?")
    if re.match(r"(?:that|of|about)\b", rest, re.I) or (verb and verb[1] in ("tell", "remind", "advise")):
        return Guide(remark=_capital(re.sub(r"^(?:that|of|about) ", "", rest)) + ".")
    if re.match(r"(?:how|what|which|when|where|who|why)\b", rest, re.I):
        return Guide(question=_direct(rest))
    return Guide(question=f"Could you tell me {_lower(rest)}?")


def _direct(clause: str) -> str:
    """As in "what date you want" becomes "What date would you like?"; what cannot be turned is asked politely."""
    if re.match(r"(?:how|what) (?:you|i) (?:can|could|may) (?:help|assist|do)", clause, re.I):
        return "How can I help you?"
    if match := re.match(
        r"(how|what|when|where|which|who)\b(.*?)\byou (can|could|would|will|are|should) (.*)", clause, re.I
    ):
        return f"{_capital(match[1])}{match[2]} {match[3]} you {match[4]}?".replace("  ", " ")
    if match := re.match(
        r"(how|what|when|where|which|who)\b(.*?)\byou (?:want|would like|wants|prefer|need|like)\b(.*)", clause, re.I
    ):
        return f"{_capital(match[1])}{match[2]} would you like{match[3]}?".replace("  ", " ")
    return f"Could you tell me {_lower(clause)}?"


# -- facts


_ISO_MOMENT = re.compile(
    r"\b(\d{4}-\d{2}-\d{2})[T ]([01]\d|2[0-3]):([0-5]\d)(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?(?![\d:])"
)
_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_24H = re.compile(r"(?<![\d:])([01]\d|2[0-3]):([0-5]\d)(?![\d:]|\s?[ap]\.?m)", re.I)


def speakable(text: str) -> str:
    """Text with machine forms of dates and times in spoken ones, and without markup."""

    def date(match: re.Match[str]) -> str:
        try:
            return moments.spoken_date(dt.date(int(match[1]), int(match[2]), int(match[3])))
        except ValueError:
            return match[0]

    text = _ISO_MOMENT.sub(
        lambda m: f"{m[1]} at {moments.twelve_hour(int(m[2]), int(m[3]), minutes_always=False)}", text
    )
    text = _ISO_DATE.sub(date, text)
    text = _24H.sub(lambda m: moments.twelve_hour(int(m[1]), int(m[2]), minutes_always=False), text)
    text = re.sub(r"\b(?:on|at) (?=(?:next|this|last) \w|tomorrow\b|today\b|tonight\b)", "", text)
    text = re.sub(r"[*_`#]+(?=\w)|(?<=\w)[*_`]+", "", text)
    return text.strip()


_LIST = re.compile(r"^(?P<head>[^:]{3,90}): (?P<list>[^:]+(?::\d\d[^:]*)*)$")


def _fact(sentence: str) -> tuple[str, tuple[str, ...]]:
    """A sentence for speech, and what it lists: "Slots for Friday: 9, 10" becomes "Slots for Friday are 9 and 10."."""
    text = speakable(sentence).rstrip(".")
    if _ADDRESSEE.search(text):
        text = to_you(text)
    if match := _LIST.match(text):
        listed = [p.strip() for p in re.split(r",\s+(?:and |or )?|\s+and\s+|\s*\|\s*", match["list"]) if p.strip()]
        head = match["head"].strip()
        if (
            len(listed) > 1
            and not re.search(
                r"\b(?:is|are|confirmed|booked|cancelled|canceled|placed|done|was|were|has|have)\b",
                head.split(" for ")[0],
                re.I,
            )
            and not re.fullmatch(r"\w+ed|taken out|in the .*", head, re.I)
        ):
            if head.lower() == "available":
                return f"I do have {join_words(listed)}.", tuple(listed)
            return f"{_capital(head)} are {join_words(listed)}.", tuple(listed)
    items = _enumerated(text)
    end = "" if sentence.rstrip().endswith(("!", "?")) else "."
    return _capital(text) + end, items


def _enumerated(text: str) -> tuple[str, ...]:
    match = re.search(r"(?:\b(?:at|are|is|include|have|offer|:)|:)\s+([^:]*(?::\d\d[^:]*)*,\s.*)$", text)
    if not match:
        return ()
    return tuple(
        p.strip().rstrip(".") for p in re.split(r",\s+(?:and |or )?|\s+and\s+|\s+or\s+", match[1]) if p.strip()
    )


def _already_said(sentence: str, said: Sequence[str]) -> bool:
    """True if the tool spoke this itself: most of its content is in what was said."""
    content = set(content_stems(sentence)) | set(re.findall(r"\d+", sentence))
    if not content:
        return bool(said)
    for text in said:
        spoken = set(content_stems(text)) | set(re.findall(r"\d+", text))
        shared = sum(1 for one in content if one in spoken)
        if shared >= 0.6 * len(content) and shared >= min(2, len(content)):
            return True
    return False


_NEGATIVE = re.compile(
    r"\b(?:no|not|none|nothing|unavailable|fully booked|sold out|full|unable|cannot|can't|couldn't|isn't|aren't|n't)\b",
    re.I,
)


def digest(output: str, *, said: Sequence[str] = ()) -> Digest:
    """Take a result apart. `said`: what the tool has spoken itself while it ran."""
    text = in_words(output.strip())
    if not text:
        return Digest()
    if match := _UPDATE.match(text):
        text = match[1].strip()
    for pattern, digest_ in _SESSION_TEXTS:
        if pattern.search(text):
            return digest_

    data = _json(text)
    if data is not None:
        told = verbalise(data)
        facts = tuple(s for s in told if not _already_said(s, said))
        return Digest(
            facts=facts, times=tuple(moments.times_in(text)), items=_names(data), negative=data in ([], {}, False)
        )
    facts_out: list[str] = []
    items: tuple[str, ...] = ()
    guides: list[Guide] = []
    for sentence in sentences(without_keys(text)):
        # "No match. Ask ..." and "..., then call this tool again." both carry guidance.
        if is_guidance(sentence):
            guides.append(guide(sentence))
            continue
        fact, listed = _fact(sentence)
        items = items or listed
        if not _already_said(sentence, said):
            facts_out.append(fact)
    return Digest(
        facts=tuple(facts_out),
        questions=tuple(g.question for g in guides if g.question),
        remarks=tuple(g.remark for g in guides if g.remark),
        wants_read_back=any(g.read_back for g in guides),
        again=any(g.again for g in guides) or text.startswith("one call at a time"),
        goodbye=any(g.goodbye for g in guides),
        anything_else=any(g.anything_else for g in guides),
        retry_later=any(g.retry_later for g in guides),
        times=() if _SPAN.search(text) else tuple(moments.times_in(text)),
        items=items,
        negative=bool(_NEGATIVE.search(text)) and not moments.times_in(text),
    )


_SPAN = re.compile(
    r"\bfrom\s+\d[\d:]*\s*(?:[ap]\.?m\.?)?\s*(?:to|until|till)\s+\d|\bbetween\s+\d[\d:]*\s*(?:[ap]\.?m\.?)?\s+and\s+\d",
    re.I,
)
"""From when to when: two times that nobody is to choose between."""
_UPDATE = re.compile(r"The tool `[^`]*` has updated, message: (.*)\nThe task is still running\b.*", re.S)
"""A tool's report of its progress, as the session words it."""
_RUNNING = re.compile(r"\bis still running \(started|\bis already running\b")
_SESSION_TEXTS = (
    (
        re.compile(r"is already running\b.*Ask the user whether", re.S),
        Digest(facts=("That is already under way.",), questions=("Should I do it a second time?",)),
    ),
    (_RUNNING, Digest(facts=("I'm still working on that.",))),
    (re.compile(r"It is unknown whether"), Digest(facts=("I'm sorry, I can't tell yet whether that went through.",))),
    (re.compile(r"^Hand-off to "), Digest()),
)
"""Outputs that the session writes in a tool's place, and what they mean to the caller."""


def is_duplicate(output: str) -> bool:
    """True for the output of a call that was not made because another of its tool runs: the caller is to decide."""
    return bool(re.search(r"\balready running\b.*\b(?:second time|duplicate|confirm)", output, re.I | re.S))


def is_running(output: str) -> bool:
    """True if a call's output says that the tool runs on."""
    return bool(_RUNNING.search(output) or _UPDATE.match(output.strip()))


def tells_progress(output: str, text: str) -> bool:
    """True if an output reports progress, and `text` tells of it."""
    return bool(_UPDATE.match(output.strip())) and any(_already_said(fact, [text]) for fact in digest(output).facts)


def _json(text: str) -> Any | None:
    if text[0] not in "[{":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _key(name: str) -> str:
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").strip().lower()


def _plain(value: Any) -> str:
    if value is True:
        return "yes"
    if value is False:
        return "no"
    if value is None:
        return "not known"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return join_words([_plain(v) for v in value]) if value else "none"
    if isinstance(value, dict):
        return ", ".join(
            _plain(v) if k in ("name", "title") else f"{_key(k)} {_plain(v)}"
            for k, v in value.items()
            if v is not None and not _is_key(k, v)
        )
    return speakable(str(value))


_KEY_NAME = re.compile(
    r"(?:^|[_-])(?:id|ids|uuid|guid|uid|token|hash|etag|url|uri|cursor|checksum|signature)$|(?<=[a-z])(?:Id|Ids|Uuid)$"
    r"|^(?:id|uuid|guid)(?:[_-]|$)"
)
_KEY_VALUE = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?=\w*\d)(?=\w*[a-z])[a-z]{2,6}_\w{6,}|(?=\w*\d)[0-9a-f]{16,}"
)
"""What programs call things by: no caller can do anything with it."""


def _is_key(key: str, value: Any) -> bool:
    """True for an entry that is for programs: an id, a token, an address of a page."""
    return bool(_KEY_NAME.search(key)) or (isinstance(value, str) and bool(_KEY_VALUE.fullmatch(value)))


_KEY_IN_TEXT = re.compile(
    rf"\s*\((?:[\w ]{{0,20}}\b)?(?:id|uuid|call_id)s?[:= ]+[^()\s]+\)|,?\s*\b(?:\w+_)?(?:id|uuid)\s*[:=]\s*[^\s,;.]+"
    rf"|,?\s*\b(?:with (?:the )?)?(?:id|uuid) (?={_KEY_VALUE.pattern})[\w-]+|\s*\b(?:{_KEY_VALUE.pattern})\b",
    re.I,
)


def without_keys(text: str) -> str:
    """Text for a caller's ears: without ids, and with JSON that stands in it told in words."""

    def told(found: re.Match[str]) -> str:
        data = _json(found[0])
        return "" if data is None else " ".join(verbalise(data)).rstrip(".")

    return re.sub(r"\s{2,}", " ", _KEY_IN_TEXT.sub("", re.sub(r"[{\[].*[}\]]", told, text, flags=re.S))).strip()


def _many(key: str, value: Any) -> bool:
    """True if a key speaks of several: a list of them, or a count ("minutes": 25)."""
    if isinstance(value, list):
        return len(value) > 1
    return isinstance(value, int) and not isinstance(value, bool) and key.endswith("s")


def verbalise(data: Any) -> list[str]:
    """JSON in sentences: keys become words, lists are joined with "and"."""
    if isinstance(data, dict):
        if not data:
            return ["I found nothing."]
        for key in ("message", "summary", "speech", "text"):
            if isinstance(data.get(key), str):
                return [speakable(data[key])]
        parts = [
            f"the {_key(k)} {'are' if _many(k, v) else 'is'} {_plain(v)}"
            for k, v in data.items()
            if v is not None
            and v != ""
            and not (isinstance(v, list) and v and isinstance(v[0], dict))
            and not _is_key(k, v)
        ]
        told = [_capital(join_words(parts)) + "."] if parts else []
        for key, value in data.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                told += [f"{_capital(_key(key))}: {verbalise(value)[0]}"]
        return told
    if isinstance(data, list):
        if not data:
            return ["I found nothing."]
        count = f"There {'is' if len(data) == 1 else 'are'} {len(data)}: "
        return [
            count + "; ".join(_plain(v) for v in data[:6]) + ("." if len(data) <= 6 else f"; and {len(data) - 6} more.")
        ]
    return [_capital(_plain(data)) + "."]


def _names(data: Any) -> tuple[str, ...]:
    if isinstance(data, dict):
        data = next((v for v in data.values() if isinstance(v, list)), [])
    if not isinstance(data, list):
        return ()
    out = []
    for one in data:
        if isinstance(one, str):
            out.append(one)
        elif isinstance(one, dict):
            name = next((v for k, v in one.items() if "name" in k or "title" in k), None)
            if isinstance(name, str):
                out.append(name)
    return tuple(out)
