"""What somebody should know before a release, and what the policy alone tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from math import ceil

from stream_anon.conditions import Condition
from stream_anon.judging.disguises.resembling import MOST_LOOKED_AT, in_words, looks_like
from stream_anon.measures.window_leakage.before import least_told
from stream_anon.microdata.attributes import PublishedForm, Sensitive, Unknown
from stream_anon.microdata.bounds import k_in_words
from stream_anon.microdata.choices.window_limits import Shortfall
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


class Severity(StrEnum):
    """How grave a finding is."""

    FORBIDS = "forbids"  # no run may start, and no file may be released
    ACCEPTED = "accepted"  # it forbids a run, but somebody has accepted it by name
    WARNS = "warns"  # somebody should know
    NOTES = "notes"  # nothing is wrong, but something is less or different than one might expect


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know before a run or a release.

    Parameters
    ----------
    place
        A setting, a topic or an attribute.
    condition
        The name under which it can be accepted, if it forbids something.
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
            warning(
                "privacy.individual",
                "k counts records, not people: a person with k records can be a class alone",
            )
        )
    if policy.engine.seed is not None:
        found.append(
            warning(
                "engine.seed",
                "it fixes the engine's random draws: an attacker who knows the seed, the policy and all other "
                "records of a window can replay the window for each value that a person may have. Leave it out "
                "if that matters",
            )
        )
    if policy.without_k:
        found.append(warning("privacy.k", policy.without_k))
    if policy.counterfeits is not None and policy.k is not None:
        found.append(
            warning(
                "privacy.counterfeits",
                f"a class of {policy.k} records may hold as few as {ceil(policy.k / 2)} people: who can tell "
                "counterfeits, as by another release of the same people, is left with these. Who knows all "
                "quasi-identifiers sees whose class is not completed, mostly for an unusual value",
            )
        )
    found += [
        warning(
            f"privacy.shields.{place}",
            f"holds already: privacy.k = {k_in_words(policy.k)}, or a shield on the same attributes and more, asks "
            "as many",
        )
        for place, shield in enumerate(policy.shields)
        if shield not in policy.open_shields
    ]
    if policy.window.shortfall is Shortfall.HOLD and policy.diverse and not policy.window.least_people:
        found.append(
            warning(
                "window.shortfall",
                "hold waits until there are enough people for a class, not until there are enough sensitive "
                "values. A window of so few people usually lacks some, and is suppressed as a whole. "
                "window.least_people makes it wait for more people",
            )
        )
    if any(attribute.max_level is not None for attribute in policy.quasi_identifiers):
        found += [
            warning(
                f"privacy.sensitive.{attribute.name}.publish",
                "value keeps families whole within single published nodes, where max_level or engine.levels say "
                "how coarse these are: there a family is often short of a value, or of people, and is suppressed. "
                "Whoever is known to be in a window and is missing has a value of such a family: publish families, "
                "or let levels be free",
            )
            for attribute in policy.diverse
            if attribute.keeps_whole
        ]
    needed = least_told(len(policy.quasi_identifiers), policy.window.max_records)
    if policy.window.max_records < needed:
        found.append(no_live_leakage(needed, f"windows of {policy.window.max_records:,} records hold fewer"))
    for attribute in policy.quasi_identifiers:
        place = f"attributes.{attribute.name}"
        if attribute.publication is PublishedForm.TIGHT:
            key = "order" if attribute.domain.labels() else "tight"
            found.append(
                warning(
                    place,
                    f"{key}: both ends of a published range are true values of somebody in the class, "
                    "and an extreme value is published as it is",
                )
            )
        elif attribute.publication is PublishedForm.VALUES:
            found.append(
                warning(place, "values: a published set tells that each of its values occurs in the class")
            )
        found += _disguised_labels(attribute)
        if attribute.unknown is Unknown.ROOT:
            found.append(
                warning(
                    place,
                    "unknown: root also admits misspelt values; each hides this attribute in its class",
                )
            )
    found += [
        warning(
            f"attributes.{attribute.name}",
            "sensitive without a criterion: if all records of a class have the same value, readers know it of "
            f"everybody in the class; privacy.sensitive.{attribute.name} can require several (distinct_l, or more)",
        )
        for attribute in policy.attributes
        if isinstance(attribute, Sensitive) and attribute.name not in policy.diversity
    ]
    return found


def _disguised_labels(attribute: QuasiIdentifier) -> list[Finding]:
    """Return what is to be said of values in the policy that name people: whoever reads it knows them."""
    found = looks_like(attribute, list(islice(attribute.domain.labels() or (), MOST_LOOKED_AT)))
    if found is None or not found.of_people:
        return []
    return [
        warning(
            f"attributes.{attribute.name}",
            f"{in_words(found)}. The policy lists them, and so do the certificates, whether or not these people "
            "are in the data: declare role: identifier, or leave it out",
        )
    ]


def no_live_leakage(needed: int, fewer: str) -> Finding:
    """Return that windows are too small for what their original records leak to be told."""
    return note(
        "window",
        "stream_anon_information_leakage_ratio and the status page show what attributes leak after any release. "
        f"What they leak before it is shown only for windows of {needed:,} individuals or more, in which noise "
        f"can hide each one: {fewer}. `stream-anon leakage` measures a sample",
    )


def warning(place: str, text: str) -> Finding:
    """Return a finding that warns."""
    return Finding(Severity.WARNS, place, text)


def note(place: str, text: str) -> Finding:
    """Return a finding that notes."""
    return Finding(Severity.NOTES, place, text)
