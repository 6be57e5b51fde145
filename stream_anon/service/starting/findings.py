"""Findings on a policy and a sample of its input; some of them forbid a run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stream_anon.conditions import Condition
from stream_anon.measures.window_leakage import least_told
from stream_anon.microdata.attributes import Publication, Sensitive, Unknown
from stream_anon.microdata.ids import Normalization
from stream_anon.microdata.policy import EVERY_RECORD, AboveMost, Policy, Shortfall
from stream_anon.service.starting.missing_values import MissingValues
from stream_anon.service.starting.sample_study import MOST_LINKABLE, Forecast, RareValues, Study
from stream_anon.service.starting.spellings import Spelling

MANY_REJECTS = 0.05
MANY_OVER_LIMIT = 0.01
MANY_SUPPRESSED = 0.1
MANY_INDIVIDUALS = 0.99  # of the records; with more individuals than this, the ids may be of events
MANY_MISSING = 0.5
MANY_SINGLED = 0.5
FEWEST_RECORDS = 1000  # fewer say nothing about that
SPELLED = {
    Normalization.NFKC: "in Unicode's form (composed letters, full width)",
    Normalization.CASEFOLD: "in case",
    Normalization.STRIP: "in blanks or invisible characters at its ends",
    Normalization.UUID: "in how a UUID is written",
    Normalization.DIGITS: "in zeros in front or the script of its digits",
    None: "in all of this together",
}


_ABOVE = {
    AboveMost.PUBLISH: "published with an alert",
    AboveMost.HOLD: "published with an alert, since they cannot be held any longer",
    AboveMost.SUPPRESS: "suppressed whole",
}


class Severity(StrEnum):
    """How grave a finding is."""

    FORBIDS = "forbids"  # no run may start
    ACCEPTED = "accepted"  # it forbids a run, but somebody has accepted it by name
    WARNS = "warns"  # somebody should know
    NOTES = "notes"  # nothing is wrong, but something is less or different than one might expect


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know before a run.

    Parameters
    ----------
    place
        A setting, a topic or an attribute.
    condition
        The name under which it can be accepted, if it forbids a run.
    commands
        Of Apache Kafka, which mend what was found of the topic.
    """

    severity: Severity
    place: str
    text: str
    condition: Condition | None = None
    commands: tuple[str, ...] = ()


def policy_findings(policy: Policy) -> list[Finding]:
    """Return the findings on the policy alone."""
    found = []
    if policy.individual == EVERY_RECORD:
        found.append(
            _warning(
                "privacy.individual",
                "k counts records, not people: a person with k records makes a class of their own",
            )
        )
    if policy.engine.seed is not None:
        found.append(
            _warning(
                "engine.seed",
                "what the engine draws follows from it: whoever knows it, the policy and all other records of a "
                "window can replay it for each value that somebody may have. Leave it out where that matters",
            )
        )
    found += [
        _warning(
            f"privacy.shields.{place}",
            f"holds already: privacy.k = {policy.k}, or a shield on the same attributes and more, asks as many",
        )
        for place, shield in enumerate(policy.shields)
        if shield not in policy.open_shields
    ]
    needed = least_told(len(policy.quasi_identifiers))
    if policy.window.max_records < needed:
        found.append(_no_live_leakage(needed, f"windows of {policy.window.max_records:,} records hold fewer"))
    for attribute in policy.quasi_identifiers:
        place = f"attributes.{attribute.name}"
        if attribute.publication is Publication.TIGHT:
            found.append(
                _warning(
                    place,
                    "tight: both ends of a published range are true values of somebody in the class, "
                    "and an extreme value is published as it is",
                )
            )
        elif attribute.publication is Publication.VALUES:
            found.append(
                _warning(place, "values: a published set tells that each of its values occurs in the class")
            )
        if attribute.unknown is Unknown.ROOT:
            found.append(
                _warning(
                    place, "unknown: root admits misspelt values too, each of which costs its class this attribute"
                )
            )
    found += [
        _warning(
            f"attributes.{attribute.name}",
            "sensitive without a criterion: all records of a class may hold the same value, which then is known "
            f"of everybody in it; privacy.sensitive.{attribute.name} asks for several (distinct_l, or more)",
        )
        for attribute in policy.attributes
        if isinstance(attribute, Sensitive) and attribute.name not in policy.diversity
    ]
    return found


def sample_findings(policy: Policy, study: Study) -> list[Finding]:
    """Return the findings on a sample of the input, the gravest first."""
    if not study.records:
        return [
            _warning("input", "holds no records to look at: nothing is known of rejects, windows and rare values")
        ]
    if not study.fit:
        return [
            _prohibition(
                Condition.NO_RECORD_FITS, "input", f"none of {study.records} sampled records fits the policy"
            )
        ]
    found = [_missing(study, field) for field in study.missing if field.share > MANY_MISSING and not field.accepted]
    found += [_rare(policy, study, field) for field in study.rare if field.too_many]
    found += [
        _rare_in_windows(policy, field) for field in study.rare if field.too_many_in_windows and not field.too_many
    ]
    many = study.fit >= FEWEST_RECORDS and study.individuals >= MANY_INDIVIDUALS * study.fit
    if many and policy.individual != EVERY_RECORD:
        found.append(_events(study))
    found += [_spelling(each) for each in study.spellings if not each.asked]
    if study.fit >= FEWEST_RECORDS:
        found += _singling(study)
    if study.rejected_share > MANY_REJECTS:
        found.append(_warning("input", f"{study.rejected_share:.1%} of the sampled records would be dead letters"))
    if study.forecast is not None:
        found += _forecast_findings(policy, study.forecast)
    return sorted(found, key=lambda finding: finding.severity is not Severity.FORBIDS)


