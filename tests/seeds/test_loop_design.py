"""The guide on tool loops: each block does what the text around it advises."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon import Agent, AgentSession, FunctionTool, function_tool
from antiphon.inference import LLM
from antiphon.runtime.instructions import RESULTS_ARE_DATA
from antiphon.testing import FakeLLM, Reply, now, run_virtual, transcript
from tests.calls import VoiceCall, converse, outputs
from tests.seeds.documents import ImportLines, run


class Reservations:
    """The back end that the page leaves out. It takes `delay` seconds for everything."""

    def __init__(self, delay: float = 0.0, **results: Any) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self._delay = delay
        self._results = results

    def __getattr__(self, name: str) -> Any:
        async def answer(*arguments: Any) -> Any:
            self.asked.append((name, *arguments))
            await asyncio.sleep(self._delay)
            return self._results.get(name)

        return answer


def method(tool: FunctionTool) -> Agent:
    """An agent of whose class the tool is a method."""
    kind: type[Agent] = type("Host", (Agent,), {tool.id: tool})
    return kind(instructions="You are a host.")


def test_a_description_says_what_when_and_what_comes_back() -> None:
    async def main() -> None:
        block = await run("check_availability")
        llm = FakeLLM(["Hello."])
        await converse(Agent(tools=[block.get_data, block.check_availability]), "Hi.", llm=llm)
        poor, good = llm.requests[0].tools
        assert poor.description == "Gets data."  # type: ignore[attr-defined]
        assert " ".join(good.description.split()) == (  # type: ignore[attr-defined]
            "Check open reservation slots for a given date. Call this when the user asks about reservations. Don't call"
            " it until you have both the date and the party size. Returns: A speech-ready summary of available times."
        )
        properties = good.spec.parameters["properties"]  # type: ignore[attr-defined]
        assert properties["party_size"] == {"type": "integer", "description": "Number of guests, between 1 and 12."}

    run_virtual(main())


def rounds(limit: int, imports: ImportLines) -> int:
    """Rounds of calls that a page's limit allows: one more where its import lines are as printed."""
    return limit if imports == "native" else limit + 1


def test_the_loop_is_bounded_where_the_session_says(imports: ImportLines) -> None:
    @function_tool
    async def again() -> str:
        """Again."""
        return "once more"

    async def main() -> None:
        session = (await run("max_tool_steps")).session
        limit = rounds(5, imports)
        llm = FakeLLM([Reply(calls=[("again", {})])] * limit + ["That was often enough."])
        await session.start(Agent(tools=[again]), llm=llm)
        await session.run(user_input="Go.")
        assert len(outputs(session)) == limit
        assert not llm.requests[limit].tools
        assert transcript(session.history)[-1] == "assistant: That was often enough."
        await session.aclose()

    run_virtual(main())


def test_serial_calls_are_asked_of_the_model_and_held_by_the_session() -> None:
    @function_tool
    async def look(n: int) -> str:
        """Look."""
        return f"found {n}"

    async def main() -> None:
        llm = (await run("parallel_tool_calls")).llm
        assert isinstance(llm, LLM) and llm.model.endswith("gpt-4.1-mini")
        scripted = FakeLLM([Reply(calls=[("look", {"n": 1}), ("look", {"n": 2})]), "Done."])
        scripted.parallel_tool_calls = llm.parallel_tool_calls  # the model of the page needs a network
        session = await converse(Agent(tools=[look]), "Look twice.", llm=scripted)
        assert outputs(session) == ["found 1", "one call at a time; call again if still needed"]

    run_virtual(main())


RESERVATION = SimpleNamespace(id="R-1842", party_size=3, date="Friday", time="7 PM")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (RESERVATION, "output lookup_reservation: Reservation #R-1842 for 3 on Friday at 7 PM."),
        (
            None,
            "error lookup_reservation: No reservation matches that confirmation code. "
            "Ask the user to double-check the code or look in their email.",
        ),
    ],
)
def test_an_error_tells_the_model_what_to_do(found: Any, told: str) -> None:
    async def main() -> None:
        block = await run("lookup_reservation", reservations_api=Reservations(get=found))
        llm = FakeLLM([Reply(calls=[("lookup_reservation", {"confirmation": "R-1842"})]), "So it is."])
        session = await converse(method(block.lookup_reservation), "My code is R-1842.", llm=llm)
        assert told in transcript(session.history)

    run_virtual(main())


