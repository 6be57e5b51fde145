"""How sure it is of people of a known population that they are in the data, before and after a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.grouping import firsts, people
from stream_anon.operations.studied_records import OriginalTable, Released
from stream_anon.privacy.population.presence_check import PresenceCheck
from stream_anon.rounding import exactly, in_percent

COLUMNS = ("classes", "largest share", "mean share", "above")
"""How many classes there are, shares of those who fit a class, and classes whose share is above the bound."""


@dataclass(frozen=True, slots=True)
class PresenceShares:
    """The shares of the people who fit a class that are in it.

    Parameters
    ----------
    classes
        How many there are.
    largest, mean
        Of their shares. Where the population has fewer people who fit than a class has, this is 1.
    above
        Classes whose share is above the bound of the policy.
    """

    classes: int
    largest: float
    mean: float
    above: int

    def cells(self, most: float) -> tuple[str, ...]:
        """Return what stands in a table under `COLUMNS`."""
        shares = in_percent(self.largest, bound=most), in_percent(self.mean)
        return f"{self.classes:,}", *shares, f"{self.above:,}"


@dataclass(frozen=True, slots=True)
class PresenceLeakage:
    """What is told of somebody's presence.

    Parameters
    ----------
    most
        The bound of the policy.
    people
        How many the population has.
    before
        By the true values: a class is all people with the same ones.
    after
        By the tuples of a release, whose records count as people; None without one.
    """

    most: float
    people: int
    before: PresenceShares
    after: PresenceShares | None

    @property
    def too_many(self) -> bool:
        """Return whether a class of the release is above the bound."""
        return self.after is not None and self.after.above > 0

    @property
    def in_words(self) -> str:
        """Return what the policy asks."""
        return (
            f"Of {self.people:,} people of the population, at most {exactly(self.most)} of those who fit a class "
            "may be in it."
        )

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return what stands in a table: when, and the cells under `COLUMNS`."""
        found = (("before", self.before), ("after", self.after))
        return [(when, *shares.cells(self.most)) for when, shares in found if shares is not None]


def presence_leakage(table: OriginalTable, released: Released | None) -> PresenceLeakage | None:
    """Return what records, and a release of them, tell of presence; None without a bound in the policy.

    Who is in a release is not published, so that somebody with several records in one class counts as often there.
    """
    bound = table.policy.presence
    if bound is None:
        return None
    check = PresenceCheck(table.policy)
    known = table.population
    groups, count = known.groups(range(len(known.codes)))
    codes = known.codes[:, firsts(groups, count)]
    before = _shares(check, people(groups, count, known.people), codes, codes)
    after = None
    if released is not None:
        after = _shares(check, released.boxes.records, released.boxes.low, released.boxes.high)
    return PresenceLeakage(bound.most, bound.people, before, after)


def _shares(
    check: PresenceCheck, sizes: NDArray[np.int64], low: NDArray[np.int32], high: NDArray[np.int32]
) -> PresenceShares:
    fitting = check.people(low, high)
    shares = np.minimum(1.0, sizes / np.maximum(fitting, 1))
    assert check.bound is not None  # noqa: S101 - it was asked before
    above = int((~check.bound.holds(sizes, fitting)).sum())
    if not len(shares):
        return PresenceShares(0, 0.0, 0.0, 0)
    return PresenceShares(len(shares), float(shares.max()), float(shares.mean()), above)
