"""From the path of a Python file to an agent that can be called.

A file may hold an `AgentServer` with an entrypoint, or an `Agent` at module level, or one `Agent` subclass that needs
no arguments; whichever it is, what comes out is an `AgentServer`. Everything that can be wrong with the file is an
`AgentFileError`, one line long. A file written for LiveKit may name its entrypoint in `if __name__ == "__main__":`
only, so that block is run too, where nothing else says what to serve.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from antiphon.agent import Agent
from antiphon.calls.start import describe
from antiphon.calls.where import AGENT_MODULE
from antiphon.discovery import load
from antiphon.errors import AgentFileError, pass_on
from antiphon.server.entrypoint import AgentServer, loading
from antiphon.server.job import JobContext
from antiphon.session import AgentSession
from antiphon.tasks import AgentTask

_EXAMPLE = "Write `agent = Agent(instructions=...)` at module level, or an AgentServer with an entrypoint."


def load_agent_file(path: Path, *, livekit: bool = False) -> AgentServer:
    """The server that a file defines, or one made for the agent in it. Raises `AgentFileError`.

    `livekit`: the file is written for LiveKit; what it imports from there is ours from now on.
    """
    if not livekit:
        return _server_in(path, _import(path), again=lambda: _import(path))
    names = load("antiphon.compat", "livekit")
    names.install()
    with names.collecting() as served:
        module = _import(path, until_served=served)
    return served[-1] if served else _server_in(path, module, again=lambda: _import(path))


def _server_in(path: Path, module: ModuleType, *, again: Callable[[], ModuleType]) -> AgentServer:
    """What the module of a file serves. `again` runs the file once more."""
    servers = [value for value in _distinct(module) if isinstance(value, AgentServer)]
    ready = [server for server in servers if server.entrypoint is not None]
    if len(ready) > 1:
        raise AgentFileError(f"{path}: expected one AgentServer with an entrypoint, got {len(ready)}. Keep one.")
    if ready:
        return ready[0]
    if servers:
        raise AgentFileError(
            f"{path}: its AgentServer has no entrypoint. Decorate a coroutine function with @server.rtc_session."
        )
    return _serve(_agent_factory(path, module, again=again))


def _import(path: Path, *, until_served: Sequence[AgentServer] | None = None) -> ModuleType:
    """The module. `until_served`: run its main block, too, unless there is something in here already."""
    if not path.is_file():
        raise AgentFileError(f"no such agent file: {path}. Give the path of a Python file.")
    name = f"{AGENT_MODULE}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if path.suffix != ".py" or spec is None or spec.loader is None:
        raise AgentFileError(f"{path} is not a Python file. Give a path that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    # Type hints are looked up by module name, and the file's neighbours are imported by theirs.
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    token = loading.set(True)
    try:
        spec.loader.exec_module(module)
        if until_served is not None and not until_served:
            _run_main_block(path, module)
    except SyntaxError as error:
        raise AgentFileError(f"{error.filename or path}:{error.lineno}: syntax error: {error.msg}.") from error
    except BaseException as error:
        pass_on(error)
        raise AgentFileError(f"{_where(path, error)}: {describe(error)}{_remedy(error)}") from error
    finally:
        loading.reset(token)
    return module


def _run_main_block(path: Path, module: ModuleType) -> None:
    """What the file does when it is run as a program, in the module that it has become."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and _is_main_guard(node.test)]
    for block in blocks:
        exec(compile(ast.Module(block.body, []), str(path), "exec", dont_inherit=True), vars(module))


def _is_main_guard(test: ast.expr) -> bool:
    return ast.unparse(test) in ("__name__ == '__main__'", "'__main__' == __name__")


def _remedy(error: BaseException) -> str:
    """What helps against a missing module, where we know."""
    missing = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    if missing.startswith("antiphon.plugins."):
        package, _, vendor = missing.rpartition(".")
        try:
            getattr(sys.modules[package], vendor)
        except ImportError as told:  # it knows what there is
            return f". {told}"
    match missing.partition(".")[0]:
        case "livekit":
            return ". Run a file written for LiveKit with --livekit."
        case "dotenv" | "aiohttp":
            return ". Install it with: pip install 'antiphon[livekit]'"
        case _:
            return ""


def _where(path: Path, error: BaseException) -> str:
    """The last line of the file itself on the way to the error."""
    file = path.resolve()  # what runs has its full path, whatever was typed
    here = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == file]
    return f"{path}:{here[-1].lineno}" if here else str(path)


def _distinct(module: ModuleType) -> list[Any]:
    """The module's values, each once, in order of definition."""
    return list({id(value): value for name, value in vars(module).items() if not name.startswith("__")}.values())


def _agent_factory(path: Path, module: ModuleType, *, again: Callable[[], ModuleType]) -> Callable[[], Agent]:
    agents = [value for value in _distinct(module) if isinstance(value, Agent)]
    if len(agents) == 1:
        # An agent keeps its conversation: the one at hand is for the first call, and each further call gets its own.
        return lambda: agents.pop() if agents else _only_agent(again())
    if agents:
        raise AgentFileError(
            f"{path}: expected one agent at module level, got {len(agents)}. Keep one, or write an AgentServer"
            " entrypoint that says which begins."
        )
    classes = [
        value
        for value in _distinct(module)
        if isinstance(value, type)
        and issubclass(value, Agent)
        and not issubclass(value, AgentTask)
        and value.__module__ == module.__name__
    ]
    plain = [cls for cls in classes if _needs_nothing(cls)]
    if len(plain) == 1:
        return plain[0]
    if plain:
        names = ", ".join(cls.__name__ for cls in plain)
        raise AgentFileError(f"{path}: expected one Agent class, got {names}. Add `agent = {plain[0].__name__}()`.")
    if classes:
        raise AgentFileError(
            f"{path}: {classes[0].__name__} needs arguments. Add `agent = {classes[0].__name__}(...)` at module level."
        )
    raise AgentFileError(f"{path} holds no agent. {_EXAMPLE}")


def _only_agent(module: ModuleType) -> Agent:
    return next(value for value in _distinct(module) if isinstance(value, Agent))


def _needs_nothing(cls: type[Agent]) -> bool:
    if cls.__init__ is Agent.__init__:
        return True
    return all(
        parameter.default is not parameter.empty or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]
    )


def _serve(make: Callable[[], Agent]) -> AgentServer:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(context: JobContext) -> None:
        await AgentSession().start(agent=make(), room=context.room)

    return server
