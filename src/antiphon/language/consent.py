"""What a reply to a read-back means: a yes to exactly these arguments, or anything else.

Above: the gate of the core, which decides by time as well. Below: nothing; the words of a language are its pack's
(`ConsentPhrases`). Pure, and without a model. A yes that was none is the worst outcome, so the rules are closed: what
is not known to belong to a yes makes it none.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from functools import lru_cache

from antiphon.record import record

MAX_LENGTH = 400
"""Characters. A reply that is longer is no plain answer, and never a yes."""

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


class Reply(enum.Enum):
    """What was said in reply to a read-back."""

    YES = "yes"
    """Yes, to exactly these arguments."""
    YES_AND = "yes and"
    """The same, and something besides that does not touch them: "yes, and text me the address"."""
    NO = "no"
    """No, or not now: "nope", "hold on"."""
    CHANGE = "change"
    """An argument is to be another, or a condition is made: "yes, but at three"."""
    QUESTION = "question"
    """The caller wants to know something before they decide."""
    BACKCHANNEL = "backchannel"
    """"Okay", "mm-hmm": a yes once the whole read-back was heard; while it sounds, a sign of listening."""
    UNCLEAR = "unclear"
    """None of these, or not surely: to be asked again."""


@record
class Asked:
    """What the caller was asked."""

    text: str
    """The read-back, as spoken: "Table for four on Friday at seven, shall I book it?"."""
    values: tuple[str, ...] = ()
    """Its arguments as spoken: "four", "Friday", "seven". What `text` holds need not stand here."""


@record
class ConsentPhrases:
    """The words of a language. Phrases are lower case, without marks; "|" stands between them."""

    code: str = "en"
    yes: str = (
        "yes|yes please|yes thank you|yes thanks|yes go ahead|go ahead|please do|that's right|that's correct|correct"
        "|yes that's right|yes that's correct|do it|book it|yes book it|yes do it|yes i do|absolutely|definitely"
        "|exactly"
    )
    listening: str = "okay|ok|yeah|yep|yup|sure|right|alright|mm-hmm|mm hmm|mhm|uh-huh|uh huh"
    no: str = "no|nope|nah|no thanks|no thank you|no that's wrong|that's wrong|wait|stop|hold on|no don't|don't"


def decide(words: str, asked: Asked, phrases: ConsentPhrases) -> Reply:
    """What `words`, as the recogniser wrote them, mean in reply to `asked`. Never raises; linear in `words`."""
    if len(words) > MAX_LENGTH or "?" in words:
        return Reply.UNCLEAR
    text = unicodedata.normalize("NFKC", words).lower().replace("\u2019", "'")
    return _whole(phrases).get(" ".join(_WORD.findall(text)), Reply.UNCLEAR)


@lru_cache(maxsize=16)
def _whole(phrases: ConsentPhrases) -> dict[str, Reply]:
    """Replies that are decided by themselves."""
    tables = ((phrases.yes, Reply.YES), (phrases.listening, Reply.BACKCHANNEL), (phrases.no, Reply.NO))
    return {phrase: reply for table, reply in tables for phrase in table.split("|")}
