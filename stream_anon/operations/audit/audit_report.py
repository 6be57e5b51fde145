"""The report of an audit as JSON, and as figures for Prometheus."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from math import isinf
from typing import Any

from stream_anon.adapters.prometheus.audit_file import AuditFigures
from stream_anon.audit.digests.comparing import Uncompared
from stream_anon.audit.verdict import Change, Kind
from stream_anon.operations.audit.auditing import AuditReport
from stream_anon.operations.disclosures import documents
from stream_anon.version import SOFTWARE

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class AskedK:
    """A k that the command line asked for, whatever the policies of the windows ask, and what holds.

    Parameters
    ----------
    least
        Least number of individuals in a class; None without a class.
    """

    k: int
    least: int | None

    @property
    def holds(self) -> bool:
        """Return whether every class has as many individuals as asked for."""
        return self.least is None or self.least >= self.k


def asked_of(report: AuditReport) -> AskedK | None:
    """Return what the command line asked for; None if it asked for nothing."""
    k = report.wanted.overrides.get("privacy", {}).get("k")
    return None if k is None else AskedK(k, report.verdict.least)


def as_json(report: AuditReport) -> dict[str, Any]:
    """Return the report as a JSON object; schemas/audit.schema.json describes it."""
    verdict, stretch = report.verdict, report.wanted.stretch
    return {
        "schema": SCHEMA_VERSION,
        "software": SOFTWARE,
        "begun": iso(report.begun),
        "ended": iso(report.ended),
        "subject": report.subject,
        "settings": str(report.settings),
        "overrides": {section: dict(values) for section, values in report.wanted.overrides.items()},
        "since": None if isinf(stretch.since) else iso(stretch.since),
        "batch": stretch.batch,
        "clean": verdict.clean,
        "asked": None if (asked := asked_of(report)) is None else asdict(asked) | {"holds": asked.holds},
        "policy": {
            "promises": report.promises,
            "digest": report.policy.digest,
            "revision": report.policy.revision,
            "k": report.policy.k,
            **({"release": stated} if (stated := report.policy.release.told) else {}),
        },
        "counts": asdict(verdict.counts),
        "uncompared": {name_of(reason): count for reason, count in verdict.uncompared.items()},
        "absent_key": None if report.absent_key is None else str(report.absent_key),
        "removed": asdict(verdict.removed),
        "policies": [asdict(period) | {"change": _change(period.change)} for period in verdict.periods],
        "pending": _change(verdict.pending),
        "inputs": [asdict(life) | {"topic_id": life.topic_id or None} for life in verdict.lives],
        "signers": [asdict(signer) for signer in verdict.signers],
        "accepted": dict(verdict.accepted),
        "sensitive": documents(verdict.disclosed),
        "kinds": {name_of(kind): count for kind, count in verdict.kinds.items()},
        "violations": [
            asdict(violation) | {"kind": name_of(violation.kind), "text": violation.kind.value}
            for violation in verdict.violations
        ],
        "more": verdict.more,
        "checked": list(verdict.checked),
        "trusted": list(verdict.trusted),
    }


def figures_of(report: AuditReport) -> AuditFigures:
    """Return what Prometheus is told of an audit."""
    verdict = report.verdict
    return AuditFigures(
        subject=report.subject,
        violations={name_of(kind): verdict.kinds.get(kind, 0) for kind in Kind},
        windows=verdict.counts.windows,
        on_trust=verdict.counts.on_trust,
        records=verdict.counts.records,
        removed=verdict.removed.records + verdict.removed.uncertified,
        ended=report.ended,
        seconds=report.ended - report.begun,
    )


def name_of(kind: Kind | Uncompared) -> str:
    """Return the name by which programs know a kind of violation, or why contents were not compared."""
    return kind.name.lower().replace("_", "-")


def iso(wall: float) -> str:
    """Return a time as certificates write it."""
    return dt.datetime.fromtimestamp(int(wall), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _change(change: Change | None) -> dict[str, Any] | None:
    return None if change is None else {"weaker": list(change.weaker), "stronger": list(change.stronger)}
