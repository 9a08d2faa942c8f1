"""What stands in the history, and in requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from antiphon.chat import ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise
from tests.core.fuzz.trace import EPSILON, Step, serials


class CallsStandBesideTheirOutputs(Promise):
    """Every call has its output beside it; no output without a call; the same in every request (design 1)."""

    def start(self) -> None:
        self._latest: dict[str, ChatItem] = {}
        """By agent, and for the history itself."""

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        for whose in (command.agent,) if command.carried else (command.agent, ""):
            before = self._latest.get(whose)
            self._check([command.item] if before is None else [before, command.item], f"{command}")
            self._latest[whose] = command.item

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        self._check(command.open, f"request {command.gen}")
        if command.open and type(command.open[-1]) is FunctionCall:
            self.broken(f"request {command.gen} ends with {command.open[-1]}")

    def _check(self, items: Iterable[ChatItem], where: str) -> None:
        expected = None
        for n, item in enumerate(items):
            if type(item) is FunctionCallOutput:
                if item.call_id != expected and (n or expected):
                    self.broken(f"{where}: {item} stands beside call {expected}")
            elif expected is not None:
                self.broken(f"{where}: {item} stands behind call {expected}, not its output")
            expected = item.call_id if type(item) is FunctionCall else None

    def settled(self) -> None:
        item = self._latest.get("")
        if type(item) is FunctionCall:
            self.broken(f"the history ends with {item}")


class NothingIsRecordedTwice(Promise):
    """`Record`: the item is settled. A context holds it once, and a request shows none that it holds (commands)."""

    def start(self) -> None:
        self._items: dict[str, set[str]] = {}

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        self._note(self._items.setdefault(command.agent, set()), command.item.id, f"{command}")
        if type(command.item) is FunctionCall and not command.carried:
            if command.item.call_id in self.trace.recorded_calls:
                self.broken(f"{command} for the second time")

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        shown = set(self._items.get(command.agent, ()))
        for item in command.open:
            self._note(shown, item.id, f"request {command.gen}")
            if type(item) is FunctionCall and item.call_id in self.trace.recorded_calls:
                self.broken(f"request {command.gen} shows call {item.call_id}, which is recorded already")

    def _note(self, known: set[str], one: str, where: str) -> None:
        if one in known:
            self.broken(f"{where}: {one} is there twice")
        known.add(one)


class WhoGoesOnKnowsTheLastWordsOfATask(Promise):
    """What a task's agent was saying as it ended is in the context of the agent below, too (handoff of the core)."""

    def start(self) -> None:
        self._frames = list(self.trace.frames)
        self._heirs: dict[str, str] = {}
        """By agent that is gone: the one below."""
        self._untold: set[tuple[str, str]] = set()
        """Messages, and who is to know them."""

    @on(f.AgentTaskFinished)
    def finished(self, fact: f.AgentTaskFinished) -> None:
        left = self.trace.frames
        self._heirs.update({agent: left[-1][1] for _, agent in self._frames[len(left) :]})

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        item, agent = command.item, command.agent
        if command.carried:
            self._untold.discard((item.id, agent))
        elif type(item) is ChatMessage and item.role == "assistant" and agent in self._heirs:
            self._untold.add((item.id, self._heirs[agent]))

    def settled(self) -> None:
        self._frames = list(self.trace.frames)
        for _, agent in self._frames:
            self._heirs.pop(agent, None)

    def unfinished(self) -> Iterable[str]:
        return [f"{item} is not known to {agent}" for item, agent in self._untold]


class ItemsHaveIdsOfTheCore(Promise):
    """The ids of history items are never those that `chat.new_id` gives to others' (history of the core)."""

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        if command.item.id.startswith("item_") and type(self.trace.fact) is not f.ContextChanged:
            if command.item.type != "agent_config_update":
                self.broken(f"{command}")


