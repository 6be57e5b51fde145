"""What a storm was and what it left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.support.storm.verdict import Verdict


@dataclass
class Report:
    """What happened and what became of the records."""

    seed: int
    verdict: Verdict
    faults: Counter[str]
    missed: int
    said: Counter[str]
    failures: list[str]
    seconds: float

    def figures(self) -> dict[str, Any]:
        """Return all of it for a JSON file."""
        v = self.verdict
        return {
            "seed": self.seed,
            "faults": self.faults.total(),
            "accepted": v.accepted,
            "lost": v.lost,
            "gone_with_their_topic": v.gone,
            "duplicated": v.duplicated,
            "under_k": v.under_k,
            "certificate_mismatches": v.certificate_mismatches,
            "failures": self.failures,
            "released": v.released,
            "suppressed": v.suppressed,
            "dead_letters": v.dead_letters,
            "windows": v.windows,
            "turned_away": self.said["window-abandoned, fenced"],
            "turned_away_by_ledger": self.said["turned away by the ledger"],
            "faults_by_kind": dict(sorted(self.faults.items())),
            "fault_points_missed": self.missed,
            "events": dict(sorted(self.said.items())),
            "notes": dict(v.notes),
            "seconds": round(self.seconds, 1),
        }
