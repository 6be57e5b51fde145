"""Values that pass, from JSON to Avro: each a union of null and its type."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel
from stream_anon.formats.writing.binary import binary_values
from stream_anon.formats.writing.copying import copied
from stream_anon.formats.writing.encoding import Passing
from stream_anon.formats.writing.odd_values import (
    BOOLEAN,
    INTEGER,
    LIST,
    NUMBER,
    STRING,
    is_null,
    kinds_of,
    plain_double,
    plain_integer,
)
from stream_anon.formats.writing.passing import PassedTexts, Spans
from stream_anon.formats.writing.varints import put_zigzag, varint, zigzag
from stream_anon.microdata.attributes import MOST_ITEMS
from stream_anon.microdata.domains.domain import Scalar
from stream_anon.microdata.policy import Policy

NULL, VALUE = b"\x00", b"\x02"  # places in a union

# Beyond its JSON: a place, and a length instead of two quotes, ten bytes instead of a digit, eight instead of one.
_GROWTH = {STRING: 4, INTEGER: 10, NUMBER: 8, BOOLEAN: 0}
_LIST_GROWTH = 2  # how many items there are, and the end, beyond two brackets
_VALUE_BYTE, _LOWER_T = VALUE[0], ord("t")
_MOST_BYTES = 11  # that any value takes beyond its JSON


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

    def written(texts: PassedTexts) -> Spans:
        return binary_values(texts, kinds, _MOST_BYTES, _odd_bytes, write_values)

    growth = (_GROWTH[kind % LIST] * (MOST_ITEMS if kind >= LIST else 1) for kind in kinds.tolist())
    return Passing(written, sum(growth) + _LIST_GROWTH * len(kinds))


def _odd_bytes(_field: int, value: Scalar | list[Scalar]) -> bytes:
    return VALUE + (avro_list(value) if isinstance(value, list) else avro_scalar(value))


@checked_kernel
def write_values(
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    ends: NDArray[np.int64],
    kinds: NDArray[np.int64],
    odd: NDArray[np.int64],
    odd_words: NDArray[np.int64],
    odd_ends: NDArray[np.int64],
    double: NDArray[np.float64],
    bits: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_words: NDArray[np.int64],
    out_ends: NDArray[np.int64],
) -> None:
    """Write n rows of p values; see `binary_values`."""
    start, place, turn = 0, 0, 0
    for cell in range(len(ends)):
        stop, kind = ends[cell], kinds[cell % len(kinds)]
        if turn < len(odd) and odd[turn] == cell:
            begin = odd_ends[turn - 1] if turn > 0 else 0
            place = copied(odd_words, begin, odd_ends[turn], out_words, place)
            turn += 1
        elif is_null(text, start):
            out[place] = 0
            place += 1
        else:
            out[place] = _VALUE_BYTE
            place += 1
            if kind == STRING:
                place = put_zigzag(stop - start - 2, out, place)
                place = copied(words, start + 1, stop - 1, out_words, place)
            elif kind == INTEGER:
                place = put_zigzag(plain_integer(text, start, stop), out, place)
            elif kind == NUMBER:
                double[0] = plain_double(text, start, stop)
                out_words[place] = bits[0]
                place += 8
            else:
                out[place] = text[start] == _LOWER_T
                place += 1
        out_ends[cell + 1] = place
        start = stop