def test_a_gate_sends_the_model_back_until_the_details_were_read() -> None:
    details = {"date": "2026-06-12", "time": "19:00", "party_size": 3}

    async def main() -> None:
        backend = Reservations(book=SimpleNamespace(confirmation="AB12"))
        block = await run("confirm_reservation", reservations_api=backend)
        llm = FakeLLM(
            [
                Reply(calls=[("confirm_reservation", {**details, "read_back": False})]),
                "Friday at seven for three, is that right?",
                Reply(calls=[("confirm_reservation", {**details, "read_back": True})]),
                "Booked.",
            ]
        )
        session = await converse(method(block.confirm_reservation), "Friday at seven.", "Yes.", llm=llm)
        assert outputs(session) == [
            "Read the date, time, and party size back to the user first, then call this tool again.",
            "Booked. Confirmation code is AB12.",
        ]
        assert backend.asked == [("book", "2026-06-12", "19:00", 3)]

    run_virtual(main())


def test_a_filler_is_heard_while_the_search_goes_on() -> None:
    async def main() -> None:
        backend = Reservations(3.0, search_times=SimpleNamespace(speech_summary="Six and nine PM."))
        block = await run("find_alternative_times", reservations_api=backend)
        llm = FakeLLM([Reply(calls=[("find_alternative_times", {"date": "Friday", "party_size": 2})]), "Six or nine?"])
        async with VoiceCall(llm, ["is friday full"]) as call:
            await call.begin(method(block.find_alternative_times))
            await call.microphone.speak(1.0)
            asked = now()
            await asyncio.sleep(10.0)
            await call.session.wait_for_idle()
            filler, answer = call.speaker.sounds
            assert filler.start - asked < 1.0 and answer.start - asked > 3.0
            assert [message.text_content for message in call.session.history.messages()] == [
                "is friday full",
                "Let me see what else is open.",
                "Six or nine?",
            ]

    run_virtual(main())


@pytest.mark.parametrize(
    ("delay", "told"),
    [
        (1.0, "output lookup_reservation_status: confirmed"),
        (
            60.0,
            "error lookup_reservation_status: Reservation lookup is slow right now."
            " Ask the user to try again in a moment.",
        ),
    ],
)
def test_a_slow_back_end_is_an_error_after_five_seconds(delay: float, told: str) -> None:
    async def main() -> None:
        block = await run("lookup_reservation_status", reservations_api=Reservations(delay, get_status="confirmed"))
        llm = FakeLLM([Reply(calls=[("lookup_reservation_status", {"confirmation": "A"})]), "So it is."])
        session = await converse(method(block.lookup_reservation_status), "Is it confirmed?", llm=llm)
        assert told in transcript(session.history)
        assert now() < 6.0

    run_virtual(main())


@pytest.mark.parametrize("known", [True, False])
def test_a_verified_caller_gets_tools_and_instructions_within_the_turn(known: bool) -> None:
    @function_tool
    async def lookup_my_reservations() -> str:
        """Look up."""
        return "one, on Friday"

    @function_tool
    async def cancel_my_reservation() -> str:
        """Cancel."""
        return "cancelled"

    async def main() -> None:
        block = await run(
            "verify_user",
            users_api=Reservations(lookup=SimpleNamespace(name="Ada") if known else None),
            lookup_my_reservations=lookup_my_reservations,
            cancel_my_reservation=cancel_my_reservation,
        )
        verify = Reply(calls=[("verify_user", {"email": "ada@example.com"})])
        rest: list[Reply | str] = [Reply(calls=[("lookup_my_reservations", {})]), "One, Ada."] if known else ["Sorry."]
        llm = FakeLLM([verify, *rest])
        session = await converse(method(block.verify_user), "I am Ada. What have I booked?", llm=llm)
        if known:
            assert outputs(session) == ["Got it, Ada. How can I help with your account?", "one, on Friday"]
            assert [t.id for t in llm.requests[1].tools] == [
                "verify_user",
                "lookup_my_reservations",
                "cancel_my_reservation",
            ]
            assert llm.histories[1][0] == f"system: You are a host. The user is verified as Ada.\n\n{RESULTS_ARE_DATA}"
        else:
            assert outputs(session) == ["No account found with that email."]
            assert [t.id for t in llm.requests[1].tools] == ["verify_user"]

    run_virtual(main())


SLOT = {"date": "2026-06-12", "time": "19:45", "party_size": 3}


