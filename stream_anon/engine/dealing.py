"""Deal equal rows among their places by chance before a window is partitioned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel
from stream_anon.engine.numbering import Numbering


@bare_kernel
def mix_columns(columns: NDArray[np.int32], factors: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
    """Mix columns int32[c, n] into keys int64[n], zeros before, with an odd factor int64[c] each."""
    for j in range(len(columns)):
        for i in range(len(keys)):
            keys[i] = (keys[i] ^ ((keys[i] >> 29) & 0x7FFFFFFFF)) * factors[j] + columns[j, i]


@bare_kernel
def deal(
    group_of_row: NDArray[np.int32],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    after: NDArray[np.int64],
    answer: NDArray[np.int64],
) -> None:
    """Give the n rows of each group to each other's places.

    Parameters
    ----------
    group_of_row
        int32[n].
    order
        int64[n], the order in which places are served; each takes the next row of its group.
    first, after
        int64[groups], -1 everywhere, and int64[n], room: each group's rows as a chain.
    answer
        int64[n], written: the row in each place.
    """
    for row in range(len(order)):
        group = group_of_row[row]
        after[row] = first[group]
        first[group] = row
    for i in range(len(order)):
        place = order[i]
        group = group_of_row[place]
        answer[place] = first[group]
        first[group] = after[first[group]]


def dealt(codes: NDArray[np.int32], draws: np.random.Generator) -> NDArray[np.int64]:
    """Return the rows in an order that differs among equal ones only, and there by chance; O(q n).

    Partitioners break ties by arrival: of several people with equal quasi-identifiers, those who came first
    would share one class. Rows with equal codes change places before that. The table stays the same, with its rows
    in another order, and what was prepared still serves.

    Parameters
    ----------
    codes
        int32[q, n].
    draws
        Deals.
    """
    n = codes.shape[1]
    # A random odd factor a column makes one key of them. If two collide, a class is wider.
    factors = draws.integers(0, 2**62, len(codes)) * 2 + 1
    keys = np.zeros(n, np.int64)
    mix_columns(codes, factors, keys)
    groups = Numbering(n)
    group_of_row = groups.number(keys)
    answer = np.empty(n, np.int64)
    first, after = np.full(len(groups), -1, np.int64), np.empty(n, np.int64)
    deal(group_of_row, draws.permutation(n), first, after, answer)
    return answer
