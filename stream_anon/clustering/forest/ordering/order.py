"""ORDER: the place of a row on a line along which neighbours are alike.

The digits of all attributes are put in one order, an attribute's own ones top-down, and read as one number in snake
fashion, so that neighbours differ in few and late digits. Which order is best is learned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.compiled import kernel

_BITS = 62
_WORD = 2**_BITS
_BLOCK = 512  # rows whose keys grow together: they stay in the nearest cache
WORDS = 2  # a key has two words; digits beyond are left out: they would order what is nearly alike anyway


class KeyTable(NamedTuple):
    """The digits in their learned order as flat arrays.

    Parameters
    ----------
    attribute, base, width, start
        int64[d], as those of `Digits`.
    word
        int64[d], the word of the key it belongs to.
    listed
        int32, as that of `Digits`.
    sizes
        int64[q], codes of each attribute.
    bits
        Bits of the largest key; more than 62 for two words.
    whole
        Whether no digit is left out: rows with equal keys are equal.
    curve
        Whether the line is a Hilbert curve instead.
    """

    attribute: NDArray[np.int64]
    base: NDArray[np.int64]
    width: NDArray[np.int64]
    start: NDArray[np.int64]
    word: NDArray[np.int64]
    listed: NDArray[np.int32]
    sizes: NDArray[np.int64]
    bits: int
    whole: bool
    curve: bool


def key_table(digits: Digits, order: NDArray[np.int64]) -> KeyTable:
    """Return the digits in `order`, without those that no longer fit the key; O(d) whatever the codes."""
    word, room, count = 0, _WORD, 0
    words = []
    for d in order.tolist():
        base = int(digits.base[d])
        if room // base == 0:
            word, room = word + 1, _WORD
            if word == WORDS:
                break
        room //= base
        words.append(word)
        count += 1
    order = order[:count]
    return KeyTable(
        digits.attribute[order],
        digits.base[order],
        digits.width[order],
        digits.start[order],
        np.array(words, np.int64),
        digits.listed,
        digits.sizes,
        2 * _BITS if word else 32 if digits.curve else (_WORD // room).bit_length(),
        len(order) == len(digits.base) and not digits.curve,
        digits.curve,
    )


@kernel
def snake_keys(codes: NDArray[np.int32], table: KeyTable, keys: NDArray[np.int64]) -> None:
    """Write the key of each row; O(n d).

    Parameters
    ----------
    codes
        int32[q, n].
    table
        d digits.
    keys
        int64[2, n], written, the second word only if there is one.
    """
    n = codes.shape[1]
    parity = np.empty(_BLOCK, np.int32)
    key = np.empty(_BLOCK, np.int64)
    value = np.empty(_BLOCK, np.int32)
    for first in range(0, n, _BLOCK):
        count = min(_BLOCK, n - first)
        word = 0
        for i in range(count):
            parity[i] = 0
            key[i] = 0
        # Digit by digit, not row by row: the digits of a row wait for each other, those of many rows do not.
        for d in range(len(table.base)):
            if table.word[d] != word:
                for i in range(count):
                    keys[word, first + i] = key[i]
                    key[i] = 0
                word = table.word[d]
            owner = table.attribute[d]
            start = np.uint64(table.start[d])
            base = table.base[d]
            if table.width[d] == 0:
                for i in range(count):
                    value[i] = table.listed[start + np.uint64(codes[owner, first + i])]
            else:
                width = np.uint32(table.width[d])
                values = np.uint32(base - 2)
                size = np.int32(table.sizes[owner] - 2)
                for i in range(count):
                    code = codes[owner, first + i]
                    if code < size:
                        value[i] = np.int32(np.uint32(code) // width % values)
                    else:
                        value[i] = np.int32(values) + (code - size)
            for i in range(count):
                turned = value[i]
                if parity[i] == 1:
                    turned = np.int32(base - 1 - turned)
                key[i] = key[i] * base + turned
                parity[i] ^= turned & 1
        for i in range(count):
            keys[word, first + i] = key[i]


def line_keys(codes: NDArray[np.int32], table: KeyTable) -> NDArray[np.int64]:
    """Return the keys int64[2, n] of codes int32[q, n], the first word decides first."""
    keys = np.zeros((WORDS, codes.shape[1]), np.int64)
    if table.curve:
        hilbert_keys(codes, table.sizes, keys[0])
    else:
        snake_keys(np.ascontiguousarray(codes), table, keys)
    return keys


def line_order(codes: NDArray[np.int32], table: KeyTable) -> NDArray[np.int64]:
    """Return the rows of codes int32[q, n] along the line; ties by arrival; O(n log n)."""
    return ascending(line_keys(codes, table), table)


def ascending(keys: NDArray[np.int64], table: KeyTable) -> NDArray[np.int64]:
    """Return the places of keys int64[2, n] from the least to the greatest, equal ones as they stand."""
    n = keys.shape[1]
    below = n.bit_length()
    if table.bits + below < _BITS:
        # Key and row in one number: sorting numbers is several times faster than sorting rows by their keys.
        both: NDArray[np.int64] = (keys[0] << below) | np.arange(n)
        both.sort()
        rows: NDArray[np.int64] = both & (2**below - 1)
        return rows
    order = np.argsort(keys[0])
    # What ties in the first word is put in order by the second, and by arrival: often nothing, never much work.
    ahead = keys[0][order]
    tied = np.zeros(n + 1, np.bool_)
    tied[1:-1] = ahead[1:] == ahead[:-1]
    places = np.flatnonzero(tied[1:] | tied[:-1])
    rows = order[places]
    order[places] = rows[np.lexsort((rows, keys[1][rows], keys[0][rows]))]
    return order


def permuted(table: KeyTable, attributes: NDArray[np.int64]) -> KeyTable:
    """Return the table for codes whose rows are `attributes`, int64[q], of those that it was made for."""
    return table._replace(attribute=np.argsort(attributes)[table.attribute], sizes=table.sizes[attributes])


@kernel
def hilbert_keys(codes: NDArray[np.int32], sizes: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
    """Write the place of each row of two numbers on a Hilbert curve of 2^16 by 2^16 cells; O(n).

    Parameters
    ----------
    codes
        int32[2, n].
    sizes
        int64[2], numbers of codes.
    keys
        int64[n], written.
    """
    for i in range(codes.shape[1]):
        x = (codes[0, i] << 16) // sizes[0]
        y = (codes[1, i] << 16) // sizes[1]
        key = 0
        half = 1 << 15
        while half > 0:
            right = 1 if x & half else 0
            upper = 1 if y & half else 0
            key += half * half * ((3 * right) ^ upper)
            if upper == 0:  # the curve enters and leaves this quarter turned
                if right == 1:
                    x = (1 << 16) - 1 - x
                    y = (1 << 16) - 1 - y
                x, y = y, x
            half >>= 1
        keys[i] = key
