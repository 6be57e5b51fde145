"""The JSON Schema of the records that a policy releases."""

from __future__ import annotations

from typing import Any

from stream_anon.microdata.attributes import (
    Attribute,
    Missing,
    PassThrough,
    Publication,
    QuasiIdentifier,
)
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import CategoricalDomain, PrefixDomain
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import Policy

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MOST_LABELS = 10_000  # labels that are listed; a larger hierarchy is any text

Schema = dict[str, Any]


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
        choices = _published(attribute)
        if attribute.root_is_possible:
            choices.append({"const": ROOT_LABEL, "description": "anything"})
        if attribute.missing is Missing.LEAF:
            choices.append({"type": "null", "description": "missing"})
        return {"description": "quasi-identifier, generalized", "oneOf": choices}
    if isinstance(attribute, PassThrough):
        return {"description": f"{attribute.role}, as it came", "type": [attribute.type.value, "null"]}
    raise TypeError("only published attributes have a schema")


def _published(attribute: QuasiIdentifier) -> list[Schema]:
    """Return a schema for each form of what is published beside "*" and null."""
    domain = attribute.domain
    if isinstance(domain, NumericDomain):
        return _number(domain)
    if isinstance(domain, CategoricalDomain):
        return _category(attribute, domain)
    if isinstance(domain, PrefixDomain):
        return [{"type": "string", "pattern": _prefix_pattern(domain), "description": "a prefix"}]
    if isinstance(domain, DateDomain):
        pattern = r"^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?|-Q[1-4])?$"
        return [{"type": "string", "pattern": pattern, "description": "a day, month, quarter or year"}]
    return [{"not": {"enum": [ROOT_LABEL, None]}}]


def _number(domain: NumericDomain) -> list[Schema]:
    whole = domain.decimals == 0
    low, high = (int if whole else float)(domain.minimum), (int if whole else float)(domain.maximum)
    end = {"type": "integer" if whole else "number", "minimum": low, "maximum": high}
    choices: list[Schema] = [
        {
            "type": "object",
            "description": "an interval, both ends included",
            "properties": {"min": end, "max": end},
            "required": ["min", "max"],
            "additionalProperties": False,
        }
    ]
    if domain.decimals is not None:
        choices.insert(0, {**end, "description": "an exact value"})
    return choices


def _category(attribute: QuasiIdentifier, domain: CategoricalDomain) -> list[Schema]:
    leaves = [attribute.publish(code, code) for code in range(domain.size)]
    sets = attribute.publication is Publication.VALUES
    if domain.size > MOST_LABELS:
        # Text that is no root; a leaf may be of another type.
        kinds = sorted({"string", attribute.type.value})
        one: Schema = {"type": kinds, "not": {"const": ROOT_LABEL}}
        leaf: Schema = {"type": attribute.type.value}
    else:
        one = {"enum": leaves if sets else leaves + _groups(attribute, domain)}
        leaf = {"enum": leaves}
    choices: list[Schema] = [{**one, "description": "a value" if sets else "a value or a group"}]
    if sets and domain.size > 2:
        choices.append(
            {
                "type": "array",
                "description": "the set of values that occur",
                "items": leaf,
                "minItems": 2,
                "maxItems": domain.size - 1,
                "uniqueItems": True,
            }
        )
    return choices


def _groups(attribute: QuasiIdentifier, domain: CategoricalDomain) -> list[str]:
    """Return the labels above the leaves that can be published: of nodes over the same leaves the deepest."""
    labels = domain.hierarchy.labels
    exact = {int(node) for node in domain.hierarchy.leaves}
    return [label for node, label in enumerate(labels) if node not in exact and _is_read(attribute, label)]


def _is_read(attribute: QuasiIdentifier, label: str) -> bool:
    return label != ROOT_LABEL and attribute.read(label) is not None


def _prefix_pattern(domain: PrefixDomain) -> str:
    letters = "".join(f"\\{letter}" if letter in "\\]^-[" else letter for letter in domain.alphabet)
    forms = []
    for kept in range(1, domain.keep + 1):
        stars = domain.length - kept
        if domain.shorter and (stars == 0 or kept < domain.keep):
            forms.append(f"[{letters}]{{{kept}}}")
        if stars or not domain.shorter:
            forms.append(f"[{letters}]{{{kept}}}" + rf"\*{{{1 if domain.shorter else stars}}}" * (stars > 0))
    return f"^({'|'.join(forms)})$"
