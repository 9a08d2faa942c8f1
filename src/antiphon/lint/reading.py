"""From an agent file to what is known of its agents without a call.

An agent that stands in the module is looked at as it is; a class that needs no arguments is made once; of one that
needs some, and of `Agent(...)` in a function, only what is in plain sight is known. What cannot be known is said
(`AgentView.unseen`), and rules that would have to know it are silent.

Above: `antiphon lint`. Below: the loader of agent files, `source`, and `static`, which reads expressions.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from antiphon.agent import Agent
from antiphon.calls.where import AGENT_MODULE, as_typed, is_users
from antiphon.errors import ToolDefinitionError, UsageError, pass_on
from antiphon.lint.blocking import blocking_calls
from antiphon.lint.description import NO_AGENT, AgentView, Dialect, HookView, Place, ServerView, ToolView
from antiphon.lint.source import Sources, code_of, ignored_in
from antiphon.lint.static import StaticAgent, agents_in, made_by
from antiphon.server.agent_file import load_agent_file
from antiphon.tools.function import AnyFunctionTool, FunctionTool, RawFunctionTool, find_function_tools
from antiphon.tools.guarantees import guarantee_of
from antiphon.tools.mcp import MCPToolset
from antiphon.tools.signature import innermost
from antiphon.tools.toolset import ToolContext


def read_agents(path: Path, *, livekit: bool = False) -> tuple[AgentView, ...]:
    """The agents that a file may bring into a call, as far as that is known. Raises `AgentFileError`.

    `livekit`: it is written for LiveKit. The file is imported; no call is made, and no model is asked.
    """
    load_agent_file(path, livekit=livekit)
    return _Reader("livekit" if livekit else "antiphon").file(sys.modules[f"{AGENT_MODULE}{path.stem}"])


def describe_module(module: ModuleType) -> tuple[AgentView, ...]:
    """The agents of a module that is there already, and of the user's own modules that it takes from."""
    return _Reader("antiphon").file(module)


def describe_agent(agent: Agent) -> AgentView:
    """One agent, as it is."""
    return _Reader("antiphon").instance(agent, Place())


class _Reader:
    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._sources = Sources()

    def file(self, module: ModuleType) -> tuple[AgentView, ...]:
        """All agents of a file, and of the user's own modules that it imports."""
        modules = list(_modules(module))
        found: list[AgentView] = []
        instances = _unique(value for one in modules for value in _values(one) if isinstance(value, Agent))
        classes = _unique(
            value for one in modules for value in _values(one) if _is_agent_class(value) and _is_in(value, modules)
        )
        for one in modules:
            found += [self.instance(agent, self._assigned(one, agent)) for agent in instances if _holds(one, agent)]
        for cls in classes:
            is_base = any(other is not cls and issubclass(other, cls) for other in classes)
            if not is_base and not any(type(agent) is cls for agent in instances):
                found.append(self._class(cls))
        for one in modules:
            tree = self._sources.tree(_file_of(one))
            found += [self._static(static) for static in agents_in(tree, one)] if tree is not None else []
        found = list({(view.name, view.place): view for view in found}.values())
        return (*found, *self._loose(modules, found))

    # -- agents

    def instance(self, agent: Agent, place: Place) -> AgentView:
        cls = type(agent)
        defined = self._definition(cls) if cls is not Agent else None
        where, ignores = (place, self._ignored_at(place)) if defined is None else defined
        return self._view(agent.label, agent.instructions, agent.tools, where, ignores, cls)

    def _class(self, cls: type[Agent]) -> AgentView:
        place, ignores = self._definition(cls) or (Place(), frozenset())
        if (agent := _made(cls)) is not None:
            return self._view(cls.__name__, agent.instructions, agent.tools, place, ignores, cls)
        static = made_by(cls, self._sources)
        bound = [tool.bind(_Anybody()) for tool in find_function_tools(cls)]
        return self._view(
            cls.__name__, static.instructions, [*static.tools, *bound], place, ignores, cls, unseen=static.unseen
        )

    def _static(self, static: StaticAgent) -> AgentView:
        file = as_typed(static.file)
        place = Place(file, static.line)
        return self._view(
            static.name, static.instructions, static.tools, place, self._ignored_at(place), Agent, unseen=static.unseen
        )

    def _view(
        self,
        name: str,
        instructions: str,
        tools: Sequence[Any],
        place: Place,
        ignores: frozenset[str],
        cls: type[Agent],
        *,
        unseen: tuple[str, ...] = (),
    ) -> AgentView:
        table, left_out = ToolContext.leaving_out_unusable(tools)
        views = [self._tool(tool, cls) for tool in table.function_tools.values()]
        broken = [(tool, str(error)) for tool, error in left_out if isinstance(tool, (FunctionTool, RawFunctionTool))]
        views += [self._tool(tool, cls, problem=why) for tool, why in broken]
        changes = any("update_tools" in names for names in _names_used(cls, table.function_tools.values()))
        servers = tuple(ServerView(one.id, one.is_filtered) for one in table.toolsets if isinstance(one, MCPToolset))
        if changes:
            unseen = (*unseen, "it changes its tools in the call (update_tools)")
        unseen = (*unseen, *(f"the tools of the server {one.id!r} are known once it is connected" for one in servers))
        return AgentView(
            name,
            instructions,
            tuple(views),
            place,
            tuple(self._hooks(cls)),
            servers,
            unseen,
            self._dialect,
            ignores,
        )

    def _loose(self, modules: Sequence[ModuleType], agents: Sequence[AgentView]) -> Iterator[AgentView]:
        """Tools at module level that no agent was found to have."""
        held = {(tool.name, tool.place) for agent in agents for tool in agent.tools}
        loose = _unique(
            value for one in modules for value in _values(one) if isinstance(value, (FunctionTool, RawFunctionTool))
        )
        left = [view for tool in loose if ((view := self._tool(tool, Agent)).name, view.place) not in held]
        if left:
            unseen = ("no agent was found that has these tools",)
            yield AgentView(NO_AGENT, "", tuple(left), left[0].place, unseen=unseen, dialect=self._dialect)

    # -- tools

    def _tool(self, tool: AnyFunctionTool, cls: type, *, problem: str = "") -> ToolView:
        plain = innermost(tool.function)
        found = self._sources.function(plain)
        file = getattr(getattr(plain, "__code__", None), "co_filename", "")
        ignores = frozenset[str]() if found is None else self._sources.ignored(file, found[0])
        schema: dict[str, Any] = {}
        try:
            schema = tool.spec.parameters
        except ToolDefinitionError as error:
            problem = problem or str(error)
        return ToolView(
            tool.name,
            tool.description,
            schema,
            tool.options,
            guarantee_of(tool, has_transactions=False),
            guarantee_of(tool, has_transactions=True),
            Place() if found is None else found[1](found[0]),
            code_of(plain, self._sources, cls) if is_users(file) else None,
            is_users(file),
            problem,
            ignores,
        )

    def _hooks(self, cls: type[Agent]) -> Iterator[HookView]:
        """The coroutine functions of the user's classes that are no tools."""
        for base in cls.__mro__:
            for name, value in vars(base).items():
                if not inspect.iscoroutinefunction(value) or not is_users(value.__code__.co_filename):
                    continue
                if (found := self._sources.function(value)) is not None:
                    node, place = found
                    seen = tuple(blocking_calls(value, node, place, owner=cls, find=self._sources.function))
                    yield HookView(name, place(node), seen)

    # -- places

    def _definition(self, cls: type) -> tuple[Place, frozenset[str]] | None:
        """Where a class stands, and what a comment there leaves out."""
        file = _file_of(sys.modules.get(cls.__module__))
        tree = self._sources.tree(file) if file else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                return Place(as_typed(file), node.lineno), self._sources.ignored(file, node)
        return None

    def _assigned(self, module: ModuleType, agent: Agent) -> Place:
        """Where a module gives an agent its name."""
        names = {name for name, value in vars(module).items() if value is agent}
        file = _file_of(module)
        tree = self._sources.tree(file)
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets):
                return Place(as_typed(file), node.lineno)
        return Place(as_typed(file), 1)

    def _ignored_at(self, place: Place) -> frozenset[str]:
        lines = self._sources.lines(str(Path(place.file).resolve())) if place.file else []
        near = lines[max(place.line - 2, 0) : place.line]
        if len(near) == 2 and not near[0].strip().startswith("#"):
            near = near[1:]
        return frozenset().union(*map(ignored_in, near)) if near else frozenset()


