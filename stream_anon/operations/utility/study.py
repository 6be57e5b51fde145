"""What releases of a table keep and lose: all measures that need no row of one to be found in the other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from stream_anon.errors import InputError
from stream_anon.measures.distance import absolute_distance, prec, relative_distance
from stream_anon.measures.information import dependence_kept
from stream_anon.measures.loss import average_class_size, conditional_entropy, discernibility, gcp
from stream_anon.measures.queries import query_error, random_range_counts
from stream_anon.operations.leakage.tables import MOST_RECORDS, LeakageTable, Released


@dataclass(frozen=True, slots=True)
class Utility:
    """What one release keeps and loses.

    Parameters
    ----------
    classes
        Distinct published tuples of the whole file; a tuple of several windows is one class.
    conditional_entropy
        Bits that are unknown of each cell, summed.
    class_size
        Records per class over the policy's k; None without a class.
    dependence
        Mean over pairs of attributes of the share of their mutual information that is left; None without a pair.
    query_error
        Mean relative error of random range counts; None if there are none.
    """

    source: str
    records: int
    suppressed: int
    classes: int
    absolute: float
    relative: float
    prec: float
    gcp: float | None
    conditional_entropy: float
    discernibility: int
    class_size: float | None
    dependence: float | None
    query_error: float | None

    def document(self) -> dict[str, Any]:
        """Return the figures as an object that JSON can hold."""
        return asdict(self)


def study_utility(table: LeakageTable, released: Released, seed: int = 0) -> Utility:
    """Return what a release of a table keeps and loses.

    Parameters
    ----------
    seed
        Of the random range counts: the same seed asks the same ones of every release.

    Raises
    ------
    InputError
        If the table was not read whole, or the release holds more records.
    """
    if not table.whole:
        raise InputError(f"{table.source}: holds more than {MOST_RECORDS:,} records, too many to compare")
    attributes, codes, boxes = table.policy.quasi_identifiers, table.population.codes, released.boxes
    suppressed = table.population.rows - released.records
    if suppressed < 0:
        raise InputError(f"{released.source}: holds more records than {table.source}; it is no release of it")
    levels, ncp = np.zeros(boxes.low.shape, np.int64), np.zeros(boxes.low.shape)
    for place, attribute in enumerate(attributes):
        sets = boxes.members.get(place) or [()] * len(boxes)
        bounds = zip(boxes.low[place].tolist(), boxes.high[place].tolist(), sets, strict=True)
        for number, (low, high, members) in enumerate(bounds):
            levels[place, number] = attribute.level(low, high)
            ncp[place, number] = attribute.ncp_set(members) if members else attribute.ncp(low, high)
    heights = np.array([attribute.domain.height for attribute in attributes])
    pairs = [dependence_kept(codes, boxes, *pair) for pair in combinations(range(len(attributes)), 2)]
    kept = [each for each in pairs if each is not None]
    queries = random_range_counts([attribute.domain.size for attribute in attributes], np.random.default_rng(seed))
    return Utility(
        released.source,
        released.records,
        suppressed,
        len(boxes),
        absolute_distance(levels, heights, boxes.records, suppressed),
        relative_distance(levels, heights, boxes.records, suppressed),
        prec(levels, heights, boxes.records, suppressed),
        gcp(ncp, boxes.records, suppressed),
        conditional_entropy(codes, boxes, suppressed),
        discernibility(boxes.records, suppressed),
        average_class_size(boxes.records, table.policy.k),
        float(np.mean(kept)) if kept else None,
        query_error(codes, boxes, queries),
    )
