"""Dense numbers for keys: individuals and sensitive values as small integers, for one window only."""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel

_FIRST_CAPACITY = 1024
_FACTOR = secrets.randbits(62) | 1


@kernel
def number_keys(
    keys: NDArray[np.int64],
    table: NDArray[np.int32],
    known: NDArray[np.int64],
    counts: NDArray[np.int64],
    figures: NDArray[np.int64],
    answer: NDArray[np.int32],
) -> int:
    """Give keys numbers in the order of their first appearance; return how many are known afterwards.

    Parameters
    ----------
    keys
        int64[n].
    table
        int32[capacity], a power of two at least twice the keys known afterwards; -1 where free.
    known, counts
        int64[at least used + n]: the key behind each number, and how often it was admitted.
    figures
        int64[3]: how many keys are known before, how many times a key is admitted, and an odd number. This one is
        the same for all calls on one table, and must stay unknown to anybody who could choose keys.
    answer
        int32[n], written: the number of each key, -1 where it is over its limit.
    """
    mask = len(table) - 1
    used = int(figures[0])
    limit = figures[1]
    factor = figures[2]
    for i in range(len(keys)):
        key = keys[i]
        # Keys are hashes where they come from a person; others may be alike in all their low bits, or chosen so.
        mixed = (key ^ (key >> 32)) * factor
        place = (mixed ^ (mixed >> 32)) & mask
        while table[place] >= 0 and known[table[place]] != key:
            place = (place + 1) & mask
        number = table[place]
        if number < 0:
            number = used
            table[place] = used
            known[used] = key
            counts[used] = 0
            used += 1
        if counts[number] < limit:
            counts[number] += 1
            answer[i] = number
        else:
            answer[i] = -1
    return used


class Numbering:
    """Gives keys dense numbers and counts how often each was admitted.

    Parameters
    ----------
    limit
        Times a key is admitted; further ones get -1.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._table = np.full(_FIRST_CAPACITY, -1, np.int32)
        self._known = np.empty(_FIRST_CAPACITY, np.int64)
        self._counts = np.zeros(_FIRST_CAPACITY, np.int64)

    def __len__(self) -> int:
        return self._used

    @property
    def keys(self) -> NDArray[np.int64]:
        """Return the key behind each number."""
        return self._known[: self._used]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return how often each key was admitted."""
        return self._counts[: self._used].copy()

    def number(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of each key, -1 where it is over its limit; int32[n], amortized O(n)."""
        self._make_room(self._used + len(keys))
        answer = np.empty(len(keys), np.int32)
        figures = np.array([self._used, self._limit, _FACTOR])
        self._used = number_keys(
            np.ascontiguousarray(keys), self._table, self._known, self._counts, figures, answer
        )
        return answer

    def _make_room(self, wanted: int) -> None:
        if 2 * wanted <= len(self._table):
            return
        known, counts, used = self._known[: self._used], self._counts[: self._used], self._used
        capacity = len(self._table)
        while capacity < 2 * wanted:
            capacity *= 2
        self._table = np.full(capacity, -1, np.int32)
        self._known = np.empty(capacity, np.int64)
        self._counts = np.zeros(capacity, np.int64)
        answer = np.empty(used, np.int32)
        number_keys(known, self._table, self._known, self._counts, np.array([0, 1, _FACTOR]), answer)
        self._counts[:used] = counts