def _missing(study: Study, field: MissingValues) -> Finding:
    place = f"attributes.{field.attribute}"
    if field.records < study.fit:
        return _warning(
            place, f"{field.share:.1%} of the sampled records have no value: is it declared as it comes?"
        )
    return never_came(field.attribute, f"{study.fit} sampled records", field.likeness)


def never_came(attribute: str, records: str, likeness: str = "") -> Finding:
    """Return what forbids a run if none of some records, which `records` names, has a value of an attribute."""
    return _prohibition(
        Condition.MISSING_FIELD,
        f"attributes.{attribute}",
        f"none of {records} has a value; null would be published for all. "
        f"{likeness}Correct its name or its path, or write accept_missing: true",
    )


def _rare(policy: Policy, study: Study, field: RareValues) -> Finding:
    place = f"attributes.{field.attribute}"
    share = f"{field.share:.1%} of its values are held by fewer than k = {policy.k} individuals"
    if study.individuals < policy.k:
        return _warning(place, f"cannot be judged: the sample holds {study.individuals} individuals, fewer than k")
    return _prohibition(
        Condition.RARE_VALUES,
        place,
        f"{share}; at most {MOST_LINKABLE:.0%} may pass as they are. Make it a quasi-identifier, leave it out, or "
        "write accept_linkable: true",
    )


def _rare_in_windows(policy: Policy, field: RareValues) -> Finding:
    return _warning(
        f"attributes.{field.attribute}",
        f"{field.share_in_windows:.1%} of its values are held by fewer than k = {policy.k} individuals of their "
        "window. Every record names its window in `batch`: who knows that somebody's record is in it may find it "
        "by such a value. Make the windows longer, make it a quasi-identifier, leave it out, or write "
        "accept_linkable: true",
    )


def _spelling(found: Spelling) -> Finding:
    differ = f"{found.alike:,} of {found.ids:,} ids differ from another one {SPELLED[found.normalization]} only"
    step = found.normalization or ", ".join(Normalization)
    return _warning(
        "privacy.individual",
        f"{differ}, and each counts as an individual of its own. If they are one, write individual: {{field: ..., "
        f"normalize: [{step}]}}",
    )


def _events(study: Study) -> Finding:
    return _warning(
        "privacy.individual",
        f"{study.fit} sampled records are of {study.individuals} individuals: does the field tell people, or "
        "events? If it is new in every record, k counts records, and a person with k of them makes a class of "
        "their own; where everybody has one record, all is well",
    )


def _singling(study: Study) -> list[Finding]:
    left = f"{study.singled_left:,} sets were not looked at, since there are many"
    for found in study.singled:
        if found.share > MANY_SINGLED:
            one = len(found.attributes) == 1
            text = (
                f"{'it singles' if one else 'together they single'} out {found.share:.0%} of the sampled "
                "individuals: who knows these values of a person finds the person in the input, and in any copy of "
                "it. The release guards against that. Coarser values or fewer attributes lose less in it; "
                "`stream-anon leakage` ranks all sets"
            )
            more = f". {left}: others may do so too" if study.singled_left else ""
            return [_warning(", ".join(f"attributes.{name}" for name in found.attributes), text + more)]
    if study.singled_left:
        text = f"{left}: one of them may single most people out. `stream-anon leakage --most` looks at more"
        return [_note("attributes", text)]
    return []


def _forecast_findings(policy: Policy, forecast: Forecast) -> list[Finding]:
    found = []
    if forecast.short:
        outcome = "suppressed whole" if policy.window.shortfall is Shortfall.SUPPRESS else "held back, however long"
        windows = f"{forecast.short} of {forecast.windows} windows" if forecast.whole else "the sample"
        least = max((policy.k, *(shield.k for shield in policy.shields)))
        lacks = f"cannot fill one class of k = {policy.k}"
        if least > policy.k:
            lacks += f", or have fewer than {least} individuals, the largest k of a shield"
        found.append(_warning("window", f"{windows} {lacks}: such windows are {outcome}"))
    if forecast.over_limit > MANY_OVER_LIMIT:
        found.append(
            _warning(
                "window.max_records_per_individual",
                f"{forecast.over_limit:.1%} of the records lie beyond their individual's limit of "
                f"{policy.window.max_records_per_individual} a window and would be suppressed",
            )
        )
    if forecast.above:
        windows = f"{forecast.above} of {forecast.windows} windows" if forecast.whole else "the sample"
        outcome = _ABOVE[policy.above_max_suppressed]
        text = f"{windows} would suppress more than {policy.max_suppressed} of the records, and be {outcome}"
        found.append(_warning("privacy.max_suppressed", text))
    needed = least_told(len(policy.quasi_identifiers))
    if forecast.whole and forecast.individuals < needed <= policy.window.max_records:
        found.append(_no_live_leakage(needed, f"the sample's median window holds {forecast.individuals:,}"))
    rest = forecast.suppressed_share - forecast.over_limit
    if not forecast.short and rest > MANY_SUPPRESSED:
        found.append(_warning("window", f"{rest:.1%} of the records would find no class and be suppressed"))
    return found


def _no_live_leakage(needed: int, fewer: str) -> Finding:
    return _note(
        "window",
        f"stream_anon_information_leakage_ratio and the status page tell what a window leaks if it has {needed:,} "
        f"individuals or more, so that noise can hide each one: {fewer}. `stream-anon leakage` measures a sample",
    )


def _warning(place: str, text: str) -> Finding:
    return Finding(Severity.WARNS, place, text)


def _note(place: str, text: str) -> Finding:
    return Finding(Severity.NOTES, place, text)


def _prohibition(condition: Condition, place: str, text: str) -> Finding:
    return Finding(Severity.FORBIDS, place, text, condition)
