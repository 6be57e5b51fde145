"""Values that pass, from JSON to Avro: each a union of null and its type."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from stream_anon.formats.writing.binary import Leads, binary_values
from stream_anon.formats.writing.odd_values import BOOLEAN, INTEGER, LIST, NUMBER, STRING, kinds_of
from stream_anon.formats.writing.record_encoding import Passing
from stream_anon.formats.writing.varints import varint, zigzag
from stream_anon.microdata.attributes import MOST_ITEMS
from stream_anon.microdata.domains.domain import Scalar
from stream_anon.microdata.policy import Policy

NULL, VALUE = b"\x00", b"\x02"  # places in a union

# Beyond its JSON: a place, and a length instead of two quotes, ten bytes instead of a digit, eight instead of one.
_GROWTH = {STRING: 4, INTEGER: 10, NUMBER: 8, BOOLEAN: 0}
_LIST_GROWTH = 2  # how many items there are, and the end, beyond two brackets


def avro_scalar(value: Scalar) -> bytes:
    """Return a text, an integer, a double or a truth value as Avro writes it."""
    if isinstance(value, bool):
        return b"\x01" if value else b"\x00"
    if isinstance(value, int):
        return zigzag(value)
    if isinstance(value, float):
        return struct.pack("<d", value)
    return avro_text(value)


def avro_text(value: str) -> bytes:
    """Return a text as Avro writes it."""
    text = value.encode()
    return varint(2 * len(text)) + text


def avro_list(values: Sequence[Scalar]) -> bytes:
    """Return a list as Avro writes it: one block, and an empty one as the end."""
    return (zigzag(len(values)) + b"".join(map(avro_scalar, values)) if values else b"") + b"\x00"


def avro_passing(policy: Policy) -> Passing:
    """Return how the passing values of a policy are written."""
    kinds = kinds_of(policy)
    leads = Leads.of([list(VALUE)] * len(kinds), null=True, zigzag=True)
    growth = (_GROWTH[kind % LIST] * (MOST_ITEMS if kind >= LIST else 1) for kind in kinds.tolist())
    return Passing(
        lambda texts: binary_values(texts, kinds, leads, _odd_bytes), sum(growth) + _LIST_GROWTH * len(kinds)
    )


def _odd_bytes(_field: int, value: Scalar | list[Scalar]) -> bytes:
    return VALUE + (avro_list(value) if isinstance(value, list) else avro_scalar(value))
