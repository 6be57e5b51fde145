"""Which declared fields a schema has, and of which types: what is compared when another schema appears."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

Path = tuple[str, ...]
FieldTypes = Mapping[Path, str]
"""The types of fields by their paths, in words; a field that a schema lacks is left out."""

_NAMED = ("record", "error", "enum", "fixed")
_MOST_LEVELS = 8  # of lists in lists whose types are told: a list may hold itself
_AVRO_HELD = {"array": "items", "map": "values"}
_JSON_HELD = ("items", "prefixItems", "additionalProperties")
_JSON_KINDS = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def avro_fields(text: str, references: Sequence[tuple[str, str]], paths: Sequence[Path]) -> FieldTypes:
    """Return the types of the fields that an Avro schema has, of those at `paths`.

    Parameters
    ----------
    references
        Names and texts of other schemas that it refers to.

    Raises ValueError or RecursionError where the text is no JSON, or too deep.
    """
    schema = json.loads(text)
    names: dict[str, Any] = {}
    for each in (*(json.loads(other) for _, other in references), schema):
        _declare(each, "", names)

    def below(types: Sequence[Any], key: str) -> list[Any]:
        found = []
        for each in types:
            if isinstance(each, dict) and isinstance(each.get("fields"), list):
                found += [f.get("type") for f in each["fields"] if isinstance(f, dict) and f.get("name") == key]
            elif isinstance(each, dict) and each.get("type") == "map":
                found.append(each.get("values"))
        return _once(branch for each in found for branch in _branches(each, names))

    def within(types: Sequence[Any]) -> list[Any]:
        held = [each.get(_AVRO_HELD.get(str(each.get("type")), "")) for each in types if isinstance(each, dict)]
        return _once(branch for each in held if each is not None for branch in _branches(each, names))

    return _types_at(_once(_branches(schema, names)), paths, below, within, _avro_word)


def json_fields(text: str, paths: Sequence[Path]) -> FieldTypes:
    """Return the same of a JSON Schema, as far as properties, local references and alternatives tell.

    Other keys of an object are fields where a schema describes them as `additionalProperties`.
    """
    schema = json.loads(text)

    def below(types: Sequence[Any], key: str) -> list[Any]:
        found = [(each.get("properties") or {}).get(key, each.get("additionalProperties")) for each in types]
        return _alternatives(found, schema)

    def within(types: Sequence[Any]) -> list[Any]:
        held = [each.get(key) for each in types for key in _JSON_HELD]
        return _alternatives([one for each in held for one in (each if isinstance(each, list) else [each])], schema)

    return _types_at(_alternatives([schema], schema), paths, below, within, _json_word)


def protobuf_fields(message: Any, paths: Sequence[Path]) -> FieldTypes:
    """Return the same of a Protobuf message's descriptor."""

    def below(types: Sequence[Any], key: str) -> list[Any]:
        inner = [each if hasattr(each, "fields") else each.message_type for each in types]
        found = [_protobuf_field(each, key) for each in inner if each is not None]
        return [each for each in found if each is not None]

    def within(types: Sequence[Any]) -> list[Any]:
        entries = [each.message_type for each in types if each.message_type is not None]
        return [each.fields_by_name["value"] for each in entries if each.GetOptions().map_entry]

    return _types_at([message], paths, below, within, _protobuf_word)


def _types_at(
    roots: list[Any],
    paths: Sequence[Path],
    below: Callable[[Sequence[Any], str], list[Any]],
    within: Callable[[Sequence[Any]], list[Any]],
    word: Callable[[Any], str],
) -> FieldTypes:
    """Return the types at the ends of paths.

    Parameters
    ----------
    roots
        The types that the whole record may have.
    below
        Returns the types that the field of a key may have, in values of some types.
    within
        Returns the types that the items of lists and the values of maps may have, in values of some types.
    word
        Returns a type in words, without what is within.
    """
    found = {}
    for path in paths:
        types = roots
        for key in path:
            types = below(types, key)
        levels = list[str]()
        while types and len(levels) < _MOST_LEVELS:
            levels.append(" or ".join(sorted({word(each) for each in types})))
            types = within(types)
        if levels:
            found[path] = " of ".join(levels)
    return found


def _declare(schema: Any, namespace: str, names: dict[str, Any]) -> None:
    """Collect the declarations of named types, with their full names within."""
    if isinstance(schema, list):
        for branch in schema:
            _declare(branch, namespace, names)
    if not isinstance(schema, dict):
        return
    if schema.get("type") in _NAMED and isinstance(schema.get("name"), str):
        name = schema["name"]
        namespace = schema.get("namespace") or name.rpartition(".")[0] or namespace
        names[name if "." in name or not namespace else f"{namespace}.{name}"] = schema
        names.setdefault(name.rpartition(".")[2], schema)
    for key in ("type", "items", "values"):
        _declare(schema.get(key), namespace, names)
    for field in schema.get("fields") or ():
        if isinstance(field, dict):
            _declare(field.get("type"), namespace, names)


def _branches(schema: Any, names: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the types that a value may have, names resolved."""
    if isinstance(schema, list):
        for branch in schema:
            yield from _branches(branch, names)
    elif isinstance(schema, str):
        yield names.get(schema, names.get(schema.rpartition(".")[2], schema))
    elif isinstance(schema, dict) and isinstance(schema.get("type"), (dict, list)):
        yield from _branches(schema["type"], names)
    else:
        yield schema


def _avro_word(schema: Any) -> str:
    if not isinstance(schema, dict):
        return str(schema)
    return str(schema.get("logicalType") or schema.get("type"))


def _once(types: Iterable[Any]) -> list[Any]:
    """Return each type once: types that name each other can be reached in more ways than anybody could count."""
    return list({each if isinstance(each, str) else id(each): each for each in types}.values())


def _alternatives(schemas: Iterable[Any], root: Any) -> list[dict[str, Any]]:
    """Return the schemas that a value may fit, each once, local references resolved; O(the whole schema)."""
    found: dict[int, dict[str, Any]] = {}
    waiting = list(schemas)
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in found:
            continue
        found[id(schema)] = schema
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            target = root
            for key in reference[2:].split("/"):
                target = target.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
            waiting.append(target)
        for kind in ("oneOf", "anyOf", "allOf"):
            waiting += schema.get(kind) or ()
    return list(found.values())


def _json_word(schema: Any) -> str:
    kinds = schema.get("type")
    if kinds is None:
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        kinds = list({_JSON_KINDS[type(value)] for value in values}) if isinstance(values, list) else []
    return " or ".join(sorted(map(str, kinds if isinstance(kinds, list) else [kinds]))) or "anything"


def _protobuf_field(message: Any, key: str) -> Any:
    """Return the field that a message has under a key, or None; maps and Google's Struct have any key."""
    for bearer, held in (("google.protobuf.Value", "struct_value"), ("google.protobuf.Struct", "fields")):
        if message.full_name == bearer and held in message.fields_by_name:
            message = message.fields_by_name[held].message_type or message
    if message.GetOptions().map_entry:
        key = "value"
    return message.fields_by_name.get(key)


def _protobuf_word(field: Any) -> str:
    named = field.message_type or field.enum_type
    return f"{'repeated ' if field.is_repeated else ''}{named.full_name if named is not None else field.type}"
