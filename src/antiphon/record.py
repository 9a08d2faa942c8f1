"""`@record`: a frozen dataclass that is cheap to define and cheap to make. Part of the vocabulary (layer 0).

Facts and commands are made by the hundred in every turn, and there are fifty kinds of them. A plain frozen
dataclass generates six methods for each kind by `exec`, which adds up to a third of the time that importing the
framework takes, and takes three times as long to make. A record generates its `__init__` only; the other methods are
shared. In everything else it is a dataclass: `fields()`, `replace()`, `match` and equality work as usual. Records have
no fields with factories.

The type checker refuses changes to records. Python does so only after `guard()`, because looking at every assignment
costs a twentieth of a turn: the tests run guarded. What applications are handed, and is not made in every turn, is
`@frozen`, which always refuses them, or `@mutable`, which may be changed, as what listeners are told always could.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_kinds: list[Any] = []


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make `cls` a frozen, slotted dataclass, positional and keyword arguments as usual, `field(kw_only=)` included."""
    made = _made(cls)
    for one in fields(made):
        if one.default_factory is not MISSING:
            raise TypeError(f"{cls.__name__}.{one.name}: a record has no fields with factories; use a plain default")
    made.__hash__ = _hash
    _kinds.append(made)
    result: type[T] = made
    return result


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """The same as `dataclass(slots=True, frozen=True)`, cheap to define: Python refuses changes, to subclasses, too."""
    made = _made(cls, setter="_set(self, {0!r}, {0})")
    made.__dataclass_params__.frozen = True  # for dataclasses that are made of it
    made.__hash__ = _hash
    made.__setattr__ = made.__delattr__ = _refuse
    made.__getstate__, made.__setstate__ = _values, _restore  # to be copied
    result: type[T] = made
    return result


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """The same as `dataclass(slots=True, kw_only=True)`, cheap to define."""
    made = _made(cls, kw_only=True)
    made.__hash__ = None
    result: type[T] = made
    return result


def guard() -> None:
    """Have Python refuse changes to the records of all modules that are loaded by now. For tests."""
    for kind in _kinds:
        kind.__setattr__ = _set_once
        kind.__delattr__ = _refuse


def _made(cls: type[Any], *, kw_only: bool = False, setter: str = "self.{0} = {0}") -> Any:
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    setattr(made, "__match_args__", () if kw_only else tuple(made.__dataclass_fields__))  # noqa: B010 - mypy takes it for a class
    made.__init__ = _make_init(made, setter)
    made.__repr__ = _repr
    made.__eq__ = _eq
    return made


def _make_init(cls: type[Any], setter: str) -> Any:
    names, by_name, body = ["self"], list[str](), list[str]()
    namespace: dict[str, Any] = {"_set": object.__setattr__, "_made": MISSING}
    for one in fields(cls):
        default = ""
        if one.default is not MISSING:
            namespace[f"default_{one.name}"] = one.default
            default = f"=default_{one.name}"
        elif one.default_factory is not MISSING:
            namespace[f"make_{one.name}"] = one.default_factory
            default = "=_made"
            body.append(f" if {one.name} is _made: {one.name} = make_{one.name}()\n")
        (by_name if one.kw_only else names).append(f"{one.name}{default}")
        body.append(f" {setter.format(one.name)}\n")
    arguments = [*names, "*", *by_name] if by_name else names
    exec(f"def __init__({', '.join(arguments)}):\n{''.join(body) or ' pass'}", namespace)
    return namespace["__init__"]


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self.__dataclass_fields__)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash((type(self), _values(self)))


def _set_once(self: Any, name: str, value: Any) -> None:
    if name not in self.__match_args__ or hasattr(self, name):
        _refuse(self, name)
    object.__setattr__(self, name, value)


def _restore(self: Any, values: tuple[Any, ...]) -> None:
    for name, value in zip(self.__dataclass_fields__, values, strict=True):
        object.__setattr__(self, name, value)


def _refuse(self: Any, name: str, _value: Any = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot change {name!r} of a {type(self).__name__}: records are frozen")
