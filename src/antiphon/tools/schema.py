"""Parameters to JSON schema, and a dict of arguments to checked values.

Above: `function`. Below: `signature` (parameters), `meaning` (what models write for what they mean), `complaints`
(error words). pydantic is imported on the first build: defining tools does not cost that. Tools that bring a schema of
their own are the business of `raw`.

A schema for a model is short: no titles, nothing by reference unless it is recursive, every allowed value in words.
"""

from __future__ import annotations

import copy
import functools
import json
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from antiphon.errors import ToolDefinitionError, pass_on
from antiphon.tools.arguments import MAX_CHARS
from antiphon.tools.complaints import from_pydantic
from antiphon.tools.meaning import Meaning, allows_null
from antiphon.tools.signature import REQUIRED, Parameter

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.json_schema import GenerateJsonSchema

Schema = dict[str, Any]


@dataclass(slots=True, frozen=True)
class Checked:
    """Arguments that fit."""

    kwargs: dict[str, Any]
    """For the function."""
    all: Mapping[str, Any]
    """Every argument, defaults filled in: what makes two calls the same."""


class SignatureValidator:
    """The parameters of a function as a schema, and the check of arguments against them.

    Raises `ToolDefinitionError` for an annotation that cannot be described.
    """

    def __init__(self, parameters: Sequence[Parameter], docs: Mapping[str, str], *, name: str) -> None:
        # Fields have names of our own, with the parameter as alias: no parameter name can clash with pydantic's.
        self._fields = {f"f{i}": parameter.name for i, parameter in enumerate(parameters)}
        self._model = _build_model(parameters, docs, name=name)
        # A default in the signature is the function's own business, unless only pydantic can tell it
        # (`x: int = Field(5)`), or a later parameter that goes by position would take its place.
        self._passed = frozenset(
            f"f{i}"
            for i, p in enumerate(parameters)
            if p.default is REQUIRED or p.positional_only or _is_field_info(p.default)
        )
        self.parameters = _model_schema(self._model)
        self._meaning = Meaning(self.parameters)

    def validate_text(self, text: str) -> Checked | None:
        """The arguments if `text` is well-formed JSON that fits as it is, else None: `validate` knows more."""
        if "null" in text or len(text) > MAX_CHARS:
            return None
        try:
            instance = self._model.__pydantic_validator__.validate_json(text)
        except ValueError:
            return None
        return self._checked(instance)

    def validate(self, given: Mapping[str, Any]) -> Checked:
        """The arguments, converted. Raises `BadArguments`."""
        from pydantic import ValidationError

        arguments = self._meaning.of(given)
        try:
            # As JSON, so that dates, enums and tuples are read from what JSON has for them.
            return self._checked(self._model.__pydantic_validator__.validate_json(json.dumps(arguments)))
        except ValidationError as error:
            errors = error.errors(include_url=False)
            raise from_pydantic(errors, arguments, self.parameters) from error

    def _checked(self, instance: BaseModel) -> Checked:
        values = instance.__dict__
        given = instance.__pydantic_fields_set__
        fields = self._fields
        everything = {fields[field]: value for field, value in values.items()}
        if len(given) == len(fields):
            return Checked(everything, everything)
        passed = self._passed
        return Checked(
            {fields[field]: value for field, value in values.items() if field in given or field in passed}, everything
        )


_shared: dict[Any, SignatureValidator] = {}
_SHARED_LIMIT: Final = 256


def validator_for(parameters: Sequence[Parameter], docs: Mapping[str, str], *, name: str) -> SignatureValidator:
    """The validator of some parameters: one for all functions that agree in them.

    Agents often make the same tools anew for each session (a closure, `function_tool(...)` in `__init__`), and a
    validator takes a millisecond and some tens of kilobytes. Raises `ToolDefinitionError`, as the class does.
    """
    try:
        # Defaults count with their type (1 == True == 1.0), annotations as written (int | str == str | int).
        key = (
            tuple((p.name, p.positional_only, p.default, type(p.default), docs.get(p.name)) for p in parameters),
            tuple((_by_value(p.annotation), repr(p.annotation)) for p in parameters),
        )
        hash(key)
    except TypeError:  # a default or an extra of `Annotated` that cannot be hashed
        return SignatureValidator(parameters, docs, name=name)
    validator = _shared.pop(key, None)
    if validator is None:
        validator = SignatureValidator(parameters, docs, name=name)
        if len(_shared) >= _SHARED_LIMIT:
            _shared.pop(next(iter(_shared)))
    _shared[key] = validator  # the last: the first is that which was not asked for longest
    return validator


def _by_value(annotation: Any) -> Any:
    """What stands for an annotation in a key. A `Field` equals only itself, and a closure writes it anew each time."""
    from pydantic.fields import FieldInfo

    if isinstance(annotation, FieldInfo):
        said = ((name, getattr(annotation, name)) for name in FieldInfo.__slots__ if not name.startswith("_"))
        return tuple(
            tuple(value) if name == "metadata" else repr(value) if isinstance(value, (list, dict)) else value
            for name, value in said
        )
    parts = typing.get_args(annotation)
    return (typing.get_origin(annotation), *map(_by_value, parts)) if parts else annotation


