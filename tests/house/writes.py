"""Writes into other objects: how much of an object's state is changed by others.

What counts, once for each place in the text:

- an assignment to an attribute, `x.y = ...`, `x.y += ...`, `del x.y`, `for x.y in ...`, also by `setattr`;
- an item of a container that belongs to an object: `x.y[k] = ...`;
- a call that changes such a container: `x.y.append(...)`, `add`, `update`, `pop` (`MUTATORS`). Whether `y` is a
  container is known by its name: a class of the tree annotates or makes an attribute of that name as one. `x.y.add()`
  of an object of ours is its method, and no write;
- both of these, for a container that was handed over as an argument (and is annotated as one);
- a setter in disguise: a method that does nothing but assign its arguments to attributes of its object. Who calls it
  assigns.

What does not count, because the object is not another's:

- `self` and `cls`, and what is reached through them in one expression: a class may keep its state in parts. This could
  be used to hide writes (`turn.ready = False` counts where `turn = self._floor.turn`, and `self._floor.turn.ready =
  False` does not), so those are counted apart, as *reached through self*, and may not become more;
- what this function has just made: a class called, a literal, a copy, what a library returned. A name that is bound in
  two ways, one of them to something that was there before, is not made here;
- globals of the own module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from tests.house.tree import FUNCTION, Function, FunctionNode, Tree, inside

MUTATORS = frozenset(
    "append appendleft add update extend extendleft insert pop popleft popitem remove discard clear setdefault sort "
    "reverse rotate".split()
)
CONTAINERS = frozenset(
    "list dict set deque defaultdict Counter OrderedDict bytearray List Dict Set Deque MutableMapping MutableSequence "
    "MutableSet WeakSet WeakKeyDictionary WeakValueDictionary".split()
)
COPIES = frozenset("copy deepcopy replace dict list set sorted bytearray __new__".split())
"""Functions and methods that give something new, whoever has them."""

_MADE = (
    ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Constant,
    ast.JoinedStr, ast.BinOp, ast.UnaryOp, ast.Compare,
)  # fmt: skip
_CONTAINER_MADE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)

Target: TypeAlias = tuple[ast.expr, bool]
"""What is written to: the object, and whether it is changed as a container."""


@dataclass(frozen=True, slots=True)
class Write:
    """A place that changes another object."""

    function: Function
    line: int
    what: str
    through_self: bool = False
    """The object was reached through `self`: counted apart."""

    def __str__(self) -> str:
        return f"{self.function.module.path}:{self.line} {self.function.name}: {self.what}"


@cache
def writes(tree: Tree) -> list[Write]:
    """All of them, those that were reached through `self` included, in the order of the text."""
    containers = _container_names(tree)
    libraries = {name: _library_names(module.nodes) for name, module in tree.modules.items()}
    globals_ = {name: frozenset(_bound(module.tree.body)) for name, module in tree.modules.items()}
    found: list[Write] = []
    for function in tree.functions():
        name = function.module.name
        found += _writes_of(function, containers, libraries[name], globals_[name])
    return found


def _writes_of(
    function: Function, containers: frozenset[str], libraries: frozenset[str], globals_: frozenset[str]
) -> Iterator[Write]:
    targets = [(node, target) for node in inside(function.node) for target in _targets_of(node)]
    if targets:
        own, handed_over = _own_names(function, libraries, globals_)
        for node, (target, is_container) in targets:
            name = _changed(target, handed_over, containers if is_container else None)
            if name is not None and name not in own:
                yield Write(function, _line(node, function), _shown(node))
            elif name == "self" and _depth(target) > (2 if is_container else 1):
                yield Write(function, _line(node, function), _shown(node), through_self=True)
    if function.owner is not None and _is_setter(function.node):
        yield Write(function, function.node.lineno, "a setter")


def _line(node: ast.AST, function: Function) -> int:
    """A node without a line of its own, such as an item of a `with`, gets that of its function."""
    return getattr(node, "lineno", function.node.lineno)


def _shown(node: ast.AST) -> str:
    return ast.unparse(node).split("\n")[0]


def _depth(target: ast.expr) -> int:
    """How many names: 2 for `self.x`."""
    return sum(isinstance(one, (ast.Attribute, ast.Name)) for one in ast.walk(target))


def _changed(target: ast.expr, handed_over: frozenset[str], containers: frozenset[str] | None) -> str | None:
    """The name of the object that is changed, or through which it is reached. `containers` None: whatever it is."""
    if containers is not None:
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            return f"{target.id} as an argument" if target.id in handed_over else None
        if not isinstance(target, ast.Attribute) or target.attr not in containers:
            return None
        target = target.value
    return _root(target)


def _targets_of(node: ast.AST) -> Iterator[Target]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            written = targets
        case ast.AugAssign(target=target) | ast.For(target=target) | ast.AsyncFor(target=target):
            written = [target]
        case ast.AnnAssign(target=target, value=ast.expr()):
            written = [target]
        case ast.withitem(optional_vars=ast.expr() as target):
            written = [target]
        case ast.Call(func=ast.Attribute(value=target, attr=called)) if called in MUTATORS:
            yield target, True
            return
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]):
            yield target, False
            return
        case ast.Call(func=ast.Attribute(attr="__setattr__"), args=[target, *_]):
            yield target, False
            return
        case _:
            return
    for target in written:
        yield from _parts(target)


def _parts(target: ast.expr) -> Iterator[Target]:
    match target:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _parts(part)
        case ast.Starred(value=value):
            yield from _parts(value)
        case ast.Attribute(value=value):
            yield value, False
        case ast.Subscript(value=value):
            yield value, True


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _own_names(
    function: Function, libraries: frozenset[str], globals_: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The names of what is no other object, and of the containers that were handed over."""
    own = {"self", "cls", *globals_}
    handed_over: set[str] = set()
    for node in (*function.around, function.node):
        arguments = list(_arguments(node))
        names = {one.arg for one in arguments} - {"self", "cls"}
        made, found = _bindings(node, own, libraries)
        own = (own - names - found) | (made - found - names)
        handed_over = (handed_over - made - found) | {one.arg for one in arguments if _is_container(one.annotation)}
    return frozenset(own), frozenset(handed_over)


