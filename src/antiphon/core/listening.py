"""What the caller says while the agent speaks, and in passing: whether that they listen, or an answer.

    UNDECIDED --the agent goes on for a breath--> LISTENS (no turn)
    UNDECIDED --the agent has nothing more to say--> ANSWERS (a turn)

"Okay" over the agent says only that the caller listens, as long as the agent goes on talking. What is said over the
last of the agent's words, or over a question behind which nothing follows, is an answer to them: it waits until the
agent has ended. Where a question was still to come, and was heard, the caller was asked behind it. Fewer words than an
interruption takes never cut the agent, and are never dropped: they are a turn when it has ended.

Above: the rules of turns. Below: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from antiphon.core.stages import Sound
from antiphon.core.state import Segment

A_BREATH = 1.5
"""Seconds for which the agent must go on, if what was said over it was no answer."""

_END_OF_SENTENCE = re.compile(r"(?<=[.!?\u2026])\s+|(?<=[\u3002\uff01\uff1f])")
_QUESTION = ("?", "\uff1f", "\u061f")


class Listening:
    """What the caller's words were said over, and since when they wait for it to end."""

    __slots__ = ("_heard", "_over", "_since")

    def __init__(self) -> None:
        self._over: Segment | None = None
        self._heard = ""
        """What was heard of it when the caller began."""
        self._since: float | None = None

    def began(self, over: Segment | None) -> None:
        """The caller begins to speak, over what sounds."""
        self._over, self._heard, self._since = over, "" if over is None else over.heard, None

    def is_said_again(self, segment: Segment) -> None:
        """What gave no sound is said once more, by this segment: so is what the caller spoke over, if it was that."""
        over = self._over
        if over is not None and over.speech is segment.speech and over.was_cut and not over.heard:
            self._over, self._heard = segment, ""

    def waits(self, now: float) -> None:
        """The caller has said what they say, and it is not known yet what it was."""
        if self._since is None:
            self._since = now

    def decided(self) -> None:
        """That is known, or other words have come."""
        self._since = None

    def deadline(self, now: float) -> float | None:
        """When the agent will have gone on for a breath; None: nothing waits for that."""
        until = None if self._since is None else self._since + A_BREATH
        return None if until is None or until <= now else until

    @property
    def was_before_a_question(self) -> bool:
        """The question with which the agent ended was still to come, and was heard: it is answered behind this."""
        is_asked = self._over is not None and self._over.sound is Sound.GONE and not self._over.was_cut
        return is_asked and len(self._rest) > 1 and self._rest[-1].endswith(_QUESTION)

    def was_over_the_last_question(self, ahead: Sequence[Segment]) -> bool:
        """It was said over a question, with which the agent ends. `ahead`: all that is still to be heard."""
        if len(ahead) > 1 or ahead[0] is not self._over:
            return False
        return len(self._rest) == 1 and self._rest[0].endswith(_QUESTION)

    @property
    def _rest(self) -> list[str]:
        """The sentences of what it was said over that were not heard whole when the caller began."""
        text = "" if self._over is None or self._over.text is None else self._over.text
        return [one for one in _END_OF_SENTENCE.split(text.removeprefix(self._heard).strip()) if one]
