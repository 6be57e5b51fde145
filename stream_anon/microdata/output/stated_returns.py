"""What certificates say for people who come back: families of values, and how often one person is released.

The values of families stand in the policy document; a certificate has how many the smallest has, and a hash of all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from stream_anon.microdata.bounds import MOST_RETURNS, ReturnBound
from stream_anon.microdata.domains.families import Family, ShownAs, missing_last


class AskedReturns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many windows at most hold records of one person in a period of so many seconds since the epoch."""

    most: Annotated[int, msgspec.Meta(ge=1, le=MOST_RETURNS)]
    period: Annotated[float, msgspec.Meta(gt=0)]

    @classmethod
    def of(cls, bound: ReturnBound) -> AskedReturns:
        """Return what is said of a bound."""
        return cls(bound.most, bound.period)


class StatedSeries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of one release of a series: its number, m, and how many of its records are nobody's."""

    release: Annotated[int, msgspec.Meta(ge=1)]
    least: Annotated[int, msgspec.Meta(ge=2)]
    counterfeits: Annotated[int, msgspec.Meta(ge=0)]


class AskedFamilies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The families of a sensitive attribute's values.

    `least` values or more are in each; `publish` is what stands in the records: where it is the value, a class that
    has one of a family's values has all. `digest` is the SHA-256 of the families as JSON, each as the list of its
    values in order (a missing one last), in order. `rest` is what stands in the place of any other value, of which
    there may be a single one; without it there are none.
    """

    least: Annotated[int, msgspec.Meta(ge=2)]
    publish: Literal["family", "value"]
    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    rest: str | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(
        cls, families: Sequence[Family], rest: str | None = None, shown_as: ShownAs = ShownAs.FAMILY
    ) -> AskedFamilies:
        """Return what is said of families, of which there is one at least; the same for the same sets of values."""
        ordered = [sorted(family, key=missing_last) for family in families]
        ordered.sort(key=msgspec.json.encode)
        digest = hashlib.sha256(msgspec.json.encode(ordered)).hexdigest()
        named = msgspec.UNSET if rest is None else rest
        return cls(min(map(len, families)), shown_as.value, f"sha256:{digest}", named)
