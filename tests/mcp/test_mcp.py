"""MCP toolsets against real servers, started as processes: over HTTP on this machine, and over stdio.

Time is real here, since another process takes part; every wait has a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentSession, ToolError, ToolSearchToolset, Toolset, function_tool
from antiphon.chat import ImageContent
from antiphon.errors import ProviderConnectionError, UsageError
from antiphon.language import ENGLISH, GERMAN, Language
from antiphon.protocols import Elicited
from antiphon.testing import FakeLLM, Reply, transcript
from antiphon.tools.function import AnyFunctionTool, CallContext, ToolFlag
from antiphon.tools.policy import policy_of
from antiphon.tools.toolset import ToolContext
from tests.mcp.processes import Shop, shop

pytest.importorskip("mcp")

from antiphon.tools import mcp as mcp_tools
from antiphon.tools import mcp_call
from antiphon.tools.mcp import MCPServerHTTP, MCPServerStdio, MCPToolOptions, MCPToolset

LIMIT = 20.0
"""Seconds for a whole test; most take a tenth of one."""


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A server that no test harms."""
    with shop(tmp_path_factory.mktemp("mcp"), http=True) as running:
        yield running


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test, which must end in time and leave no task."""

    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await test
            # The loop itself closes generators that the SDK has left, in tasks of a moment; ours must be gone.
            await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})

    asyncio.run(limited())


def tools(toolset: MCPToolset) -> dict[str, AnyFunctionTool]:
    return ToolContext([toolset]).function_tools


async def call(toolset: MCPToolset, name: str, arguments: str = "{}", ctx: CallContext | None = None) -> Any:
    tool = tools(toolset)[name]
    return await tool.call(tool.prepare(arguments).kwargs, ctx)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does; `run` has the limit."""
    while not condition():  # noqa: ASYNC110  # another process sets no event
        await asyncio.sleep(0.01)


class Recording(CallContext):
    """A call under way that writes down what it is told."""

    def __init__(self, answer: Elicited | None = None, language: Language = ENGLISH) -> None:
        self.language = language
        self.idempotency_key = "4711"
        self.updates: list[str] = []
        self.asked: list[tuple[str, list[str]]] = []
        self._answer = answer

    async def update(self, message: Any, *, silent: bool = False) -> None:
        self.updates.append(message)

    async def elicit(self, message: str, schema: Any) -> Elicited:
        self.asked.append((message, list(schema["properties"])))
        if self._answer is None:
            await asyncio.Event().wait()
        assert self._answer is not None
        return self._answer


class open_toolset:
    """A toolset, set up, for the length of a block."""

    def __init__(self, server: MCPServerHTTP | MCPServerStdio, **options: Any) -> None:
        self.toolset = MCPToolset(id="shop", mcp_server=server, **options)

    async def __aenter__(self) -> MCPToolset:
        return await self.toolset.setup()

    async def __aexit__(self, *exc_info: object) -> None:
        await self.toolset.aclose()


