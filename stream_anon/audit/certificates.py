"""Check certificates: each alone, and how they join."""

from __future__ import annotations

from math import isclose

from stream_anon.audit.records import ValueBook
from stream_anon.audit.verdict import Findings, Kind
from stream_anon.audit.windows import published_tuple
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Suppression
from stream_anon.privacy.certificate import Certificate, CertifiedClass, asked_of

_SUPPRESSIONS = {str(reason) for reason in Suppression}
_REJECTIONS = {reason.label for reason in Reason}
_CLOSE = 1e-9  # sums of floats in another order differ by less


class CertificateAudit:
    """Checks one certificate after the other, in any order.

    Parameters
    ----------
    policy
        What was asked.
    values
        Which values can be published.
    findings
        Where violations are noted.
    """

    def __init__(self, policy: Policy, values: ValueBook, findings: Findings) -> None:
        self._policy = policy
        self._values = values
        self._findings = findings
        self._chain = Chain(findings)
        self._ranges = Ranges(findings)
        self._attributes = policy.quasi_identifiers

    def check(self, certificate: Certificate, digest: str) -> None:
        """Check one certificate, and remember what the others must join."""
        self._check_criteria(certificate)
        self._check_sums(certificate)
        self._check_classes(certificate)
        self._check_loss(certificate)
        self._chain.add(certificate, digest)
        self._ranges.add(certificate)

    def finish(self) -> int:
        """Check how all certificates join; return the number of partitions."""
        self._chain.finish()
        return self._ranges.finish()

    @property
    def joined(self) -> bool:
        """Return whether the certificates so far leave nothing open between them."""
        return self._chain.joined and self._ranges.joined

    def _check_criteria(self, certificate: Certificate) -> None:
        policy, batch = self._policy, certificate.batch
        if certificate.policy != policy.digest or certificate.engine != policy.engine.name:
            self._findings.add(Kind.WRONG_POLICY, batch)
        asked = certificate.asked
        if asked != asked_of(policy):
            self._findings.add(Kind.WRONG_CRITERIA, batch)
        if certificate.opened[:19] > certificate.closed[:19]:
            self._findings.add(Kind.WRONG_TIMES, batch)

    def _check_sums(self, certificate: Certificate) -> None:
        batch = certificate.batch
        suppressed, rejected = certificate.suppressed_by_reason, certificate.rejected_by_reason
        if certificate.records_in != certificate.released + certificate.suppressed + certificate.rejected:
            self._findings.add(Kind.WRONG_IN, batch)
        if certificate.suppressed != sum(suppressed.values()):
            self._findings.add(Kind.WRONG_SUPPRESSED, batch)
        if certificate.rejected != sum(rejected.values()):
            self._findings.add(Kind.WRONG_REJECTED, batch)
        if suppressed.keys() - _SUPPRESSIONS or rejected.keys() - _REJECTIONS:
            self._findings.add(Kind.UNKNOWN_REASON, batch)
        if certificate.released != sum(one.records for one in certificate.classes):
            self._findings.add(Kind.WRONG_RELEASED, batch)
        if certificate.achieved.k != min((one.individuals for one in certificate.classes), default=None):
            self._findings.add(Kind.WRONG_ACHIEVED_K, batch)
        if certificate.achieved.distinct_l.keys() - self._policy.diversity.keys():
            self._findings.add(Kind.WRONG_ACHIEVED_L, batch)
        if certificate.achieved.sensitive.keys() - self._policy.diversity.keys():
            self._findings.add(Kind.WRONG_ACHIEVED_SPREAD, batch)

    def _check_classes(self, certificate: Certificate) -> None:
        batch, seen = certificate.batch, set[bytes]()
        names = [attribute.name for attribute in self._attributes]
        for number, one in enumerate(certificate.classes):
            if one.individuals < self._policy.k:
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
        if self._policy.individual == EVERY_RECORD:
            return one.individuals == one.records
        return one.individuals <= one.records

    def _check_loss(self, certificate: Certificate) -> None:
        """Compute NCP and GCP again from nothing but the published values."""
        batch, total, sound = certificate.batch, float(certificate.suppressed), True
        for number, one in enumerate(certificate.classes):
            losses = [self._values.ncp(place, one.values.get(a.name)) for place, a in enumerate(self._attributes)]
            known = [loss for loss in losses if loss is not None]
            for attribute, loss in zip(self._attributes, losses, strict=True):
                if loss is None:
                    self._findings.add(Kind.ILLEGAL_CLASS_VALUE, batch, number, attribute.name)
            if len(known) < len(losses):
                sound = False
                continue
            mean = sum(known) / len(known)
            total += mean * one.records
            if not isclose(mean, one.ncp, rel_tol=_CLOSE, abs_tol=_CLOSE):
                self._findings.add(Kind.WRONG_NCP, batch, number)
        judged = certificate.released + certificate.suppressed
        expected = total / judged if judged and sound else certificate.gcp
        if certificate.gcp is None or expected is None:
            if judged or certificate.gcp is not None:
                self._findings.add(Kind.WRONG_GCP, batch)
        elif not judged or not isclose(expected, certificate.gcp, rel_tol=_CLOSE, abs_tol=_CLOSE):
            self._findings.add(Kind.WRONG_GCP, batch)


