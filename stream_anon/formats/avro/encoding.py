"""Write released records as Avro bodies, without framing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from stream_anon.formats.avro.passing import NULL, VALUE, avro_list, avro_passing, avro_scalar, avro_text
from stream_anon.formats.writing.binary import BinaryEncoder
from stream_anon.formats.writing.record_encoding import OfRecord, Part, of_class
from stream_anon.formats.writing.varints import zigzag
from stream_anon.microdata.attributes import PassThrough
from stream_anon.microdata.output.output_members import Member, Placed, by_first_key, members_of
from stream_anon.microdata.output.typed import IntervalForm
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.schemas.avro import avro_schema
from stream_anon.microdata.schemas.output_fields import Field, fields_of

_EPOCH = dt.date(1970, 1, 1).toordinal()
_FIRST_MOMENT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LONGEST_END = 11  # bytes of a long in a union
_AROUND = 12  # bytes of places and lengths, beyond those that JSON takes for quotes and commas
_encode = msgspec.json.Encoder().encode


class AvroEncoder(BinaryEncoder):
    """Encodes releases of one policy as the Avro bodies of its schema, in the release's order.

    Attributes
    ----------
    schema
        The JSON of the schema of what is written.
    most_around
        See `ReleaseEncoder`.

    Raises
    ------
    SettingsError
        If records are natural, or an attribute has a name that Avro does not know.
    """

    def __init__(self, policy: Policy) -> None:
        schema = _encode(avro_schema(policy)).decode()
        placed = [(member, member.path) for member in members_of(policy.published, policy.shape)]
        super().__init__(policy, schema, _parts(policy, fields_of(policy), placed), avro_passing(policy))


def _parts(policy: Policy, fields: Sequence[Field], placed: Sequence[Placed]) -> list[Part]:
    """Return the values of a record in the order of its fields: Avro writes nothing around them."""
    parts: list[Part] = []
    for field, members in zip(fields, by_first_key(placed).values(), strict=True):
        member, rest = members[0]
        attribute = member.attribute
        if rest:
            parts += _parts(policy, field.fields, members)
        elif isinstance(attribute, QuasiIdentifier):
            steps = (member.write, _writer(field))
            parts.append(of_class(policy, attribute, steps, _longest(field, member)))
        elif isinstance(attribute, PassThrough):
            parts.append(OfRecord(policy.passed.index(attribute)))
    return parts


def _writer(field: Field) -> Callable[[Any], bytes]:
    """Return what makes bytes of a field's typed value."""
    if field.fields:
        inner = [(one.name, _writer(one)) for one in field.fields]
        return lambda value: b"".join([write(value[name]) for name, write in inner])
    there = avro_list if field.many else _WRITERS[field.type]
    return (lambda value: NULL if value is None else VALUE + there(value)) if field.nullable else there


def _day(value: str) -> bytes:
    return zigzag(dt.date.fromisoformat(value).toordinal() - _EPOCH)


def _moment(value: str) -> bytes:
    moment = dt.datetime.fromisoformat(value)
    since = moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment
    return zigzag((since - _FIRST_MOMENT) // dt.timedelta(milliseconds=1))


_WRITERS: Mapping[str, Callable[[Any], bytes]] = {
    "string": avro_text,
    "integer": zigzag,
    "number": lambda value: avro_scalar(float(value)),
    "boolean": avro_scalar,
    "date": _day,
    "timestamp": _moment,
    "local-timestamp": _moment,
}


def _longest(field: Field, member: Member) -> int:
    """Return a bound on the bytes of a quasi-identifier's value."""
    if isinstance(member.form, IntervalForm):
        return _LONGEST_END * max(len(field.fields), 1)
    return _AROUND + max(len(_encode(value)) for value in member.longest())
