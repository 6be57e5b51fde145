"""Count the people of a population who fit what was published, from published values alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isclose
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.population.presence import PopulationCounts
from stream_anon.privacy.certificate import Certificate

MOST_REMEMBERED = 64 * 1024 * 1024  # bytes, of which combinations fit which values
_CLOSE = 1e-9


class PresenceAudit:
    """Recounts how many of those who fit a published tuple are in the data.

    Parameters
    ----------
    policy
        Whose presence is judged.
    population
        Where it is at hand. Without it shares are compared with what the policy asks, and not counted.

    Attributes
    ----------
    remembered
        Which combinations fit a value, by the place of its attribute and the value as JSON; a bounded number.
    """

    def __init__(self, policy: Policy, population: PopulationCounts | None = None) -> None:
        self._asked = policy.presence
        self._attributes = policy.quasi_identifiers
        self._population = policy.population
        if self._asked is not None and population is not None and population.digest == self._asked.counted:
            self._population = population
        self.remembered: dict[tuple[int, bytes], NDArray[np.bool_]] = {}
        self._most = 0 if self._population is None else MOST_REMEMBERED // max(1, len(self._population.counts))

    @property
    def uncounted(self) -> bool:
        """Return whether a share is asked and cannot be counted, for want of the population."""
        return self._asked is not None and self._population is None

    def crowded(self, values: Sequence[Any], individuals: int) -> bool:
        """Return whether more individuals are published as this tuple than its share of the population allows."""
        if self._asked is None or self._population is None:
            return False
        return individuals > Fraction(str(self._asked.most)) * self._people(self._population, values)

    def crowded_classes(self, certificate: Certificate) -> Iterator[int]:
        """Yield the certified classes, by number, that have too many individuals."""
        for number, one in enumerate(certificate.classes):
            if self.crowded([one.values.get(a.name) for a in self._attributes], one.individuals):
                yield number

    def untrue(self, certificate: Certificate) -> bool:
        """Return whether the share that a certificate says was reached is not that of its classes."""
        told = certificate.achieved.presence
        if self._asked is None or not certificate.classes:
            return told is not msgspec.UNSET
        if told is msgspec.UNSET or told > self._asked.most * (1 + _CLOSE):
            return True
        if self._population is None:
            return False
        shares = [0.0]
        for one in certificate.classes:
            people = self._people(self._population, [one.values.get(a.name) for a in self._attributes])
            shares.append(one.individuals / people if people else 1.0)
        return not isclose(max(shares), told, rel_tol=_CLOSE)

    def _people(self, population: PopulationCounts, values: Sequence[Any]) -> int:
        fitting = np.ones(len(population.counts), np.bool_)
        for place, value in enumerate(values):
            fitting &= self._fits(population, place, value)
        return int(population.counts[fitting].sum())

    def _fits(self, population: PopulationCounts, place: int, value: Any) -> NDArray[np.bool_]:
        """Return which combinations lie under a published value; none under one that cannot be published."""
        key = place, msgspec.json.encode(value)
        if key not in self.remembered:
            if len(self.remembered) >= self._most:
                self.remembered.clear()
            attribute, codes = self._attributes[place], population.codes[place]
            read = attribute.read(value)
            if read is None:
                found = np.zeros(len(codes), np.bool_)
            elif value == ROOT_LABEL and attribute.root_is_unknown:
                found = codes == attribute.unknown_code
            else:
                found = (codes >= read[0]) & (codes <= read[-1])
            self.remembered[key] = found
        return self.remembered[key]
