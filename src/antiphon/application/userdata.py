"""Userdata as JSON data, and back: field by field, so that what cannot be kept stays as the application gave it.

Dataclasses, pydantic models and dictionaries are kept by themselves; anything else by the `UserdataCodec` that its
session was given.

Above: the snapshot of a call. Below: pydantic, by the types of the fields.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import typing
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from functools import cache, partial
from typing import Any

from antiphon.errors import UsageError, pass_on
from antiphon.protocols import UserdataCodec
from antiphon.secret import holds_secret
from antiphon.session_api import Session

logger = logging.getLogger("antiphon")


class FieldsCodec:
    """Of one session: keeps the fields that JSON can hold. One that cannot be kept is named once."""

    def __init__(self) -> None:
        self._left_out: list[str] = []

    def dump(self, userdata: Any) -> Any:
        """Its fields; None: it is nothing that has fields."""
        fields = _fields(userdata)
        if fields is None:
            return None
        data = {}
        for name, (value, to_json) in fields.items():
            try:
                data[name] = to_json(value)
            except Exception as error:
                if name not in self._left_out:
                    self._left_out.append(name)
                    logger.debug("userdata: %r is not kept: %s", name, error)
        return data

    def load(self, data: Mapping[str, Any], given: Any) -> Any:
        """`given` with what was kept of its fields; it is the same object, unless it is frozen."""
        if isinstance(given, MutableMapping):
            given.update(data)
            return given
        types, values = _types_of(given) or {}, {}
        for name in types.keys() & data.keys():
            try:
                values[name] = types[name].validate_json(json.dumps(data[name]))
            except ValueError as error:
                logger.warning("userdata: what was kept of %r does not fit any more, and is left out: %s", name, error)
        return _with(given, values)


def userdata_of(session: Session[Any]) -> Any:
    """What it is now; None: the application has none."""
    try:
        return session.userdata
    except UsageError:  # some sessions want it to be given before it is asked for
        return None


def loaded(codec: UserdataCodec[Any] | FieldsCodec, data: Any, given: Any) -> Any:
    """What was kept, in the place of what the session was given. Raises `UsageError`."""
    if isinstance(codec, FieldsCodec):
        return codec.load(data, given)
    try:
        return codec.load(data)
    except BaseException as error:
        pass_on(error)
        raise UsageError(
            f"session.resume: userdata_codec could not load what was kept: {type(error).__name__}: {error}. Have it"
            " read what earlier versions of your application dumped, too."
        ) from error


def _fields(userdata: Any) -> dict[str, tuple[Any, Callable[[Any], Any]]] | None:
    """Values by name, each with what makes JSON data of it."""
    if isinstance(userdata, Mapping):
        return {name: (value, _plain) for name, value in userdata.items() if isinstance(name, str)}
    types = _types_of(userdata)
    if types is None:
        return None
    return {
        name: (getattr(userdata, name, None), partial(adapter.dump_python, mode="json", warnings=False))
        for name, adapter in types.items()
    }


def _plain(value: Any) -> Any:
    """JSON data as it is. Raises `ValueError` or `TypeError` for anything else."""
    if json.loads(json.dumps(value)) != value:
        raise ValueError(f"expected JSON data, got {type(value).__name__}")
    return value


def _types_of(userdata: Any) -> Mapping[str, Any] | None:
    kind: Any = type(userdata)
    return _types(kind)


@cache
def _types(kind: Hashable) -> Mapping[str, Any] | None:
    """What reads and writes the fields of a class that can be kept; None: it is no class with fields."""
    from pydantic import TypeAdapter  # with the first call that is kept
    from pydantic.errors import PydanticUserError

    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = {one.name: hints[one.name] for one in dataclasses.fields(kind)}
    elif hasattr(kind, "model_fields") and hasattr(kind, "model_validate"):
        fields = {name: info.annotation for name, info in kind.model_fields.items()}
    else:
        return None
    types = {}
    for name, hint in fields.items():
        if holds_secret(hint):
            continue  # a secret is known to one process alone
        try:
            types[name] = TypeAdapter(hint)
        except PydanticUserError as error:
            logger.debug("userdata: %r is not kept: %s", name, error)
    return types


def _with(given: Any, values: Mapping[str, Any]) -> Any:
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        if given.__dataclass_params__.frozen:  # type: ignore[attr-defined]  # the type checker does not know it
            return dataclasses.replace(given, **values)
    elif getattr(given, "model_config", {}).get("frozen"):
        return given.model_copy(update=values)
    for name, value in values.items():
        setattr(given, name, value)
    return given
