"""The multi-turn tasks of the Berkeley Function-Calling Leaderboard (BFCL v4) as errands.

800 dialogues with stateful backends in Python, and the calls that are right in them. The package is Apache-2.0, is not
part of this one, and is installed without what it needs for models: `pip install --no-deps bfcl-eval mpmath`.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon import Agent
from antiphon.errors import UsageError
from antiphon.testing.chaos.errand import Errand, Wish, World, turns_of

if TYPE_CHECKING:
    from antiphon.testing.chaos import Bench

SETS = ("base", "long_context", "miss_func", "miss_param")
EFFECTS = Path(__file__).with_name("effects.json")
_SCHEMAS = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
_ALSO = {("close_ticket", "ticket_id"): "string"}
"""What right calls have beside what the schema says: "ticket_001", of which the backend says that there is no such."""
_KEYWORDS = ("type", "description", "properties", "items", "enum", "required")


def is_installed() -> bool:
    """The tasks are on this machine."""
    return importlib.util.find_spec("bfcl_eval") is not None


def tasks(sets: tuple[str, ...] = SETS) -> Iterator[Errand]:
    """All tasks, in the order of the package. Raises `UsageError` without it."""
    for name in sets:
        gold = _rows(f"possible_answer/BFCL_v4_multi_turn_{name}.json")
        for task in _rows(f"BFCL_v4_multi_turn_{name}.json").values():
            world = functools.partial(Backends, task, long_context=name == "long_context")
            turns = [[_wish(call, task) for call in turn] for turn in gold[task["id"]]["ground_truth"]]
            yield Errand(task["id"], turns_of(turns), world)


def effects() -> Mapping[str, Mapping[str, str]]:
    """By backend and function: reads, writes or irreversible."""
    return cast("Mapping[str, Mapping[str, str]]", json.loads(EFFECTS.read_text(encoding="utf-8")))


class Backends(World):
    """The backends of one task, as it finds them."""

    def __init__(self, task: Mapping[str, Any], *, long_context: bool) -> None:
        self._objects: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        self._effects: dict[str, str] = {}
        for name in task["involved_classes"]:
            config = _module("constants.executable_backend_config")
            backend = getattr(importlib.import_module(config.CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in config.STATELESS_CLASSES:
                scenario = copy.deepcopy(task["initial_config"].get(name, {}))
                backend._load_scenario(scenario, long_context=long_context)
            self._objects[name] = backend
            for function, effect in effects()[name].items():
                self._functions[function] = getattr(backend, function)
                self._effects[function] = effect

    def agent(self, bench: Bench) -> Agent:
        schemas = [schema for name in self._objects for schema in _schemas(name)]
        tools = [
            bench.tool(
                schema["name"],
                description=schema["description"],
                parameters=schema["parameters"],
                effect=self._effects[schema["name"]],
            )
            for schema in schemas
        ]
        return Agent(instructions="You do what you are asked to.", tools=tools)

    def writes(self, tool: str) -> bool:
        return self._effects[tool] != "reads"

    async def act(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return self._functions[tool](**copy.deepcopy(dict(arguments)))
        except Exception as error:
            return {"error": repr(error)}

    def state(self) -> str:
        """Public attributes only, as the leaderboard compares them."""
        state = {name: _plain(backend) for name, backend in self._objects.items()}
        if "GorillaFileSystem" in self._objects:
            state["working directory"] = self._objects["GorillaFileSystem"].pwd()
        return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, set):
        return sorted(map(str, value))
    if hasattr(value, "__dict__"):
        return {name: _plain(one) for name, one in vars(value).items() if name[0] != "_" and name != "parent"}
    return value


def _wish(source: str, task: Mapping[str, Any]) -> Wish:
    """A right call is Python text, `cd(folder="x")`: its arguments are literals."""
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name), source
    arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    if call.args:
        names = next(
            list(schema["parameters"]["properties"])
            for name in task["involved_classes"]
            for schema in _schemas(name)
            if schema["name"] == call.func.id
        )
        arguments |= dict(zip(names, map(ast.literal_eval, call.args), strict=False))
    return Wish(call.func.id, arguments)


@functools.cache
def _module(name: str) -> Any:
    try:
        return importlib.import_module(f"bfcl_eval.{name}")
    except ModuleNotFoundError:
        raise UsageError(
            "The tasks need the package bfcl-eval. Install it with: pip install --no-deps bfcl-eval mpmath"
        ) from None


def _data() -> Path:
    return Path(_module("constants").__path__[0]).parent / "data"


def _rows(name: str) -> dict[str, dict[str, Any]]:
    rows = map(json.loads, (_data() / name).read_text(encoding="utf-8").splitlines())
    return {row["id"]: row for row in rows}


@functools.cache
def _schemas(backend: str) -> tuple[dict[str, Any], ...]:
    """JSON schemas of a backend's functions, in the words of JSON Schema."""
    lines = (_data() / "multi_turn_func_doc" / f"{_SCHEMAS[backend]}.json").read_text(encoding="utf-8").splitlines()
    known = effects()[backend]
    found = [json.loads(line) for line in lines]
    schemas = tuple({**one, "parameters": _schema(one["parameters"])} for one in found if one["name"] in known)
    for schema in schemas:
        for name, value in schema["parameters"]["properties"].items():
            if kind := _ALSO.get((schema["name"], name)):
                value["type"] = [value["type"], kind]
    return schemas


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    schema = {name: value for name, value in given.items() if name in _KEYWORDS}
    kind = _TYPES.get(schema.get("type", ""), schema.get("type"))
    schema = {name: value for name, value in schema.items() if name != "type"} | ({"type": kind} if kind else {})
    if "properties" in schema:
        schema["properties"] = {name: _schema(value) for name, value in schema["properties"].items()}
    if "items" in schema:
        schema["items"] = _schema(schema["items"])
    return schema
