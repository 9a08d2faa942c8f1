"""What machines say that answer, in German."""

from __future__ import annotations

from antiphon.language.answering import AnswerPhrases

GERMAN_ANSWERS = AnswerPhrases(
    unavailable=(
        r"\bkein anschluss\b|\bnicht vergeben\b|\bdie (?:gewählte )?rufnummer\b|\bdiese nummer ist\b",
        r"\b(?:teilnehmer|gesprächspartner) ist (?:zurzeit |derzeit |vorübergehend )?nicht\b",
        r"\bnicht erreichbar\b",
    ),
    screening=(
        r"\bnennen sie (?:bitte )?(?:ihren namen|den grund)\b|\bihren namen und den grund\b",
        r"\b(?:digitale|virtuelle)r? assisten",
    ),
    menu=(
        r"\b(?:drücken|wählen|sagen) sie (?:bitte )?(?:die |eine )?(?:\d|null|eins|zwei|drei|vier|fünf|raute|stern)\b",
        r"\bwillkommen (?:bei|beim|in)\b",
        r"\b(?:nächste[rn]? freie[rn]?|alle) (?:mitarbeiter|leitungen|plätze)\b|\bwarteschleife\b",
        r"\b(?:aufgezeichnet|mitgeschnitten)\b",
    ),
    voicemail=(
        r"\bmailbox\b|\banrufbeantworter\b|\bsprachbox\b",
        r"\bnach dem (?:ton|signalton|piep|pfeifton)\b",
        r"\bhinterlass(?:en|t)?\b (?:sie |uns |mir |bitte |eine |ihre ){0,4}(?:nachricht|namen)\b",
        r"\b(?:bin|sind) (?:\w+ ){0,3}nicht (?:erreichbar|da|zu hause|zu erreichen)\b",
        r"\b(?:unserer|ausserhalb der) (?:öffnungs|büro|geschäfts|sprech)zeiten\b",
    ),
    greets=r"\b(?:vielen dank|danke) für (?:ihren|deinen) anruf\b",
    asks=r"\bwas kann ich\b|\bwie kann ich\b|\bmein name ist\b|\bam apparat\b|\bwer\b",
    voids=r"\bwollen sie (?:ihm|ihr )?eine nachricht\b|\bkann ich (?:etwas|was) ausrichten\b",
    returns=(
        r"\b(?:spaß|spass|scherz|witz|quatsch)\b|\bich bin (?:doch |schon |jetzt |noch )?(?:da|dran|hier)\b"
        r"|\bwer (?:ist da|spricht|ist dran|sind sie)\b|\bsind sie (?:noch )?da\b|\bhallo hallo\b|\bhallo$"
    ),
)
