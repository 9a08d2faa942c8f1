"""What people say in German when an action was read back to them."""

from __future__ import annotations

from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.language.german_clauses import GERMAN_CLAUSES

_UNITS = "null ein zwei drei vier fünf sechs sieben acht neun".split()
_TEENS = "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn".split()
_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
_ORDINALS = (
    "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft dreizehnt vierzehnt fünfzehnt sechzehnt"
    " siebzehnt achtzehnt neunzehnt zwanzigst einundzwanzigst zweiundzwanzigst dreiundzwanzigst vierundzwanzigst"
    " fünfundzwanzigst sechsundzwanzigst siebenundzwanzigst achtundzwanzigst neunundzwanzigst dreißigst"
    " einunddreißigst"
).split()


def _numbers() -> str:
    """Up to 999, which German writes as one word."""
    small = {"eins": 1, "zwo": 2} | {word: value for value, word in enumerate(_UNITS) if word != "ein"}
    small |= {word: value for value, word in enumerate(_TEENS, 10)}
    for ten, word in enumerate(_TENS, 2):
        small[word] = 10 * ten
        small |= {f"{unit}und{word}": 10 * ten + value for value, unit in enumerate(_UNITS) if value}
    words = dict(small)
    for value, unit in enumerate(["", *_UNITS[1:]]):
        hundreds = 100 * max(value, 1)
        if unit:
            words[f"{unit}hundert"] = hundreds
        words |= {f"{unit}hundert{word}": hundreds + more for word, more in small.items() if more}
    # "zu dritt"
    words |= {"zweit": 2, "dritt": 3, "viert": 4, "fünft": 5, "sechst": 6, "siebt": 7, "mittag": 12, "dutzend": 12}
    return "|".join(f"{word}={value}" for word, value in words.items())


_IRREGULAR = (
    "überwiesen=überweisen|verschoben=verschieben|abgeschrieben=abschreiben|eingetragen=eintragen|angerufen=anrufen"
    "|gesendet=senden|versendet=versenden|gerufen=rufen|übernommen=übernehmen|aufgegeben=aufgeben"
    "|freigegeben=freigeben|geschlossen=schließen|eingezogen=einziehen|verbunden=verbinden|genommen=nehmen"
    "|abgeschlossen=abschließen|zurückgegeben=zurückgeben|geliehen=leihen|geschrieben=schreiben|gehoben=heben"
    "|angehoben=anheben|entzogen=entziehen|vorgenommen=vornehmen|gestrichen=streichen|ausgesprochen=aussprechen"
)
_SEPARABLE = "zurück|weiter|hinzu|frei|fest|vor|nach|aus|auf|ein|um|ab|an|zu|mit|her|hin|los|weg|durch"
_ACTS = (
    "reservieren|buchen|bestellen|überweisen|absagen|stornieren|kündigen|löschen|bestätigen|speichern|eintragen"
    "|anrufen|bezahlen|zahlen|senden|schicken|verschieben|ändern|anlegen|abschicken|aufgeben|ausführen|verlängern"
    "|erneuern|sperren|freischalten|aktivieren|deaktivieren|starten|beenden|setzen|stellen|spenden|liefern|mieten"
    "|anmelden|abmelden|zurücksetzen|erstatten|umbuchen|notieren|vormerken|rufen|drucken|übernehmen|beantragen"
    "|beauftragen|versenden|verschicken|einlösen|eröffnen|freigeben|hinzufügen|kaufen|weiterleiten|wechseln|entfernen"
    "|einrichten|abbuchen|einziehen|abonnieren|melden|registrieren|schließen|öffnen|ausschalten|einschalten"
    "|umstellen|umleiten|verbinden|aufnehmen|vereinbaren|festhalten|zurückgeben|tauschen|umtauschen|erhöhen|senken"
    "|veranlassen|übermitteln|einreichen|hinterlegen|ausstellen|abholen|zustellen|parken|erfassen|protokollieren"
    "|pausieren|unterbrechen|anfordern|anpassen|einstellen|abschließen"
)


def _stem(act: str) -> str:
    return act.removesuffix("en") if act.endswith("en") else act.removesuffix("n")


def _acts() -> str:
    """With the first person: "reserviere"."""
    return "|".join(f"{act}|{_stem(act)}e={act}" for act in _ACTS.split("|"))