class Chain:
    """Follows each worker's certificates: every one names the one before it, and no two name the same."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._known: set[str] = set()
        self._claimed: dict[str, str] = {}
        self._unknown: set[str] = set()

    @property
    def joined(self) -> bool:
        """Return whether no certificate follows an unknown one."""
        return not self._unknown

    def add(self, certificate: Certificate, digest: str) -> None:
        """Note a certificate and the one it follows."""
        self._known.add(digest)
        self._unknown.discard(digest)
        previous = certificate.previous
        if previous is None:
            return
        if previous in self._claimed:
            self._findings.add(Kind.PREVIOUS_TWICE, certificate.batch)
        self._claimed.setdefault(previous, certificate.batch)
        if previous not in self._known:
            self._unknown.add(previous)

    def finish(self) -> None:
        """Note certificates that follow an unknown one."""
        for previous in sorted(self._unknown):
            self._findings.add(Kind.UNKNOWN_PREVIOUS, self._claimed[previous])


class Ranges:
    """Joins the input ranges of each partition as certificates come, in any order.

    Ranges that meet become one: where all is right, one is left of each partition.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._places: set[tuple[str, int]] = set()
        self._by_start: dict[tuple[str, int, int], tuple[int, str]] = {}  # to end, and the batch that starts it
        self._by_end: dict[tuple[str, int, int], int] = {}  # to start

    @property
    def joined(self) -> bool:
        """Return whether one range is left of each partition."""
        return len({place[:2] for place in self._by_start}) == len(self._by_start)

    def add(self, certificate: Certificate) -> None:
        """Note the ranges of one certificate."""
        batch, places, room = certificate.batch, set[tuple[str, int]](), 0
        for one in certificate.inputs:
            place = (one.topic, one.partition)
            if one.end < one.start or place in places:
                self._findings.add(Kind.WRONG_RANGE, batch, attribute=_name(*place))
            places.add(place)
            room += max(0, one.end - one.start)
            if one.start < one.end:
                self._join(one.topic, one.partition, one.start, one.end, batch)
        self._places |= places
        if certificate.records_in > room:
            self._findings.add(Kind.TOO_MANY_RECORDS, batch)

    def _join(self, topic: str, partition: int, start: int, end: int, batch: str) -> None:
        if (topic, partition, start) in self._by_start or (topic, partition, end) in self._by_end:
            self._findings.add(Kind.OVERLAP, batch, attribute=_name(topic, partition))
            return
        first = self._by_end.pop((topic, partition, start), start)
        if first != start:
            batch = self._by_start[topic, partition, first][1]
        follower = self._by_start.pop((topic, partition, end), None)
        last = follower[0] if follower is not None else end
        self._by_start[topic, partition, first] = (last, batch)
        self._by_end[topic, partition, last] = first

    def finish(self) -> int:
        """Note gaps and overlaps between what did not join; return the number of partitions."""
        before: tuple[str, int, int] | None = None
        for topic, partition, start in sorted(self._by_start):
            end, batch = self._by_start[topic, partition, start]
            if before is not None and before[:2] == (topic, partition):
                kind = Kind.GAP if start > before[2] else Kind.OVERLAP
                self._findings.add(kind, batch, attribute=_name(topic, partition))
                end = max(end, before[2])
            before = (topic, partition, end)
        return len(self._places)


def _name(topic: str, partition: int) -> str:
    return f"{topic}/{partition}"
