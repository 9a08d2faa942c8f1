"""English, the default. How it spells and what it asks: the defaults of `SpokenForms`, `Fillers`, `CaptureLines`."""

from __future__ import annotations

from antiphon.language.pack import Language
from antiphon.language.phrases import listed

ENGLISH = Language(
    code="en",
    listening=listed(
        "uh huh uhhuh mm hmm mmhmm mhm hm yeah yep right okay ok sure alright cool aha ah oh gotcha i see got it"
    ),
    farewell=listed("bye goodbye cheerio farewell ciao ta thanks thank care night later"),
    padding=listed(
        "you too very much so a lot for your the help all that's that is it was everything great perfect good and no"
        " nope have nice lovely day evening one weekend take see soon talk to then now well wonderful excellent"
    ),
    fallback_line="I'm sorry, I couldn't work that out. Could you say it another way?",
    failure_line="I'm sorry, something went wrong on my side. Could you say that again?",
    unheard_line="I'm sorry, I didn't catch that. Could you say it again?",
)
