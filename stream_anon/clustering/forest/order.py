"""ORDER: the place of a row on a line along which neighbours are alike.

Each attribute's path from the root of its hierarchy to the value is a row of digits (numbers in slices of two
bits, prefixes a character each). The digits of all attributes are put in one order, an attribute's own ones
top-down, and read as one number in snake fashion, so that neighbours differ in few and late digits. Which order is
best is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.dates import DateDomain
from stream_anon.microdata.domains import CategoricalDomain, Domain, PrefixDomain
from stream_anon.microdata.numbers import NumericDomain

_SLICE = 4  # two bits of a number
_BITS = 62
_WORD = 2**_BITS
_BLOCK = 512  # rows whose keys grow together: they stay in the nearest cache
_MOST_LISTED = 4096  # codes whose digits are looked up; those of more are computed, or they would fill the memory
WORDS = 2  # a key has two words; digits beyond are left out: they would order what is nearly alike anyway


@dataclass(frozen=True, eq=False)
class Digits:
    """The digits of every code of every attribute.

    Parameters
    ----------
    attribute
        int64[d], whose digit it is.
    base
        int64[d], its number of values. The last two stand for missing and unknown values.
    width
        int64[d]: a code's digit is code // width % (base - 2); 0 where it is looked up.
    listed, start
        int32, the values of one digit that is looked up after the other, each over its attribute's codes, whatever
        their order in a key; int64[d], where each begins.
    sizes
        int64[q], codes of each attribute.
    curve
        Whether there are two numbers and nothing else. No order of their digits is as good as a Hilbert curve.
    """

    attribute: NDArray[np.int64]
    base: NDArray[np.int64]
    width: NDArray[np.int64]
    listed: NDArray[np.int32]
    start: NDArray[np.int64]
    sizes: NDArray[np.int64]
    curve: bool

    @classmethod
    def of(cls, attributes: Sequence[QuasiIdentifier]) -> Digits:
        """Return the digits of `attributes`, each one's top-down, in their order."""
        owners: list[int] = []
        bases: list[int] = []
        widths: list[int] = []
        lists: list[NDArray[np.int32]] = []
        for j, attribute in enumerate(attributes):
            for own in _digits(attribute.domain):
                owners.append(j)
                # The leaves for missing and unknown values stand after all others at each level.
                tail = own.values
                bases.append(tail + 2)
                widths.append(own.width if own.listed is None else 0)
                listed = () if own.listed is None else (own.listed, np.array([tail, tail + 1], np.int32))
                lists.append(np.concatenate([np.empty(0, np.int32), *listed]))
        sizes = np.array([attribute.domain.size + 2 for attribute in attributes], np.int64)
        curve = len(attributes) == 2 and all(isinstance(a.domain, NumericDomain | DateDomain) for a in attributes)
        return cls(
            np.array(owners, np.int64),
            np.array(bases, np.int64),
            np.array(widths, np.int64),
            np.concatenate(lists),
            np.cumsum([0, *map(len, lists[:-1])]),
            sizes,
            curve,
        )

    def cold_order(self) -> NDArray[np.int64]:
        """Return the order to begin with: level by level, small bases first within a level."""
        level = np.zeros(len(self.base), np.int64)
        for i in range(1, len(level)):
            if self.attribute[i] == self.attribute[i - 1]:
                level[i] = level[i - 1] + 1
        return np.lexsort((self.base, level)).astype(np.int64)


class _Digit(NamedTuple):
    """One digit of a domain: its number of values, and how it is computed, or int32[size], what each code's is."""

    values: int
    width: int
    listed: NDArray[np.int32] | None


def _digits(domain: Domain) -> list[_Digit]:
    if isinstance(domain, CategoricalDomain):
        return [_Digit(int(digit.max()) + 1, 0, digit) for digit in _categorical(domain)]
    size = domain.size
    step = len(domain.alphabet) if isinstance(domain, PrefixDomain) else _SLICE
    widths = [1]
    while widths[-1] * step < size:
        widths.append(widths[-1] * step)
    codes = np.arange(size if size <= _MOST_LISTED else 0, dtype=np.int32)
    return [
        _Digit(min((size - 1) // width + 1, step), width, codes // width % step if size <= _MOST_LISTED else None)
        for width in reversed(widths)
    ]


def _categorical(domain: CategoricalDomain) -> list[NDArray[np.int32]]:
    tree = domain.hierarchy
    children: dict[int, list[int]] = {}
    for node in range(1, len(tree.labels)):
        children.setdefault(int(tree.parents[node]), []).append(node)
    rank = np.zeros(len(tree.labels), np.int32)
    for siblings in children.values():
        rank[siblings] = np.arange(len(siblings))
    digits = []
    for depth in range(1, tree.height + 1):
        digit = np.zeros(tree.size, np.int32)
        for code, leaf in enumerate(tree.leaves.tolist()):
            node = leaf
            while tree.depths[node] > depth:
                node = int(tree.parents[node])
            digit[code] = rank[node] if tree.depths[node] == depth else 0
        if digit.max() > 0:
            digits.append(digit)
    return digits or [np.zeros(tree.size, np.int32)]


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
