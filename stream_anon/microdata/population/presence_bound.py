"""The upper bound of delta-presence: how many of those of a known population who fit a class are in this class.

Nergiz, Atzori, Clifton (SIGMOD 2007). Whoever knows the population, one record each, sees how many of its people
fit a published tuple. If n of these N are in its class, any one of them is in
this class with n / N. Who fits no class is known to be absent, and who fits several may be in another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError


@dataclass(frozen=True, slots=True, eq=False)
class PopulationCounts:
    """How many people of a population have each combination of quasi-identifiers.

    Parameters
    ----------
    codes
        int32[q, p], as records are coded, in the policy's order.
    counts
        int64[p].
    digest
        SHA-256 of combinations and counts as they were given.
    """

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    digest: str

    @property
    def people(self) -> int:
        """Return how many people there are."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class PresenceBound:
    """A bound on how many of the people who fit a published tuple are in the data.

    Parameters
    ----------
    most
        Largest share of them.
    counted
        Digest of the population: see `PopulationCounts`.
    people
        Its size. Who has the policy document alone has no more of it than these two.
    """

    most: float
    counted: str
    people: int

    def __post_init__(self) -> None:
        if not 0 < self.most < 1:
            raise SettingsError("privacy.presence.most", "must be above 0 and below 1")

    def holds(self, individuals: NDArray[np.int64], people: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether so many individuals may be published as some of so many people, without rounding; bool[c].

        Parameters
        ----------
        individuals, people
            int64[c], of each class and of the population under its tuple.
        """
        most = Fraction(str(self.most))
        pairs = zip(individuals.tolist(), people.tolist(), strict=True)
        return np.array([n * most.denominator <= most.numerator * fit for n, fit in pairs], np.bool_)

    @property
    def in_words(self) -> str:
        """Return what it asks, for people."""
        return f"of {self.people:,} people at most {self.most:g} of those who fit a class are in it"


class AskedPresence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The largest share of the people who fit a class that may be in it; hash and size of the population."""

    most: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    people: Annotated[int, msgspec.Meta(ge=0)]

    @classmethod
    def of(cls, bound: PresenceBound | None) -> AskedPresence | msgspec.UnsetType:
        """Return what is said of a bound; nothing where there is none."""
        return msgspec.UNSET if bound is None else cls(bound.most, bound.counted, bound.people)
