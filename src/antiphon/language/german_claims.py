"""How claims that something was done are made in German. `language.claims` reads them."""

from __future__ import annotations

from antiphon.language.claims import Action, ClaimPhrases

_FILLS = r"(?:(?!nicht\b|kein|nie\b)[\wäöüß'.-]+ ){0,12}?"

GERMAN_CLAIMS = ClaimPhrases(
    actions=(
        Action("book|reserve|booking|reservation|buchen|reservieren", "gebucht|reserviert", "buchung|reservierung"),
        Action("cancel|cancellation|stornieren|absagen", "storniert|abgesagt|gekündigt", "stornierung|kündigung"),
        Action("reschedule|move|postpone|change|verschieben|umbuchen", "verschoben|umgebucht|verlegt"),
        Action("schedule|appointment|book|arrange|vereinbaren|termin", "vereinbart|eingetragen", "termin"),
        Action("order|purchase|buy|bestellen", "bestellt|gekauft", "bestellung"),
        Action("pay|payment|charge|bill|bezahlen|überweisen", "bezahlt|überwiesen|abgebucht", "zahlung|überweisung"),
        Action("refund|reimburse|credit|erstatten", "erstattet|zurückerstattet|gutgeschrieben", "erstattung"),
        Action(
            "send|email|mail|sms|text|message|notify|dispatch|ship|schicken|senden",
            "geschickt|gesendet|gemailt|verschickt|versendet|versandt|zugeschickt|zugesendet",
        ),
        Action("register|enroll|subscribe|signup|anmelden", "angemeldet|registriert", "anmeldung|registrierung"),
        Action("delete|remove|erase|löschen", "gelöscht|entfernt"),
        Action("update|change|edit|modify|set|ändern|aktualisieren", "geändert|aktualisiert", is_alone=False),
        Action("create|open|add|make|new|file|submit|anlegen|erstellen", "angelegt|erstellt|eröffnet", is_alone=False),
        Action("add|create|append|hinzufügen", "hinzugefügt", is_alone=False),
        Action("save|store|note|record|log|speichern", "gespeichert", is_alone=False),
        Action("activate|enable|aktivieren", "aktiviert|freigeschaltet", is_alone=False),
        Action("deactivate|disable|block|sperren", "deaktiviert|gesperrt", is_alone=False),
    ),
    did=(
        rf"\b(?:ich|wir) (?:habe|haben|hab) {_FILLS}{{done}}",
        rf"\b(?:habe|haben|hab) (?:ich|wir) {_FILLS}{{done}}",
        r"\bsie sind (?:jetzt |nun |alle )*{done}",
        r"^(?:(?:gut|okay|super|prima|so|alles|erledigt|perfekt|schon)\W* )*{done}(?=$|[.!])",
        r"\b(?:ihre|deine|ihr|dein) (?:[\wäöüß-]+ ){0,2}{thing} (?:ist|wurde) (?:jetzt |nun |hiermit )*(?:bestätigt"
        r"|abgeschlossen|erfolgt|erledigt|durch|eingegangen)\b",
    ),
    states=(
        r"\b(?:ihr|ihre|dein|deine) [\wäöüß -]{2,40}? (?:ist|sind|wurde|wurden) (?:jetzt |nun |hiermit |erfolgreich )*"
        r"(?:[\wäöüß.:-]+ ){0,6}?{done}",
        r"\b(?:das|alles|es) (?:ist|wurde) (?:jetzt |nun |alles )*{done}",
        r"\b(?:der|die|das) (?:[\wäöüß-]+ ){1,3}?(?:wurde|wurden) (?:jetzt |nun )*(?:[\wäöüß.:-]+ ){0,6}?{done}",
    ),
    voids=(
        r"\b(?:nicht|nichts|nie|niemals|kein|keine|keinen|keinem|keiner|niemand|noch nicht|wenn|falls|sobald|ob|nachdem"
        r"|bevor|bis|solange|würde|würden|hätte|hätten|könnte|könnten|sollte|sollten|müsste|werde|werden|wird|wollte"
        r"|wollen|möchte|möchten|sagen|sagte|gesagt|leider|fast|beinahe|versucht|angenommen|vielleicht|jemand|soll|muss"
        r"|kann|können|was|wie|wer|warum|wann|welche|welcher|welches|bereits belegt)\b"
    ),
    voids_behind=(
        r"\b(?:gestern|letzte (?:woche|nacht)|letzten (?:monat|montag)|letztes jahr|früher|damals|würde|hätte"
        r"|haben sollte)\b"
    ),
    asks=(
        r"(?:und |oder |aber )?(?:hat|hatte|ist|sind|war|waren|kann|können|soll|sollen|darf|möchten|haben sie|was|wer"
        r"|wie|wann|wo|warum|welche|welcher|welches)\b"
    ),
    tags=r"richtig|oder|oder nicht|korrekt|ja|stimmt's|stimmt das|nicht wahr|nicht",
    cuts=r"[,;:\u2014\u2013]|[.!?](?= )| - | aber | weil | und (?=(?:ich|wir|sie|das|es|ihr|ihre)\b)",
)
