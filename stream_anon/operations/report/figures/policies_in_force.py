"""Under which policies the windows of a period were released."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from stream_anon.audit.judges import JudgedCertificate
from stream_anon.microdata.policy import EVERY_RECORD, Policy

MOST_POLICIES = 1_000  # more are those of a forger


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
        if name not in self.windows and len(self.windows) >= MOST_POLICIES:
            return
        self.windows[name] += 1
        if not judged.judge.on_trust:
            self.known.setdefault(name, judged.judge.policy)

    def others(self, promises: str) -> int:
        """Return how many of the windows that are told apart were released under another policy than this one."""
        return self.windows.total() - self.windows[promises]
