"""What forbids to publish records, as far as the records and the policy tell."""

from __future__ import annotations

from stream_anon.conditions import Condition
from stream_anon.judging.findings import Finding, Severity
from stream_anon.judging.sample_study import Study
from stream_anon.judging.tally import MOST_LINKABLE, RareValues, RecordCounts
from stream_anon.microdata.policy import Policy
from stream_anon.rounding import exactly, in_percent

OF_RELEASES = (
    Condition.NO_RECORD_FITS,
    Condition.MISSING_FIELD,
    Condition.RARE_VALUES,
    Condition.RELEASE_EXPIRED,
)
"""What can forbid the release of a file, of a frame or in a host."""


def prohibitions(policy: Policy, counted: RecordCounts | Study) -> list[Finding]:
    """Return what forbids to publish records under a policy: nothing if there are none.

    Whatever publishes asks this: a run on topics of a sample, a release of a file, of a frame or in a host of all
    its records.
    """
    if not counted.records:
        return []
    if not counted.fit:
        text = f"none of {noun(counted, counted.records)} fits the policy"
        return [_prohibition(Condition.NO_RECORD_FITS, "input", text)]
    found = [
        never_came(field.attribute, noun(counted, counted.fit), field.likeness)
        for field in counted.missing
        if field.records == counted.fit and not field.accepted
    ]
    if counted.individuals >= policy.crowd:  # else every value is rare, and no class can be published
        found += [_rare(policy, counted, field) for field in counted.rare if field.too_many]
    return found


def noun(counted: RecordCounts | Study, records: int) -> str:
    """Return a number of records in words."""
    return f"{records:,} {'records' if counted.whole else 'sampled records'}"


def never_came(attribute: str, records: str, likeness: str = "") -> Finding:
    """Return what forbids a run if none of some records, which `records` names, has a value of an attribute."""
    return _prohibition(
        Condition.MISSING_FIELD,
        f"attributes.{attribute}",
        f"none of {records} has a value; null would be published for all. "
        f"{likeness}Correct its name or its path, or write accept_missing: true",
    )


def _rare(policy: Policy, counted: RecordCounts | Study, field: RareValues) -> Finding:
    share = in_percent(field.share, 2, MOST_LINKABLE)
    return _prohibition(
        Condition.RARE_VALUES,
        f"attributes.{field.attribute}",
        f"{field.records:,} of {noun(counted, counted.fit)} ({share}) hold a value that fewer than "
        f"{crowd_in_words(policy)} individuals have: whoever knows a person's value finds their record. At most "
        f"{exactly(MOST_LINKABLE)} may pass as they are. Make it a quasi-identifier, leave it out, or write "
        "accept_linkable: true",
    )


def _prohibition(condition: Condition, place: str, text: str) -> Finding:
    return Finding(Severity.FORBIDS, place, text, condition)


def crowd_in_words(policy: Policy) -> str:
    """Return how many individuals must hold a value that is not rare."""
    return f"k = {policy.k}" if policy.k is not None else f"{policy.crowd} (a shield's k)"
