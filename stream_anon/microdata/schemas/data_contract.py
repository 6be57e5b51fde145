"""The data contract of typed records, in the Open Data Contract Standard (ODCS)."""

from __future__ import annotations

from typing import Any

from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.output_fields import Field, fields_of
from stream_anon.microdata.schemas.sql import TABLE

_VERSION = "v3.1.0"


def data_contract(policy: Policy) -> dict[str, Any]:
    """Return the data contract (ODCS 3.1) of what a policy releases.

    It tells the fields and what every class is promised. The owner of the data adds who owns it, who may use it and
    where it lies.

    Raises
    ------
    SettingsError
        If records are natural.
    """
    digest = policy.digest or "without a digest"
    return {
        "apiVersion": _VERSION,
        "kind": "DataContract",
        "id": f"urn:stream-anon:released-records:{policy.digest.removeprefix('sha256:') or 'unknown'}",
        "name": "Released records",
        "version": str(policy.revision),
        "status": "active",
        "description": {
            "purpose": f"Events about people, {_promised(policy)}, as the policy {digest} asks.",
            "limitations": f"{_limits(policy)} docs/explain/privacy.md of stream-anon says what is not promised.",
        },
        "schema": [
            {
                "name": TABLE,
                "logicalType": "object",
                "description": "One record a person's event; JSON objects in a topic or in JSON Lines.",
                "properties": [_property(field) for field in fields_of(policy)],
            }
        ],
    }


def _promised(policy: Policy) -> str:
    return "anonymous by shields alone" if policy.k is None else "k-anonymous"


def _limits(policy: Policy) -> str:
    """Return what holds of every published class; without k, what does of groups, and what does not."""
    if policy.k is not None:
        return (
            f"Every published class holds records of at least {policy.k} different people, and nobody has more "
            f"than {policy.max_share:g} of them."
        )
    shields = "; ".join(f"{shield.k} of {', '.join(shield.attributes)}" for shield in policy.shields)
    return f"So many different people share what is published: {shields}. For all else k is {policy.without_k}."


_OPTIONS: dict[str, dict[str, Any]] = {
    "date": {"format": "yyyy-MM-dd"},
    "timestamp": {"format": "yyyy-MM-dd'T'HH:mm:ssXXX", "timezone": True},
    "local-timestamp": {"format": "yyyy-MM-dd'T'HH:mm:ss", "timezone": False},
}


def _type(field: Field) -> str:
    return "timestamp" if field.type == "local-timestamp" else field.type


def _property(field: Field) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": field.name,
        "logicalType": "array" if field.many else _type(field),
        "description": field.words,
        "required": not field.nullable,
    }
    if field.many:
        told["items"] = {"logicalType": _type(field)}
    if field.type in _OPTIONS:
        told["logicalTypeOptions"] = _OPTIONS[field.type]
    if field.fields:
        told["properties"] = [_property(one) for one in field.fields]
    return told
