"""What kernels are told of a domain: how its nodes are found by arithmetic, and the digits of its codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# How a kernel finds what is published for codes `low` to `high`, and what it costs. Of small domains
# `privacy.costs.cost` makes a table instead.
TABLE = 0  # cost[low, high] in a table
LINEAR = 1  # slope x (high - low) + base: tight numbers
HALVING = 2  # linear cost of the halving above
WIDTHS = 3  # linear cost of the cell above, cells of equal width per level
PREFIX = 4  # level / height, cells of equal width per level
FIRSTS = 5  # leaves under the node / leaves, nodes given by their first code per level
HALVING_LEVEL = 6  # level / height of the halving above
FIRSTS_LEVEL = 7  # level / height, nodes given by their first code per level
RANGES = 9  # linear cost of the node above, nodes given by their first code per level
SPAN = 8  # codes between the ends / codes, 0 for one: a set of which only the ends are known

_NOTHING = np.empty(0, np.int32)


class Walk(NamedTuple):
    """How to find nodes and their cost without a table.

    Parameters
    ----------
    kind
        One of the constants above.
    slope, base
        What each code, or each level, adds, and what a single code costs.
    steps
        int32: widths of the levels in codes, or for FIRSTS and FIRSTS_LEVEL the first code of each code's node,
        level by level.
    cell
        Of FIRSTS and FIRSTS_LEVEL: how many codes are one node of the lowest level above a code, so that `steps`
        has an entry for each such node only; 1 for an entry for each code.
    """

    kind: int
    slope: float
    base: float
    steps: NDArray[np.int32] = _NOTHING
    cell: int = 1


class Digit(NamedTuple):
    """One digit of a domain's codes, on the way from the root to the value.

    Parameters
    ----------
    values
        How many there are.
    width
        A code's digit is code // width % values; 0 where it is listed.
    listed
        int32[size], the digit of each code; empty where it is computed.
    """

    values: int
    width: int
    listed: NDArray[np.int32] = _NOTHING


def digits_of_widths(size: int, widths: Sequence[int]) -> list[Digit]:
    """Return the digits of codes 0 to `size` - 1, given each one's width: descending multiples, 1 the last."""
    wider = [size, *widths]
    counts = [-(-above // width) for above, width in zip(wider, widths, strict=False)]
    return [Digit(count, width) for count, width in zip(counts, widths, strict=True)]


def digits_of_two_bits(size: int) -> list[Digit]:
    """Return the digits of codes 0 to `size` - 1 in base 4."""
    return digits_of_widths(size, powers_below(size, 4))


def powers_below(size: int, base: int) -> list[int]:
    """Return the powers of `base` below `size`, the largest first; 1 at the least."""
    widths = [1]
    while widths[-1] * base < size:
        widths.append(widths[-1] * base)
    return widths[::-1]
