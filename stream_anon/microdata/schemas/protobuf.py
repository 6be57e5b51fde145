"""The Protobuf schema of typed records."""

from __future__ import annotations

import json
from collections.abc import Iterator

from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.output_fields import Field, check_plain_names, fields_of

_TYPES = {"string": "string", "integer": "int64", "number": "double", "boolean": "bool"}
_TEXTS = {
    "date": "2024-05-13",
    "timestamp": "2024-05-13T08:00:00+02:00",
    "local-timestamp": "2024-05-13T08:00:00",
}
_TYPES |= dict.fromkeys(_TEXTS, "string")


def protobuf_schema(policy: Policy) -> str:
    """Return the Protobuf schema (proto3) of a released record; a JSON record is read by it as it is.

    A field is numbered by its place. A missing value is a field that is not set, a missing list an empty one. No
    list of categories is empty otherwise, and a list that passes may be. A date and a timestamp are texts.

    Raises
    ------
    SettingsError
        If records are natural, or an attribute has a name that Protobuf does not know.
    """
    fields = fields_of(policy)
    check_plain_names(fields, "Protobuf")
    head = [
        "// A record released by stream-anon.",
        'syntax = "proto3";',
        "",
        "package stream_anon;",
        "",
    ]
    return "\n".join([*head, *_message("ReleasedRecord", fields, "")]) + "\n"


def field_number(place: int) -> int:
    """Return the number of the field at a place, counted from 1: Protobuf keeps 19000 to 19999 for itself."""
    return place if place < 19_000 else place + 1_000


def _message(name: str, fields: tuple[Field, ...], indent: str) -> Iterator[str]:
    yield f"{indent}message {name} {{"
    inner = indent + "  "
    taken = {field.name for field in fields}
    for number, field in enumerate(fields, start=1):
        kind = _TYPES.get(field.type, "")
        if field.fields:
            kind = _free(f"{field.name}_object", taken)
            taken.add(kind)
            yield from _message(kind, field.fields, inner)
        label = "repeated" if field.many else "optional"
        # Else JSON that is written of a message would name it in camel case.
        option = f" [json_name = {json.dumps(field.name)}]" if "_" in field.name else ""
        own = f"{inner}{label} {kind} {field.name} = {field_number(number)}{option};"
        yield f"{own}  // {field.words}{_form(field)}"
    yield f"{indent}}}"


def _form(field: Field) -> str:
    return f", such as {_TEXTS[field.type]}" if field.type in _TEXTS else ""


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
