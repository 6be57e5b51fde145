"""What a policy does not promise, in plain words: what is left when everything holds that is promised.

The limits are those of docs/explain/privacy.md. Those of values and classes stand here, those of people in
`risks_of_people`, those of running a service in `risks_of_running`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stream_anon.microdata.attributes import PassThrough, PublishedForm, Sensitive
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.policy import FULL_DOMAIN, Policy
from stream_anon.operations.report.figures.evidence import Evidence
from stream_anon.operations.report.limits.residual_risk import ResidualRisk
from stream_anon.operations.report.limits.risks_of_people import risks_of_people
from stream_anon.operations.report.limits.risks_of_running import risks_of_running

_OF_ENGINES = frozenset({"replay", "minimal-generalizations"})
"""Risks that follow from what forms classes, which documents of policies do not tell."""


def residual_risks(policy: Policy, evidence: Evidence) -> list[ResidualRisk]:
    """Return the limits of docs/explain/privacy.md that apply to a policy, and to what was released.

    Those of other policies of the period follow where they say something else.
    """
    found = list(_of_policy(policy, evidence))
    texts, names = {risk.text for risk in found}, {risk.name for risk in found}
    for other in evidence.in_force.known.values():
        for risk in _of_policy(other, evidence):
            if risk.text in texts or risk.name in _OF_ENGINES:
                continue
            texts.add(risk.text)
            base = name = f"{risk.name}-formerly"
            number = 1
            while name in names:
                number += 1
                name = f"{base}-{number}"
            names.add(name)
            found.append(replace(risk, name=name, text=f"Under another policy of this period: {risk.text}"))
    return found


def _of_policy(policy: Policy, evidence: Evidence) -> Iterator[ResidualRisk]:
    yield from _of_everybody(policy)
    yield from _of_classes(policy)
    yield from _of_attributes(policy, evidence)
    for own in policy.attributes:
        if isinstance(own, Sensitive):
            yield from _of_sensitive(own, policy.diversity.get(own.name))
    yield from risks_of_people(policy, evidence)
    yield from risks_of_running(policy, evidence)


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
            "k-anonymity hides which record is somebody's, not that they are in the data. Anyone who knows "
            "somebody well may learn that they are, and so that they have what all people in the data have.",
            "privacy.presence bounds it, if a population with its counts is known. It costs information.",
        )
    else:
        yield ResidualRisk(
            "presence-per-window",
            "How many of the people who fit a class are in it is bounded in each window, from above, for the "
            "population that the file counts. A file that is old or made up bounds nothing. Over many windows, and "
            "for who fits no class, nothing is bounded.",
            "A smaller privacy.presence.most; fewer windows; a file that is kept up to date.",
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
    yield ResidualRisk(
        "predicate-singling-out",
        "A description can be made from a class that fits exactly one person of the data more often than chance "
        "would have it, without telling who that is. k does not prevent this.",
    )


def _of_classes(policy: Policy) -> Iterator[ResidualRisk]:
    if policy.k is None:
        yield ResidualRisk(
            "shields-only",
            "No k is asked of all quasi-identifiers together: a record may share its values of all of them with "
            "nobody. Only the attributes of each shield are protected, by themselves.",
            "Set privacy.k. It costs much information where there are many quasi-identifiers.",
        )
    if policy.shields:
        yield ResidualRisk(
            "beside-shields",
            "A shield protects the attributes that it names, in one window. Anyone who knows one attribute more is "
            "left with the people of a class. Sensitive values are not counted by it.",
            "Name all attributes that somebody may know together, or a larger privacy.k.",
        )
    if policy.counterfeits is not None:
        yield ResidualRisk(
            "counterfeits",
            "Some classes hold fewer than k people, at least half of k, and are completed by records of nobody. "
            "Anyone who tells these from others is left with fewer people.",
            "Leave privacy.counterfeits out: then these people are suppressed.",
        )
    yield ResidualRisk(
        "combinatorial-refinement",
        "The program is public, and forms classes so that little is lost. Anyone who knows how it works can narrow "
        "down what a class says by what the other classes of its window say.",
    )
    if policy.extra_levels:
        yield ResidualRisk(
            "raised-levels",
            "By how many levels a value is raised is drawn anew for each class. Over the many windows of somebody "
            "who comes back these draws average out.",
            "privacy.returning bounds how often somebody comes back.",
        )
    elif policy.method is None and policy.engine.name != FULL_DOMAIN:
        yield ResidualRisk(
            "minimal-generalizations",
            "A published value is no wider than it had to be: it tells that at least two of the values below it "
            "are in the class (downcoding). Where most people have one of them, it tells of a rare one.",
            "privacy.extra_levels, or engine.name: full-domain. Both cost much information.",
        )
    if policy.diversity:
        yield ResidualRisk(
            "minimality",
            "Criteria on sensitive values change some classes. Anyone who runs the engine without them sees which, "
            "and that those would have been of few values.",
            "t_closeness under privacy.sensitive, which changes nearly every class. It costs information.",
        )


def _of_attributes(policy: Policy, evidence: Evidence) -> Iterator[ResidualRisk]:
    passed = [own.name for own in policy.attributes if isinstance(own, PassThrough) and not _is_dealt(own)]
    if passed:
        yield ResidualRisk(
            "passing-fields",
            f"{', '.join(passed)}: published as they came. A rare value, or one that others know, can single "
            "people out whatever k is. So can a name or an identifier that stands in a text.",
            "Make it a quasi-identifier, or leave it out.",
        )
    if evidence.linkable:
        yield ResidualRisk(
            "accepted-rare-values",
            f"{', '.join(sorted(evidence.linkable))}: somebody has accepted in the settings that rare values of "
            "these fields pass (accept_linkable).",
            "Take accept_linkable away: a run is refused then while rare values pass.",
        )
    exact = [
        own.name for own in policy.quasi_identifiers if own.domain.tight or own.publication is PublishedForm.VALUES
    ]
    if exact:
        yield ResidualRisk(
            "true-ends",
            f"{', '.join(exact)}: the ends of published ranges, or the members of published sets, are true values "
            "of people in the class.",
            "Publish nodes of a hierarchy (tight: false, publish: nodes). It costs some information.",
        )


def _is_dealt(own: PassThrough) -> bool:
    """Return whether what is published of a field is a family and not the value."""
    return isinstance(own, Sensitive) and bool(own.families) and own.shown_as is ShownAs.FAMILY


def _of_sensitive(own: Sensitive, asked: Diversity | None) -> Iterator[ResidualRisk]:
    name = own.name
    if own.many:
        yield ResidualRisk(
            f"list-{name}",
            f"{name} is a list. Anyone who knows some of a person's values may find the one list that has them, "
            "and read the others.",
            "Leave it out, or publish one value a record.",
        )
    if own.families:
        yield from _of_families(own)
    elif asked is None:
        yield ResidualRisk(
            f"no-criterion-{name}",
            f"{name}: nothing is asked of its values. All records of a class may have the same one, which "
            "is then known of everybody in the class.",
            f"privacy.sensitive.{name}: distinct_l or families.",
        )
    elif not own.many and asked == Diversity(distinct_l=asked.distinct_l, p_sensitive=asked.p_sensitive):
        yield ResidualRisk(
            f"uneven-{name}",
            f"{name}: a class has different values, and one of them may be nearly everybody's in it. Values that "
            "mean the same count as different.",
            f"privacy.sensitive.{name}: alpha, entropy_l or t_closeness. Each costs information.",
        )


def _of_families(own: Sensitive) -> Iterator[ResidualRisk]:
    value = own.shown_as is ShownAs.VALUE
    yield ResidualRisk(
        f"family-{own.name}",
        f"{own.name}: the family of somebody's value becomes known, "
        + ("and over several windows the likeliest value in it. " if value else "and no more than it. ")
        + "Anyone who knows how frequent the values of a family are guesses the most frequent one. Of somebody "
        "whose value changes two families become known.",
        "Larger families, or of values as frequent as each other.",
    )
    if own.rest is None:
        yield ResidualRisk(
            f"unlisted-{own.name}",
            f"{own.name}: a record whose value no family lists is rejected. Of somebody who is known to be there, "
            "and is never published, that is known.",
            f"List every value that may occur, or privacy.sensitive.{own.name}.rest.",
        )
    else:
        yield ResidualRisk(
            f"rest-{own.name}",
            f"{own.name}: values that no family lists are published as one. How many values these are is not "
            "promised: it may be a single one.",
            "List every value that may occur.",
        )
