"""What machines say that answer, in English."""

from __future__ import annotations

from antiphon.language.answering import AnswerPhrases

_KEY = r"(?:one|two|three|four|five|six|seven|eight|nine|zero|\d|pound|star|the)\b"
_WE = r"\b(?:i|we|no one|nobody|someone)\b"

ENGLISH_ANSWERS = AnswerPhrases(
    unavailable=(
        r"\b(?:the|this) number (?:you|is not)\b",
        r"\byour call (?:can|could)",
        r"\bmailbox (?:\w+ ){0,5}(?:is )?full\b",
        r"\b(?:subscriber|wireless customer|customer|caller) you\b",
        r"\ball circuits\b",
        r"\b(?:not been|not|never) set up\b",
        r"\b(?:not in|out of) service\b",
        r"\breached a (?:number|line)\b",
    ),
    screening=(
        r"\bscreening (?:service|their)\b|\bcall screening\b|\b(?:being|is) screened\b",
        r"\bcall assist|\ba (?:virtual|digital|automated)\b|\bnumber is protected\b",
        r"\b(?:state|say|record) (?:your name|who you are)\b",
        r"\bannounce yourself\b",
        r"\bthe person you(?:'re| are)? (?:calling|called)\b",
        r"\bbefore i connect\b|\bto be connected\b",
        r"\bsee if this person\b|\bcheck if this person\b",
        r"\bline while i\b",
    ),
    menu=(
        rf"\b(?:press|dial|oprima|marque) {_KEY}",
        r"\bmenu (?:options|has)\b|\bmain menu\b",
        r"\blisten (?:carefully|closely|to)\b",
        r"\bfollowing options\b",
        r"\byour call (?:is important|may be|will be)\b",
        r"\b(?:this call|calls) (?:may|are|is) (?:be )?(?:monitored|recorded)\b|\bthis call may\b",
        r"\bif you know (?:the|your)\b|\bwelcome to (?:\w+ ){1,3}if you\b|\bif you are calling about\b",
        r"\b(?:all of our|our) (?:agents|representatives)\b",
        r"\bin a few words\b|\bstay on the line\b|\bcustomer (?:care|service) line\b",
        r"\byour estimated\b|\bcaller number\b|\bin the queue\b",
        r"\bplease enter your\b|\bplease (?:choose|select)\b",
        r"\bto (?:speak to|reach) (?:a|an|the)\b",
        r"\bfor (?:english|sales|support|claims|billing)\b",
        r"\bpara (?:continuar|espanol)\b",
    ),
    voicemail=(
        r"\bvoice ?mail\b|\bvoice messaging\b|\bmailbox\b|\banswering (?:machine|service)\b|\banswer ?phone\b",
        r"\b(?:leave|record) (?:me |us )?(?:a|your|you're) (?:\w+ ){0,3}(?:message|name|number|note|voicemail)\b",
        r"\b(?:leave|record) (?:me |us )?(?:a|your)$",
        r"\bplease (?:leave|record|speak after)\b",
        r"\b(?:at|after) the (?:tone|beep|signal)\b",
        rf"{_WE} (?:can't|can not|cannot|can|couldn't) (?:come to|get to|answer|take your|take my|pick up)\b",
        rf"{_WE}(?:'m| am|'re| are)? (?:unable|not able)\b",
        r"\b(?:i'm|i am|we're|we are) (?:not available|away from|currently (?:out|not|away)|probably (?:busy|away))\b",
        r"\b(?:we are|we're) (?:not (?:home|in|here)|sorry that)\b|\bout of the office\b|\bi'm not in at\b",
        r"\b(?:we|office) (?:are|is) (?:currently |now )?closed\b",
        r"\bmissed (?:your call|you|me)\b",
        r"\b(?:no one|nobody) (?:is|can)\b",
        r"\bforwarded to\b",
        r"\bthe (?:person|party) (?:you|at)\b",
        r"\byou know (?:what to do|the drill)\b",
        r"\boffice hours\b",
        r"\b(?:you've|you have) reached (?![\w']+ (?:what|how|who|can)\b)[\w']+ [\w']+",
    ),
    greets=r"\bthank(?:s| you) for calling\b|\bthis is \w+\b|\bwelcome to\b",
    asks=r"\bhow (?:can|may|could) i\b|\bwhat can i\b|\bcan you hold\b|\bmy name is\b|\bspeaking\b|\bwho\b|\bmay i\b",
    voids=(
        r"\b(?:want|like|wanted) to leave (?:a|him a|her a)?\b"
        r"|\b(?:the|your|a) (?:message|voicemail) (?:i|you) left\b|\bgot your (?:message|voicemail)\b"
        r"|\bi already left\b|\bi pressed\b"
    ),
    returns=(
        r"\b(?:kidding|joking|messing with you|pulling your leg)\b"
        r"|\b(?:it's me|i'm here|i am here|i'm back|i picked up|got to the phone)\b"
        r"|\bwho(?:'s| is) (?:this|that|there)\b|\bare you (?:still )?there\b|\bis anybody there\b"
        r"|\bhello hello\b|\bhow (?:can|may) i help\b|\bspeaking$|\bhello$"
    ),
)
