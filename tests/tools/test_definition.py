"""Which callables become tools, what is refused, and how methods are bound."""

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, assert_type, cast

import pytest

from antiphon.errors import ToolDefinitionError, UsageError
from antiphon.tools.function import (
    CallContext,
    FunctionTool,
    RawFunctionTool,
    ToolError,
    ToolFlag,
    ToolResult,
    find_function_tools,
    function_tool,
    is_function_tool,
    is_raw_function_tool,
)

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]

T = TypeVar("T")


class Context(CallContext, Generic[T]):
    def __init__(self, label: str = "ctx") -> None:
        self.label = label


class BackgroundContext(Context[T]):
    pass


def call(tool: Any, arguments: object = "{}", ctx: CallContext | None = None) -> Any:
    return asyncio.run(tool.call(tool.prepare(arguments).kwargs, ctx))


class Desk:
    def __init__(self, name: str) -> None:
        self.name = name

    @function_tool
    async def greet(self, guest: str) -> str:
        """Greets."""
        return f"{self.name} greets {guest}"

    @function_tool()
    def close(self, context: Context[int]) -> str:
        return f"{self.name} closed by {context.label}"


def test_the_decorator_works_with_and_without_parentheses() -> None:
    assert is_function_tool(Desk.greet)
    assert is_function_tool(Desk.close)
    assert [Desk.greet.id, Desk.close.id] == ["greet", "close"]


def test_the_type_of_a_tool_keeps_its_result() -> None:
    assert_type(Desk("Ann").greet, FunctionTool[Coroutine[Any, Any, str]])
    assert_type(Desk("Ann").close, FunctionTool[str])


def test_a_tool_is_still_the_function_it_was() -> None:
    @function_tool
    async def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    assert add.__name__ == "add"
    assert add.__doc__ == "Adds."
    assert list(inspect.signature(add).parameters) == ["a", "b"]
    assert asyncio.run(add(1, 2)) == 3


def test_a_bound_tool_has_no_self() -> None:
    desk = Desk("Ann")
    assert list(inspect.signature(desk.greet).parameters) == ["guest"]
    assert list(desk.greet.spec.parameters["properties"]) == ["guest"]
    assert call(desk.greet, {"guest": "Bo"}) == "Ann greets Bo"


def test_tools_bound_to_one_object_are_equal_and_share_their_spec() -> None:
    desk, other = Desk("Ann"), Desk("Cy")
    assert desk.greet == desk.greet
    assert hash(desk.greet) == hash(desk.greet)
    assert desk.greet != other.greet
    assert desk.greet.spec is other.greet.spec


def test_an_unbound_method_tool_refuses_to_run_until_bound() -> None:
    assert Desk.greet.needs_owner
    with pytest.raises(UsageError, match="tool 'greet' is a method and has no object"):
        call(Desk.greet, {"guest": "Bo"})
    assert call(Desk.greet.bind(Desk("Di")), {"guest": "Bo"}) == "Di greets Bo"


def test_self_at_module_level_is_never_an_argument() -> None:
    @function_tool
    async def place_order(self, context: Context[int], item: str) -> str:  # type: ignore[no-untyped-def]
        return item

    assert list(place_order.spec.parameters["properties"]) == ["item"]


def test_the_context_is_injected_wherever_it_stands() -> None:
    @function_tool
    async def first(anything: Context[dict[str, str]], x: int) -> str:
        return anything.label

    @function_tool
    async def last(x: int, run_ctx: BackgroundContext[int]) -> str:
        return run_ctx.label

    @function_tool
    async def maybe(x: int, ctx: Context[int] | None = None) -> str:
        return ctx.label if ctx else "none"

    ctx = BackgroundContext[int]("here")
    for tool in (first, last, maybe):
        assert list(tool.spec.parameters["properties"]) == ["x"]
        assert call(tool, {"x": 1}, ctx) == "here"
    assert call(maybe, {"x": 1}) == "none"
    assert (first.wants_context, last.wants_context) == (Context, BackgroundContext)


def test_a_context_of_the_wrong_kind_is_the_callers_error() -> None:
    @function_tool
    async def slow(ctx: BackgroundContext[int]) -> None: ...

    with pytest.raises(UsageError, match="'ctx' expects a BackgroundContext, got Context"):
        call(slow, {}, Context[int]())


