"""Count what is missing in the records of a sample, attribute by attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stream_anon.engine.closing import missing_by_name
from stream_anon.engine.window import missing_counts
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.service.starting.likeness import likeness


@dataclass(frozen=True, slots=True)
class MissingValues:
    """How many records of those that fit lack a value of a published attribute.

    Parameters
    ----------
    accepted
        The policy says that it may be absent from every record.
    likeness
        How a key of the sample resembles the declared one, in words; empty if none does or none was looked for.
    """

    attribute: str
    records: int
    share: float
    accepted: bool
    likeness: str = ""


def missing_values(policy: Policy, batch: CodedBatch, values: Sequence[bytes | None]) -> tuple[MissingValues, ...]:
    """Return what is missing in the records that fit, for each published attribute that is missing at all."""
    counts = missing_by_name(policy, missing_counts(policy, batch.codes, batch.payload, slice(0, len(batch))))
    return tuple(
        MissingValues(
            attribute.name,
            counts[attribute.name],
            counts[attribute.name] / len(batch),
            attribute.accept_missing,
            likeness(values, attribute.path) if counts[attribute.name] == len(batch) else "",
        )
        for attribute in policy.published
        if attribute.name in counts
    )
