"""How readers of bytes find a value's code: what a domain tells the adapters, so that none asks which domain it is.

Each reading says what `Domain.code` says, in a form that a fast reader can follow; the conformance suite of domains
compares them. A domain that fits none of the others is `OneByOne`: every reader takes that, none is turned off.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ByLabel:
    """Categories: texts, and what JSON writes as one of them without quotes; there are no others."""

    codes: Mapping[str, int]


@dataclass(frozen=True)
class ByText:
    """Texts in a table. One that is not in it may still be a value: the domain tells."""

    codes: Mapping[str, int]


@dataclass(frozen=True)
class ByNumber:
    """Numbers on a grid of `size` cells; with `decimals`, finer ones are of a wrong type."""

    minimum: Decimal
    maximum: Decimal
    step: Decimal
    decimals: int | None
    size: int

    def units(self) -> Units:
        """Return the grid in whole numbers: `decimals` of them, or as many as its ends and step have."""
        ends = (self.minimum, self.maximum, self.step)
        decimals = self.decimals
        if decimals is None:
            decimals = max(0, *(-int(end.normalize().as_tuple().exponent) for end in ends))
        low, high, step = (int(end.scaleb(decimals)) for end in ends)
        return Units(low, high, step, decimals)


class Units(NamedTuple):
    """A grid in units of its last decimal."""

    minimum: int
    maximum: int
    step: int
    decimals: int


@dataclass(frozen=True, eq=False)
class ByMoment:
    """Numbers, rounded down, that fall into stretches; within one, codes follow each other in equal steps.

    Parameters
    ----------
    begins
        int64[m], ascending: the first number of each stretch. A day may have several, where its clocks are changed.
    codes
        int32[m]: its first code; -1 if it has none, as the last one, which has no end.
    anchors
        int64[m], at or before `begins`: where its codes are counted from.
    unit
        How many numbers have one code; more than any stretch has where each is one code.
    """

    begins: NDArray[np.int64]
    codes: NDArray[np.int32]
    anchors: NDArray[np.int64]
    unit: int

    def code(self, number: int) -> int:
        """Return the code of a number, -1 if it has none; O(log m)."""
        # A number of the input may exceed what an array holds.
        if not int(self.begins[0]) <= number < int(self.begins[-1]):
            return -1
        place = bisect_right(self.begins, number) - 1
        code = int(self.codes[place])
        return code if code < 0 else code + (number - int(self.anchors[place])) // self.unit

    def codes_at(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the codes of numbers, int32[n], -1 of those that have none."""
        place = np.searchsorted(self.begins, numbers, side="right") - 1  # the last one, if it is before the first
        codes = self.codes[place]
        steps = (numbers - self.anchors[place]) // self.unit
        return np.where(codes < 0, codes, codes + steps).astype(np.int32)


@dataclass(frozen=True, eq=False)
class ByIsoText:
    """Texts of ISO 8601; see `calendar.moments`. The domain judges what is no moment, or has no table here.

    Parameters
    ----------
    own_clock
        The codes of seconds from 1970 to what the text's own clock shows; None if that does not tell.
    instants
        Those of seconds since 1970 in UTC, for texts with an offset; None if their own clock tells.
    with_time
        Whether a text must hold a time of day.
    """

    own_clock: ByMoment | None
    instants: ByMoment | None
    with_time: bool


@dataclass(frozen=True)
class ByPrefix:
    """Texts of `least` to `length` characters, of which the first `keep` are digits of the code.

    Parameters
    ----------
    places
        The digit of each character.
    base
        The base of the digits.
    pad
        Whether whole numbers get the zeros in front that they lost.
    """

    length: int
    least: int
    keep: int
    places: Mapping[str, int]
    base: int
    pad: bool


@dataclass(frozen=True)
class OneByOne:
    """Texts whose code the domain tells, asked once for each different text of a batch."""


Reading: TypeAlias = ByLabel | ByText | ByNumber | ByMoment | ByIsoText | ByPrefix | OneByOne
