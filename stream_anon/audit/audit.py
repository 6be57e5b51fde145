"""Re-check releases against their certificates, without the engine.

Nothing here is shared with what makes releases: partitioners, generalization and the gate are not imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from stream_anon.audit.certificates import CertificateAudit
from stream_anon.audit.verdict import Counts, Findings, Kind, Verdict
from stream_anon.audit.windows import WindowAudit, WindowRecords
from stream_anon.errors import CertificateError
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certificate import (
    BATCH_PATTERN,
    Certificate,
    certificate_digest,
    join_parts,
    read_part,
)

_MOST_RECORDS = 2**62  # what islice takes


class Audit:
    """Takes records and certificate parts in any order, as a topic yields them.

    A window is settled and its counters are dropped as soon as its certificate and as many records as that
    promises are there; of settled windows only the batch id is kept.

    Parameters
    ----------
    policy
        The policy under which everything was released.
    """

    def __init__(self, policy: Policy) -> None:
        self._findings = Findings()
        self._windows = WindowAudit(policy, self._findings)
        self._certificates = CertificateAudit(policy, self._windows.values, self._findings)
        self._open: dict[str, WindowRecords] = {}
        self._parts: dict[str, dict[int, tuple[Certificate, bytes]]] = {}
        self._waiting: dict[str, Certificate] = {}  # whole certificates whose records are not all there
        self._certified: set[str] = set()
        self._broken: set[str] = set()  # batches whose parts do not make a certificate
        self._settled: set[str] = set()
        self._seen = {"windows": 0, "parts": 0, "classes": 0, "records": 0}

    def add_record(
        self,
        batch: str | None,
        record: Mapping[str, Any] | None,
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
            Its object; None where it is none.
        timestamp
            Milliseconds; None where it has none of its own.
        bare
            Whether it has no key and no other header.
        """
        self._seen["records"] += 1
        if batch is None or not re.fullmatch(BATCH_PATTERN, batch):
            self._findings.add(Kind.NO_BATCH)
            self._windows.add(WindowRecords(), None, record)
            return
        if batch in self._settled:
            self._findings.add(Kind.EXTRA_RECORDS, batch)
            self._windows.add(WindowRecords(), batch, record)
            return
        window = self._open.get(batch)
        if window is None:
            window = self._open[batch] = WindowRecords()
        window.timestamp = timestamp if window.timestamp is None else window.timestamp
        if not bare or (timestamp is not None and (timestamp % 1000 or timestamp != window.timestamp)):
            self._findings.add(Kind.METADATA, batch)
        self._windows.add(window, batch, record)
        if batch in self._waiting and window.records >= self._waiting[batch].released:
            self._settle(batch)

    def add_stray(self, record: Mapping[str, Any] | None) -> None:
        """Count a record that belongs to no certificate."""
        self._seen["records"] += 1
        self._findings.add(Kind.NO_CERTIFICATE)
        self._windows.add(WindowRecords(), None, record)

    def add_part(self, part: bytes | None, batch: str | None = None) -> Certificate | None:
        """Take one part of a certificate, with its header `batch` where it has one; return it if it is one."""
        self._seen["parts"] += 1
        try:
            read = read_part(part or b"")
        except CertificateError:
            known = batch is not None and re.fullmatch(BATCH_PATTERN, batch)
            self._findings.add(Kind.MALFORMED_CERTIFICATE, batch if known else None)
            return None
        if batch is not None and batch != read.batch:
            self._findings.add(Kind.WRONG_BATCH, read.batch)
        done = read.batch in self._certified or read.batch in self._broken
        held = {} if done else self._parts.setdefault(read.batch, {})
        if done or read.part in held:
            self._findings.add(Kind.BATCH_TWICE, read.batch)
        else:
            held[read.part] = (read, part or b"")
            if len(held) == read.parts:
                self._join(read.batch)
        return read

    @property
    def at_rest(self) -> bool:
        """Return whether every window that was begun is complete, and all certificates join."""
        begun = self._open or self._parts or self._waiting
        return not begun and self._certificates.joined

    def finish(self) -> Verdict:
        """Return the verdict; nothing may be added afterwards."""
        for batch in self._parts:
            self._findings.add(Kind.MISSING_PART, batch)
        for batch in list(self._waiting):
            self._settle(batch)
        for batch, window in self._open.items():
            if batch not in self._parts and batch not in self._broken:
                self._findings.add(Kind.NO_CERTIFICATE, batch, count=window.records)
            self._windows.count_alone(window, batch)
        partitions = self._certificates.finish()
        return self._findings.verdict(Counts(partitions=partitions, **self._seen))

    def _join(self, batch: str) -> None:
        parts = [held for _, held in sorted(self._parts.pop(batch).items())]
        try:
            certificate = join_parts([read for read, _ in parts])
        except CertificateError:
            self._findings.add(Kind.PARTS_DISAGREE, batch)
            self._broken.add(batch)
            return
        self._certificates.check(certificate, certificate_digest([part for _, part in parts]))
        self._certified.add(batch)
        self._seen["windows"] += 1
        self._seen["classes"] += len(certificate.classes)
        self._waiting[batch] = certificate
        if self._open.setdefault(batch, WindowRecords()).records >= certificate.released:
            self._settle(batch)

    def _settle(self, batch: str) -> None:
        self._windows.compare(self._open.pop(batch), self._waiting.pop(batch))
        self._settled.add(batch)


def audit_in_order(policy: Policy, parts: Iterable[bytes], records: Iterable[Mapping[str, Any] | None]) -> Verdict:
    """Return the verdict on files: the records of each certificate follow those of the one before.

    Holds the counters of one window at a time.

    Parameters
    ----------
    policy
        The policy under which everything was released.
    parts
        Parts of certificates, in the order of their windows.
    records
        Decoded records, None for one that is no object.
    """
    audit = Audit(policy)
    waiting: Iterator[Mapping[str, Any] | None] = iter(records)
    for part in parts:
        read = audit.add_part(part)
        if read is not None and read.part == read.parts:
            for record in islice(waiting, min(read.released, _MOST_RECORDS)):
                audit.add_record(read.batch, record)
    for record in waiting:
        audit.add_stray(record)
    return audit.finish()
