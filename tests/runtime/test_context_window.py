"""A talk of any length: what requests carry of it, and what a model that reads less is asked with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentSession,
    ChatContext,
    ChatMessage,
    ContextBudget,
    ContextOverflow,
    ContextTrimmedEvent,
    ErrorEvent,
    FunctionCall,
    FunctionCallOutput,
    TurnMetricsEvent,
    UsageError,
    function_tool,
)
from antiphon.chat import SUMMARY_ID, ChatItem
from antiphon.errors import ProviderStatusError
from antiphon.llm import ChatRequest
from antiphon.overflow import overflow_of
from antiphon.runtime.carried import Carried
from antiphon.testing import Fail, FakeLLM, Reply, check_pairs, now, run_virtual, transcript
from antiphon.testing.fakes import Turn

RAMBLING = "and then there is one more thing that came to my mind while we were talking about all of this " * 6
SUMMARISE = "You keep the notes of a conversation"


class Restaurant(Agent):
    def __init__(self, chat_ctx: ChatContext | None = None) -> None:
        super().__init__(instructions="You take bookings.", chat_ctx=chat_ctx)

    @function_tool(effect="writes")
    async def book(self, number: int) -> str:
        """Book a table."""
        return f"booked, reference R{number:04}"

    @function_tool(effect="reads")
    async def menu(self, number: int) -> str:
        """Read the menu."""
        return f"menu {number}: " + "soup, fish, bread and wine; " * 40

    @function_tool
    async def move_on(self) -> Agent:
        """Give the call to a colleague who knows all that was said."""
        return Restaurant(ChatContext(self.chat_ctx.items))


def number_in(text: str) -> int:
    return int("".join(letter for letter in text if letter.isdigit()) or 0)


def answer(request: ChatRequest) -> Turn:
    """Books and looks up what it is asked for; a summary names the turns that it was made of."""
    items = request.chat_ctx.items
    last = items[-1]
    if SUMMARISE in (items[0].text_content or "" if isinstance(items[0], ChatMessage) else ""):
        assert isinstance(last, ChatMessage)
        said = [line for line in (last.text_content or "").split() if line.startswith("turn-")]
        return Reply("Notes: " + " ".join([*said[:2], *said[-1:]]), ttft=1.0)
    if isinstance(last, ChatMessage) and (said_last := last.text_content or "").startswith("turn-"):
        number = number_in(said_last.split()[0])
        if "move on" in said_last:
            return Reply("", [("move_on", {})])
        if number % 10 == 0:
            return Reply("", [("book", {"number": number})])
        if number % 3 == 0:
            return Reply("One moment.", [("menu", {"number": number}), ("menu", {"number": number + 1000})])
    return Reply("That is how it is, as far as I know, and I hope it helps you with what you want.")


class Talk:
    """A session in text, and what was told of it."""

    def __init__(self, llm: FakeLLM, **options: Any) -> None:
        self.llm = llm
        self.session: AgentSession[Any] = AgentSession(llm=llm, **options)
        self.errors: list[ErrorEvent] = []
        self.trims: list[ContextTrimmedEvent] = []
        self.metrics: list[TurnMetricsEvent] = []
        self.waits: list[float] = []
        self.session.on("error", self.errors.append)
        self.session.on("context_trimmed", self.trims.append)
        self.session.on("turn_metrics", self.metrics.append)

    async def goes(self, turns: int, say: Callable[[int], str] = lambda n: f"turn-{n} {RAMBLING}") -> Talk:
        async with self.session as session:
            await session.start(Restaurant())
            for number in range(turns):
                begun = now()
                await session.run(user_input=say(number))
                self.waits.append(now() - begun)
                await asyncio.sleep(8.0)
        return self

    @property
    def asked(self) -> list[list[ChatItem]]:
        """The requests for replies."""
        return [r.chat_ctx.items for r in self.llm.requests if not is_for_summary(r)]


def is_for_summary(request: ChatRequest) -> bool:
    return SUMMARISE in transcript(request.chat_ctx)[0]


def steps(requests: list[list[ChatItem]]) -> int:
    """How often the beginning of a request was another one than that of the request before."""
    changes = 0
    for before, after in pairwise(requests):
        shared = [item.id for item in before if not item.id.startswith("note")]
        changes += [item.id for item in after][: len(shared)] != shared
    return changes


def bookings(items: list[ChatItem]) -> set[str]:
    return {item.output for item in items if isinstance(item, FunctionCallOutput) and item.output.startswith("booked")}


# -- forty minutes


def test_a_call_of_forty_minutes_with_a_model_of_eight_thousand_tokens_meets_no_error() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer, context_window=8_000)).goes(200)

    talk = run_virtual(call())
    assert not talk.errors
    for items in talk.asked:
        check_pairs(items)
    assert talk.trims[0].reason == "overflow"
    assert sum(trim.reason == "overflow" for trim in talk.trims) == 1


def test_each_booking_is_known_to_the_end() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer, context_window=8_000)).goes(200)

    talk = run_virtual(call())
    done = bookings(talk.session.history.items)
    assert len(done) == 20
    assert bookings(talk.asked[-1]) == done


def test_the_history_of_the_session_and_the_context_of_the_agent_stay_whole() -> None:
    async def call() -> tuple[Talk, int]:
        talk = await Talk(FakeLLM(answer), context_budget={"max_tokens": 4_000}).goes(60)
        return talk, len(talk.asked[-1])

    talk, asked = run_virtual(call())
    said = [line for line in transcript(talk.session.history) if line.startswith("user: turn-")]
    assert len(said) == 60
    assert asked < len(talk.session.history.items) / 2


def test_what_a_request_begins_with_is_the_same_between_steps() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer), context_budget=ContextBudget(max_tokens=8_000)).goes(150)

    talk = run_virtual(call())
    assert len(talk.asked) > 150
    assert 2 <= steps(talk.asked) <= len(talk.trims) <= 12


def test_no_reply_waits_for_a_summary() -> None:
    async def call(budget: ContextBudget | None) -> Talk:
        return await Talk(FakeLLM(answer), context_budget=budget).goes(100)

    with_budget, without = run_virtual(call(ContextBudget(max_tokens=5_000))), run_virtual(call(None))
    assert any(trim.summary for trim in with_budget.trims)
    assert with_budget.waits == pytest.approx(without.waits)


# -- summaries


def test_a_summary_is_written_before_it_is_needed_and_stands_for_the_turns_that_left() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer), context_budget=ContextBudget(max_tokens=5_000)).goes(60)

    talk = run_virtual(call())
    assert {trim.reason for trim in talk.trims} == {"summary"}
    notes = [item for item in talk.asked[-1] if item.id.startswith(SUMMARY_ID)]
    assert len(notes) == 1
    assert isinstance(notes[0], ChatMessage)
    assert "turn-0" in (notes[0].text_content or "")


def test_a_summary_is_made_of_speech_and_not_of_results() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer), context_budget=ContextBudget(max_tokens=5_000)).goes(40)

    talk = run_virtual(call())
    shown = [line for r in talk.llm.requests if is_for_summary(r) for line in transcript(r.chat_ctx)]
    assert any("turn-1" in line for line in shown)
    assert not any("soup" in line or "reference" in line for line in shown)


def test_a_summary_gives_way_to_a_reply_of_the_same_model() -> None:
    class Watched(FakeLLM):
        open = at_once = 0

        async def generate(self, request: ChatRequest) -> Any:
            self.open += 1
            self.at_once = max(self.at_once, self.open)
            try:
                async for chunk in super().generate(request):
                    yield chunk
            finally:
                self.open -= 1

    def slowly(request: ChatRequest) -> Turn:
        return Reply("Notes.", ttft=20.0) if is_for_summary(request) else answer(request)

    async def call() -> Talk:
        return await Talk(Watched(slowly), context_budget=ContextBudget(max_tokens=5_000)).goes(60)

    talk = run_virtual(call())
    assert isinstance(talk.llm, Watched)
    assert talk.llm.at_once == 1
    assert not talk.errors
    assert {trim.reason for trim in talk.trims} == {"budget"}


def test_a_summary_that_fails_leaves_the_talk_trimmed() -> None:
    def broken(request: ChatRequest) -> Turn:
        return Fail(RuntimeError("no notes today")) if is_for_summary(request) else answer(request)

    async def call() -> Talk:
        return await Talk(FakeLLM(broken), context_budget=ContextBudget(max_tokens=5_000)).goes(60)

    talk = run_virtual(call())
    assert not talk.errors
    assert {(trim.reason, trim.summary) for trim in talk.trims} == {("budget", "")}
    assert bookings(talk.asked[-1]) == bookings(talk.session.history.items)


def test_a_model_of_its_own_writes_the_summaries() -> None:
    writer = FakeLLM(answer)

    async def call() -> Talk:
        return await Talk(FakeLLM(answer), context_budget={"max_tokens": 5_000, "summarise": writer}).goes(40)

    talk = run_virtual(call())
    assert writer.requests
    assert all(map(is_for_summary, writer.requests))
    assert not any(map(is_for_summary, talk.llm.requests))


def test_the_next_agent_has_the_summary_of_the_talk_that_it_was_given() -> None:
    async def call() -> Talk:
        talk = Talk(FakeLLM(answer), context_budget=ContextBudget(max_tokens=5_000))
        return await talk.goes(60, lambda n: f"turn-{n} {'move on' if n == 58 else RAMBLING}")

    talk = run_virtual(call())
    assert talk.trims[-1].agent_id == "restaurant_2"
    assert "turn-0" in talk.trims[-1].summary


# -- models that take less


def test_an_overflow_is_answered_by_asking_again_with_less_and_nobody_hears_of_it() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer, context_window=2_000), context_budget={"summarise": False}).goes(40)

    talk = run_virtual(call())
    assert not talk.errors
    assert [trim.reason for trim in talk.trims][:2] == ["overflow", "budget"]
    assert max(talk.waits) < 1.5
    assert "sorry" not in "\n".join(transcript(talk.session.history)).casefold()


def test_one_result_that_is_longer_than_the_model_can_read_is_cut() -> None:
    class Archive(Agent):
        @function_tool(effect="reads")
        async def read(self) -> str:
            """Read all there is."""
            return "long ago " * 2_000

    def ask(request: ChatRequest) -> Turn:
        asked = isinstance(request.chat_ctx.items[-1], FunctionCallOutput)
        return "There is a lot." if asked else Reply("", [("read", {})])

    async def call() -> Talk:
        talk = Talk(FakeLLM(ask, context_window=1_000))
        async with talk.session as session:
            await session.start(Archive(instructions="Read."))
            await session.run(user_input="What is in there?")
        return talk

    talk = run_virtual(call())
    assert not talk.errors
    assert transcript(talk.session.history)[-1] == "assistant: There is a lot."
    assert "user: What is in there?" in transcript(talk.asked[-1])


def test_instructions_that_are_too_long_alone_are_an_error() -> None:
    async def call() -> Talk:
        talk = Talk(FakeLLM(answer, context_window=100))
        async with talk.session as session:
            await session.start(Agent(instructions="Be kind. " * 100))
            await session.run(user_input="turn-1 hello")
        return talk

    talk = run_virtual(call())
    assert [type(event.error) for event in talk.errors] == [ContextOverflow]


def test_without_a_budget_requests_carry_all_and_an_overflow_is_an_error() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer, context_window=3_000), context_budget=None).goes(30)

    talk = run_virtual(call())
    assert not talk.trims
    assert talk.errors


def test_an_ordinary_call_is_not_trimmed() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer)).goes(40)

    talk = run_virtual(call())
    assert not talk.trims
    assert len(talk.llm.requests) == len(talk.asked)
    assert len(talk.asked[-1]) >= len(talk.session.history.items)


# -- what tells of it


def test_metrics_count_what_was_trimmed() -> None:
    async def call() -> Talk:
        return await Talk(FakeLLM(answer), context_budget={"max_tokens": 5_000, "summarise": False}).goes(40)

    talk = run_virtual(call())
    assert talk.metrics[-1].call.context_trims == len(talk.trims) > 1
    assert talk.metrics[-1].call.to_json()["context_trims"] == len(talk.trims)
    trim = talk.trims[0]
    assert trim.tokens_after < 0.8 * trim.tokens_before
    assert trim.left_out > 0


# -- what a budget may be


@pytest.mark.parametrize(
    "budget", [{"max_tokens": 0}, {"keep_turns": 0}, {"summarise": "gpt"}, ContextBudget(max_tokens=-1)]
)
def test_a_budget_that_is_none_is_refused(budget: Any) -> None:
    with pytest.raises(UsageError, match="context_budget"):
        AgentSession(context_budget=budget)


# -- what services say


@pytest.mark.parametrize(
    ("said", "limit", "size"),
    [
        ("maximum context length is 8192 tokens. However, your messages resulted in 8210 tokens.", 8192, 8210),
        ("Error code: 400 - {'error': {'code': 'context_length_exceeded'}}", None, None),
        ("This model's maximum context length is 4096 tokens. However, you requested 4200 tokens", 4096, 4200),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000, 208_310),
        ("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000", 200_000, None),
        ("The input token count (12001) exceeds the maximum number of tokens allowed (12000).", 12_000, 12_001),
        ("request (8210 tokens) exceeds the available context size (8192 tokens), try increasing it", 8192, 8210),
        ("{'type': 'exceed_context_size_error', 'n_prompt_tokens': 8210, 'n_ctx': 8192}", 8192, 8210),
        ("the request exceeds the available context size. try increasing the context size", None, None),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768, 40_000),
        ("Please reduce the length of the messages or completion.", None, None),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072, 537_812),
        ("Input is too long for requested model.", None, None),
        ("Input validation error: `inputs` must have less than 1024 tokens. Given: 1500", 1024, 1500),
        ("Request too large on tokens per minute: Limit 6000, Requested 7000, please reduce your message", 6000, 7000),
    ],
)  # fmt: skip
def test_an_overflow_is_known_by_what_services_say(said: str, limit: int | None, size: int | None) -> None:
    overflow = overflow_of(ProviderStatusError(said, status=400))
    assert overflow is not None
    assert (overflow.limit, overflow.size) == (limit, size)
    assert not overflow.retryable


@pytest.mark.parametrize(
    "said",
    [
        "messages[2].tool_calls[1].id: string too long",
        "Rate limit reached: Limit 30000, Used 29000, Requested 2000. Please try again in 2s",
        "max_tokens is too large: 50000. This model supports at most 16384 completion tokens",
        "tools[7].function.name: too long",
    ],
)
def test_other_complaints_are_no_overflow(said: str) -> None:
    assert overflow_of(ProviderStatusError(said, status=400)) is None


def test_an_overflow_of_a_node_of_the_application_is_known_too() -> None:
    class Own(Restaurant):
        refused = 0

        def llm_node(self, chat_ctx: ChatContext, tools: list[Any], model_settings: Any) -> Any:
            if sum(isinstance(item, (ChatMessage, FunctionCall)) for item in chat_ctx.items) > 30:
                Own.refused += 1
                raise ValueError("context_length_exceeded")
            return Agent.default.llm_node(self, chat_ctx, tools, model_settings)

    async def call() -> Talk:
        talk = Talk(FakeLLM(answer), context_budget={"summarise": False})
        async with talk.session as session:
            await session.start(Own())
            for number in range(60):
                await session.run(user_input=f"turn-{number} {RAMBLING}")
        return talk

    talk = run_virtual(call())
    assert not talk.errors
    assert 0 < Own.refused < 5


class _Looked(list[ChatItem]):
    """A talk that counts how many of its items were looked at."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        found: Any = super().__getitem__(at)
        self.looks += len(found) if isinstance(at, slice) else 1
        return found

    def __iter__(self) -> Iterator[ChatItem]:
        for item in super().__iter__():
            self.looks += 1
            yield item


