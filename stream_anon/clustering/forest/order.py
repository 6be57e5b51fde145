"""ORDER: the place of a row on a line along which neighbours are alike.

Each attribute's path from the root of its hierarchy to the value is a row of digits (numbers in slices of two
bits). The digits of all attributes are put in one order, an attribute's own ones top-down, and read as one number
in snake fashion, so that neighbours differ in few and late digits. Which order is best is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.domains import CategoricalDomain

_SLICE = 4  # two bits of a number
_WORD = 2**62
WORDS = 2  # a key has two words; digits beyond are left out: they would order what is nearly alike anyway


@dataclass(frozen=True, eq=False)
class Digits:
    """The digits of every code of every attribute.

    Parameters
    ----------
    attribute
        int64[d], whose digit it is.
    base
        int64[d], its number of values.
    values
        Per digit an int32 array over the attribute's codes.
    """

    attribute: NDArray[np.int64]
    base: NDArray[np.int64]
    values: tuple[NDArray[np.int32], ...]

    @classmethod
    def of(cls, attributes: Sequence[QuasiIdentifier]) -> Digits:
        """Return the digits of `attributes`, each one's top-down, in their order."""
        owners: list[int] = []
        values: list[NDArray[np.int32]] = []
        for j, attribute in enumerate(attributes):
            own = _categorical(attribute.domain) if isinstance(attribute.domain, CategoricalDomain) else None
            for digit in own if own is not None else _numeric(attribute.domain.size):
                owners.append(j)
                # The leaves for missing and unknown values stand after all others at each level.
                tail = int(digit.max()) + 1
                values.append(np.concatenate([digit, np.array([tail, tail + 1], np.int32)]))
        base = [int(digit.max()) + 1 for digit in values]
        return cls(np.array(owners, np.int64), np.array(base, np.int64), tuple(values))

    def cold_order(self) -> NDArray[np.int64]:
        """Return the order to begin with: level by level, small bases first within a level."""
        level = np.zeros(len(self.base), np.int64)
        for i in range(1, len(level)):
            if self.attribute[i] == self.attribute[i - 1]:
                level[i] = level[i - 1] + 1
        return np.lexsort((self.base, level)).astype(np.int64)


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


def _numeric(size: int) -> list[NDArray[np.int32]]:
    codes = np.arange(size, dtype=np.int64)
    slices = max(1, -(-max(size - 1, 1).bit_length() // 2))
    return [((codes >> (2 * s)) % _SLICE).astype(np.int32) for s in reversed(range(slices))]


class KeyTable(NamedTuple):
    """The digits in their learned order as flat arrays.

    Parameters
    ----------
    attribute, base, start
        int64[d]: owner, number of values, where its values begin in `values`.
    word
        int64[d], the word of the key it belongs to.
    values
        int32.
    """

    attribute: NDArray[np.int64]
    base: NDArray[np.int64]
    start: NDArray[np.int64]
    word: NDArray[np.int64]
    values: NDArray[np.int32]


def key_table(digits: Digits, order: NDArray[np.int64]) -> KeyTable:
    """Return the digits in `order`, without those that no longer fit the key."""
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
    lengths = [len(digits.values[d]) for d in order.tolist()]
    return KeyTable(
        digits.attribute[order],
        digits.base[order],
        np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64),
        np.array(words, np.int64),
        np.concatenate([digits.values[d] for d in order.tolist()]),
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
        int64[2, n], written; the first word decides first.
    """
    n = codes.shape[1]
    for i in range(n):
        parity = 0
        key = 0
        word = 0
        keys[1, i] = 0
        for d in range(len(table.base)):
            if table.word[d] != word:
                keys[word, i] = key
                key = 0
                word = table.word[d]
            base = table.base[d]
            value = table.values[table.start[d] + codes[table.attribute[d], i]]
            if parity == 1:
                value = base - 1 - value
            key = key * base + value
            parity ^= value & 1
        keys[word, i] = key


def line_order(codes: NDArray[np.int32], table: KeyTable) -> NDArray[np.int64]:
    """Return the rows of codes int32[q, n] along the line; ties by arrival; O(n log n)."""
    return ascending(line_keys(codes, table), table)


def line_keys(codes: NDArray[np.int32], table: KeyTable) -> NDArray[np.int64]:
    """Return the keys int64[2, n] of codes int32[q, n]."""
    keys = np.zeros((WORDS, codes.shape[1]), np.int64)
    snake_keys(codes, table, keys)
    return keys


def ascending(keys: NDArray[np.int64], table: KeyTable) -> NDArray[np.int64]:
    """Return the places of keys int64[2, n] from the least to the greatest, equal ones as they stand."""
    if len(table.word) == 0 or table.word[-1] == 0:
        return np.argsort(keys[0], kind="stable")
    return np.lexsort((keys[1], keys[0]))
