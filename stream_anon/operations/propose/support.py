"""How many individuals share a value: nothing is written that fewer than `FEWEST` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from stream_anon.adapters.tables.samples import Column, Value

FEWEST = 10


@dataclass(frozen=True)
class People:
    """The individual of each row, by every field that tells people apart.

    Parameters
    ----------
    identities
        For each such field the value of every row that has one. Empty: every record counts as a person.
        A value counts as shared by so many as the field says that says the fewest: which field is right,
        a person must decide first.
    """

    identities: Sequence[Mapping[int, Value]] = ()

    def sharing(self, rows: Iterable[int], values: Iterable[Hashable]) -> Counter[Hashable]:
        """Return by value how many individuals have it; rows without a person are not counted."""
        pairs = list(zip(rows, values, strict=True))
        if not self.identities:
            return Counter(value for _, value in pairs)
        counts: Counter[Hashable] | None = None
        for identity in self.identities:
            known = {(value, identity[row]) for row, value in pairs if row in identity}
            found = Counter(value for value, _ in known)
            counts = found if counts is None else counts & found
        return counts or Counter()

    def number(self, rows: Iterable[int]) -> int:
        """Return how many individuals stand in these rows."""
        rows = list(rows)
        return self.sharing(rows, [None] * len(rows))[None]

    def common(self, column: Column, label: Callable[[Value], Hashable]) -> Counter[Hashable]:
        """Return the values, as `label` writes them, that at least `FEWEST` individuals share."""
        counts = self.sharing(column.rows, map(label, column.values))
        return Counter({value: count for value, count in counts.items() if count >= FEWEST})

    def inner_ends(self, rows: Sequence[int], numbers: Sequence[Decimal]) -> tuple[Decimal, Decimal] | None:
        """Return the least and the greatest number that `FEWEST` individuals reach or pass; None for fewer.

        So an outlier of one person does not show in how wide a range is.
        """
        if not self.identities:
            return _ends(list(numbers), list(numbers))
        found = []
        for identity in self.identities:
            least: dict[Value, Decimal] = {}
            most: dict[Value, Decimal] = {}
            for row, number in zip(rows, numbers, strict=True):
                if row in identity:
                    person = identity[row]
                    least[person] = min(number, least.get(person, number))
                    most[person] = max(number, most.get(person, number))
            found.append(_ends(list(least.values()), list(most.values())))
        known = [ends for ends in found if ends is not None]
        if len(known) < len(found):
            return None
        low, high = max(low for low, _ in known), min(high for _, high in known)
        return (low, high) if low <= high else (high, low)


def _ends(least: list[Decimal], most: list[Decimal]) -> tuple[Decimal, Decimal] | None:
    if len(least) < FEWEST:
        return None
    low, high = sorted(least)[FEWEST - 1], sorted(most)[-FEWEST]
    return (low, high) if low <= high else (high, low)
