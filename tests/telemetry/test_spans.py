"""Whole calls in virtual time, as OpenTelemetry is told of them: which spans there are, when, and what they say."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from antiphon import Agent, AgentSession, RunContext, function_tool
from antiphon.errors import UsageError
from antiphon.llm import LLM
from antiphon.telemetry import Price
from antiphon.testing import (
    Fail,
    FakeLLM,
    FakeMicrophone,
    FakeRealtimeModel,
    FakeSpeaker,
    FakeTTS,
    FakeTurnDetector,
    Reply,
    run_virtual,
)
from antiphon.tools.latency import latencies
from tests.calls import VoiceCall
from tests.telemetry import Kept, attributes, events, everything, seconds, tree


@function_tool(effect="writes")
async def book(day: str) -> str:
    """Book."""
    await asyncio.sleep(3.0)
    return f"booked for {day}"


@function_tool(effect="writes", confirm="Shall I cancel {day}?")
async def cancel(day: str) -> str:
    """Cancel."""
    return f"cancelled {day}"


@function_tool(effect="reads")
async def look() -> str:
    """Look."""
    raise RuntimeError("the database of Mrs Smith is away")


class Booked:
    """A call by voice: a table is booked, and the caller speaks over what they are told of it."""

    def __init__(self, **options: Any) -> None:
        self.kept = Kept(**options)
        latencies.clear()  # what a tool took in other tests decides when a filler comes here
        run_virtual(self._call(), timeout=300)

    async def _call(self) -> None:
        long = "Your table is booked for Friday at eight o'clock in the evening, and it is by the window."
        llm = FakeLLM([Reply(calls=[("book", {"day": "Friday"})]), long, "Of course."])
        async with VoiceCall(llm, ["A table on Friday please", "Wait a moment"]) as call:
            self.kept.telemetry.watch(call.session)
            await call.begin(Agent(tools=[book], id="host"))
            self.call_id = call.session.call_id
            await call.microphone.speak(1.0)
            await asyncio.sleep(7.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(5.0)


@pytest.fixture(scope="module")
def booked() -> Booked:
    return Booked()


def test_a_call_is_one_trace_whose_spans_stand_in_each_other(booked: Booked) -> None:
    assert tree(booked.kept.spans) == [
        "call",
        "  speech_to_text",
        "  invoke_agent host",
        "    chat fake",
        "    execute_tool book",
        "    text_to_speech",
        "    chat fake",
        "    text_to_speech",
        "  speech_to_text",
        "  invoke_agent host",
        "    chat fake",
        "    text_to_speech",
    ]
    assert len({span.context.trace_id for span in booked.kept.spans if span.context}) == 1
    assert {attributes(span)["gen_ai.conversation.id"] for span in booked.kept.spans} == {booked.call_id}


def test_spans_have_the_times_of_the_facts(booked: Booked) -> None:
    call, (reply, _), tool = booked.kept.one("call"), booked.kept.named("invoke_agent"), booked.kept.one("execute_tool")
    assert seconds(booked.kept.named("speech_to_text")[0], call) == (0.0, 1.3)
    assert seconds(reply, call) == (1.0, 8.4)  # from the caller's last sound to the cut
    assert [seconds(span, call) for span in booked.kept.named("chat")][:1] == [(1.55, 1.65)]
    assert seconds(tool, call) == (1.65, 4.65)
    filler, answer = booked.kept.named("text_to_speech")[:2]
    assert seconds(filler, call) == (1.9, 3.16)
    assert seconds(answer, call) == (4.75, 8.4)


def test_a_reply_says_what_the_caller_waited_for(booked: Booked) -> None:
    reply = booked.kept.named("invoke_agent")[0]
    said = attributes(reply)
    assert said["gen_ai.operation.name"] == "invoke_agent"
    assert (said["antiphon.turn.number"], said["antiphon.turn.origin"]) == (1, "caller")
    assert said["antiphon.turn.response_delay"] == 1.5
    assert said["antiphon.turn.dead_air"] == 3.31
    assert said["antiphon.turn.interrupted"] is True
    assert said["gen_ai.usage.input_tokens"] == sum(
        attributes(span)["gen_ai.usage.input_tokens"] for span in booked.kept.named("chat")[:2]
    )
    assert sorted(events(reply), key=str) == [
        ("dead_air", {"antiphon.seconds": 1.5}),
        ("dead_air", {"antiphon.seconds": 1.81}),
        ("filler", {}),
        ("interrupted", {}),
    ]


def test_a_model_and_a_tool_go_by_the_names_of_the_conventions(booked: Booked) -> None:
    chat = booked.kept.named("chat")[0]
    assert chat.kind is SpanKind.CLIENT
    assert attributes(chat) == {
        "gen_ai.conversation.id": booked.call_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "fakes",
        "gen_ai.request.model": "fake",
        "gen_ai.agent.name": "host",
        "gen_ai.request.stream": True,
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 0,
        "gen_ai.response.time_to_first_chunk": 0.1,
        "gen_ai.response.finish_reasons": ("tool_call",),
        "antiphon.model.outcome": "done",
    }
    tool = booked.kept.one("execute_tool")
    assert attributes(tool) == {
        "gen_ai.conversation.id": booked.call_id,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "book",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.agent.name": "host",
        "antiphon.tool.effect": "writes",
        "antiphon.tool.status": "done",
        "antiphon.tool.outcome": "succeeded",
    }


def test_what_was_said_is_told_only_by_choice(booked: Booked) -> None:
    private = ("Friday", "window", "moment", "booked")
    told = everything(booked.kept.spans)
    assert [word for word in private if word in told] == []
    full = Booked(content=True).kept
    assert [word for word in private if word not in everything(full.spans)] == []
    tool = attributes(full.one("execute_tool"))
    assert tool["gen_ai.tool.call.arguments"] == '{"day": "Friday"}'
    assert tool["gen_ai.tool.call.result"] == "booked for Friday"
    assert events(full.named("speech_to_text")[0]) == [("transcribed", {"antiphon.text": "A table on Friday please"})]
    assert '"content": "Of course."' in str(attributes(full.named("chat")[2])["gen_ai.output.messages"])


def test_metrics_say_how_often_and_how_long(booked: Booked) -> None:
    kept = booked.kept
    assert kept.count("antiphon.turn.count", antiphon__turn__interrupted=True) == 1
    assert kept.count("antiphon.turn.count", antiphon__turn__interrupted=False) == 1
    assert kept.count("antiphon.tool.calls", gen_ai__tool__name="book", antiphon__tool__status="done") == 1
    assert kept.count("antiphon.tool.outcomes", antiphon__outcome="succeeded") == 1
    assert kept.count("gen_ai.client.operation.duration", gen_ai__operation__name="chat") == 3
    assert kept.count("gen_ai.client.operation.time_to_first_chunk") == 3
    assert kept.count("gen_ai.client.token.usage", gen_ai__token__type="input") == 3
    assert kept.count("gen_ai.execute_tool.duration", gen_ai__tool__name="book") == 1
    assert kept.count("antiphon.turn.response_delay") == 2
    assert kept.count("antiphon.call.duration") == 1
    assert kept.count("antiphon.call.active") == 0


def in_text(kept: Kept, llm: LLM, agent: Agent, *turns: str, **options: Any) -> AgentSession[Any]:
    async def main() -> AgentSession[Any]:
        async with AgentSession[Any](llm=llm, **options) as session:
            kept.telemetry.watch(session)
            await session.start(agent)
            for turn in turns:
                await session.run(user_input=turn)
        return session

    return run_virtual(main())


def test_a_read_back_and_its_answer_stand_in_the_reply_that_asked() -> None:
    kept = Kept()
    llm = FakeLLM([Reply(calls=[("cancel", {"day": "Monday"})]), "It is cancelled."])
    in_text(kept, llm, Agent(tools=[cancel]), "Cancel Monday", "yes")
    told = [event for event in events(kept.named("invoke_agent")[0]) if event[0].startswith("consent")]
    assert told == [
        ("consent_asked", {"gen_ai.tool.name": "cancel", "gen_ai.tool.call.id": "call_1", "antiphon.times": 1}),
        (
            "consent_decided",
            {
                "gen_ai.tool.name": "cancel",
                "gen_ai.tool.call.id": "call_1",
                "antiphon.decision": "yes",
                "antiphon.by": "words",
            },
        ),
    ]
    assert kept.count("antiphon.consent.decisions", antiphon__decision="yes") == 1
    assert "Monday" not in everything(kept.spans)


def test_a_call_that_was_not_agreed_to_never_ran() -> None:
    kept = Kept()
    llm = FakeLLM([Reply(calls=[("cancel", {"day": "Monday"})]), "Then it stays."])
    in_text(kept, llm, Agent(tools=[cancel]), "Cancel Monday", "no")
    assert kept.named("execute_tool") == []
    (refused,) = [data for name, data in events(kept.named("invoke_agent")[0]) if name == "tool_refused"]
    assert refused["antiphon.why"] == "not_agreed"
    assert kept.count("antiphon.tool.calls", antiphon__tool__status="refused") == 1


def test_an_equal_call_is_refused_and_the_wish_is_done_once() -> None:
    kept = Kept()
    again = Reply(calls=[("book", {"day": "Friday"})])
    llm = FakeLLM([again, Reply(calls=[("book", {"day": "Friday"})]), "It is booked."])
    in_text(kept, llm, Agent(tools=[book]), "Friday")
    assert len(kept.named("execute_tool")) == 1
    (refused,) = [data for name, data in events(kept.one("invoke_agent")) if name == "tool_refused"]
    assert refused == {"gen_ai.tool.name": "book", "gen_ai.tool.call.id": "call_2", "antiphon.why": "equal"}


def test_a_tool_that_fails_is_an_error_and_its_words_are_told_only_by_choice() -> None:
    for content in (False, True):
        kept = Kept(content=content)
        llm = FakeLLM([Reply(calls=[("look", {})]), "It cannot be seen."])
        in_text(kept, llm, Agent(tools=[look]), "Look")
        tool = kept.one("execute_tool")
        assert tool.status.status_code is StatusCode.ERROR
        assert attributes(tool)["error.type"] == "tool_error"
        assert "Mrs Smith" not in everything(kept.spans)  # no model reads it either
        assert kept.count("antiphon.tool.calls", antiphon__tool__status="error") == 1


def test_a_model_that_fails_is_an_error_of_its_class() -> None:
    kept = Kept()
    llm = FakeLLM([Fail(ConnectionError("no route to Mrs Smith"))])
    in_text(kept, llm, Agent(), "Hello")
    chat = kept.named("chat")[0]
    assert chat.status.status_code is StatusCode.ERROR
    assert chat.status.description is None
    assert attributes(chat)["error.type"] == "ConnectionError"
    assert "Mrs Smith" not in everything(kept.spans)
    assert kept.count("gen_ai.client.operation.duration", error__type="ConnectionError") >= 1


def test_a_hand_off_stands_in_the_reply_that_made_it() -> None:
    kept, billing = Kept(), Agent(id="billing", llm=FakeLLM(["This is billing."]))

    @function_tool
    async def to_billing() -> Agent:
        """Hand over."""
        return billing

    llm = FakeLLM([Reply(calls=[("to_billing", {})])])
    in_text(kept, llm, Agent(id="desk", tools=[to_billing]), "My bill", "When is it due?")
    assert ("handed_off", {"gen_ai.agent.name": "billing"}) in [event for span in kept.spans for event in events(span)]
    assert [attributes(span)["gen_ai.agent.name"] for span in kept.named("chat")] == ["desk", "billing"]
    assert kept.count("antiphon.handoffs", gen_ai__agent__name="billing") == 1


def test_tokens_cost_what_the_application_says() -> None:
    kept = Kept(prices={"fakes/fake": Price(input=2.0, output=10.0)})
    in_text(kept, FakeLLM(["One two three."]), Agent(), "Hello")
    chat = attributes(kept.one("chat"))
    expected = (chat["gen_ai.usage.input_tokens"] * 2.0 + chat["gen_ai.usage.output_tokens"] * 10.0) / 1e6
    for name in ("chat", "invoke_agent", "call"):
        assert attributes(kept.one(name))["antiphon.usage.cost"] == pytest.approx(expected)
    assert kept.count("antiphon.cost", gen_ai__request__model="fake") == pytest.approx(expected)


def test_cached_tokens_cost_their_own_price() -> None:
    assert Price(10.0, 30.0, cached=1.0).of(1_000_000, 0, 400_000) == 6.4
    assert Price(10.0, 30.0).of(1_000_000, 1_000_000, 400_000) == 40.0


def test_spans_of_the_application_stand_below_the_tool_that_makes_them() -> None:
    kept = Kept()
    tracer = trace.get_tracer("shop", tracer_provider=kept.tracers)

    @function_tool(effect="reads")
    async def search() -> str:
        """Search."""
        with tracer.start_as_current_span("SELECT"):
            await asyncio.sleep(0.1)
        trace.get_current_span().set_attribute("rows", 3)
        return "three"

    @function_tool(effect="reads")
    def count() -> str:
        """Count, in a thread."""
        with tracer.start_as_current_span("COUNT"):
            return "three"

    with tracer.start_as_current_span("request"):
        llm = FakeLLM([Reply(calls=[("search", {}), ("count", {})]), "Three."])
        in_text(kept, llm, Agent(tools=[search, count]), "Search")
    assert tree(kept.spans) == [
        "request",
        "  call",
        "    invoke_agent default_agent",
        "      chat fake",
        "      execute_tool count",
        "        COUNT",
        "      execute_tool search",
        "        SELECT",
        "      chat fake",
    ]
    assert attributes(kept.one("execute_tool search"))["rows"] == 3


def test_calls_that_follow_each_other_in_one_task_are_not_parts_of_each_other() -> None:
    kept = Kept()

    async def main() -> None:
        for _ in range(2):
            async with AgentSession[Any](llm=FakeLLM(["Hello."])) as session:
                kept.telemetry.watch(session)
                await session.start(Agent())
                await session.run(user_input="Hello")

    run_virtual(main())
    assert [span.parent for span in kept.named("call")] == [None, None]


def test_many_calls_at_once_are_not_mixed() -> None:
    kept, count = Kept(), 25
    tracer = trace.get_tracer("shop", tracer_provider=kept.tracers)

    async def call(number: int) -> str:
        @function_tool(effect="reads")
        async def search() -> str:
            """Search."""
            with tracer.start_as_current_span(f"SELECT {number}"):
                await asyncio.sleep(0.5)
            return "three"

        llm = FakeLLM([Reply(calls=[("search", {})]), "Three."] * 3)
        async with AgentSession[Any](llm=llm) as session:
            kept.telemetry.watch(session)
            await session.start(Agent(tools=[search], id=f"agent{number}"))
            for _ in range(3):
                await session.run(user_input="Search")
            return session.call_id

    async def main() -> list[str]:
        # All are watched in one context, the hard way: nothing but the session tells them apart.
        return await asyncio.gather(*(call(number) for number in range(count)))

    ids = run_virtual(main())
    of_trace: dict[int, set[str]] = {}
    for span in kept.spans:
        assert span.context is not None
        known = of_trace.setdefault(span.context.trace_id, set())
        said = attributes(span)
        known.add(str(said.get("gen_ai.conversation.id", "")))
        known.add(str(said.get("gen_ai.agent.name", span.name.replace("SELECT ", "agent"))))
    assert len(of_trace) == count
    assert all(len(known - {""}) == 2 for known in of_trace.values())
    assert {f"{call} agent{number}" for number, call in enumerate(ids)} == {
        " ".join(sorted(known - {""}, key=lambda one: one.startswith("agent"))) for known in of_trace.values()
    }
    assert len(kept.spans) == count * (1 + 3 * (1 + 2 + 1 + 1))


def test_two_sessions_that_are_watched_before_either_starts_are_two_calls() -> None:
    kept = Kept()

    async def main() -> None:
        first, second = (AgentSession[Any](llm=FakeLLM(["Hello."])) for _ in range(2))
        kept.telemetry.watch(first)
        kept.telemetry.watch(second)
        for session in (first, second):
            await session.start(Agent())
        for session in (second, first):
            await session.run(user_input="Hello")
            await session.aclose()

    run_virtual(main())
    assert tree(kept.spans).count("call") == 2
    assert tree(kept.spans).count("    chat fake") == 2


def test_a_call_that_a_tool_makes_is_a_part_of_that_tool() -> None:
    kept = Kept()

    @function_tool
    async def ask_colleague(ctx: RunContext) -> str:
        """Ask."""
        async with AgentSession[Any](llm=FakeLLM(["Nine."])) as session:
            kept.telemetry.watch(session)
            await session.start(Agent(id="colleague"))
            await session.run(user_input="When?")
        return "nine"

    in_text(kept, FakeLLM([Reply(calls=[("ask_colleague", {})]), "Nine."]), Agent(tools=[ask_colleague]), "When?")
    assert "      execute_tool ask_colleague" not in tree(kept.spans)
    lines = tree(kept.spans)
    at = lines.index("    execute_tool ask_colleague")
    assert lines[at + 1 : at + 3] == ["      call", "        invoke_agent colleague"]


def test_a_response_that_was_made_ahead_and_not_wanted_is_told_with_what_it_cost() -> None:
    kept = Kept()

    async def main() -> None:
        llm = FakeLLM(["For Friday, yes.", "For Saturday, yes."] * 2)
        ahead = {"preemptive_generation": True, "turn_detector": FakeTurnDetector(1.0)}
        async with VoiceCall(llm, ["A table on Friday", "no on Saturday"], **ahead) as call:
            kept.telemetry.watch(call.session)
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(0.4)
            await call.microphone.speak(1.0)
            await asyncio.sleep(6.0)

    run_virtual(main(), timeout=300)
    outcomes = [attributes(span)["antiphon.model.outcome"] for span in kept.named("chat")]
    assert outcomes.count("discarded") >= 1
    assert outcomes[-1] == "done"
    ahead = [span for span in kept.named("chat") if attributes(span)["antiphon.model.outcome"] == "discarded"]
    call = kept.one("call")
    assert call.context is not None
    assert all(span.parent is not None and span.parent.span_id == call.context.span_id for span in ahead)


def test_a_voice_that_breaks_is_an_error() -> None:
    kept = Kept()

    async def main() -> None:
        llm = FakeLLM(["Hello there, how are you today?"])
        async with VoiceCall(llm, ["Hello"], tts=FakeTTS(fail_on="Hello")) as call:
            kept.telemetry.watch(call.session)
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(20.0)

    run_virtual(main(), timeout=300)
    failed = [span for span in kept.named("text_to_speech") if span.status.status_code is StatusCode.ERROR]
    assert failed
    assert {attributes(span)["error.type"] for span in failed} == {"voice_failed"}


def test_the_values_of_secrets_are_in_no_span() -> None:
    kept, number = Kept(content=True), "4111 1111 1111 1111"
    llm = FakeLLM([Reply(calls=[("pay", {"card": "[card_number_1]"})]), "It is paid with [card_number_1]."])

    @function_tool(effect="writes")
    async def pay(card: str) -> str:
        """Pay."""
        return f"paid with {card}"

    in_text(kept, llm, Agent(tools=[pay]), f"My card is {number}", redact=["card_number"])
    told = everything(kept.spans)
    assert "[card_number_1]" in told
    assert "4111" not in told


def test_a_call_that_breaks_down_ends_all_its_spans() -> None:
    kept = Kept()

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("book", {"day": "Friday"})])])) as session:
            kept.telemetry.watch(session)
            await session.start(Agent(tools=[book]))
            session.submit_user_turn("Friday")
            await asyncio.sleep(1.0)
            driver = session._driver
            assert driver is not None
            driver.halt()
            await asyncio.sleep(1.0)

    run_virtual(main())
    assert sorted(span.name for span in kept.spans)[:2] == ["call", "chat fake"]
    assert kept.named("execute_tool")
    assert kept.count("antiphon.call.active") == 0


def test_a_session_that_runs_is_not_watched_any_more() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([])) as session:
            await session.start(Agent())
            with pytest.raises(UsageError, match="runs already"):
                Kept().telemetry.watch(session)

    run_virtual(main())


def test_a_session_is_watched_once() -> None:
    kept = Kept()

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["Hello."])) as session:
            kept.telemetry.watch(session)
            kept.telemetry.watch(session)
            await session.start(Agent())
            await session.run(user_input="Hello")

    run_virtual(main())
    assert len(kept.named("chat")) == 1


def test_nothing_of_a_call_stays_once_it_is_over() -> None:
    kept = Kept()

    async def main() -> weakref.ref[AgentSession[Any]]:
        async with AgentSession[Any](llm=FakeLLM(["Hello."])) as session:
            kept.telemetry.watch(session)
            await session.start(Agent())
            await session.run(user_input="Hello")
        return weakref.ref(session)

    gc.collect()
    gc.disable()
    try:
        assert run_virtual(main())() is None
    finally:
        gc.enable()


def test_models_go_by_the_names_that_the_conventions_have_for_their_providers() -> None:
    from antiphon.providers.openai import LLM as OpenAI
    from antiphon.telemetry.models import Named, named

    assert named(OpenAI(model="gpt-4o-mini", api_key="none")) == Named("openai", "gpt-4o-mini")
    assert named(FakeLLM([])) == Named("fakes", "fake")
    assert named(None) == Named("unknown", "")

    class Local:
        label = "stt.MoonshineSTT"

    Local.__module__ = "antiphon.providers.local.stt"
    assert named(Local()) == Named("local", "MoonshineSTT")


def test_an_equal_call_that_joins_a_run_at_work_is_told() -> None:
    kept = Kept()

    @function_tool
    async def find(what: str) -> str:
        """Find."""
        await asyncio.sleep(5.0)
        return f"found {what}"

    async def main() -> None:
        wanted = Reply(calls=[("find", {"what": "a table"})])
        llm = FakeLLM([wanted, Reply(calls=[("find", '{ "what":"a table" }')]), "A table."])
        async with VoiceCall(llm, ["find me a table", "i mean find a table"], max_silence=None) as call:
            kept.telemetry.watch(call.session)
            await call.begin(Agent(tools=[find]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(9.0)

    run_virtual(main(), timeout=300)
    (joined,) = [data for span in kept.named("invoke_agent") for name, data in events(span) if name == "tool_joined"]
    assert joined["gen_ai.tool.call.id"] == "call_2"
    tool = kept.one("execute_tool")
    assert ("dropped", {}) in events(tool)
    assert attributes(tool)["antiphon.tool.status"] == "done"
    assert kept.count("antiphon.tool.joined", gen_ai__tool__name="find") == 1


def test_a_model_that_hears_and_speaks_is_told_in_the_same_way() -> None:
    kept = Kept()

    @function_tool(effect="reads")
    async def see() -> str:
        """See."""
        return "nine"

    async def main() -> None:
        model = FakeRealtimeModel([Reply(calls=[("see", {})]), "At nine."], hears=["when do you open"])
        microphone = FakeMicrophone()
        async with AgentSession[Any](llm=model) as session:
            kept.telemetry.watch(session)
            await session.start(Agent(tools=[see]), input=microphone, output=FakeSpeaker())
            await microphone.speak(1.0)
            await asyncio.sleep(8.0)

    run_virtual(main(), timeout=300)
    lines = tree(kept.spans)
    assert lines.count("    execute_tool see") == 1
    chats = kept.named("chat")
    assert len(chats) == 2
    assert any(attributes(span).get("antiphon.model.realtime") for span in chats)
    assert kept.named("text_to_speech")
    assert {span.name for span in kept.spans if span.parent is None} == {"call"}
