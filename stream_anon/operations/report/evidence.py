"""What the certificates of a period say, added up in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
from msgspec import UNSET, to_builtins

from stream_anon.audit.certificates import judged_records, real_records
from stream_anon.audit.judges import JudgedCertificate
from stream_anon.audit.times import seconds_of
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Suppression
from stream_anon.operations.report.risks import ClassSizes
from stream_anon.operations.report.timeline import Timeline, TimeStretch
from stream_anon.privacy.certificate import Certificate

MOST_NAMED = 1_000  # versions, engines and shields; more are those of a forger
MOST_LETTERS = 200  # of a name that a certificate gives
_KNOWN = {str(reason) for reason in Suppression} | {reason.label for reason in Reason}
UNKNOWN = "unknown"
"""What stands for a reason that does not exist: a forged certificate may have any text in its place."""
_RISING = ("t", "alpha", "delta", "beta", "recursive_c")  # achieved figures of which the largest is the worst


@dataclass(slots=True)
class Use:
    """When something was in use: windows, and when the first and the last of them closed."""

    first: str
    last: str
    windows: int = 0

    def add(self, closed: str) -> None:
        """Count a window."""
        self.first, self.last = min(self.first, closed), max(self.last, closed)
        self.windows += 1


@dataclass(slots=True)
class PeriodRecords:
    """What became of records; reasons are those of certificates."""

    taken_in: int = 0
    released: int = 0
    counterfeits: int = 0
    suppressed: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)


class Evidence:
    """Takes the certificates of a period in any order, as an audit judges them.

    Parameters
    ----------
    policy
        Only names that it declares are repeated: a forged certificate may hold any text.
    threshold
        The risk that nobody may exceed; None for none.
    """

    def __init__(self, policy: Policy, threshold: float | None) -> None:
        self._declared = {attribute.name for attribute in policy.attributes}
        self.sizes = ClassSizes(threshold)
        self.records = PeriodRecords()
        self.timeline = Timeline()
        self.windows = 0
        self.empty = 0
        """Windows that released nothing."""
        self.above_most = 0
        """Windows that suppressed more than `privacy.max_suppressed` says."""
        self.most_suppressed = 0.0
        """The largest share of a window's released and suppressed records that was suppressed."""
        self.first = self.last = ""
        self.missing: Counter[str] = Counter()
        self.distinct: dict[str, int] = {}
        self.spreads: dict[str, dict[str, float]] = {}
        self.shields: dict[tuple[str, ...], int] = {}
        self.presence: float | None = None
        self.software: dict[str, Use] = {}
        self.engines: dict[str, Use] = {}
        self.deliveries: dict[str, Use] = {}
        self.replayable = 0
        """Windows of an engine whose draws a seed in the settings decides."""
        self.linkable: set[str] = set()
        self.open_seconds = 0
        self.most_open_seconds = 0

    def add(self, judged: JudgedCertificate) -> None:
        """Add what a certificate says, and what was counted of it."""
        certificate, closed = judged.certificate, judged.certificate.closed
        self.windows += 1
        self.empty += not certificate.classes
        self.first = min(self.first or closed, closed)
        self.last = max(self.last, closed)
        for names, used in (
            (self.software, certificate.software[:MOST_LETTERS]),
            (self.engines, certificate.engine[:MOST_LETTERS]),
            (self.deliveries, certificate.delivery),
        ):
            if used in names or len(names) < MOST_NAMED:
                names.setdefault(used, Use(closed, closed)).add(closed)
        open_seconds = seconds_of(closed) - seconds_of(certificate.opened)
        if isfinite(open_seconds):
            self.open_seconds += max(0, int(open_seconds))
            self.most_open_seconds = max(self.most_open_seconds, int(open_seconds))
        self.replayable += certificate.terms.replayable
        self.linkable.update(self._declared.intersection(certificate.terms.linkable))
        self._add_records(certificate)
        self._add_achieved(certificate)
        # Counterfeits do not count: some readers can tell them from people, and the risk is told for all.
        sizes = np.array([one.individuals for one in certificate.classes], np.int64)
        fitting = judged.counted.people
        self.sizes.add(sizes, None if fitting is None else np.array(fitting, np.int64))
        self._add_loss(judged)

    def _add_records(self, certificate: Certificate) -> None:
        told = self.records
        told.taken_in += certificate.records_in
        told.released += certificate.released
        told.counterfeits += sum(one.records - real_records(certificate, one) for one in certificate.classes)
        told.counterfeits += 0 if certificate.completed is UNSET else certificate.completed.counterfeits
        _count(told.suppressed, certificate.suppressed_by_reason)
        _count(told.rejected, certificate.rejected_by_reason)
        _count(told.ignored, {} if certificate.ignored is UNSET else certificate.ignored)
        self.above_most += certificate.above_max_suppressed is True
        for name, count in certificate.missing.items():
            if name in self._declared:
                self.missing[name] += count

    def _add_achieved(self, certificate: Certificate) -> None:
        if not certificate.classes:
            return
        achieved = certificate.achieved
        for name in self._declared.intersection(achieved.distinct_l):
            self.distinct[name] = min(achieved.distinct_l[name], self.distinct.get(name, achieved.distinct_l[name]))
        for name in self._declared.intersection(achieved.sensitive):
            worst = self.spreads.setdefault(name, {})
            for figure, value in to_builtins(achieved.sensitive[name]).items():
                worse = max if figure in _RISING else min
                worst[figure] = worse(value, worst.get(figure, value))
        for shield in [] if achieved.shields is UNSET else achieved.shields:
            names = tuple(shield.attributes)
            if self._declared.issuperset(names) and (names in self.shields or len(self.shields) < MOST_NAMED):
                self.shields[names] = min(shield.k, self.shields.get(names, shield.k))
        if achieved.presence is not UNSET:
            self.presence = max(achieved.presence, self.presence or 0.0)

    def _add_loss(self, judged: JudgedCertificate) -> None:
        certificate, losses = judged.certificate, judged.counted.losses
        suppressed, records = certificate.suppressed, judged_records(certificate)
        if records:
            self.most_suppressed = max(self.most_suppressed, suppressed / records)
        found = TimeStretch(1, records, suppressed, (certificate.gcp or 0.0) * records)
        if losses is not None and records:
            names = [attribute.name for attribute in judged.judge.policy.quasi_identifiers]
            for name, lost in zip(names, losses, strict=True):
                found.attributes[name] = lost + suppressed
                found.counted[name] = records
        closed = seconds_of(certificate.closed)
        if isfinite(closed):
            self.timeline.add(closed, found)

    @property
    def mean_open_seconds(self) -> float | None:
        """Return how long a window was open in the mean; None without a window."""
        return self.open_seconds / self.windows if self.windows else None


def _count(counts: Counter[str], found: Mapping[str, int]) -> None:
    for reason, count in found.items():
        counts[reason if reason in _KNOWN else UNKNOWN] += count
