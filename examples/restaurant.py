"""A restaurant with three desks: a host, take-away, and the cashier. Each is an agent, and hands the call on.

    antiphon call examples/restaurant.py --say "I would like to order take-away" "Add two margherita" "Check out, please" "Pay by card" "yes"
    antiphon dev examples/restaurant.py

Watch: who speaks is named after each hand-off; what was ordered is in `userdata`, which all desks share. Try: at the
cashier's, "Back to the menu, please".
"""

from dataclasses import dataclass, field
from typing import Literal

from antiphon import Agent, AgentServer, AgentSession, RunContext, ToolError, function_tool

MENU = {"margherita": 9, "marinara": 8, "calzone": 11}


@dataclass
class Order:
    dishes: dict[str, int] = field(default_factory=dict)
    paid: str = ""

    @property
    def total(self) -> int:
        return sum(MENU[dish] * count for dish, count in self.dishes.items())


Context = RunContext[Order]


@function_tool(effect="reads")
async def tell_menu() -> str:
    """Tell what is on the menu."""
    return "We have margherita for 9 euros, marinara for 8 and calzone for 11."


class Host(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You greet the guests of a pizzeria.", tools=[tell_menu])

    async def on_enter(self) -> None:
        self.session.say("Pizzeria Antiphon, good evening. Would you like to order take-away?")

    @function_tool
    async def order_take_away(self) -> Agent:
        """Order take-away: connects the caller to the take-away desk."""
        return TakeAway()


class TakeAway(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You take orders.", tools=[tell_menu])  # the menu is known at both desks

    async def on_enter(self) -> None:
        self.session.say("The take-away desk. Which pizza, and how many?")

    @function_tool(effect="writes")
    async def add_dish(self, ctx: Context, dish: Literal["margherita", "marinara", "calzone"], count: int) -> str:
        """Add a dish to the order.

        Args:
            dish: The dish
            count: How many
        """
        ctx.userdata.dishes[dish] = ctx.userdata.dishes.get(dish, 0) + count
        return f"{count} {dish} added. That makes {ctx.userdata.total} euros so far."

    @function_tool
    async def check_out(self, ctx: Context) -> Agent:
        """Check out: connects the caller to the cashier."""
        if not ctx.userdata.dishes:
            raise ToolError("Nothing is ordered yet. Ask what they would like.")
        return Cashier()


class Cashier(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You take payments.")

    async def on_enter(self) -> None:
        self.session.say(f"The cashier. That is {self.session.userdata.total} euros. Card or cash?")

    @function_tool(effect="irreversible", confirm="I'll take the payment by {method}. Is that right?")
    async def pay(self, ctx: Context, method: Literal["card", "cash"]) -> str:
        """Pay the order.

        Args:
            method: How they pay
        """
        ctx.userdata.paid = method
        return f"{ctx.userdata.total} euros are paid. The food is ready in twenty minutes."

    @function_tool
    async def back_to_menu(self) -> Agent:
        """Go back to the menu, to change the order."""
        return TakeAway()


server = AgentServer()


@server.rtc_session
async def entrypoint(session: AgentSession[Order]) -> None:
    session.userdata = Order()
    await session.start(agent=Host(), room=session.room)
