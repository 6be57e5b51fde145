"""What a policy does not promise, in plain words: what is left when everything holds that is promised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stream_anon.microdata.attributes import Insensitive, PublishedForm, Sensitive
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.report.evidence import Evidence


@dataclass(frozen=True, slots=True)
class ResidualRisk:
    """Something that may still happen to people.

    Parameters
    ----------
    name
        Of it, for programs.
    text
        What may happen.
    answer
        What lowers it, and what that costs or needs; empty where nothing in the settings does.
    """

    name: str
    text: str
    answer: str = ""


def residual_risks(policy: Policy, evidence: Evidence) -> list[ResidualRisk]:
    """Return the limits of docs/explain/privacy.md that apply to a policy, and to what was released under it."""
    return [
        *_of_everybody(policy),
        *_of_attributes(policy, evidence),
        *_of_people(policy),
        *_of_running(policy, evidence),
    ]


def _of_everybody(policy: Policy) -> Iterator[ResidualRisk]:
    yield ResidualRisk(
        "forgotten-quasi-identifier",
        "Only the fields that the policy calls quasi-identifiers are protected. A field that others know of "
        "people, and that passes as insensitive or sensitive, can name them.",
        "Look at the table of fields with somebody who knows what others know of these people; stream-anon attack "
        "shows what a field adds.",
    )
    if policy.presence is None:
        yield ResidualRisk(
            "presence",
            "k-anonymity hides which record is somebody's, not that they are in the data. Who knows somebody well "
            "may learn that they are, and so that they have what all people in the data have.",
            "privacy.presence bounds it, if a population with its counts is known. It costs information.",
        )
    else:
        yield ResidualRisk(
            "presence-per-window",
            "How many of the people who fit a class are in it is bounded in each window, from above, for the "
            "population that the file counts. Over many windows, and for who fits no class, nothing is bounded.",
            "A smaller privacy.presence.most; fewer windows.",
        )
    yield ResidualRisk(
        "other-releases",
        "Somebody who holds several releases about the same people, of this service or of others, can compare "
        "them. Each promise is about one release.",
        "Do not give one recipient two releases of the same records.",
    )
    yield ResidualRisk(
        "inference",
        "A class shows what its people have. So what goes with the quasi-identifiers can be guessed of somebody, "
        "better than by chance, however they hide among others. k-anonymity is not differential privacy.",
        "t_closeness or families under privacy.sensitive, or a larger k. Each costs information.",
    )
    if policy.k is None:
        yield ResidualRisk(
            "shields-only",
            "No k is asked of all quasi-identifiers together: a record may share its values of all of them with "
            "nobody. Only the attributes of each shield are protected, by themselves.",
            "Set privacy.k. It costs much information where there are many quasi-identifiers.",
        )
    if policy.counterfeits is not None:
        yield ResidualRisk(
            "counterfeits",
            "Some classes hold fewer than k people, at least half of k, and are completed by records of nobody. "
            "Who tells these from others is left with fewer people.",
            "Leave privacy.counterfeits out: then these people are suppressed.",
        )


def _of_attributes(policy: Policy, evidence: Evidence) -> Iterator[ResidualRisk]:
    passed = [own.name for own in policy.attributes if isinstance(own, Insensitive)]
    if passed:
        yield ResidualRisk(
            "passing-fields",
            f"{_listed(passed)}: published as they came. A rare value, or one that others know, can single people "
            "out whatever k is.",
            "Make it a quasi-identifier, or leave it out.",
        )
    if evidence.linkable:
        yield ResidualRisk(
            "accepted-rare-values",
            f"{_listed(sorted(evidence.linkable))}: somebody has accepted in the settings that rare values of "
            "these fields pass (accept_linkable).",
            "Take accept_linkable away: a run is refused then while rare values pass.",
        )
    for own in policy.attributes:
        if isinstance(own, Sensitive) and own.name not in policy.diversity and not own.families:
            yield ResidualRisk(
                f"no-criterion-{own.name}",
                f"{own.name}: nothing is asked of its values. All records of a class may have the same one, which "
                "is then known of everybody in the class.",
                f"privacy.sensitive.{own.name}: distinct_l or families.",
            )
        elif isinstance(own, Sensitive) and own.many:
            yield ResidualRisk(
                f"list-{own.name}",
                f"{own.name} is a list. Who knows some of a person's values may find the one list that has them, "
                "and read the others.",
                "Leave it out, or publish one value a record.",
            )
    exact = [
        own.name for own in policy.quasi_identifiers if own.domain.tight or own.publication is PublishedForm.VALUES
    ]
    if exact:
        yield ResidualRisk(
            "true-ends",
            f"{_listed(exact)}: the ends of published ranges, or the members of published sets, are true values of "
            "people in the class.",
            "Publish nodes of a hierarchy (tight: false, publish: nodes). It costs some information.",
        )


def _of_people(policy: Policy) -> Iterator[ResidualRisk]:
    if policy.individual == EVERY_RECORD:
        yield ResidualRisk(
            "records-not-people",
            "k counts records. If somebody has several records, a class of k records may be of fewer people.",
            "privacy.individual: the field that tells people apart.",
        )
    open_ones = [own.name for own in policy.attributes if isinstance(own, Sensitive) and not own.families]
    if open_ones:
        yield ResidualRisk(
            "people-who-return",
            f"{_listed(open_ones)}: whoever comes to several windows, with the same value each time, is in many "
            "classes. Who knows them all is left with the values that all these classes have in common, often one.",
            "families under privacy.sensitive, for values that stay with a person.",
        )
    for own in policy.attributes:
        if isinstance(own, Sensitive) and own.families:
            value = own.shown_as is ShownAs.VALUE
            yield ResidualRisk(
                f"family-{own.name}",
                f"{own.name}: the family of somebody's value becomes known, "
                + ("and over several windows the likeliest value in it. " if value else "and no more than it. ")
                + "Who knows how frequent the values of a family are guesses the most frequent one.",
                "Larger families, or of values as frequent as each other.",
            )
    if policy.returning is None:
        yield ResidualRisk(
            "any-number-of-releases",
            "One person may be released in any number of windows. What little each tells adds up.",
            "privacy.returning bounds it; people beyond the bound are suppressed.",
        )


def _of_running(policy: Policy, evidence: Evidence) -> Iterator[ResidualRisk]:
    if evidence.records.suppressed.total():
        yield ResidualRisk(
            "suppression",
            "That records are missing tells something: who is suppressed has rare values. A window that closed at "
            "its number of records tells how many are missing.",
            "Wider ranges or larger windows, so that less is suppressed.",
        )
    if "file" not in evidence.deliveries:
        yield ResidualRisk(
            "time-of-publication",
            "On a quiet topic the moment of publication tells when the first record of a window came, to a few per "
            "cent of window.max_delay.",
            "A longer window.max_delay.",
        )
        yield ResidualRisk(
            "dead-letters",
            "Rejected records go to the topic of dead letters as they came, with everything that names people.",
            "Let nobody read that topic who may not read the input, and keep it short.",
        )
    if evidence.replayable:
        yield ResidualRisk(
            "replay",
            f"In {evidence.replayable:,} windows a seed in the settings decided what the engine draws: who knows "
            "the settings and the other records can run the engine again, and compare.",
            "Leave engine.seed out, and use a key of draws.",
        )
    if "at-least-once" in evidence.deliveries:
        yield ResidualRisk(
            "at-least-once",
            "Some windows were published at least once: after a crash the same people may have been published in "
            "two different windows.",
            "Deliver exactly once (the default).",
        )
    if policy.digest_key is None:
        yield ResidualRisk(
            "contents-not-compared",
            "Certificates have no digests of contents: an exchange of sensitive values between released records "
            "would not be found.",
            "output.digest_key_file.",
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names)
