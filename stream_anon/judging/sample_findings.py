"""What a sample of the input, or a whole file, tells before a release."""

from __future__ import annotations

from stream_anon.judging.disguises.resembling import Disguise, in_words
from stream_anon.judging.findings import Finding, Severity, no_live_leakage, note, warning
from stream_anon.judging.forecasting.forecast import Forecast
from stream_anon.judging.missing_values import MissingValues
from stream_anon.judging.prohibitions import crowd_in_words, noun, prohibitions
from stream_anon.judging.rest_values import RestValues
from stream_anon.judging.sample_study import Study
from stream_anon.judging.spellings import Spelling
from stream_anon.judging.tally import MOST_LINKABLE, RareValues
from stream_anon.measures.window_leakage.before import least_told
from stream_anon.microdata.choices.window_limits import AboveMost, Shortfall
from stream_anon.microdata.diversity import Disclosure
from stream_anon.microdata.ids import Normalization
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.rounding import exactly, in_percent

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
    AboveMost.SUPPRESS: "suppressed whole",
}


def sample_findings(policy: Policy, study: Study) -> list[Finding]:
    """Return the findings on a sample of the input, the gravest first."""
    if not study.records:
        return [warning("input", "holds no records, so rejects, windows and rare values cannot be judged")]
    found = prohibitions(policy, study)
    if not study.fit:
        return found
    told = {each.place for each in found}
    unsaid = [field for field in study.rare if f"attributes.{field.attribute}" not in told]
    found += [
        _seldom(study, field) for field in study.missing if MANY_MISSING < field.share < 1 and not field.accepted
    ]
    if study.individuals < policy.crowd:
        found += [_too_few(policy, study, field) for field in unsaid if field.too_many]
    found += [
        _rare_in_windows(policy, field) for field in unsaid if field.too_many_in_windows and not field.too_many
    ]
    many = study.fit >= FEWEST_RECORDS and study.individuals >= MANY_INDIVIDUALS * study.fit
    if many and policy.individual != EVERY_RECORD:
        found.append(_events(study))
    found += [_accepted(each) for each in study.disguises if each.accepted and each.resemblance.of_people]
    if many or policy.individual == EVERY_RECORD:
        found += [
            _of_things(each)
            for each in study.disguises
            if not (each.accepted or each.resemblance.of_people or f"attributes.{each.attribute}" in told)
        ]
    found += [_spelling(each) for each in study.spellings if not each.asked]
    found += [_rest(study, each) for each in study.rest]
    if study.fit >= FEWEST_RECORDS:
        found += _singling(study)
    if study.rejected_share > MANY_REJECTS:
        found.append(warning("input", _many_rejects(study)))
    if study.forecast is not None:
        found += _forecast_findings(policy, study.forecast)
    found += [_alike(study, name, given) for name, given in study.given_away.items() if given.alike]
    return sorted(found, key=lambda finding: finding.severity is not Severity.FORBIDS)


def _many_rejects(study: Study) -> str:
    share = in_percent(study.rejected_share, bound=MANY_REJECTS)
    if not study.whole:
        return f"{share} of the records would be dead letters"
    return (
        f"{share} of the records would be rejected: above {exactly(MANY_REJECTS)} `anonymize` writes no output, "
        "unless --max-rejected allows more. `anonymize --rejects FILE` lists their lines"
    )


def _seldom(study: Study, field: MissingValues) -> Finding:
    return warning(
        f"attributes.{field.attribute}",
        f"{field.share:.1%} of {noun(study, study.fit)} have no value: do name and path match the records?",
    )


def _too_few(policy: Policy, study: Study, field: RareValues) -> Finding:
    text = (
        f"cannot be judged: {noun(study, study.records)} are of {study.individuals} individuals, fewer than "
        f"{crowd_in_words(policy)}"
    )
    return warning(f"attributes.{field.attribute}", text)


def _rare_in_windows(policy: Policy, field: RareValues) -> Finding:
    share = in_percent(field.share_in_windows or 0.0, bound=MOST_LINKABLE)
    return warning(
        f"attributes.{field.attribute}",
        f"{share} of its values are held by fewer than {crowd_in_words(policy)} individuals "
        "of their window. Every record names its window in `batch`, so an attacker who knows that a person's "
        "record is in it may find the record by such a value. Make the windows longer, make the field a "
        "quasi-identifier, leave it out, or write accept_linkable: true",
    )


def _accepted(disguise: Disguise) -> Finding:
    return warning(
        f"attributes.{disguise.attribute}",
        f"{in_words(disguise.resemblance)}: such a value identifies a person, and accept_linkable: true lets it "
        "pass",
    )