def test_a_context_that_exists_for_type_checkers_only_is_recognised() -> None:
    @function_tool
    async def lookup(ctx: "Context[Missing]", x: int) -> str:
        return ctx.label

    assert call(lookup, {"x": 1}, Context[int]("typed")) == "typed"


def test_sync_functions_run_in_a_thread_with_the_context_variables_of_the_caller() -> None:
    import contextvars
    import threading

    here: contextvars.ContextVar[str] = contextvars.ContextVar("here")
    threads: list[int] = []

    @function_tool
    def where(x: int) -> str:
        threads.append(threading.get_ident())
        return here.get()

    here.set("caller")
    assert call(where, {"x": 1}) == "caller"
    assert threads != [threading.get_ident()]


def test_sync_functions_that_hang_keep_no_other_waiting() -> None:
    released = threading.Event()

    @function_tool
    def hang() -> None:
        released.wait(10.0)

    @function_tool
    def quick() -> str:
        return "quick"

    async def main() -> str:
        hanging = [asyncio.create_task(hang.call({})) for _ in range(40)]
        await asyncio.sleep(0)
        try:
            return cast("str", await asyncio.wait_for(quick.call({}), 5.0))
        finally:
            for task in hanging:
                task.cancel()
            await asyncio.wait(hanging)
            released.set()

    assert asyncio.run(main()) == "quick"


