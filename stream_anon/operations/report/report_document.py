"""The report as a JSON object; schemas/report.schema.json describes it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict
from math import inf, isinf
from typing import Any

from msgspec import to_builtins

from stream_anon.microdata.attributes import PassThrough, PublishedForm, QuasiIdentifier, Sensitive
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.audit.audit_report import as_json, iso
from stream_anon.operations.report.figures.evidence import Evidence, Use
from stream_anon.operations.report.figures.release_spread import ReleasesFound
from stream_anon.operations.report.frameworks import Heading, headings, questions
from stream_anon.operations.report.limits.residual_risks import residual_risks
from stream_anon.operations.report.report_findings import Findings
from stream_anon.privacy.promises import asked_of
from stream_anon.version import SOFTWARE

SCHEMA = 1
_FIRST = dt.datetime.min.replace(tzinfo=dt.UTC)


def document_of(found: Findings) -> dict[str, Any]:
    """Return the report. It holds names that the policy declares, counts and shares, and no value of a person."""
    policy, evidence, stretch = found.audit.policy, found.evidence, found.audit.wanted.stretch
    return {
        "schema": SCHEMA,
        "software": SOFTWARE,
        "made": iso(found.audit.ended),
        "subject": found.audit.subject,
        "period": {
            "from": None if isinf(stretch.since) else iso(stretch.since),
            "to": None if stretch.until == inf else iso(stretch.until),
            "first": evidence.first or None,
            "last": evidence.last or None,
        },
        "holds": found.holds,
        "cautions": found.cautions,
        "release": policy.release.told,
        "policy": _promise(policy, found),
        "fields": _fields(policy, evidence),
        "records": _records(evidence),
        "classes": _classes(evidence),
        "risks": {
            "threshold": found.threshold,
            "holds": not found.too_high,
            "after": [asdict(risk) for risk in evidence.risks()],
            "sample": found.sample or None,
            "sample_people": None if found.before is None else found.before.people,
            "sample_left_out": found.left_out,
            "before": None if found.before is None else [asdict(risk) for risk in found.before.risks()],
        },
        "sensitive": [_sensitive(policy, evidence, own) for own in policy.attributes if isinstance(own, Sensitive)],
        "shields": [
            {
                "attributes": list(shield.attributes),
                "asked": shield.k,
                "achieved": evidence.shields.get(tuple(shield.attributes)),
                "windows": evidence.stating["shield", *shield.attributes],
            }
            for shield in policy.shields
        ],
        "presence": None
        if policy.presence is None
        else {"asked": policy.presence.most, "achieved": evidence.presence, "people": policy.presence.people}
        | {"windows": evidence.stating["presence",]},
        "returning": None
        if policy.returning is None
        else {
            **to_builtins(asked_of(policy).returning),
            "suppressed": evidence.records.suppressed["returning"],
            "releases": None if found.releases is None else _releases(found.releases),
        },
        "loss": loss_of(evidence),
        "delay": {
            "asked_seconds": policy.window.max_delay,
            "mean_seconds": evidence.mean_open_seconds,
            "most_seconds": evidence.most_open_seconds,
        },
        "history": {
            "software": _uses(evidence.software),
            "engines": _uses(evidence.engines),
            "deliveries": _uses(evidence.deliveries),
        },
        "audit": as_json(found.audit),
        "attacks": None if found.attacks is None else dict(found.attacks),
        "limits": [asdict(risk) for risk in residual_risks(policy, evidence)],
        "frameworks": [_heading(heading) for heading in headings(_told(found))],
        "questions": [asdict(question) for question in questions(policy.release)],
    }


def _releases(found: ReleasesFound) -> dict[str, Any]:
    return {
        "periods": [
            {
                "from": _moment(one.begins),
                "to": _moment(one.ends),
                "keys": one.keys,
                "people": [{"releases": times, "people": people} for times, people in one.people.items()],
            }
            for one in found.periods
        ],
        "unread": found.unread or None,
    }


def _told(found: Findings) -> set[str]:
    """Return what a report has that not every report has, by the names that `headings` asks for."""
    policy, evidence = found.audit.policy, found.evidence
    told = {
        "release": policy.release.told,
        "attacks": found.attacks,
        "before": found.before,
        "sensitive": policy.diversity or evidence.spreads or evidence.distinct,
        "classes": evidence.releasing,
    }
    return {name for name, there in told.items() if there}


def _heading(heading: Heading) -> dict[str, Any]:
    return {
        "framework": heading.framework,
        "text": heading.text,
        "sections": list(heading.sections),
        "left": heading.left,
    }


def _promise(policy: Policy, found: Findings) -> dict[str, Any]:
    return {
        "promises": found.audit.promises,
        "revision": policy.revision,
        "k": policy.k,
        "individual": policy.individual,
        "counts_records": policy.individual == EVERY_RECORD,
        "asked": to_builtins(asked_of(policy)),
        "engine": policy.maker,
    }


def _fields(policy: Policy, evidence: Evidence) -> list[dict[str, Any]]:
    """Return the fields of a policy, and what other policies of the period did to them or to further ones."""
    found = {own.name: _field(policy, own.name) for own in policy.attributes}
    for other in evidence.in_force.known.values():
        for own in other.attributes:
            was = _field(other, own.name)
            now = found.setdefault(own.name, was | {"technique": "not in the settings"})
            told = f"{was['role']}: {was['technique']}"
            if told != f"{now['role']}: {now['technique']}" and told not in now["formerly"]:
                now["formerly"].append(told)
    return list(found.values())


def _field(policy: Policy, name: str) -> dict[str, Any]:
    own = policy.attribute(name)
    return {
        "name": own.name,
        "role": own.role,
        "technique": _technique(policy, own.name),
        "formerly": [],
        "published": own.published,
        "rare_values_accepted": isinstance(own, PassThrough) and own.accept_linkable,
    }


def _technique(policy: Policy, name: str) -> str:
    """Return what is done to a field, in words."""
    own = policy.attribute(name)
    if isinstance(own, QuasiIdentifier):
        if own.publication is PublishedForm.VALUES:
            how = "generalized to sets of values"
        else:
            how = "generalized to ranges that occur" if own.domain.tight else "generalized to nodes of a hierarchy"
        levels = f", from level {own.min_level}" if own.min_level else ""
        return how + levels + ("" if own.max_level is None else f", up to level {own.max_level}")
    if isinstance(own, Sensitive) and own.families:
        return "published with its family in each class" if own.keeps_whole else "generalized to families of values"
    if isinstance(own, PassThrough):
        return "published as it came"
    return "removed; counted as the person" if name == policy.individual else "removed"


def _records(evidence: Evidence) -> dict[str, Any]:
    told, whole = evidence.records, evidence.timeline.whole
    return {
        "windows": evidence.windows,
        "windows_without_release": evidence.windows - evidence.releasing,
        "windows_above_max_suppressed": evidence.above_most,
        "in": told.taken_in,
        "released": told.released,
        "counterfeits": told.counterfeits,
        "suppressed": told.suppressed.total(),
        "suppressed_by_reason": dict(sorted(told.suppressed.items())),
        "rejected": told.rejected.total(),
        "rejected_by_reason": dict(sorted(told.rejected.items())),
        "ignored": dict(sorted(told.ignored.items())),
        "suppressed_share": whole.suppressed / whole.judged if whole.judged else None,
        "most_suppressed_share": evidence.most_suppressed,
        "missing": dict(sorted(evidence.missing.items())),
    }


def _classes(evidence: Evidence) -> dict[str, Any]:
    sizes = evidence.sizes
    return {
        "windows": evidence.releasing,
        "windows_counting_records": evidence.in_force.counting_records,
        "classes": sizes.classes,
        "people": sizes.people,
        "smallest": sizes.smallest,
        "median": sizes.median,
        "mean": sizes.people / sizes.classes if sizes.classes else None,
        "largest": sizes.largest,
        "sizes": [{"from": low, "classes": count} for low, count in sizes.spread()],
    }


def _sensitive(policy: Policy, evidence: Evidence, own: Sensitive) -> dict[str, Any]:
    asked = asked_of(policy)
    spread = asked.sensitive.get(own.name)
    return {
        "attribute": own.name,
        "distinct_l": {"asked": asked.distinct_l.get(own.name), "achieved": evidence.distinct.get(own.name)}
        | {"windows": evidence.stating["distinct_l", own.name]},
        "spread": {
            "asked": {} if spread is None else to_builtins(spread),
            "achieved": (reached := dict(evidence.spreads.get(own.name, {}))),
            "windows": {figure: evidence.stating["spread", own.name, figure] for figure in reached},
        },
        "families": len(own.families),
        "least_family": own.least_family if own.families else None,
    }


def loss_of(evidence: Evidence) -> dict[str, Any]:
    """Return the information loss: of all, by field, and over time."""
    timeline = evidence.timeline
    return {
        "gcp": timeline.whole.gcp,
        "attributes": timeline.whole.losses(),
        "stretch_seconds": timeline.width,
        "over_time": [
            {
                "from": _moment(start),
                "windows": stretch.windows,
                "records": stretch.judged,
                "suppressed": stretch.suppressed,
                "gcp": stretch.gcp,
                "attributes": stretch.losses(),
            }
            for start, stretch in timeline
        ],
    }


def _moment(seconds: float) -> str:
    """Return the start of a stretch. Where it begins before the first year, the first window of it does not."""
    moment = dt.datetime.fromtimestamp(int(max(seconds, _FIRST.timestamp())), dt.UTC)
    return moment.replace(tzinfo=None).isoformat() + "Z"


def _uses(used: Mapping[str, Use]) -> list[dict[str, Any]]:
    ordered = sorted(used.items(), key=lambda one: one[1].first)
    return [{"name": name, **asdict(use)} for name, use in ordered]
