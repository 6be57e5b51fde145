"""The JSON Schema of the records that a policy releases."""

from __future__ import annotations

from stream_anon.microdata.attributes import MOST_ITEMS, Missing, PassThrough, PublishedForm, Sensitive
from stream_anon.microdata.domains.domain import Form, Schema
from stream_anon.microdata.domains.families import missing_last
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.output.output_members import Member, Placed, by_first_key, members_of
from stream_anon.microdata.output.typed import ENDS, IntervalForm
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.schemas.output_fields import GENERALIZED

_MEANING = {"min": "the least value, null for missing", "max": "the greatest value, null for missing"}
_DAY = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = r"T([01][0-9]|2[0-3])(:[0-5][0-9]){2}"
_TEXTS: dict[str, Schema] = {
    "date": {"format": "date", "pattern": f"{_DAY}$"},
    "timestamp": {"format": "date-time", "pattern": rf"{_DAY}{_TIME}[+-][0-9]{{2}}(:[0-5][0-9]){{1,2}}$"},
    "local-timestamp": {"pattern": f"{_DAY}{_TIME}$"},
}
_DIALECT = "http://json-schema.org/draft-07/schema#"  # the newest one that every registry can compare


def released_schema(policy: Policy) -> Schema:
    """Return the JSON Schema (draft-07) of a released record.

    Objects are closed and hold every published field, in policy order. A value is one of what its attribute can
    publish; of intervals the schema tells the form and the range, the audit whether they are nodes.
    """
    schema: Schema = {
        "$schema": _DIALECT,
        "$id": "urn:stream-anon:schema:released-record:1",
        "title": "Released record",
        "description": "A record released by stream-anon.",
    }
    members = members_of(policy.published, policy.shape)
    return schema | _object([(member, member.path) for member in members])


def _object(fields: list[Placed]) -> Schema:
    properties: Schema = {}
    for key, members in by_first_key(fields).items():
        member, rest = members[0]
        properties[key] = _object(members) if rest else _member(member)
    return _closed(properties)


def _closed(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _member(member: Member) -> Schema:
    attribute = member.attribute
    if isinstance(attribute, QuasiIdentifier):
        return _natural(attribute) if member.form is None else _typed(member, attribute)
    if isinstance(attribute, PassThrough):
        words, kind = attribute.in_words, attribute.type.value
        if attribute.many:
            items = {"type": kind}
            return {"description": words, "type": ["array", "null"], "items": items, "maxItems": MOST_ITEMS}
        if isinstance(attribute, Sensitive) and attribute.families:
            shown = sorted(attribute.labels, key=missing_last)
            return {"description": words, "enum": shown}
        return {"description": words, "type": [kind, "null"]}
    raise TypeError("only published attributes have a schema")


def _natural(attribute: QuasiIdentifier) -> Schema:
    sets = attribute.publication is PublishedForm.VALUES
    choices = _published(attribute, Form(attribute.typed, attribute.type.value, sets))
    return {"description": GENERALIZED, "oneOf": choices + _root(attribute) + _missing(attribute)}


def _published(attribute: QuasiIdentifier, form: Form) -> list[Schema]:
    """Return the schemas of a domain without labels that are finer or coarser than what may be published."""
    choices = attribute.domain.schemas(form)
    if form.sets:  # levels are not for sets
        return choices
    for choice in choices:
        if "enum" in choice:
            choice["enum"] = [one for one in choice["enum"] if attribute.read(attribute.typed(one)) is not None]
    return [choice for choice in choices if choice.get("enum") != []]


def _root(attribute: QuasiIdentifier) -> list[Schema]:
    return [{"const": ROOT_LABEL, "description": "anything"}] if attribute.root_is_possible else []


def _missing(attribute: QuasiIdentifier) -> list[Schema]:
    return [{"type": "null", "description": "missing"}] if attribute.missing is Missing.LEAF else []


def _typed(member: Member, attribute: QuasiIdentifier) -> Schema:
    if isinstance(member.form, IntervalForm):
        end = _end(member.form, nullable=attribute.missing is Missing.LEAF)
        if member.end is not None:
            return {"description": f"{GENERALIZED}: {_MEANING[member.end]}", **end}
        ends = {name: {"description": _MEANING[name], **end} for name in ENDS}
        return {"description": GENERALIZED, **_closed(ends)}
    sets = attribute.publication is PublishedForm.VALUES
    choices = _published(attribute, Form(lambda label: label, "string", sets))
    if not sets:
        return {"description": GENERALIZED, "oneOf": choices + _root(attribute) + _missing(attribute)}
    items = {"oneOf": [choices[0], *_root(attribute)]}
    array = {"type": "array", "description": "the set of values that occur", "items": items, "minItems": 1}
    return {"description": GENERALIZED, "oneOf": [array | {"uniqueItems": True}, *_missing(attribute)]}


def _end(form: IntervalForm, *, nullable: bool) -> Schema:
    interval = form.interval
    kind, bounds = interval.type, {"minimum": interval.least, "maximum": interval.greatest}
    if kind in _TEXTS:
        kind, bounds = "string", _TEXTS[kind]
    return {"type": [kind, "null"] if nullable else kind, **bounds}
