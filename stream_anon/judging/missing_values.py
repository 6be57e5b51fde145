"""Say what is missing in records, attribute by attribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stream_anon.judging.likeness import likeness
from stream_anon.microdata.policy import Policy


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


def missing_of(
    policy: Policy, counts: Mapping[str, int], fit: int, texts: Iterable[bytes | None]
) -> tuple[MissingValues, ...]:
    """Return what is missing in records, for each published attribute that is missing at all.

    Parameters
    ----------
    counts
        By attribute, of the `fit` records that fit.
    texts
        JSON records, in which keys are looked for that resemble one that never comes; they can be read repeatedly.
    """
    return tuple(
        MissingValues(
            attribute.name,
            counts[attribute.name],
            counts[attribute.name] / fit,
            attribute.accept_missing,
            likeness(texts, attribute.path) if counts[attribute.name] == fit else "",
        )
        for attribute in policy.published
        if attribute.name in counts
    )