def test_wrappers_of_either_colour_run_and_keep_the_signature_of_what_they_wrap() -> None:
    async def inner(x: int) -> int:
        return x

    @functools.wraps(inner)
    def logged(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    @functools.wraps(inner)
    def blocking(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(inner(*args, **kwargs))

    assert [call(function_tool(f), {"x": 3}) for f in (logged, blocking)] == [3, 3]


def test_a_sync_function_that_raises_stop_iteration_ends() -> None:
    @function_tool
    def first() -> int:
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        call(first)


class Counter:
    """Counts."""

    async def __call__(self, step: int = 1) -> int:
        return step


def _make(field: str) -> Callable[..., Any]:
    async def set_value(context: Context[int], value: str) -> str:
        return f"field {field} was set to {value}"

    return set_value


def _plain(table: str, record: int, *, fast: bool = False) -> str:
    """Reads a record."""
    return f"{table}:{record}:{fast}"


@pytest.mark.parametrize(
    ("function", "name", "arguments", "result"),
    [
        (_make("phone"), "set_value", {"value": "555"}, "field phone was set to 555"),
        (Desk("Ed").greet.__wrapped__, "greet", {"guest": "Flo"}, "Ed greets Flo"),
        (functools.partial(_plain, "users"), "_plain", {"record": 7}, "users:7:False"),
        (functools.partial(_plain, table="users"), "_plain", {"record": 7, "fast": True}, "users:7:True"),
        (Counter(), "Counter", {}, 1),
    ],
    ids=["closure", "bound method", "partial", "partial by keyword", "callable object"],
)
def test_any_callable_can_be_made_a_tool(function: Any, name: str, arguments: Any, result: Any) -> None:
    tool = function_tool(function)
    assert tool.name == name
    assert call(tool, arguments, Context[int]()) == result


def test_what_a_partial_has_decided_is_hidden_from_the_model() -> None:
    tool = function_tool(functools.partial(_plain, table="users"))
    assert list(tool.spec.parameters["properties"]) == ["record", "fast"]


def test_positional_only_parameters_are_passed_by_position() -> None:
    @function_tool
    async def power(base: int, exponent: int = 2, /) -> int:
        return int(base**exponent)

    assert call(power, {"base": 3}) == 9
    assert call(power, {"base": 3, "exponent": 3}) == 27

    @function_tool
    async def both(a: int = 1, b: int = 2, /) -> tuple[int, int]:
        return a, b

    assert call(both, {"b": 5}) == (1, 5)


def test_static_and_class_methods_can_be_tools() -> None:
    class Clock:
        zone = "UTC"

        @staticmethod
        @function_tool
        def tick(x: int) -> int:
            return x

        @function_tool
        @staticmethod
        def tock(x: int) -> int:
            return x

        @function_tool
        @classmethod
        def where(cls, x: int) -> str:
            return f"{cls.zone}{x}"

    clock = Clock()
    assert [tool.id for tool in find_function_tools(clock)] == ["tick", "tock", "where"]
    assert [call(tool, {"x": 1}) for tool in find_function_tools(clock)] == [1, 1, "UTC1"]


def test_name_and_description_can_be_given() -> None:
    tool = function_tool(_make("phone"), name="set_phone", description="Sets the phone.")
    assert (tool.id, tool.name, tool.description) == ("set_phone", "set_phone", "Sets the phone.")
    assert (tool.info.name, tool.info.description, tool.info.flags) == ("set_phone", "Sets the phone.", ToolFlag.NONE)


class TestDiscovery:
    def test_methods_are_found_in_order_of_definition_base_classes_first(self) -> None:
        class Base:
            @function_tool
            async def one(self) -> None: ...

            @function_tool
            async def two(self) -> None: ...

        class Derived(Base):
            @function_tool
            async def zero(self) -> None: ...

            @function_tool
            async def one(self) -> None:
                """Overridden."""

            two = None  # type: ignore[assignment]  # taken away

        derived = Derived()
        assert [tool.id for tool in find_function_tools(derived)] == ["one", "zero"]
        assert find_function_tools(derived)[0].description == "Overridden."
        assert find_function_tools(derived) == [derived.one, derived.zero]
        assert find_function_tools(Derived) == [Derived.one, Derived.zero]

    def test_no_property_runs(self) -> None:
        class Careful:
            @property
            def session(self) -> object:
                raise RuntimeError("not running")

        assert find_function_tools(Careful()) == []


class TestRefusals:
    @pytest.mark.parametrize(
        "options",
        [{"colour": 1}, {"effect": "maybe"}, {"timeout": 0}, {"on_duplicate": "ask"}, {"max_result_chars": 0}],
    )
    def test_options_that_cannot_be_right_are_type_errors(self, options: dict[str, Any]) -> None:
        with pytest.raises(TypeError, match=next(iter(options))):
            function_tool(**options)

    @pytest.mark.parametrize("name", ["book a table", "größe", "a" * 65])
    def test_a_name_that_endpoints_refuse_is_an_error_here(self, name: str) -> None:
        with pytest.raises(ToolDefinitionError, match="up to 64 letters"):
            function_tool(lambda: None, name=name)

    def test_a_lambda_needs_a_name(self) -> None:
        with pytest.raises(ToolDefinitionError, match="needs a name"):
            function_tool(lambda: None)

    def test_a_tool_is_not_decorated_twice(self) -> None:
        with pytest.raises(ToolDefinitionError, match="'greet' is a tool already"):
            function_tool(Desk.greet)

    def test_a_parameter_without_annotation_is_named_when_the_tool_is_checked(self) -> None:
        @function_tool
        async def book(date) -> None: ...  # type: ignore[no-untyped-def]

        with pytest.raises(ToolDefinitionError, match="tool 'book': parameter 'date' has no type annotation"):
            book.check()

    def test_star_arguments_are_named_when_the_tool_is_checked(self) -> None:
        @function_tool
        async def book(*guests: str) -> None: ...

        with pytest.raises(ToolDefinitionError, match=r"tool 'book': `\*guests` cannot be described"):
            book.check()

    def test_a_method_without_an_object_is_refused_when_the_tool_is_checked(self) -> None:
        with pytest.raises(ToolDefinitionError, match="tool 'greet' is a method and has no object"):
            Desk.greet.check()
        Desk.greet.bind(Desk("Di")).check()

    def test_an_annotation_without_a_schema_is_named_when_the_tool_is_checked(self) -> None:
        @function_tool
        async def book(day: int, desk: Desk) -> None: ...

        with pytest.raises(ToolDefinitionError, match=r"tool 'book': parameter 'desk' .* has no JSON schema"):
            book.check()


def test_forward_references_are_tried_again() -> None:
    @function_tool
    async def seat(table: "LaterTable") -> None: ...  # type: ignore[name-defined]  # noqa: F821 - defined below

    with pytest.raises(ToolDefinitionError, match=r"tool 'seat': parameter 'table'.*LaterTable"):
        seat.check()
    globals()["LaterTable"] = int
    try:
        seat.check()
        assert seat.spec.parameters["properties"] == {"table": {"type": "integer"}}
    finally:
        del globals()["LaterTable"]


def test_annotations_may_name_what_only_the_defining_function_knows() -> None:
    from dataclasses import dataclass

    @dataclass
    class Table:
        seats: int

    class Floor:
        @function_tool
        async def seat(self, table: "Table", spare: "list[Table]") -> int:
            return table.seats + len(spare)

    assert call(Floor().seat, {"table": {"seats": 4}, "spare": [{"seats": 1}]}) == 5


WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": "Get weather for a given location.",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
        "required": ["location"],
        "additionalProperties": False,
    },
}


