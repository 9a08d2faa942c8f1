"""A session's host: the parts that keep its objects, put together, and the driver that works for them.

Above: `AgentSession`. Below: each part, which knows one thing, and the runtime, which is given them as `Host`.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon.agent import Agent
from antiphon.application.announcer import Announcer
from antiphon.application.cast import Cast
from antiphon.application.handles import Handles
from antiphon.application.models import Models
from antiphon.application.rest import Rest
from antiphon.application.snapshot import Snapshots
from antiphon.application.speeches import Speeches
from antiphon.application.surroundings import Surroundings
from antiphon.application.tool_tables import ToolRules as ToolRules
from antiphon.application.tool_tables import ToolTables
from antiphon.application.transcript import Transcript
from antiphon.application.userdata import FieldsCodec, userdata_of
from antiphon.before_speech import BeforeSpeech
from antiphon.errors import UsageError
from antiphon.options import ConsentJudge, ContextBudget, RedactWords, SessionOptions
from antiphon.protocols import ModelKind, UserdataCodec, call_watch
from antiphon.runtime.driver import Driver
from antiphon.runtime.host import Host
from antiphon.runtime.keeping import Keeping
from antiphon.runtime.kept_rows import is_effect
from antiphon.runtime.masks import Masks
from antiphon.runtime.synthesis import prepare
from antiphon.runtime.tool_log import log_tools
from antiphon.secret import key_of_fingerprints
from antiphon.session_api import Session
from antiphon.session_options import judged, options_for
from antiphon.store import Durability, Store, StoredCall
from antiphon.tools.identity import check_owners
from antiphon.tools.toolset import ToolLike
from antiphon.transport import AudioInput, AudioOutput

if TYPE_CHECKING:
    from antiphon.application.resuming import KeptCall


@dataclass(slots=True, frozen=True)
class TalkRules:
    """What a session was told about the talk: what is looked at, left out, or hidden of it."""

    before_speech: BeforeSpeech | None = None
    context_budget: ContextBudget | None = None
    redact: RedactWords = ()
    consent_judge: ConsentJudge | None = None


class SessionHost:
    """The host of one session."""

    def __init__(
        self,
        session: Session[Any],
        models: Mapping[ModelKind, Any],
        tools: Sequence[ToolLike],
        tool_rules: ToolRules,
        talk: TalkRules,
    ) -> None:
        self._consent_judge = talk.consent_judge
        here, agents = Surroundings(session), dict[str, Agent]()
        self._here = here
        self._before_speech = talk.before_speech
        near = weakref.proxy(here)
        self.masks = Masks(session.language, talk.redact, lambda caller, agent: near.hushed(caller, agent))
        self.models = Models(models, tool_rules.parallel_tool_calls)
        self.rest = Rest(here)
        self.handles = Handles(here)
        self.tables = ToolTables(here, agents, self.handles, shared=tools, rules=tool_rules)
        self.cast = Cast(here, agents, self.models, self.tables, self.rest, talk.context_budget)
        self.transcript = Transcript(here, self.cast, self.rest)
        self.speeches = Speeches(here, self.cast, self.handles, self.transcript)
        self.announcer = Announcer(here, self.cast, self.handles, self.rest)

    def keeping(self, store: Store, call_id: str, stored: StoredCall | None, caller: str, *, by_turns: bool) -> Keeping:
        """What keeps the call in a store, once it is opened. `caller`: who calls, if the application knows it."""
        if store.durability is not Durability.MEMORY:
            key_of_fingerprints.store_opened()
        near = weakref.proxy(self._here)
        return Keeping(store, call_id, lambda error: near.failed(error, store), stored, caller, by_turns=by_turns)

    async def begin(
        self,
        options: SessionOptions,
        agent_id: str,
        audio_input: AudioInput | None,
        audio_output: AudioOutput | None,
        keeping: Keeping | None = None,
    ) -> Driver:
        """Make the driver, with what it needs loaded."""
        if (watch := call_watch.get()) is not None:
            watch(self._here.session)
        agent = self.cast.agent(agent_id)
        has_detector = self.models.get("turn_detector") is not None
        options = options_for(options, agent, has_detector=has_detector, is_heard=audio_output is not None)
        if self._consent_judge is not None:
            options = judged(options)
        self.cast.check_asking(agent_id, is_heard=audio_output is not None)
        if options.must_hear and audio_output is not None and not self.cast.has_voice(agent_id):
            raise UsageError(
                f"must_hear: agent {agent_id!r} has no voice of the session's own, and only that can be trusted to say"
                " exactly that. Give the session a tts, beside a realtime model, too."
            )
        if keeping is not None:
            check_owners(self.tables.tools_of(agent_id, on_enter=False).flatten())
        await prepare(agent.tts, audio_output)
        driver = self._here.begin(
            lambda: Driver(
                # It knows the parts, and does not keep them: what is over goes without the garbage collector.
                Host(
                    weakref.proxy(self.cast),
                    weakref.proxy(self.tables),
                    weakref.proxy(self.speeches),
                    weakref.proxy(self.announcer),
                ),
                options,
                agent_id,
                audio_input=audio_input,
                audio_output=audio_output,
                vad=agent.vad,
                turn_detector=self.models.get("turn_detector"),
                masks=self.masks,
                keeping=keeping,
                consent_judge=self._consent_judge,
                language=self._here.session.language,
            )
        )
        if options.must_hear:
            self._here.hush_until_heard()
        self.announcer.keep_journal(agent_id)
        log_tools(driver.observe)
        if self._before_speech is not None:
            self.announcer.look_at_words(self._before_speech)
        self._here.session.when_listened("unbacked_claim", self.announcer.look_at_words)
        self._here.session.when_listened("turn_metrics", self.announcer.measure)
        self._here.session.when_listened("trace", self.announcer.trace)  # behind the meter: a reply has its figures
        return driver

    def take_over(self, kept: KeptCall, keeping: Keeping, driver: Driver, line: str) -> None:
        """The call goes on here: what its tools did counts, and what the caller is owed is owed here.

        `line`: what they hear first.
        """
        self.transcript.goes_on(kept.items)
        if lost := kept.placeholders:
            self.masks.vault.lost(lost)
        numbers = {row.key: driver.new_id() for row in kept.stored.rows if not is_effect(row)}
        keeping.rows.resumed(kept.stored.rows, numbers, kept.turns)
        driver.report(kept.fact(numbers, line))
        driver.resumed(kept.stored.rows, numbers, self.cast.current_agent_id)

    def keep_snapshots(self, keeping: Keeping, codec: UserdataCodec[Any] | FieldsCodec, driver: Driver) -> None:
        """Keep userdata and the states of agents with the call."""
        near = weakref.proxy(self._here)
        driver.observe(Snapshots(keeping, codec, lambda: userdata_of(near.session), self.cast.agents, self.masks))

    def end(self) -> None:
        """The session is over: nobody waits for speech, or for it to rest, any more."""
        self.handles.end()
        self.rest.came()
