"""How a worker's certificates join: each names the one before it."""

from __future__ import annotations

from math import inf

from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.verdict import Kind, Removed
from stream_anon.privacy.certificate import Certificate


class Chain:
    """Follows each worker's certificates: every one names the one before it, and no two name the same."""

    def __init__(self, findings: CollectedViolations) -> None:
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

    def finish(self, removed: Removed, horizon: float) -> None:
        """Note certificates that follow an unknown one.

        Where certificates were removed from the start of their topic, every chain may begin with a removed one:
        that no window is missing between the others is for `Ranges` to say.
        """
        if horizon > -inf:
            removed.chains += len(self._unknown)
            return
        for previous in sorted(self._unknown):
            self._findings.add(Kind.UNKNOWN_PREVIOUS, self._claimed[previous])
