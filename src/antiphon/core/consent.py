"""Spoken consent: a call that must not be made by mistake waits for the caller's yes to exactly these arguments.

    UNASKED --the floor is the agent's--> READING --heard whole--> OPEN --a yes--> agreed: the call is made, once
    READING --less was heard than all arguments--> UNASKED
    OPEN --silence, or words that decide nothing--> UNASKED, once
    READING, OPEN --words, and there is a judge--> JUDGED --it says, or its time is over--> as the words
    any --a no, a change, a question; silence or nothing clear twice; the end--> void: the call never runs

The read-back is the session's own line, said by the voice directly. Until its last argument was heard, a yes or a sign
of listening does nothing at all; from then on both are a yes. What decides is whether that was heard when the caller
began to speak. What is not clear decides nothing while it sounds. One call is asked about at a time. What the words
mean is decided by `language.consent`.

Above: `rules.consent`, which asks, and does what was decided. Below: the calls, the words.
"""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias

from antiphon.core.notices import ConsentAsked, ConsentDecided, ConsentDecision, DecidedBy
from antiphon.core.promises import Outbox
from antiphon.core.stages import Sound
from antiphon.core.state import OpenCall, Segment, Speech
from antiphon.language.consent import decide
from antiphon.language.replies import Asked, Reply
from antiphon.options import ConsentOptions

TIMES = 2
"""How often a caller is asked who says nothing, or nothing clear."""

Before: TypeAlias = Literal["done", "unknown"]
"""What is known of an equal call, where that is why the caller is asked."""

MOST_READINGS = 6
"""How often a call is read back in all, also because something else came between."""


class Stage(enum.Enum):
    """How far a question is."""

    UNASKED = enum.auto()
    """It is to be read back, perhaps again."""
    READING = enum.auto()
    """The read-back is made, or sounds."""
    OPEN = enum.auto()
    """It was heard whole: it is the caller's turn."""
    JUDGED = enum.auto()
    """A judge thinks about what they said."""


_UNASKED, _READING, _OPEN, _JUDGED = Stage


class Question:
    """One call that waits for a yes, and what the caller was asked and has said."""

    __slots__ = (
        "_began",
        "asked",
        "call",
        "heard_before",
        "judgement",
        "line",
        "quiet_since",
        "readings",
        "segment",
        "speech",
        "stage",
        "times",
        "was_put",
        "words",
    )

    def __init__(self, call: OpenCall, speech: Speech, asked: Asked, now: float) -> None:
        self.call = call
        self.speech = speech
        """The one that made the call."""
        self.asked = asked
        self.stage = _UNASKED
        self.line: Speech | None = None
        """Reads back."""
        self.segment: Segment | None = None
        """What of it was said last."""
        self.was_put = False
        """The caller has heard something of it: what they say from then on is for the gate."""
        self.times = 1
        """How often they were asked and could answer: not where something else came between."""
        self.readings = 0
        self.heard_before = False
        """The last argument was heard when the caller began to speak."""
        self.quiet_since: float | None = None
        """Since when nobody says or does anything."""
        self.judgement: int | None = None
        self.words = ""
        """What they said and a judge has before it, or had."""
        self._began = now

    @property
    def is_heard(self) -> bool:
        """The last argument was heard."""
        if self.stage in (_OPEN, _JUDGED):
            return True
        segment = self.segment
        if segment is None or self.stage is _UNASKED:
            return False
        if segment.sound is Sound.GONE and not segment.was_cut and segment.heard:
            return True
        return len(segment.heard.split()) >= _words_of(self.asked, segment.text)

    def read_by(self, line: Speech, text: str) -> None:
        """This speech reads it back, in these words."""
        self.line, self.segment, self.stage = line, None, _READING
        self.asked = Asked(text, self.asked.values)
        self.heard_before = False
        self.quiet_since = None
        self.readings += 1

    def sounds(self) -> None:
        """The read-back may have moved on."""
        line = self.line
        if line is None or self.stage is not _READING:
            return
        if line.step is not None and not line.trouble.fallback:  # what was said in its place asks nothing
            self.segment = line.step.segment
        if not self.was_put and self.segment is not None and (self.segment.has_sounded or self.segment.heard):
            self.was_put = True
            self.call.was_put_to_the_caller()

    def caller_began(self, *, anew: bool, over_others: bool) -> None:
        """The caller begins to speak. `anew`: they have said nothing before that is no turn yet.

        `over_others`: something else is heard, which they may mean.
        """
        self.sounds()
        self.heard_before = self.is_heard and not over_others and (anew or self.heard_before)

    def read_whole(self) -> None:
        """It is the caller's turn."""
        self.stage = _OPEN

    def must_be_read(self) -> None:
        """Less of it was heard than they are to agree to, or it is not what they heard last."""
        self.stage, self.quiet_since = _UNASKED, None

    def asked_again(self) -> None:
        """They could have answered, and did not, or not clearly."""
        self.times += 1
        self.must_be_read()

    def disturbed(self) -> None:
        """Somebody says or does something: the silence begins anew."""
        self.quiet_since = None

    def quiet(self, now: float) -> float:
        """Nobody says or does anything. Since when."""
        if self.quiet_since is None:
            self.quiet_since = now
        return self.quiet_since

    def is_before(self, judgement: int, words: str) -> None:
        """A judge thinks about these words."""
        self.stage, self.judgement, self.words = _JUDGED, judgement, words

    def judged(self) -> None:
        """The judge is done."""
        self.stage, self.judgement = _OPEN, None

    def take_words(self, more: str) -> str:
        """All that they said and nobody has decided on: what comes behind it may take it back."""
        words, self.words = f"{self.words} {more}".strip(), ""
        return words


