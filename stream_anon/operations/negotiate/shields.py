"""What the shields of a policy make of a negotiated answer, which counts k and l only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stream_anon.measures.grouping import dense, grouped, people
from stream_anon.microdata.bounds import Shield
from stream_anon.recoding.lattice.attribute_levels import AttributeLevels
from stream_anon.recoding.lattice.rows import Rows


@dataclass(frozen=True, slots=True)
class ShieldShortfall:
    """The records that fewer people share by a shield's attributes than it asks, of those not suppressed for k."""

    shield: Shield
    records: int


def shortfalls(
    shields: Sequence[Shield], rows: Rows, levels: Sequence[AttributeLevels], scheme: Sequence[int], k: int
) -> tuple[ShieldShortfall, ...]:
    """Return what falls short of each shield if a table is published on some levels.

    Parameters
    ----------
    levels, scheme
        In the order of the rows' quasi-identifiers, the levels of each and the one that is published.
    k
        Groups of fewer individuals are suppressed first.
    """
    published = {
        own.name: own.nodes[level][own.places(codes)]
        for own, level, codes in zip(levels, scheme, rows.codes, strict=True)
    }
    individuals, _ = dense(rows.individuals)
    groups, count = grouped(published.values(), len(rows))
    kept = people(groups, count, individuals)[groups] >= k
    told = []
    for shield in shields:
        groups, count = grouped((published[name][kept] for name in shield.attributes), int(kept.sum()))
        short = people(groups, count, dense(individuals[kept])[0])[groups] < shield.k
        told.append(ShieldShortfall(shield, int(np.count_nonzero(short))))
    return tuple(told)
