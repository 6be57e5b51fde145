"""Check certificates, each alone; `chain` and `input_ranges` check how they follow each other."""

from __future__ import annotations

from math import isclose, isinf
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.population.completed_classes import CompletionAudit
from stream_anon.audit.population.published_presence import PresenceAudit
from stream_anon.audit.released_records import ValueBook
from stream_anon.audit.scope import seconds_of
from stream_anon.audit.shields import ShieldAudit
from stream_anon.audit.verdict import Kind
from stream_anon.audit.window_comparison import published_tuple
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.choices.window_limits import AboveMost
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Suppression
from stream_anon.privacy.certificate import Certificate, CertifiedClass
from stream_anon.privacy.promises import asked_of, individual_of

_SUPPRESSIONS = {str(reason) for reason in Suppression}
_REJECTIONS = {reason.label for reason in Reason if not reason.is_ignored}
_IGNORED = {reason.label for reason in Reason if reason.is_ignored}
_ABSENT = object()
_CLOSE = 1e-9  # sums of floats in another order differ by less


class Counted(NamedTuple):
    """What an audit counted of a certificate again, besides what is wrong with it.

    Parameters
    ----------
    losses
        NCP of the published values, by quasi-identifier, added up over the released records of people; None where
        domains are not known or a value is illegal.
    people
        How many of the population fit each class; None without one.
    """

    losses: tuple[float, ...] | None
    people: list[int] | None


