"""Join the parts of certificates, which come in any order, each with its signature."""

from __future__ import annotations

from typing import NamedTuple

from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.verdict import Kind
from stream_anon.errors import CertificateError
from stream_anon.privacy.certificate import Certificate, certificate_digest, join_parts


class _ReadPart(NamedTuple):
    """A part of a certificate, and who signed it; None where that is not known."""

    read: Certificate
    text: bytes
    signer: str | None


class WholeCertificate(NamedTuple):
    """A certificate of which all parts are there, and who signed all of them; None where that is not known."""

    certificate: Certificate
    digest: str
    signer: str | None


class CertificateParts:
    """Holds the parts of certificates until all of one are there."""

    def __init__(self, findings: CollectedViolations) -> None:
        self._findings = findings
        self._held: dict[str, dict[int, _ReadPart]] = {}
        self._signed: dict[str, bool] = {}  # of whole certificates
        self._broken: set[str] = set()  # batches whose parts do not make a certificate

    def add(self, read: Certificate, text: bytes, signer: str | None) -> WholeCertificate | None:
        """Take a part; return the certificate that it makes whole, None if there is none.

        Parameters
        ----------
        read, text
            The part as it was read, and its bytes.
        signer
            Who signed it; None where that is not known.
        """
        done = read.batch in self._signed or read.batch in self._broken
        held = {} if done else self._held.setdefault(read.batch, {})
        if done or read.part in held:
            before = self._signed.get(read.batch, False) if done else held[read.part].signer is not None
            self._findings.add(Kind.REPLAYED if before and signer else Kind.BATCH_TWICE, read.batch)
            return None
        held[read.part] = _ReadPart(read, text, signer)
        return self._joined(read.batch) if len(held) == read.parts else None

    def _joined(self, batch: str) -> WholeCertificate | None:
        parts = [held for _, held in sorted(self._held.pop(batch).items())]
        try:
            certificate = join_parts([part.read for part in parts])
        except CertificateError:
            self._findings.add(Kind.PARTS_DISAGREE, batch)
            self._broken.add(batch)
            return None
        signers = {part.signer for part in parts}
        if len(signers - {None}) > 1:
            self._findings.add(Kind.SIGNER_CHANGED, batch)
        signer = signers.pop() if len(signers) == 1 else None
        self._signed[batch] = signer is not None
        return WholeCertificate(certificate, certificate_digest([part.text for part in parts]), signer)

    @property
    def incomplete(self) -> list[Certificate]:
        """Return one part of each certificate of which others are missing."""
        return [next(iter(held.values())).read for held in self._held.values()]

    def is_incomplete(self, batch: str) -> bool:
        """Return whether parts of a batch's certificate came that do not make it whole."""
        return batch in self._held or batch in self._broken