# -- building -------------------------------------------------------------------------------------------------------


def _build_model(parameters: Sequence[Parameter], docs: Mapping[str, str], *, name: str) -> type[BaseModel]:
    from pydantic import BaseModel, ConfigDict

    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__qualname__": "Arguments",
        "__annotations__": {},
        "model_config": ConfigDict(extra="ignore", arbitrary_types_allowed=False, allow_inf_nan=False),
    }
    for i, parameter in enumerate(parameters):
        namespace["__annotations__"][f"f{i}"] = _annotated(parameter, docs.get(parameter.name))
        if parameter.default is not REQUIRED:
            namespace[f"f{i}"] = parameter.default
    try:
        model: type[BaseModel] = types.new_class("Arguments", (BaseModel,), exec_body=lambda ns: ns.update(namespace))
        model.model_rebuild()
        return model
    except BaseException as error:
        pass_on(error)
        if len(parameters) == 1:
            only = parameters[0]
            raise ToolDefinitionError(
                f"tool {name!r}: parameter {only.name!r} is annotated {only.annotation!r}, which has no JSON schema. "
                "Use plain types, TypedDict, a dataclass or a pydantic model, or pass raw_schema=."
            ) from error
        for parameter in parameters:  # find the one to name
            _build_model([parameter], docs, name=name)
        raise ToolDefinitionError(f"tool {name!r}: its parameters have no JSON schema ({error}).") from error


def _annotated(parameter: Parameter, documented: str | None) -> Any:
    from pydantic import Field
    from pydantic.fields import FieldInfo

    annotation = _portable(parameter.annotation)
    extras = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is typing.Annotated else ()
    described = [e for e in (*extras, parameter.default) if isinstance(e, FieldInfo) and e.description]
    if described:
        return typing.Annotated[annotation, Field(alias=parameter.name)]
    plain = next((extra for extra in extras if isinstance(extra, str)), None)
    return typing.Annotated[annotation, Field(alias=parameter.name, description=plain or documented)]


def _is_field_info(default: Any) -> bool:
    # By name: the module that defines it may not be loaded, and then no default is one.
    return type(default).__name__ == "FieldInfo" and type(default).__module__ == "pydantic.fields"


def _portable(annotation: Any) -> Any:
    """The annotation in a form that pydantic takes: before Python 3.12 it refuses `typing.TypedDict`."""
    if sys.version_info >= (3, 12):
        return annotation
    if isinstance(annotation, type) and typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return _portable_typed_dict(annotation)
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if not arguments or origin is typing.Literal:
        return annotation
    if origin is typing.Annotated:
        return typing.Annotated[(_portable(arguments[0]), *arguments[1:])]
    replaced = tuple(_portable(argument) for argument in arguments)
    if all(new is old for new, old in zip(replaced, arguments, strict=True)):
        return annotation
    if origin in (typing.Union, types.UnionType):
        return typing.Union[replaced]  # noqa: UP007 - of a tuple
    if isinstance(annotation, types.GenericAlias):
        return types.GenericAlias(typing.cast("type", origin), replaced)
    return annotation.copy_with(replaced)


def _portable_typed_dict(cls: Any) -> Any:
    import typing_extensions

    hints = typing.get_type_hints(cls, include_extras=True)
    fields: dict[str, Any] = {}
    for name, hint in hints.items():
        required = name in cls.__required_keys__
        # Where annotations are text, `__required_keys__` knows nothing of what is written on the key itself.
        if (marker := typing.get_origin(hint)) in (typing_extensions.Required, typing_extensions.NotRequired):
            required = marker is typing_extensions.Required
            hint = typing.get_args(hint)[0]
        wrapper = typing_extensions.Required if required else typing_extensions.NotRequired
        fields[name] = wrapper[_portable(hint)]
    portable = typing_extensions.TypedDict(cls.__name__, fields)  # type: ignore[misc]  # made at run time
    portable.__doc__ = cls.__doc__
    return portable


def _model_schema(model: type[BaseModel]) -> Schema:
    raw = model.model_json_schema(schema_generator=_schema_generator(), mode="validation")
    definitions = raw.pop("$defs", {})
    tidy: Schema = _tidy(raw, definitions, ())
    kept = _referenced(tidy)
    todo = list(kept)
    recursive: Schema = {}
    while todo:
        name = todo.pop()
        if name not in recursive:
            recursive[name] = _tidy(definitions[name], definitions, (name,))
            todo.extend(_referenced(recursive[name]))
    result: Schema = {"type": "object", "properties": tidy.get("properties", {})}
    if "required" in tidy:
        result["required"] = tidy["required"]
    for schema in result["properties"].values():
        _name_values(schema)
    if recursive:
        result["$defs"] = recursive
    return result


@functools.cache
def _schema_generator() -> type[GenerateJsonSchema]:
    from pydantic.json_schema import GenerateJsonSchema

    class Quiet(GenerateJsonSchema):
        # A default that JSON cannot express is left out of the schema; that is all there is to say about it.
        ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012

    return Quiet


