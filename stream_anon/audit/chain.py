"""How a worker's certificates join: each names the one before it."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.scope import Removed
from stream_anon.audit.verdict import Kind
from stream_anon.privacy.certificate import Certificate


class _Link(NamedTuple):
    """Who signed a certificate, None where that is not known, and the partition or the file that it stands in."""

    signer: str | None
    partition: int


class Chain:
    """Follows each worker's certificates: every one names the one before it, and no two name the same."""

    def __init__(self, findings: CollectedViolations) -> None:
        self._findings = findings
        self._links: dict[_Link, _Link] = {}  # few, and each once in memory
        self._known: dict[str, _Link] = {}
        self._claimed: dict[str, str] = {}
        self._unknown: dict[str, _Link] = {}  # by the certificate that has not come, what follows it

    @property
    def joined(self) -> bool:
        """Return whether no certificate follows an unknown one."""
        return not self._unknown

    def add(self, certificate: Certificate, digest: str, signer: str | None = None, partition: int = 0) -> None:
        """Note a certificate and the one it follows.

        A worker reads its key once and writes one certificate after the other. So all of its chain are signed by
        one key, and those of one partition, or of a file, stand there in the order of the chain.
        """
        link = self._known[digest] = self._links.setdefault(new := _Link(signer, partition), new)
        following = self._unknown.pop(digest, None)
        if following is not None:
            self._compare(link, following, self._claimed[digest])
            if None not in (signer, following.signer) and partition == following.partition:
                self._findings.add(Kind.REORDERED, self._claimed[digest])
        previous = certificate.previous
        if previous is None:
            return
        if previous in self._claimed:
            self._findings.add(Kind.PREVIOUS_TWICE, certificate.batch)
        self._claimed.setdefault(previous, certificate.batch)
        if previous in self._known:
            self._compare(self._known[previous], link, certificate.batch)
        else:
            self._unknown.setdefault(previous, link)

    def _compare(self, before: _Link, link: _Link, batch: str) -> None:
        if None not in (before.signer, link.signer) and before.signer != link.signer:
            self._findings.add(Kind.SIGNER_CHANGED, batch)

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
