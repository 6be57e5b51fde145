"""Re-check releases against their certificates, without the engine.

Nothing here is shared with what makes releases: partitioners, generalization and the gate are not imported. Each
window is judged under its own policy, whose document stands beside the certificates; see `judges`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import inf
from typing import Any

from stream_anon.audit.chain import Chain
from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.digests.comparing import DigestMeans, Recount, Uncompared
from stream_anon.audit.formats.series import MOST, DecodedSeries, Series, in_series
from stream_anon.audit.input_ranges import Ranges
from stream_anon.audit.judges import Judge, JudgedCertificate, Judges
from stream_anon.audit.periods import Periods
from stream_anon.audit.released_records import Decoded
from stream_anon.audit.scope import (
    CHECKED,
    SIGNED,
    SLACK,
    TRUSTED,
    UNCHECKED,
    AuditScope,
    Horizon,
    Removed,
    seconds_of,
)
from stream_anon.audit.signing.signatures import SignatureAudit
from stream_anon.audit.verdict import AuditCounts, Kind, Verdict
from stream_anon.audit.whole_certificates import CertificateParts, WholeCertificate
from stream_anon.audit.window_comparison import WindowRecords
from stream_anon.errors import CertificateError, LaterVersionError
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certificate import BATCH_PATTERN, Certificate, read_part
from stream_anon.privacy.policy_document import read_document_part
from stream_anon.privacy.signing.public_keys import PublicKeys
from stream_anon.privacy.signing.signature import signed_parts

FILE_TOPIC = "input"  # what certificates of files call their input
UNCOUNTED = "how many of the people who fit a class are in it, in {:,} windows whose population is not at hand"
_MOST_HELD = 200_000  # records whose policy is not known yet; further ones are read under the given policy

TopicTest = Callable[[str], bool]
Observer = Callable[[JudgedCertificate], None]


class Audit:
    """Takes records, certificates and policy documents in any order, as topics yield them.

    A window is settled and its counters are dropped as soon as its certificate and as many records as that
    promises are there; of settled windows only the batch id is kept.

    Parameters
    ----------
    policy
        The policy that is in force now; windows may have been released under others.
    promises
        Hash of its document, where it is known already.
    reads
        Tells whether the service reads a topic; None where that is not known.
    stretch
        Which windows are judged.
    digests
        What contents are compared with digests by, besides the key of the policy.
    public_keys
        Those that certificates may be signed by; None where signatures are not checked.
    observer
        Told of each window that is judged.
    """

    def __init__(
        self,
        policy: Policy,
        promises: str | None = None,
        *,
        reads: TopicTest | None = None,
        stretch: AuditScope | None = None,
        digests: DigestMeans | None = None,
        public_keys: PublicKeys | None = None,
        observer: Observer | None = None,
    ) -> None:
        digests = digests or DigestMeans()
        self._observer = observer
        self._findings = CollectedViolations()
        self._signatures = SignatureAudit(public_keys, self._findings)
        self._judges = Judges(policy, self._findings, promises, digests.keys)
        self._lines = digests.lines
        self._uncompared = Counter[Uncompared]()
        self._uncounted = 0  # windows whose population is not at hand
        self._chain, self._ranges = Chain(self._findings), Ranges(self._findings)
        self._periods = Periods()
        self._reads = reads
        self._stretch = stretch or AuditScope()
        self._removed = Removed()
        self._open: dict[str, WindowRecords] = {}
        self._held = 0
        self._parts = CertificateParts(self._findings)
        self._undecided: dict[str, Certificate] = {}  # whole certificates whose policy document has not come
        self._waiting: dict[str, tuple[Certificate, Judge]] = {}  # those whose records are not all there
        self._settled: dict[str, Judge] = {}
        self._left_out: set[str] = set()
        self._seen = {"windows": 0, "on_trust": 0, "parts": 0, "classes": 0, "records": 0, "recounted": 0}

    def add_record(
        self,
        batch: str | None,
        record: Decoded,
        timestamp: int | None = None,
        *,
        bare: bool = True,
    ) -> None:
        """Count a released record.

        Parameters
        ----------
        batch
            Its header; None where it has none.
        record
            What it says; None where it is none.
        timestamp
            Milliseconds; None where it has none of its own.
        bare
            Whether it has no key and no other header.
        """
        if batch in self._left_out or self._stretch.batch not in (None, batch):
            return
        self._seen["records"] += 1
        if batch is None or not re.fullmatch(BATCH_PATTERN, batch):
            self._findings.add(Kind.NO_BATCH)
            self._judges.given.records.add(WindowRecords(), None, record)
            return
        if batch in self._settled:
            self._findings.add(Kind.EXTRA_RECORDS, batch)
            self._settled[batch].records.add(WindowRecords(), batch, record)
            return
        window = self._open.get(batch)
        if window is None:
            window = self._open[batch] = WindowRecords()
        self._check_metadata(window, batch, timestamp, bare=bare)
        if batch not in self._waiting:
            self._hold(window, batch, record)
            return
        certificate, judge = self._waiting[batch]
        judge.records.add(window, batch, record)
        if window.records >= certificate.released:
            self._settle(batch)

    def add_series(
        self, batch: str | None, series: Series, timestamp: int | None = None, *, bare: bool = True
    ) -> None:
        """Count released records that follow one another with one header and one time; see `add_record`."""
        if batch is None or batch not in self._waiting or len(series) > self._missing(batch):
            for record in series:
                self.add_record(batch, record, timestamp, bare=bare)
            return
        window, (certificate, judge) = self._open[batch], self._waiting[batch]
        self._seen["records"] += len(series)
        for _ in range(len(series)):
            self._check_metadata(window, batch, timestamp, bare=bare)
        judge.records.add_series(window, batch, series)
        if window.records >= certificate.released:
            self._settle(batch)

    def _missing(self, batch: str) -> int:
        """Return how many records are still to come of a window whose certificate is known."""
        return self._waiting[batch][0].released - self._open[batch].records

    def _check_metadata(self, window: WindowRecords, batch: str, timestamp: int | None, *, bare: bool) -> None:
        window.timestamp = timestamp if window.timestamp is None else window.timestamp
        if not bare or (timestamp is not None and (timestamp % 1000 or timestamp != window.timestamp)):
            self._findings.add(Kind.METADATA, batch)

    def add_unreadable(self, place: str, offsets: int) -> None:
        """Count a stretch of a partition, by its name, that nobody can read."""
        self._findings.add(Kind.UNREADABLE, attribute=place, count=offsets)

    def add_stray(self, record: Decoded) -> None:
        """Count a record that belongs to no certificate."""
        self._seen["records"] += 1
        self._findings.add(Kind.NO_CERTIFICATE)
        self._judges.given.records.add(WindowRecords(), None, record)

    def add_part(
        self,
        part: bytes | None,
        batch: str | None = None,
        signature: bytes | None = None,
        partition: int = 0,
        timestamp: int | None = None,
    ) -> Certificate | None:
        """Take one part of a certificate or of a policy document; return the former if it is one.

        Parameters
        ----------
        batch
            Its header, where it has one.
        signature
            What stands beside it as its signature, if anything.
        partition
            Where it stands; parts of one partition come in their order.
        timestamp
            Milliseconds; None where it has none of its own.
        """
        self._seen["parts"] += 1
        text = part or b""
        try:
            read = read_part(text)
        except CertificateError as error:
            if self._add_document(text, batch, error) and self._is_new(timestamp):
                self._signatures.signer(text, signature, None)
            return None
        if batch is not None and batch != read.batch:
            self._findings.add(Kind.WRONG_BATCH, read.batch)
        judged = self._stretch.holds(read.batch, seconds_of(read.closed))
        signer = self._signatures.signer(text, signature, read.batch) if judged else None
        self._signatures.unchecked += judged and signature is not None and read.part == 1
        whole = self._parts.add(read, text, signer)
        if whole is not None:
            self._take(whole, partition)
        return read

    def _is_new(self, timestamp: int | None) -> bool:
        """Return whether a policy document came within the stretch: before, there may have been no key."""
        sent = -inf if timestamp is None else timestamp / 1000
        return self._stretch.holds(None, sent)

    def at_rest(self, horizon: Horizon | None = None) -> bool:
        """Return whether every window that was begun is complete, and all certificates join.

        What may have been removed up to the horizon, or was not read because it closed before the stretch, is not
        waited for: it does not come.
        """
        horizon = horizon or Horizon()
        certificates = max(horizon.certificates, self._stretch.since)
        waiting = (certificate for certificate, _ in self._waiting.values())
        if any(seconds_of(one.closed) > horizon.records for one in waiting):
            return False
        begun = (*self._parts.incomplete, *self._undecided.values())
        if any(seconds_of(one.closed) > certificates for one in begun):
            return False
        alone = (window for batch, window in self._open.items() if batch not in self._waiting)
        if any(window.timestamp is None or window.timestamp / 1000 > certificates for window in alone):
            return False
        return (certificates > -inf or self._chain.joined) and self._ranges.joined(certificates)

    @property
    def windows(self) -> int:
        """Return the number of windows that were judged so far."""
        return self._seen["windows"]

    def finish(self, horizon: Horizon | None = None) -> Verdict:
        """Return the verdict; nothing may be added afterwards.

        Parameters
        ----------
        horizon
            Up to when records and certificates may have been removed from the start of their topics.
        """
        horizon = horizon or Horizon()
        # What closed before the stretch was not read from its start.
        certificates = max(horizon.certificates, self._stretch.since)
        for batch, certificate in list(self._undecided.items()):
            if certificates == -inf:
                self._findings.add(Kind.MISSING_POLICY, batch)
            self._decide(certificate, self._judges.stand_in(certificate))
        for some in self._parts.incomplete:
            if self._stretch.batch in (None, some.batch) and seconds_of(some.closed) > certificates:
                self._findings.add(Kind.MISSING_PART, some.batch)
        for batch in list(self._waiting):
            self._settle(batch, horizon.records)
        for batch, window in self._open.items():
            self._finish_alone(batch, window, certificates)
        partitions = 0
        if self._stretch.batch is None:
            self._chain.finish(self._removed, certificates)
            partitions = self._ranges.finish(self._removed, certificates)
        periods, pending = self._periods.finish(self._judges.given)
        return Verdict(
            violations=self._findings.listed(),
            more=self._findings.more,
            counts=AuditCounts(
                partitions=partitions, lost=self._ranges.lost, signed=self._signatures.signed, **self._seen
            ),
            checked=CHECKED + ((SIGNED,) if self._signatures.checks else ()),
            trusted=TRUSTED + self._uncounted_and_unchecked(),
            kinds=self._findings.totals(),
            uncompared={reason: self._uncompared[reason] for reason in Uncompared if self._uncompared[reason]},
            disclosed=self._findings.disclosed,
            least=self._periods.least,
            periods=periods,
            accepted=dict(sorted(self._periods.accepted.items())),
            removed=self._removed,
            pending=pending,
            lives=tuple(life for life in self._ranges.lives() if self._knows(life.topic)),
            signers=self._signatures.signers,
            begins=horizon.certificates - SLACK,
        )

    def _uncounted_and_unchecked(self) -> tuple[str, ...]:
        """Return what is taken on trust because something that would tell is not at hand."""
        unchecked = 0 if self._signatures.checks else self._signatures.unchecked
        told = ((UNCOUNTED, self._uncounted), (UNCHECKED, unchecked))
        return tuple(text.format(windows) for text, windows in told if windows)

    def _add_document(self, part: bytes, batch: str | None, error: CertificateError) -> bool:
        """Take a part that is of no certificate; return whether it is of a policy document."""
        known = batch if batch is not None and re.fullmatch(BATCH_PATTERN, batch) else None
        if isinstance(error, LaterVersionError):
            self._findings.add(Kind.LATER_VERSION, known)
            return False
        try:
            read = read_document_part(part)
        except LaterVersionError:
            self._findings.add(Kind.LATER_VERSION, known)
        except CertificateError:
            self._findings.add(Kind.MALFORMED_CERTIFICATE, known)
        else:
            if self._judges.add_part(read):
                for certificate in list(self._undecided.values()):
                    self._decide_if_known(certificate)
            return True
        return False

    def _take(self, whole: WholeCertificate, partition: int) -> None:
        """Take a certificate of which all parts are there."""
        certificate, batch = whole.certificate, whole.certificate.batch
        self._signatures.add_window(whole.signer, certificate.closed)
        self._chain.add(certificate, whole.digest, whole.signer, partition)
        self._ranges.add(certificate)
        if not self._stretch.holds(batch, seconds_of(certificate.closed)):
            self._left_out.add(batch)
            self._let_go(self._open.pop(batch, WindowRecords()))
            return
        self._undecided[batch] = certificate
        self._decide_if_known(certificate)

    def _decide_if_known(self, certificate: Certificate) -> None:
        judge = self._judges.of(certificate)
        if judge is not None:
            self._decide(certificate, judge)

    def _decide(self, certificate: Certificate, judge: Judge) -> None:
        """Judge a certificate, and the records of its window that came before."""
        batch = certificate.batch
        del self._undecided[batch]
        self._check_topics(certificate)
        counted = judge.certificates.check(certificate)
        if self._observer is not None:
            self._observer(JudgedCertificate(certificate, judge, counted))
        self._uncounted += judge.certificates.uncounted(certificate)
        self._periods.add(certificate, judge)
        self._seen["windows"] += 1
        self._seen["on_trust"] += judge.on_trust
        self._seen["classes"] += len(certificate.classes)
        self._waiting[batch] = (certificate, judge)
        window = self._open.setdefault(batch, WindowRecords())
        window.recount = judge.records.recount_of(certificate, self._lines.window())
        # Of records that had to be counted before their certificate came, nothing was kept.
        if window.records and isinstance(window.recount, Recount):
            window.recount = Uncompared.TOO_EARLY
        for series in in_series(self._let_go(window)):
            judge.records.add_series(window, batch, series)
        if window.records >= certificate.released:
            self._settle(batch)

    def _check_topics(self, certificate: Certificate) -> None:
        for place in certificate.inputs:
            known = place.topic == FILE_TOPIC if certificate.delivery == "file" else self._knows(place.topic)
            if not known:  # its name is not repeated: it may be anything
                self._findings.add(Kind.WRONG_TOPIC, certificate.batch)

    def _knows(self, topic: str) -> bool:
        return self._reads is None or self._reads(topic)

    def _hold(self, window: WindowRecords, batch: str, record: Decoded) -> None:
        """Keep a record until it is known under which policy it was released."""
        if self._held < _MOST_HELD:
            self._held += 1
            window.held.append(record)
        else:
            self._judges.given.records.add(window, batch, record)

    def _let_go(self, window: WindowRecords) -> list[Decoded]:
        """Return the records that were kept of a window, and keep them no longer."""
        held, window.held = window.held, []
        self._held -= len(held)
        return held

    def _settle(self, batch: str, horizon: float = -inf) -> None:
        window, (certificate, judge) = self._open.pop(batch), self._waiting.pop(batch)
        missing = certificate.released - window.records
        removed = seconds_of(certificate.closed) <= horizon
        if removed:
            self._removed.windows += 1
            self._removed.records += missing
        judge.records.compare(window, certificate, removed=removed)
        if not isinstance(window.recount, Recount):
            self._uncompared[window.recount] += 1
        elif removed:
            self._uncompared[Uncompared.REMOVED] += 1
        else:
            self._seen["recounted"] += 1
        self._settled[batch] = judge

    def _finish_alone(self, batch: str, window: WindowRecords, horizon: float) -> None:
        """Judge the records of a window that has no certificate, or only some parts of it."""
        held = self._let_go(window)
        count = window.records + len(held)
        removed = window.timestamp is not None and window.timestamp / 1000 <= horizon
        judge = self._judges.suspicious if removed else self._judges.given
        for series in in_series(held):
            judge.records.add_series(window, batch, series)
        if removed:
            self._removed.uncertified += count
            return
        if not self._parts.is_incomplete(batch):
            self._findings.add(Kind.NO_CERTIFICATE, batch, count=count)
        judge.records.count_alone(window, batch)


def audit_in_order(
    audit: Audit,
    parts: Iterable[bytes],
    records: Iterable[Any],
    series: Callable[[Sequence[Any]], Series] = DecodedSeries,
) -> Verdict:
    """Return the verdict on files: the records of each certificate follow those of the one before.

    Holds the counters of one window at a time.

    Parameters
    ----------
    audit
        A new one, which is finished then.
    parts
        Parts of policy documents and of certificates, in the order of their windows, each with its signature behind
        it if it is signed.
    records
        Released records; decoded ones, None for one that is no object, unless `series` says otherwise.
    series
        Makes a series of some of them.
    """
    waiting = iter(records)
    for part, signature in signed_parts(parts):
        read = audit.add_part(part, signature=signature)
        if read is not None and read.part == read.parts:
            left = read.released
            while left > 0 and (some := list(islice(waiting, min(left, MOST)))):
                audit.add_series(read.batch, series(some))
                left -= len(some)
    while some := list(islice(waiting, MOST)):
        for record in series(some):
            audit.add_stray(record)
    return audit.finish()
