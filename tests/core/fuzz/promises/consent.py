"""What must not be done by mistake: only after a yes that was heard to exactly this call, once, and answered.

Nothing here knows how the gate goes on. A read-back is known by the notice that tells of it, and a yes by what the
caller said after the call's own words were heard.
"""

from __future__ import annotations

from antiphon.chat import FunctionCall
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from antiphon.core.commands import Record
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise
from tests.core.fuzz.trace import EPSILON, Step


class OnlyAfterAYes(Promise):
    """A call that is asked about first runs after a yes to it, once; what is void never runs (design 4)."""

    def start(self) -> None:
        self._agreed: dict[str, float] = {}
        """By call: when the caller said yes to it, until it is run."""
        self._closed: set[str] = set()
        """Calls that are void, or whose yes is used."""
        self._asked: dict[str, list[str]] = {}
        """By call: what the caller was asked."""
        self._said = ""
        """What the caller said last."""
        self._just_agreed: set[str] = set()
        """Calls that this very fact is a yes to, and that do not run yet."""

    @on(f.Transcribed, f.UserTurnSubmitted, f.ConsentGiven)
    def heard(self, fact: f.Transcribed | f.UserTurnSubmitted | f.ConsentGiven) -> None:
        self._said = fact.text or self._said

    @on(told.ConsentAsked)
    def asked(self, notice: told.ConsentAsked) -> None:
        call = notice.call.call_id
        if call in self._closed or call in self._agreed:
            self.broken(f"{notice}, and it was decided before")
        if any(spoken not in notice.text for spoken in notice.call.spoken):
            self.broken(f"{notice} does not say {notice.call.spoken}")
        self._asked.setdefault(call, []).append(notice.text)

    @on(told.ConsentDecided)
    def decided(self, notice: told.ConsentDecided) -> None:
        call = notice.call.call_id
        if call in self._closed or call in self._agreed:
            self.broken(f"{notice}, and it was decided before")
        if notice.decision != "yes":
            self._closed.add(call)
            return
        if not self._was_heard(notice.call):
            self.broken(f"{notice}, and the caller has not heard {notice.call.spoken}")
        if notice.by == "words" and notice.heard.split()[0] not in ("yes", "okay", "uh", "mm"):
            self.broken(f"{notice} is no yes")
        self._agreed[call] = self.trace.now
        self._just_agreed.add(call)

    @on(told.SpeechInterrupted)
    def interrupted(self, notice: told.SpeechInterrupted) -> None:
        speech = self.trace.speech(notice.speech)
        cut = {call for call in self._just_agreed if self.trace.calls[call].step.speech is speech}
        if cut:
            self.broken(f"{notice}, and the caller said yes to {sorted(cut)}")

    def settled(self) -> None:
        self._just_agreed.clear()

    def _was_heard(self, call: f.Call) -> bool:
        texts = self._asked.get(call.call_id, ())
        steps = [one for one in self.trace.steps.values() if getattr(one.asked, "text", None) in texts]
        return any(all(spoken in step.heard for spoken in call.spoken) for step in steps)

    @on(do.RunTool)
    def started(self, command: do.RunTool) -> None:
        if not command.policy.confirm:
            return
        agreed = self._agreed.pop(command.call.call_id, None)
        self._just_agreed.discard(command.call.call_id)
        if agreed is None:
            self.broken(f"{command}, and nobody said yes to it")
        if self.trace.now - agreed > self.options.consent.lifetime:
            self.broken(f"{command}, and the yes is {self.trace.now - agreed} s old")
        self._closed.add(command.call.call_id)


class AQuestionComesToAnEnd(Promise):
    """Whoever says nothing to a read-back for `consent_timeout` is asked once more, and then it is void (design 4)."""

    def start(self) -> None:
        self._call: str | None = None
        self._task = 0
        """Whose frame it was asked in."""
        self._idle_since: float | None = None
        """Since when nothing is to come but the caller's answer."""

    @on(told.ConsentAsked)
    def asked(self, notice: told.ConsentAsked) -> None:
        self._call, self._task = notice.call.call_id, self.trace.frames[-1][0]
        self._idle_since = None

    @on(told.ConsentDecided)
    def decided(self, _: told.ConsentDecided) -> None:
        self._call = self._idle_since = None

    def settled(self) -> None:
        trace, limit = self.trace, self.options.consent.timeout
        if self._call is None or not trace.is_idle or trace.is_speaking or trace.frames[-1][0] != self._task:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = trace.now
        elif limit is not None and trace.fact is None and trace.now >= self._idle_since + limit - EPSILON:
            self.broken(f"nobody says anything to {self._call} since {self._idle_since:.3f}, and nothing follows")

    def unfinished(self) -> list[str]:
        return [] if self._call is None else [f"question about {self._call}"]


class TheQuestionComesLast(Promise):
    """The caller is left to answer only what they have heard, and have heard last (design 4).

    A read-back that was cut, or of which nothing was heard, is said again; so is one behind which something else is
    heard.
    """

    def start(self) -> None:
        self._asked: told.ConsentAsked | None = None
        self._task = 0
        """Whose frame it was asked in."""
        self._last: Step | None = None
        """What began to sound last."""

    @on(told.ConsentAsked)
    def asked(self, notice: told.ConsentAsked) -> None:
        self._asked, self._task, self._last = notice, self.trace.frames[-1][0], None

    @on(told.ConsentDecided)
    def decided(self, _: told.ConsentDecided) -> None:
        self._asked = None

    @on(f.PlayoutStarted)
    def began_to_sound(self, fact: f.PlayoutStarted) -> None:
        step = self.trace.segments.get(fact.segment)
        if step is not None and step in self.trace.line and not step.is_filler:
            self._last = step

    def settled(self) -> None:
        trace, asked = self.trace, self._asked
        if asked is None or not trace.is_idle or trace.frames[-1][0] != self._task:
            return
        steps = [one for one in trace.steps.values() if getattr(one.asked, "text", None) == asked.text]
        if not any(all(spoken in one.heard for spoken in asked.call.spoken) for one in steps):
            self.broken(f"it is the caller's turn, and they have not heard {asked.call.spoken}")
        if self._last is not None and self._last not in steps:
            self.broken(f"it is the caller's turn, and {self._last.segment} was heard behind {asked.text!r}")


class WhatIsAskedStandsInTheHistory(Promise):
    """A call that was decided on is in the history, with why it did not run, if it did not (design 4)."""

    def start(self) -> None:
        self._missing: set[str] = set()

    @on(told.ConsentDecided)
    def decided(self, notice: told.ConsentDecided) -> None:
        if notice.decision not in ("yes", "interrupted"):
            self._missing.add(notice.call.call_id)

    @on(Record)
    def recorded(self, command: Record) -> None:
        if isinstance(command.item, FunctionCall):
            self._missing.discard(command.item.call_id)

    def at_rest(self) -> None:
        if self._missing:
            self.broken(f"{sorted(self._missing)} are not in the history")
