"""What whoever signs must know before they read a figure: what a report is not of, and what it cannot tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isinf
from typing import Any

from stream_anon.audit.scope import AuditScope, seconds_of
from stream_anon.microdata.policy import Policy
from stream_anon.operations.audit.audit_report import iso
from stream_anon.operations.audit.auditing import AuditReport
from stream_anon.operations.report.figures.evidence import Evidence
from stream_anon.operations.report.figures.risks import in_words, risk_in_percent
from stream_anon.rounding import in_percent


def cautions(
    audit: AuditReport,
    evidence: Evidence,
    threshold: float | None,
    own: float | None,
    attacks: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """Return whole sentences, the gravest first; none where a report is all that its title says.

    Parameters
    ----------
    threshold, own
        The risk that nobody may exceed, and that of the settings; None for none.
    attacks
        What `stream-anon attack --json` has found.
    """
    return [
        *_of_violations(audit),
        *_of_the_period(audit, evidence),
        *_of_policies(audit, evidence),
        *_of_risks(evidence, threshold, own),
        *_of_attacks(threshold, attacks),
        *_of_what_is_gone(audit),
    ]


def _of_violations(audit: AuditReport) -> Iterator[str]:
    if not audit.verdict.clean:
        yield "The figures are those that certificates state, also where the audit found these wrong."


def _of_the_period(audit: AuditReport, evidence: Evidence) -> Iterator[str]:
    stretch: AuditScope = audit.wanted.stretch
    if not evidence.windows:
        yield "No window closed in this period: nothing is shown, and there is nothing to sign for."
    if audit.ended < stretch.until < inf:
        yield "The period was not over when this report was made: windows that close later are not in it."
    begins = audit.verdict.begins
    if begins > stretch.since:
        text = "of some partitions none is left" if isinf(begins) else f"from {iso(begins)} on all are there"
        yield (
            "The topic of certificates has lost its start, and so a part of this period: "
            f"{text}. Windows without a certificate are in no figure."
        )
    ends = audit.policy.release.ends
    if ends is not None and evidence.windows and seconds_of(evidence.last) >= ends:
        day = audit.policy.release.valid_until
        yield f"Records were released after {day}, the last day on which they might be (release.valid_until)."
    review = audit.policy.release.review_by
    if review is not None and iso(audit.ended)[:10] > review.isoformat():
        yield f"The release was to be looked at again by {review} (release.review_by)."


def _of_policies(audit: AuditReport, evidence: Evidence) -> Iterator[str]:
    windows = evidence.in_force.windows
    others = evidence.in_force.others(audit.promises)
    if others:
        yield (
            f"{others:,} of {windows.total():,} windows were released under another policy than that of the "
            "settings. What was asked is told by the settings; the table of policies says what changed."
        )
        stated = {key for policy in evidence.in_force.known.values() for key in _unlike(policy, audit.policy)}
        if stated:
            yield f"Other policies of this period state another {', '.join(sorted(stated))} of the release."
    on_trust = audit.verdict.counts.on_trust
    if on_trust:
        yield (
            f"{on_trust:,} windows are judged on trust: their policy is not known, only what their certificates "
            "say of it."
        )
    lives = Counter(life.topic for life in audit.verdict.lives)
    for topic, count in lives.items():
        if count > 1:
            yield f"Certificates say that the input {topic} was created anew {count - 1:,} times: was it?"


def _unlike(policy: Policy, given: Policy) -> set[str]:
    """Return what two policies state otherwise of a release, but for dates that pass."""
    told, own = policy.release.told, given.release.told
    return {key.replace("_", " ") for key in told.keys() | own.keys() if told.get(key) != own.get(key)}


def _of_risks(evidence: Evidence, threshold: float | None, own: float | None) -> Iterator[str]:
    records = evidence.in_force.counting_records
    if records:
        yield (
            f"In {records:,} of {evidence.windows:,} windows k counts records: where somebody has several, a "
            "class is of fewer people than it says, and the risk of people is higher than it says."
        )
    if evidence.made:
        smallest = evidence.sizes.smallest
        highest = risk_in_percent(None if smallest is None else 1 / smallest, threshold)
        yield (
            f"{evidence.made.total():,} windows may hold counterfeits. The threshold is that of whoever takes "
            f"these for people. Anyone who tells them from people finds somebody with a risk of {highest}."
        )
    if own is not None and threshold is not None and threshold > own:
        yield (
            f"The threshold of {in_words(threshold)} was given for this report. The settings allow {in_words(own)} "
            "at the most."
        )
    if 0 < evidence.sizes.fitted < evidence.sizes.people:
        yield (
            f"How many of the population fit a class is known of {evidence.sizes.fitted:,} of "
            f"{evidence.sizes.people:,} people only: the risk by a journalist is not told."
        )
    if evidence.sizes.short:
        yield (
            f"In {evidence.sizes.short:,} classes are more people than the population has of them: it lacks some. "
            "There the population is taken to be the class."
        )


def _of_attacks(threshold: float | None, attacks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    above = [one for one in attacks if threshold is not None and one["risk"]["value"] > threshold]
    if above:
        names = ", ".join(f"{name_of(one)} ({in_percent(one['risk']['value'])})" for one in above)
        yield (
            f"Attacks have a larger success than {in_words(threshold)} beyond what is known without the release: "
            f"{names}. The threshold does not bound them: it is of being found by quasi-identifiers in a window."
        )


def name_of(attack: Mapping[str, Any]) -> str:
    """Return what an attack is called, with the field that it is after."""
    secret = attack.get("secret")
    return f"{attack['attack']} of {secret}" if secret else str(attack["attack"])


def _of_what_is_gone(audit: AuditReport) -> Iterator[str]:
    removed = audit.verdict.removed
    if removed.records:
        yield (
            f"{removed.records:,} records of {removed.windows:,} windows are no longer there: what certificates "
            "say of these windows is taken on trust."
        )
    if removed.uncertified:
        yield f"Of {removed.uncertified:,} released records the certificate is gone: they are in no figure."
