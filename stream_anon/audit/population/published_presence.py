"""Count the people of a population who fit what was published, from published values alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isclose
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.population.presence_bound import PopulationCounts
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
        Where it is at hand. Without it shares are compared with what the policy asks, and not counted. It may
        serve a policy that asks for no share.

    Attributes
    ----------
    remembered
        Which combinations fit a value, by the place of its attribute and the value as JSON; a bounded number.
    """

    def __init__(self, policy: Policy, population: PopulationCounts | None = None) -> None:
        self._asked = policy.presence
        self._attributes = policy.quasi_identifiers
        self._population = policy.population
        if population is not None and (self._asked is None or population.digest == self._asked.counted):
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

    def people(self, certificate: Certificate) -> list[int] | None:
        """Return how many people of the population fit each class; None if it is not at hand."""
        if self._population is None:
            return None
        names = [attribute.name for attribute in self._attributes]
        return [
            self._people(self._population, [one.values.get(name) for name in names]) for one in certificate.classes
        ]

    def check(self, certificate: Certificate, people: list[int] | None) -> tuple[list[int], bool]:
        """Return the numbers of its classes with too many individuals, and whether the share it says is untrue.

        Parameters
        ----------
        people
            What `people` returned of it.
        """
        if self._asked is None or people is None:
            return [], self._untrue(certificate, None)
        most, counted = Fraction(str(self._asked.most)), list(zip(certificate.classes, people, strict=True))
        crowded = [number for number, (one, fit) in enumerate(counted) if one.individuals > most * fit]
        shares = (one.individuals / fit if fit else 1.0 for one, fit in counted)
        return crowded, self._untrue(certificate, max(shares, default=0.0))

    def _untrue(self, certificate: Certificate, counted: float | None) -> bool:
        """Return whether the share that a certificate says was reached is not the largest of its classes.

        Parameters
        ----------
        counted
            The largest; None where the population is not at hand.
        """
        told = certificate.achieved.presence
        if self._asked is None or not certificate.classes:
            return told is not msgspec.UNSET
        if told is msgspec.UNSET or told > self._asked.most * (1 + _CLOSE):
            return True
        return counted is not None and not isclose(counted, told, rel_tol=_CLOSE)

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
            elif attribute.publication is PublishedForm.VALUES:
                found = np.isin(codes, read)
            else:
                found = (codes >= read[0]) & (codes <= read[-1])
            self.remembered[key] = found
        return self.remembered[key]
