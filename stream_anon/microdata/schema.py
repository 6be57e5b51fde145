"""The JSON Schema of the records that a policy releases."""

from __future__ import annotations

from stream_anon.microdata.attributes import (
    Attribute,
    Missing,
    PassThrough,
    Publication,
    QuasiIdentifier,
)
from stream_anon.microdata.domains.domain import Form, Schema
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.policy import Policy

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def released_schema(policy: Policy) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a released record.

    Objects are closed and hold every published field, in policy order. A value is one of what its attribute can
    publish; of intervals the schema tells the form and the range, the audit whether they are nodes.
    """
    schema: Schema = {
        "$schema": DIALECT,
        "$id": "urn:stream-anon:schema:released-record:1",
        "title": "Released record",
        "description": f"A record released under the policy {policy.digest or 'without a digest'}.",
    }
    return schema | _object([(attribute, attribute.path) for attribute in policy.published])


def _object(fields: list[tuple[Attribute, tuple[str, ...]]]) -> Schema:
    groups: dict[str, list[tuple[Attribute, tuple[str, ...]]]] = {}
    for attribute, path in fields:
        groups.setdefault(path[0], []).append((attribute, path[1:]))
    properties: Schema = {}
    for key, members in groups.items():
        attribute, rest = members[0]
        properties[key] = _object(members) if rest else _attribute(attribute)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _attribute(attribute: Attribute) -> Schema:
    if isinstance(attribute, QuasiIdentifier):
        sets = attribute.publication is Publication.VALUES
        choices = attribute.domain.schemas(Form(attribute.typed, attribute.type.value, sets))
        if attribute.root_is_possible:
            choices.append({"const": ROOT_LABEL, "description": "anything"})
        if attribute.missing is Missing.LEAF:
            choices.append({"type": "null", "description": "missing"})
        return {"description": "quasi-identifier, generalized", "oneOf": choices}
    if isinstance(attribute, PassThrough):
        return {"description": f"{attribute.role}, as it came", "type": [attribute.type.value, "null"]}
    raise TypeError("only published attributes have a schema")
