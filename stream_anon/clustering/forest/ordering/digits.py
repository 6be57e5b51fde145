"""DIGITS: each attribute's path from the root of its hierarchy to the value is a row of digits.

Each domain says what its digits are: of numbers slices of two bits, of prefixes characters. The order in which
they make a key is that of `order`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

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
        curve = len(attributes) == 2 and all(a.domain.ordered for a in attributes)
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
    codes = np.arange(domain.size if domain.size <= _MOST_LISTED else 0, dtype=np.int32)
    found = []
    for digit in domain.digits():
        if len(digit.listed):
            found.append(_listed(digit.listed))
        elif len(codes):
            found.append(_listed(codes // digit.width % digit.values))
        else:
            found.append(_Digit(digit.values + 2, digit.width, digit.listed))
    return found


def _listed(digit: NDArray[np.int32]) -> _Digit:
    """Return a digit that is looked up; the leaves for missing and unknown values stand after all others."""
    tail = int(digit.max()) + 1
    return _Digit(tail + 2, 0, np.concatenate([digit, np.array([tail, tail + 1], np.int32)]))
