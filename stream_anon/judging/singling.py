"""Which quasi-identifiers of a sample single people out together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from stream_anon.measures.leakage import Exposure, Population, exposure
from stream_anon.measures.ranking import Leaky, ranked
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import EVERY_RECORD, Policy

MOST_TOGETHER = 3  # quasi-identifiers that somebody is assumed to know about a person
MOST_SETS = 500  # all sets of 14 quasi-identifiers; 10 ms each for the largest samples


@dataclass(frozen=True, slots=True)
class Singled:
    """A set of quasi-identifiers, and the share of sampled individuals that it distinguishes from all others."""

    attributes: tuple[str, ...]
    share: float


def singled(policy: Policy, batch: CodedBatch) -> tuple[tuple[Singled, ...], int]:
    """Return the set of each size up to three that singles most people out, and how many sets were not looked at.

    See `ranked` for the order in which sets are looked at. O(n log n) for each of up to `MOST_SETS` sets.
    """
    people = Population(batch.codes, None if policy.individual == EVERY_RECORD else batch.individuals)
    seen: dict[tuple[int, ...], Exposure] = {}

    def leak(chosen: tuple[int, ...]) -> float:
        seen[chosen] = exposure(people, chosen)
        return seen[chosen].bits

    def share(each: Leaky) -> float:
        return 1.0 if each.implied else seen[each.attributes].unique

    names = [attribute.name for attribute in policy.quasi_identifiers]
    found = ranked(leak, range(len(names)), people.uncertainty, MOST_TOGETHER, MOST_SETS)
    # Of one size the leakiest set comes first, and is taken if another one singles out as many.
    best = [max(sets, key=share) for _, sets in groupby(found.sets, key=lambda each: len(each.attributes))]
    return tuple(
        Singled(tuple(names[place] for place in each.attributes), share(each)) for each in best
    ), found.left
