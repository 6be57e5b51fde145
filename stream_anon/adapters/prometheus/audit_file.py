"""The outcome of an audit as a file for node_exporter's textfile collector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from stream_anon.errors import InputError

PREFIX = "stream_anon_audit"


@dataclass(frozen=True)
class AuditFigures:
    """The figures of an audit.

    Parameters
    ----------
    subject
        The audited topic or file.
    violations
        Number by name of the kind; all kinds, so that a series does not end when its violations do.
    ended, seconds
        When it ended, in seconds since the epoch, and how long it took.
    """

    subject: str
    violations: Mapping[str, int]
    windows: int
    on_trust: int
    records: int
    removed: int
    ended: float
    seconds: float


def write_audit_file(path: Path, figures: AuditFigures) -> None:
    """Write the figures; the file is replaced in one step, so that nobody reads a half.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    registry = CollectorRegistry()

    def tell(name: str, text: str, value: float) -> None:
        Gauge(f"{PREFIX}_{name}", text, ["subject"], registry=registry).labels(figures.subject).set(value)

    violations = Gauge(
        f"{PREFIX}_violations", "Violations that the last audit found.", ["subject", "kind"], registry=registry
    )
    for kind, count in figures.violations.items():
        violations.labels(figures.subject, kind).set(count)
    tell("success", "1 if the last audit found no violation, else 0.", float(not any(figures.violations.values())))
    tell("windows", "Windows that the last audit judged.", figures.windows)
    tell("windows_on_trust", "Windows of them whose policy is not known.", figures.on_trust)
    tell("records", "Released records that the last audit read.", figures.records)
    tell("records_removed", "Released records that the start of a topic had lost already.", figures.removed)
    tell("last_run_timestamp_seconds", "When the last audit ended.", figures.ended)
    tell("duration_seconds", "How long the last audit took.", figures.seconds)
    try:
        write_to_textfile(str(path), registry)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
