"""What the binary formats share when they write: encoders of bodies, and the kernel that writes passing values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.writing.copying import copied
from stream_anon.formats.writing.odd_values import (
    INTEGER,
    NUMBER,
    STRING,
    is_null,
    odd_values,
    plain_double,
    plain_integer,
    without_large_numbers,
)
from stream_anon.formats.writing.passed_texts import PassedTexts, Spans
from stream_anon.formats.writing.record_encoding import Part, Passing, ReleaseEncoder
from stream_anon.formats.writing.record_writing import JoinedTexts
from stream_anon.formats.writing.varints import MOST_VARINT, put_varint, varint_size, zigzagged
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.keys import PADDING, padded_words, sealed
from stream_anon.microdata.policy import Policy

AROUND = 10
"""The most bytes of a tag and a length."""

_WORD_BYTES = 8
_LOWER_T = ord("t")


class BinaryEncoder(ReleaseEncoder):
    """Encodes releases of one policy as the bodies of a schema, without framing.

    Parameters
    ----------
    policy, parts, passing
        See `ReleaseEncoder`.
    schema
        The text of the schema of what is written; an attribute too.
    """

    def __init__(self, policy: Policy, schema: str, parts: Sequence[Part], passing: Passing) -> None:
        super().__init__(policy, parts, passing)
        self.schema = schema

    def admitted(self, batch: CodedBatch) -> CodedBatch:
        """Return a batch without records whose numbers 64 bits cannot hold: they are rejected as out of range.

        What is encoded must come from batches that were admitted.
        """
        return without_large_numbers(self._policy, batch)


class JsonCells(NamedTuple):
    """The JSON of n rows of p values.

    Parameters
    ----------
    text, words, ends
        uint8[] and its words (`keys.padded_words`); int64[n * p], where each value ends.
    kinds
        int64[p], `odd_values.kinds_of`.
    """

    text: NDArray[np.uint8]
    words: NDArray[np.int64]
    ends: NDArray[np.int64]
    kinds: NDArray[np.int64]


class Leads(NamedTuple):
    """How a format writes p values, and what it writes before each.

    Parameters
    ----------
    tags, ends
        int64[]: of each value the tags of the messages that it lies in, the outermost first, and its own; int64[p],
        where those of each value end. A message is written with its size, and a missing value in none.
    null
        Whether a byte 0 stands for a missing value.
    zigzag
        Whether integers and lengths are zigzag ones.
    """

    tags: NDArray[np.int64]
    ends: NDArray[np.int64]
    null: bool
    zigzag: bool

    @classmethod
    def of(cls, tags: Sequence[Sequence[int]], *, null: bool, zigzag: bool) -> Self:
        """Return the leads for the tags of each value."""
        ends = np.cumsum([len(path) for path in tags], dtype=np.int64)
        return cls(np.array([one for path in tags for one in path], np.int64), ends, null, zigzag)

    @property
    def deepest(self) -> int:
        """Return the most tags of a value."""
        return int(np.diff(self.ends, prepend=0).max(initial=0))


class BinaryBuffer(NamedTuple):
    """The bytes of n rows of p values while a kernel writes them.

    Parameters
    ----------
    text, words, ends
        uint8[] and its words; int64[n * p], where each value ends.
    sizes
        int64[`Leads.deepest`]: of the messages that a value lies in.
    double, bits
        float64[1], and the same as int64[1].
    """

    text: NDArray[np.uint8]
    words: NDArray[np.int64]
    ends: NDArray[np.int64]
    sizes: NDArray[np.int64]
    double: NDArray[np.float64]
    bits: NDArray[np.int64]


def binary_values(
    texts: PassedTexts, kinds: NDArray[np.int64], leads: Leads, odd_bytes: Callable[[int, Any], bytes]
) -> Spans:
    """Return the bytes of n rows of p passing values, given their JSON.

    Parameters
    ----------
    texts
        The JSON.
    kinds
        int64[p], `odd_values.kinds_of`.
    leads
        How they are written.
    odd_bytes
        Returns the bytes of a value that the kernel does not understand, with its own tag, given its place among
        the p and itself.
    """
    cells, values = odd_values(texts, kinds)
    odd = [odd_bytes(cell % len(kinds), value) for cell, value in zip(cells.tolist(), values, strict=True)]
    ends = texts.ends.ravel()
    most_bytes = AROUND * leads.deepest + MOST_VARINT  # that any value takes beyond its JSON
    size = len(texts.text) + most_bytes * len(ends) + sum(map(len, odd)) + 2 * len(PADDING)
    text, double = np.empty(size, np.uint8), np.empty(1, np.float64)
    sizes = np.empty(leads.deepest, np.int64)
    out = BinaryBuffer(text, padded_words(text), np.empty_like(ends), sizes, double, double.view(np.int64))
    # There are several words everywhere, and bytes that are only read are sealed: to the compiler other arrays are
    # of types that it was not warmed up for.
    write_values(
        JsonCells(sealed(texts.text), padded_words(texts.text.tobytes() + 2 * PADDING), ends, kinds),
        cells,
        JoinedTexts(
            padded_words(b"".join([*odd, 2 * PADDING])), np.cumsum([len(one) for one in odd], dtype=np.int64)
        ),
        leads,
        out,
    )
    filled = int(out.ends[-1]) if len(ends) else 0
    return Spans(text[:filled], out.ends.reshape(texts.ends.shape))


@checked_inlined
def _put_around(size: int, first: int, own: int, leads: Leads, out: BinaryBuffer, place: int) -> int:
    """Write the tags and sizes of the messages that `size` bytes of a value lie in; return the place behind."""
    for level in range(own - 1, first - 1, -1):
        out.sizes[level - first] = size
        size += varint_size(size) + varint_size(leads.tags[level])
    for level in range(first, own):
        place = put_varint(leads.tags[level], out.text, place)
        place = put_varint(out.sizes[level - first], out.text, place)
    return place


@checked_kernel
def write_values(
    json: JsonCells, odd_cells: NDArray[np.int64], odd: JoinedTexts, leads: Leads, out: BinaryBuffer
) -> None:
    """Write n rows of p values.

    Parameters
    ----------
    odd_cells, odd
        int64[m], ascending: which of the n * p values come as bytes, with their own tag; and these bytes.
    """
    start, place, turn = 0, 0, 0
    for cell in range(len(json.ends)):
        field = cell % len(json.kinds)
        stop, kind = json.ends[cell], json.kinds[field]
        first, own = leads.ends[field - 1] if field > 0 else 0, leads.ends[field] - 1
        if turn < len(odd_cells) and odd_cells[turn] == cell:
            begin = odd.ends[turn - 1] if turn > 0 else 0
            place = _put_around(odd.ends[turn] - begin, first, own, leads, out, place)
            place = copied(odd.words, begin, odd.ends[turn], out.words, place)
            turn += 1
        elif not is_null(json.text, start):
            # 1. The integer or the length that it begins with.
            number, width = 0, stop - start - 2 if kind == STRING else 0
            if kind == STRING or kind == INTEGER:
                number = width if kind == STRING else plain_integer(json.text, start, stop)
                number = zigzagged(number) if leads.zigzag else number
            # 2. The messages that it lies in, and its tag.
            if first < own:
                size = varint_size(leads.tags[own]) + width
                if kind == STRING or kind == INTEGER:
                    size += varint_size(number)
                else:
                    size += _WORD_BYTES if kind == NUMBER else 1
                place = _put_around(size, first, own, leads, out, place)
            place = put_varint(leads.tags[own], out.text, place)
            # 3. The value.
            if kind == STRING:
                place = put_varint(number, out.text, place)
                place = copied(json.words, start + 1, stop - 1, out.words, place)
            elif kind == INTEGER:
                place = put_varint(number, out.text, place)
            elif kind == NUMBER:
                out.double[0] = plain_double(json.text, start, stop)
                out.words[place] = out.bits[0]
                place += _WORD_BYTES
            else:
                out.text[place] = json.text[start] == _LOWER_T
                place += 1
        elif leads.null:
            out.text[place] = 0
            place += 1
        out.ends[cell] = place
        start = stop