def _of_things(disguise: Disguise) -> Finding:
    return warning(
        f"attributes.{disguise.attribute}",
        f"{in_words(disguise.resemblance)}. Here each record counts as a different person, so there is no way to "
        "tell whether many people share such a value or one person has it in many records. If a value belongs to "
        "one person, declare role: identifier or leave the field out; otherwise write accept_linkable: true",
    )


def _alike(study: Study, name: str, given: Disclosure) -> Finding:
    released = "as it would be released" if study.whole else "as one worker would publish the sample"
    return warning(
        f"attributes.{name}",
        f"{released}, {given.in_words}, which readers then know of everybody in them; privacy.sensitive.{name} can "
        "require several",
    )


def _spelling(found: Spelling) -> Finding:
    differ = f"{found.alike:,} of {found.ids:,} ids differ from another one {SPELLED[found.normalization]} only"
    step = found.normalization or ", ".join(Normalization)
    return warning(
        "privacy.individual",
        f"{differ}, and each counts as an individual of its own. If they mean the same, write individual: "
        f"{{field: ..., normalize: [{step}]}}",
    )


def _rest(study: Study, found: RestValues) -> Finding:
    return warning(
        f"privacy.sensitive.{found.attribute}.rest",
        f"is published of {found.records:,} of {noun(study, study.fit)}: {found.in_words}. A family "
        "hides a returning person's value among several, but the rest may stand for a single value. If there are "
        "enough of them for a family, let `stream-anon families` group them before the first release: later, that "
        "is a weaker policy",
    )


def _events(study: Study) -> Finding:
    return warning(
        "privacy.individual",
        f"{noun(study, study.fit)} are of {study.individuals:,} individuals: does the field identify people, or "
        "events? If it is different in every record, k counts records, and a person with k records can be a class "
        "alone. If everybody has one record, nothing is wrong",
    )


def _singling(study: Study) -> list[Finding]:
    left = f"{study.singled_left:,} sets were not examined, because there are many"
    for found in study.singled:
        if found.share > MANY_SINGLED:
            one = len(found.attributes) == 1
            text = (
                f"{'it singles' if one else 'together they single'} out {found.share:.0%} of the sampled "
                "individuals: an attacker who knows these values of a person finds the person in the input and in "
                "any copy of it. The release protects against that, and loses less if values are coarser or "
                "attributes fewer; `stream-anon leakage` ranks all sets"
            )
            more = f". {left}: others may do so too" if study.singled_left else ""
            return [warning(", ".join(f"attributes.{name}" for name in found.attributes), text + more)]
    if study.singled_left:
        text = f"{left}: one of them may single out most people. `stream-anon leakage --most` examines more"
        return [note("attributes", text)]
    return []


def _forecast_findings(policy: Policy, forecast: Forecast) -> list[Finding]:
    found = []
    if forecast.short:
        outcome = (
            "suppressed whole"
            if policy.window.shortfall is Shortfall.SUPPRESS
            else "held back without a time limit"
        )
        windows = f"{forecast.short} of {forecast.windows} windows" if forecast.whole else "the sample"
        least = max((policy.crowd, *(shield.k for shield in policy.shields)))
        lacks = f"have fewer than {least} individuals, the largest k of a shield"
        if policy.k is not None:
            lacks = f"cannot fill one class of k = {policy.k}" + (f", or {lacks}" if least > policy.k else "")
        found.append(warning("window", f"{windows} {lacks}: such windows are {outcome}"))
    if forecast.over_limit > MANY_OVER_LIMIT:
        found.append(
            warning(
                "window.max_records_per_individual",
                f"{forecast.over_limit:.1%} of the records lie beyond their individual's limit of "
                f"{policy.window.max_records_per_individual} a window and would be suppressed",
            )
        )
    if forecast.above:
        windows = f"{forecast.above} of {forecast.windows} windows" if forecast.whole else "the sample"
        outcome = _ABOVE[policy.above_max_suppressed]
        text = f"{windows} would suppress more than {policy.max_suppressed} of the records, and be {outcome}"
        found.append(warning("privacy.max_suppressed", text))
    needed = least_told(len(policy.quasi_identifiers), policy.window.max_records)
    if forecast.whole and forecast.individuals < needed <= policy.window.max_records:
        found.append(no_live_leakage(needed, f"the sample's median window holds {forecast.individuals:,}"))
    rest = forecast.suppressed_share - forecast.over_limit
    if not forecast.short and rest > MANY_SUPPRESSED:
        found.append(warning("window", f"{rest:.1%} of the records would find no class and be suppressed"))
    return found