def _bindings(function: FunctionNode, own: set[str], libraries: frozenset[str]) -> tuple[set[str], set[str]]:
    """The names that a function binds: to what it makes, and to what was there before."""
    made: set[str] = set()
    found: set[str] = set()
    for node in inside(function):
        value: ast.expr | None = None
        match node:
            case ast.Assign(targets=targets):
                value = node.value
            case ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
                targets, value = [target], node.value
            case ast.withitem(optional_vars=ast.expr() as target):
                targets, value = [target], node.context_expr
            case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
                targets = [target]
            case _:
                continue
        names = {name for target in targets for name in _bound_in(target)}
        is_made = value is not None and isinstance(targets[0], ast.Name) and _makes(value, libraries)
        (made if is_made else found).update(names)
    return made, found


def _bound_in(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _makes(value: ast.expr, libraries: frozenset[str]) -> bool:
    """The expression gives an object that nobody else has."""
    match value:
        case ast.Await(value=inner) | ast.NamedExpr(value=inner):
            return _makes(inner, libraries)
        case ast.IfExp(body=body, orelse=orelse):
            return _makes(body, libraries) and _makes(orelse, libraries)
        case ast.BoolOp(values=values):
            return all(_makes(one, libraries) for one in values)
        case ast.Subscript(slice=ast.Slice()):
            return True
        case ast.Call(func=called):
            return _called_makes(called, libraries)
    return isinstance(value, _MADE)


def _called_makes(called: ast.expr, libraries: frozenset[str]) -> bool:
    if isinstance(called, ast.Subscript):  # `Class[T]()`
        called = called.value
    names: list[str] = []
    while isinstance(called, ast.Attribute):
        names.append(called.attr)
        called = called.value
    if isinstance(called, ast.Call):  # `type(self)()`, `super().copy()`
        return isinstance(called.func, ast.Name) and called.func.id in ("type", "super")
    if isinstance(called, ast.Name):
        names.append(called.id)
    if not names:
        return False
    is_class = any(name.lstrip("_")[:1].isupper() for name in names)
    return is_class or names[0] in COPIES | CONTAINERS or names[-1] == "cls" or names[-1] in libraries


def _library_names(nodes: list[ast.AST]) -> frozenset[str]:
    """What a module imports from elsewhere."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            aliases = [alias for alias in node.names if not alias.name.startswith("antiphon")]
            names.update((alias.asname or alias.name).split(".")[0] for alias in aliases)
        elif isinstance(node, ast.ImportFrom) and not node.level and not (node.module or "").startswith("antiphon"):
            names.update(alias.asname or alias.name for alias in node.names)
    return frozenset(names)


def _bound(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that a module defines."""
    for node in body:
        if isinstance(node, (*FUNCTION, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def _arguments(function: FunctionNode) -> Iterator[ast.arg]:
    yield from (node for node in ast.walk(function.args) if isinstance(node, ast.arg))


def _is_container(annotation: ast.expr | None) -> bool:
    match annotation:
        case ast.BinOp(left=left, right=right):
            return _is_container(left) or _is_container(right)
        case ast.Subscript(value=value):
            return _is_container(value)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in CONTAINERS
    return False


def _container_names(tree: Tree) -> frozenset[str]:
    """The names of attributes that are containers somewhere."""
    names: set[str] = set()
    for module in tree.modules.values():
        for node in module.nodes:
            match node:
                case ast.ClassDef(body=body):
                    names.update(_fields(body))
                case ast.AnnAssign(target=ast.Attribute(attr=name), annotation=annotation):
                    if _is_container(annotation):
                        names.add(name)
                case ast.Assign(targets=[ast.Attribute(attr=name)], value=value):
                    if isinstance(value, _CONTAINER_MADE) or (
                        isinstance(value, ast.Call) and _is_container(value.func)
                    ):
                        names.add(name)
    return frozenset(names)


def _fields(body: list[ast.stmt]) -> Iterator[str]:
    """The containers that a class declares, properties included."""
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_container(node.annotation):
            yield node.target.id
        elif isinstance(node, FUNCTION) and _is_container(node.returns) and is_property(node):
            yield node.name


def is_property(function: FunctionNode) -> bool:
    """The method is read like an attribute."""
    return any(ast.unparse(one).endswith(("property", ".setter")) for one in function.decorator_list)


def _is_setter(function: FunctionNode) -> bool:
    if function.name.startswith("__"):
        return False
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    names = {one.arg for one in _arguments(function)} - {"self", "cls"}
    return bool(body) and all(_assigns_argument(one, names) for one in body)


def _assigns_argument(node: ast.stmt, names: set[str]) -> bool:
    match node:
        case ast.Assign(targets=targets, value=ast.Name(id=name)):
            return name in names and all(isinstance(one, ast.Attribute) for one in targets)
        case ast.AnnAssign(target=ast.Attribute(), value=ast.Name(id=name)):
            return name in names
    return False
