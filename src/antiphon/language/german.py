"""German."""

from __future__ import annotations

from antiphon.language.german_answers import GERMAN_ANSWERS
from antiphon.language.german_claims import GERMAN_CLAIMS
from antiphon.language.german_consent import GERMAN_CONSENT
from antiphon.language.lines import AwayLadder, CaptureLines, ConsentLines, Fillers, ValueLines
from antiphon.language.pack import Language
from antiphon.language.phrases import listed
from antiphon.language.spoken import SpokenForms, counted


def _numbers() -> dict[str, str]:
    """Up to 99, and whole hundreds: German writes them as one word."""
    units = "null ein zwei drei vier fünf sechs sieben acht neun".split()
    tens = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
    numbers = counted(
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"
        " siebzehn achtzehn neunzehn"
    )
    numbers |= {"ein": "1", "eine": "1", "zwo": "2", "dreissig": "30"}
    for ten, word in enumerate(tens, 2):
        numbers[word] = f"{ten}0"
        for unit in range(1, 10):
            numbers[f"{units[unit]}und{word}"] = f"{ten}{unit}"
    return numbers | {f"{word}hundert": f"{digit}00" for digit, word in enumerate(units) if digit}


_ALPHABET = {
    word: word[0]
    for word in (
        "anton berta cäsar dora emil friedrich gustav heinrich ida julius jot kaufmann ludwig martha nordpol otto paula"
        " quelle richard samuel siegfried theodor ulrich viktor wilhelm xanthippe ypsilon zacharias zeppelin"
    ).split()
} | {"ärger": "ä", "ökonom": "ö", "übermut": "ü", "eszett": "ß"}

_VALUES = {
    "name": ValueLines(
        "Wie ist Ihr Name, bitte?", "Entschuldigung. Wie ist Ihr Name dann?", "Ist dieser Name richtig?"
    ),
    "email_address": ValueLines(
        "Wie lautet Ihre E-Mail-Adresse?",
        "Entschuldigung. Wie lautet Ihre E-Mail-Adresse dann?",
        "Ist diese E-Mail-Adresse richtig?",
    ),
    "phone_number": ValueLines(
        "Wie lautet Ihre Telefonnummer, mit Vorwahl?",
        "Entschuldigung. Wie lautet Ihre Telefonnummer dann?",
        "Ist diese Telefonnummer richtig?",
    ),
    "address": ValueLines(
        "Wie lautet Ihre Anschrift, mit Straße, Hausnummer und Ort?",
        "Entschuldigung. Wie lautet Ihre Anschrift dann?",
        "Ist diese Anschrift richtig?",
    ),
    "date_of_birth": ValueLines(
        "Wann sind Sie geboren, mit Jahr?",
        "Entschuldigung. Wann sind Sie dann geboren?",
        "Ist dieses Geburtsdatum richtig?",
    ),
    "credit_card": ValueLines(
        "Wie lautet die Nummer Ihrer Karte, und bis wann ist sie gültig?",
        "Entschuldigung. Wie lautet die Nummer Ihrer Karte dann?",
        "Ist diese Karte richtig?",
    ),
    "pin": ValueLines(
        "Wie lautet Ihre PIN? Sie können sie eintippen oder sagen.",
        "Entschuldigung. Wie lautet Ihre PIN dann?",
        "Ist diese PIN richtig?",
    ),
    "code": ValueLines("Wie lautet Ihr Code?", "Entschuldigung. Wie lautet Ihr Code dann?", "Ist dieser Code richtig?"),
}

