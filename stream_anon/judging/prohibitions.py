"""What forbids to publish records, as far as the records and the policy tell."""

from __future__ import annotations

from stream_anon.conditions import Condition
from stream_anon.judging.disguises.resembling import Disguise, in_words
from stream_anon.judging.findings import Finding, Severity
from stream_anon.judging.sample_study import Study
from stream_anon.judging.tally import MOST_LINKABLE, RareValues, RecordCounts
from stream_anon.microdata.policy import Policy
from stream_anon.rounding import exactly, in_percent

OF_RELEASES = (
    Condition.NO_RECORD_FITS,
    Condition.MISSING_FIELD,
    Condition.RARE_VALUES,
    Condition.DISGUISED_IDENTIFIER,
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
    disguises = {each.attribute: each for each in counted.disguises}
    judged = counted.individuals >= policy.crowd  # else every value is rare, and no class can be published
    rare = [field for field in counted.rare if field.too_many] if judged else []
    found += [_rare(policy, counted, field, disguises.pop(field.attribute, None)) for field in rare]
    found += [_disguised(each) for each in disguises.values() if each.resemblance.of_people and not each.accepted]
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


def _rare(policy: Policy, counted: RecordCounts | Study, field: RareValues, disguise: Disguise | None) -> Finding:
    share = in_percent(field.share, 2, MOST_LINKABLE)
    looks = "" if disguise is None else f"{in_words(disguise.resemblance)}. "
    return _prohibition(
        Condition.RARE_VALUES,
        f"attributes.{field.attribute}",
        f"{field.records:,} of {noun(counted, counted.fit)} ({share}) have a value that fewer than "
        f"{crowd_in_words(policy)} individuals share: an attacker who knows a person's value finds their record. "
        f"At most {exactly(MOST_LINKABLE)} may be published unchanged. {looks}{_instead(disguise)}, or write "
        "accept_linkable: true",
    )


def _instead(disguise: Disguise | None) -> str:
    if disguise is None or (disguise.resemblance.kind.is_category and not disguise.resemblance.of_people):
        return "Make it a quasi-identifier, leave it out"
    return "Declare role: identifier, leave it out"


def _disguised(disguise: Disguise) -> Finding:
    return _prohibition(
        Condition.DISGUISED_IDENTIFIER,
        f"attributes.{disguise.attribute}",
        f"{in_words(disguise.resemblance)}, and the field is published unchanged: such a value identifies a "
        "person, however many records have it. Declare role: identifier, or leave it out. If its values name "
        "nobody, write accept_linkable: true",
    )


def _prohibition(condition: Condition, place: str, text: str) -> Finding:
    return Finding(Severity.FORBIDS, place, text, condition)


def crowd_in_words(policy: Policy) -> str:
    """Return how many individuals must hold a value that is not rare."""
    return f"k = {policy.k}" if policy.k is not None else f"{policy.crowd} (a shield's k)"
