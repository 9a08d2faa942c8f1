"""What is measured: circles of imports, sizes, public methods, private reach, imports of what is not public."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.house.tree import FUNCTION, Function, Import, Module, Tree, When
from tests.test_layering import LAYERS

LONGEST_FUNCTION = 60
LONGEST_MODULE = 600
MOST_METHODS = 20
MOST_WRITES = 3.0
"""Writes into other objects, per 1,000 lines."""

WHENS: dict[str, tuple[When, ...]] = {
    "run time": (When.RUN,),
    "with types": (When.RUN, When.TYPES),
    "with local": (When.RUN, When.TYPES, When.LOCAL),
}

MANY_METHODS = {
    "AgentSession": "ours, the public face of a session",
    "Session": "ours, what `AgentSession` promises to hooks and tools",
    "Agent": "ours, the public face of an agent",
}
"""Classes that may have many public methods, and whose contract that is. A subclass counts what it adds."""

OUR_USERS = ("tools", "tasks", "toolkit")
"""Packages that may use what users have, and nothing else."""
ABOUT_NO_SESSION = LAYERS[0] | LAYERS[2] | {"text"}
"""Vocabulary and contracts: they know nothing of a session, so using them is no reach into it."""

BESIDE = ("antiphon.providers.standin", "antiphon.compat.livekit", "antiphon.plugins", "antiphon.inference")
"""Beside the framework: the dialogue engine, and LiveKit's names. Import packages of their own are beside it, too."""


# -- imports


@dataclass(frozen=True, slots=True)
class Circle:
    """Modules that cannot be loaded, or understood, without one another."""

    modules: tuple[str, ...]
    lines: int


@cache
def circles(tree: Tree, whens: tuple[When, ...]) -> list[Circle]:
    """The circles of modules that import each other then, the largest first. A module alone is none."""
    graph: dict[str, set[str]] = {name: set() for name in tree.modules}
    for module in tree.modules.values():
        for one in module.imports:
            source = tree.source(one) if one.when in whens else None
            if source is not None and source != module.name:
                graph[module.name].add(source)
    found = [
        Circle(tuple(sorted(names)), sum(tree.modules[name].lines for name in names))
        for names in _components(graph)
        if len(names) > 1
    ]
    return sorted(found, key=lambda one: -len(one.modules))


def links(tree: Tree, circle: Circle, whens: tuple[When, ...]) -> list[str]:
    """The imports that hold a circle together."""
    return [
        f"{tree.modules[name].path}:{one.line} imports {one.name or one.source} of {one.source} {one.when.value}"
        for name in circle.modules
        for one in tree.modules[name].imports
        if one.when in whens and tree.source(one) in circle.modules and tree.source(one) != name
    ]


def _components(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Strongly connected components (Tarjan's way, without recursion)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[tuple[str, ...]] = []
    for start in graph:
        if start in numbers:
            continue
        todo: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(graph[start])))]
        numbers[start] = lowest[start] = len(numbers)
        stack.append(start)
        while todo:
            name, rest = todo[-1]
            follower = next(rest, None)
            if follower is None:
                todo.pop()
                if todo:
                    lowest[todo[-1][0]] = min(lowest[todo[-1][0]], lowest[name])
                if lowest[name] == numbers[name]:
                    at = stack.index(name)
                    found.append(tuple(stack[at:]))
                    del stack[at:]
            elif follower not in numbers:
                numbers[follower] = lowest[follower] = len(numbers)
                stack.append(follower)
                todo.append((follower, iter(sorted(graph[follower]))))
            elif follower in stack:
                lowest[name] = min(lowest[name], numbers[follower])
    return found