class TestRawSchema:
    def test_the_schema_gives_name_description_and_parameters(self) -> None:
        @function_tool(raw_schema=WEATHER)
        async def handler(raw_arguments: dict[str, object], context: Context[int]) -> str:
            return f"{raw_arguments['location']} {context.label}"

        assert is_raw_function_tool(handler)
        assert (handler.id, handler.description) == ("get_weather", "Get weather for a given location.")
        assert handler.spec.parameters == WEATHER["parameters"]
        assert handler.info.raw_schema == WEATHER
        assert handler.strict_spec is None
        assert call(handler, {"location": "Oslo"}, Context[int]("c")) == "Oslo c"

    def test_name_and_description_override_the_schema(self) -> None:
        async def handler(raw_arguments: dict[str, object]) -> None: ...

        tool = function_tool(handler, raw_schema=WEATHER, name="other", description="Other.")
        assert (tool.name, tool.description) == ("other", "Other.")

    def test_a_handler_may_take_nothing(self) -> None:
        @function_tool(raw_schema={"name": "ping", "parameters": {"type": "object"}})
        async def ping() -> str:
            return "pong"

        assert call(ping) == "pong"

    def test_an_unannotated_raw_arguments_is_fine(self) -> None:
        @function_tool(raw_schema={"name": "echo", "parameters": {"type": "object"}})
        async def echo(raw_arguments):  # type: ignore[no-untyped-def]
            return raw_arguments

        assert call(echo, {"x": 1}) == {"x": 1}

    @pytest.mark.parametrize(
        ("schema", "complaint"),
        [
            ({"name": "f"}, 'needs "parameters"'),
            ({"name": "f", "parameters": {"type": "array"}}, "must describe an object"),
            ({"name": "", "parameters": {"type": "object"}}, "empty name"),
            ({"type": "function", "function": {"name": "f", "parameters": {}}}, r'raw_schema=schema\["function"\]'),
            ("f", "raw_schema: expected .* got 'f'"),
        ],
    )
    def test_a_schema_that_cannot_be_offered_is_refused_at_definition(
        self, schema: dict[str, Any], complaint: str
    ) -> None:
        with pytest.raises(ToolDefinitionError, match=complaint):
            function_tool(raw_schema=schema)

    def test_other_parameters_cannot_be_filled(self) -> None:
        @function_tool(raw_schema=WEATHER)
        async def handler(location: str) -> None: ...

        with pytest.raises(ToolDefinitionError, match="'location' cannot be filled"):
            handler.check()

    def test_arguments_are_checked_against_the_schema(self) -> None:
        @function_tool(raw_schema=WEATHER)
        async def handler(raw_arguments: dict[str, object]) -> None: ...

        assert handler.prepare('{"location": "Oslo", "days": null, "mood": "x"}').kwargs == {
            "raw_arguments": {"location": "Oslo"}
        }
        with pytest.raises(ToolError) as caught:
            handler.prepare('{"days": 0}')
        assert caught.value.message == (
            "Error parsing arguments for `get_weather`: `location` is missing, expected a string; "
            "`days`: expected at least 1, got 0. Correct the arguments and call again."
        )

    def test_a_schema_that_cannot_be_followed_leaves_the_tool_callable(self) -> None:
        schema = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"$ref": "http://unreachable/x"}}}}

        @function_tool(raw_schema=schema)
        async def handler(raw_arguments: dict[str, object]) -> None: ...

        assert handler.prepare({"x": 1}).kwargs == {"raw_arguments": {"x": 1}}


