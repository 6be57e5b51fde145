"""Partition of m-invariance: cut balanced buckets into balanced slices whose rows are alike, as Mondrian does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.recoding.invariance.buckets import Bucket, Signature


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A balanced part of a bucket.

    Parameters
    ----------
    signature
        Its values.
    rows
        For each value int64[], the rows that have it.
    counterfeits
        For each value how many stand beside them: rows and counterfeits are equally many for all.
    """

    signature: Signature
    rows: tuple[NDArray[np.int64], ...]
    counterfeits: tuple[int, ...]

    @classmethod
    def of(cls, bucket: Bucket) -> Slice:
        """Return a whole bucket."""
        rows = tuple(np.array(bucket.rows.get(value, []), np.int64) for value in bucket.signature)
        return cls(bucket.signature, rows, tuple(bucket.counterfeits.get(value, 0) for value in bucket.signature))

    @property
    def height(self) -> int:
        """Return how often each value stands in it."""
        return len(self.rows[0]) + self.counterfeits[0]

    @property
    def people(self) -> int:
        """Return how many rows it has; counterfeits are none."""
        return sum(map(len, self.rows))

    @property
    def all_rows(self) -> NDArray[np.int64]:
        """Return its rows."""
        return np.concatenate(self.rows)

    def cut(self, codes: NDArray[np.int32], height: int) -> tuple[Slice, Slice]:
        """Return a slice of so much height with the rows of least codes int32[n], and the rest.

        Counterfeits have no codes: they are shared out as the rows are, as far as heights allow.
        """
        low: list[NDArray[np.int64]] = []
        high: list[NDArray[np.int64]] = []
        fakes: list[int] = []
        for rows, made in zip(self.rows, self.counterfeits, strict=True):
            wanted = round(len(rows) * height / self.height)
            taken = min(max(wanted, height - made, 0), len(rows), height)
            ordered = rows[np.argsort(codes[rows], kind="stable")]
            low.append(ordered[:taken])
            high.append(ordered[taken:])
            fakes.append(height - taken)
        rest = tuple(made - own for made, own in zip(self.counterfeits, fakes, strict=True))
        return Slice(self.signature, tuple(low), tuple(fakes)), Slice(self.signature, tuple(high), rest)


def spread(codes: NDArray[np.int32], rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    """Return how far apart rows are, as a share of each domain, summed over quasi-identifiers.

    Parameters
    ----------
    codes
        int32[q, n].
    sizes
        int64[q], of the domains.
    """
    own = codes[:, rows]
    return float(((own.max(axis=1) - own.min(axis=1)) / sizes).sum())


def sliced(whole: Slice, codes: NDArray[np.int32], sizes: NDArray[np.int64], k: int) -> Iterator[Slice]:
    """Yield the slices of a bucket: halves of halves, as long as both have k people.

    Parameters
    ----------
    codes
        int32[q, n], of all rows.
    sizes
        int64[q], of the domains.
    """
    stack = [whole]
    while stack:
        part = stack.pop()
        halves = _best_cut(part, codes, sizes, k)
        if halves is None:
            yield part
        else:
            stack.extend(halves)


def _best_cut(
    part: Slice, codes: NDArray[np.int32], sizes: NDArray[np.int64], k: int
) -> tuple[Slice, Slice] | None:
    if part.height < 2 or part.people < 2 * k:
        return None
    best, least = None, np.inf
    for own in codes:
        low, high = part.cut(own, part.height // 2)
        if min(low.people, high.people) < k:
            continue
        cost = sum(half.people * spread(codes, half.all_rows, sizes) for half in (low, high))
        if cost < least:
            best, least = (low, high), cost
    return best


def united(
    slices: Sequence[Slice], codes: NDArray[np.int32], sizes: NDArray[np.int64], k: int
) -> list[list[Slice]]:
    """Return groups of slices that have k people each: a slice with fewer joins the group that costs least.

    A group of several slices shows the values of all of them. It promises no less: within it, each signature's
    values stand equally often. O(slices with fewer x slices).
    """
    if not slices:
        return []
    low = np.stack([codes[:, one.all_rows].min(axis=1) for one in slices], axis=1).astype(np.int64)
    high = np.stack([codes[:, one.all_rows].max(axis=1) for one in slices], axis=1).astype(np.int64)
    people = np.array([one.people for one in slices], np.int64)
    groups: list[list[Slice]] = [[one] for one in slices]
    alive = np.ones(len(slices), np.bool_)
    for place in np.argsort(people, kind="stable").tolist():
        if people[place] >= k or not alive[place]:
            continue
        others = np.flatnonzero(alive)
        others = others[others != place]
        if not len(others):
            break
        widths = np.maximum(high[:, others], high[:, [place]]) - np.minimum(low[:, others], low[:, [place]])
        own = (high[:, others] - low[:, others]) / sizes[:, None] * people[others]
        cost = (widths / sizes[:, None] * (people[others] + people[place]) - own).sum(axis=0)
        target = int(others[cost.argmin()])
        groups[target] += groups[place]
        people[target] += people[place]
        low[:, target] = np.minimum(low[:, target], low[:, place])
        high[:, target] = np.maximum(high[:, target], high[:, place])
        alive[place] = False
    # Only the last group that is left can have too few people.
    left = np.flatnonzero(alive & (people >= k))
    return [groups[place] for place in left.tolist()]