class CertificateAudit:
    """Checks certificates of one policy, one after the other.

    Parameters
    ----------
    policy
        What was asked.
    values
        Which values can be published; None where the policy's domains are not known.
    findings
        Where violations are noted.
    presence
        Knows the population, where it is at hand.
    """

    def __init__(
        self, policy: Policy, values: ValueBook | None, findings: CollectedViolations, presence: PresenceAudit
    ) -> None:
        self._policy = policy
        self._presence = presence
        self._completion = CompletionAudit(policy)
        self._values = values
        self._findings = findings
        self._attributes = policy.quasi_identifiers
        self._shields = ShieldAudit(policy, exact=values is not None)
        self._published = {attribute.name for attribute in policy.published}

    def check(self, certificate: Certificate) -> Counted:
        """Check one certificate, and return what was counted of it again."""
        self._check_criteria(certificate)
        self._check_sums(certificate)
        self._check_suppression(certificate)
        self._check_missing(certificate)
        self._check_classes(certificate)
        for names in self._shields.untrue(certificate):
            self._findings.add(Kind.WRONG_ACHIEVED_SHIELD, certificate.batch, attribute=names)
        people = self._presence.people(certificate)
        crowded, untrue = self._presence.check(certificate, people)
        for number in crowded:
            self._findings.add(Kind.TOO_MANY_PRESENT, certificate.batch, number)
        if untrue:
            self._findings.add(Kind.WRONG_ACHIEVED_PRESENCE, certificate.batch)
        return Counted(self._check_loss(certificate), people)

    def uncounted(self, certificate: Certificate) -> bool:
        """Return whether a window's classes were not counted in a population, since it is not at hand."""
        return self._presence.uncounted and bool(certificate.classes)

    def _check_criteria(self, certificate: Certificate) -> None:
        batch = certificate.batch
        asked, judged = certificate.asked, asked_of(self._policy)
        if self._values is None:  # then nobody knows which levels and families there are
            asked = replace(asked, levels=UNSET, max_suppressed=UNSET, families=UNSET, returning=UNSET)
            judged = replace(judged, returning=UNSET)
            if not certificate.classes:  # nor which quasi-identifiers
                asked, judged = replace(asked, shields=UNSET), replace(judged, shields=UNSET)
        if asked != judged:
            self._findings.add(Kind.WRONG_CRITERIA, batch)
        if self._values is not None and certificate.individual != individual_of(self._policy):
            self._findings.add(Kind.WRONG_INDIVIDUAL, batch)
        opened, closed = seconds_of(certificate.opened), seconds_of(certificate.closed)
        if opened > closed or isinf(closed):
            self._findings.add(Kind.WRONG_TIMES, batch)
        if len(set(certificate.accepted)) < len(certificate.accepted):
            self._findings.add(Kind.WRONG_ACCEPTED, batch)

    def _check_sums(self, certificate: Certificate) -> None:
        batch = certificate.batch
        suppressed, rejected = certificate.suppressed_by_reason, certificate.rejected_by_reason
        ignored = {} if certificate.ignored is UNSET else certificate.ignored
        kept = certificate.suppressed + certificate.rejected + sum(ignored.values())
        made = self._counterfeits(certificate) + self._completion.counterfeits(certificate)
        if self._completion.untrue(certificate):
            self._findings.add(Kind.WRONG_COUNTERFEITS, batch)
        if certificate.records_in != certificate.released - made + kept:
            self._findings.add(Kind.WRONG_IN, batch)
        if certificate.suppressed != sum(suppressed.values()):
            self._findings.add(Kind.WRONG_SUPPRESSED, batch)
        if certificate.rejected != sum(rejected.values()):
            self._findings.add(Kind.WRONG_REJECTED, batch)
        unknown = (suppressed.keys() - _SUPPRESSIONS, rejected.keys() - _REJECTIONS, ignored.keys() - _IGNORED)
        if any(unknown):
            self._findings.add(Kind.UNKNOWN_REASON, batch)
        if certificate.released != sum(one.records for one in certificate.classes):
            self._findings.add(Kind.WRONG_RELEASED, batch)
        if certificate.achieved.k != min((one.individuals for one in certificate.classes), default=None):
            self._findings.add(Kind.WRONG_ACHIEVED_K, batch)
        if certificate.achieved.distinct_l.keys() - self._policy.diversity.keys():
            self._findings.add(Kind.WRONG_ACHIEVED_L, batch)
        if certificate.achieved.sensitive.keys() - self._policy.diversity.keys():
            self._findings.add(Kind.WRONG_ACHIEVED_SPREAD, batch)

    def _counterfeits(self, certificate: Certificate) -> int:
        """Return how many records of a release of a series are nobody's, and note where that cannot be.

        A person has one record in it: what a class has beyond its individuals are counterfeits.
        """
        told = certificate.series
        if told is UNSET:
            return 0
        beyond = sum(one.records - one.individuals for one in certificate.classes)
        if told.counterfeits != beyond or set(certificate.asked.distinct_l.values()) != {told.least}:
            self._findings.add(Kind.WRONG_SERIES, certificate.batch)
        return told.counterfeits

    def _check_suppression(self, certificate: Certificate) -> None:
        """Check whether the window says truly that too many are suppressed, and what became of it then."""
        bound, told = self._policy.max_suppressed, certificate.above_max_suppressed
        whole = certificate.suppressed_by_reason.get(Suppression.MAX_SUPPRESSED, 0)
        if bound is None:
            # Of a window on trust it is not known what was asked.
            wrong = self._values is not None and (whole > 0 or told is not UNSET)
        else:
            judged = judged_records(certificate) - self._completion.counterfeits(certificate)
            above = certificate.suppressed - whole > bound.of(judged)
            suppresses = self._policy.above_max_suppressed is AboveMost.SUPPRESS
            released = certificate.released > 0
            wrong = told is not above or (whole > 0 and not (above and suppresses and not released))
            wrong |= above and suppresses and released
        if wrong:
            self._findings.add(Kind.WRONG_SUPPRESSION, certificate.batch)

    def _check_missing(self, certificate: Certificate) -> None:
        """Check how many records had no value: no more than there are, no fewer than are published without."""
        judged = judged_records(certificate)
        for name, count in certificate.missing.items():
            known = name in self._published or self._values is None
            classes = [one for one in certificate.classes if one.values.get(name, _ABSENT) is None]
            without = sum(real_records(certificate, one) for one in classes)
            if not known or not without <= count <= judged:
                self._findings.add(Kind.WRONG_MISSING, certificate.batch, attribute=name if known else None)

    def _check_classes(self, certificate: Certificate) -> None:
        batch, seen = certificate.batch, set[bytes]()
        names = [attribute.name for attribute in self._attributes]
        for number, one in enumerate(certificate.classes):
            if self._completion.falls_short(one):
                self._findings.add(Kind.TOO_FEW_INDIVIDUALS, batch, number)
            if not self._possible(one):
                self._findings.add(Kind.TOO_MANY_INDIVIDUALS, batch, number)
            if list(one.values) != names:
                self._findings.add(Kind.WRONG_ATTRIBUTES, batch, number)
            key = published_tuple(one, self._attributes)
            if key in seen:
                self._findings.add(Kind.CLASS_TWICE, batch, number)
            seen.add(key)

    def _possible(self, one: CertifiedClass) -> bool:
        every_record = self._policy.individual == EVERY_RECORD and self._values is not None
        if every_record and not self._completion.allowed:
            return one.individuals == one.records
        return one.individuals <= one.records

    def _check_loss(self, certificate: Certificate) -> tuple[float, ...] | None:
        """Compute NCP and GCP again from nothing but the published values; return the former, see `Counted`."""
        batch, total, sound = certificate.batch, float(certificate.suppressed), True
        lost = [0.0] * len(self._attributes)
        for number, one in enumerate(certificate.classes):
            losses = self._losses(batch, number, one)
            if losses is None:
                sound = False
                continue
            mean, records = sum(losses) / len(losses), real_records(certificate, one)
            total += mean * records
            for place, loss in enumerate(losses):
                lost[place] += loss * records
            if not isclose(mean, one.ncp, rel_tol=_CLOSE, abs_tol=_CLOSE):
                self._findings.add(Kind.WRONG_NCP, batch, number)
        judged, gcp = judged_records(certificate), certificate.gcp
        if gcp is None or not judged:
            wrong = bool(judged) or gcp is not None
        else:
            wrong = sound and not isclose(total / judged, gcp, rel_tol=_CLOSE, abs_tol=_CLOSE)
        if wrong:
            self._findings.add(Kind.WRONG_GCP, batch)
        return tuple(lost) if sound and self._values is not None else None

    def _losses(self, batch: str, number: int, one: CertifiedClass) -> list[float] | None:
        """Return the NCP of a class's values; None if one is illegal, their mean if domains are not known."""
        if self._values is None:
            return [one.ncp]
        losses = [self._values.ncp(place, one.values.get(a.name)) for place, a in enumerate(self._attributes)]
        for attribute, loss in zip(self._attributes, losses, strict=True):
            if loss is None:
                self._findings.add(Kind.ILLEGAL_CLASS_VALUE, batch, number, attribute.name)
        known = [loss for loss in losses if loss is not None]
        return known if len(known) == len(losses) else None


def real_records(certificate: Certificate, one: CertifiedClass) -> int:
    """Return how many of a class's records are somebody's: in a release of a series each person has one."""
    return one.records if certificate.series is UNSET else one.individuals


def judged_records(certificate: Certificate) -> int:
    """Return how many records of people were released or suppressed."""
    made = 0 if certificate.series is UNSET else certificate.series.counterfeits
    return certificate.released - made + certificate.suppressed
