"""Whole conversations: which tool is called when, with what, and what is said."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from antiphon.chat import NOTE_ID, REPLY_INSTRUCTIONS_ID, FunctionCall, FunctionCallOutput, new_id
from antiphon.tools.function import function_tool
from antiphon_standin import StandInLLM, speak
from antiphon_standin.slots import view
from tests.standin.engine_agents import AGENTS, cabs, library, receptionist, restaurant, store, studio, taxi
from tests.standin.engine_dialogues import DIALOGUES, Dialogue
from tests.standin.engine_talk import Talk

NAMED = {"type": "function", "function": {"name": "check_availability"}}


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda d: f"{d[0]}: {d[1][0][0][:40]}")
def test_a_dialogue_makes_exactly_the_calls_it_should(dialogue: Dialogue) -> None:
    agent, turns = dialogue
    talk = AGENTS[agent]()
    for text, expected in turns:
        assert (text, talk.say(text).calls) == (text, expected)


def test_the_first_question_is_about_the_date_and_calls_nothing() -> None:
    turn = receptionist().say("Hi, I need to schedule an appointment.")
    assert (turn.said, turn.calls) == ("What date works for you?", [])


def test_what_the_tool_has_spoken_is_not_repeated() -> None:
    talk = receptionist()
    talk.say("Do you have anything next Tuesday?")
    said = talk.say("The 2 PM slot, please. My name is Jordan Park.").said
    assert said == "Is there anything else I can help you with?"


def test_an_error_becomes_an_apology_with_the_alternatives() -> None:
    said = receptionist().say("I'd like to book an appointment for next Tuesday at 10 AM. My name is Alex Rivera.").said
    assert said == (
        "I'm sorry, 10:00 AM is not an available slot. I do have 9:00 AM, 11:30 AM, 2:00 PM, and 4:30 PM."
        " Would any of those work for you?"
    )


def test_the_goodbye_is_a_goodbye() -> None:
    talk = receptionist()
    talk.say("Do you have anything next Tuesday?")
    assert "goodbye" in talk.say("No, that's everything. Thanks.").said


def test_a_change_after_the_read_back_is_read_back_again() -> None:
    talk = restaurant()
    first = talk.say("Book a table for four on Friday at 7:30 pm")
    second = talk.say("Yes, but make it five people")
    assert "party size 4. Is that right?" in first.said
    assert "party size 5. Is that right?" in second.said
    assert first.calls == second.calls == []


def test_a_read_back_that_was_cut_off_is_not_consent() -> None:
    talk = restaurant()
    talk.say("Book a table for four on Friday at 7:30 pm")
    talk.ctx.messages()[-1].interrupted = True
    turn = talk.say("yes")
    assert turn.calls == []
    assert turn.said.endswith("Is that right?")


def test_a_number_out_of_bounds_is_asked_for_again() -> None:
    talk = restaurant()
    turn = talk.say("a table for thirty people on friday at 7 pm")
    assert turn.calls == []
    assert "between 1 and 12" in turn.said


def test_the_last_words_are_repeated_on_request() -> None:
    talk = receptionist()
    said = talk.say("Do you have anything next Tuesday?").said
    assert talk.say("Sorry, could you say that again?").said == said


def test_what_can_be_done_is_told_in_words() -> None:
    said = taxi().say("What can you do?").said
    assert "order a taxi" in said
    assert "order_taxi" not in said


def test_after_two_misses_it_tells_what_it_can_do() -> None:
    talk = taxi()
    talk.say("I need a taxi")
    talk.say("Is it raining?")
    assert "I can" in talk.say("Why is the sky blue?").said


def test_the_opening_line_names_the_house() -> None:
    assert receptionist().ask().text == "Hello, this is Bright Smile Dental clinic. How can I help you?"


@pytest.mark.parametrize(
    ("instruction", "speech"),
    [
        ("Ask the user to provide their address.", "Could you provide your address?"),
        ("say goodbye to the user", "goodbye"),
        ("Processing order 5. This may take a moment.", "Processing order 5. This may take a moment."),
        ("Tell the user that their order is late.", "Your order is late."),
        ("Greet the user and offer your assistance.", "Hello"),
    ],
)
def test_an_instruction_for_one_reply_becomes_speech(instruction: str, speech: str) -> None:
    talk = receptionist()
    talk.say("hello")
    talk.ctx.add_message(role="system", content=instruction, id=new_id(REPLY_INSTRUCTIONS_ID))
    assert speech in talk.ask(tool_choice="none").text


def test_json_results_are_put_in_words() -> None:
    @function_tool
    def lookup_weather(location: str) -> dict[str, Any]:
        """Look up weather information for a given location.

        Args:
            location: The location to look up weather information for.
        """
        return {"weather": "sunny", "temperature_f": 70}

    turn = Talk([lookup_weather]).say("What's the weather in Paris?")
    assert turn.calls == [("lookup_weather", {"location": "Paris"})]
    assert turn.said.startswith("The weather is sunny and the temperature f is 70.")


def test_a_tool_of_one_free_value_is_called_with_what_was_given() -> None:
    def setter(field: str) -> Any:
        def set_value(value: str) -> str:
            return f"field {field} was set to {value}"

        return function_tool(
            set_value,
            name=f"set_{field.replace(' ', '_')}",
            description=f"Call this function when user has provided their {field}.",
        )

    talk = Talk([setter("phone number"), setter("email")])
    assert talk.say("my email is ann at example dot com").calls == [("set_email", {"value": "ann@example.com"})]
    assert talk.say("and my phone number is 555 010 2030").calls == [("set_phone_number", {"value": "5550102030"})]


def test_the_call_is_ended_with_the_tool_for_it() -> None:
    ended = []

    @function_tool
    def end_call() -> str:
        """Ends the current call and disconnects. Call when the user is done or says goodbye."""
        ended.append(True)
        return "say goodbye to the user"

    talk = receptionist()
    talk.tools.append(end_call)
    talk.say("Do you have anything next Tuesday?")
    turn = talk.say("No thanks, that's all. Bye!")
    assert turn.calls == [("end_call", {})]
    assert "goodbye" in turn.said


def test_no_call_where_none_is_allowed() -> None:
    talk = receptionist()
    talk.ctx.add_message(role="user", content="Do you have anything next Tuesday?")
    response = talk.ask(tool_choice="none")
    assert (response.tool_calls, bool(response.text)) == ([], True)


def test_a_named_tool_is_called() -> None:
    talk = receptionist()
    talk.ctx.add_message(role="user", content="Tuesday")
    assert [c.name for c in talk.ask(tool_choice=NAMED).tool_calls] == ["check_availability"]
    assert talk.ask(tool_choice="required").tool_calls


def test_a_failed_call_is_made_again_on_request() -> None:
    talk = receptionist()
    talk.ctx.add_message(role="user", content="Do you have anything next Tuesday?")
    talk.ctx.append(FunctionCall(call_id="a", name="check_availability", arguments='{"date": "next Tuesday"}'))
    output = "Lookup is slow right now. Ask the user to try again in a moment."
    talk.ctx.append(FunctionCallOutput(call_id="a", name="check_availability", output=output, is_error=True))
    assert talk.go_on().said == "I'm sorry, Lookup is slow right now. Could you try again in a moment?"
    assert talk.say("okay, try again").calls == [("check_availability", {"date": "next Tuesday"})]


def test_the_answer_depends_on_the_request_alone() -> None:
    one, other = receptionist(), receptionist()
    other.llm = one.llm
    one.say("Do you have anything next Tuesday?")
    assert other.say("2 PM, my name is Ann Lee.").calls == []
    assert one.say("2 PM, my name is Ann Lee.").calls


def test_text_comes_in_words_and_joins_to_the_whole() -> None:
    import asyncio

    async def deltas() -> list[str]:
        stream = StandInLLM().chat(chat_ctx=receptionist().ctx)
        return [c.delta.content async for c in stream if c.delta is not None and c.delta.content]

    parts = asyncio.run(deltas())
    assert len(parts) > 5
    assert "".join(parts) == "Hello, this is Bright Smile Dental clinic. How can I help you?"


def test_it_says_that_it_is_no_language_model() -> None:
    assert "not a language model" in StandInLLM().label
    assert "not* a language model" in (StandInLLM.__doc__ or "")


def test_no_trade_is_written_into_the_engine() -> None:
    from importlib.resources import files

    words = "dental dentist appointment reservation restaurant gym yoga parcel taxi pizza patient dinner lunch pharmacy"
    pattern = re.compile(rf"\b(?:{'|'.join(words.split())})s?\b|party.size", re.I)
    package = files("antiphon_standin")
    texts = {f.name: f.read_text() for f in package.iterdir() if f.name.endswith((".py", ".json"))}
    assert {name: pattern.findall(text) for name, text in texts.items() if pattern.search(text)} == {}


def test_nothing_found_offers_the_tool_for_that() -> None:
    talk = restaurant(open_slots=[])
    first = talk.say("Do you have a table for 2 tomorrow for dinner?")
    assert first.said.endswith("Would you like me to look for alternatives?")
    turn = talk.say("yes please")
    # The date has the form that the namesake in another tool documents.
    assert turn.calls == [("find_alternatives", {"date": "2026-11-22", "party_size": 2})]
    assert turn.said.startswith("The day after has tables at 6 PM and 8 PM.")


def test_a_tool_that_sends_the_engine_back_to_read_back_is_obeyed() -> None:
    talk = restaurant()
    talk.ctx.add_message(role="user", content="Book a table for four on Friday at 7:30 pm")
    arguments = '{"date": "2026-11-27", "time": "19:30", "party_size": 4, "read_back": false}'
    talk.ctx.append(FunctionCall(call_id="x", name="book_reservation", arguments=arguments))
    output = "Read the date, time, and party size back to the user first, then call this tool again."
    talk.ctx.append(FunctionCallOutput(call_id="x", name="book_reservation", output=output))
    assert talk.go_on().said.endswith("Is that right?")
    expected = {"date": "2026-11-27", "time": "19:30", "party_size": 4, "read_back": True}
    assert talk.say("yes").calls == [("book_reservation", expected)]


def test_a_long_call_is_read_as_from_the_start() -> None:
    one, other = restaurant(), restaurant()
    for text in ("Do you have a table for 3 on Friday?", "Dinner, please.", "8:15", "no, 7:30"):
        one.say(text)
    other.ctx.items = [*one.ctx.items]
    for item in other.ctx.items:
        item.wire = None
    assert one.say("yes").calls == other.say("yes").calls != []


@pytest.mark.parametrize(
    ("output", "speech"),
    [
        ("`book` is still running (started 2 s ago); do not call it again, its result will follow.", "still working"),
        (
            "It is unknown whether `book` happened; do not repeat it unless the user asks for that.",
            "can't tell yet",
        ),
        (
            "The tool `book` has updated, message: Found 3 of them\nThe task is still running, so DON'T make up or give"
            " information not included in the message above.",
            "Found 3 of them.",
        ),
    ],
)
def test_what_the_session_says_in_a_tools_place_is_put_in_words(output: str, speech: str) -> None:
    talk = receptionist()
    talk.ctx.add_message(role="user", content="Do you have anything next Tuesday?")
    talk.ctx.append(FunctionCall(call_id="a", name="check_availability", arguments='{"date": "next Tuesday"}'))
    talk.ctx.append(FunctionCallOutput(call_id="a", name="check_availability", output=output))
    said = talk.ask(tool_choice="none").text
    assert speech in said
    assert "`" not in said
    assert "DON'T" not in said


def test_what_is_done_already_is_said_before_it_is_done_again() -> None:
    talk = cabs()
    for text in ("I need a cab to pick me up at 21 Hill Road", "21 Hill Road", "a van for three", "thanks"):
        talk.say(text)
    turn = talk.say("actually make that a limousine")
    assert (turn.calls, turn.said) == (
        [],
        "That's already done, and I can't change it here. Shall I order another taxi, with limousine as the car?",
    )


def test_thanks_after_the_deed_is_answered_politely() -> None:
    talk = cabs()
    for text in ("I need a cab", "21 Hill Road", "a van for three"):
        talk.say(text)
    assert talk.say("great thanks").said == "You're welcome. Is there anything else I can help you with?"


def test_thanks_alone_do_not_end_the_call() -> None:
    talk = store()
    talk.say("Where is order 482913?")
    assert talk.say("thank you").calls == []
    assert talk.say("bye").calls == [("end_call", {})]


def test_small_talk_comes_back_to_the_open_question() -> None:
    talk = cabs()
    talk.say("I need a cab")
    said = talk.say("how are you today?").said
    assert said == "I'm doing well, thank you. What's the address where you are picked up?"


def test_a_thing_on_offer_is_taken_by_its_name() -> None:
    talk = studio()
    talk.say("what's on tomorrow?")
    assert talk.say("spin please").said == "May I have your full name, please?"
    assert talk.say("maya patel").calls[0][1]["time"] == "6:00 PM"


def test_a_time_asked_for_is_found_in_the_answer() -> None:
    said = receptionist().say("do you have anything tomorrow at two?").said
    assert said.endswith("2:00 PM is free. Shall I go ahead with that?")
    said = receptionist().say("do you have anything tomorrow at three?").said
    assert said.endswith("3:00 PM isn't among them, I'm afraid. Would any of those work for you?")


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Ann Lee", "Ann Lee. How many copies? And what date works for you?"),
        ("My name is Ann Lee, and on Friday", "Friday and Ann Lee. How many copies?"),
        ("on Friday", "Friday. How many copies? And may I have your full name, please?"),
        ("three", "What date works for you? And may I have your full name, please?"),
        ("hm", "Sorry, I didn't get that. How many copies?"),
    ],
)
def test_a_value_given_instead_of_the_one_asked_for_is_heard_to_be_understood(said: str, answer: str) -> None:
    @function_tool
    def reserve_atlas(copies: int, day: str, member_name: str) -> str:
        """Reserve copies of the atlas at the library.

        Args:
            copies: The number of copies
            day: The day on which they are collected, e.g. Friday
            member_name: The member's full name
        """
        return "The atlas is kept for you."

    talk = Talk([reserve_atlas], "You answer the phone of a library.")
    assert talk.say("Please reserve the atlas").said == "How many copies? And what date works for you?"
    assert talk.say(said).said == answer


# -- parameters that are objects


def test_what_an_object_holds_is_asked_for_and_put_into_it() -> None:
    class Guest(BaseModel):
        name: str = Field(description="Full name")
        phone: str | None = None

    class Party(BaseModel):
        guest: Guest
        people: Annotated[int, Field(ge=1, le=12)]

    @function_tool
    def plan_party(party: Party) -> str:
        """Plan a party.

        Args:
            party: Who comes
        """
        return "All set."

    talk = Talk([plan_party], "You plan parties.")
    assert talk.say("Plan a party for six").said == "May I have your full name, please?"
    turn = talk.say("Ann Lee")
    assert turn.calls == [("plan_party", {"party": {"guest": {"name": "Ann Lee"}, "people": 6}})]


def test_a_short_code_is_understood_where_one_is_asked_for_or_announced() -> None:
    @function_tool
    def cancel_booking(number: str) -> str:
        """Cancel a booking.

        Args:
            number: The booking number, e.g. B1
        """
        return f"Booking {number} is cancelled."

    talk = Talk([cancel_booking], "You take bookings.")
    talk.say("I want to cancel a booking")
    assert talk.say("B1").calls == [("cancel_booking", {"number": "B1"})]
    at_once = Talk([cancel_booking], "You take bookings.")
    assert at_once.say("Cancel booking B1").calls == [("cancel_booking", {"number": "B1"})]


def test_arguments_that_were_refused_are_no_matter_of_the_caller() -> None:
    said = speak.apology(["Error parsing arguments for `plan`: `party`: expected an object."])
    assert said == speak.NOT_AVAILABLE


# -- parameters that only a language model could fill


@function_tool
def towing_fee(location: str, latitude: str, longitude: str) -> str:
    """Tell what it costs to have a car towed from a place to the garage.

    When given a place, estimate its latitude and longitude and do not ask the caller for them.

    Args:
        location: Where the car stands
        latitude: The latitude of the location
        longitude: The longitude of the location
    """
    return "From there it is forty dollars."


def test_what_may_not_be_asked_for_and_cannot_be_estimated_is_owned_up_to() -> None:
    turn = Talk([towing_fee], "You answer the phone of a garage.").say("How much is it to tow my car from Leeds?")
    assert turn.calls == []
    assert "estimate the latitude and longitude, and I can't: I'm not a language model" in turn.said


def test_the_place_itself_is_still_asked_for() -> None:
    slots = {
        slot.name: slot.unasked for slot in view("fee", towing_fee.spec.description, towing_fee.spec.parameters).slots
    }
    assert slots == {"location": False, "latitude": True, "longitude": True}


def test_coordinates_that_may_be_left_out_are_never_a_places_name() -> None:
    @function_tool
    def nearest_branch(location: str, latitude: str = "", longitude: str = "") -> str:
        """Find the nearest branch of the library.

        Args:
            location: Where the caller is
            latitude: The latitude of the location, do not ask user for it
            longitude: The longitude of the location, do not ask user for it
        """
        return "The nearest branch is on Mill Lane."

    turn = Talk([nearest_branch]).say("What is the nearest branch in Leeds?")
    assert turn.calls == [("nearest_branch", {"location": "Leeds"})]


def test_a_value_to_be_asked_for_later_is_asked_for() -> None:
    @function_tool
    def join_waiting_list(title: str, phone: str) -> str:
        """Put the caller on the waiting list for a book. Do not ask for the phone before the title is known.

        Args:
            title: The title of the book
            phone: The phone number
        """
        return "You are on the list."

    talk = Talk([join_waiting_list], "You answer the phone of a library.")
    talk.say("Put me on the waiting list for a book")
    assert talk.say("The Tin Drum").said == "What's the best phone number to reach you?"


# -- results of background calls

UPDATE = (
    "The tool `search_flights` has updated, message: Looking up flights from {} to {}.\n"
    "The task is still running, so DON'T make up or give information not included in the message above."
)
FOUND = "There are two flights, at 9 AM and at 4 PM."
NEW_RESULTS = (
    "New results came in from calls that run in the background (call ids: c/1). Tell the user what is new in them,"
    " naturally and briefly. Do not repeat what you have told them; if nothing is left to tell, say nothing."
)
UNHEARD = "The user has not heard the results of these calls yet (call ids: c/1)."


def _searching() -> Talk:
    @function_tool
    def search_flights(origin: str, destination: str) -> str:
        """Search for flights.

        Args:
            origin: The city to fly from
            destination: The city to fly to
        """
        return UPDATE.format(origin, destination)

    return Talk([search_flights], "You are a travel agent.")


def _found(talk: Talk) -> None:
    talk.ctx.append(FunctionCall(call_id="c/1", name="search_flights", arguments="{}"))
    talk.ctx.append(FunctionCallOutput(call_id="c/1", name="search_flights", output=FOUND))


def _noted(talk: Talk, note: str) -> str:
    talk.ctx.add_message(role="system", content=note, id=new_id(NOTE_ID))
    said = talk.ask(tool_choice="none").text
    talk.ctx.items.pop()
    return said


def test_progress_is_told_and_nothing_is_added() -> None:
    talk = _searching()
    said = talk.say("find me a flight from Paris to Rome").said
    assert said == "Looking up flights from Paris to Rome."
    assert talk.say("how long will it take?").said.startswith("I'm still working on that.")


def test_a_result_that_came_in_is_told_once() -> None:
    talk = _searching()
    talk.say("find me a flight from Paris to Rome")
    _found(talk)
    said = _noted(talk, NEW_RESULTS)
    assert said.startswith(FOUND)
    talk.ctx.add_message(role="assistant", content=said)
    assert _noted(talk, NEW_RESULTS) == ""


def test_a_result_that_sounds_like_its_progress_is_told_all_the_same() -> None:
    talk = _searching()
    assert talk.say("find me a flight from Paris to Rome").said == "Looking up flights from Paris to Rome."
    made = next(item.call_id for item in talk.ctx.items if isinstance(item, FunctionCall))
    found = "There are flights from Paris to Rome."
    talk.ctx.append(FunctionCall(call_id=f"{made}/finished", name="search_flights", arguments="{}"))
    talk.ctx.append(FunctionCallOutput(call_id=f"{made}/finished", name="search_flights", output=found))
    assert _noted(talk, NEW_RESULTS.replace("c/1", f"{made}/finished")).startswith(found)


def test_a_result_that_waits_is_told_with_the_next_answer() -> None:
    talk = _searching()
    talk.say("find me a flight from Paris to Rome")
    _found(talk)
    talk.ctx.add_message(role="user", content="is it done?")
    said = _noted(talk, UNHEARD)
    assert said.startswith(FOUND)
    talk.ctx.add_message(role="assistant", content=said)
    assert _noted(talk, NEW_RESULTS) == ""


def test_a_request_made_again_is_answered_in_words() -> None:
    talk = receptionist()
    talk.ctx.add_message(role="user", content="hmm")
    assert _noted(talk, "Your last response was empty. Answer the user now, in words, with what you know.")


@pytest.mark.parametrize("role", ["user", "system"])
def test_a_note_for_the_model_is_never_said_whatever_its_words(role: Literal["user", "system"]) -> None:
    talk = library()
    if role == "user":
        talk.ctx.add_message(role="user", content="I'd like to renew a book")
    plain = talk.ask().text
    assert plain
    for note in ("Say that the moon is full.", "The line was bad for four seconds.", "Ask the user for their shoes."):
        assert _noted(talk, note) == plain


# -- tools of the session


def test_where_no_tool_fits_others_are_searched_for() -> None:
    @function_tool
    def water_plants(minutes: int) -> str:
        """Water the plants.

        Args:
            minutes: For how many minutes
        """
        return f"Watering for {minutes} minutes."

    @function_tool
    def tool_search(query: str) -> str:
        """Find tools by what they do."""
        talk.tools.append(water_plants)
        return "Found; these tools can be called now:\n- water_plants: Water the plants."

    talk = Talk([tool_search], "You run a house.")
    text = "please water the plants for ten minutes"
    assert talk.say(text).calls == [("tool_search", {"query": text}), ("water_plants", {"minutes": 10})]


def test_the_caller_is_transferred_on_request() -> None:
    @function_tool
    def to_takeaway() -> str:
        """Transfer the caller to the takeaway department, when they want food to take away."""
        return "Tell the user that you are connecting them."

    talk = receptionist()
    talk.tools.append(to_takeaway)
    turn = talk.say("I want to talk to the takeaway department")
    assert turn.calls == [("to_takeaway", {})]
    assert turn.said.startswith("I am connecting you.")


def test_a_settled_step_is_gone_back_to_by_its_id() -> None:
    @function_tool
    def out_of_scope(task_ids: list[str]) -> str:
        """Go back to earlier steps. Call this only when the user wants to change something settled in one of them:

        - address: asks for the address
        - date: asks for the day
        """
        return ""

    talk = Talk([out_of_scope])
    assert talk.say("I need to change the address").calls == [("out_of_scope", {"task_ids": ["address"]})]


def test_a_fault_of_the_engine_is_apologised_for(caplog: pytest.LogCaptureFixture) -> None:
    def stopped_clock() -> dt.datetime:
        raise OSError("the clock has stopped")

    talk = receptionist()
    talk.llm = StandInLLM(now=stopped_clock)
    assert talk.say("hello").said == "I'm sorry, something went wrong on my side. Could you say that again, please?"
    assert "the clock has stopped" in caplog.text
