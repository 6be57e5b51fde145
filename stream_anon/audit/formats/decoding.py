"""Decode released records that name their schema: JSON by the audit's own reader, others by their libraries."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stream_anon.audit.formats.moments import as_json, zones_of
from stream_anon.audit.formats.protobuf import protobuf_bodies
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.formats.stated_schemas import Describe, Stated, StatingRecord, said_plainly, schema_of
from stream_anon.microdata.policy import Policy

Decode = Callable[[bytes | None], dict[str, Any] | None]
"""Returns the object of a released record; None if the bytes are none."""

_FRAME = 5  # bytes: 0, and the id of a schema


def schema_named(value: bytes | None) -> int | None:
    """Return the id of the schema that a released record names; None if it names none."""
    if value is None or len(value) < _FRAME or value[0]:
        return None
    return int.from_bytes(value[1:_FRAME], "big", signed=True)


def avro_bodies(schema: str) -> Decode:
    """Return what decodes Avro bodies, moments as such; see `moments`. Raises ValueError for no schema."""
    import fastavro
    from fastavro.schema import SchemaParseException, UnknownType

    try:
        parsed = fastavro.parse_schema(json.loads(schema))
    except (SchemaParseException, UnknownType, TypeError, KeyError, RecursionError):
        raise ValueError("not an Avro schema") from None

    def decode(body: bytes | None) -> dict[str, Any] | None:
        stream = io.BytesIO(body or b"")
        try:
            record = fastavro.schemaless_reader(stream, parsed, None)
            again = io.BytesIO()
            fastavro.schemaless_writer(again, parsed, record)
        except Exception:  # noqa: BLE001 - on such bytes the library raises anything, with values in its messages
            return None
        # What is behind the record, in sizes of blocks or in longer forms of numbers, would be published unseen.
        if again.getvalue() != body:
            return None
        return record if isinstance(record, dict) else None

    return decode


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema of a registry: what decodes its bodies, and what it says."""

    decode: Decode
    stated: Stated

    @classmethod
    def of(cls, form: str, schema: str, describe: Describe) -> WriterSchema:
        """Return the schema of a text. Raises ValueError for no schema."""
        message = functools.cache(describe)
        stated = Stated(form, said_plainly(form, schema, message), describe)
        return cls(bodies_of(form, schema, message), stated)


def bodies_of(form: str, schema: str, describe: Describe) -> Decode:
    """Return what decodes the bodies of a format by the text of their schema. Raises ValueError for no schema."""
    if form == "avro":
        return avro_bodies(schema)
    return decode_record if form == "json-schema" else protobuf_bodies(describe(schema))


def of_policy(policy: Policy, form: str, describe: Describe) -> Decode:
    """Return what decodes records of a format as its policy says that they are written."""
    if form == "json":
        return decode_record
    bodies, zones = bodies_of(form, schema_of(policy, form), describe), zones_of(policy)
    before = _FRAME + (form == "protobuf")  # the place of the message, which is the first

    def decode(value: bytes | None) -> dict[str, Any] | None:
        framed = value is not None and schema_named(value) is not None and not any(value[_FRAME:before])
        record = bodies(value[before:]) if value is not None and framed else None
        return as_json(record, zones) if record is not None and form == "avro" else record

    return decode


def by_schemas(
    schemas: Mapping[int, WriterSchema | None], form: str
) -> Callable[[bytes | None], StatingRecord | None]:
    """Return what decodes records by the schemas that they name; those of others are no records."""
    before = _FRAME + (form == "protobuf")

    def decode(value: bytes | None) -> StatingRecord | None:
        named = schema_named(value)
        schema = None if named is None else schemas.get(named)
        if schema is None or value is None or any(value[_FRAME:before]):
            return None
        fields = schema.decode(value[before:])
        return None if fields is None else StatingRecord(schema.stated, fields)

    return decode
