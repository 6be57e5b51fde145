"""Count in a sample the values that no family lists. Only counts leave this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

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
    counted = [_counted(attribute, policy.passed.index(attribute), batch, bare) for attribute in rested]
    return tuple(each for each in counted if each.records)


def _counted(attribute: Sensitive, place: int, batch: CodedBatch, bare: CodedBatch) -> RestValues:
    records = sum(row[place] == attribute.rest for row in batch.payload)
    held = {(row[place], person) for row, person in zip(bare.payload, bare.individuals.tolist(), strict=True)}
    people = Counter(value for value, _ in held if value not in attribute.label_of)
    most = max(people.values()) / people.total() if people else 0.0
    return RestValues(attribute.name, records, len(people), most)
