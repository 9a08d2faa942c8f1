"""The package as syntax: its modules, classes, functions and imports. Nothing of it is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


class When(Enum):
    """When an import takes place."""

    RUN = "when the module is loaded"
    TYPES = "for types only"
    LOCAL = "inside a function"


@dataclass(frozen=True, slots=True)
class Import:
    """One name that a module imports from one of our own modules."""

    module: str
    """Who imports."""
    line: int
    when: When
    source: str
    """The dotted name it is imported from, as written."""
    name: str
    """What is imported; "" for a whole module."""


@dataclass(slots=True)
class Module:
    """A file of the package."""

    name: str
    """Dotted: `antiphon.core.floor`. A package's own file has the name of the package."""
    path: str
    """From the root of the repository."""
    is_package: bool
    tree: ast.Module
    lines: int
    nodes: list[ast.AST]
    """All of its syntax."""
    imports: list[Import] = field(default_factory=list)

    @property
    def package(self) -> str:
        """`core` for all that is in `antiphon.core`; `antiphon` for its own modules; else the import package."""
        parts = self.name.split(".")
        if parts[0] != "antiphon":
            return parts[0]
        return parts[1] if len(parts) > 2 or (len(parts) == 2 and self.is_package) else "antiphon"


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method."""

    module: Module
    name: str
    """With the classes and functions around it: `Floor.begin_step`."""
    node: FunctionNode
    owner: ast.ClassDef | None
    """The class, if it is a method."""
    around: tuple[FunctionNode, ...] = ()
    """The functions that it stands in, outermost first."""

    @property
    def lines(self) -> int:
        """From its `def` to its last line."""
        return (self.node.end_lineno or self.node.lineno) - self.node.lineno + 1

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.module.path}:{self.node.lineno} {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """All modules, by dotted name. What is measured of it is kept, so it may not be changed."""

    modules: dict[str, Module]

    @cache  # noqa: B019 -- there is one tree
    def functions(self) -> list[Function]:
        """Every function of every module, those inside others included."""
        return [one for module in self.modules.values() for one in _functions(module, module.tree, "", None, ())]

    def source(self, one: Import) -> str | None:
        """The module that an import is about: where the name is defined, if a package only hands it on."""
        inside = f"{one.source}.{one.name}"
        if one.name and inside in self.modules:
            return inside
        module = self.modules.get(one.source)
        if module is None:
            return None
        if one.name and module.is_package:
            for handed_on in module.imports:
                if handed_on.name == one.name:
                    return self.source(handed_on)
        return one.source


def _functions(
    module: Module, node: ast.AST, prefix: str, owner: ast.ClassDef | None, around: tuple[FunctionNode, ...]
) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTION):
            name = prefix + child.name
            yield Function(module, name, child, owner, around)
            yield from _functions(module, child, name + ".", None, (*around, child))
        elif isinstance(child, ast.ClassDef):
            yield from _functions(module, child, prefix + child.name + ".", child, around)
        elif not isinstance(child, ast.expr):
            yield from _functions(module, child, prefix, owner, around)


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """What a function does itself; the functions and classes in it speak for themselves."""
    todo = list(ast.iter_child_nodes(node))
    while todo:
        child = todo.pop()
        if not isinstance(child, (*FUNCTION, ast.ClassDef)):
            yield child
            todo.extend(ast.iter_child_nodes(child))


@cache
def tree(source: Path = ROOT / "src") -> Tree:
    """Read all import packages under `source`."""
    modules: dict[str, Module] = {}
    for path in sorted(source.glob("antiphon*/**/*.py")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        text = path.read_text(encoding="utf-8")
        shown = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path.relative_to(source))
        parsed = ast.parse(text)
        module = Module(name, shown, is_package, parsed, text.count("\n"), list(ast.walk(parsed)))
        module.imports.extend(_imports(module, module.tree, When.RUN))
        modules[name] = module
    return Tree(modules)


def _imports(module: Module, node: ast.AST, when: When) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                if alias.name.split(".")[0].startswith("antiphon"):
                    yield Import(module.name, child.lineno, when, alias.name, "")
        elif isinstance(child, ast.ImportFrom):
            source = _source(module, child)
            if source.split(".")[0].startswith("antiphon"):
                for alias in child.names:
                    yield Import(module.name, child.lineno, when, source, alias.name)
        elif isinstance(child, ast.If) and when is When.RUN and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _imports(module, ast.Module(child.body, []), When.TYPES)
            yield from _imports(module, ast.Module(child.orelse, []), when)
        elif isinstance(child, FUNCTION):
            yield from _imports(module, child, When.LOCAL)
        elif not isinstance(child, ast.expr):
            yield from _imports(module, child, when)


def _source(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    above = parts[: len(parts) - node.level + module.is_package]
    return ".".join([*above, node.module] if node.module else above)
