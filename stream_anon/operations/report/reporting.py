"""Make a report of what was released in a period: audit it, and add up what its certificates say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stream_anon.errors import InputError, SettingsError
from stream_anon.measures.leakage import Population
from stream_anon.microdata.policy import Policy
from stream_anon.operations.audit import auditing
from stream_anon.operations.audit.audit_settings import AuditSettings
from stream_anon.operations.audit.auditing import Wanted
from stream_anon.operations.report.figures.evidence import Evidence
from stream_anon.operations.report.figures.release_spread import read_releases
from stream_anon.operations.report.figures.risks import ClassSizes
from stream_anon.operations.report.report_findings import Findings
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import MOST_STUDIED, read_table
from stream_anon.ports import Clock
from stream_anon.secret_files import first_bytes
from stream_anon.settings.loading import kafka_of
from stream_anon.settings.model import Settings
from stream_anon.settings.population.counts_file import read_population

_SHARE = {"value", "low", "high"}
MOST_ATTACKS = 1024 * 1024  # bytes of a file that `attack` wrote


@dataclass(frozen=True, slots=True)
class ReportSubject:
    """What a report is about.

    Parameters
    ----------
    config
        Settings file.
    output, certificates
        Files; the topics of the settings where both are None.
    original
        A sample of the input, to say what the risk was before; None for none.
    attacks
        What `stream-anon attack --json` printed; None for none.
    population
        How many people have which quasi-identifiers, where the policy has no such file; None for none.
    max_risk
        The risk that nobody may exceed; None for that of the settings.
    """

    config: Path
    output: Path | None = None
    certificates: Path | None = None
    original: str | None = None
    attacks: Path | None = None
    population: Path | None = None
    max_risk: float | None = None


def report(subject: ReportSubject, wanted: Wanted, clock: Clock) -> Findings:
    """Return what was found in the period that `wanted` names.

    Raises
    ------
    SettingsError, BrokerError, InputError
        If the settings are wrong, or what they name or the files cannot be read.
    """
    given = AuditSettings.load(subject.config, wanted.overrides)
    policy = given.policy
    own = threshold_of(given.settings, policy)
    threshold = own if subject.max_risk is None else subject.max_risk
    if subject.max_risk is not None and not 0 < subject.max_risk <= 1:
        raise SettingsError("--max-risk", "must be above 0 and at most 1")
    attacks = None if subject.attacks is None else read_attacks(subject.attacks)
    if subject.population is not None:
        if policy.population is not None:
            raise SettingsError(
                "--population",
                "the settings name such a file already, and people are counted by it: leave this out",
            )
        population = read_population(subject.population, policy.attributes, policy.null_values)
        given = replace(given, policy=replace(policy, population=population))
    before, left_out = None, 0
    if subject.original is not None:
        table = read_table(policy, SampleSource(subject.original, subject.config))
        if not table.whole:
            raise InputError(
                f"{subject.original}: is too large for a sample: give at most {MOST_STUDIED:,} records of it"
            )
        before, left_out = _sizes_before(table.population, threshold), table.rejected
    evidence = Evidence(policy, threshold)
    wanted = replace(wanted, observer=evidence.add)
    releases = None
    if subject.output is not None and subject.certificates is not None:
        audit = auditing.audit_files(given, subject.output, subject.certificates, wanted, clock)
    else:
        audit = auditing.audit_topic(given, wanted, clock)
        if policy.returning is not None:
            releases = read_releases(kafka_of(given.settings), policy.returning, wanted.stretch, clock)
    return Findings(audit, evidence, threshold, before, subject.original or "", attacks, left_out, own, releases)


def threshold_of(settings: Settings, policy: Policy) -> float | None:
    """Return the risk that nobody may exceed as settings say it: `privacy.max_risk`, or 1 / k; None without a k."""
    return settings.privacy.max_risk or (None if policy.k is None else 1 / policy.k)


def _sizes_before(population: Population, threshold: float | None) -> ClassSizes:
    """Return how many people share their exact quasi-identifiers."""
    sizes = ClassSizes(threshold)
    sizes.add(population.sizes(range(len(population.codes))))
    return sizes


def read_attacks(path: Path) -> Mapping[str, Any]:
    """Return what `stream-anon attack --json` printed.

    Raises
    ------
    InputError
        If the file cannot be read, or holds something else.
    """
    try:
        content = first_bytes(path, MOST_ATTACKS + 1)
        found = json.loads(content)
    except (OSError, ValueError, RecursionError):
        found = None
    rows = found.get("attacks") or None if isinstance(found, dict) else None
    source, released = (found.get(key) if isinstance(found, dict) else None for key in ("source", "released"))
    sound = isinstance(rows, list) and isinstance(source, str) and type(released) is int
    if not isinstance(rows, list) or not sound or not all(map(_is_attack, rows)):
        raise InputError(f"{path}: cannot be read, or is not what stream-anon attack --json prints")
    return {"source": source, "released": released, "attacks": rows}


def _is_attack(row: object) -> bool:
    """Return whether this is an attack with its risk, as far as a report shows it."""
    if not isinstance(row, dict) or not isinstance(row.get("attack"), str):
        return False
    if not all(row.get(key) is None or isinstance(row[key], str) for key in ("secret", "answer")):
        return False
    shares = [row.get("risk"), *(row[key] for key in ("success", "control") if row.get(key) is not None)]
    return all(isinstance(one, dict) and all(_is_share(one.get(key)) for key in _SHARE) for one in shares)


def _is_share(found: object) -> bool:
    """Return whether this is a number that a share, or a difference of two, can be."""
    return isinstance(found, int | float) and not isinstance(found, bool) and -1 <= found <= 1
