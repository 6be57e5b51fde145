"""Avro schemas, parsed: what their names stand for, and nothing that only their users need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from fastavro.schema import parse_schema

from stream_anon.errors import InputError

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
RECORDS = frozenset({"record", "error"})
LOGICAL = "logical"  # the key of a type's logical type
_KEPT = ("type", "name", "namespace", "symbols", "size", "precision", "scale")
_KINDS = PRIMITIVES | RECORDS | {"enum", "fixed", "array", "map"}


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A parsed schema: `root`, and the definitions of named types."""

    root: Any
    named: Mapping[str, Any]

    @property
    def record_name(self) -> str:
        """Return the full name of the record that it is; empty if it is of another type."""
        root = self.root
        return str(root["name"]) if isinstance(root, dict) and root.get("type") in RECORDS else ""

    def resolved(self, part: Any) -> Any:
        """Return a part of the schema; of a name what it stands for."""
        return self.named[part] if isinstance(part, str) and part not in PRIMITIVES else part


def parsed(text: str, references: Mapping[str, str]) -> AvroSchema:
    """Return a schema.

    Parameters
    ----------
    text
        Its JSON.
    references
        The texts of other schemas whose types it names, by name, each behind those that it names itself.

    Raises
    ------
    InputError
        If it is not an Avro schema.
    """
    named: dict[str, Any] = {}
    try:
        for reference in references.values():
            parse_schema(_bare(msgspec.json.decode(reference)), named_schemas=named, _write_hint=False)
        root = parse_schema(_bare(msgspec.json.decode(text)), named_schemas=named, _write_hint=False)
    except Exception as error:  # noqa: BLE001 - whatever a parser stumbles over in what somebody wrote
        raise InputError(f"this is not an Avro schema ({type(error).__name__})") from None
    return AvroSchema(root, named)


def _bare(schema: Any) -> Any:
    """Return a schema without what readers of its records need not know, so that nobody refuses it for that.

    Defaults, docs and dictionaries that hold nothing but a type are left out. Avro says that a logical type counts
    for nothing where it does not go with its type, but parsers refuse it: so it stands under another key.
    """
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema["type"]
    if not isinstance(kind, str) or kind not in _KINDS:
        return _bare(kind)
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if isinstance(schema.get("logicalType"), str):
        kept[LOGICAL] = schema["logicalType"]
    if kind in RECORDS:
        kept["fields"] = [{"name": field["name"], "type": _bare(field["type"])} for field in schema["fields"]]
        if not all(isinstance(field["name"], str) for field in kept["fields"]):
            raise TypeError
    inner = {"array": "items", "map": "values"}.get(kind)
    return kept if inner is None else {**kept, inner: _bare(schema[inner])}