class Consent:
    """What the caller is asked about, if anything."""

    __slots__ = ("_options", "_out", "is_agreed", "question")

    def __init__(self, out: Outbox, options: ConsentOptions) -> None:
        self._out = out
        self._options = options
        self.question: Question | None = None
        self.is_agreed = False
        """The caller has just agreed to a call: it is made before anything else is taken that they said."""

    def speaks(self, options: ConsentOptions) -> None:
        """The caller is asked, and understood, in another language from here on."""
        self._options = options

    # -- predicates

    def may_run(self, call: OpenCall, *, before: Before | None) -> bool:
        """Nobody has to agree to it, or the caller just did. `before`: the same was done, or perhaps was."""
        if call.call.read_back is None or not (call.policy.confirm or before):
            return True
        return call.agreed_at is not None and self._out.now - call.agreed_at <= self._options.lifetime

    def shields(self, speech: Speech) -> bool:
        """The caller's words are for the question that it waits for, and do not interrupt it."""
        question = self.question
        return question is not None and question.speech is speech and question.was_put

    def waits_in(self, speech: Speech) -> bool:
        """The speech has nothing to do until the caller has answered."""
        question = self.question
        return question is not None and question.speech is speech and question.stage is _OPEN

    def is_for(self, speech: Speech) -> bool:
        """The speech made the call that is asked about."""
        return self.question is not None and self.question.speech is speech

    def is_read_in(self, segment: Segment | None) -> bool:
        """The segment is the read-back."""
        question = self.question
        return question is not None and segment is not None and question.line is segment.speech

    def means(self, words: str) -> Reply:
        """What the words say to the question."""
        question = self.question
        assert question is not None  # somebody asked whether there is one
        return decide(words, question.asked, self._options.phrases)

    # -- what happens

    def opened(self, call: OpenCall, speech: Speech, *, before: Before | None) -> None:
        """The call is to be made, and the caller is asked first. `before`: the same was done, or perhaps was."""
        call.asks()
        lines, text = self._options.lines, (call.call.read_back or "").strip()
        if not text.endswith(("?", "\uff1f", "\u061f")):
            text = f"{text} {lines.check}".strip()
        if before is not None:
            text = f"{lines.another if before == 'done' else lines.unknown} {text}"
        self.question = Question(call, speech, Asked(text, call.call.spoken), self._out.now)

    def text(self, question: Question, *, again: bool) -> str:
        """What is said."""
        if not again:
            return question.asked.text
        lines = self._options.lines
        read_back = (question.call.call.read_back or "").strip()
        return lines.again.format(read_back=read_back, check=lines.check)

    def read_by(self, question: Question, line: Speech, text: str) -> None:
        """The speech reads it back."""
        question.read_by(line, text)
        self._out.send(ConsentAsked(question.speech.id, question.call.call, text, question.readings))

    def acted(self) -> bool:
        """What they agreed to is made, or found to wait. True if there was something."""
        was_agreed, self.is_agreed = self.is_agreed, False
        return was_agreed

    def agreed(self, question: Question, heard: str, by: DecidedBy) -> None:
        """The caller said yes to exactly this. It counts once, and for a while."""
        self.is_agreed = True
        question.call.agreed_to(self._out.now)
        self._decided(question, "yes", heard, by)

    def void(self, question: Question, why: ConsentDecision, output: str, heard: str, by: DecidedBy) -> None:
        """The call never runs."""
        refused = why in ("no", "change", "question")
        question.call.answer(output, is_error=False, shows=(), reply=True, refused=refused)
        self._decided(question, why, heard, by)

    def gone(self, question: Question) -> None:
        """The speech that made the call was cut."""
        self._decided(question, "interrupted", "", "session")

    def _decided(self, question: Question, decision: ConsentDecision, heard: str, by: DecidedBy) -> None:
        if question.judgement is not None:
            self._out.withdraw(question.judgement)
        self.question = None
        self._out.send(ConsentDecided(question.speech.id, question.call.call, decision, heard, by))

    # -- time

    @property
    def deadline(self) -> float | None:
        """When silence has lasted long enough."""
        question, limit = self.question, self._options.timeout
        if question is None or limit is None or question.quiet_since is None or question.stage is not _OPEN:
            return None
        return question.quiet_since + limit


def _words_of(asked: Asked, spoken: str | None) -> int:
    """How many words of what is spoken the last argument ends with. All, where that cannot be told."""
    is_as_written = spoken is None or len(spoken.split()) == len(asked.text.split())
    text = asked.text if spoken is None or is_as_written else spoken
    bare = text.casefold()
    ends = [bare.rfind(value.casefold()) + len(value) for value in asked.values if value and value.casefold() in bare]
    return len(text[: max(ends)].split()) if ends else len(text.split())