class _Anybody:
    """In the place of an agent that cannot be made without a call."""


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    """The file's module, and those of the user's that it takes from."""
    seen: dict[str, ModuleType] = {}
    waiting = [module]
    while waiting:
        one = waiting.pop(0)
        if one.__name__ in seen:
            continue
        seen[one.__name__] = one
        yield one
        for value in _values(one):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            other = sys.modules.get(name) if isinstance(name, str) else None
            if isinstance(value, ModuleType) and value.__name__.startswith(f"{one.__name__}."):
                continue  # a module of a package is there because anybody has imported it
            if other is not None and is_users(_file_of(other)):
                waiting.append(other)


def _file_of(module: object) -> str:
    file = getattr(module, "__file__", None)
    return str(Path(file).resolve()) if isinstance(file, str) else ""


def _values(module: ModuleType) -> list[Any]:
    return [value for name, value in vars(module).items() if not name.startswith("__")]


def _unique(values: Iterable[Any]) -> list[Any]:
    return list({id(value): value for value in values}.values())


def _holds(module: ModuleType, agent: Agent) -> bool:
    return any(value is agent for value in _values(module))


def _is_agent_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Agent) and value is not Agent


def _is_in(cls: type, modules: Sequence[ModuleType]) -> bool:
    return any(cls.__module__ == module.__name__ for module in modules)


def _made(cls: type[Agent]) -> Agent | None:
    """An agent of a class that needs nothing; None if it needs something, or cannot be made outside a call."""
    if inspect.isabstract(cls) or (cls.__init__ is Agent.__init__):
        return None
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    named = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(one.default is one.empty and one.kind not in named for one in parameters):
        return None
    try:
        return cls()
    except UsageError:
        return None
    except BaseException as error:  # code of the application, which may need a call
        pass_on(error)
        return None


def _names_used(cls: type[Agent], tools: Iterable[AnyFunctionTool]) -> Iterator[tuple[str, ...]]:
    for base in cls.__mro__:
        if is_users(_file_of(sys.modules.get(base.__module__))):
            yield from (value.__code__.co_names for value in vars(base).values() if isinstance(value, FunctionType))
    for tool in tools:
        yield getattr(getattr(innermost(tool.function), "__code__", None), "co_names", ())
