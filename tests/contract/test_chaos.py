"""One wish, one action, whatever the model does with its calls: dialogues with a count of what the caller wished for.

In each a caller orders things by number. A model that knows only what its requests show orders them and tells the
receipts, and `ChaosLLM` makes its calls again. Each receipt has a word of its own: the history shows which were told.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from antiphon import Agent, AgentSession, CloseEvent, RunContext, Tool, ToolError, function_tool
from antiphon.adapters.fallback import Backoff, FallbackLLM
from antiphon.chat import ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.events import CloseReason
from antiphon.llm import LLM, ChatRequest
from antiphon.testing import ChaosLLM, FakeLLM, Reply, SimulatedCall, run_virtual, transcript

REWORDINGS = {"order": [{"note": "quickly"}, {"note": "if you can"}, {"note": ""}]}
RECEIPT = re.compile(r"\b(?:receipt|refusal|doubt) [a-z]+\b")


class Shop:
    """Takes orders, and keeps book."""

    def __init__(self, rng: random.Random) -> None:
        self.done: Counter[int] = Counter()
        """Orders that were made, or may have been, by number."""
        self.outcomes: list[str] = []
        """What the caller is to be told, once each."""
        self.latest: dict[int, str] = {}
        """The last of them, by number."""
        self.refuses: set[int] = set()
        """Numbers that it says it cannot order."""
        self.breaks: set[int] = set()
        """Numbers of which nobody knows whether they were ordered."""
        self.reports: set[int] = set()
        """Numbers that it goes on ordering in the background."""
        self._rng = rng

    def _written(self, number: int, outcome: str) -> str:
        self.outcomes.append(outcome)
        self.latest[number] = outcome
        return outcome

    @property
    def _word(self) -> str:
        """Of a receipt."""
        tens, ones = divmod(len(self.outcomes), 26)
        return chr(ord("a") + tens) + chr(ord("a") + ones)

    def tool(self, *, identity: tuple[str, ...] | None) -> Tool:
        """Orders what has this number."""

        @function_tool(effect="writes", identity=identity)
        async def order(ctx: RunContext[Any], number: int, note: str) -> str:
            """Order something."""
            seconds = self._rng.choice((0.0, 0.2, 1.0, 3.0, 8.0, 15.0))
            if number in self.refuses:
                await asyncio.sleep(seconds)
                raise ToolError(self._written(number, f"refusal {self._word}"))
            self.done[number] += 1
            if number in self.reports:
                await ctx.update("It is under way.")
            await asyncio.sleep(seconds)
            if number in self.breaks:
                self._written(number, f"doubt {words(number)}")
                raise ValueError("cannot parse the answer")
            return self._written(number, f"receipt {self._word}")

        return order


def words(number: int) -> str:
    """A number as the caller says it."""
    return ("zero", "one", "two", "three", "four", "five", "six", "seven")[number]


NUMBERS = {words(number): number for number in range(8)}


def _told_in(message: ChatMessage) -> list[str]:
    return RECEIPT.findall(message.text_content or "")


def honest(request: ChatRequest) -> Reply | str:
    """Orders what was asked for and not ordered since, as far as the request shows it; tells what is not told."""
    wanted: dict[int, None] = {}
    untold: dict[str, None] = {}
    orders: dict[str, int] = {}
    told: set[str] = set()
    for item in request.chat_ctx.items:
        match item:
            case ChatMessage(role="user"):
                wanted |= dict.fromkeys(NUMBERS[word] for word in re.findall(r"order (\w+)", item.text_content or ""))
            case ChatMessage(role="assistant"):
                told.update(_told_in(item))
            case FunctionCall(name="order"):
                orders[item.call_id] = number = json.loads(item.arguments)["number"]
                wanted.pop(number, None)
            case FunctionCallOutput(name="order"):
                for line in item.output.splitlines():
                    outcomes = RECEIPT.findall(line)
                    if "unknown whether" in line:
                        outcomes.append(f"doubt {words(orders[item.call_id])}")
                    untold |= dict.fromkeys(outcomes)
                    if "the user was told" in line:
                        told.update(outcomes)
            case _:
                pass
    may_call = bool(request.tools) and request.tool_choice != "none"
    last = next(item for item in reversed(request.chat_ctx.items) if getattr(item, "role", "") != "system")
    if may_call and isinstance(last, ChatMessage) and "colleague" in (last.text_content or ""):
        return Reply(calls=[("transfer", {})])
    news = [outcome for outcome in untold if outcome not in told]
    text = f"Here is {' and '.join(news)}." if news else "One moment." if may_call and wanted else "Fine."
    ordered = wanted if may_call else ()
    return Reply(text, calls=[("order", {"number": number, "note": "please"}) for number in ordered])


class Clerk(Agent):
    """Orders, and hands over to a colleague who knows what was said, and perhaps what was done."""

    def __init__(self, shop: Tool, *, colleague_sees: bool, **options: Any) -> None:
        super().__init__(instructions="You take orders.", tools=[shop], **options)
        self.shop = shop
        self.colleague_sees = colleague_sees

    @function_tool
    async def transfer(self) -> Agent:
        """Hand over to a colleague."""
        known = self.chat_ctx.copy(exclude_function_call=not self.colleague_sees)
        return Clerk(self.shop, colleague_sees=self.colleague_sees, chat_ctx=known)


class Case:
    """A dialogue: its shop, its model, and what the caller wished for so far."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.shop = Shop(random.Random(f"{seed} shop"))
        for number in range(1, 8):
            luck = self.rng.random()
            if luck < 0.1:
                self.shop.refuses.add(number)
            elif luck < 0.2:
                self.shop.breaks.add(number)
            if self.rng.random() < 0.3:
                self.shop.reports.add(number)
        model = FakeLLM(honest, ttft=0.2, tokens_per_second=200)
        rewords = self.rng.random() < 0.5
        self.chaos = ChaosLLM(model, seed=seed, rewordings=REWORDINGS if rewords else None)
        self.llm: LLM = self.chaos
        if self.rng.random() < 0.5:  # where one provider is cut, the next begins anew
            self.llm = FallbackLLM([self.chaos, self.chaos], backoff=Backoff(first=self.rng.choice((0.1, 30.0))))
        self.wishes: Counter[int] = Counter()
        self.closes: list[CloseEvent] = []
        tool = self.shop.tool(identity=("number",) if rewords else None)
        self.agent = Clerk(tool, colleague_sees=self.rng.random() < 0.5)

    def wish(self, *numbers: int) -> str:
        self.wishes.update(numbers)
        return "please " + " and ".join(f"order {words(number)}" for number in numbers)

    def wishes_ahead(self) -> Iterator[tuple[int, ...]]:
        """What the caller will wish for, mostly one thing at a time."""
        numbers = self.rng.sample(range(1, 8), self.rng.randint(2, 4))
        while numbers:
            count = 2 if self.rng.random() < 0.2 else 1
            yield tuple(numbers[:count])
            del numbers[:count]

    def wants_another(self, session: AgentSession[Any], number: int) -> bool:
        """The caller was told that it was done, and wants it again."""
        return self.shop.latest.get(number, "doubt") in self.told(session) and number not in self.shop.breaks

    def told(self, session: AgentSession[Any]) -> Counter[str]:
        """What the caller heard, and what the application is told else: that they may not have heard it."""
        said = [message for message in session.history.messages() if message.role == "assistant"]
        heard = Counter(outcome for message in said for outcome in _told_in(message))
        for unheard in (one for close in self.closes for one in close.unheard):
            number = words(json.loads(unheard.arguments)["number"])
            heard.setdefault(f"doubt {number}" if unheard.outcome == "unknown" else unheard.output, 1)
        return heard

    def is_untold(self, session: AgentSession[Any]) -> bool:
        """Something came in that the caller has not heard."""
        return self.told(session) != Counter(self.shop.outcomes)

    def check(self, session: AgentSession[Any], *, all_were_asked: bool = True) -> None:
        """Each wish was done once, and each outcome told once."""
        story = "\n".join([*transcript(session.history), *map(str, self.chaos.reissued), f"cut: {self.chaos.cut}"])
        gold = Counter({number: n for number, n in self.wishes.items() if number not in self.shop.refuses})
        if all_were_asked:
            assert self.shop.done == gold, story
        assert self.shop.done <= gold, story
        expected = Counter(self.shop.outcomes)
        told = self.told(session)
        if not all_were_asked:  # of what was refused nobody needs to be told who has hung up
            told, expected = (+Counter({k: n for k, n in c.items() if "refusal" not in k}) for c in (told, expected))
        assert told == expected, story


