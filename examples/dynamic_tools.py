"""Tools that are made while the program runs: one for each field of a profile, one from a schema, some after a check.

    antiphon call examples/dynamic_tools.py --say "My email is ann@example.com" "Set my phone number to 555 0100" "When is my delivery?" "Cancel my delivery" "yes"
    antiphon dev examples/dynamic_tools.py

Watch: before the e-mail address is known the agent has one tool; after it four, in the same turn. Try: ask for the
delivery first.
"""

from typing import Any

from antiphon import Agent, FunctionTool, RunContext, function_tool

PROFILE: dict[str, str] = {}


def set_field(field: str) -> FunctionTool:
    """A tool for one field: a model that has a tool for each picks the right one more often."""

    async def set_value(context: RunContext, value: str) -> str:
        PROFILE[field] = value
        return f"The {field} is set to {value}."

    name, description = f"set_{field.replace(' ', '_')}", f"Set the {field} of the caller, when they have said it."
    return function_tool(set_value, name=name, description=description, effect="writes")


@function_tool(
    effect="reads",
    raw_schema={
        "name": "get_delivery",
        "description": "Tell when the delivery comes.",
        "parameters": {"type": "object", "properties": {}, "required": []},
    },
)
async def get_delivery(raw_arguments: dict[str, Any]) -> str:
    return "The delivery comes tomorrow at ten."


@function_tool(effect="irreversible")
async def cancel_delivery(ctx: RunContext) -> str:
    """Cancel the delivery."""
    return "The delivery is cancelled."


class Desk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You help customers of a shop. Ask for their e-mail address first.")

    @function_tool(effect="reads")
    async def verify_customer(self, email: str) -> str:
        """Find the customer's account.

        Args:
            email: The e-mail address
        """
        if not email.endswith("@example.com"):
            return "No account has that address. Ask for another one."
        others = [tool for tool in self.tools if getattr(tool, "id", "") != "verify_customer"]
        await self.update_tools([*others, set_field("phone number"), get_delivery, cancel_delivery])
        await self.update_instructions(f"{self.instructions} The customer is verified as {email}.")
        return "The account is found. Ask what they would like to do."
