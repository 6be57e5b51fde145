"""The schema of typed records as Kafka Connect's JSON converter writes it beside a payload."""

from __future__ import annotations

from typing import Any

from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.output_fields import Field, fields_of

SCHEMA, PAYLOAD = "schema", "payload"
"""The keys of a pair."""

_TYPES = {"string": "string", "integer": "int64", "number": "double", "boolean": "boolean"}
_TYPES |= dict.fromkeys(("date", "timestamp", "local-timestamp"), "string")


def connect_schema(policy: Policy) -> dict[str, Any]:
    """Return the schema of a released record. Days and moments are texts, as they stand in its JSON.

    Raises
    ------
    SettingsError
        If records are natural.
    """
    return _struct(fields_of(policy)) | {"name": "stream_anon.released_record"}


def _struct(fields: tuple[Field, ...]) -> dict[str, Any]:
    return {"type": "struct", "optional": False, "fields": [_field(field) for field in fields]}


def _field(field: Field) -> dict[str, Any]:
    kind: dict[str, Any] = _struct(field.fields) if field.fields else {"type": _TYPES[field.type]}
    if field.many:
        kind = {"type": "array", "items": kind | {"optional": False}}
    return kind | {"optional": field.nullable, "field": field.name}
