"""Looks at what models write before it is spoken: does it claim what no tool has done, is it to be said at all.

Above: `responses`, which pass their text through here, sentence by sentence, where somebody asks for it; nobody else
pays for it. Below: the deeds of the call, and the claims of the language. What the session and the application say
themselves, and what a model says that speaks itself, is not looked at.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.before_speech import BeforeSpeech, Deed, Sentence
from antiphon.errors import UsageError, pass_on
from antiphon.language.claims import Claim, ClaimPhrases, claims_in
from antiphon.runtime.deeds import Deeds
from antiphon.runtime.host import Agents, Events
from antiphon.runtime.port import Port
from antiphon.scope import is_cancelled
from antiphon.text import SentenceSplitter
from antiphon.timer import within
from antiphon.tools.function import FunctionTool, RawFunctionTool

logger = logging.getLogger("antiphon")

HOLD_LIMIT = 2.0
"""Seconds that the application may hold a sentence. Then it is said as it is."""

_WORD = re.compile(r"[^\W\d_]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Scrutiny:
    """That of one session."""

    def __init__(
        self,
        port: Port,
        agents: Agents,
        events: Events,
        deeds: Deeds,
        phrases: ClaimPhrases,
        before: BeforeSpeech | None,
    ) -> None:
        self._port = port
        self._agents = agents
        self._events = events
        self._deeds = deeds
        self._phrases = phrases
        self._before = before
        self._has_failed = False
        self._ahead: dict[int, tuple[tuple[str, str, int], ...]] = {}
        """By generation that is made ahead: what it claims, to be told once it is wanted."""

    def speaks(self, phrases: ClaimPhrases) -> None:
        """The agent's words are in another language from here on."""
        self._phrases = phrases

    @property
    def may_change(self) -> bool:
        """Sentences wait for the application."""
        return self._before is not None

    def made_ahead(self, gen: int) -> None:
        """Perhaps nobody will hear it."""
        self._ahead[gen] = ()

    def wanted(self, gen: int) -> None:
        """What was made ahead is said."""
        for claim in self._ahead.pop(gen, ()):
            self._tell(gen, *claim)

    def unwanted(self, gen: int) -> None:
        """What was made ahead is not said."""
        self._ahead.pop(gen, None)

    async def passed(self, text: str, agent: str, gen: int, speech: int, tools: Sequence[Any]) -> str:
        """What is said in the place of a sentence. What the application then claims itself is not looked at."""
        unbacked, said = self._unbacked(text, agent, tools), text
        if self._before is not None:
            deeds = self._deeds.all()
            sentence = Sentence(text, agent, f"speech_{speech}", deeds, tuple(claim.done for claim in unbacked))
            said = await self._asked(self._before, sentence)
        if said == text:
            self._claimed(unbacked, text, gen, speech)
        return said

    def seen(self, text: str, agent: str, gen: int, speech: int, tools: Sequence[Any]) -> None:
        """A sentence is said."""
        self._claimed(self._unbacked(text, agent, tools), text, gen, speech)

    async def _asked(self, before: BeforeSpeech, sentence: Sentence) -> str:
        try:
            async with within(HOLD_LIMIT) as limit:
                said = await before(sentence)
            if said is None or isinstance(said, str):
                return sentence.text if said is None else said
            raise UsageError(f"before_speech: expected a text, or None for the sentence as it is, got {said!r}")
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            self._events.failed(error, before)
        except BaseException as error:
            pass_on(error)
            if isinstance(error, TimeoutError) and limit.expired():
                error = TimeoutError(f"before_speech held a sentence for {HOLD_LIMIT:g} s: it is said as it is")
            logger.error("before_speech failed, and the sentence is said as it is", exc_info=error)
            self._events.failed(error, before)
        return sentence.text

    # -- claims

    def _claimed(self, claims: Iterable[Claim], text: str, gen: int, speech: int) -> None:
        for claim in claims:
            told = (text, claim.done, speech)
            if gen in self._ahead:
                self._ahead[gen] += (told,)
            else:
                self._tell(gen, *told)

    def _tell(self, gen: int, text: str, done: str, speech: int) -> None:
        logger.warning("the agent says that it has %r, and no tool has done that in this call", done)
        self._port.span("unbacked_claim", gen=gen)
        self._events.claimed(text, done, speech)

    def _unbacked(self, text: str, agent: str, tools: Sequence[Any]) -> list[Claim]:
        try:
            return self._read(text, agent, tools)
        except Exception as error:  # patterns and tools may be the application's: the sentence is said all the same
            if not self._has_failed:
                self._has_failed = True
                logger.exception("the claims of a sentence could not be read")
                self._events.failed(error, self._phrases)
            return []

    def _read(self, text: str, agent: str, tools: Sequence[Any]) -> list[Claim]:
        offered = {
            tool.name: _words(tool.name, tool.description)
            for tool in tools
            if isinstance(tool, (FunctionTool, RawFunctionTool)) and tool.options.effect != "reads"
        }
        verbs = [_verb(name) for name in offered]
        claims = claims_in(text, self._phrases, verbs)
        if not claims:
            return []
        done = self._deeds.done(self._agents.agent(agent).context_items())
        return [
            claim
            for claim in claims
            if (claim.is_alone or any(claim.names & words for words in offered.values()))
            and not any(self._backs(deed, claim, offered.get(deed.name, frozenset())) for deed in done)
        ]

    def _backs(self, deed: Deed, claim: Claim, words: frozenset[str]) -> bool:
        """Whether it may have been this: a tool that says it, by its name, its description or its result."""
        if claim.is_state:
            return True  # whatever looked into it has seen it so
        words = words | frozenset(_listed(deed.name))
        if claim.names & words or claim.done in deed.output.lower():
            return True
        if deed.effect != "reads" and claim.names & frozenset(_listed(deed.output)):
            return True
        known = {name for action in self._phrases.actions for name in action.names.split("|")}
        return deed.effect != "reads" and not known & words  # nobody can tell by its name what it does


@functools.lru_cache(maxsize=1024)
def _words(name: str, description: str) -> frozenset[str]:
    return frozenset([*_listed(name), *_listed(description.partition("\n")[0])])


@functools.lru_cache(maxsize=1024)
def _verb(name: str) -> str:
    return next(iter(_listed(name)), "")


def _listed(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_HUMPS.sub(" ", text).replace("_", " "))]


class Passage:
    """A text in pieces, cut into sentences that hold all of it, the white space before each included."""

    __slots__ = ("_rest", "_splitter")

    def __init__(self) -> None:
        self._splitter = SentenceSplitter(max_length=1_000)
        self._rest = ""

    def push(self, piece: str) -> list[tuple[str, str]]:
        """The sentences that are now complete, each as the white space before it, and its text."""
        self._rest += piece
        return [self._cut(sentence) for sentence in self._splitter.push(piece)]

    def flush(self) -> list[tuple[str, str]]:
        """The rest."""
        done = [self._cut(sentence) for sentence in self._splitter.flush()]
        rest, self._rest = self._rest, ""
        return [*done, (rest, "")] if rest else done

    def _cut(self, sentence: str) -> tuple[str, str]:
        before, _, self._rest = self._rest.partition(sentence)
        return before, sentence
