"""Count what is published by the attributes of each shield, from published values alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.privacy.certificate import AchievedShield, Certificate


class ShieldAudit:
    """Recounts the shields of one policy.

    Parameters
    ----------
    exact
        Whether it is known that each record counts as an individual, where the policy says so.
    """

    def __init__(self, policy: Policy, *, exact: bool) -> None:
        self._names = [attribute.name for attribute in policy.quasi_identifiers]
        self._shields = policy.shields
        self._exact = exact and policy.individual == EVERY_RECORD

    def bare(self, counted: Iterable[tuple[bytes, int]]) -> list[str]:
        """Return the shields, by their attributes, for which too few records share something published.

        Parameters
        ----------
        counted
            Each published tuple of all quasi-identifiers as JSON, and its records.
        """
        tuples = [(msgspec.json.decode(key), records) for key, records in counted] if self._shields else []
        return [
            ", ".join(shield.attributes)
            for shield in self._shields
            if any(sum(counts) < shield.k for counts in self._shared(shield.attributes, tuples))
        ]

    def untrue(self, certificate: Certificate) -> Sequence[str | None]:
        """Return the shields, by their attributes, that did not reach what they ask or what their certificate says.

        Of the individuals who share something no more is known than that they are no fewer than those of one class,
        and no more than those of all classes together. None stands for shields that the policy does not have.
        """
        told = certificate.achieved.shields
        reached: Sequence[AchievedShield] = [] if told is msgspec.UNSET else told
        asked = self._shields if certificate.classes else ()
        if [tuple(one.attributes) for one in reached] != [shield.attributes for shield in asked]:
            return [None]
        tuples = [([one.values.get(name) for name in self._names], one.individuals) for one in certificate.classes]
        found = []
        for shield, one in zip(asked, reached, strict=True):
            groups = self._shared(shield.attributes, tuples)
            most = min(map(sum, groups))
            least = most if self._exact else min(map(max, groups))
            if not max(shield.k, least) <= one.k <= most:
                found.append(", ".join(shield.attributes))
        return found

    def _shared(
        self, attributes: Sequence[str], tuples: Iterable[tuple[Sequence[Any], int]]
    ) -> Sequence[Sequence[int]]:
        """Return the counts of the tuples that are alike by these attributes, for each such group."""
        places = [self._names.index(name) for name in attributes]
        groups: dict[bytes, list[int]] = {}
        for values, count in tuples:
            groups.setdefault(msgspec.json.encode([values[place] for place in places]), []).append(count)
        return list(groups.values())
