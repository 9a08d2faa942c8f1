"""What can go wrong, and whose fault it is.

```
AntiphonError
├── UsageError              the program misused Antiphon (wrong argument, wrong moment)
│   ├── ToolDefinitionError a tool's signature or schema cannot be offered to a model
│   ├── UserdataNotSet      `session.userdata` was read before anything was stored there
│   └── SessionClosed       the session has ended, or has not begun
├── AgentFileError          the file given on the command line holds no runnable agent
├── MissingModelFile        a weight file is absent or is not the one that was pinned
└── ProviderError           a model or service failed
    ├── MissingKey          no credentials for it
    ├── ProviderTimeout     it did not answer in time
    ├── ProviderConnectionError  it could not be reached, or the connection broke
    └── ProviderStatusError it answered with an error status
```

Every message names the thing, says what was expected and what was found, and ends with the remedy.
`ToolError` and `StopResponse` are not failures of the system; they live in `antiphon.tools.function`.
"""

from __future__ import annotations


class AntiphonError(Exception):
    """The root of all errors that Antiphon raises on purpose."""


class UsageError(AntiphonError, ValueError):
    """The program called Antiphon in a way that cannot work. The message says what to call instead."""


class ToolDefinitionError(UsageError, TypeError):
    """A tool cannot be described to a model: the message names function, parameter and remedy."""


class UserdataNotSet(UsageError, AttributeError):
    """`session.userdata` was read before it was set.

    It is an `AttributeError` so that `hasattr(session, "userdata")` is False until something is stored.
    """


class SessionClosed(UsageError, RuntimeError):
    """The session is not running: not started yet, or closed already."""


class AgentFileError(AntiphonError):
    """The agent file cannot be run: absent, broken, or without an agent in it."""


class MissingModelFile(AntiphonError):
    """A model's weight file is absent or altered. The message names the package that carries it."""


class ProviderError(AntiphonError):
    """A model or a remote service failed.

    `provider` names it (for example "openai.LLM"). `retryable` says whether the same request may
    succeed when sent again.
    """

    def __init__(self, message: str, *, provider: str = "", retryable: bool = True) -> None:
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
    """The service answered with an error. `status` is its HTTP status code, `body` what it said."""

    def __init__(
        self, message: str, *, status: int, body: object = None, provider: str = "", retryable: bool | None = None
    ) -> None:
        if retryable is None:
            retryable = status in (408, 409, 425, 429) or status >= 500
        super().__init__(message, provider=provider, retryable=retryable)
        self.status = status
        self.body = body
