"""What becomes of tools whose schemas a server wrote badly, or to harm."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, AgentSession, ErrorEvent
from antiphon.errors import ToolDefinitionError
from antiphon.testing import FakeLLM, Reply, run_virtual
from antiphon.tools.mcp import MCPServerHTTP, MCPToolset
from antiphon.tools.toolset import ToolContext

pytest.importorskip("mcp")

from mcp_types import Tool

TEXT = {"type": "string"}
EITHER = {"anyOf": [{"required": ["id"], "properties": {"id": TEXT}}, {"required": ["n"], "properties": {"n": TEXT}}]}


class Listed(MCPToolset):
    """A toolset whose server lists tools with these schemas."""

    def __init__(self, **schemas: dict[str, Any]) -> None:
        super().__init__(id="listed", mcp_server=MCPServerHTTP("http://127.0.0.1:9/mcp"))
        self._take([Tool(name=name, input_schema=schema) for name, schema in schemas.items()])

    async def setup(self, *, reload: bool = False) -> Listed:
        return self

    async def aclose(self) -> None:
        return


def test_alternatives_at_the_top_are_told_as_one_object() -> None:
    tool = ToolContext([Listed(find={"type": "object", **EITHER})]).function_tools["find"]
    assert tool.spec.parameters == {"type": "object", "properties": {"id": TEXT, "n": TEXT}}
    assert tool.description == "Give either `id`; or `n`."


def test_malformed_keywords_keep_a_tool() -> None:
    broken = {"type": "object", "properties": None, "required": None, "enum": 5}
    assert ToolContext([Listed(broken=broken)]).function_tools["broken"].prepare("{}").kwargs == {"raw_arguments": {}}


@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: it.prefixed("my_")])
def test_a_tool_that_no_model_can_be_told_of_is_left_out_with_one_event(wrap: Any) -> None:
    async def main() -> None:
        errors: list[ErrorEvent] = []
        llm = FakeLLM([Reply("One."), Reply("Two.")])
        session: AgentSession[Any] = AgentSession(llm=llm)
        session.on("error", errors.append)
        toolset = wrap(Listed(never={"not": {"required": ["a"]}}, find={"type": "object"}))
        await session.start(Agent(instructions="", tools=[toolset]))
        await session.run(user_input="Hello")
        await session.run(user_input="Hello")
        await session.aclose()
        assert [[tool.id.removeprefix("my_") for tool in request.tools] for request in llm.requests] == [["find"]] * 2
        (event,) = errors
        assert isinstance(event.error, ToolDefinitionError) and "'never'" in str(event.error)

    run_virtual(main(), timeout=60)