async def typed(seed: str) -> None:
    case = Case(seed)
    async with AgentSession[Any](llm=case.llm) as session:
        session.on("close", case.closes.append)
        await session.start(case.agent)
        for numbers in case.wishes_ahead():
            await session.run(user_input=case.wish(*numbers))
            await session.run(user_input=case.rng.choice(["thank you", "what is the weather like"]))
            if case.rng.random() < 0.3:
                await asyncio.sleep(30)
                if case.wants_another(session, numbers[0]):
                    await session.run(user_input=f"the same again, {case.wish(numbers[0])}")
            elif case.rng.random() < 0.3:
                await session.run(user_input="put me through to a colleague")
                break
        for _ in range(3):
            await session.run(user_input="and what came of it")
            await asyncio.sleep(20)
    case.check(session)


async def spoken(seed: str) -> None:
    case = Case(seed)
    rng = case.rng
    hangs_up, ahead = rng.random() < 0.25, rng.random() < 0.5
    async with SimulatedCall(case.llm, preemptive_generation=ahead, max_silence=None) as call:
        call.session.on("close", case.closes.append)
        await call.start(case.agent)
        for numbers in case.wishes_ahead():
            await call.caller.says(case.wish(*numbers))
            for _ in range(rng.randint(0, 2)):
                await asyncio.sleep(rng.uniform(0.3, 4.0))
                await call.caller.says(rng.choice(["a moment please", "what is the weather like", "are you there"]))
            await asyncio.sleep(rng.uniform(0.8, 6.0))
            if rng.random() < 0.2:
                await call.caller.says("put me through to a colleague")
                await asyncio.sleep(rng.uniform(0.8, 3.0))
                break
            if rng.random() < 0.3:
                await call.settled(quiet=20.0)
                if case.wants_another(call.session, numbers[0]):
                    await call.caller.says(f"the same again, {case.wish(numbers[0])}")
        if hangs_up:
            await call.session.aclose(reason=CloseReason.PARTICIPANT_DISCONNECTED)
        else:
            for _ in range(3):
                await call.settled(quiet=10.0)
                await call.caller.says("and what came of it")
            await call.settled(quiet=20.0)
    case.check(call.session, all_were_asked=not hangs_up)


@pytest.mark.parametrize("seed", range(60))
def test_a_typed_wish_is_done_once_and_told_once(seed: int) -> None:
    run_virtual(typed(f"typed/{seed}"))


@pytest.mark.parametrize("seed", range(60))
def test_a_spoken_wish_is_done_once_and_told_once(seed: int) -> None:
    run_virtual(spoken(f"spoken/{seed}"))
