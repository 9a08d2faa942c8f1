"""A flight is booked in the background, while the talk goes on.

    antiphon call examples/flight_booking.py --say "Book a flight from New York to Tokyo" "What is the baggage allowance?" --out call.wav
    antiphon call examples/flight_booking.py --say "Book a flight from New York to Tokyo"
    antiphon dev examples/flight_booking.py

Watch: the agent says at once that it is looking, answers the question meanwhile, and tells the confirmation number when
it is there, once. Try: ask for the same flight twice, and nothing is booked twice; "What are you working on?".
"""

import asyncio

from antiphon import Agent, AsyncRunContext, AsyncToolset, function_tool


@function_tool(effect="writes", identity=("origin", "destination"))
async def book_flight(ctx: AsyncRunContext, origin: str, destination: str) -> str:
    """Book a flight.

    Args:
        origin: The city to fly from
        destination: The city to fly to
    """
    await ctx.update(f"Looking for flights from {origin} to {destination}.")
    await asyncio.sleep(4.0)  # your search
    await ctx.update("Found three flights, choosing the best one.")
    await asyncio.sleep(4.0)  # your booking
    return f"The flight from {origin} to {destination} is booked. The confirmation number is FL-847293."


@function_tool(effect="reads")
async def get_baggage_allowance() -> str:
    """Tell the baggage allowance."""
    return "Two bags of 23 kilograms each."


agent = Agent(
    instructions="You book flights. Be brief.",
    tools=[AsyncToolset(id="booking", tools=[book_flight]), get_baggage_allowance],
)
