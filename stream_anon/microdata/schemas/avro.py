"""The Avro schema of typed records."""

from __future__ import annotations

from typing import Any

from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.output_fields import Field, check_plain_names, fields_of

_TYPES: dict[str, Any] = {
    "string": "string",
    "integer": "long",
    "number": "double",
    "boolean": "boolean",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-millis"},
    "local-timestamp": {"type": "long", "logicalType": "local-timestamp-millis"},
}


def avro_schema(policy: Policy) -> dict[str, Any]:
    """Return the Avro schema (1.11) of a released record.

    What may be missing has a default, so that readers of the schema take records that were written without it.

    Raises
    ------
    SettingsError
        If records are natural, or an attribute has a name that Avro does not know.
    """
    fields = fields_of(policy)
    check_plain_names(fields, "Avro")
    # No digest of the policy: it covers `engine.seed`, which whoever reads the schema could find by trying.
    return {**_record("released_record", "stream_anon", fields), "doc": "A record released by stream-anon."}


def _record(name: str, namespace: str, fields: tuple[Field, ...]) -> dict[str, Any]:
    # A record's name stands for it everywhere, so each object has a namespace of its own for those within.
    within = f"{namespace}.{name}"
    return {
        "type": "record",
        "name": name,
        "namespace": namespace,
        "fields": [_field(field, within) for field in fields],
    }


def _field(field: Field, namespace: str) -> dict[str, Any]:
    kind: Any = _record(field.name, namespace, field.fields) if field.fields else _TYPES[field.type]
    if field.many:
        kind = {"type": "array", "items": kind}
    told = {"name": field.name, "doc": field.words, "type": ["null", kind] if field.nullable else kind}
    return told | {"default": _default(field)} if _has_default(field) else told


def _has_default(field: Field) -> bool:
    """Return whether readers may fill in that a field is missing, of records that were written without it."""
    return field.nullable or (bool(field.fields) and all(map(_has_default, field.fields)))


def _default(field: Field) -> Any:
    return None if field.nullable else {inner.name: _default(inner) for inner in field.fields}
