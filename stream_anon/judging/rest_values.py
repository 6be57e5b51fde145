"""Count in a sample the values that no family lists. Only counts leave this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stream_anon.formats.codecs import codec_of
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy


@dataclass(frozen=True, slots=True)
class RestValues:
    """What would be published as the rest of one attribute.

    Parameters
    ----------
    records
        Records of the sample.
    values
        Distinct values that these have; 0 where the sample's texts are not known.
    most
        The largest share of the people that have one of these values; somebody with two counts twice.
    """

    attribute: str
    records: int
    values: int
    most: float

    @property
    def in_words(self) -> str:
        """Return how many values these are, and how sure a guess is."""
        if not self.values:
            return "how many values these are was not counted"
        return f"{self.values:,} {'value' if self.values == 1 else 'values'}, and {self.most:.0%} have the same"


def rest_values(policy: Policy, batch: CodedBatch, texts: Iterable[bytes | None]) -> tuple[RestValues, ...]:
    """Return what would be published as the rest, for each attribute of which something would.

    Parameters
    ----------
    batch
        Records that fit, read under the policy.
    texts
        The same ones as JSON, or the first of them; empty where they are not known.
    """
    rested = [a for a in policy.passed if isinstance(a, Sensitive) and a.rest is not None]
    if not rested:
        return ()
    exact = tuple(replace(a, families=(), rest=None) if a in rested else a for a in policy.attributes)
    raw = list(texts)
    bare = codec_of(replace(policy, attributes=exact)).decode(raw, 0, np.arange(len(raw)))
    read = [(policy.passed.index(attribute), attribute) for attribute in rested]
    records, held = Counter[str](), {attribute.name: set[tuple[Any, int]]() for attribute in rested}
    # Each payload once, for reading one decodes it.
    for row in batch.payload:
        records.update(attribute.name for place, attribute in read if row[place] == attribute.rest)
    for row, person in zip(bare.payload, bare.individuals.tolist(), strict=True):
        for place, attribute in read:
            held[attribute.name].add((row[place], person))
    return tuple(
        _counted(attribute, records[attribute.name], held[attribute.name])
        for attribute in rested
        if records[attribute.name]
    )


def _counted(attribute: Sensitive, records: int, held: set[tuple[Any, int]]) -> RestValues:
    people = Counter(value for value, _ in held if value not in attribute.label_of)
    most = max(people.values()) / people.total() if people else 0.0
    return RestValues(attribute.name, records, len(people), most)
