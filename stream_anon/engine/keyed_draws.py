"""Draws that follow from a secret key and a window's records: the same records give the same release.

Releases that were drawn apart from each other can be intersected: each of them tells something else of the same
people. So a window is brought into an order that follows from its records alone, and what is drawn for it is seeded
by a keyed hash of all of them. Without the key nobody can replay it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.partitioning import Partitioner
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.columns import NO_VALUE, Columns, Sets
from stream_anon.microdata.keys import keys_of_spans
from stream_anon.microdata.payload import Payload, payload_keys
from stream_anon.secret_key import SecretKey


class DrawsKey(SecretKey):
    """A secret that draws follow from: who has it can replay what was drawn."""

    __slots__ = ()
    use, setting = "draws", "engine.draws_key_file"

    def of_rows(self) -> NDArray[np.int64]:
        """Return the key by which records are hashed; int64[2]."""
        return np.frombuffer(self._hash(b"rows", b"")[:16], np.int64).copy()

    def draws(self, purpose: bytes, content: bytes = b"") -> np.random.Generator:
        """Return a generator that follows from the key, a purpose of at most 16 bytes, and some content."""
        return np.random.default_rng(int.from_bytes(self._hash(purpose, content), "little"))

    def salt(self, purpose: bytes) -> str:
        """Return a text that follows from the key and a purpose, and tells nothing of the key."""
        return self._hash(purpose, b"").hex()

    def _hash(self, purpose: bytes, content: bytes) -> bytes:
        return hashlib.blake2b(content, digest_size=32, key=self.hashed, person=purpose).digest()


def key_of(secret: bytes | None) -> DrawsKey | None:
    """Return the key that is this secret; None without one. Raise ValueError as `DrawsKey` does."""
    return None if secret is None else DrawsKey(secret)


class DrawnWindow(NamedTuple):
    """A sealed window with its draws.

    `places` are apart from `draws`, so that what they choose, which readers see, tells nothing of how classes were
    formed.

    Parameters
    ----------
    draws
        For its close.
    places
        For the partitions that it goes to.
    """

    window: SealedWindow
    draws: np.random.Generator
    places: np.random.Generator


class KeyedWindows:
    """Brings sealed windows into an order of their own, and draws for them by a key.

    Parameters
    ----------
    key
        What draws follow from.
    partitioner
        Makes the partitioner of a window by its draws; without it a window keeps its own, which must do nothing
        before its close.
    """

    def __init__(
        self, key: DrawsKey, partitioner: Callable[[np.random.Generator], Partitioner] | None = None
    ) -> None:
        self._key = key
        self._partitioner = partitioner

    def turned(self, window: SealedWindow) -> DrawnWindow:
        """Return a window with its rows in an order that follows from them, and draws for it; O(n log n)."""
        columns, fields = window.columns, len(window.policy.passed)
        order, people, told = keyed_order(columns.codes, columns.individuals, window.payload, fields, self._key)
        draws, places = self._key.draws(b"window", told), self._key.draws(b"places", told)
        if not len(order):
            return DrawnWindow(window, draws, places)
        ordered = [window.policy.diversity[attribute.name].ordered for attribute in window.policy.diverse]
        turned = _renumbered(replace(columns, individuals=people[columns.individuals]).take(order), ordered)
        partitioner = window.partitioner
        if self._partitioner is not None:
            partitioner = self._partitioner(draws)
            partitioner.add(turned)
        return DrawnWindow(window.turned(order, turned, partitioner), draws, places)


def keyed_order(
    codes: NDArray[np.int32], individuals: NDArray[np.int32], payload: Payload, fields: int, key: DrawsKey
) -> tuple[NDArray[np.int64], NDArray[np.int32], bytes]:
    """Return an order of rows, new numbers of their people, and what they hold, whatever order they came in.

    Ids have no part in it: people are numbered by their records. Rows that change places between two orders of
    arrival are those of people with equal records.

    Parameters
    ----------
    codes
        int32[q, n].
    individuals
        int32[n], dense numbers from 0.
    payload, fields
        What is published of each row besides, and how many fields that are.

    Returns
    -------
    tuple
        int64[n], the rows in order; int32[people], the new number of each; the content that draws follow from.
    """
    own = key.of_rows()
    parts = np.vstack([codes.astype(np.int64), payload_keys(payload, fields, own)])
    width = 8 * len(parts)
    ends = np.arange(1, codes.shape[1] + 1, dtype=np.int64) * width
    content = keys_of_spans(np.ascontiguousarray(parts.T).tobytes(), ends, own)
    people = _rank(_sums(individuals, content))
    numbers = people[individuals]
    order = np.lexsort((numbers, content)).astype(np.int64)
    return order, people, content[order].tobytes() + numbers[order].tobytes()


def _sums(groups: NDArray[np.int32], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of the keys of each group, which no order changes; int64[groups]."""
    sums = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, groups, keys)
    return sums


def _rank(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the place of each key in their order; int32[n]."""
    ranks = np.empty(len(keys), np.int32)
    ranks[np.argsort(keys, kind="stable")] = np.arange(len(keys), dtype=np.int32)
    return ranks


def _renumbered(rows: Columns, ordered: list[bool]) -> Columns:
    """Return the rows with sensitive values numbered as they first occur, except where numbers have an order."""
    sensitive, sets, families = rows.sensitive.copy(), list(rows.sets), list(rows.families)
    for s, numbers in enumerate(rows.sensitive):
        if ordered[s]:
            continue
        present = np.flatnonzero(numbers != NO_VALUE)
        old, first, place = np.unique(numbers[present], return_index=True, return_inverse=True)
        rank = _rank(first.astype(np.int64))
        sensitive[s, present] = rank[place]
        chosen = old[np.argsort(rank)]
        if sets and (before := sets[s]) is not None:
            sets[s] = _renumbered_sets(before, chosen)
        if families and (family_of := families[s]) is not None:
            families[s] = family_of[chosen]
    return Columns(rows.codes, rows.individuals, sensitive, tuple(sets), tuple(families))


def _renumbered_sets(sets: Sets, chosen: NDArray[np.int32]) -> Sets:
    """Return the chosen sets in their order, with items numbered by the sets that they are in."""
    places, items = sets.occurrences(chosen)
    # Items of the same sets may change names: nothing tells them apart. Others have sums of their own.
    marks = np.random.default_rng(0).integers(-(2**62), 2**62, len(chosen))
    names = np.unique(items, return_inverse=True)[1].astype(np.int32)
    names = _rank(_sums(names, marks[places]))[names]
    within = np.lexsort((names, places))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(places, minlength=len(chosen)))])
    return Sets(starts, names[within])
