"""What an audit looks at: which windows, what of them, and what may be absent since a topic lost its start."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from math import inf

SLACK = 600.0
"""Seconds by which windows may stand in another order in a topic than they closed: a worker that missed its broker
publishes an old window after younger ones of other workers."""
CHECKED = (
    "every class: records of one window with one published tuple, at least k if asked, certified with its count",
    "every shield: records of one window that are published alike by its attributes counted again",
    "every value: one that the policy's hierarchies, ranges and sets can publish",
    "every record: all published fields, no undeclared or identifying one, passing fields of their type",
    "every class with a digest: all that is published of its records hashed again, where the key is at hand",
    "every schema that a record names or stands beside: that of its policy, but for comments where it is named",
    "every window: all criteria on sensitive values counted again over its records",
    "every window: NCP and GCP computed again from what is published",
    "every window: levels of what is published, and what becomes of it where too many records are suppressed",
    "every certificate: all parts, sums, criteria of its own policy, least individuals",
    "all certificates: input ranges join without gap or overlap, each follows a known one, batch ids are unique",
)
TRUSTED = (
    "the number of individuals in each class and of each shield, max_share of it, and criteria by person",
    "that the values are true generalizations of what came in",
    "the engine and the terms of each certificate: which texts are missing values, and how windows are limited",
    "the numbers of suppressed, rejected and ignored records, and that those were published nowhere else",
    "that nothing could be read of the input where a certificate calls it lost",
    "that nothing was released before the first offset or after the last one certified",
    "that an input topic was created anew where certificates name another id of it",
)
SIGNED = "every certificate and policy document: signed by one of the public keys, in the order of its chain, once"
"""What is checked besides, where there are public keys."""
UNCHECKED = "who wrote the certificates of {:,} windows: they are signed, and no public key was given"


def seconds_of(text: str) -> float:
    """Return the seconds since the epoch of a certificate's time; infinite for a day that does not exist."""
    try:
        return dt.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return inf


@dataclass(frozen=True)
class AuditScope:
    """What is audited.

    Parameters
    ----------
    since
        Seconds since the epoch: windows that closed before are left out.
    batch
        The one window to be judged; how windows join is not checked then.
    until
        Seconds since the epoch: windows that closed then or later are left out too.
    """

    since: float = -inf
    batch: str | None = None
    until: float = inf

    def holds(self, batch: str | None, closed: float) -> bool:
        """Return whether a window is judged, or what belongs to none (None)."""
        # On a day that does not exist none closed: such a certificate is judged, and found wrong.
        late = self.until <= closed < inf
        return closed >= self.since and not late and self.batch in (None, batch)


@dataclass(slots=True)
class Removed:
    """What is no longer there and is excused, because it is before the horizon or before `--since`.

    Parameters
    ----------
    windows, records
        Windows with a certificate of which released records are gone, and how many these are.
    uncertified
        Records whose certificate is gone.
    gaps, chains
        Places where input ranges, or a worker's chain of certificates, begin after something that is gone.
    """

    windows: int = 0
    records: int = 0
    uncertified: int = 0
    gaps: int = 0
    chains: int = 0


@dataclass(frozen=True)
class Horizon:
    """Up to when windows may have lost what the start of a topic lost, in seconds since the epoch.

    Kafka removes records from the start of a partition only, by retention or because an operator asked for it
    (DeleteRecords). The topic does not say which. What is missing after the horizon was not removed that way.

    Parameters
    ----------
    records, certificates
        Of the output, and of the certificates; minus infinity where nothing was removed.
    """

    records: float = -inf
    certificates: float = -inf

    @classmethod
    def of(cls, records: float, certificates: float) -> Horizon:
        """Return the horizon of topics from the times of their oldest records, where earlier ones are gone."""
        return cls(records + SLACK, certificates + SLACK)
