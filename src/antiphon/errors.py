"""What can go wrong, and whose fault it is.

```
AntiphonError
├── UsageError              the program misused Antiphon (wrong argument, wrong moment)
│   ├── ToolDefinitionError a tool's signature or schema cannot be offered to a model
│   ├── UserdataNotSet      LiveKit's `session.userdata` was read before anything was stored there
│   └── SessionClosed       the session has ended, or has not begun
├── AgentFileError          the file given on the command line holds no runnable agent
├── JournalError            a journal cannot be read, or not replayed by this version
├── StoreError              a store of calls cannot be used, or refuses
│   ├── StoreUnavailable    it cannot write now: full, failing, out of reach, or too slow
│   ├── StoreConflict       something else stands where this was to be written
│   ├── LeaseLost           another worker holds the call by now
│   └── LeaseHeld           another worker holds the call still
├── MissingModelFile        a weight file is absent or is not the one that was pinned
└── ProviderError           a model or service failed
    ├── MissingKey          no credentials for it
    ├── ProviderTimeout     it did not answer in time
    ├── ProviderConnectionError  it could not be reached, or the connection broke
    └── ProviderStatusError it answered with an error status
        ├── ToolRefused     it refused the request for the sake of one tool
        └── ContextOverflow it refused the request because it is longer than the model can read
```

Every message names the thing, says what was expected and what was found, and ends with the remedy.
`ToolError` and `StopResponse` are not failures of the system; they live in `antiphon.tools.function`.
"""

from __future__ import annotations

import asyncio

from antiphon.secrets import without_secrets
from antiphon.visible import shortened, well_formed

LONGEST_MESSAGE = 2_000
"""Characters of an error: an endpoint may answer with a page of megabytes."""


class AntiphonError(Exception):
    """The root of all errors that Antiphon raises on purpose."""


class UsageError(AntiphonError, ValueError):
    """The program called Antiphon in a way that cannot work. The message says what to call instead."""


class ToolDefinitionError(UsageError, TypeError):
    """A tool cannot be described to a model: the message names function, parameter and remedy."""


class UserdataNotSet(UsageError, AttributeError):
    """`session.userdata` of the compatibility layer was read before it was set; natively it is a dict then.

    It is an `AttributeError` so that `hasattr(session, "userdata")` is False until something is stored.
    """


class SessionClosed(UsageError, RuntimeError):
    """The session is not running: not started yet, or closed already."""


class AgentFileError(AntiphonError):
    """The agent file cannot be run: absent, broken, or without an agent in it."""


class JournalError(AntiphonError):
    """A journal is not what it should be: the message names the line, what was expected, and what stands there."""


class StoreError(AntiphonError):
    """A store of calls cannot be opened or used, or what it holds cannot be read. The message ends with the remedy."""


class StoreUnavailable(StoreError):
    """The store did not write: its disk is full or fails, it cannot be reached, or it took too long.

    `may_have_happened`: what was asked may be stored all the same, now or later. False: it is not, and will not be.
    """

    def __init__(self, message: str, *, may_have_happened: bool = False) -> None:
        super().__init__(message)
        self.may_have_happened = may_have_happened


class StoreConflict(StoreError):
    """Something else stands where this was to be written, so nothing was. `found` is what: a row, or a position."""

    def __init__(self, message: str, *, found: object = None) -> None:
        super().__init__(message)
        self.found = found


class LeaseLost(StoreError):
    """The call is held by another worker by now, or by nobody: nothing is written for this one any more."""


class LeaseHeld(StoreError):
    """The call is held by a worker that lives. `seconds`: for how long at least, by the store's clock."""

    def __init__(self, message: str, *, worker: str = "", seconds: float = 0.0) -> None:
        super().__init__(message)
        self.worker = worker
        self.seconds = seconds


class MissingModelFile(AntiphonError):
    """A model's weight file is absent or altered. The message names the package that carries it."""


