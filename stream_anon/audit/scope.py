"""Which windows an audit looks at, and what may be absent because the start of a topic is gone."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

SLACK = 600.0
"""Seconds by which windows may stand in another order in a topic than they closed: a worker that missed its broker
publishes an old window after younger ones of other workers."""


@dataclass(frozen=True)
class AuditScope:
    """What is audited.

    Parameters
    ----------
    since
        Seconds since the epoch: windows that closed before are left out.
    batch
        The one window to be judged; how windows join is not checked then.
    """

    since: float = -inf
    batch: str | None = None

    def holds(self, batch: str, closed: float) -> bool:
        """Return whether a window is judged."""
        return closed >= self.since and self.batch in (None, batch)


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
