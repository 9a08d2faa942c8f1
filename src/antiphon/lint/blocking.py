"""Calls that keep the event loop waiting, and what to write instead.

Above: `source`. Below: `names`. Functions of the user's own that such code calls are followed; what runs in a thread
(`asyncio.to_thread(f)`, a sync tool) is not looked at.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from antiphon.calls.where import is_users
from antiphon.lint.description import Place, Seen
from antiphon.lint.names import Function, Names, own_nodes

DEEPEST: Final = 4
"""So many functions are followed, one calling the other."""

THREAD: Final = "Run it in a thread: await asyncio.to_thread(...)."
_HTTP: Final = "Use an async client: httpx.AsyncClient, aiohttp."

_BLOCKING: Final[Sequence[tuple[re.Pattern[str], str]]] = [
    (re.compile(pattern), remedy)
    for pattern, remedy in (
        (r"time\.sleep", "Use await asyncio.sleep(...)."),
        (r"requests\.(api\.)?(get|post|put|patch|delete|head|options|request)", _HTTP),
        (r"requests\.(sessions\.)?[Ss]ession\(\)\.\w+", _HTTP),
        (r"urllib\.request\.(urlopen|urlretrieve)", _HTTP),
        (r"urllib3\.(\w+\.)*(request|PoolManager\(\)\.\w+)", _HTTP),
        (r"http\.client\.\w+\(\)\.(request|getresponse|connect)", _HTTP),
        (r"httpx\.(_api\.)?(get|post|put|patch|delete|head|options|request|stream)", _HTTP),
        (r"httpx\.(_client\.)?Client\(\)\.\w+", _HTTP),
        (r"openai\.(_client\.)?(Azure)?OpenAI\(\)\..*(create|parse|generate|list|retrieve)", "Use openai.AsyncOpenAI."),
        (r"anthropic\.(_client\.)?Anthropic\(\)\..*(create|parse|stream|list)", "Use anthropic.AsyncAnthropic."),
        (r"subprocess\.(run|call|check_call|check_output|getoutput|getstatusoutput)",
         "Use await asyncio.create_subprocess_exec(...)."),
        (r"(os|posix|nt)\.(system|popen|wait|waitpid)", "Use await asyncio.create_subprocess_exec(...)."),
        (r"socket\.(create_connection|getaddrinfo|gethostbyname|socket\(\)\.\w+)",
         "Use asyncio.open_connection, or loop.getaddrinfo."),
        (r"_?socket\.(gethostbyname|getaddrinfo)", "Use loop.getaddrinfo."),
        (r"(sqlite3|_sqlite3)\.(connect|Connection\(\)\.\w+|Cursor\(\)\.\w+|connect\(\)\.\w+(\(\)\.\w+)?)", THREAD),
        (r"(psycopg2|psycopg|pymysql|MySQLdb|mysql\.connector)\.(\w+\.)*connect(\(\).*)?", "Use an async driver."),
        (r"redis\.(client\.)?(Strict)?Redis\(\)\.\w+", "Use redis.asyncio."),
        (r"pymongo\.(\w+\.)*MongoClient\(\).*\.\w+", "Use pymongo's AsyncMongoClient."),
        (r"boto3\.(client|resource)\(\)\.\w+", THREAD),
        (r"smtplib\.SMTP(_SSL)?(\(\)\.\w+)?", THREAD),
        (r"ftplib\.FTP(\(\)\.\w+)?", THREAD),
        (r"builtins\.input", "A tool has no terminal. Ask the caller."),
        (r"(builtins|_?io)\.open", "Read it once before the call, or in a thread: await asyncio.to_thread(...)."),
        (r"pathlib\.(_local\.)?(Path|PosixPath|WindowsPath)\(\)\.(read|write)_(text|bytes)",
         "Read it once before the call, or in a thread: await asyncio.to_thread(...)."),
    )
]  # fmt: skip


def blocking_remedy(name: str) -> str | None:
    """What to write in the place of a call of this qualified name; None: it does not block."""
    return next((remedy for pattern, remedy in _BLOCKING if pattern.fullmatch(name)), None)


def blocking_calls(
    function: Callable[..., Any],
    node: Function,
    place: Callable[[ast.AST], Place],
    *,
    owner: type | None,
    find: Callable[[Callable[..., Any]], tuple[Function, Callable[[ast.AST], Place]] | None],
    followed: tuple[object, ...] = (),
) -> Iterator[Seen]:
    """Those of a function's body, and of what it calls. `find` gives the source of a function, and where it stands."""
    names = Names(function, node, owner)
    waited = {id(one.value) for one in own_nodes(node) if isinstance(one, ast.Await)}
    waited |= {id(item.context_expr) for one in own_nodes(node) if isinstance(one, ast.AsyncWith) for item in one.items}
    waited |= {id(one.iter) for one in own_nodes(node) if isinstance(one, ast.AsyncFor)}
    for call in own_nodes(node):
        if not isinstance(call, ast.Call) or id(call) in waited:
            continue
        qualified = names.qualified(call.func)
        if (remedy := blocking_remedy(qualified)) is not None:
            yield Seen(ast.unparse(call.func), place(call), remedy)
            continue
        called = names.value(call.func)
        if isinstance(called, (staticmethod, classmethod)):
            called = called.__func__
        if len(followed) >= DEEPEST or called in followed or not _is_followed(called):
            continue
        if (found := find(called)) is None:
            continue
        inner_node, inner_place = found
        further = (*followed, function)
        for seen in blocking_calls(called, inner_node, inner_place, owner=owner, find=find, followed=further):
            yield Seen(f"{ast.unparse(call.func)}() calls {seen.what} ({seen.place})", place(call), seen.remedy)


def _is_followed(called: object) -> bool:
    return (
        inspect.isfunction(called)
        and not inspect.iscoroutinefunction(called)
        and not inspect.isgeneratorfunction(called)
        and not inspect.isasyncgenfunction(called)
        and is_users(called.__code__.co_filename)
    )
