"""How many of some records something may happen to: a share of them, or a number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self


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
        return f"{100 * self.share:g}%" if self.records is None else str(self.records)
