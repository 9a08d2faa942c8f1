"""What a file of scenarios may say: who calls and how they behave, what tools do, and what must be so at the end.

Above: `running`, which makes calls of them. Below: `evaluation.reading`, which tells mistakes with file and line.
"""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from antiphon.evaluation.cases import ExpectedCall
from antiphon.evaluation.mocks import Mock, Seconds
from antiphon.evaluation.reading import Strict

Medium: TypeAlias = Literal["sound", "text", "voice"]
"""sound: fake voices in virtual time. text: no sound. voice: the real recogniser and voice of this machine."""

Noise: TypeAlias = Literal["city-ambience", "forest-ambience", "office-ambience", "crowded-room", "hold-music"]
"""What sounds behind the caller (`BuiltinAudioClip`)."""


def _pattern(said: str) -> str:
    try:
        re.compile(said)
    except re.error as error:
        raise ValueError(f"{said!r} is no regular expression: {error}. Write \\ before ( ) [ ] . * + ?") from None
    return said


def _several(said: Any) -> Any:
    """One is a list of one."""
    return said if isinstance(said, (list, tuple)) else [said]


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_pattern)]
"""A regular expression; upper and lower case are one."""
Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(_several)]


def found(pattern: str, text: str) -> re.Match[str] | None:
    """Where a pattern is in a text, the last time."""
    return next(iter(deque(re.finditer(pattern, text, re.IGNORECASE | re.DOTALL), maxlen=1)), None)


class Act(Strict):
    """One thing that a caller does. Text alone is what they say."""

    say: str = ""
    """Words; "..." between them is a pause."""
    one_of: tuple[str, ...] = ()
    """The seed chooses which of these they say."""
    hum: str = ""
    """Words that only say that they listen: "mm hmm"."""
    keys: str = Field(default="", pattern=r"^[0-9*#A-D]*$")
    """Keys of the telephone that they press."""
    cough: float = Field(default=0.0, ge=0, le=10)
    """Seconds of a noise without words."""
    hang_up: bool = False
    after: Seconds = (0.0, 0.0)
    """Seconds that pass first."""

    @model_validator(mode="before")
    @classmethod
    def _may_be_words(cls, said: Any) -> Any:
        return {"say": said} if isinstance(said, str) else said

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        done = [bool(one) for one in (self.say, self.one_of, self.hum, self.keys, self.cough, self.hang_up)]
        if sum(done) != 1:
            raise ValueError("expected one of say, one_of, hum, keys, cough and hang_up, got " + str(sum(done)))
        for words in (self.say, *self.one_of, self.hum):
            if words and not any(map(str.isalnum, words)):
                raise ValueError(f"expected words, got {words!r}. Give words that somebody can say")
        return self

    def words(self, rng: random.Random) -> str:
        """What they say; "" if it is something else."""
        return rng.choice(self.one_of) if self.one_of else self.say

    @property
    def all_words(self) -> tuple[str, ...]:
        """Whatever they may say."""
        return tuple(filter(None, (self.say, *self.one_of, self.hum)))


class Wish(Act):
    """What the caller wants: their first words for it."""

    until: Pattern | None = None
    """What the agent says when it is fulfilled; None: any answer to which the caller knows nothing to say."""


Acts = Annotated[tuple[Act, ...], BeforeValidator(_several)]
Wishes = Annotated[tuple[Wish, ...], BeforeValidator(_several)]


class Moment(Act):
    """Something that happens at an instant, whatever else goes on: an interruption, a hum, keys, hanging up."""

    hears: Pattern | None = None
    """As soon as the agent is heard to say this, in the middle of it."""
    reply: int | None = Field(default=None, ge=1)
    """When the agent begins to speak for this time, counted from 1; what is said on without the caller is one reply."""
    tool: str | None = None
    """When a tool begins to run."""
    silence: float | None = Field(default=None, gt=0)
    """When nobody was heard for so many seconds."""
    time: float | None = Field(default=None, ge=0)
    """So many seconds after the call began."""
    times: int = Field(default=1, ge=1, le=1000)
    """How often, at most."""

    @model_validator(mode="after")
    def _has_one_instant(self) -> Self:
        given = [one for one in (self.hears, self.reply, self.tool, self.silence, self.time) if one is not None]
        if len(given) != 1:
            raise ValueError(f"expected one of hears, reply, tool, silence and time, got {len(given)}")
        return self