def _participles() -> str:
    """Of each verb: "gebucht", "reserviert", "abgesagt"."""
    found: list[str] = []
    for act in _ACTS.split("|"):
        prefix = next((one for one in _SEPARABLE.split("|") if act.startswith(one) and len(act) > len(one) + 3), "")
        stem = _stem(act.removeprefix(prefix))
        end = "et" if stem.endswith(("t", "d", "chn", "ffn")) else "t"
        plain = stem.endswith("ier") or stem.startswith(("be", "ver", "über", "er", "ent", "unter"))
        found.append(f"{prefix}{'' if plain else 'ge'}{stem}{end}={act}")
    return "|".join([*found, _IRREGULAR])


def _ordinals() -> str:
    return "|".join(f"{word}{end}={day}" for day, word in enumerate(_ORDINALS, 1) for end in ("e", "en", "er", "es"))


GERMAN_CONSENT = ConsentPhrases(
    code="de",
    clauses=GERMAN_CLAUSES,
    long_forms=(
        "geht's=geht es|passt's=passt es|stimmt's=stimmt es|ist's=ist es|isses=ist es|hab=habe|hamse=haben sie"
        "|könnense=können sie|machense=machen sie|dürfense=dürfen sie|wär's=wäre es|war's=war es|hab's=habe es"
        "|mach's=mach es|tun's=tun sie|sie's=sie es|ich's=ich es|wir's=wir es"
    ),
    whole="alles|alle|beide|beides",
    abandons="",
    said_at_once=(
        "buchen|reservieren|bestätigen|speichern|eintragen|notieren|vormerken|erfassen|hinterlegen|anmelden|beantragen"
    ),
    states="machen|tun|veranlassen|erledigen|wollen|möchten|brauchen|haben|sein|werden|können|sollen|müssen|passen|verstehen",
    unfinished="",
    allowing="können|kann|dürfen|darf|möglich",
    doing="",
    afterwards="mehr|mehr jetzt|jetzt|heute|im moment|im augenblick|momentan|doch|lieber|auch|noch|erstmal|trotzdem",
    greetings="moin|servus|grüezi|hallihallo|ja hallo|hallo ja",
    persons="",
    pronouns="ich|wir|sie|er|es|du|ihr|ihn|ihm",
    same=(
        "jeden monat=monatlich|pro monat=monatlich|im monat=monatlich|jede woche=wöchentlich|pro woche=wöchentlich"
        "|jeden tag=täglich|pro tag=täglich|jedes jahr=jährlich|pro jahr=jährlich|im jahr=jährlich"
    ),
    halves="",
    nearby="auf|an|am|in|im|zu|zum|zur",
    separable=_SEPARABLE,
    yes=(
        "ja|jaa|ja doch|jawohl|jawoll|jep|jepp|jup|jupp|yes|ja genau|ja gern|ja gerne|ja sehr gern|ja sehr gerne|gern"
        "|gerne|sehr gern|sehr gerne|aber gern|aber gerne|liebend gern|liebend gerne|herzlich gern|ja freilich"
        "|freilich|freili|ja eh|eh klar|ja logisch|logisch|logo|na logo|na klar|na sicher|na freilich|na gerne|na gut"
        "|na dann los|ja klar|aber klar|klar doch|ja sicher|sicher|aber sicher|aber ja|sicher doch|aber natürlich"
        "|natürlich|ja natürlich|selbstverständlich|auf jeden fall|auf alle fälle|unbedingt|definitiv|absolut"
        "|durchaus|gewiss|bestimmt|jederzeit|einverstanden|bin einverstanden|ich bin einverstanden|bin ich"
        "|wir sind einverstanden|bin dabei|ich bin dafür|ich stimme zu|zustimmung|bestätigt|ich bestätige"
        "|bestätige ich|ich bestätige das|das bestätige ich|akzeptiert|abgemacht|in ordnung|ist in ordnung"
        "|das ist in ordnung|geht in ordnung|das geht in ordnung|geht klar|das geht klar|geht|das geht|das geht so"
        "|das geht gut|ist gut|ist gut so|das ist gut|das ist gut so|so ist es gut|ist recht|das ist recht|mir recht"
        "|ist mir recht|das ist mir recht|isch guet|isch recht|isch guat|ist okay|das ist okay|ist ok|das ist ok"
        "|passt|passt so|passt schon|passt gut|passt super|passt perfekt|passt wunderbar|passt prima|passt mir"
        "|passt für mich|das passt|das passt so|das passt schon|das passt gut|das passt mir|das passt mir gut"
        "|das passt super|das passt perfekt|das passt wunderbar|das passt prima|des passt|des passt so|des passt scho"
        "|basst|basst scho|basst so|passt scho|es passt|alles passt|stimmt|stimmt so|stimmt genau|stimmt alles"
        "|das stimmt|das stimmt so|das stimmt genau|das stimmt alles|des stimmt|es stimmt|alles stimmt|richtig so"
        "|das ist richtig|das ist richtig so|ist richtig|ist alles richtig|alles richtig|ganz richtig|völlig richtig"
        "|das ist alles richtig|des is richtig|das ist korrekt|ist korrekt|korrekt|alles korrekt|ganz genau|genau so"
        "|genau das|genauso|genau richtig|exakt|das ist es|das ist er|das ist sie|das ist der richtige|das bin ich"
        "|so ist es|so isses|so machen wir's|so machen wir das|so machen wir es|machen wir so|machen wir's so"
        "|das machen wir|machen wir|so soll es sein|so wollte ich es|perfekt|das ist perfekt|wunderbar|super"
        "|das ist super|prima|toll|klasse|spitze|ausgezeichnet|hervorragend|bestens|ideal|optimal|fein|schön"
        "|sehr schön|sehr gut|klingt gut|klingt super|klingt perfekt|klingt prima|hört sich gut an|das klingt gut"
        "|das hört sich gut an|das wäre gut|das wäre super|das wäre toll|das wäre schön|das wäre prima|das wäre nett"
        "|das wäre lieb|das wäre wunderbar|wäre super|wäre toll|wäre nett|kein problem|gar kein problem"
        "|überhaupt kein problem|keine einwände|kein einwand|spricht nichts dagegen|nichts dagegen"
        "|ich habe nichts dagegen|hab nichts dagegen|da spricht nichts dagegen|warum nicht|wieso nicht"
        "|von mir aus gern|von mir aus gerne|von mir aus ja|einwandfrei|machen sie das|machen sie das so"
        "|machen sie es|machen sie's|machen sie mal|machen sie nur|machen sie ruhig|mach das|mach mal|mach nur"
        "|mach es|mach's|machs|tun sie das|tun sie es|tun sie's|los|los geht's|nur zu|legen sie los|leg los|weiter so"
        "|bitte schön|bitte sehr|bitteschön|bitte machen sie das|bitte tun sie das|bitte machen|dürfen sie|sie dürfen"
        "|können sie|können sie machen|können sie gerne|können sie gern machen|können sie gerne machen"
        "|das können sie machen|sollen sie|das sollen sie|das möchte ich|möchte ich|das will ich|will ich"
        "|ich will das|ich möchte das|das hätte ich gern|das hätte ich gerne|so möchte ich es|genau das möchte ich"
        "|so hatte ich es gesagt|ich bin sicher|bin sicher|ich bin mir sicher|bin mir sicher|ganz sicher"
        "|absolut sicher|hundert prozent|hundertprozentig|* sie|* sie es|* sie das|* sie ihn|* sie sie|* sie die"
        "|* sie den|* sie bitte|* sie ruhig|* sie nur|bitte *|gerne *|bitte * sie|bitte * sie es|bitte * sie das"
        "|bitte * sie ihn|bitte * sie sie|bitte gleich *|das können sie *|können sie *|dürfen sie *|sie dürfen *"
        "|sie können *|sie dürfen es *|* bitte|jetzt *|beides richtig|ja beides|das können sie so machen"
        "|das wollte ich|genau das wollte ich|na dann ja|scho recht"
    ),
    subjects=(
        "das|des|es|alles|das alles|alles das|dies|der termin|die zeit|das datum|der tag|der preis|die daten"
        "|die angaben|alle angaben|so"
    ),
    verbs="ist|is|isch|wäre|sind|klingt|passt|stimmt|geht|hört sich|sieht|wär",
    adverbs="so|ganz|völlig|absolut|genau|sehr|wirklich|alles|total|vollkommen|mir|für mich|auch so",
    good=(
        "gut|richtig|korrekt|okay|ok|in ordnung|perfekt|super|prima|toll|wunderbar|fein|recht|bestens|ideal|klasse|so"
        "|gut so|richtig so|schön|gut an|gut aus|super so|perfekt so|was ich wollte|was ich will|was ich möchte"
        "|hervorragend|ausgezeichnet|optimal|einwandfrei|spitze"
    ),
    listening=(
        "okay|ok|oke|okey|jo|jou|joh|mhm|hmhm|hm hm|mm hm|aha ja|ja ja|jaja|jaa ja|genau|richtig|gut|klar|alles klar"
        "|klaro|verstehe ja|gebongt|alles gut|is gut|is okay|is ok|is recht|eben|jap|jop|jepp jepp|jau|jåå|jå|joo"
    ),
    alone=(
        "bitte|ich habe ja gesagt|ich hab ja gesagt|wenn sie so nett wären|wenn sie so freundlich wären"
        "|ich bitte darum|ich bitte drum"
    ),
    elliptic="bin ich|das ist es|möchte ich|will ich|dürfen sie|können sie|sollen sie|ist gut|das ist er|das ist sie",
    declining=(
        "ist gut|das ist gut|ist okay|das ist okay|ist ok|das ist ok|passt schon|das passt schon|ist schon gut"
        "|schon gut|alles gut|geht schon|das geht schon|ist recht|scho recht|schon recht|passt scho|basst scho"
    ),
    offers="möchten sie|wollen sie|soll ich|darf ich|kann ich|sollen wir",
    affirming=(
        "das stimmt|das stimmt so|stimmt|stimmt so|stimmt genau|das ist richtig|das ist richtig so|ist richtig"
        "|das passt|das passt so|das passt schon|passt schon|passt|passt so|das ist korrekt|korrekt|das ist gut so"
        "|das ist schon richtig|machen sie das|machen sie nur|machen sie ruhig|genau richtig|alles richtig"
        "|kein problem"
    ),
    excusing=(
        "das ist gut|ist gut|das ist okay|ist okay|das ist in ordnung|ist in ordnung|das geht|geht klar|das geht so"
        "|in ordnung|perfekt|super"
    ),
    no=(
        "nein|nee|ne|nö|nöö|neee|naa|na|nein danke|nee danke|ne danke|nö danke|danke nein|nein doch nicht|doch nicht"
        "|nicht|bitte nicht|lieber nicht|besser nicht|jetzt nicht|heute nicht|eher nicht|auf keinen fall"
        "|auf gar keinen fall|keinesfalls|niemals|nie|nie im leben|gar nicht|überhaupt nicht|ganz und gar nicht"
        "|bloß nicht|nur nicht|um gottes willen|um himmels willen|falsch|das ist falsch|ist falsch|alles falsch"
        "|stimmt nicht|das stimmt nicht|das stimmt so nicht|des stimmt ned|das ist nicht richtig|nicht richtig"
        "|nicht korrekt|das ist nicht korrekt|ist nicht richtig|passt nicht|passt nicht so|passt mir nicht"
        "|das passt nicht|das passt mir nicht|das passt so nicht|des passt ned|des passt net|passt ned|passt net"
        "|geht nicht|das geht nicht|das geht so nicht|nicht okay|nicht in ordnung|das ist nicht in ordnung"
        "|nicht einverstanden|bin ich nicht|ich bin nicht einverstanden|bin nicht einverstanden|ich bin dagegen"
        "|bin dagegen|dagegen|das will ich nicht|das möchte ich nicht|ich will nicht|ich möchte nicht"
        "|ich will das nicht|ich möchte das nicht|will ich nicht|möchte ich nicht|ich will doch nicht|ich mag nicht"
        "|kein interesse|kein bedarf|brauche ich nicht|brauch ich nicht|das brauche ich nicht|wir brauchen kein"
        "|ich brauche kein|dürfen sie nicht|machen sie das nicht|machen sie es nicht|tun sie das nicht|lassen sie das"
        "|lassen sie es|lassen sie mal|lassen sie's|lass das|lass es|lass mal|lassen wir das|lassen wir es|abbrechen"
        "|abbruch|stornieren|vergessen sie es|vergessen sie's|vergiss es|ich behalte ihn|ich behalte es|keins|keine"
        "|nichts|nix|nicht *|bitte nicht *|nein nicht *|* sie es nicht|* sie das nicht|* sie ihn nicht|* sie nicht"
        "|* sie sie nicht|nicht * bitte|ned|net|nicht so|so nicht|ich hab's mir anders überlegt"
        "|ich habe es mir anders überlegt|anders überlegt|ich * nicht|wir * nicht|nicht ganz richtig|beides falsch"
        "|weder noch|ich glaube nicht|ich denke nicht|ich glaub nicht|kann ich nicht|da kann ich nicht"
        "|nein doch lieber nicht|doch lieber nicht"
    ),
    wait=(
        "moment|moment mal|moment bitte|einen moment|einen moment bitte|einen moment mal|kleinen moment|ein moment"
        "|sekunde|eine sekunde|augenblick|einen augenblick|warten sie|warten sie mal|warten sie kurz"
        "|warten sie mal kurz|warten sie bitte|warte|warte mal|wart mal|stopp|stop|halt|halt stopp|noch nicht|später"
        "|ich muss noch überlegen|ich muss überlegen|ich überlege es mir|ich überleg's mir|langsam|nicht so schnell"
        "|sachte"
    ),
    correction="moment|entschuldigung|ich meine|ich meinte|warte|warten sie|äh|halt|stopp|sorry|moment mal",
    hedge=(
        "ich glaube|ich glaube schon|glaube schon|glaub schon|ich glaub|ich glaub schon|glaube ich|glaub ich"
        "|ich denke|ich denke schon|denke schon|denke ich|denk ich|ich denk|ich denk mal|vielleicht|eventuell"
        "|wahrscheinlich|vermutlich|möglicherweise|womöglich|angeblich|ungefähr|in etwa|so ungefähr|mehr oder weniger"
        "|fast|beinahe|eigentlich|eigentlich schon|schon|im prinzip|im prinzip ja|im grunde|prinzipiell|theoretisch"
        "|so halb|jein|naja|na ja|nun ja|tja|joa|hoffentlich|ich hoffe|hoffe ich|hoff ich|ich nehme an|nehme ich an"
        "|ich nehm's mal an|ich vermute|anscheinend|scheinbar|weiß nicht|weiß ich nicht|ich weiß nicht"
        "|ich weiß es nicht|weiß net|weiß ned|keine ahnung|kein plan|bin mir nicht sicher|ich bin mir nicht sicher"
        "|nicht sicher|ich bin nicht sicher|ziemlich sicher|relativ sicher|nicht ganz|nicht so ganz|nicht wirklich"
        "|kommt drauf an|kommt darauf an|mal sehen|mal schauen|schauen wir mal|schau mer mal|wie sie meinen"
        "|wie sie wollen|wenn sie meinen|wenn sie wollen|wenn sie möchten|wenn's sein muss|wenn es sein muss"
        "|von mir aus|meinetwegen|egal|mir egal|ist mir egal|müsste|könnte|dürfte|sollte|würde|wird schon|na gut okay"
        "|irgendwie|ja nein|ja und nein|sozusagen|das ist ja|es ist ja|das sind ja|ist ja|sind ja|da ist ja|hat ja"
        "|habe ja|hab ja|kann ja|muss ja|wir haben ja|ich habe ja|das kann ja|ich bin ja|wird ja|war ja|ich höre"
        "|ja ich höre|verstehe|ich verstehe|verstanden|ja verstanden|am apparat|guten tag|guten morgen|guten abend"
        "|grüß gott|hallo|ich weiß|ich weiß schon|ich weiß ja|möglich|kann sein|könnte sein|nicht schlecht"
        "|ich überlege noch|ich bin am überlegen|höchstwahrscheinlich|müsste gehen|müsste passen|sollte gehen"
        "|sollte passen|so gut wie"
    ),
    speaking="sagt|sagte|gesagt|sagen|meint|meinte|denkt|findet|fragt|fragen",
    negating="nicht|kein|keine|keinen|nie|niemals|net|ned",
    open_end=(
        "äh|ähm|öh|und|oder|aber|weil|also|der|die|das|mit|dass|wenn|hm|hmm|tja|am|um|für|im|zum|vom|ich|na"
        "|mein|meine|meinen|unser|unsere|ihr|ihre|ihren|dem|den|ein|eine|einen"
    ),
    reported=(
        "will|er|mein mann|meine frau|mein sohn|meine tochter|mein freund|meine freundin|mein chef|mama|papa|mutti"
        "|schatz|liebling|du|dir|dich|dein|deine|ihm|mann|frau"
    ),
    condition=(
        "wenn|falls|sofern|solange|soweit|außer|es sei denn|vorausgesetzt|unter der bedingung|nur wenn|sobald|bevor"
        "|erst wenn|ob|insofern|angenommen"
    ),
    contrast=(
        "aber|jedoch|allerdings|nur|bloß|bis auf|abgesehen von|statt|anstatt|stattdessen|sondern|obwohl|trotzdem"
        "|lieber|doch lieber|eher|außerdem|ausser|dafür|erst|wobei|doch"
    ),
    change=(
        "ändern|ändern sie|änder|verschieben|verschieben sie|verschieb|umbuchen|tauschen|wechseln|hinzu|dazu"
        "|zusätzlich|auch|auch noch|noch|noch ein|noch eine|noch einen|extra|ohne|mit|anderer|andere|anderes|anderen"
        "|mehr|weniger|größer|größeres|größere|kleiner|kleinere|billiger|günstiger|früher|später|eher|anders|und zwar"
        "|ich meinte|ich meine|ich sagte|ich habe gesagt|wie wär's mit|wie wäre es mit|wie wäre|besser|pausieren"
        "|doppelt|halb so|beide|beides|alle|jede|jeden|nächste|nächsten|letzte|letzten|oder|stattdessen|nehmen sie"
        "|nehmen wir|geben sie|packen sie|legen sie|jetzt|dieser|diesen|diese|gleich"
    ),
    question=(
        "was|wann|wo|wohin|woher|wer|wen|wem|warum|wieso|weshalb|wie|welche|welcher|welches|welchen|wieviel|ist|sind"
        "|haben|hat|habe|gibt|kann|können|könnten|könnte|kriegt|bekomme|bekommen|darf|dürfte ich|muss|müssen|soll"
        "|sollen|wird|werden|gilt|reicht|kostet|geht das|geht auch|hören|wie bitte"
    ),
    requests=(
        "kann ich|kann man|können wir|können sie|könnten wir|könnten sie|geht auch|geht es auch|wie wär's|wie wäre"
        "|ginge|ginge auch|könnte ich|darf ich"
    ),
    checking=(
        "haben sie gesagt|sagten sie|meinen sie|meinten sie|ist das|ist es|war das|wie viel|wie viele|was haben sie"
    ),
    filler=(
        "äh|ähm|öh|öhm|ä|ach|oh|ah|bitte|danke|danke schön|dankeschön|vielen dank|besten dank|schönen dank"
        "|herzlichen dank|danke sehr|danke ihnen|ich danke ihnen|sehr nett|sehr freundlich|also|so|mal|wirklich|sehr"
        "|ganz|einfach|ruhig|guter mann|entschuldigung|tschuldigung|verzeihung|leider|das wär's|das war's"
        "|das wäre alles|das war alles|das ist alles|mehr nicht|wie gesagt|oh ja|gell|gnädige frau|des|da|für mich"
        "|für uns|ich freue mich|freu mich|dann|das ist sehr nett"
    ),
    hesitation=(
        "hm|hmm|hmmm|na|nun|tja|ach so|achso|soso|aha|puh|oje|oh je|ui|joa|gut gut|je nun|tschüss|auf wiederhören"
        "|schönen tag|schönen tag noch|bis dann|bis bald"
    ),
    asking=(
        "und|dann|und dann|bitte|können sie|könnten sie|würden sie|mir|auch|noch|auch noch|noch bitte|und bitte"
        "|außerdem|und könnten sie|und können sie"
    ),
    extra=(
        "schicken sie mir|schicken sie uns|schick mir|senden sie mir|senden sie uns|mailen sie mir|mir die"
        "|mir noch die|mir bitte die|mir bitte noch die|mir noch eine|mir eine|mir bitte eine|geben sie mir bescheid"
        "|sagen sie mir bescheid|bescheid geben|rufen sie mich an|rufen sie mich bitte an|rufen sie mich"
        "|erinnern sie mich|ich hätte noch eine frage|ich habe noch eine frage|ich hab noch eine frage"
        "|noch eine frage|noch was|ich hätte gern eine quittung|ich brauche eine rechnung|ich brauche eine quittung"
    ),
    extra_words=(
        "die|der|das|den|eine|einen|ein|mir|uns|bitte|noch|auch|per|als|an|am|auf|mit|von|zu|zum|dazu|danke|schicken"
        "|zuschicken|senden|zusenden|mailen|geben|sagen|adresse|anschrift|bestätigung|buchungsbestätigung"
        "|terminbestätigung|rechnung|quittung|beleg|link|nummer|bestellnummer|buchungsnummer|sms|mail|email|e"
        "|nachricht|kopie|einzelheiten|details|daten|wegbeschreibung|info|infos|information|erinnerung|einmal|mal"
        "|kurz|wenn|sobald|es|er|sie|fertig|da|ist|erledigt|soweit|unterwegs|whatsapp|telefon|handy|zettel|post|dann"
        "|danach|frage|hätte|ich|habe|am tag vorher|einen tag vorher"
    ),
    neutral=(
        "der|die|das|den|dem|des|ein|eine|einen|einem|einer|mein|meine|meinen|unser|unsere|ihr|ihre|ihren|ist|sind|es"
        "|und|also für|punkt|herr|insgesamt|ich hätte gern|ich hätte gerne|ich möchte|wir hätten gern"
        "|wir hätten gerne|am|nummer"
    ),
    loose="am|an|um|für|im|in|auf|mit",
    ranges="von=zu",
    counted="personen|leute|gäste|person",
    suffixes="uhr|pünktlich",
    joining="und",
    negation="nicht",
    prepositions=(
        "am|an|um|für|im|in|auf|zum=zu|zur=zu|zu|nach|vom=von|von|bis=zu|ab|mit|bei|beim=bei|zwischen=von|aus|unter"
        "|auf den|auf die|gegen|vor|ohne"
    ),
    acts=_acts(),
    reasons="",
    wishes="",
    alike="",
    phrasal="",
    nouns="",
    light="",
    sounds="",
    reverses=(
        "haben sie etwas dagegen|hast du etwas dagegen|etwas dagegen|stört es sie|macht es ihnen etwas aus|noch etwas"
        "|sonst noch etwas|etwas zu ändern|etwas ändern|etwas falsch|irgendwelche änderungen|einwände"
    ),
    counters="nichts|überhaupt nicht|gar nicht|gar nichts|nicht im geringsten|keineswegs",
    bare="ja|jo|jup|jawohl|nein|nee|nö|ne|doch|gern|gerne|klar",
    numbers=_numbers(),
    tens="",
    hundred="hundert",
    thousand="tausend",
    ordinals=_ordinals(),
    clock="halb=-30|viertel nach=15|viertel vor=-15|dreiviertel=-15|drei viertel=-15|viertel=-45",
    days=(
        "montag|montags=montag|dienstag|dienstags=dienstag|mittwoch|mittwochs=mittwoch|donnerstag"
        "|donnerstags=donnerstag|freitag|freitags=freitag|samstag|samstags=samstag|sonnabend=samstag|sonntag"
        "|sonntags=sonntag|heute|morgen|übermorgen|gestern|wochenende|werktags|wochentags|woche|freitagabend=freitag"
        "|samstagabend=samstag|sofort|jetzt|jetzt gleich"
    ),
    months=(
        "januar|jänner=januar|februar|feber=februar|märz|april|mai|juni|juno=juni|juli|august|september|oktober"
        "|november|dezember"
    ),
    dayparts=(
        "früh=am|vormittag=am|vormittags=am|morgens=am|nachmittag=pm|nachmittags=pm|abend=pm|abends=pm|nachts=pm"
        "|heute abend=pm"
    ),
    units="euro|euros=euro|franken|cent|dollar|prozent",
    confirming="bestätigen|bestätige|eintragen|notieren|speichern|vormerken|erfassen|festhalten|aufnehmen|hinterlegen|ausführen",
    closing="",
    vocatives="mein lieber|meine liebe|mein freund",
    closings="",
    shown="",
    does="",
    able="",
    rights="",
    passives="wird|werden|wurde|wurden|worden|soll|sollen|darf|dürfen|kann|können|möchten|wollen|haben",
    participles=_participles(),
    participle="",
    leads=(
        "dass ich|soll ich|darf ich|kann ich|sollen wir|dürfen wir|können wir|ich werde|ich würde|ich möchte"
        "|möchten sie|wollen sie|möchtest du|willst du|werde ich|würde ich|wir werden"
    ),
    infinitive="en",
    gerund="",
    predicates="einverstanden|zufrieden|vollständig|komplett|bereit|recht|akzeptabel|fertig",
    particles="ab|an|auf|aus|ein|durch|weiter|um|zu",
    selves="ich bin|bin|wir sind",
    copulas="das ist|es ist|ist|sind",
    articles="ein|eine|einen|einem|mein|meine|meinen|der|die|den|dem",
    addressed="mich=sie|uns=sie",
    at_once="jetzt|sofort",
)
"""German, with some of its dialects."""
