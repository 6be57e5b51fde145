"""Whether the schema that a released record states is the one of its policy.

A record states a schema by an id in a registry, or has it beside itself, as Kafka Connect reads it. Whoever may
register schemas, or write pairs, could publish anything in one that nobody compares. A pair is written by the
service alone, so its schema is compared to the letter. A registry may print a schema anew, and an operator may have
registered one with other comments, so these schemas are compared by what they say of a record's bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from stream_anon.audit.formats.protobuf import file_said_plainly
from stream_anon.errors import SettingsError
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.avro import avro_schema
from stream_anon.microdata.schemas.connect_schema import connect_schema
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.microdata.schemas.protobuf import protobuf_schema

CONNECT = "connect"
"""The form of a schema that stands beside its record."""

Describe = Callable[[str], Any]
"""Returns the descriptor of the first message of a Protobuf schema. Raises ValueError where there is none."""

_SCHEMAS: Mapping[str, Callable[[Policy], str]] = {
    CONNECT: lambda policy: json.dumps(connect_schema(policy)),
    "avro": lambda policy: json.dumps(avro_schema(policy)),
    "json-schema": lambda policy: json.dumps(released_schema(policy)),
    "protobuf": protobuf_schema,
}
_NAMED = ("record", "error", "enum", "fixed")
_PLAIN = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_COMMENTS = frozenset({"description", "title", "$id", "$schema"})
_ORDERLESS = frozenset({"required", "enum", "type"})


def schema_of(policy: Policy, form: str) -> str:
    """Return the text of the schema of a policy's records; SettingsError if they have none of this form."""
    return _SCHEMAS[form](policy)


def _no_protobuf(schema: str) -> Any:  # noqa: ARG001 - the signature is that of `Describe`
    raise ValueError("no Protobuf schema is expected")


@dataclass(frozen=True, slots=True)
class Stated:
    """The schema that a record states.

    Parameters
    ----------
    form
        What kind of schema it is.
    said
        What it says, each thing in one way; see `said_plainly`.
    describe
        Reads Protobuf schemas.
    """

    form: str
    said: bytes
    describe: Describe = _no_protobuf

    def own(self, policy: Policy) -> bytes | None:
        """Return what the schema of a policy says in this form; None if it has none."""
        try:
            return said_plainly(self.form, schema_of(policy, self.form), self.describe)
        except (SettingsError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class StatingRecord:
    """A released record that states its schema."""

    stated: Stated
    fields: Mapping[str, Any]


def said_plainly(form: str, schema: str, describe: Describe) -> bytes:
    """Return what a schema says, so that schemas that say the same are equal. Raises ValueError for no schema.

    Of a pair's schema, every letter but blanks. Else without comments, and with full names.
    """
    try:
        if form == "protobuf":
            return file_said_plainly(describe(schema))
        if form == CONNECT:
            return msgspec.json.encode(msgspec.json.decode(schema))
        parsed = json.loads(schema)
        return json.dumps(_avro(parsed, "") if form == "avro" else _json(parsed), sort_keys=True).encode()
    except (KeyError, TypeError, AttributeError, RecursionError, msgspec.MsgspecError):
        raise ValueError(f"no schema of {form}") from None


def _avro(part: Any, namespace: str) -> Any:
    """Return a part of an Avro schema without comments, and with the full names of types."""
    if isinstance(part, list):
        return [_avro(branch, namespace) for branch in part]
    if isinstance(part, str):
        return _full(part, namespace)
    said = {key: value for key, value in part.items() if key not in {"doc", "namespace"}}
    if said.keys() == {"type"}:
        return _avro(said["type"], namespace)
    if said["type"] in _NAMED:
        space, _, name = said["name"].rpartition(".")
        namespace = space or part.get("namespace", namespace)
        said["name"] = _full(name, namespace)
    for key in ("items", "values"):
        if key in said:
            said[key] = _avro(said[key], namespace)
    if "fields" in said:
        said["fields"] = [_avro_field(field, namespace) for field in said["fields"]]
    return said


def _avro_field(field: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    said = {key: value for key, value in field.items() if key != "doc"}
    return said | {"type": _avro(field["type"], namespace)}


def _full(name: str, namespace: str) -> str:
    return name if name in _PLAIN or "." in name else f"{namespace}.{name}"


def _json(part: Any, key: str = "") -> Any:
    """Return a part of a JSON Schema without comments; lists whose order says nothing are sorted."""
    if isinstance(part, dict):
        # A property may have one of these names: then what stands there is no text.
        return {
            name: _json(each, name)
            for name, each in part.items()
            if name not in _COMMENTS or not isinstance(each, str)
        }
    if isinstance(part, list):
        said = [_json(each) for each in part]
        return sorted(said, key=json.dumps) if key in _ORDERLESS else said
    return int(part) if isinstance(part, float) and part.is_integer() else part
