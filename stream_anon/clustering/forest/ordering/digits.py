"""DIGITS: each attribute's path from the root of its hierarchy to the value is a row of digits.

Numbers are cut into slices of two bits, prefixes into characters. The order in which they make a key is that
of `order`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import CategoricalDomain, Domain, PrefixDomain
from stream_anon.microdata.domains.numbers import NumericDomain

_SLICE = 4  # two bits of a number
_MOST_LISTED = 4096  # codes whose digits are looked up; those of more are computed, or they would fill the memory


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
        found = [(j, digit) for j, attribute in enumerate(attributes) for digit in _digits(attribute.domain)]
        lists = [digit.listed for _, digit in found]
        sizes = np.array([attribute.domain.size + 2 for attribute in attributes], np.int64)
        curve = len(attributes) == 2 and all(isinstance(a.domain, NumericDomain | DateDomain) for a in attributes)
        return cls(
            np.array([j for j, _ in found], np.int64),
            np.array([digit.base for _, digit in found], np.int64),
            np.array([digit.width for _, digit in found], np.int64),
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
    """One digit of an attribute: a part of each array of `Digits`."""

    base: int
    width: int
    listed: NDArray[np.int32]


def _digits(domain: Domain) -> list[_Digit]:
    if isinstance(domain, CategoricalDomain):
        return [_listed(digit) for digit in _categorical(domain)]
    size = domain.size
    step = domain.base if isinstance(domain, PrefixDomain) else _SLICE
    widths = [1]
    while widths[-1] * step < size:
        widths.append(widths[-1] * step)
    widths.reverse()
    if size <= _MOST_LISTED:
        codes = np.arange(size, dtype=np.int32)
        return [_listed(codes // width % step) for width in widths]
    nothing = np.empty(0, np.int32)
    return [_Digit(min((size - 1) // width + 1, step) + 2, width, nothing) for width in widths]


def _listed(digit: NDArray[np.int32]) -> _Digit:
    """Return a digit that is looked up; the leaves for missing and unknown values stand after all others."""
    tail = int(digit.max()) + 1
    return _Digit(tail + 2, 0, np.concatenate([digit, np.array([tail, tail + 1], np.int32)]))


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