def test_what_a_request_carries_is_found_as_quickly_late_in_a_talk_as_early() -> None:
    looks = []
    for turns in (5, 500):
        talk = _Looked()
        for turn in range(turns):
            talk.append(ChatMessage(role="user", content=f"question {turn}"))
            talk.append(ChatMessage(role="assistant", content=f"answer {turn}"))
        talk.append(ChatMessage(role="user", content="and now?"))
        carried = Carried()
        carried.asked(1, talk, ())
        looks.append(talk.looks)
    assert looks[0] == looks[1]


def test_what_is_owed_is_found_as_quickly_where_much_is_carried_as_where_little_is() -> None:
    looks = []
    for turns in (50, 500):
        talk = _Looked()
        for turn in range(turns):
            talk.append(ChatMessage(role="user", content=f"question {turn}"))
            talk.append(ChatMessage(role="assistant", content=f"answer {turn}"))
        asked = ChatMessage(role="user", content="and now?")
        talk.append(asked)
        carried = Carried()
        carried.asked(1, talk, [asked.id])
        assert carried.cut(talk, 10 * turns, 2, lambda _: "reads")
        talk.looks = 0
        carried.take_back(talk, (), 10 * turns, lambda _: "reads")
        looks.append(talk.looks)
    assert looks[0] == looks[1]


def test_what_may_have_told_a_result_stays_beside_it() -> None:
    """Else the model, asked what there is to add, tells it a second time."""
    call = FunctionCall(call_id="call_1/finished", name="book", arguments="{}")
    context: list[ChatItem] = [
        call,
        FunctionCallOutput(call_id=call.call_id, name="book", output="it is number 4711"),
        ChatMessage(role="assistant", content="It is number 4711."),
    ]
    for number in range(6):
        context.append(ChatMessage(role="user", content=f"turn-{number} {RAMBLING}"))
        context.append(ChatMessage(role="assistant", content=f"answer-{number} {RAMBLING}"))
    carried = Carried()
    carried.asked(1, context, (call.call_id, context[2].id))
    assert carried.cut(context, 300, 2, lambda _: "writes")

    shown = [item for item in carried.items(context) if item in context[:3]]
    assert shown == context[:3]
    assert "answer-0" not in str(carried.items(context))
