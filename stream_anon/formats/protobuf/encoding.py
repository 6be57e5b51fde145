"""Write released records as Protobuf bodies, without framing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from stream_anon.formats.protobuf.opcodes import FIXED_64, LENGTH, VARINT
from stream_anon.formats.protobuf.passing import protobuf_list, protobuf_passing, protobuf_scalar, sized, tag
from stream_anon.formats.writing.binary import AROUND, BinaryEncoder
from stream_anon.formats.writing.record_encoding import OfRecord, Shared, Together, of_class
from stream_anon.formats.writing.varints import MOST_VARINT, varint
from stream_anon.microdata.attributes import PassThrough
from stream_anon.microdata.output.output_members import Member, Placed, by_first_key, members_of
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.schemas.output_fields import Field, fields_of
from stream_anon.microdata.schemas.protobuf import field_number, protobuf_schema

_FORMS = {"integer": VARINT, "boolean": VARINT, "number": FIXED_64}  # all others are texts
_encode = msgspec.json.Encoder().encode


class ProtobufEncoder(BinaryEncoder):
    """Encodes releases of one policy as Protobuf bodies of the first message of its schema, in the release's order.

    What a class shares comes first. Each value that passes follows, in messages of its own if it lies in any: a
    reader takes those of one field as one message, as Protobuf has it.

    Attributes
    ----------
    schema
        The text of the schema of what is written.
    most_around
        See `ReleaseEncoder`.

    Raises
    ------
    SettingsError
        If records are natural, or an attribute has a name that Protobuf does not know.
    """

    def __init__(self, policy: Policy) -> None:
        schema = protobuf_schema(policy)
        placed = [(member, member.path) for member in members_of(policy.published, policy.shape)]
        fields = fields_of(policy)
        numbers = dict(_numbers(policy, fields, placed))
        count = len(policy.passed)
        parts = [*_shared(policy, fields, placed), *map(OfRecord, range(count))]
        passing = protobuf_passing(policy, [numbers[place] for place in range(count)])
        super().__init__(policy, schema, parts, passing)


def _numbers(
    policy: Policy, fields: Sequence[Field], placed: Sequence[Placed], above: tuple[int, ...] = ()
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield for each value that passes its place and the numbers of the fields that lead to it."""
    for place, (field, members) in enumerate(zip(fields, by_first_key(placed).values(), strict=True), start=1):
        member, rest = members[0]
        path = (*above, field_number(place))
        if rest:
            yield from _numbers(policy, field.fields, members, path)
        elif isinstance(member.attribute, PassThrough):
            yield policy.passed.index(member.attribute), path


def _shared(policy: Policy, fields: Sequence[Field], placed: Sequence[Placed]) -> list[Shared]:
    """Return what a class shares of a message: its quasi-identifiers, and the objects within it."""
    parts: list[Shared] = []
    for place, (field, members) in enumerate(zip(fields, by_first_key(placed).values(), strict=True), start=1):
        member, rest = members[0]
        number, attribute = field_number(place), member.attribute
        if rest:  # an object is there even if nothing in it is
            parts.append(Together(tuple(_shared(policy, field.fields, members)), _around(number), AROUND))
        elif isinstance(attribute, QuasiIdentifier):
            steps = (member.write, _writer(field, number))
            parts.append(of_class(policy, attribute, steps, _longest(field, member)))
    return parts


def _around(number: int) -> Callable[[bytes], bytes]:
    """Return what puts a tag and a length before the bytes of a message."""
    own = varint(tag(number, LENGTH))
    return lambda text: own + sized(text)


def _writer(field: Field, number: int) -> Callable[[Any], bytes]:
    """Return what makes bytes of a field's typed value, with its tag; none if it is missing."""
    if field.fields:
        around = _around(number)
        inner = [(one.name, _writer(one, field_number(place))) for place, one in enumerate(field.fields, start=1)]
        return lambda value: around(b"".join([write(value[name]) for name, write in inner]))
    if field.many:
        return lambda value: b"" if value is None else protobuf_list(number, value)
    own = varint(tag(number, _FORMS.get(field.type, LENGTH)))
    if field.type == "number":
        return lambda value: b"" if value is None else own + protobuf_scalar(float(value))
    return lambda value: b"" if value is None else own + protobuf_scalar(value)


def _longest(field: Field, member: Member) -> int:
    """Return a bound on the bytes of a quasi-identifier's value."""
    longest = max(len(_encode(value)) for value in member.longest())
    items = max(len(value) if isinstance(value, list) else 1 for value in member.longest())
    return longest + (AROUND + MOST_VARINT) * max(items, 1 + len(field.fields))
