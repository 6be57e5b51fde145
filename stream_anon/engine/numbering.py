"""Dense numbers for keys: individuals and sensitive values as small integers, for one window only."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.microdata.batch import MISSING_KEY, ItemKeys
from stream_anon.microdata.columns import NO_VALUE, Columns, Sets
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.sensitive_keys import family_keys

_FIRST_CAPACITY = 1024
_FACTOR = secrets.randbits(62) | 1
_OF_SET, _OF_ITEM = 128, 40
"""Bytes that are kept for each different list, and for each of its items."""


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


class SensitiveNumbers:
    """Gives the values of sensitive attributes dense numbers, and keeps the items of those that are lists.

    Parameters
    ----------
    policy
        Says which s attributes have a criterion.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._numbers = [Numbering(2**62) for _ in policy.diverse]
        self._lists = [attribute.many for attribute in policy.diverse]
        self.sets: dict[int, tuple[int, ...]] = {}  # the items of each list, by its key

    @property
    def counts(self) -> tuple[NDArray[np.int64], ...]:
        """Return how often each value of each attribute occurs."""
        return tuple(own.counts for own in self._numbers)

    def number(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the numbers of sensitive keys int64[s, n], `NO_VALUE` where the value is missing."""
        numbers = np.full(keys.shape, NO_VALUE, np.int32)
        for own, row, answer in zip(self._numbers, keys, numbers, strict=True):
            present = row != MISSING_KEY
            answer[present] = own.number(row[present])
        return numbers

    def keep_sets(self, known: ItemKeys, keys: NDArray[np.int64]) -> int:
        """Keep the items of lists, given by sensitive keys int64[s, n]; return the bytes of those that are new."""
        if not any(self._lists):
            return 0
        wanted = set(keys[self._lists].ravel().tolist())
        new = {key: known[key] for key in wanted - self.sets.keys() - {MISSING_KEY}}
        self.sets |= new
        return sum(_OF_SET + _OF_ITEM * len(items) for items in new.values())

    def in_order(self, columns: Columns) -> Columns:
        """Return numbered rows with sets and families, values that are ordered numbered anew in their order."""
        attributes = self._policy.diverse
        for own, attribute, column in zip(self._numbers, attributes, columns.sensitive, strict=True):
            if self._policy.diversity[attribute.name].ordered:
                rank = np.argsort(np.argsort(own.keys)).astype(np.int32)
                column[:] = np.where(column >= 0, np.append(rank, NO_VALUE)[column], NO_VALUE)
        if any(self._lists):
            sets = [
                Sets.of([self.sets[key] for key in own.keys.tolist()]) if many else None
                for own, many in zip(self._numbers, self._lists, strict=True)
            ]
            columns = replace(columns, sets=tuple(sets))
        if any(attribute.keeps_whole for attribute in attributes):
            columns = replace(columns, families=tuple(self._families()))
        return columns

    def _families(self) -> Iterator[NDArray[np.int32] | None]:
        """Yield the family of each number of each attribute; None where families need not be whole."""
        for own, attribute in zip(self._numbers, self._policy.diverse, strict=True):
            known = family_keys(attribute) if attribute.keeps_whole else None
            yield None if known is None else np.array([known.get(k, NO_VALUE) for k in own.keys.tolist()], np.int32)
