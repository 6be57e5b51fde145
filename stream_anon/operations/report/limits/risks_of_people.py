"""What is left of risks because k counts ids, and because people come back."""

from __future__ import annotations

from collections.abc import Iterator

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.report.figures.evidence import Evidence
from stream_anon.operations.report.limits.residual_risk import ResidualRisk
from stream_anon.rounding import exactly


def risks_of_people(policy: Policy, evidence: Evidence) -> Iterator[ResidualRisk]:
    """Yield the limits that follow from who is counted, and from people who return."""
    yield from _of_counting(policy, evidence)
    open_ones = [own.name for own in policy.attributes if isinstance(own, Sensitive) and not own.families]
    if open_ones:
        yield ResidualRisk(
            "people-who-return",
            f"{', '.join(open_ones)}: whoever comes to several windows, with the same value each time, is in many "
            "classes. Anyone who knows them all is left with the values that these classes share, often one.",
            "families under privacy.sensitive, for values that stay with a person.",
        )
    yield ResidualRisk(
        "followed",
        "Anyone who knows somebody's quasi-identifiers can often tell in which class of the next window they are, "
        "and in which windows they are not. With unusual ones they are found again in each.",
        "Coarser quasi-identifiers, and privacy.returning. Both cost information.",
    )
    if policy.returning is None:
        yield ResidualRisk(
            "any-number-of-releases",
            "One person may be released in any number of windows. What little each tells adds up.",
            "privacy.returning bounds it; people beyond the bound are suppressed.",
        )
    else:
        yield ResidualRisk(
            "counts-of-returns",
            "How often somebody was released is counted by id, for one output, by the clocks of the workers. In a "
            "stretch of time as long as a period it may be twice as often as allowed. The topic of returns names "
            "people by a keyed hash.",
            "Let nobody but the workers read that topic. Keep privacy.returning.key_file as you keep the input.",
        )
    if evidence.made["series"]:
        yield ResidualRisk(
            "series",
            "In a series of releases nothing is promised of somebody whose value changes, nor to readers who know "
            "how frequent values are, or the value of anybody with the same set of values.",
            "A larger distinct_l. It costs information, and needs more counterfeits.",
        )


def _of_counting(policy: Policy, evidence: Evidence) -> Iterator[ResidualRisk]:
    if policy.individual == EVERY_RECORD:
        yield ResidualRisk(
            "records-not-people",
            "k counts records. If somebody has several records, a class of k records may be of fewer people.",
            "privacy.individual: the field that tells people apart.",
        )
    else:
        yield ResidualRisk(
            "ids",
            f"People are told apart by {policy.individual}. Somebody with two ids, or with one that is misspelt, "
            "counts as two people.",
            "privacy.individual.normalize, for differences of spelling.",
        )
        if policy.max_share * (policy.k or 2) > 1:
            yield ResidualRisk(
                "frequent-visitors",
                f"One person may have up to {exactly(policy.max_share)} of a class's records. Their value is then "
                "often the most frequent one of the class.",
                "A smaller privacy.max_share.",
            )
        if max(policy.window.max_records_per_individual, evidence.most_records_each) > 1:
            yield ResidualRisk(
                "several-classes",
                "One person may have several records in a window, and stand in several of its classes. Anyone who "
                "knows that these belong together learns more than each class alone tells.",
                "window.max_records_per_individual: 1.",
            )
    yield ResidualRisk(
        "planted-people",
        "Whoever may write to the input can plant made-up people beside somebody, who is then alone with them in "
        "a class.",
        "Only the brokers' ACLs, or who may write the file, prevent it.",
    )
    yield ResidualRisk(
        "copies",
        "A record that comes twice is two records: somebody who has the input released again has two releases to "
        "compare.",
        "Bound who may write to the input; a key of draws (engine.draws_key_file) for equal windows.",
    )
