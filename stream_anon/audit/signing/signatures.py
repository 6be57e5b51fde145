"""Tell who signed certificates and policy documents, and accuse what nobody signed."""

from __future__ import annotations

from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.verdict import Kind, Signer
from stream_anon.errors import CertificateError
from stream_anon.privacy.signing.public_keys import PublicKeys
from stream_anon.privacy.signing.signature import read_signature


class SignatureAudit:
    """Checks signatures by public keys; without keys it only counts them.

    Parameters
    ----------
    keys
        Those that may have signed; None where signatures are not checked.
    findings
        Where violations are noted.
    """

    def __init__(self, keys: PublicKeys | None, findings: CollectedViolations) -> None:
        self._keys = keys
        self._findings = findings
        self._signers: dict[str, Signer] = {}
        self.unchecked = 0

    @property
    def checks(self) -> bool:
        """Return whether signatures are checked."""
        return self._keys is not None

    @property
    def signed(self) -> int:
        """Return how many windows are signed by one of the keys."""
        return sum(one.windows for one in self._signers.values())

    def signer(self, part: bytes, signature: bytes | None, batch: str | None) -> str | None:
        """Return the name of the key that signed a part; None, and a violation is noted, if none of them did.

        Parameters
        ----------
        signature
            As it stands beside the part.
        batch
            The part's window; None for a policy document.
        """
        if self._keys is None:
            return None
        if signature is None:
            self._findings.add(Kind.UNSIGNED, batch)
            return None
        try:
            read = read_signature(signature)
        except CertificateError:
            self._findings.add(Kind.FORGED, batch)
            return None
        if read.key not in self._keys:
            self._findings.add(Kind.UNKNOWN_SIGNER, batch)
        elif not self._keys.holds(part, read):
            self._findings.add(Kind.FORGED, batch)
        else:
            return read.key
        return None

    def add_window(self, signer: str | None, closed: str) -> None:
        """Count a window whose certificate is whole, by who signed all parts of it."""
        if signer is not None:
            one, known = Signer(signer, closed, closed, 1), self._signers.get(signer)
            self._signers[signer] = one if known is None else known.joined(one)

    @property
    def signers(self) -> tuple[Signer, ...]:
        """Return who signed windows, by when they did so first."""
        return tuple(sorted(self._signers.values(), key=lambda one: (one.first, one.key)))