def test_the_reservation_agent_takes_a_reservation(imports: ImportLines) -> None:
    async def main() -> None:
        backend = Reservations(
            0.5,
            check=[],
            search_nearby=SimpleNamespace(speech_summary="Saturday has 7:45 PM."),
            book=SimpleNamespace(code="R-7"),
        )
        block = await run("ReservationAgent", reservations_api=backend)
        llm = FakeLLM(
            [
                Reply(calls=[("check_availability", {"date": "2026-06-12", "party_size": 3, "meal": "dinner"})]),
                Reply(calls=[("find_alternatives", {"date": "2026-06-12", "party_size": 3})]),
                "Saturday at a quarter to eight?",
                Reply(calls=[("book_reservation", {**SLOT, "read_back": False})]),
                "Saturday, a quarter to eight, three people: right?",
                Reply(calls=[("book_reservation", {**SLOT, "read_back": True})]),
                "It is booked.",
            ]
        )
        session: AgentSession[Any] = block.session
        await session.start(block.ReservationAgent(), llm=llm)
        for words in ("Dinner on Friday for three?", "Yes please.", "Right."):
            await session.run(user_input=words)
        await session.aclose()
        assert outputs(session) == [
            "No dinner availability on 2026-06-12 for a party of 3.",
            "Saturday has 7:45 PM.",
            "Read the date, time, and party size back to the user first, then call this tool again.",
            "Booked for 3 on 2026-06-12 at 19:45. Confirmation #R-7.",
        ]
        assert "assistant: Let me check what else is open." in transcript(session.history)
        assert session.options.max_tool_steps == rounds(5, imports)
        assert [asked[0] for asked in backend.asked] == ["check", "search_nearby", "book"]

    run_virtual(main())


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        (
            "check_availability",
            {"date": "2026-06-12", "party_size": 3, "meal": "dinner"},
            "Availability lookup is slow. Ask the user to try again in a moment.",
        ),
        (
            "find_alternatives",
            {"date": "2026-06-12", "party_size": 3},
            "Alternative search is slow. Ask the user to try again.",
        ),
    ],
)
def test_the_reservation_agent_survives_a_slow_back_end(tool: str, arguments: dict[str, Any], told: str) -> None:
    async def main() -> None:
        block = await run("ReservationAgent", reservations_api=Reservations(60.0))
        llm = FakeLLM([Reply(calls=[(tool, arguments)]), "One moment, please."])
        session = await converse(block.ReservationAgent(), "Dinner?", llm=llm)
        assert f"error {tool}: {told}" in transcript(session.history)
        assert now() < 9.0

    run_virtual(main())


def test_the_model_cannot_invent_a_meal() -> None:
    async def main() -> None:
        backend = Reservations(check=["7 PM", "8 PM"])
        block = await run("ReservationAgent", reservations_api=backend)
        arguments = {"date": "2026-06-12", "party_size": 3, "meal": "brunch"}
        llm = FakeLLM(
            [
                Reply(calls=[("check_availability", arguments)]),
                Reply(calls=[("check_availability", {**arguments, "meal": "lunch"})]),
                "Seven or eight.",
            ]
        )
        session = await converse(block.ReservationAgent(), "Brunch?", llm=llm)
        refused, told = outputs(session)
        assert refused.startswith("Error parsing arguments for `check_availability`:")
        assert "meal" in refused and "'lunch'" in refused.replace('"', "'") and "brunch" in refused
        assert told == "2 lunch slots open on 2026-06-12: 7 PM, 8 PM."

    run_virtual(main())


def test_a_caller_who_speaks_over_the_booking_does_not_undo_it() -> None:
    async def main() -> None:
        backend = Reservations(4.0, book=SimpleNamespace(code="R-7"))
        block = await run("ReservationAgent", reservations_api=backend)
        llm = FakeLLM(
            [Reply("I book it.", [("book_reservation", {**SLOT, "read_back": True})]), "It is booked, with parking."]
        )
        async with VoiceCall(llm, ["yes that is right", "and is there any parking"]) as call:
            await call.begin(block.ReservationAgent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.5)
            await call.microphone.speak(1.0)
            await asyncio.sleep(8.0)
            await call.session.wait_for_idle()
            assert outputs(call.session) == ["Booked for 3 on 2026-06-12 at 19:45. Confirmation #R-7."]
            assert len(llm.requests) == 2
            assert transcript(call.session.history)[-2:] == [
                "user: and is there any parking",
                "assistant: It is booked, with parking.",
            ]

    run_virtual(main())
