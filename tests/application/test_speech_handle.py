"""What a speech handle promises to those who hold it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, SpeechHandle, UsageError, function_tool
from antiphon.testing import FakeLLM, Reply, now, run_virtual


async def slowly(*words: str) -> AsyncIterator[str]:
    for word in words:
        yield f"{word} "
        await asyncio.sleep(1)


async def started() -> AgentSession[Any]:
    session = AgentSession[Any](llm=FakeLLM())
    await session.start(Agent())
    return session


def test_callbacks_are_called_when_it_is_done_and_at_once_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        called: list[SpeechHandle] = []

        def broken(_: SpeechHandle) -> None:
            raise ValueError("oops")

        def unwanted(_: SpeechHandle) -> None:
            called.clear()

        async with await started() as session:
            handle = session.say(slowly("one", "two"))
            handle.add_done_callback(broken)
            handle.add_done_callback(unwanted)
            handle.add_done_callback(called.append)
            handle.remove_done_callback(unwanted)
            handle.remove_done_callback(unwanted)
            assert not called
            await handle
            assert called == [handle]
            handle.add_done_callback(called.append)
            await asyncio.sleep(0)
            assert called == [handle, handle]

    run_virtual(main())
    assert "oops" in caplog.text


def test_it_may_be_protected_while_it_is_said() -> None:
    async def main() -> None:
        async with await started() as session:
            handle = session.say(slowly("one", "two"))
            assert handle.allow_interruptions
            handle.allow_interruptions = False
            session.interrupt()
            await handle
            assert not handle.interrupted

    run_virtual(main())


def test_it_cannot_be_protected_after_it_was_cut() -> None:
    async def main() -> None:
        async with await started() as session:
            handle = session.say(slowly("one", "two"))
            handle.interrupt()
            assert handle.interrupted
            with pytest.raises(UsageError, match="interrupted already"):
                handle.allow_interruptions = False
            handle.allow_interruptions = True

    run_virtual(main())


def test_interrupting_what_is_done_does_nothing() -> None:
    async def main() -> None:
        async with await started() as session:
            handle = await session.say("One.", allow_interruptions=False)
            assert handle.interrupt() is handle and not handle.interrupted
            assert repr(handle) == f"<SpeechHandle {handle.id} done>"

    run_virtual(main())


def test_force_stops_what_is_protected() -> None:
    async def main() -> None:
        async with await started() as session:
            handle = session.say(slowly("one", "two"), allow_interruptions=False)
            await asyncio.sleep(0.5)
            handle.interrupt(force=True)
            await handle
            assert handle.interrupted and now() < 1

    run_virtual(main())


def test_waiting_ends_with_the_work_or_with_the_interruption() -> None:
    async def main() -> None:
        async with await started() as session:
            handle = session.say(slowly("one", "two", "three", "four"))
            quick, slow = asyncio.ensure_future(asyncio.sleep(1)), asyncio.ensure_future(asyncio.sleep(9))
            await handle.wait_if_not_interrupted([quick])
            assert now() == pytest.approx(1.0)
            asyncio.get_running_loop().call_later(1, handle.interrupt)
            await handle.wait_if_not_interrupted([quick, slow])
            assert now() == pytest.approx(2.0) and not slow.done()
            await handle.wait_if_not_interrupted([slow])
            assert now() == pytest.approx(2.0)
            slow.cancel()

    run_virtual(main())


def test_a_wait_that_is_given_up_leaves_the_speech_alone() -> None:
    async def main() -> None:
        async with await started() as session:
            handle = session.say(slowly("one", "two"))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await handle
            await handle
            assert not handle.interrupted

    run_virtual(main())


def test_a_thread_may_stop_and_protect_speech() -> None:
    class Threaded(Agent):
        @function_tool
        def work(self, ctx: RunContext) -> str:
            """Work."""
            first, second = ctx.session.say(slowly("one", "two")), ctx.session.say(slowly("three"))
            first.interrupt()
            second.allow_interruptions = False
            ctx.session.interrupt()
            return f"{first.interrupted} {second.interrupted}"

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("work", {})]), "Done."])) as session:
            await session.start(Threaded())
            session.submit_user_turn("a")
            await asyncio.sleep(10)
            assert any("three" in (m.text_content or "") for m in session.history.messages())

    run_virtual(main())


@pytest.mark.parametrize("is_done", [False, True])
def test_a_thread_may_ask_to_be_called_back(is_done: bool) -> None:
    called: list[threading.Thread] = []

    class Threaded(Agent):
        @function_tool
        def work(self, ctx: RunContext) -> str:
            """Work."""
            handle = ctx.session.say(slowly("one", "two"))
            if is_done:
                handle.interrupt()
            handle.add_done_callback(lambda _: called.append(threading.current_thread()))
            return "worked"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("work", {})]), "Done."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Threaded())
            await session.run(user_input="Work.")
            assert called == [threading.main_thread()]

    run_virtual(main())


def test_a_tool_waits_for_the_words_before_its_call() -> None:
    times: list[float] = []

    class Waiting(Agent):
        async def llm_node(self, chat_ctx: Any, tools: Any, model_settings: Any) -> Any:
            async for chunk in Agent.default.llm_node(self, chat_ctx, tools, model_settings):
                yield chunk
            await asyncio.sleep(3)

        @function_tool
        async def work(self, ctx: RunContext) -> str:
            """Work."""
            await ctx.wait_for_playout()
            times.append(now())
            await ctx.wait_for_playout()
            return "ok"

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply("One moment.", [("work", {})]), "Done."])) as session:
            await session.start(Waiting())
            await session.run(user_input="a")
            assert times[0] >= 3

    run_virtual(main())