class Script(Strict):
    """A caller: what they want and know, what they do at which moment, how they are.

    They decide by what they hear. A question that they know the answer to is answered (`knows`); else the next wish is
    said; without further wishes they say goodbye and hang up.
    """

    wishes: Wishes = ()
    """One after the other."""
    knows: dict[Pattern, Acts] = Field(default_factory=dict)
    """By what they are asked: what they answer. Several: the first time, the second, ...; the last one stays."""
    moments: tuple[Moment, ...] = ()
    persona: str = ""
    """Who they are and what they want, in prose: a language model plays them (`--caller-llm`), in place of wishes."""
    llm: str | None = None
    """The model that plays the persona, by the name that `--llm` takes."""
    max_turns: int = Field(default=20, ge=1, le=200)
    """How often a persona speaks, at most."""
    never_says: Patterns = ()
    """What they never say: a script with it is refused, and a persona says something else."""
    otherwise: str = "I don't know, sorry."
    """What they say to a question that they know no answer to."""
    asked_again: Pattern = r"say (that|it) again|repeat (that|it)|catch that|once more\?|pardon"
    """What the agent says that wants to hear the same once more: then they say it once more."""
    goodbye: str = "That is all, thank you. Goodbye."
    """Their last words; "": they hang up without."""
    patience: float = Field(default=10.0, ge=1, le=600)
    """Seconds without a sound after which they ask whether anybody is there; after as many again they give up."""
    reaction: Seconds = (0.2, 0.6)
    """Seconds until they answer."""
    pace: float = Field(default=3.0, ge=1, le=6)
    """Words a second."""

    @model_validator(mode="after")
    def _is_somebody(self) -> Self:
        if self.persona and self.wishes:
            raise ValueError("a caller has either wishes, or a persona that a model plays. Keep one")
        if not (self.persona or self.wishes or self.moments):
            raise ValueError("the caller wants nothing. Add `wishes: [...]`, or `persona: ...`")
        acts = (*self.wishes, *self.moments, *(act for acts in self.knows.values() for act in acts))
        lines = [*(words for act in acts for words in act.all_words), self.otherwise, self.goodbye]
        for pattern in self.never_says:
            if said := next((line for line in lines if re.search(pattern, line, re.IGNORECASE)), None):
                raise ValueError(f"never_says has {pattern!r}, and the caller says {said!r}. Change one of them")
        return self


class LineQuality(Strict):
    """What the agent hears of the caller, in calls with real voices (`medium: voice`)."""

    telephone: bool = False
    """8 kHz, mu-law, as telephones carry it."""
    noise: Noise | None = None
    snr: float = Field(default=15.0, ge=-10, le=60)
    """dB that the voice is louder than the noise, about."""


def _calls(said: Any) -> Any:
    return [{"tool": one} if isinstance(one, str) else one for one in _several(said)]


class AtTheEnd(Strict):
    """What must be so when the call is over. Nothing said: nobody gave up, nothing broke, no write was done twice."""

    calls: Annotated[tuple[ExpectedCall, ...], BeforeValidator(_calls)] = ()
    """Calls that were made, in this order; others may be between them."""
    never_calls: Annotated[tuple[ExpectedCall, ...], BeforeValidator(_calls)] = ()
    """Calls that were not made: of a tool, or of a tool with these arguments."""
    no_calls: bool = False
    says: Patterns = ()
    """Each was heard of the agent."""
    never_says: Patterns = ()
    """None was heard of the agent."""
    ended_by: Literal["caller", "agent"] | None = None
    max_dead_air: float | None = Field(default=None, gt=0)
    """Seconds: the longest that nobody was heard while the agent had something to do."""
    max_answer: float | None = Field(default=None, gt=0)
    """Seconds: the longest from the caller's last sound to the agent's first."""
    max_duration: float | None = Field(default=None, gt=0)
    """Seconds of the call."""
    one_write_a_wish: bool = True
    """No tool that writes was run twice to its end with equal arguments."""
    state: dict[str, Any] = Field(default_factory=dict)
    """What is in the session's userdata, among other things."""
    handoff: str | None = None
    """The agent in charge: its class, or its id."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.no_calls and self.calls:
            raise ValueError("no_calls says that none is made, and calls that some are. Keep one")
        return self


class Scenario(Strict):
    """One call, as often as it is to be made."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    name: str = Field(min_length=1)
    caller: Script = Field(default_factory=lambda: Script(wishes=(Wish(say="Hello"),)))
    tools: dict[str, Mock] = Field(default_factory=dict)
    """What tools do in the place of running, by name."""
    expect: AtTheEnd = Field(default_factory=AtTheEnd)
    medium: Medium | None = None
    """None: as the command line says, which is "sound"."""
    line: LineQuality = Field(default_factory=LineQuality)
    minutes: float = Field(default=10.0, gt=0, le=24 * 60)
    """After so many minutes of the call's own time it is ended, and has failed."""
    plays: Callable[[Any], Awaitable[None]] | None = Field(default=None, exclude=True)
    """In Python: what the caller does, in the place of `caller` (`@scenario`)."""

    @model_validator(mode="before")
    @classmethod
    def _has_a_caller(cls, said: Any) -> Any:
        if isinstance(said, Mapping) and "caller" not in said and said.get("plays") is None:
            raise ValueError("it has no caller. Add `caller: {wishes: [...]}`")
        return said


class Scenarios(Strict):
    """A file of scenarios."""

    scenarios: tuple[Scenario, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _is_no_python(cls, said: Any) -> Any:
        for one in said.get("scenarios") or () if isinstance(said, Mapping) else ():
            if isinstance(one, Mapping) and "plays" in one:
                raise ValueError("`plays` is a function, which only a Python file has. Write @scenario in a .py file")
        return said