class TestStandIns:
    def test_a_stand_in_runs_in_place_of_the_function_under_the_same_checks(self) -> None:
        desk = Desk("Ann")
        tool = desk.greet.with_function(lambda guest: f"mocked {guest}")
        assert tool.is_stand_in
        assert tool.spec is desk.greet.spec
        assert call(tool, {"guest": "Bo"}) == "mocked Bo"
        with pytest.raises(ToolError):
            tool.prepare("{}")

    def test_a_stand_in_may_declare_a_part_of_the_parameters(self) -> None:
        @function_tool
        async def book(ctx: Context[int], day: str, guests: int) -> str:
            return "real"

        arguments = {"day": "Monday", "guests": 2}
        ctx = Context[int]("c")
        assert call(book.with_function(lambda: "none"), arguments, ctx) == "none"
        assert call(book.with_function(lambda guests: guests), arguments, ctx) == 2
        assert call(book.with_function(lambda ctx, day: (ctx.label, day)), arguments, ctx) == ("c", "Monday")

        async def typed(day: str, whatever: Context[int]) -> str:
            return f"{whatever.label} {day}"

        assert call(book.with_function(typed), arguments, ctx) == "c Monday"

    def test_an_exception_that_a_stand_in_returns_counts_as_raised(self) -> None:
        with pytest.raises(ToolError, match="full"):
            call(Desk("Ann").greet.with_function(lambda: ToolError("full")), {"guest": "Bo"})


def test_a_renamed_tool_shares_everything_but_its_name() -> None:
    desk = Desk("Ann")
    tool = desk.greet.with_options(name="welcome", on_duplicate="confirm")
    assert (tool.name, tool.description, tool.on_duplicate) == ("welcome", "Greets.", "confirm")
    assert desk.greet.on_duplicate == "allow"
    assert call(tool, {"guest": "Bo"}) == "Ann greets Bo"
    with pytest.raises(ToolError, match="arguments for `welcome`"):
        tool.prepare("{}")


def test_a_result_may_ask_for_no_reply() -> None:
    assert ToolResult("x") == ToolResult(output="x", reply_required=True)
    assert not ToolResult("x", reply_required=False).reply_required


def test_the_types_of_tools_are_distinct() -> None:
    raw = function_tool(Counter(), raw_schema={"name": "f", "parameters": {"type": "object"}})
    assert (type(Desk.greet), type(raw)) == (FunctionTool, RawFunctionTool)
    assert not is_raw_function_tool(Desk.greet)
    assert not is_function_tool(raw)


def test_the_reservation_agents_tools_are_described_as_written() -> None:
    class ReservationAgent:
        @function_tool
        async def check_availability(self, date: str, party_size: int, meal: Literal["lunch", "dinner"]) -> str:
            """Check open reservation slots for a given date and meal.

            Call this when the user asks about availability. Don't call it
            until you have the date, party size, and meal (must be "lunch"
            or "dinner").

            Args:
                date: Reservation date in YYYY-MM-DD format.
                party_size: Number of guests, between 1 and 12.
                meal: Either "lunch" or "dinner".

            Returns:
                A speech-ready summary of available times.
            """
            return f"{date} {party_size} {meal}"

        @function_tool
        async def book_reservation(self, run_ctx: Context[int], date: str, time: str, read_back: bool) -> str:
            """Book a reservation. Only call after reading the details back to the user.

            Args:
                read_back: Set to True only after you have read the date, time,
                    and party size back to the user and they have confirmed.
            """
            return "Booked." if read_back else "Read back first."

    check, book = find_function_tools(ReservationAgent())
    assert check.description.endswith(
        '(must be "lunch"\nor "dinner").\n\nReturns: A speech-ready summary of available times.'
    )
    assert check.spec.parameters["properties"]["meal"] == {
        "type": "string",
        "enum": ["lunch", "dinner"],
        "description": 'Either "lunch" or "dinner".',
    }
    assert book.spec.parameters["required"] == ["date", "time", "read_back"]
    assert book.spec.parameters["properties"]["read_back"]["description"].endswith("and they have confirmed.")
