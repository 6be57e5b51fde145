"""What a released JSON object consists of: published fields in policy order."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.formats.writing.record_encoding import (
    NOTHING,
    Fixed,
    OfRecord,
    Part,
    Passing,
    ReleaseEncoder,
    of_class,
)
from stream_anon.microdata.attributes import MOST_ITEMS, PassThrough, ScalarType
from stream_anon.microdata.output.output_members import Member, Placed, by_first_key, members_of
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

_DECIMAL_BYTES = 2  # `.0` behind a whole number

_encode = msgspec.json.Encoder().encode


def json_encoder(policy: Policy, around: tuple[bytes, bytes] = NOTHING) -> ReleaseEncoder:
    """Return what writes one JSON object for each released record, with the bytes before and behind it."""
    members = members_of(policy.published, policy.shape)
    before, behind = around
    parts = [Fixed(before), *_object(policy, [(member, member.path) for member in members]), Fixed(behind)]
    numbers = [(i, a.many) for i, a in enumerate(policy.passed) if a.type is ScalarType.NUMBER]
    if policy.shape is Shape.NATURAL:
        numbers = []
    single, lists = ([i for i, many in numbers if many == which] for which in (False, True))

    def with_decimals(texts: PassedTexts) -> PassedTexts:
        texts = texts.with_lists_as_decimals(lists) if lists else texts
        return texts.as_decimals(single) if single else texts

    growth = _DECIMAL_BYTES * (len(single) + MOST_ITEMS * len(lists))
    return ReleaseEncoder(policy, parts, Passing(with_decimals, growth))


def longest_form(member: Member) -> int:
    """Return the most bytes that the value of a quasi-identifier takes."""
    return max(len(_encode(value)) for value in member.longest())


def _object(policy: Policy, fields: Sequence[Placed]) -> list[Part]:
    """Return the parts of an object; fields under one parent stand together at the place of the first."""
    parts: list[Part] = []
    for key, members in by_first_key(fields).items():
        parts.append(Fixed((b"," if parts else b"{") + _encode(key) + b":"))
        member, rest = members[0]
        attribute = member.attribute
        if rest:
            parts += _object(policy, members)
        elif isinstance(attribute, QuasiIdentifier):
            parts.append(of_class(policy, attribute, (member.write, _encode), longest_form(member)))
        elif isinstance(attribute, PassThrough):
            parts.append(OfRecord(policy.passed.index(attribute)))
    return [*parts, Fixed(b"}")] if parts else [Fixed(b"{}")]
