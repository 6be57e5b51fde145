"""Division, balancing and assignment after m-invariance (Xiao and Tao, SIGMOD 2007).

A signature is a set of values. A bucket holds the rows of one signature. It is balanced if each of the values
stands in it equally often. Who was released before comes into the bucket of their signature; where values are short
there, counterfeits fill the places. People who are new come into buckets equally many of each value. If they
cannot, they come into one bucket of all their values, and counterfeits fill that one too.

The paper lets new people fill places before counterfeits do. That tells values to who knows how it chooses: a
counterfeit where a new person could have been says which value was short, and so what those who stayed have. To
leave out some of the new people, so that the others can be balanced, would tell that these have the most frequent
value. Here all choices stay as they are if the people of one signature exchange its values. That somebody who is
new is left out depends on the values of all who are new with them: so all of them get the same signature later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Signature = tuple[int, ...]
"""Numbers of values, ascending."""


@dataclass(slots=True)
class Bucket:
    """The rows of one signature, by value, and how many counterfeits each value needs."""

    signature: Signature
    rows: dict[int, list[int]] = field(default_factory=dict)
    counterfeits: dict[int, int] = field(default_factory=dict)

    def add(self, value: int, rows: Sequence[int]) -> None:
        """Take rows that have one of the signature's values."""
        self.rows.setdefault(value, []).extend(rows)

    def held(self, value: int) -> int:
        """Return how many rows have a value."""
        return len(self.rows.get(value, ()))

    @property
    def height(self) -> int:
        """Return how often each value stands in the bucket once it is balanced."""
        return max(map(len, self.rows.values()), default=0)

    def check_invariants(self) -> None:
        """Check what holds of every bucket that is balanced."""
        # Rows have values of the signature, and nobody stands for another value.
        assert self.rows.keys() <= set(self.signature)  # noqa: S101
        # Every value stands in it equally often.
        found = {self.held(value) + self.counterfeits.get(value, 0) for value in self.signature}
        assert found == {self.height}  # noqa: S101


class Newcomers:
    """Rows of people without a signature, by value."""

    def __init__(self, rows: Mapping[int, list[int]], m: int) -> None:
        self._values = sorted(rows)
        self._rows = rows
        self._m = m
        self._counts = np.array([len(rows[value]) for value in self._values], np.int64)
        self._place = {value: place for place, value in enumerate(self._values)}

    @property
    def signature(self) -> Signature:
        """Return all their values."""
        return tuple(self._values)

    @property
    def eligible(self) -> bool:
        """Return whether all of them can be assigned to balanced buckets: no value has more than one in m."""
        return self._m * int(self._counts.max(initial=0)) <= int(self._counts.sum())

    def take(self, value: int, count: int) -> list[int]:
        """Return rows of a value, and let them go."""
        own = self._rows[value]
        taken = [own.pop() for _ in range(count)]
        self._counts[self._place[value]] -= count
        return taken

    def next_bucket(self) -> tuple[Signature, int] | None:
        """Return the values of the next bucket and how many rows of each go there; None if nobody is left.

        The b most frequent values give a rows each: b is the least, and a the most, so that the rest is eligible.
        """
        order = np.argsort(-self._counts, kind="stable")
        counts = self._counts[order].tolist()
        left, m = sum(counts), self._m
        for b in range(m, len(counts) + 1 if left else 0):
            if not counts[b - 1]:
                break
            most = counts[b - 1]
            if b > m:
                most = min(most, (left - m * counts[0]) // (b - m))
            following = counts[b] if b < len(counts) else 0
            most = min(most, (left - m * following) // b)
            if most >= 1:
                return tuple(sorted(self._values[place] for place in order[:b].tolist())), most
        if left:
            raise AssertionError("eligible rows can always be assigned")
        return None


def bucketed(
    values: NDArray[np.int64],
    signatures: Sequence[Signature | None],
    m: int,
    draws: np.random.Generator,
    *,
    together: bool = False,
) -> list[Bucket]:
    """Return balanced buckets of rows.

    A row is in none if its value is not in the signature that its person has. New people are in none if they have
    fewer than m values. O(n v) for v values.

    Parameters
    ----------
    values
        int64[n], the number of each row's value.
    signatures
        The signature that each row's person was published with; None for people who are new.
    m
        Least number of values of a new signature.
    draws
        Says which of several rows with one value goes where.
    together
        Whether all new people get one signature.
    """
    buckets: dict[Signature, Bucket] = {}
    new: dict[int, list[int]] = {}
    # 1. Division: who was released before goes where their signature is.
    for row in draws.permutation(len(values)).tolist():
        value, signature = int(values[row]), signatures[row]
        if signature is None:
            new.setdefault(value, []).append(row)
        elif value in signature:
            buckets.setdefault(signature, Bucket(signature)).add(value, [row])
    newcomers = Newcomers(new if len(new) >= m else {}, m)
    if together or not newcomers.eligible:
        signature = newcomers.signature
        for value in signature:
            buckets.setdefault(signature, Bucket(signature)).add(value, newcomers.take(value, len(new[value])))
    # 2. Balancing.
    for bucket in buckets.values():
        height = bucket.height
        short = {value: height - bucket.held(value) for value in bucket.signature}
        bucket.counterfeits = {value: count for value, count in short.items() if count}
    # 3. Assignment: equally many of each value, so that buckets stay balanced.
    while (found := newcomers.next_bucket()) is not None:
        signature, count = found
        bucket = buckets.setdefault(signature, Bucket(signature))
        for value in signature:
            bucket.add(value, newcomers.take(value, count))
    return list(buckets.values())
