"""What the certificates of a period say, added up in bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np
from msgspec import UNSET, to_builtins

from stream_anon.audit.certificates import judged_records, real_records
from stream_anon.audit.judges import JudgedCertificate
from stream_anon.audit.times import seconds_of
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.method import METHODS
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Suppression
from stream_anon.operations.report.figures.risks import AttackerRisk, ClassSizes
from stream_anon.operations.report.figures.timeline import Timeline, TimeStretch
from stream_anon.privacy.certificate import Certificate
from stream_anon.privacy.criteria import FIGURES

MOST_NAMED = 1_000  # versions, shields and policies; more are those of a forger
DECEIVED = "deceived prosecutor"
"""Who knows that somebody is in the release, and takes its counterfeits for people."""
_MOST_LETTERS = 80
_SOFTWARE = re.compile(
    r"stream-anon [0-9][0-9.]*((a|b|rc|\.dev|\.post)[0-9]+)*(\+([0-9a-f]+(\.checkout)?|unknown))?"
)
_ENGINES = METHODS.keys() | {"forest", "k-forest", "mondrian", "full-domain"}
_KNOWN = {str(reason) for reason in Suppression} | {reason.label for reason in Reason}
UNKNOWN = "unknown"
"""What stands for a name that does not exist: a forged certificate may have any text in its place."""
_WORSE = {figure.certified: min if figure.least else max for figure in FIGURES}
"""Of what a certificate tells of a criterion: what chooses the worse of two."""


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


@dataclass(slots=True)
class PoliciesInForce:
    """Takes windows, and counts them by policy.

    Parameters
    ----------
    windows
        How many there are by the hash of their policy's document.
    known
        The policies by it, as their documents have them; without those that only certificates tell of.
    counting_records
        Windows whose k counts records.
    """

    windows: Counter[str] = field(default_factory=Counter)
    known: dict[str, Policy] = field(default_factory=dict)
    counting_records: int = 0

    def add(self, judged: JudgedCertificate) -> None:
        """Count a window."""
        self.counting_records += judged.certificate.individual.field == EVERY_RECORD
        name = judged.judge.promises
        if name not in self.windows and len(self.windows) >= MOST_NAMED:
            return
        self.windows[name] += 1
        if not judged.judge.on_trust:
            self.known.setdefault(name, judged.judge.policy)

    def others(self, promises: str) -> int:
        """Return how many of the windows that are told apart were released under another policy than this one."""
        return self.windows.total() - self.windows[promises]


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
        """Of people; of records in windows whose k counts these."""
        self.deceived = ClassSizes(threshold)
        """As `sizes`, with the counterfeits of each class."""
        self.made: Counter[str] = Counter()
        """Windows that may hold counterfeits, by what has made them: `series` or `completed`."""
        self.in_force = PoliciesInForce()
        self.releasing = 0
        """Windows that released something."""
        self.stating: Counter[tuple[str, ...]] = Counter()
        """Of these, the ones that state what their classes reached, by criterion and attribute."""
        self.records = PeriodRecords()
        self.timeline = Timeline()
        self.windows = 0
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
        self.undigested = 0
        """Windows that released something, and have no digests of it."""
        self.most_records_each = 0
        """How many records of one person a window may have had."""
        self.linkable: set[str] = set()
        self.open_seconds = 0
        self.most_open_seconds = 0

    def add(self, judged: JudgedCertificate) -> None:
        """Add what a certificate says, and what was counted of it."""
        certificate, closed = judged.certificate, judged.certificate.closed
        self.windows += 1
        self.releasing += bool(certificate.classes)
        self.undigested += bool(certificate.classes) and certificate.digests is UNSET
        self.in_force.add(judged)
        self.first = min(self.first or closed, closed)
        self.last = max(self.last, closed)
        for names, used in (
            (self.software, certificate.software if _is_software(certificate.software) else UNKNOWN),
            (self.engines, certificate.engine if certificate.engine in _ENGINES else UNKNOWN),
            (self.deliveries, certificate.delivery),
        ):
            if used in names or len(names) < MOST_NAMED:
                names.setdefault(used, Use(closed, closed)).add(closed)
        open_seconds = seconds_of(closed) - seconds_of(certificate.opened)
        if isfinite(open_seconds):
            self.open_seconds += max(0, int(open_seconds))
            self.most_open_seconds = max(self.most_open_seconds, int(open_seconds))
        self.replayable += certificate.terms.replayable
        self.most_records_each = max(self.most_records_each, certificate.terms.max_records_per_individual)
        self.linkable.update(self._declared.intersection(certificate.terms.linkable))
        self._add_records(certificate)
        self._add_achieved(certificate)
        self._add_sizes(judged)
        self._add_loss(judged)

    def _add_sizes(self, judged: JudgedCertificate) -> None:
        certificate, fitting = judged.certificate, judged.counted.people
        population = None if fitting is None else np.array(fitting, np.int64)
        people = np.array([one.individuals for one in certificate.classes], np.int64)
        self.sizes.add(people, population)
        # Each person has one record where counterfeits are: whoever takes these for people guesses among all.
        made = {"series": certificate.series, "completed": certificate.completed}
        self.made.update(name for name, told in made.items() if told is not UNSET)
        if any(told is not UNSET for told in made.values()):
            people = np.array([one.records for one in certificate.classes], np.int64)
        self.deceived.add(people)

    def risks(self) -> list[AttackerRisk]:
        """Return the risk by attacker; and that of who takes counterfeits for people, where there may be some."""
        found = self.sizes.risks()
        if self.made:
            found += [replace(one, attacker=DECEIVED) for one in self.deceived.risks()[:1]]
        return found

    @property
    def highest(self) -> float | None:
        """Return the highest risk that a policy bounds; None without a class.

        A policy that lets counterfeits complete classes bounds it for who takes these for people, and half of it
        for everybody else.
        """
        smallest = self.deceived.smallest
        return None if smallest is None else 1 / smallest

    @property
    def on_topics(self) -> bool:
        """Return whether a window was published by a service."""
        return bool(self.deliveries.keys() - {"file"})

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
            self.stating["distinct_l", name] += 1
            self.distinct[name] = min(achieved.distinct_l[name], self.distinct.get(name, achieved.distinct_l[name]))
        for name in self._declared.intersection(achieved.sensitive):
            self.stating.update(("spread", name, figure) for figure in to_builtins(achieved.sensitive[name]))
            worst = self.spreads.setdefault(name, {})
            for figure, value in to_builtins(achieved.sensitive[name]).items():
                worst[figure] = _WORSE[figure](value, worst.get(figure, value))
        for shield in [] if achieved.shields is UNSET else achieved.shields:
            names = tuple(shield.attributes)
            if self._declared.issuperset(names) and (names in self.shields or len(self.shields) < MOST_NAMED):
                self.shields[names] = min(shield.k, self.shields.get(names, shield.k))
                self.stating["shield", *names] += 1
        if achieved.presence is not UNSET:
            self.stating["presence",] += 1
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


def _is_software(text: str) -> bool:
    """Return whether a text is the name, version and revision of some release of this program."""
    return len(text) <= _MOST_LETTERS and _SOFTWARE.fullmatch(text) is not None


def _count(counts: Counter[str], found: Mapping[str, int]) -> None:
    for reason, count in found.items():
        counts[reason if reason in _KNOWN else UNKNOWN] += count
