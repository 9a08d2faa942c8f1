"""The ledger as a state machine, judged by what the caller wants: of which no rule of it knows anything.

A model that makes calls twice and three times, again over a tool that works, and again in each response of a turn until
the next turn, never does more than the caller wished for; what they wished for is done in the end, if they are asked.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.core.commands import Generate, Play, RunTool
from antiphon.core.facts import Call, SpeechRequested, ToolCalled, ToolReturned
from antiphon.core.notices import ToolEnded
from antiphon.options import ToolPolicy
from tests.core.dialogue import Dialogue

WRITES = ToolPolicy(effect="writes", parallel=False)
STEPS = st.lists(
    st.sampled_from(
        ["wish", "wish", "chat", "return", "return", "return", "fail", "hear", "hear", "cut", "prompt", "prompt"]
    ),
    min_size=5,
    max_size=25,
)


class Counter:
    """A caller who wishes for coffees, a model that calls too often, and a bar that counts."""

    def __init__(self, copies: list[int]) -> None:
        self.d = Dialogue(max_tool_steps=3)
        self.wishes = 0
        self.failed: set[int] = set()
        self._wished_now = False
        self._copies = copies
        self._answered: set[int] = set()
        self._made = 0
        self._played: set[int] = set()
        self._is_untold = False
        """A result is in, and nothing was heard since."""
        self._speeches = 10_000

    @property
    def started(self) -> list[int]:
        return [command.run for command in self.d.all(RunTool)]

    @property
    def done(self) -> int:
        """Coffees that were made, or are being made."""
        return len([run for run in self.started if run not in self.failed])

    @property
    def working(self) -> list[int]:
        over = {notice.run for notice in self.d.all(ToolEnded)}
        return [run for run in self.started if run not in over]

    def turn(self, *, wish: bool) -> None:
        self.wishes += wish
        self._wished_now = wish
        self.d.types("a coffee, please" if wish else "what is the weather like")
        self.answer()

    def answer(self) -> None:
        """The model answers all requests that are open: with too many calls, or with words."""
        for _ in range(10):
            request = self.d.all(Generate)[-1] if self.d.all(Generate) else None
            if request is None or request.gen in self._answered:
                return
            self._answered.add(request.gen)
            wanted = self.wishes - self.done
            calls = self._wished_now or wanted > 0 or bool(self.working) or self._is_untold
            copies = self._copies[self._made % len(self._copies)] if calls else 0
            self._made += 1
            if not request.tools or not copies:
                self.d.model("Here you are.")
                continue
            for number in range(copies):
                call = Call(f"{request.gen}.{number}", "coffee", "{}", "{}")
                self.d.tell(ToolCalled(request.gen, call, WRITES))
            self.d.model("")

    def step(self, what: str) -> None:
        match what:
            case "wish" | "chat":
                self.turn(wish=what == "wish")
            case "return" | "fail" if self.working:
                run = self.working[0]
                if what == "fail":
                    self.failed.add(run)
                self._is_untold = True
                self.d.tell(ToolReturned(run, "here it is", is_error=what == "fail"))
            case "hear" if segments := self._playing():
                self._is_untold = False
                self._over(segments[0], None)
            case "cut" if segments := self._playing():
                self._wished_now = False
                self.d.types("what is the weather like")
                self._over(segments[0], "Here")
            case "prompt":
                self._speeches += 1
                self.d.tell(SpeechRequested(self._speeches, "reply"))
        self.answer()
        assert self.done <= self.wishes, f"{self.wishes} wished for, {self.done} made"

    def _over(self, segment: int, heard: str | None) -> None:
        self._played.add(segment)
        self.d.played(segment, heard)

    def _playing(self) -> list[int]:
        return [play.segment for play in self.d.all(Play) if play.segment not in self._played]

    def finish(self) -> None:
        """The caller waits, listens, and answers when they are asked."""
        for _ in range(3 * self.wishes + 10):
            for _ in range(20):
                if self.working:
                    self.step("return")
                elif self._playing():
                    self.step("hear")
            if self.done >= self.wishes:
                return
            self.turn(wish=False)
        pytest.fail(f"{self.wishes} wished for, {self.done} made")


@given(STEPS, st.lists(st.integers(1, 3), min_size=1, max_size=8))
@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_no_more_is_done_than_the_caller_wished_for_and_no_less(steps: list[str], copies: list[int]) -> None:
    counter = Counter(copies)
    for what in steps:
        counter.step(what)
    counter.finish()
    assert counter.done == counter.wishes
