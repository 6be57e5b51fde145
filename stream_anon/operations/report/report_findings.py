"""What a report is made of, and whether it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stream_anon.operations.audit.auditing import AuditReport
from stream_anon.operations.report.figures.evidence import Evidence
from stream_anon.operations.report.figures.release_spread import ReleasesFound
from stream_anon.operations.report.figures.risks import ClassSizes
from stream_anon.operations.report.limits.cautions import cautions


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """All that a report is made of.

    Parameters
    ----------
    audit
        Of the period.
    evidence
        What the certificates of the period say.
    threshold
        The risk that nobody may exceed, 0 to 1; None where nothing is asked of classes.
    before
        People by their exact quasi-identifiers in a sample of the input; None without one.
    sample
        Its name; empty without one.
    releases
        How often people were released; None where the policy does not bound it, or no topic was read.
    left_out
        How many records of the sample do not fit the policy.
    own_threshold
        That of the settings, which another one may stand for; None where these have none.
    attacks
        What `stream-anon attack --json` printed; None without it.
    """

    audit: AuditReport
    evidence: Evidence
    threshold: float | None
    before: ClassSizes | None = None
    sample: str = ""
    attacks: Mapping[str, Any] | None = None
    left_out: int = 0
    own_threshold: float | None = None
    releases: ReleasesFound | None = None

    @property
    def cautions(self) -> list[str]:
        """Return what must be known before any figure is read."""
        attacks = [] if self.attacks is None else self.attacks["attacks"]
        told = cautions(self.audit, self.evidence, self.threshold, self.own_threshold, attacks)
        if self.too_often:
            told.append(f"{self.too_often:,} people were released more often than privacy.returning allows.")
        return told

    @property
    def too_often(self) -> int:
        """Return how many people were released more often than the policy allows in a period."""
        bound = self.audit.policy.returning
        return 0 if bound is None or self.releases is None else self.releases.beyond(bound.most)

    @property
    def too_high(self) -> bool:
        """Return whether somebody's risk is above the threshold."""
        highest = self.evidence.highest
        return self.threshold is not None and highest is not None and highest > self.threshold

    @property
    def holds(self) -> bool:
        """Return whether the audit found nothing wrong, no risk is too high, and nobody came too often."""
        return self.audit.verdict.clean and not self.too_high and not self.too_often
