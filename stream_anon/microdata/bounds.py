"""Bounds that a policy sets: how many records something may happen to, and how many people must share something."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from stream_anon.errors import SettingsError
from stream_anon.rounding import exactly


@dataclass(frozen=True, slots=True)
class RecordBound:
    """A bound on a number of records.

    Parameters
    ----------
    share
        Of all records, from 0 to 1.
    records
        A number of them instead of a share.
    """

    share: float = 0.0
    records: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1 or (self.records is not None and self.records < 0):
            raise ValueError("a bound is a share from 0 to 1, or a number of records")

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the bound that `5%` or `100` stands for; None for any other text."""
        share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]+)?) ?%", text.strip())
        if share is not None and float(share[1]) <= 100:
            return cls(float(share[1]) / 100)
        return cls(records=int(text)) if re.fullmatch("[0-9]{1,15}", text.strip()) else None

    def of(self, records: int) -> int:
        """Return the number of records that it allows, of so many."""
        # A share of 0.29 of 100 records is 29 of them, though the product of floats is a little less.
        return int(self.share * records + 1e-9) if self.records is None else self.records

    def __str__(self) -> str:
        return exactly(self.share) if self.records is None else str(self.records)


MOST_COUNTERFEITS = 0.1
LEAST_COMPLETED_K = 4
MOST_RETURNS = 65_535


@dataclass(frozen=True, slots=True)
class ReturnBound:
    """A bound on how often one person is released.

    Parameters
    ----------
    most
        Windows in a period that hold a record of one person.
    period
        Its seconds. Periods are counted from the epoch.
    """

    most: int
    period: float

    def __post_init__(self) -> None:
        if not 1 <= self.most <= MOST_RETURNS:
            raise SettingsError("privacy.returning.most", f"must lie between 1 and {MOST_RETURNS}")
        if not 0 < self.period < math.inf:
            raise SettingsError("privacy.returning.period", "must be above 0")

    def number_of(self, moment: float) -> int:
        """Return which period a moment lies in, given in seconds since the epoch."""
        return int(moment // self.period)

    @property
    def in_words(self) -> str:
        """Return what it asks, for people."""
        days, hours = self.period / 86_400, self.period / 3_600
        length = f"{days:g} days" if days >= 1 else f"{hours:g} hours"
        return f"one person at most {self.most:,} times in {length}"


def k_of_risk(max_risk: float) -> int:
    """Return the least k whose risk, 1 / k, is at most `max_risk`: how likely a guess within a class is right.

    The number is taken as it is written: 0.05 is a twentieth and asks for 20, though its float lies a little
    above.
    """
    return math.ceil(1 / Fraction(repr(max_risk)))


def k_in_words(k: int | None) -> str:
    """Return a policy's k, for people."""
    return "none" if k is None else str(k)


@dataclass(frozen=True, slots=True)
class Shield:
    """A requirement on some quasi-identifiers: each published tuple of them is shared by at least k individuals.

    Parameters
    ----------
    attributes
        Their names.
    k
        Least number of distinct individuals in a window.
    """

    attributes: tuple[str, ...]
    k: int

    @property
    def in_words(self) -> str:
        """Return what it asks, for people."""
        return f"{', '.join(self.attributes)}: k {self.k}"

    def follows_from(self, others: Iterable[Shield]) -> bool:
        """Return whether it holds wherever one of others holds: one on these attributes and more, of as many."""
        return any(set(self.attributes) <= set(other.attributes) and self.k <= other.k for other in others)
