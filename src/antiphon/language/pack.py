"""`Language`: all that a session knows of the caller's language."""

from __future__ import annotations

from antiphon.language.answering import AnswerPhrases
from antiphon.language.claims import ClaimPhrases
from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.language.english_answers import ENGLISH_ANSWERS
from antiphon.language.english_claims import ENGLISH_CLAIMS
from antiphon.language.lines import AwayLadder, CaptureLines, ConsentLines, Fillers
from antiphon.language.phrases import Phrases
from antiphon.language.spoken import SpokenForms
from antiphon.record import record


@record
class Language(Phrases):
    """A language pack. Words are lower case, without marks. What is not given is English."""

    fallback_line: str
    """Said when the model has nothing to say after its last round."""
    failure_line: str
    """Said when the model failed."""
    unheard_line: str
    """Said when the caller spoke and the recogniser gave no words in time."""
    resumed_line: str = "Sorry, we were cut off for a moment."
    """Said when a call goes on that had been cut off. Empty: nothing is said."""
    asks: str = "{who} asks: {question}"
    """What the caller hears where another service asks them something."""
    fillers: Fillers = Fillers()
    """What is said while the caller would otherwise wait in silence."""
    away_ladder: AwayLadder = AwayLadder()
    """What is said to a caller who has fallen silent, where a session asks for it."""
    spoken: SpokenForms = SpokenForms()
    """How people say numbers, letters, marks and dates."""
    consent: ConsentPhrases = ConsentPhrases()
    """What people say when an action was read back to them."""
    consent_lines: ConsentLines = ConsentLines()
    """What an action is read back with."""
    claims: ClaimPhrases = ENGLISH_CLAIMS
    """How the agent says that something was done."""
    answers: AnswerPhrases = ENGLISH_ANSWERS
    """What machines say that answer a call."""
    captures: CaptureLines = CaptureLines()
    """What tasks that capture a value ask and read back."""

    @property
    def phrases(self) -> Phrases:
        """What of it the core knows."""
        return Phrases(self.code, self.listening, self.farewell, self.padding, presence=self.presence)