_SPOKEN = SpokenForms(
    numbers=_numbers(),
    tens={},
    hundred=frozenset({"hundert"}),
    zero=frozenset({"oh", "o"}),
    heard_as={},
    times={"doppel": 2, "zweimal": 2, "dreimal": 3},
    keys={"stern": "*", "sternchen": "*", "raute": "#", "rautetaste": "#"},
    plus=frozenset({"plus"}),
    extension=frozenset({"durchwahl", "nebenstelle"}),
    number_padding=frozenset(
        "es ist das meine mein die der den und ähm äh nummer telefonnummer handynummer vorwahl dann strich bindestrich"
        " leerzeichen bitte ja entschuldigung ziffer ziffern taste ich lautet sind".split()
    ),
    alphabet=_ALPHABET,
    as_in=("wie in", "wie"),
    marks={
        "punkt": ".",
        "unterstrich": "_",
        "strich": "-",
        "bindestrich": "-",
        "minus": "-",
        "plus": "+",
    },
    at=("klammeraffe", "at-zeichen", "at"),
    run_together=(
        "alles in einem wort",
        "alles zusammen",
        "alles kleingeschrieben",
        "in einem wort",
        "zusammengeschrieben",
        "kleingeschrieben",
        "ohne leerzeichen",
    ),
    letter_case=frozenset("groß klein großes kleines".split()),
    address_padding=frozenset(
        "es ist das meine mein die email e-mail e-mail-adresse mailadresse adresse ähm äh groß klein großes kleines"
        " alles dann und bitte ja also lautet".split()
    ),
    address_lead_ins=("meine adresse ist", "meine anschrift ist", "die adresse ist", "die anschrift ist"),
    house_number_last=True,
    no=frozenset("nein nee nö falsch".split()),
    no_padding=frozenset("das ist es stimmt so nicht leider richtig korrekt ganz ähm äh entschuldigung".split()),
    digit_names=tuple("null eins zwei drei vier fünf sechs sieben acht neun".split()),
    mark_names={
        ".": "Punkt",
        "_": "Unterstrich",
        "-": "Strich",
        "+": "plus",
        "'": "Apostroph",
        "@": "at",
        "#": "Raute",
        "*": "Stern",
        "/": "Schrägstrich",
    },
    months=tuple("Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()),
    days=tuple(f"{day}." for day in range(1, 32)),
    date="{day} {month} {year}",
    time="{hour} Uhr {minute}",
    full_hour="{hour} Uhr",
)

_CAPTURES = CaptureLines(
    values=_VALUES,
    again="Entschuldigung. Wie ist es dann richtig?",
    check="Ist das richtig?",
    read_back="Ich habe {value}",
    spelled="{value}, buchstabiert {letters}",
    then=", dann ",
    extension="{value}, Durchwahl {extension}",
    street="{value}, die Straße buchstabiert {letters}",
    card="die Karte mit den letzten Ziffern {ending}, gültig bis {expiry}",
    expiry="Und bis wann ist sie gültig, Monat und Jahr?",
    code="Wie lautet Ihr Code aus {digits} Ziffern? Sie können ihn eintippen oder sagen.",
    too_few="Ich habe {pressed} von {digits} Ziffern. {question}",
)

GERMAN = Language(
    code="de",
    listening=listed("hm hmm mhm mh aha ah oh ja jo jep genau richtig okay ok gut klar verstehe alles stimmt na und"),
    farewell=listed("tschüss tschüs ciao danke dankeschön servus ade bis wiederhören wiedersehen"),
    padding=listed(
        "auf vielen lieben schönen schöne ihnen dir noch einen eine tag abend woche wochenende dann bald später das"
        " war's war es nein nichts mehr weiter alles sehr super prima wunderbar für die hilfe auch ebenso"
    ),
    presence=(
        "hallo",
        "hey",
        "sind sie da",
        "sind sie noch da",
        "bist du da",
        "bist du noch da",
        "noch da",
        "jemand da",
        "ist da jemand",
        "ist jemand da",
        "ist da noch jemand",
        "ist noch jemand da",
        "hören sie mich",
        "können sie mich hören",
        "hörst du mich",
        "kannst du mich hören",
    ),
    fallback_line="Entschuldigung, das habe ich nicht hinbekommen. Können Sie es anders sagen?",
    failure_line="Entschuldigung, bei mir ist etwas schiefgegangen. Können Sie das noch einmal sagen?",
    unheard_line="Entschuldigung, das habe ich nicht verstanden. Können Sie es noch einmal sagen?",
    resumed_line="Entschuldigung, die Verbindung war kurz weg.",
    asks="{who} fragt: {question}",
    fillers=Fillers(
        short=("Einen Moment.", "Eine Sekunde."),
        long=("Einen Moment, das kann etwas dauern.",),
        progress=("Ich bin noch dabei.", "Ich arbeite noch daran.", "Bitte noch etwas Geduld."),
        offer="Das dauert länger als sonst. Ich kann Sie auch zurückrufen.",
    ),
    away_ladder=AwayLadder(
        ask="Sind Sie noch da?",
        again="Ich kann Sie nicht hören. Wenn Sie noch da sind, sagen Sie bitte etwas.",
        goodbye="Ich kann Sie leider nicht hören und beende das Gespräch. Auf Wiederhören.",
    ),
    spoken=_SPOKEN,
    claims=GERMAN_CLAIMS,
    answers=GERMAN_ANSWERS,
    consent=GERMAN_CONSENT,
    consent_lines=ConsentLines(
        check="Soll ich das so machen?",
        again="{read_back} Bitte sagen Sie ja oder nein. {check}",
        another="Das ist schon geschehen. Noch einmal:",
        unknown="Ich weiß immer noch nicht, ob das geklappt hat. Noch ein Versuch:",
        yes="ja",
        no="nein",
    ),
    captures=_CAPTURES,
)
