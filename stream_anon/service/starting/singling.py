"""Which quasi-identifiers of a sample single people out together."""

from __future__ import annotations

from dataclasses import dataclass

from stream_anon.measures.leakage import Population, exposure
from stream_anon.measures.ranking import telling
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import EVERY_RECORD, Policy

MOST_TOGETHER = 3  # quasi-identifiers that somebody is assumed to know about a person


@dataclass(frozen=True, slots=True)
class Singled:
    """A set of quasi-identifiers, and the share of sampled individuals that it distinguishes from all others."""

    attributes: tuple[str, ...]
    share: float


def singled(policy: Policy, batch: CodedBatch) -> tuple[Singled, ...]:
    """Return telling sets of up to three quasi-identifiers, and how many individuals each singles out."""
    people = Population(batch.codes, None if policy.individual == EVERY_RECORD else batch.individuals)

    def told(chosen: tuple[int, ...]) -> tuple[float, float]:
        found = exposure(people, chosen)
        return found.unique, found.bits

    names = [attribute.name for attribute in policy.quasi_identifiers]
    sets = telling(told, range(len(names)), MOST_TOGETHER)
    return tuple(Singled(tuple(names[place] for place in each), told(each)[0]) for each in sets)
