"""What tools cost: defining one, the first schema, and the specs of 50 tools for each request.

Run: python benchmarks/tools_schema.py. The third figure is what a turn pays; it should stay under 0.05 ms.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from antiphon.tools.function import FunctionTool, function_tool
from antiphon.tools.toolset import ToolContext

TOOLS = 50
REQUESTS = 200


def make_function(number: int) -> Callable[..., object]:
    """A function of five typed parameters, with a docstring."""

    async def look_up(city: str, day: str, guests: int = 2, budget: float = 50.0, quiet: bool = False) -> str:
        """Look up a table.

        Args:
            city: Where.
            day: When, as YYYY-MM-DD.
            guests: How many.
            budget: At most, in euros.
            quiet: Away from the door.
        """
        return city

    look_up.__name__ = f"look_up_{number}"
    return look_up


def milliseconds(work: Callable[[], object]) -> float:
    """CPU time of `work`."""
    begun = time.process_time()
    work()
    return 1e3 * (time.process_time() - begun)


def main() -> None:
    """Measure and print."""
    functions = [make_function(number) for number in range(TOOLS)]
    tools: list[FunctionTool] = []
    define = milliseconds(lambda: tools.extend(function_tool(function) for function in functions))
    _ = function_tool(make_function(-1)).spec  # the imports are not the tools' cost
    first = milliseconds(lambda: ToolContext(tools).specs)
    held = ToolContext(tools)
    again = statistics.median(milliseconds(lambda: held.specs) for _ in range(REQUESTS))
    rebuilt = statistics.median(milliseconds(lambda: ToolContext(tools).specs) for _ in range(REQUESTS))
    text = '{"city": "Oslo", "day": "2025-03-31", "guests": 3}'
    prepare = milliseconds(lambda: [tools[0].prepare(text) for _ in range(1000)])
    print(f"define {TOOLS} tools              {define:8.3f} ms")
    print(f"first specs of {TOOLS} tools      {first:8.3f} ms")
    print(f"specs for each request         {again:8.4f} ms")
    print(f"  with a new ToolContext       {rebuilt:8.4f} ms")
    print(f"prepare one call               {prepare:8.4f} us")


if __name__ == "__main__":
    main()
