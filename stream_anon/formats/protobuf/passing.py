"""Values that pass, from JSON to Protobuf: each a field with its tag, and with the messages that it lies in.

Protobuf takes messages of one field that come several times as one. So a value stands in messages of its own,
beside those that hold what its class shares, and no length depends on both.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from stream_anon.formats.protobuf.opcodes import FIXED_64, LENGTH, VARINT
from stream_anon.formats.writing.binary import AROUND, Leads, binary_values
from stream_anon.formats.writing.odd_values import BOOLEAN, INTEGER, LIST, NUMBER, STRING, kinds_of
from stream_anon.formats.writing.record_encoding import Passing
from stream_anon.formats.writing.varints import MOST_VARINT, varint
from stream_anon.microdata.attributes import MOST_ITEMS
from stream_anon.microdata.domains.domain import Scalar
from stream_anon.microdata.policy import Policy

_FORMS = {STRING: LENGTH, INTEGER: VARINT, NUMBER: FIXED_64, BOOLEAN: VARINT}
_MASK = 2**64 - 1


def tag(number: int, form: int) -> int:
    """Return the tag of a field."""
    return number << 3 | form


def sized(text: bytes) -> bytes:
    """Return bytes with their length before them."""
    return varint(len(text)) + text


def protobuf_scalar(value: Scalar) -> bytes:
    """Return a text, an integer, a double or a truth value as Protobuf writes it, without its tag."""
    if isinstance(value, bool):
        return b"\x01" if value else b"\x00"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise OverflowError
        return varint(value & _MASK)
    if isinstance(value, float):
        return struct.pack("<d", value)
    return sized(value.encode())


def protobuf_list(number: int, values: Sequence[Scalar]) -> bytes:
    """Return a list as Protobuf writes it, with its tags: texts one by one, and all others packed."""
    own = varint(tag(number, LENGTH))
    items = list(map(protobuf_scalar, values))
    if not items:
        return b""
    return own + own.join(items) if isinstance(values[0], str) else own + sized(b"".join(items))


def protobuf_passing(policy: Policy, numbers: Sequence[Sequence[int]]) -> Passing:
    """Return how the passing values of a policy are written.

    Parameters
    ----------
    numbers
        Of each value: the numbers of the fields that lead to it, the outermost first.
    """
    kinds = kinds_of(policy)
    tags = [
        [*(tag(number, LENGTH) for number in outer), tag(own, _FORMS[kind % LIST])]
        for (*outer, own), kind in zip(numbers, kinds.tolist(), strict=True)
    ]
    leads = Leads.of(tags, null=False, zigzag=False)

    def odd_bytes(field: int, value: Scalar | list[Scalar]) -> bytes:
        if isinstance(value, list):
            return protobuf_list(numbers[field][-1], value)
        return varint(tags[field][-1]) + protobuf_scalar(value)

    growth = (
        AROUND * len(path) + MOST_VARINT + (MOST_VARINT * MOST_ITEMS if kind >= LIST else 0)
        for path, kind in zip(tags, kinds.tolist(), strict=True)
    )
    return Passing(lambda texts: binary_values(texts, kinds, leads, odd_bytes), sum(growth))