def _tidy(schema: Any, definitions: Schema, inside: tuple[str, ...]) -> Any:
    """Without titles and discriminators, references replaced by what they refer to; a recursive reference stays."""
    if not isinstance(schema, dict):
        return schema
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.rpartition("/")[2]
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        if name in inside:
            return {"$ref": f"#/$defs/{name}", **siblings} if siblings else {"$ref": f"#/$defs/{name}"}
        return {**_tidy(definitions[name], definitions, (*inside, name)), **siblings}
    result: Schema = {}
    for key, value in schema.items():
        if key in ("title", "discriminator") and not isinstance(value, bool):
            continue
        if key in ("properties", "patternProperties"):
            result[key] = {name: _tidy(item, definitions, inside) for name, item in value.items()}
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            result[key] = [_tidy(item, definitions, inside) for item in value]
        elif key in ("items", "additionalProperties", "contains", "propertyNames"):
            result[key] = _tidy(value, definitions, inside)
        else:
            result[key] = value
    return result


def _referenced(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*(_referenced(item) for item in schema))
    if not isinstance(schema, dict):
        return set()
    found = set().union(*(_referenced(item) for item in schema.values()))
    if isinstance(reference := schema.get("$ref"), str):
        found.add(reference.rpartition("/")[2])
    return found


def _name_values(schema: Schema) -> None:
    """Spell the allowed values into the description: models heed prose more than schemas."""
    values = _allowed_values(schema)
    if not values:
        return
    description = schema.get("description", "")
    if all(_names(description, value) for value in values):
        return
    words = [json.dumps(value, ensure_ascii=False) for value in values]
    choice = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    sentence = f"{description.rstrip()} " if description else ""
    if sentence and sentence[-2] not in ".!?:;":
        sentence = f"{sentence.rstrip()}. "
    schema["description"] = f"{sentence}Must be {choice}."


def _allowed_values(schema: Schema) -> list[Any]:
    if "enum" in schema:
        return [value for value in schema["enum"] if value is not None]
    if "const" in schema:
        return [schema["const"]]
    if isinstance(schema.get("items"), dict):
        return _allowed_values(schema["items"])
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    return _allowed_values(options[0]) if len(options) == 1 else []


def _names(description: str, value: Any) -> bool:
    text = value if isinstance(value, str) else json.dumps(value)
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", description) is not None


# -- strict form ----------------------------------------------------------------------------------------------------

_STRICT_KEYWORDS: Final = frozenset(
    "type description properties required additionalProperties items enum const anyOf $ref $defs pattern format "
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split()
)
_STRICT_FORMATS: Final = frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split())


class _NotStrict(Exception):
    """The strict form cannot express a schema."""


def strict_parameters(schema: Schema, *, nullable: bool = True) -> Schema | None:
    """The schema as enforcing providers want it: all properties required, no others, null standing for a default.

    `nullable=False`: nothing stands for a default, because whoever reads the answer takes no null for it. None if it
    cannot be put that way: objects with free keys, values of any kind, fixed-length lists of mixed items.
    """
    try:
        return _strict(schema, nullable)
    except _NotStrict:
        return None


def _strict(schema: Schema, nullable: bool) -> Schema:
    if "prefixItems" in schema or "allOf" in schema:
        raise _NotStrict
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    result = {key: copy.deepcopy(value) for key, value in schema.items() if key in _STRICT_KEYWORDS}
    if result.get("format") not in _STRICT_FORMATS:
        result.pop("format", None)
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if options:
        result["anyOf"] = [_strict(option, nullable) for option in options]
    elif schema.get("type") == "object":
        result.update(_strict_object(schema, nullable))
    elif schema.get("type") == "array":
        if not schema.get("items"):
            raise _NotStrict
        result["items"] = _strict(schema["items"], nullable)
    elif not ({"type", "enum", "const"} & schema.keys()):
        raise _NotStrict
    if "$defs" in schema:
        result["$defs"] = {name: _strict(definition, nullable) for name, definition in schema["$defs"].items()}
    return result


def _strict_object(schema: Schema, nullable: bool) -> Schema:
    if schema.get("additionalProperties", False) is not False or "patternProperties" in schema:
        raise _NotStrict
    if "properties" not in schema:
        raise _NotStrict
    required = schema.get("required", ())
    properties = {
        name: _strict(item, nullable) if name in required or not nullable else _nullable(_strict(item, nullable))
        for name, item in schema["properties"].items()
    }
    result: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if properties:
        result["required"] = list(properties)
    return result


def _nullable(schema: Schema) -> Schema:
    if "const" in schema or allows_null(schema):
        return schema
    if "enum" in schema:
        kinds = {"type": [schema["type"], "null"]} if isinstance(schema.get("type"), str) else {}
        return {**schema, **kinds, "enum": [*schema["enum"], None]}
    if isinstance(schema.get("type"), str) and schema["type"] != "object":
        return {**schema, "type": [schema["type"], "null"]}
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    description = {"description": schema["description"]} if "description" in schema else {}
    rest = {key: value for key, value in schema.items() if key != "description"}
    return {**description, "anyOf": [rest, {"type": "null"}]}
