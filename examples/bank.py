"""A bank whose tools are those of an MCP server. A transfer is read back, and made after a yes.

    antiphon call examples/bank.py --say "What is my balance?" "Transfer 20 euros to Bob" "yes"
    antiphon call examples/bank.py --say "Transfer 20 euros to Bob" "No, stop"
    antiphon dev examples/bank.py

Needs: pip install 'antiphon[mcp]'. The same file is the server, when it is run by itself.
Watch: the server is a stranger, and what it claims about its tools is not believed; this file says that a transfer
cannot be taken back. Try: "yes, but fifty euros": that is no yes.
"""

import sys
from pathlib import Path
from typing import Annotated

from pydantic import Field

from antiphon import Agent, MCPServerStdio, MCPToolOptions, MCPToolset


class Teller(Agent):
    def __init__(self) -> None:
        bank = MCPToolset(
            id="bank",
            mcp_server=MCPServerStdio(sys.executable, [str(Path(__file__).resolve())]),
            allowed_tools=["get_balance", "transfer"],
            tool_options={
                "get_balance": MCPToolOptions(effect="reads"),
                "transfer": MCPToolOptions(
                    effect="irreversible", confirm="I'll transfer {amount} euros to {recipient}. Shall I?"
                ),
            },
        )
        super().__init__(instructions="You are a teller. Be brief.", tools=[bank])


def serve() -> None:
    """Stands for the bank's server, which you did not write."""
    from mcp.server.mcpserver import MCPServer

    server, balance = MCPServer("bank"), [100]

    @server.tool()
    async def get_balance() -> str:
        """Tell the balance of the account."""
        return f"The balance is {balance[0]} euros."

    @server.tool()
    async def transfer(
        amount: Annotated[int, Field(description="How many euros")],
        recipient: Annotated[str, Field(description="Who to send the money to")],
    ) -> str:
        """Transfer money to somebody."""
        balance[0] -= amount
        return f"{amount} euros were transferred to {recipient}."

    @server.tool()
    async def close_account() -> str:
        """Close the account."""  # not among the allowed tools: no model ever hears of it
        return "The account is closed."

    server.run("stdio")


if __name__ == "__main__":
    serve()