class ProviderError(AntiphonError):
    """A model or a remote service failed. The message shows no password and no key of an address.

    The message holds at most `LONGEST_MESSAGE` characters of what the service said, and says how many there were.
    `provider` names it (for example "openai.LLM"). `retryable` says whether the same request may
    succeed when sent again.
    """

    def __init__(self, message: str, *, provider: str = "", retryable: bool = True) -> None:
        # What is cut in an address may look like none; so more is looked at than is kept.
        said = without_secrets(message[: 2 * LONGEST_MESSAGE])
        if len(message) > LONGEST_MESSAGE:
            said = f"{said[:LONGEST_MESSAGE]}... ({len(message):,} characters)"
        message = well_formed(said)
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.retryable = retryable


class MissingKey(ProviderError):
    """A provider has no credentials. `variable` is the environment variable that would supply them."""

    def __init__(self, provider: str, variable: str) -> None:
        super().__init__(
            f"{provider}: no {variable}. Set the environment variable {variable}, or pass api_key=.",
            provider=provider,
            retryable=False,
        )
        self.variable = variable


class ProviderTimeout(ProviderError):
    """No answer within the time allowed."""


class ProviderConnectionError(ProviderError):
    """The service could not be reached, or the connection broke."""


class ProviderStatusError(ProviderError):
    """The service answered with an error. `status` is its HTTP status code, `body` what it said, cut if it is long."""

    def __init__(
        self, message: str, *, status: int, body: object = None, provider: str = "", retryable: bool | None = None
    ) -> None:
        if retryable is None:
            retryable = status in (408, 409, 425, 429) or status >= 500
        super().__init__(message, provider=provider, retryable=retryable)
        self.status = status
        self.body = body if len(said := str(body)) <= LONGEST_MESSAGE else shortened(said, LONGEST_MESSAGE)


class ToolRefused(ProviderStatusError):
    """The service refused a whole request because of one of its tools. `tool` is the tool's name."""

    def __init__(self, message: str, *, tool: str, status: int, body: object = None, provider: str = "") -> None:
        super().__init__(
            f"the tool {tool!r} is refused: correct its schema or its name, or leave it out. {message}",
            status=status,
            body=body,
            provider=provider,
            retryable=False,
        )
        self.tool = tool


class ContextOverflow(ProviderStatusError):
    """The request is longer than the model can read. `limit` and `size` in tokens, as far as the service told them."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        limit: int | None = None,
        size: int | None = None,
        body: object = None,
        provider: str = "",
    ) -> None:
        super().__init__(message, status=status, body=body, provider=provider, retryable=False)
        self.limit = limit
        self.size = size


def missing_package(what: str, package: str, extra: str) -> UsageError:
    """`what` was used where the package is not installed that it needs; `extra` of ours brings it."""
    return UsageError(f"{what} needs the package {package}. Install it with: pip install 'antiphon[{extra}]'")


def pass_on(error: BaseException) -> None:
    """Raise it again if it is not a failure of the code that raised it, but a way to end that code.

    For `except BaseException` around code of the application, which may raise anything: `SystemExit`, a panic of a
    library in another language, a group of exceptions. None of these may end a call, let alone the process. What
    passes is Ctrl-C, that the task was cancelled, and that a coroutine was closed which no task runs any more (also
    where that made others fail, which had to await something). Not for the body of a generator, which `GeneratorExit`
    closes.
    """
    if isinstance(error, (KeyboardInterrupt, asyncio.CancelledError)):
        raise error
    closed: BaseException | None = error
    while closed is not None and not isinstance(closed, GeneratorExit):
        closed = closed.__context__
    if closed is not None and not _in_task():
        raise closed


def as_exception(error: BaseException) -> Exception:
    """The error itself, or, of one that is no `Exception`, one that names it and has it as its cause."""
    if isinstance(error, Exception):
        return error
    contained = RuntimeError(f"{type(error).__name__}: {error}")
    contained.__cause__ = error
    return contained


def _in_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False
