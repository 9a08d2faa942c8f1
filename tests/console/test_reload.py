"""The agent file while somebody works on it, seen from a page and from the object that watches."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.console.access import Limits
from antiphon.console.reload import AgentFile
from antiphon.protocols import call_store
from antiphon.store import Row
from antiphon.stores.memory import MemoryStore
from antiphon.testing import wait_until
from tests.console.page import Page
from tests.console.serving import ECHO, run, serving, write

GREETING = """
from antiphon import Agent, AgentServer, AgentSession
from antiphon.testing import FakeLLM

server = AgentServer()

class Greeter(Agent):
    async def on_enter(self):
        await self.session.say("Welcome.")

@server.rtc_session
async def entrypoint(session: AgentSession):
    llm = FakeLLM(lambda request: "I know " + " | ".join(
        item.text_content for item in request.chat_ctx.items if item.type == "message" and item.role != "system"
    ))
    await session.start(agent=Greeter(instructions="Greet."), room=session.room, llm=llm)
"""
"""Says what it knows of the conversation."""


@pytest.fixture(autouse=True)
def modules_as_before() -> Iterator[None]:
    """What agent files import does not stay, and what they had forgotten comes back."""
    modules, path = dict(sys.modules), list(sys.path)
    yield
    for name in ("_agent_file_agent", "words", "words.of"):
        sys.modules.pop(name, None)
    sys.modules.update(modules)
    sys.path[:] = path


def save(path: Path, code: str) -> None:
    """Write a file as an editor does: whole."""
    beside = path.with_suffix(".new")
    beside.write_text(code)
    beside.replace(path)


def test_a_saved_file_serves_the_next_call_and_the_call_under_way_ends_politely(tmp_path: Path) -> None:
    async def check() -> None:
        path = write(tmp_path, ECHO)
        async with serving(path) as server:
            async with Page(server.url, audio=False) as page:
                await page.asks("Hello")
                save(path, ECHO.replace("You are heard", "This is new"))
                await page.wait_for("agent_file", state="loaded")
                await page.wait_for("ended", reason="the agent file changed")
            async with Page(server.url, audio=False) as page:
                assert await page.asks("Hello") == "This is new."

    run(check)


def test_a_call_that_continues_another_knows_what_was_said_and_is_not_greeted_again(tmp_path: Path) -> None:
    async def check() -> None:
        path = write(tmp_path, GREETING)
        async with serving(path) as server:
            async with Page(server.url, audio=False) as page:
                first = await page.wait_for("ready")
                await page.wait_for("message", text="Welcome.")
                assert await page.asks("Hello") == "I know Welcome. | Hello"
                save(path, GREETING.replace("I know", "I still know"))
                await page.wait_for("ended")
            async with Page(server.url, audio=False, resume=first["call"]) as page:
                answer = await page.asks("Again")
                assert answer == "I still know Welcome. | Hello | I know Welcome. | Hello | Again"

    run(check)


def test_a_page_that_calls_again_takes_its_call_over_while_the_old_socket_is_still_there(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, GREETING)) as server, Page(server.url, audio=False) as old:
            first = await old.wait_for("ready")
            await old.wait_for("message", text="Welcome.")
            async with Page(server.url, audio=False, resume=first["call"]) as new:
                await old.wait_for("ended", reason="the page calls again")
                assert await new.asks("Hello") == "I know Welcome. | Hello"

    run(check)


def test_an_unknown_call_to_continue_is_told_and_no_new_one_begins(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, GREETING)) as server:
            async with Page(server.url, audio=False, resume="no-such-call") as page:
                code, reason = await page.closed()
                assert (code, "not known here" in str(reason)) == (4404, True)

    run(check)


def test_a_call_that_a_restart_cut_off_goes_on(tmp_path: Path) -> None:
    async def check() -> None:
        store = MemoryStore()

        async def find() -> MemoryStore:
            return store

        lease = await store.lease("cut-off-call", "a process that is gone")
        store.start(lease, Row("key", "pay").started(1.0))
        store.release(lease)
        token = call_store.set(find)
        try:
            async with serving(write(tmp_path, GREETING)) as server:
                async with Page(server.url, audio=False, resume="cut-off-call") as page:
                    assert (await page.wait_for("ready"))["call"] == "cut-off-call"
                    await page.wait_for("message", text="Sorry, we were cut off for a moment.")
                    await page.send("hang_up")
                    await page.closed()
                async with Page(server.url, audio=False) as page:
                    ready = await page.wait_for("ready")
                    assert await store.load(ready["call"]) is not None  # the page's id is the store's
        finally:
            call_store.reset(token)

    run(check)


def test_a_file_that_breaks_is_told_with_its_line_and_the_call_under_way_goes_on(tmp_path: Path) -> None:
    async def check() -> None:
        path = write(tmp_path, ECHO)
        async with serving(path) as server, Page(server.url, audio=False) as page:
            await page.wait_for("ready")
            save(path, ECHO + "\nthis is nothing like Python\n")
            broken = await page.wait_for("agent_file", state="broken")
            assert f"{path}:{len(ECHO.splitlines()) + 2}: syntax error" in broken["message"]
            assert await page.asks("Still there?") == "You are heard."

    run(check)


def test_while_the_file_is_broken_calls_are_refused_with_what_is_wrong_and_held_again_once_it_is_mended(
    tmp_path: Path,
) -> None:
    async def check() -> None:
        path = write(tmp_path, "import nothing_like_it\n")
        async with serving(path) as server:
            async with Page(server.url, audio=False) as page:
                broken = await page.wait_for("agent_file", state="broken")
                assert f"{path}:1: ModuleNotFoundError" in broken["message"]
                code, reason = await page.closed()
                assert (code, reason and reason.startswith(f"{path}:1")) == (4503, True)
            save(path, ECHO)
            await wait_until(lambda: server.calls.file.server is not None)
            async with Page(server.url, audio=False) as page:
                assert await page.asks("Hello") == "You are heard."

    run(check)


def test_a_module_beside_the_file_is_loaded_anew_too(tmp_path: Path) -> None:
    async def check() -> None:
        package = tmp_path / "words"
        package.mkdir()
        write(package, "", "__init__.py")
        write(package, "ANSWER = 'The old words.'\n", "of.py")
        code = ECHO.replace('"You are heard."', "ANSWER").replace("server = ", "from words.of import ANSWER\nserver = ")
        async with serving(write(tmp_path, code)) as server:
            async with Page(server.url, audio=False) as page:
                assert await page.asks("Hello") == "The old words."
                save(package / "of.py", "ANSWER = 'The new words.'\n")
                await page.wait_for("ended")
            async with Page(server.url, audio=False) as page:
                assert await page.asks("Hello") == "The new words."

    run(check)


def test_a_file_that_the_agent_does_not_import_ends_no_call(tmp_path: Path) -> None:
    async def check() -> None:
        path = write(tmp_path, ECHO)
        async with serving(path) as server, Page(server.url, audio=False) as page:
            await page.wait_for("ready")
            loadings: list[bool] = []
            server.calls.file.on_change(lambda: loadings.append(True))
            for name in ("other_agent.py", "test_agent.py", "script.py"):
                save(tmp_path / name, "raise SystemExit\n")
            await asyncio.sleep(2.0)  # four times what a change takes to be seen
            assert loadings == []
            assert await page.asks("Still there?") == "You are heard."
            save(path, ECHO.replace("You are heard", "This is new"))
            await page.wait_for("ended", reason="the agent file changed")

    run(check)


def test_a_module_that_the_file_lacks_mends_it_when_it_is_written(tmp_path: Path) -> None:
    async def check() -> None:
        code = ECHO.replace('"You are heard."', "ANSWER").replace("server = ", "from words import ANSWER\nserver = ")
        async with serving(write(tmp_path, code)) as server:
            assert server.calls.file.server is None
            await asyncio.sleep(1.0)  # until the folder is watched
            save(tmp_path / "words.py", "ANSWER = 'The words.'\n")
            await wait_until(lambda: server.calls.file.server is not None)

    run(check)


def test_without_reload_a_saved_file_changes_nothing(tmp_path: Path) -> None:
    async def check() -> None:
        path = write(tmp_path, ECHO)
        async with serving(path, reload=False) as server, Page(server.url, audio=False) as page:
            await page.wait_for("ready")
            save(path, ECHO.replace("You are heard", "This is new"))
            await asyncio.sleep(2.0)
            assert await page.asks("Hello") == "You are heard."

    run(check)


def test_a_file_that_fails_to_load_names_its_problem_and_raises_nothing(tmp_path: Path) -> None:
    async def check() -> None:
        file = AgentFile(tmp_path / "missing.py")
        await file.load()
        assert file.server is None
        assert "no such agent file" in file.problem

    run(check)


def test_a_module_of_the_framework_or_of_a_library_is_never_forgotten(tmp_path: Path) -> None:
    async def check() -> None:
        import starlette.routing

        import antiphon.session

        # An agent file at the root of a project that holds the environment, too.
        root = Path(antiphon.session.__file__).parents[3]
        file = AgentFile(root / "no_such_agent.py")
        await file.load()
        assert sys.modules["antiphon.session"] is antiphon.session
        assert sys.modules["starlette.routing"] is starlette.routing

    run(check)


def test_a_call_that_continues_another_does_not_wait_for_a_place_of_its_own(tmp_path: Path) -> None:
    async def check() -> None:
        limits = Limits(max_calls=1)
        async with serving(write(tmp_path, GREETING), limits=limits) as server, Page(server.url, audio=False) as old:
            first = await old.wait_for("ready")
            async with Page(server.url, audio=False, resume=first["call"]) as new:
                await new.wait_for("ready")

    run(check)
