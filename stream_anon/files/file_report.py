"""What happened to a file, summed over windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stream_anon.files.anonymizing import CertifiedRelease
from stream_anon.files.rejects import Fault, faults_of
from stream_anon.microdata.policy import Policy


@dataclass
class FileReport:
    """What happened to a file, summed over windows.

    Parameters
    ----------
    attributes
        The policy's, by name.
    shields
        The attributes of each shield of the policy.
    release
        What the policy states of its release, by key.
    coerced
        How many texts counted as numbers or truth values, because their attributes say `coerce`.
    explanation
        How a method came to its answer, a line a step; empty for an engine.
    warnings
        What a method's options leave unprotected.
    refusal
        Why nothing was written: what forbids it, or how a method's answer falls short; empty where neither is so.
    counterfeits
        How many of the released records are nobody's: in a series of releases, or where they complete classes.
    written
        Whether the output stands under its name: not if too many records were rejected.
    """

    engine: str
    attributes: tuple[str, ...] = ()
    shields: tuple[tuple[str, ...], ...] = ()
    release: Mapping[str, str] = field(default_factory=dict)
    records_in: int = 0
    released: int = 0
    suppressed: Counter[str] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    coerced: int = 0
    explanation: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refusal: str = ""
    written: bool = False
    windows: int = 0
    counterfeits: int = 0
    classes: int = 0
    achieved_k: int | None = None
    achieved_shields: tuple[int, ...] = ()
    gate_violations: int = 0
    seconds: float = 0.0
    _loss: float = 0.0
    _counted: int = 0

    @classmethod
    def of(cls, policy: Policy) -> FileReport:
        """Return the report of a policy's release before anything has happened."""
        names = tuple(attribute.name for attribute in policy.attributes)
        shields = tuple(shield.attributes for shield in policy.shields)
        return cls(policy.maker, names, shields, policy.release.told)

    def add(self, certified: CertifiedRelease) -> None:
        """Count a window."""
        release = certified.release
        self.records_in += release.records_in
        self.released += release.released
        self.suppressed.update({reason.value: count for reason, count in release.suppressed.items()})
        self.faults.update(faults_of(release.rejects, self.attributes))
        self.missing.update(release.missing)
        self.windows += 1
        self.counterfeits += release.counterfeits
        self.classes += len(release.classes)
        if release.achieved_k is not None:
            self.achieved_k = min(release.achieved_k, self.achieved_k or release.achieved_k)
        reached, before = release.achieved_shields, self.achieved_shields or release.achieved_shields
        self.achieved_shields = tuple(map(min, before, reached)) if reached else before
        self.gate_violations += release.gate_violations
        self.seconds += certified.seconds
        counted = release.records_in - len(release.rejects)
        self._loss += (release.gcp or 0.0) * counted
        self._counted += counted

    @property
    def gcp(self) -> float | None:
        """Return the mean NCP over all records that were not rejected; None if there was none."""
        return self._loss / self._counted if self._counted else None

    @property
    def rejected(self) -> Counter[str]:
        """Return how many records were rejected, by reason."""
        found: Counter[str] = Counter()
        for (reason, _), count in self.faults.items():
            found[reason] += count
        return found

    @property
    def missing_shares(self) -> dict[str, float]:
        """Return the share of released and suppressed records without a value, by attribute, largest first."""
        return {name: count / self._counted for name, count in self.missing.most_common()}

    def _shields_as_json(self) -> list[dict[str, Any]]:
        reached = self.achieved_shields or (None,) * len(self.shields)
        return [{"attributes": list(own), "k": k} for own, k in zip(self.shields, reached, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object; `seconds` is the engine's time only, after compilation."""
        return {
            "records_in": self.records_in,
            "released": self.released,
            **({"counterfeits": self.counterfeits} if self.counterfeits else {}),
            "suppressed": dict(self.suppressed),
            "rejected": dict(self.rejected),
            "rejects": [
                {"reason": reason, "attribute": attribute, "records": count}
                for (reason, attribute), count in self.faults.most_common()
            ],
            "written": self.written,
            "missing": dict(self.missing),
            "coerced": self.coerced,
            "windows": self.windows,
            "classes": self.classes,
            "achieved_k": self.achieved_k,
            **({"achieved_shields": self._shields_as_json()} if self.shields else {}),
            "gcp": self.gcp,
            "gate_violations": self.gate_violations,
            "seconds": self.seconds,
            "records_per_second": self.records_in / self.seconds if self.seconds else None,
            "engine": self.engine,
            **({"release": dict(self.release)} if self.release else {}),
            "explanation": list(self.explanation),
            "warnings": list(self.warnings),
            "refusal": self.refusal or None,
        }
