"""`RunContext`: what a tool knows of the call it serves.

Above: tools. Below: the run that the tool runner keeps, and the session. A context outlives nothing: after an
adoption its call and speech are those of the call it serves now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic

from antiphon.agent import Agent
from antiphon.chat import FunctionCall
from antiphon.errors import UsageError
from antiphon.language import Language
from antiphon.protocols import Elicited
from antiphon.running_tool import RunningTool
from antiphon.session_api import Session, Userdata
from antiphon.speech_handle import SpeechHandle
from antiphon.tools.function import CallContext, ToolResult

if TYPE_CHECKING:
    from antiphon.toolkit.fillers import FillerScope, FillerSource

UPDATE_TEMPLATE = (
    "The tool `{function_name}` has updated, message: {message}\n"
    "The task is still running, so DON'T make up or give information not included in the message above."
)
"""What the model reads when a tool reports progress."""


class RunContext(CallContext, Generic[Userdata]):
    """Handed to the parameter of a tool that is annotated with this class. Made by the session, one for each call."""

    __slots__ = ("_running", "_session")

    def __init__(self, session: Session[Userdata], run: RunningTool) -> None:
        self._session = session
        self._running = run

    @property
    def session(self) -> Session[Userdata]:
        """The session that the call belongs to."""
        return self._session

    @property
    def agent(self) -> Agent:
        """The agent whose model made the call."""
        agent: Agent = self._session.agent_by_id(self._running.execution.agent)
        return agent

    @property
    def userdata(self) -> Userdata:
        """`session.userdata`."""
        return self._session.userdata

    @property
    def function_call(self) -> FunctionCall:
        """The call as the model made it: `call_id`, `name`, `arguments` (JSON text)."""
        return self._running.function_call

    @property
    def tool_call(self) -> FunctionCall:
        """The same as `function_call`."""
        return self.function_call

    @property
    def idempotency_key(self) -> str:
        """32 hexadecimal digits that stand for what the caller wants done: hand them to the backend.

        Made before the tool is entered. The same whenever that wish is tried again, whichever call or agent it is for;
        another for another wish. A backend can be expected to know it for 24 hours. Nothing can be read from it.
        """
        return self._running.execution.key

    @property
    def fence(self) -> int | None:
        """A number that grows whenever another process takes the call over. None: the call is kept in no store.

        A process that was frozen may go on with a tool that it had entered, after another has taken the call over.
        Hand this to a backend, with the id of the call (`session.call_id`), that refuses a write with a number below
        the highest that it has seen for that call.
        """
        return self._running.execution.fence()

    async def once(self, name: str, effect: Callable[..., Any]) -> Any:
        """Do one thing at most once for this wish, and give what it gave: `await ctx.once("charge", charge)`.

        `effect` is called without arguments, or with a key of its own if it has a parameter; it may be a coroutine
        function. A tool that failed behind it is called again for the same wish: then it is not done again. It is
        written down by itself where the call is kept. `ToolError` from it: not done, it may be tried again. Raises
        `OutcomeUnknown` if nobody knows whether it was done: let it through.
        """
        run = self._running.execution
        return await run.do_once(run, name, effect)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """A connection to the database in which the call is kept, for `async with`.

        What is written by it is there together with the fact that this call is done, or not at all: it happens exactly
        once. For tools that write, once in each call, with a store that can (PostgreSQL). Raises `UsageError`
        otherwise. What the tool does behind it does not change that it happened.
        """
        run = self._running.execution
        if run.begin_transaction is None or not run.number:
            raise UsageError(
                "ctx.transaction(): expected a tool with effect='writes' in a call that is kept in PostgreSQL. Start it"
                " with --store postgresql://... or AgentSession(store=...), or write with ctx.idempotency_key."
            )
        if run.committed:
            raise UsageError("ctx.transaction(): this call has had its transaction. Write all of it in one.")
        return run.begin_transaction(run)

    @property
    def speech_handle(self) -> SpeechHandle:
        """The speech that the call belongs to. Its `interrupted` turns True when the caller spoke over the call."""
        return self._running.speech_handle

    @property
    def run(self) -> RunningTool:
        """The tool at work, as `session.running_tools` has it: whether its call was dropped, and how to stop it."""
        return self._running

    def sensitive(self) -> AbstractContextManager[None]:
        """`with ctx.sensitive():` What the caller says or enters meanwhile appears nowhere: see `Session.sensitive`."""
        return self._session.sensitive()

    def disallow_interruptions(self) -> None:
        """From now on nothing that the caller says interrupts this call.

        What they say is kept and answered after it.
        """
        self._running.execution.protect()

    async def wait_for_playout(self) -> None:
        """Until what the agent said before this call, in the same response, was played."""
        await self.speech_handle.wait_for_step(self._running.execution.gen)

    async def update(self, message: Any, *, silent: bool = False, _template: str = UPDATE_TEMPLATE) -> None:
        """Report progress; the tool goes on in the background, and the model tells the caller when the line is free.

        The first update is the output of the call itself. For the model text goes through the template; other values
        are rendered as results are: None is silent, and a `ToolResult` says itself whether a reply is due. `silent`:
        the model knows, and makes no reply for it. Does nothing once the call was dropped.
        """
        run = self._running.execution
        if run.released:
            return
        if isinstance(message, ToolResult):
            message, silent = message.output, silent or not message.reply_required
        if isinstance(message, str):
            told = run.rendered(message)
            text = _template.format(function_name=run.call.name, call_id=run.call.call_id, message=told)
        elif message is None:
            text, told, silent = "", None, True
        else:
            text, told = run.rendered(message), None
        run.progress(text, silent=silent, told=told)

    def with_filler(
        self,
        source: FillerSource,
        *,
        delay: float = 0.0,
        interval: float | None = None,
        max_steps: int | None = None,
    ) -> FillerScope:
        """While the block runs, say something if the line is quiet, as in `async with ctx.with_filler("One moment."):`.

        `source` is a line, or a function of the number of lines so far that gives one, a speech handle, or None. It is
        said after `delay` seconds in which neither side was heard; with `interval`, again after so many more, at most
        `max_steps` times. Each line ends at a word when the answer can be heard, and stays out of the history. Raises
        `UsageError` for times below 0.
        """
        from antiphon.toolkit.fillers import FillerScope

        return FillerScope(self._session, self._running, source, delay=delay, interval=interval, max_steps=max_steps)

    @property
    def language(self) -> Language:
        """The caller's language, which is the session's."""
        return self.session.language

    async def elicit(self, message: str, schema: Mapping[str, Any]) -> Elicited:
        """Ask the caller, and capture the answer in the form of `schema`, a JSON schema of an object.

        The call is suspended meanwhile: no time limit, and what the caller says is for the question. "cancel" if the
        call was dropped already.
        """
        from antiphon.toolkit.elicitation import Elicitation  # it stands on agents, which stand on this

        if self._running.dropped:
            return Elicited("cancel")
        return await Elicitation(message, schema)