@cache
def not_public(tree: Tree) -> list[tuple[Import, Module]]:
    """What `tools/`, `tasks/` and `toolkit/` import of a session that users do not have.

    Users have what `antiphon` exports. Vocabulary and contracts know nothing of a session, and packages know themselves
    and each other.
    """
    exported = {one.name for one in tree.modules["antiphon"].imports}
    found = []
    for module in tree.modules.values():
        if module.package not in OUR_USERS:
            continue
        for one in module.imports:
            parts = (tree.source(one) or one.source).split(".")
            inner = parts[1] if len(parts) > 1 else ""
            if inner in OUR_USERS or inner in ABOUT_NO_SESSION or one.name in exported:
                continue
            found.append((one, module))
    return found


# -- sizes


def long_functions(tree: Tree) -> list[Function]:
    """Functions that are too long, the longest first."""
    found = [one for one in tree.functions() if one.lines > LONGEST_FUNCTION]
    return sorted(found, key=lambda one: -one.lines)


def long_modules(tree: Tree) -> list[Module]:
    """Modules that are too long, the longest first."""
    found = [one for one in tree.modules.values() if one.lines > LONGEST_MODULE]
    return sorted(found, key=lambda one: -one.lines)


@dataclass(frozen=True, slots=True)
class Class:
    """A class and what it offers, inherited from our own bases included."""

    name: str
    module: Module
    node: ast.ClassDef
    methods: frozenset[str]

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.module.path}:{self.node.lineno} {self.name}"


@cache
def broad_classes(tree: Tree) -> list[Class]:
    """Classes with too many public methods (properties included), the broadest first."""
    index = {
        (name, node.name): (module, node)
        for name, module in tree.modules.items()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    }
    found = []
    for (name, title), (module, node) in index.items():
        methods = frozenset(_methods(tree, index, name, title, ()))
        if len(methods) > MOST_METHODS and title not in MANY_METHODS:
            found.append(Class(title, module, node, methods))
    return sorted(found, key=lambda one: -len(one.methods))


def _methods(
    tree: Tree,
    index: dict[tuple[str, str], tuple[Module, ast.ClassDef]],
    name: str,
    title: str,
    below: tuple[tuple[str, str], ...],
) -> Iterator[str]:
    if (name, title) not in index or (name, title) in below or (below and title in MANY_METHODS):
        return
    module, node = index[name, title]
    for child in node.body:
        if isinstance(child, FUNCTION) and not child.name.startswith("_"):
            yield child.name
    for base in node.bases:
        base = base.value if isinstance(base, ast.Subscript) else base
        called = base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""
        source = next((tree.source(one) for one in module.imports if one.name == called), None)
        yield from _methods(tree, index, source or name, called, (*below, (name, title)))


# -- private reach


@dataclass(frozen=True, slots=True)
class Reach:
    """A place that uses another module's private part."""

    name: str
    place: str


@cache
def private_reach(tree: Tree) -> list[Reach]:
    """`x._y` where `_y` belongs to classes or modules of ours, none of which is in the module that says so."""
    defined = {name: _private_names(module.nodes) for name, module in tree.modules.items()}
    anywhere = frozenset().union(*defined.values())
    found = []
    for name, module in tree.modules.items():
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and node.attr in anywhere and node.attr not in defined[name]:
                if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                    found.append(Reach(node.attr, f"{module.path}:{node.lineno} {ast.unparse(node)}"))
    return found


def _private_names(nodes: list[ast.AST]) -> frozenset[str]:
    """The private names that a module defines: functions, classes, globals, fields, and attributes of `self`."""
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                names.add(name)
    return frozenset(one for one in names if one.startswith("_") and not one.endswith("__"))


# -- lines


def lines_by_package(tree: Tree) -> Counter[str]:
    """How many lines each package has."""
    lines: Counter[str] = Counter()
    for module in tree.modules.values():
        lines[module.package] += module.lines
    return lines


def framework_lines(tree: Tree) -> int:
    """Lines of the framework itself, without what stands beside it."""
    return sum(
        module.lines
        for name, module in tree.modules.items()
        if name.split(".")[0] == "antiphon" and not any(f"{name}.".startswith(f"{one}.") for one in BESIDE)
    )
