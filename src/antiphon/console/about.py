"""What an agent file serves, for a page on which nobody has called yet; and what the agent of a call knows.

Above: the web application and the call, where the page is a developer's. Below: the file's module, which is looked at
and not run: what an entrypoint would make is not made for a page that is only looked at. So a model, an agent or a tool
that the file makes in another way than by its name in plain sight is shown once there was a call.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from antiphon.agent import Agent
from antiphon.calls.offered import OfferedTool, offered, offered_by
from antiphon.calls.offers import describe_model
from antiphon.calls.record import NAMELESS
from antiphon.calls.where import AGENT_MODULE
from antiphon.console.protocol import Message
from antiphon.errors import AntiphonError, pass_on
from antiphon.events import ModelRequestEvent
from antiphon.model import Model
from antiphon.options import NOT_GIVEN
from antiphon.protocols import ModelKind, ModelResolver
from antiphon.session import AgentSession
from antiphon.tasks import AgentTask
from antiphon.tools.function import FunctionTool, RawFunctionTool
from antiphon.tools.toolset import Toolset
from antiphon.vault import hide_in

KINDS: tuple[ModelKind, ...] = ("llm", "stt", "tts")
MOST_ITEMS = 100
"""Of a history, or a request, that are shown: the last ones."""
_PHRASE = re.compile(r'--say((?:\s+"[^"\n]+")+)')


def shown_name(label: str, file: Path) -> str:
    """What a page calls an agent. Of one without a name its file says more."""
    return file.stem.replace("_", " ").capitalize() if label == NAMELESS else label


# -- before a call


def about_file(file: Path, models: ModelResolver) -> Message:
    """What can be said of an agent file that was loaded. Raises nothing: what is not known is left out."""
    module = sys.modules.get(f"{AGENT_MODULE}{file.stem}")
    if module is None:
        return _about(shown_name(NAMELESS, file), "", {}, [], [])
    agents = [value for value in _values(module) if isinstance(value, Agent)]
    label = agents[0].label if len(agents) == 1 else NAMELESS
    language, given = _plain_sight(module)
    if agents:
        given = {**given, **{kind: model for kind in KINDS if (model := getattr(agents[0], kind)) is not None}}
    tools = offered(_tools_in(module), has_transactions=False)
    phrases = [phrase for said in _PHRASE.findall(module.__doc__ or "") for phrase in re.findall('"(.+?)"', said)]
    return _about(shown_name(label, file), language, _labels(models, given), tools, phrases)


def _about(
    agent: str, language: str, models: Mapping[ModelKind, str], tools: list[OfferedTool], phrases: list[str]
) -> Message:
    told = [dataclasses.asdict(tool) for tool in tools]
    return {"agent": agent, "language": language, "models": dict(models), "tools": told, "phrases": phrases}


def _values(module: ModuleType) -> list[Any]:
    return list({id(value): value for name, value in vars(module).items() if not name.startswith("__")}.values())


def _tools_in(module: ModuleType) -> list[Any]:
    """Tools at module level, and those of its agents."""
    found: list[Any] = []
    for value in _values(module):
        if isinstance(value, (FunctionTool, RawFunctionTool, Toolset)):
            found.append(value)
        elif isinstance(value, Agent):
            found += value.tools
        elif _is_own_agent(value, module):
            found += [one for one in vars(value).values() if isinstance(one, (FunctionTool, RawFunctionTool))]
    return list({id(tool): tool for tool in found}.values())


def _is_own_agent(value: object, module: ModuleType) -> bool:
    is_agent = isinstance(value, type) and issubclass(value, Agent) and not issubclass(value, AgentTask)
    return is_agent and getattr(value, "__module__", "") == module.__name__


def _labels(models: ModelResolver, given: Mapping[ModelKind, Any]) -> dict[ModelKind, str]:
    """What would run, by kind."""
    try:
        chosen = models({kind: given.get(kind, NOT_GIVEN) for kind in KINDS})
    except AntiphonError as error:
        return {"llm": str(error)}
    return {kind: describe_model(model) for kind, model in chosen.items() if isinstance(model, Model)}


def _plain_sight(module: ModuleType) -> tuple[str, dict[ModelKind, Any]]:
    """The language, and the models, that calls in the file are given by name: `stt=deepgram.STT(model="nova-3")`."""
    language, given = "en", dict[ModelKind, Any]()
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, SyntaxError):
        return language, given
    for name, value in _keywords(tree):
        if name == "language" and isinstance(value, ast.Constant) and isinstance(value.value, str):
            language = value.value
        for kind in KINDS:
            if name == kind and kind not in given and (model := _made(value, module)) is not None:
                given[kind] = model
    return language, given


def _keywords(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None)


def _made(value: ast.expr, module: ModuleType) -> Any:
    """The model that an expression names, or makes of plain values. Models are made without keys and network."""
    try:
        if not isinstance(value, ast.Call):
            named = ast.literal_eval(value)
            return named if isinstance(named, str) else None
        cls = _named(value.func, module)
        if not (isinstance(cls, type) and issubclass(cls, Model)):
            return None
        arguments = [ast.literal_eval(one) for one in value.args]
        return cls(*arguments, **{one.arg: ast.literal_eval(one.value) for one in value.keywords if one.arg})
    except Exception as error:
        pass_on(error)
        return None


def _named(value: ast.expr, module: ModuleType) -> Any:
    match value:
        case ast.Name(name):
            return vars(module).get(name)
        case ast.Attribute(inner, name):
            return getattr(_named(inner, module), name, None)
        case _:
            return None


# -- in a call


def about_session(session: AgentSession[Any], file: Path, phrases: list[str]) -> Message:
    """What the agent in charge is, and can do."""
    agent = session.current_agent
    models = {kind: describe_model(model) for kind in KINDS if isinstance(model := getattr(agent, kind), Model)}
    return _about(shown_name(agent.label, file), session.language.code, models, offered_by(session), phrases)


class Insight:
    """What the agent of one call knows, for who looks into it: it keeps the last request."""

    def __init__(self, session: AgentSession[Any], file: Path) -> None:
        self._session = session
        self._file = file
        self._request: dict[str, Any] | None = None
        session.on("model_request", self._asked)

    def look(self) -> Message:
        """Instructions, tools, history and the last request, with nothing in it that is to be secret."""
        session = self._session
        history = session.history.to_dict(exclude_timestamp=True)["items"][-MOST_ITEMS:]
        looked = {
            "type": "inspection",
            "agent": shown_name(session.current_agent.label, self._file),
            "instructions": session.current_agent.instructions,
            "tools": [dataclasses.asdict(tool) for tool in offered_by(session)],
            "history": history,
            "request": self._request,
        }
        return {key: hide_in(value) for key, value in looked.items()}

    def _asked(self, event: ModelRequestEvent) -> None:
        tools = [getattr(tool, "name", str(tool)) for tool in event.tools]
        items = event.chat_ctx.to_dict(exclude_timestamp=True)["items"]
        if len(items) > MOST_ITEMS:
            items = [items[0], *items[1 - MOST_ITEMS :]]  # the instructions stand first
        self._request = {"agent": event.agent_id, "items": items, "tools": tools}