class TheHistoryIsInOrder(Promise):
    """The core emits `Record` in final order (design 1): nothing stands behind what happened later."""

    def start(self) -> None:
        self._latest: ChatItem | None = None

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        if command.carried:
            return
        before, self._latest = self._latest, command.item
        if before is not None and command.item.created_at < before.created_at - EPSILON:
            self.broken(f"{command} happened before {before}")


class OnlyWhatWasHeardIsRecorded(Promise):
    """Text is cut to what was heard, `interrupted=True`; nothing heard, nothing recorded as said (tool loop 5).

    All of what was heard is recorded, but for what bridges a wait and offers nothing, and what is to stay out of the
    history.
    """

    def start(self) -> None:
        self._recorded: set[str] = set()
        self._unfinished: set[Step] = set()
        """Those that ended before all of their text was known."""

    @on(f.PlayoutFinished)
    def finished(self, fact: f.PlayoutFinished) -> None:
        step = self.trace.segments.get(fact.segment)
        if step is not None and step.text is None:
            self._unfinished.add(step)

    def _wants(self, step: Step) -> bool:
        request, budget = step.speech.request, self.options.silence
        if step.is_filler:
            offer = budget.fillers.offer if budget is not None and request is None else ""
            return bool(offer) and isinstance(step.asked, do.Speak) and step.asked.text == offer
        return request is None or request.record

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        item = command.item
        if type(item) is not ChatMessage or item.role != "assistant" or command.carried:
            return
        self._recorded.add(item.id)
        text = item.text_content or ""
        step = next(
            (s for s in self.trace.steps.values() if do.message_id(s.segment, self.trace.mark) == item.id), None
        )
        if step is None or text != step.heard or not text.strip():
            self.broken(f"{text!r} is recorded as said; heard was {step and step.heard!r}")
        if not self._wants(step):
            self.broken(f"{text!r} is recorded, and was to stay out of the history")
        is_known = step.text is not None and step not in self._unfinished
        if is_known and item.interrupted != (text.split() != (step.text or "").split()):
            self.broken(f"{text!r} of {step.text!r} is recorded with interrupted={item.interrupted}")

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        for item in command.open:
            if type(item) is ChatMessage and item.role == "assistant":
                said = [s for s in self.trace.steps.values() if do.message_id(s.segment, self.trace.mark) == item.id]
                if any(not self._wants(step) for step in said):
                    self.broken(f"request {command.gen} shows {item}")

    def at_rest(self) -> None:
        for step in self.trace.steps.values():
            if step.heard and self._wants(step):
                if do.message_id(step.segment, self.trace.mark) not in self._recorded:
                    self.broken(f"{step.heard!r} was heard and is not in the history")

    at_end = at_rest


class RoundsAreRecordedWhole(Promise):
    """Calls of one step are recorded in call order (tool loop 4), all of them, and what a request showed stays."""

    def start(self) -> None:
        self._shown: set[str] = set()

    @on(told.RoundClosed)
    def closed(self, notice: told.RoundClosed) -> None:
        step = self.trace.steps[notice.gen]
        written = [call.call_id for call, _ in notice.pairs]
        made = [made.call.call_id for made in step.calls]
        if written != (made if not step.speech.interrupted else [one for one in made if one in written]):
            self.broken(f"{made} were called, and {written} are written down")
        self._shown.update(written)

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        self._shown.update(item.call_id for item in command.open if type(item) is FunctionCall)

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        if type(command.item) is FunctionCall:
            call_id = command.item.call_id.split("/")[0]
            if call_id not in self.trace.calls:
                self.broken(f"call {call_id} was never made")

    def at_rest(self) -> None:
        if self._shown - self.trace.recorded_calls:
            self.broken(f"not in the history: {sorted(self._shown - self.trace.recorded_calls)}")

    at_end = at_rest


