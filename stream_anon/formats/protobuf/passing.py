"""Values that pass, from JSON to Protobuf: each a field with its tag, and with the messages that it lies in.

Protobuf takes messages of one field that come several times as one. So a value stands in messages of its own,
beside those that hold what its class shares, and no length depends on both.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel
from stream_anon.formats.protobuf.opcodes import FIXED_64, LENGTH, VARINT
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
from stream_anon.formats.writing.varints import MOST_VARINT, put_varint, varint, varint_size
from stream_anon.microdata.attributes import MOST_ITEMS
from stream_anon.microdata.domains.domain import Scalar
from stream_anon.microdata.policy import Policy

AROUND = 10
"""The most bytes of a tag and a length."""

_FORMS = {STRING: LENGTH, INTEGER: VARINT, NUMBER: FIXED_64, BOOLEAN: VARINT}
_WORD_BYTES, _MASK = 8, 2**64 - 1
_LOWER_T = ord("t")


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
    growth = (
        AROUND * len(path) + MOST_VARINT + (MOST_VARINT * MOST_ITEMS if kind >= LIST else 0)
        for path, kind in zip(tags, kinds.tolist(), strict=True)
    )
    return Passing(_Writer(kinds, tags), sum(growth))


class _Writer:
    """Writes passing values."""

    def __init__(self, kinds: NDArray[np.int64], tags: Sequence[Sequence[int]]) -> None:
        self._kinds = kinds
        self._numbers = [path[-1] >> 3 for path in tags]
        self._tags = np.array([one for path in tags for one in path], np.int64)
        self._tag_ends = np.cumsum([len(path) for path in tags], dtype=np.int64)
        self._deepest = max(map(len, tags), default=0)

    def __call__(self, texts: PassedTexts) -> Spans:
        """Return the bytes of n rows."""
        most_bytes = AROUND * self._deepest + MOST_VARINT
        write = partial(write_values, self._tags, self._tag_ends, np.empty(self._deepest, np.int64))
        return binary_values(texts, self._kinds, most_bytes, self._odd_bytes, write)

    def _odd_bytes(self, field: int, value: Scalar | list[Scalar]) -> bytes:
        """Return a value with its tag, or all items of a list with theirs."""
        if isinstance(value, list):
            return protobuf_list(self._numbers[field], value)
        return varint(int(self._tags[self._tag_ends[field] - 1])) + protobuf_scalar(value)


@checked_kernel
def write_values(
    tags: NDArray[np.int64],
    tag_ends: NDArray[np.int64],
    sizes: NDArray[np.int64],
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
    """Write n rows of p values; a missing one takes no byte. What is odd comes with its own tag.

    Parameters
    ----------
    tags, tag_ends
        int64[]: of each value the tags that lead to it and its own; int64[p]: where those of each end.
    sizes
        int64[], as many as the most tags of a value; written.
    text, words, ends, kinds, odd, odd_words, odd_ends, double, bits, out, out_words, out_ends
        See `binary_values`.
    """
    start, place, turn = 0, 0, 0
    for cell in range(len(ends)):
        field = cell % len(kinds)
        stop, kind = ends[cell], kinds[field]
        is_odd = turn < len(odd) and odd[turn] == cell
        if is_odd or not is_null(text, start):
            # 1. How long it is.
            own = tags[tag_ends[field] - 1]
            number, begin = 0, 0
            if is_odd:
                begin = odd_ends[turn - 1] if turn > 0 else 0
                size = odd_ends[turn] - begin
            elif kind == STRING:
                number = stop - start - 2
                size = varint_size(own) + varint_size(number) + number
            elif kind == INTEGER:
                number = plain_integer(text, start, stop)
                size = varint_size(own) + varint_size(number)
            else:
                size = varint_size(own) + (_WORD_BYTES if kind == NUMBER else 1)
            # 2. The messages that it lies in.
            first, last = tag_ends[field - 1] if field > 0 else 0, tag_ends[field] - 1
            for level in range(last - 1, first - 1, -1):
                sizes[level - first] = size
                size += varint_size(size) + varint_size(tags[level])
            for level in range(first, last):
                place = put_varint(tags[level], out, place)
                place = put_varint(sizes[level - first], out, place)
            # 3. The value.
            if is_odd:
                place = copied(odd_words, begin, odd_ends[turn], out_words, place)
                turn += 1
            else:
                place = put_varint(own, out, place)
                if kind == STRING:
                    place = put_varint(number, out, place)
                    place = copied(words, start + 1, stop - 1, out_words, place)
                elif kind == INTEGER:
                    place = put_varint(number, out, place)
                elif kind == NUMBER:
                    double[0] = plain_double(text, start, stop)
                    out_words[place] = bits[0]
                    place += _WORD_BYTES
                else:
                    out[place] = text[start] == _LOWER_T
                    place += 1
        out_ends[cell + 1] = place
        start = stop
