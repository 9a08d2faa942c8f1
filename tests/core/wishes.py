"""A caller who wishes for drinks, a model that calls for them too often, and a bar that counts.

The caller's wishes judge the ledger: no rule of it knows anything of them. Whatever happens between two of them, no
more is made than was wished for; what was wished for is made in the end, if the caller is asked; and where nobody can
know whether one was made, that was said.

    python -m tests.core.wishes --steps 100000 --seed 7
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from typing import Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from antiphon.core.commands import Generate, Play, RunTool
from antiphon.core.facts import Call, ContextChanged, SpeechRequested, ToolCalled, ToolReturned, ToolUpdated
from antiphon.options import ToolPolicy
from tests.core.dialogue import Dialogue
from tests.proofs import closing

DRINKS: Final = ("coffee", "tea")
TIMEOUT: Final = 20.0
WRITES = ToolPolicy(effect="writes", parallel=False, timeout=TIMEOUT, background_timeout=TIMEOUT)
STEPS: Final = (
    "wish coffee", "wish coffee", "wish tea", "wish both", "chat",
    "return", "return", "return", "return last", "fail", "break", "update", "overdue", "late", "late fail",
    "hear", "hear", "cut", "prompt", "prompt", "forget",
)  # fmt: skip
FEW = st.lists(st.sampled_from(STEPS), min_size=5, max_size=25)
MANY = st.lists(st.sampled_from(STEPS), min_size=40, max_size=60)
COPIES = st.lists(st.integers(1, 3), min_size=1, max_size=8)


class Bar:
    """One conversation. `copies`: how often the model makes a call, response by response."""

    def __init__(self, copies: list[int]) -> None:
        self.d = Dialogue(max_tool_steps=3)
        self.wishes: Counter[str] = Counter()
        self.steps = 0
        self._wished_now: set[str] = set()
        self._copies = copies
        self._answered: set[int] = set()
        self._made = 0
        self._ended: dict[int, str] = {}
        """Runs of which something is known: "done", "failed", "broken" (nobody will ever know), "overdue"."""
        self._played: set[int] = set()
        self._untold: set[str] = set()
        """Drinks of which a result is in, and nothing was heard since."""
        self._speeches = 10_000

    # -- what there is

    def _runs(self, drink: str) -> list[int]:
        return [command.run for command in self.d.all(RunTool) if command.call.name == drink]

    def done(self, drink: str) -> int:
        """Drinks that were made, are being made, or may have been."""
        return sum(self._ended.get(run) != "failed" for run in self._runs(drink))

    def is_in_doubt(self, drink: str) -> bool:
        """Nobody knows whether one was made."""
        return any(self._ended.get(run) in ("broken", "overdue") for run in self._runs(drink))

    @property
    def working(self) -> list[int]:
        return [command.run for command in self.d.all(RunTool) if command.run not in self._ended]

    @property
    def overdue(self) -> list[int]:
        return [run for run, state in self._ended.items() if state == "overdue"]

    def _playing(self) -> list[int]:
        return [play.segment for play in self.d.all(Play) if play.segment not in self._played]

    def wants(self, drink: str) -> bool:
        """More are wished for than there can be."""
        return self.wishes[drink] > self.done(drink)

    # -- the caller and the model

    def turn(self, *drinks: str) -> None:
        self.wishes.update(drinks)
        self._wished_now = set(drinks)
        self.d.types(f"{' and '.join(drinks)}, please" if drinks else "what is the weather like")
        self.answer()

    def answer(self) -> None:
        """The model answers all requests that are open: with too many calls, or with words."""
        for _ in range(10):
            request = self.d.all(Generate)[-1] if self.d.all(Generate) else None
            if request is None or request.gen in self._answered:
                return
            self._answered.add(request.gen)
            copies = self._copies[self._made % len(self._copies)]
            self._made += 1
            drinks = [drink for drink in DRINKS if self._calls_for(drink)] if request.tools else []
            for number, drink in enumerate([*drinks] * copies):
                self._call(request, drink, number)
            self.d.model("" if drinks else "Here you are.")

    def _calls_for(self, drink: str) -> bool:
        """It was wished for, or may be missing, or is not told yet: a model may call for any of these reasons."""
        busy = any(run in self._runs(drink) for run in self.working) or drink in self._untold
        return drink in self._wished_now or self.wants(drink) or busy

    def _call(self, request: Generate, drink: str, number: int) -> None:
        """In other words each time, where it is tea."""
        note = f'{{"note":{number}}}' if drink == "tea" else "{}"
        identity = "tea" if drink == "tea" else ""
        call = Call(f"{request.gen}.{number}", drink, note, note, identity=identity)
        self.d.tell(ToolCalled(request.gen, call, WRITES))

    # -- steps

    def step(self, what: str) -> None:
        self.steps += 1
        match what.split():
            case ["wish", "both"]:
                self.turn(*DRINKS)
            case ["wish", drink]:
                self.turn(drink)
            case ["chat"]:
                self.turn()
            case ["return" | "fail" | "break" as how, *rest] if self.working:
                self._end(self.working[-1 if rest else 0], how)
            case ["update"] if self.working:
                self.d.tell(ToolUpdated(self.working[0], "it is being made"))
            case ["overdue"] if self.working:
                self._wait()
            case ["late", *rest] if self.overdue:
                self._end(self.overdue[0], "fail" if rest else "return")
            case ["hear"] if segments := self._playing():
                self._over(segments[0], None)
            case ["cut"] if segments := self._playing():
                self._wished_now = set()
                self.d.types("what is the weather like")
                self._over(segments[0], "Here")
            case ["prompt"]:
                self._speeches += 1
                self.d.tell(SpeechRequested(self._speeches, "reply"))
            case ["forget"]:
                calls = tuple(command.call.call_id for command in self.d.all(RunTool))
                self.d.tell(ContextChanged("a", forgets=calls))
        self.answer()
        for drink in DRINKS:
            assert self.done(drink) <= self.wishes[drink], f"{self.wishes} wished for, {self.done(drink)} of {drink}"

    def _end(self, run: int, how: str) -> None:
        self._ended[run] = {"return": "done", "fail": "failed", "break": "broken"}[how]
        self._untold |= {drink for drink in DRINKS if run in self._runs(drink)}
        self.d.tell(ToolReturned(run, f"{how} {run}", is_error=how != "return", unknown=how == "break"))

    def _wait(self) -> None:
        """Longer than tools may take."""
        self._untold |= {drink for drink in DRINKS if any(run in self._runs(drink) for run in self.working)}
        self._ended |= dict.fromkeys(self.working, "overdue")
        for _ in range(int(TIMEOUT) + 1):
            self.d.wait(1.0)
            self.answer()  # neither a model nor a voice takes as long as that
            for segment in self._playing():
                self._over(segment, None)
            self.answer()

    def _over(self, segment: int, heard: str | None) -> None:
        self._played.add(segment)
        if heard is None:
            self._untold.clear()
        self.d.played(segment, heard)

    def finish(self) -> None:
        """The caller waits, listens, and answers when they are asked."""
        for _ in range(3 * self.wishes.total() + 10):
            for _ in range(20):
                if self.working:
                    self.step("return")
                elif self._playing():
                    self.step("hear")
            missing = [drink for drink in DRINKS if self.wants(drink) and not self.is_in_doubt(drink)]
            if not missing:
                break
            self.turn()
        history = "\n".join(self.d.lines)
        for drink in DRINKS:
            assert self.is_in_doubt(drink) or self.done(drink) == self.wishes[drink], f"{drink} was forgotten"
            said = f"unknown whether `{drink}`" in history or "break " in history
            assert said or not self.is_in_doubt(drink), f"nobody was told that {drink} may not have been made"


def converse(steps: list[str], copies: list[int]) -> int:
    """One conversation, held to what its caller wished for. Returns how many steps it had."""
    bar = Bar(copies)
    for what in steps:
        bar.step(what)
    bar.finish()
    return bar.steps


def prove(steps: int, name: str) -> int:
    """As many steps, of conversations that the seed makes. Returns how many there were. Raises what is broken."""
    done = 0
    number = 0
    while done < steps:

        @seed(f"{name}/{number}")
        @settings(
            max_examples=200,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(st.one_of(FEW, MANY), COPIES)
        def some(few: list[str], copies: list[int]) -> None:
            nonlocal done
            done += converse(few, copies)

        some()
        number += 1
        print(f"\r{min(done, steps):,} of {steps:,} steps", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return done


def main() -> int:
    """Returns 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.wishes", description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000, help="how many (default: 100000)")
    parser.add_argument("--seed", default=str(time.time_ns() % 1_000_000), help="of all of them (default: the clock)")
    given_ = parser.parse_args()
    print(f"seed {given_.seed}")
    began = time.perf_counter()
    try:
        done = prove(given_.steps, given_.seed)
    except AssertionError as error:
        sys.excepthook(type(error), error, error.__traceback__)
        print(closing("ledger", "steps up to the first that broke a promise", given_.seed, 1, began))
        return 1
    print(closing("ledger", f"{done:,} steps", given_.seed, 0, began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