class TestTools:
    def test_names_descriptions_and_schemas_are_the_servers(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http()) as toolset:
                spec = tools(toolset)["add"].spec
                assert spec.description == "Add two numbers."
                assert list(spec.parameters["properties"]) == ["a", "b"]

        run(test())

    def test_what_the_description_says_of_arguments_goes_to_the_parameters(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http()) as toolset:
                spec = tools(toolset)["wait"].spec
                assert spec.description == "Take some time."
                assert spec.parameters["properties"]["seconds"]["description"] == "How long, at most a minute."

        run(test())

    def test_arguments_are_checked_before_anything_is_sent(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http()) as toolset:
                before = len(http.calls)
                with pytest.raises(ToolError, match="Error parsing arguments for `add`"):
                    await call(toolset, "add", '{"a": 1, "b": "two"}')
                assert len(http.calls) == before

        run(test())

    def test_both_filters_apply(self, http: Shop) -> None:
        async def test() -> None:
            server = http.http(allowed_tools=["add", "greet", "wipe"])
            async with open_toolset(server, allowed_tools=lambda name: name != "wipe") as toolset:
                assert list(tools(toolset)) == ["add", "greet"]
                toolset.filter_tools(["wipe", "refuse"])
                assert list(tools(toolset)) == ["wipe"]

        run(test())

    def test_hints_of_an_untrusted_server_are_ignored(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http()) as toolset:
                assert {tool.options.effect for tool in tools(toolset).values()} == {"writes"}

        run(test())

    def test_hints_of_a_trusted_server_become_effects_and_what_may_destroy_is_asked_first(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http(trusted=True)) as toolset:
                effects = {name: tool.options.effect for name, tool in tools(toolset).items()}
                assert (effects["add"], effects["greet"], effects["wipe"]) == ("reads", "writes", "irreversible")
                asked = {name: tool.options.asks_first for name, tool in tools(toolset).items()}
                assert (asked["add"], asked["greet"], asked["wipe"]) == (False, False, True)

        run(test())

    def test_options_say_that_a_tool_is_not_asked_about_and_what_undoes_it(self, http: Shop) -> None:
        options = {
            "wipe": MCPToolOptions(confirm=False),
            "greet": MCPToolOptions(confirm="Greet {name}?", undo="wipe", idempotent=True),
        }

        async def test() -> None:
            async with open_toolset(http.http(trusted=True), tool_options=options) as toolset:
                made = tools(toolset)
                assert not made["wipe"].options.asks_first
                policy = policy_of(made["greet"])
                assert (policy.confirm, policy.undo) == (True, "wipe")

        run(test())

    def test_a_sensitive_value_goes_to_an_argument_that_the_options_name(self, http: Shop) -> None:
        histories: list[str] = []

        async def test(options: MCPToolOptions) -> None:
            async with open_toolset(http.http(), tool_options={"greet": options}) as toolset:
                llm = FakeLLM([Reply(calls=[("greet", {"name": "[digits_1]"})]), "Done."])
                async with AgentSession[Any](llm=llm) as session:
                    await session.start(Agent(instructions="", tools=[toolset]))
                    with session.sensitive():
                        await session.run(user_input="4821")
                    histories.append(repr(session.history.to_dict()))

        run(test(MCPToolOptions()))
        run(test(MCPToolOptions(redact=("name",))))
        refused, taken = histories
        assert "only an argument that is declared secret may have" in refused
        assert "Hello [" in taken
        assert "4821" not in refused + taken

    def test_options_say_what_the_server_cannot(self, http: Shop) -> None:
        options = MCPToolOptions(
            effect="reads",
            timeout=3,
            flags=ToolFlag.CANCELLABLE,
            on_duplicate="reject",
            duplicate_scope="name_and_args",
        )

        async def test() -> None:
            async with open_toolset(http.http(), tool_options={"greet": options}) as toolset:
                policy = policy_of(tools(toolset)["greet"])
                assert (policy.effect, policy.timeout, policy.cancellable) == ("reads", 3, True)
                assert (policy.on_duplicate, policy.duplicate_scope) == ("reject", "name_and_args")

        run(test())

    def test_options_for_a_tool_that_is_not_there_are_a_warning(
        self, http: Shop, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def test() -> None:
            async with open_toolset(http.http(), tool_options={"gret": MCPToolOptions()}) as toolset:
                await toolset.setup(reload=True)

        run(test())
        warned = [record.getMessage() for record in caplog.records if record.name == "antiphon"]
        assert ["does not have: gret; it has add" in text for text in warned] == [True]

    def test_a_new_tool_is_offered_when_the_server_says_so(self, tmp_path: Path) -> None:
        async def test() -> None:
            with shop(tmp_path, http=True) as own:
                async with open_toolset(own.http()) as toolset:
                    add = tools(toolset)["add"]
                    assert "trick" not in tools(toolset)
                    assert await call(toolset, "grow") == "grown"
                    await until(lambda: "trick" in tools(toolset))
                    assert await call(toolset, "trick") == "ta-da"
                    assert tools(toolset)["add"] is add

        run(test())

    @pytest.mark.parametrize("name", ["a.b/c", "a b c"])
    def test_names_are_made_such_that_models_can_call_them(self, name: str) -> None:
        assert mcp_tools._usable_names([name], {}) == {name: "a_b_c"}
        assert mcp_tools._usable_names([name, "a_b_c"], {"a_b_c": "a_b_c"}) == {name: "a_b_c_2", "a_b_c": "a_b_c"}


class TestResults:
    @pytest.mark.parametrize(
        ("name", "arguments", "told"),
        [
            ("add", '{"a": 1, "b": 2}', "3"),
            ("greet", '{"name": "Ann"}', "Hello Ann"),
            ("menu", "{}", 'Two dishes.\n{"dishes": ["soup", "pie"]}'),
            ("nothing", "{}", "`nothing` is done. It gave no result."),
            ("picture", "{}", ImageContent(image=b"\x89PNG", mime_type="image/png")),
        ],
    )
    def test_what_the_model_is_told(self, http: Shop, name: str, arguments: str, told: object) -> None:
        async def test() -> None:
            async with open_toolset(http.http()) as toolset:
                assert await call(toolset, name, arguments) == told

        run(test())

    def test_an_error_of_the_tool_is_told_in_its_words(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http()) as toolset:
                with pytest.raises(ToolError, match="We are closed"):
                    await call(toolset, "refuse")

        run(test())

    def test_calls_run_beside_one_another(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http()) as toolset:
                began = asyncio.get_running_loop().time()
                await asyncio.gather(*(call(toolset, "wait", '{"seconds": 0.3}') for _ in range(8)))
                assert asyncio.get_running_loop().time() - began < 8 * 0.3

        run(test())

    def test_a_cancelled_call_is_cancelled_at_the_server(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http()) as toolset:
                waiting = asyncio.create_task(call(toolset, "never"))
                await until(lambda: "never" in http.calls)
                waiting.cancel()
                await until(lambda: "never was cancelled" in http.calls)
                assert await call(toolset, "greet", '{"name": "Ann"}') == "Hello Ann"
                await asyncio.wait([waiting])
                assert waiting.cancelled()

        run(test())


def test_a_server_is_told_the_key_of_the_wish(http: Shop) -> None:
    async def test() -> None:
        async with open_toolset(http.http()) as toolset:
            assert await call(toolset, "keyed", "{}", Recording()) == "key 4711"
            assert await call(toolset, "keyed") == "key None"

    run(test())


class TestProgress:
    def test_progress_is_not_reported_unless_wanted(self, http: Shop) -> None:
        async def test() -> None:
            ctx = Recording()
            async with open_toolset(http.http()) as toolset:
                await call(toolset, "flood", '{"count": 3}', ctx)
            assert ctx.updates == []

        run(test())

    def test_a_flood_of_progress_is_one_update_until_the_interval_is_over(self, http: Shop) -> None:
        async def test() -> None:
            ctx = Recording()
            options = {"flood": MCPToolOptions(report_progress=True)}
            async with open_toolset(http.http(), tool_options=options) as toolset:
                assert await call(toolset, "flood", '{"count": 2000}', ctx) == "flooded"
            assert ctx.updates == ["step 0"]

        run(test())


class TestQuestions:
    def test_an_answer_reaches_the_tool_and_its_body_runs_once(self, http: Shop) -> None:
        async def test() -> None:
            ctx = Recording(Elicited("accept", {"street": "Elm", "floor": 3}))
            async with open_toolset(http.http(elicitation=True)) as toolset:
                assert await call(toolset, "order", '{"item": "tea"}', ctx) == "tea to Elm, floor 3"
            assert ctx.asked == [("shop asks: Where shall the tea go, street and floor?", ["street", "floor"])]
            assert http.calls.count("order tea") == 1

        run(test())

    def test_after_a_refusal_the_tool_does_not_run(self, http: Shop) -> None:
        async def test() -> None:
            async with open_toolset(http.http(), elicitation=True) as toolset:
                with pytest.raises(ToolError, match="decline"):
                    await call(toolset, "order", '{"item": "cake"}', Recording(Elicited("decline")))
            assert "order cake" not in http.calls

        run(test())

    def test_a_call_that_is_cancelled_asks_no_longer(self, http: Shop) -> None:
        async def test() -> None:
            ctx = Recording()
            async with open_toolset(http.http(), elicitation=True) as toolset:
                waiting = asyncio.create_task(call(toolset, "order", '{"item": "milk"}', ctx))
                await until(lambda: bool(ctx.asked))
                waiting.cancel()
                await asyncio.wait([waiting])
            # `run` sees that the question's task has ended, too.

        run(test())

    def test_a_server_that_was_not_allowed_to_ask_is_declined_and_the_log_says_so(
        self, http: Shop, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def test() -> None:
            ctx = Recording(Elicited("accept", {"street": "Elm", "floor": 3}))
            async with open_toolset(http.http()) as toolset:
                with pytest.raises(ToolError, match="decline"):
                    await call(toolset, "order", '{"item": "rice"}', ctx)
            assert ctx.asked == []

        run(test())
        assert ["declined: it may not ask" in record.getMessage() for record in caplog.records].count(True) == 1

    @pytest.mark.parametrize(
        ("elicitation", "heard"),
        [("Our shop", "Our shop asks: Why?"), ("Der Laden fragt: {question}", "Der Laden fragt: Why?")],
    )
    def test_the_caller_hears_who_asks_in_the_words_of_the_application(self, elicitation: str, heard: str) -> None:
        asker = mcp_tools._asker("shop", elicitation)
        assert asker is not None
        assert asker("Why?", ENGLISH) == heard

    def test_who_asks_is_said_in_the_language_of_the_caller(self) -> None:
        asker = mcp_tools._asker("wines", True)
        assert asker is not None
        assert asker("Warum?", GERMAN) == "wines fragt: Warum?"
        assert asker("Why {who}?", ENGLISH) == "wines asks: Why {who}?"

    def test_a_call_asks_a_few_times_and_not_more(self) -> None:
        from mcp_types import ElicitRequestFormParams

        async def test() -> None:
            ctx = Recording(Elicited("accept", {}))
            questions = mcp_call._Questions(ctx, "a server", lambda question, _: question)
            form = ElicitRequestFormParams(message="a\x1b[2J\n" + "why " * 500, requested_schema={"properties": {}})
            actions = [(await questions.ask(form)).action for _ in range(mcp_call.MAX_QUESTIONS + 3)]
            assert actions.count("accept") == len(ctx.asked) == mcp_call.MAX_QUESTIONS
            assert ctx.asked[0][0].startswith("a [2J why why") and len(ctx.asked[0][0]) < mcp_call.MAX_SPOKEN + 10

        run(test())


class TestBadDays:
    def test_a_server_that_is_not_there_fails_the_setup_with_a_remedy(self, tmp_path: Path) -> None:
        async def test() -> None:
            toolset = MCPToolset(id="shop", mcp_server=Shop(tmp_path).http())
            with pytest.raises(
                ProviderConnectionError, match=r"toolset 'shop'.*could not be reached.*Check that it runs"
            ):
                await toolset.setup()
            assert list(toolset.tools) == []
            await toolset.aclose()

        run(test())

    def test_a_program_that_is_not_there_fails_the_setup_with_a_remedy(self) -> None:
        async def test() -> None:
            toolset = MCPToolset(id="shop", mcp_server=MCPServerStdio("no-such-program"))
            with pytest.raises(ProviderConnectionError, match=r"no-such-program.*Check that the command runs"):
                await toolset.setup()

        run(test())

    def test_a_server_that_never_answers_fails_the_setup_in_time(self) -> None:
        async def test() -> None:
            async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await reader.read()
                writer.close()

            async with await asyncio.start_server(swallow, "127.0.0.1", 0) as deaf:
                port = deaf.sockets[0].getsockname()[1]
                toolset = MCPToolset(id="deaf", mcp_server=MCPServerHTTP(f"http://127.0.0.1:{port}/mcp", timeout=0.2))
                with pytest.raises(ProviderConnectionError, match=r"no answer within 0\.2 s"):
                    await toolset.setup()

        run(test())

    def test_after_a_restart_the_tools_work_again(self, tmp_path: Path) -> None:
        async def test() -> None:
            with shop(tmp_path, http=True) as own:
                async with open_toolset(own.http()) as toolset:
                    own.kill()
                    with pytest.raises(ToolError):
                        await call(toolset, "greet", '{"name": "Ann"}')
                    own.start()
                    assert await call(toolset, "greet", '{"name": "Ann"}') == "Hello Ann"

        run(test())

    def test_while_the_server_is_away_a_call_is_refused_and_says_that_it_was_not_made(self, tmp_path: Path) -> None:
        async def test() -> None:
            with shop(tmp_path, http=True) as own:
                async with open_toolset(own.http()) as toolset:
                    own.kill()
                    await until(lambda: not toolset.is_connected)
                    with pytest.raises(ToolError, match="`greet` was not called"):
                        await call(toolset, "greet", '{"name": "Ann"}')

        run(test())

    def test_a_call_that_the_server_dies_of_is_in_doubt_and_not_sent_again(self, tmp_path: Path) -> None:
        async def test() -> None:
            with shop(tmp_path) as own:
                async with open_toolset(own.stdio(trusted=True)) as toolset:
                    with pytest.raises(ToolError, match="unknown whether it happened; do not repeat it"):
                        await call(toolset, "die")
                    assert await call(toolset, "greet", '{"name": "Ann"}') == "Hello Ann"
                assert own.calls == ["die"]

        run(test())

    def test_a_call_that_reads_is_sent_once_more(self, tmp_path: Path) -> None:
        async def test() -> None:
            with shop(tmp_path) as own:
                async with open_toolset(own.stdio(trusted=True)) as toolset:
                    assert await call(toolset, "die_once") == "alive"
                assert own.calls == ["die_once", "die_once"]

        run(test())

    def test_a_call_under_way_when_the_server_is_killed_is_in_doubt(self, tmp_path: Path) -> None:
        async def test() -> None:
            with shop(tmp_path, http=True) as own:
                async with open_toolset(own.http()) as toolset:
                    waiting = asyncio.create_task(call(toolset, "never"))
                    await until(lambda: "never" in own.calls)
                    own.kill()
                    with pytest.raises(ToolError, match="unknown whether it happened"):
                        await waiting

        run(test())

    def test_a_closed_toolset_can_be_set_up_again(self, http: Shop) -> None:
        async def test() -> None:
            toolset = MCPToolset(id="shop", mcp_server=http.http())
            for _ in range(2):
                await toolset.setup()
                assert await call(toolset, "greet", '{"name": "Ann"}') == "Hello Ann"
                await toolset.aclose()
                await toolset.aclose()
                assert list(toolset.tools) == []

        run(test())


class TestDefinition:
    @pytest.mark.parametrize("option", ["timeout", "client_session_timeout_seconds"])
    def test_times_must_be_positive(self, option: str) -> None:
        options: dict[str, Any] = {option: 0}
        with pytest.raises(UsageError, match=f"{option}=.*positive number of seconds, got 0"):
            MCPServerHTTP("http://127.0.0.1/mcp", **options)

    def test_a_single_name_is_no_list_of_names(self) -> None:
        with pytest.raises(UsageError, match="expected a list of names"):
            MCPServerHTTP("http://127.0.0.1/mcp", allowed_tools="add")

    def test_messages_hold_no_secrets_of_the_address(self) -> None:
        server = MCPServerHTTP("https://user:secret@example.org/mcp?key=secret")
        assert server.label == "https://example.org/mcp"


def outputs(session: AgentSession[Any]) -> list[tuple[str, bool]]:
    return [(item.output, item.is_error) for item in session.history.items if item.type == "function_call_output"]


class TestInSessions:
    def converse(self, llm: FakeLLM, toolset: Toolset, *turns: str) -> AgentSession[Any]:
        session: AgentSession[Any] = AgentSession(llm=llm)

        async def test() -> None:
            async with session:
                await session.start(Agent(tools=[toolset]))
                for turn in turns:
                    await session.run(user_input=turn)

        run(test())
        return session

    def test_a_tool_of_a_server_answers_the_caller(self, http: Shop) -> None:
        llm = FakeLLM([Reply(calls=[("add", {"a": 2, "b": 3})]), "Five."])
        session = self.converse(llm, MCPToolset(id="shop", mcp_server=http.http()), "Two and three?")
        assert transcript(session.history) == [
            "user: Two and three?",
            'call add({"a": 2, "b": 3})',
            "output add: 5",
            "assistant: Five.",
        ]

    @pytest.mark.parametrize("first", [True, False])
    def test_the_applications_own_tool_wins_over_the_servers_of_the_same_name(self, http: Shop, first: bool) -> None:
        @function_tool
        async def add(a: int, b: int) -> str:
            """Add, my way."""
            return "mine"

        llm = FakeLLM([Reply(calls=[("add", {"a": 2, "b": 3})]), "Mine."])
        session: AgentSession[Any] = AgentSession(llm=llm)
        errors: list[Any] = []
        session.on("error", errors.append)
        shop = MCPToolset(id="shop", mcp_server=http.http())

        async def test() -> None:
            async with session:
                await session.start(Agent(tools=[add, shop] if first else [shop, add]))
                await session.run(user_input="Two and three?")

        run(test())
        assert "output add: mine" in transcript(session.history)
        assert [tool.id for tool in llm.requests[0].tools].count("add") == 1
        assert "greet" in [tool.id for tool in llm.requests[0].tools]
        assert len(errors) == 1
        for part in ("'add'", "'shop'", "test_mcp", "toolset.prefixed"):
            assert part in str(errors[0].error)

    def test_with_a_prefix_both_tools_of_one_name_are_there(self, http: Shop) -> None:
        @function_tool
        async def add(a: int, b: int) -> str:
            """Add, my way."""
            return "mine"

        llm = FakeLLM([Reply(calls=[("shop_add", {"a": 2, "b": 3})]), "Five."])
        session: AgentSession[Any] = AgentSession(llm=llm)

        async def test() -> None:
            async with session:
                shop = MCPToolset(id="shop", mcp_server=http.http()).prefixed("shop_")
                await session.start(Agent(tools=[add, shop]))
                await session.run(user_input="Two and three?")

        run(test())
        assert "output shop_add: 5" in transcript(session.history)

    def test_its_tools_can_be_searched_for(self, http: Shop) -> None:
        llm = FakeLLM(
            [Reply(calls=[("tool_search", {"query": "add numbers"})]), Reply(calls=[("add", {"a": 2, "b": 3})]), "5"]
        )
        library = ToolSearchToolset([MCPToolset(id="shop", mcp_server=http.http())], max_results=1)
        session = self.converse(llm, library, "Two and three?")
        assert "output add: 5" in transcript(session.history)
        assert [[tool.id for tool in request.tools] for request in llm.requests[:2]] == [
            ["tool_search"],
            ["tool_search", "add"],
        ]

    def test_a_picture_goes_with_the_output(self, http: Shop) -> None:
        llm = FakeLLM([Reply(calls=[("picture", {})]), "Nice."])
        session = self.converse(llm, MCPToolset(id="shop", mcp_server=http.http()), "Show me.")
        images = [item.images for item in session.history.items if item.type == "function_call_output"]
        assert [[image.image for image in found] for found in images] == [[b"\x89PNG"]]

    def test_a_tool_that_never_answers_is_given_up_at_its_time_limit(self, http: Shop) -> None:
        toolset = MCPToolset(
            id="shop", mcp_server=http.http(), tool_options={"never": MCPToolOptions(timeout=0.3, effect="reads")}
        )
        session = self.converse(FakeLLM([Reply(calls=[("never", {})]), "Sorry."]), toolset, "Go on.")
        assert [is_error for _, is_error in outputs(session)] == [True]
        assert transcript(session.history)[-1] == "assistant: Sorry."

    def test_progress_is_told_while_the_call_goes_on(self, http: Shop) -> None:
        toolset = MCPToolset(
            id="shop", mcp_server=http.http(), tool_options={"flood": MCPToolOptions(report_progress=True)}
        )
        llm = FakeLLM(lambda request: Reply(calls=[("flood", {"count": 50})]) if len(llm.requests) == 1 else "Right.")
        session = self.converse(llm, toolset, "Flood me.")
        assert "step 0" in outputs(session)[0][0]

    def test_a_question_is_spoken_and_its_answer_captured(self, http: Shop) -> None:
        llm = FakeLLM(
            [
                Reply(calls=[("order", {"item": "soup"})]),
                Reply(calls=[("give_answer", {"street": "Elm"})]),
                "Which floor?",
                Reply(calls=[("give_answer", {"street": "Elm", "floor": 2})]),
                "It is on its way.",
            ]
        )
        toolset = MCPToolset(id="shop", mcp_server=http.http(), elicitation=True)
        session = self.converse(llm, toolset, "Soup, please.", "To Elm street.", "The second.")
        lines = transcript(session.history)
        assert "assistant: shop asks: Where shall the soup go, street and floor?" in lines
        assert "output order: soup to Elm, floor 2" in lines
        assert lines[-1] == "assistant: It is on its way."
        assert http.calls.count("order soup") == 1
        assert any(
            "Error parsing arguments for `give_answer`" in text for text, is_error in outputs(session) if is_error
        )

    def test_a_question_may_be_declined(self, http: Shop) -> None:
        llm = FakeLLM(
            [Reply(calls=[("order", {"item": "pie"})]), Reply(calls=[("decline_to_answer", {})]), "Then not."]
        )
        toolset = MCPToolset(id="shop", mcp_server=http.http(), elicitation=True)
        session = self.converse(llm, toolset, "Pie, please.", "Never mind.")
        assert transcript(session.history)[-1] == "assistant: Then not."
        assert "order pie" not in http.calls

    def test_without_its_server_the_agent_runs_and_the_error_is_an_event(self, tmp_path: Path) -> None:
        toolset = MCPToolset(id="shop", mcp_server=Shop(tmp_path).http())
        session: AgentSession[Any] = AgentSession(llm=FakeLLM(["Hello."]))
        errors: list[Any] = []
        session.on("error", errors.append)

        async def test() -> None:
            async with session:
                await session.start(Agent(tools=[toolset]))
                await session.run(user_input="Hi")

        run(test())
        assert [type(event.error) for event in errors] == [ProviderConnectionError]
        assert transcript(session.history)[-1] == "assistant: Hello."