class TurnsAreRecorded(Promise):
    """A committed user turn is never lost (design 1); nobody but the caller, or who speaks for them, said it."""

    def start(self) -> None:
        self._said: set[str] = set()
        """Words that the caller, or the application in their place, used."""
        self._missing: Counter[str] = Counter()
        self._words_due: dict[int, float] = {}
        """By turn that a model heard: when its words must have come."""
        self._wordless: set[int] = set()
        """Turns that were committed before their words came."""
        self._exit_at = 0.0
        """When an agent was last asked to leave."""

    @on(f.Transcribed, f.UserTurnSubmitted, f.TurnTaken, f.TurnTranscribed, f.ConsentGiven)
    def heard(
        self, fact: f.Transcribed | f.UserTurnSubmitted | f.TurnTaken | f.TurnTranscribed | f.ConsentGiven
    ) -> None:
        self._said.update((fact.text or "").split())
        if isinstance(fact, f.TurnTaken):
            self._awaited(fact.turn)
        elif isinstance(fact, f.TurnTranscribed):
            is_in_time = self.trace.now < self._words_due.pop(fact.turn, 0.0) - EPSILON
            if fact.turn in self._wordless and is_in_time and fact.text.strip():
                self._missing[fact.text] += 1
            self._wordless.discard(fact.turn)

    @on(do.CommitAudio)
    def ended(self, command: do.CommitAudio) -> None:
        self._awaited(command.turn)

    def _awaited(self, turn: int) -> None:
        self._words_due[turn] = self.trace.now + self.options.words_timeout

    @on(do.RunHook)
    def leaves(self, command: do.RunHook) -> None:
        if command.kind == "on_exit":
            self._exit_at = self.trace.now

    def at_end(self) -> None:
        now = self.trace.now
        due = [turn for turn in self._wordless if now < self._words_due[turn] - EPSILON]
        if due and now < self._exit_at + self.options.close_grace - EPSILON:
            self.broken(f"the end does not wait for the words of {due}")

    @on(f.HookReturned, f.SpeechRequested)
    def put(self, fact: f.HookReturned | f.SpeechRequested) -> None:
        self._said.update(((fact.user_input if isinstance(fact, f.SpeechRequested) else fact.text) or "").split())

    @on(told.TurnCommitted, told.TurnVetoed)
    def committed(self, notice: told.TurnCommitted | told.TurnVetoed) -> None:
        if notice.text.strip():
            self._missing[notice.text] += 1
        elif self.trace.returned is not None and self.trace.returned.heard_as in self._words_due:
            self._wordless.add(self.trace.returned.heard_as)

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        item = command.item
        if type(item) is not ChatMessage or item.role != "user" or command.carried:
            return
        text = item.text_content or ""
        if not self._said.issuperset(text.split()):
            self.broken(f"{command}: nobody said that")
        self._missing[text] -= 1

    def unfinished(self) -> Iterable[str]:
        return [
            f"turn {text!r}, committed and not in the history" for text, count in self._missing.items() if count > 0
        ]


class WordsOutliveTheEnd(Promise):
    """What the caller said and nobody answers any more is in the history all the same (design 4: how a call ends)."""

    def start(self) -> None:
        self._recorded: set[str] = set()

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        item = command.item
        if type(item) is ChatMessage and item.role == "user" and not command.carried:
            self._recorded |= serials(item.text_content or "")

    @on(do.Close)
    def closed(self, command: do.Close) -> None:
        missing = self.trace.words - self._recorded
        if missing and self.options.turns.detection != "realtime_llm":  # there the model says what is a turn
            self.broken(f"{command}, and not in the history: {sorted(missing)}")


class WhatIsSaidToATurnStandsBehindIt(Promise):
    """What is said while the application decides on a turn stands behind that turn in the history (tool loop 5)."""

    def start(self) -> None:
        self._since: dict[str, int] = {}
        """By message id: the hook that ran when its text was asked for."""

    @on(do.Speak)
    def spoken(self, command: do.Speak) -> None:
        for hook in self.trace.hooks.values():
            if hook.kind == "on_user_turn_completed":
                self._since[do.message_id(command.segment, self.trace.mark)] = hook.hook

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        is_history = not command.carried  # else it is what another agent is told of it
        if is_history and self._since.get(command.item.id) in self.trace.hooks and not self.trace.is_closing:
            self.broken(f"{command.item} stands before the turn that is being decided on")
