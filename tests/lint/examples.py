# ruff: noqa: E501  # examples are laid out to be compared
"""A bad and a mended example of each rule: what stands behind the same imports, in place of `TOOLS`."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """
import asyncio, json, subprocess, time, urllib.request, uuid
from enum import Enum
from typing import Annotated, Any, Literal, Optional, Union
from pydantic import Field
from antiphon import Agent, RunContext, ToolError, function_tool
class Backend:
    def __getattr__(self, name): raise AttributeError(name)
api = Backend()
"""


@dataclass(frozen=True, slots=True)
class Example:
    """One rule: a file in which it finds something, and the same file, mended."""

    bad: str
    good: str
    tool: str = "t"
    """Of which it is found; "": of the agent."""
    providers: tuple[str, ...] = ()


def tool(body: str, *, head: str = "", decorator: str = 'effect="reads"') -> str:
    """One tool `t` of an agent, as a file."""
    return f"{HEAD}{head}\n@function_tool({decorator})\n{body}\nagent = Agent(instructions='Help.', tools=[t])\n"


def tools(*names: str, texts: tuple[str, ...] = (), instructions: str = "Help.") -> str:
    """An agent with tools of these names, with descriptions of their own."""
    parts = [HEAD]
    for number, name in enumerate(names):
        text = (
            texts[number]
            if number < len(texts)
            else f"Gives the {name.replace('_', ' ')} of a caller, number {number}."
        )
        parts.append(f"@function_tool(effect='reads')\nasync def {name}(query: str) -> str:\n    '''{text}\n\n"
                     "    Args:\n        query: What is looked for.\n    '''\n    return query\n")  # fmt: skip
    return "\n".join([*parts, f"agent = Agent(instructions={instructions!r}, tools=[{', '.join(names)}])", ""])


def returning(value: str, *, before: str = "") -> str:
    """A tool that returns an expression."""
    start = f"    {before}\n" if before else ""
    return tool(f"async def t(name: str):\n    '''Find the booking of a name.'''\n{start}    return {value}")


def documented(parameter: str, text: str = "") -> str:
    """A tool with one parameter, and what is said of it."""
    name = parameter.partition(":")[0]
    said = f"\n\n    Args:\n        {name}: {text}\n    " if text else ""
    return tool(f"async def t({parameter}) -> str:\n    '''Check the open tables.{said}'''\n    return 'Two.'")


def raw(description: str, **schema: object) -> str:
    """A tool with a schema of its own, with one parameter."""
    parameters = {"type": "object", "properties": {"x": {"type": "string", "description": description, **schema}}}
    told = {"name": "t", "description": "Check the open tables.", "parameters": parameters}
    body = "async def t(raw_arguments: dict[str, object]) -> str:\n    return 'Two.'"
    return tool(body, decorator=f"raw_schema={told!r}, effect='reads'")


def writing(name: str, decorator: str, parameters: str = "day: str", body: str = "") -> str:
    """A tool that calls a backend."""
    inner = body or f"await api.{name}(day)"
    return (
        f"{HEAD}\n@function_tool({decorator})\nasync def {name}({parameters}) -> str:\n"
        f"    '''Do it for a day, with a note.'''\n    {inner}\n    return 'Done.'\n"
        f"agent = Agent(instructions='Help.', tools=[{name}])\n"
    )


_SLOT = "[{'time': slot.start, 'id': slot.id} for slot in await api.slots()]"
_TEN = tuple(f"{noun}_lookup" for noun in "menu table wine cook guest bill taxi coat dog band".split())
_FOR_OPENAI = ("openai",)

EXAMPLES: dict[str, list[Example]] = {
    "unusable-tool": [
        Example(
            f"{HEAD}\nclass Desk(Agent):\n    def __init__(self, place: str) -> None:\n"
            "        super().__init__(instructions='Help.')\n"
            "    @function_tool\n    async def t(self, day: \"Missing\") -> str:\n        '''Look at a day.'''\n"
            "    @function_tool\n    async def u(self, day: str) -> str:\n        '''Look at a day.'''\n"
            "agent = Agent(instructions='Help.')\n",
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''"),
        )
    ],
    "schema-refused": [
        Example(
            documented("sizes: tuple[int, int]", "Sizes in metres"),
            documented("sizes: list[int]", "Sizes in metres"),
            providers=_FOR_OPENAI,
        ),
        Example(
            documented("size: Literal[1, 2]", "1 or 2"),
            documented("size: Literal['1', '2']", "1 or 2"),
            providers=("gemini",),
        ),
        Example(
            documented("extras: dict[str, str]", "By name"),
            documented("extras: list[str]", "Their names"),
            providers=("gemini",),
        ),
        Example(
            tool(
                "async def t(raw_arguments: dict[str, object]) -> str:\n    return ''",
                decorator="raw_schema={'name': 't', 'description': 'Find a room.', 'parameters': {'type': 'object',"
                " 'properties': {'room size': {'type': 'integer', 'description': 'The size'}}}}, effect='reads'",
            ),
            documented("room_size: int", "The size"),
            providers=("anthropic",),
        ),
    ],
    "reads-that-write": [
        Example(writing("cancel_booking", 'effect="reads"'), writing("cancel_booking", 'effect="writes", timeout=5'), "cancel_booking"),
        Example(
            writing("note_wish", 'effect="reads"', body="await api.post('https://x.test/wishes', json={})"),
            writing("note_wish", 'effect="reads"', body="await api.get('https://x.test/wishes')"),
            "note_wish",
        ),
    ],
    "blocking-call": [
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    time.sleep(1)\n    return ''"),
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    await asyncio.sleep(1)\n    return ''"),
        ),
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    from time import sleep as nap\n    nap(1)"),
            tool("def t(day: str) -> str:\n    '''Look at a day.'''\n    time.sleep(1)"),
        ),
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    with urllib.request.urlopen(day) as a:\n        return str(a)"),
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    return str(await asyncio.to_thread(urllib.request.urlopen, day))"),
        ),
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    return words(day)",
                 head="def words(day):\n    return deeper(day)\ndef deeper(day):\n    return subprocess.run(['cal', day]).args"),
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    return await asyncio.to_thread(words, day)",
                 head="def words(day):\n    return subprocess.run(['cal', day]).args"),
        ),
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    import requests\n    s = requests.Session()\n    return s.get(day).text"),
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    def later():\n        time.sleep(1)\n    return day"),
        ),
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    return open(day).read()"),
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    return await api.open(day)"),
        ),
        Example(
            f"{HEAD}\nclass Desk(Agent):\n    def __init__(self):\n        super().__init__(instructions='Help.')\n"
            "    async def on_enter(self):\n        time.sleep(1)\n",
            f"{HEAD}\nclass Desk(Agent):\n    def __init__(self):\n        super().__init__(instructions='Help.')\n"
            "    async def on_enter(self):\n        await asyncio.sleep(1)\n",
            "",
        ),
    ],
    "absent-tool": [
        Example(
            tools("find_table", instructions="To book, call book_table."),
            tools("find_table", "book_table", instructions="To book, call book_table."),
            "",
        ),
        Example(
            tools("find_table", instructions="Then find_tabel gives a party_size."),
            tools("find_table", instructions="Then find_table gives a party_size."),
            "",
        ),
        Example(
            tools("find_table", texts=("Find a table. Don't call it before check_day().",)),
            tools("find_table", texts=("Find a table. Don't call it before the day is known.",)),
            "find_table",
        ),
    ],
    "write-without-effect": [
        Example(writing("book_table", ""), writing("book_table", 'effect="writes", timeout=5'), "book_table"),
        Example(
            writing("orders_table_cancel", ""),
            writing("transfer_to_kitchen", "", body="return Agent(instructions='Cook.')"),
            "orders_table_cancel",
        ),
    ],
    "write-without-identity": [
        Example(
            writing("book_table", 'effect="writes", timeout=5', "day: str, note: str"),
            writing("book_table", 'effect="writes", timeout=5, identity=("day",)', "day: str, note: str"),
            "book_table",
        )
    ],
    "write-without-limit": [
        Example(writing("book_table", 'effect="writes"'), writing("book_table", 'effect="writes", timeout=5'), "book_table"),
        Example(
            writing("book_table", 'effect="writes"'),
            writing("book_table", 'effect="writes"', body="await asyncio.wait_for(api.book(day), 5)"),
            "book_table",
        ),
    ],
    "grave-without-consent": [
        Example(
            writing("refund_order", 'effect="writes", timeout=5'),
            writing("refund_order", 'effect="irreversible", timeout=5'),
            "refund_order",
        ),
        Example(
            writing("delete_account", 'effect="writes", timeout=5'),
            writing("delete_account", 'effect="writes", timeout=5', "day: str, read_back: bool",
                    "if not read_back: return 'Ask first.'\n    await api.delete(day)"),
            "delete_account",
        ),
    ],
    "no-description": [
        Example(tool("async def t(day: str) -> str:\n    return day"), documented("day: str", "The day")),
    ],
    "vague-description": [
        Example(tool("async def t(day: str) -> str:\n    '''Gets data.'''"), documented("day: str", "The day")),
        Example(tool("async def t(day: str) -> str:\n    '''Run this tool.'''"), documented("day: str", "The day")),
    ],
    "undocumented-parameter": [
        Example(documented("value: int"), documented("value: int", "The floor")),
        Example(documented("floor: int"), documented("tables: int")),
    ],
    "undocumented-format": [
        Example(documented("date: str", "The day"), documented("date: str", "The day, as YYYY-MM-DD")),
        Example(documented("start_time: str", "When"), documented("start_time: str", 'When (e.g., "9:00 AM")')),
        Example(documented("currency: str", "Of the bill"), documented("currency: str", "Of the bill, such as EUR")),
    ],
    # Of a type that Python has, the framework itself puts the values into words.
    "values-only-in-type": [
        Example(raw("Which meal", enum=["lunch", "dinner"]), raw("Which meal: lunch or dinner", enum=["lunch", "dinner"])),
        Example(raw("Which hall", enum=["big_hall"]), raw("Which hall: the big hall", enum=["big_hall"])),
        Example(
            documented("guests: Annotated[int, Field(ge=1, le=12)]", "How many"),
            documented("guests: Annotated[int, Field(ge=1, le=12)]", "How many, between 1 and 12"),
        ),
        Example(raw("Which meal", enum=["lunch"]), documented("meal: Literal['lunch', 'dinner']", "The meal")),
    ],
    "raw-payload": [
        Example(returning(_SLOT), returning("f'3 slots, at {await api.first()} and later'")),
        Example(returning("json.dumps(found)", before="found = await api.find(name)"), returning("'Two slots.'")),
        Example(returning("await answer.json()", before="answer = await api.get(name)"), returning("{'weather': 'sunny', 'degrees': 21}")),
        Example(returning("booking.model_dump()", before="booking = await api.find(name)"), returning("booking.summary", before="booking = await api.find(name)")),
        Example(returning("data", before="data = (await api.get(name)).json()"), returning("data", before="data = await api.words(name)")),
    ],
    "opaque-id": [
        Example(returning("str(uuid.uuid4())"), returning("f'Reservation #{(await api.find(name)).id} on Friday'")),
        Example(returning("booking.id", before="booking = await api.find(name)"), returning("booking.code", before="booking = await api.find(name)")),
        Example(returning("{'id': booking.key, 'day': 'Friday'}", before="booking = await api.find(name)"), returning("{'day': 'Friday'}")),
        Example(returning("f'Booked: {uuid.uuid4()}'"), returning("f'Booked for {name}'")),
    ],
    "untold-error": [
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    raise ValueError('no such day')"),
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    raise ToolError('There is no such day. Ask again.')"),
        )
    ],
    "bare-error": [
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    raise ToolError('Failed')"),
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    raise ToolError('There is no such day. Ask again.')"),
        ),
        Example(
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    try:\n        await api.x()\n    except OSError as e:\n        raise ToolError(str(e)) from e"),
            tool("async def t(day: str) -> str:\n    '''Look at a day.'''\n    text = 'There is no such day. Ask again.'\n    raise ToolError(text)"),
        ),
    ],
    "too-many-tools": [Example(tools(*_TEN, "spoon_lookup"), tools(*_TEN), "")],
    "unfiltered-server": [
        Example(
            f"{HEAD}\nfrom antiphon import MCPServerHTTP, MCPToolset\nagent = Agent(instructions='Help.',"
            " tools=[MCPToolset(id='crm', mcp_server=MCPServerHTTP('https://x.test/mcp'))])\n",
            f"{HEAD}\nfrom antiphon import MCPServerHTTP, MCPToolset\nagent = Agent(instructions='Help.',"
            " tools=[MCPToolset(id='crm', mcp_server=MCPServerHTTP('https://x.test/mcp'), allowed_tools=['find'])])\n",
            "",
        )
    ],
    "similar-names": [
        Example(
            tools("search_customer_by_name", "search_customer_by_id"), tools("search_customer"), "search_customer_by_id"
        ),
        Example(tools("get_order", "get_orders"), tools("get_order", "create_order"), "get_orders"),
        Example(tools("fetch_user", "lookup_user"), tools("count_invoices", "count_customers"), "lookup_user"),
        Example(tools("user_profile_find", "find_user_profile"), tools("linear_search", "asana_search"), "find_user_profile"),
    ],
    "similar-descriptions": [
        Example(
            tools("guest_rooms", "hotel_desk", texts=("Find a free room for the guest.", "Find the guest a free room.")),
            tools("guest_rooms", "hotel_desk", texts=("Find a free room for the guest.", "Ring the desk of the hotel.")),
            "hotel_desk",
        )
    ],
    "no-boundary": [
        Example(
            tools("get_invoice", "get_invoice_details", texts=("Gives an invoice.", "Gives more of one bill.")),
            tools("get_invoice", "get_invoice_details", texts=("Gives an invoice.", "Use this when lines are asked for.")),
            "get_invoice_details",
        )
    ],
    "endpoint-not-action": [
        Example(
            tool("async def list_contacts() -> str:\n    '''Names of all contacts.'''").replace("[t]", "[list_contacts]"),
            tools("search_contact"),
            "list_contacts",
        ),
        Example(
            tool("async def t(method: str, path: str) -> str:\n    '''Asks by a method and a path.'''"),
            documented("day: str", "The day"),
        ),
        Example(tools("get_all_bookings"), tools("get_booking"), "get_all_bookings"),
        Example(tools("crm_api_contact"), tools("contact_mail"), "crm_api_contact"),
    ],
    "no-when": [
        Example(
            tools(*_TEN[:6]),
            tools(*_TEN[:6], texts=tuple(f"Gives the {name[:4]}. Call this when it is asked for." for name in _TEN[:6])),
            "menu_lookup",
        )
    ],
    "dear-prompt": [
        Example(tools("find_table", instructions="Be kind. " * 2_000), tools("find_table"), ""),
    ],
}  # fmt: skip
