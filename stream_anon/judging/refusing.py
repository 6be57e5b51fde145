"""Refuse what conditions forbid that nobody has accepted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from stream_anon.conditions import Condition
from stream_anon.errors import Refused, SettingsError
from stream_anon.judging.findings import Finding, Severity
from stream_anon.judging.prohibitions import OF_RELEASES, prohibitions
from stream_anon.judging.tally import Tally
from stream_anon.microdata.policy import Policy


@dataclass(frozen=True, slots=True)
class Advice:
    """How to see more, and how to accept a condition: texts with `{options}`, `{names}` and `{quoted}` in them."""

    see: str
    accept: str


OF_RUN = Advice(
    "`stream-anon check` shows all that was found",
    "To run all the same, add {options}, or kafka.accept_risks: [{names}]; every certificate will name it",
)
OF_FILE = Advice(
    "`stream-anon check --input FILE` shows all that was found",
    "To release them all the same, add {options}; every certificate will name it",
)
OF_CALL = Advice(
    "`stream-anon check --input FILE` shows all that was found, if they are saved as a file",
    "To release them all the same, give accept_risks=[{quoted}]; every certificate will name it",
)


class When(StrEnum):
    """When records are judged."""

    ALWAYS = "always"
    IF_RELEASED = "if-released"  # a release without a record shows readers nothing
    NEVER = "never"  # somebody has judged them, or others before them


@dataclass(frozen=True, slots=True)
class Judging:
    """How records are judged before they are released.

    Parameters
    ----------
    accept_risks
        Conditions that somebody has accepted; certificates name them.
    """

    accept_risks: tuple[Condition, ...] = ()
    when: When = When.ALWAYS
    advice: Advice = OF_FILE


def conditions_of(names: Iterable[str]) -> tuple[Condition, ...]:
    """Return the conditions on releases of these names, in order; SettingsError for another name."""
    wanted = set(names)
    if unknown := wanted - set(OF_RELEASES):
        known = ", ".join(OF_RELEASES)
        raise SettingsError("accept_risks", f"a release of records can have {known}, not {min(unknown)}")
    return tuple(sorted(each for each in OF_RELEASES if each in wanted))


def weighed(findings: Iterable[Finding], accepted: Collection[Condition]) -> tuple[Finding, ...]:
    """Mark the findings that somebody has accepted, and return all of them, the gravest first."""
    marked = [
        replace(each, severity=Severity.ACCEPTED)
        if each.severity is Severity.FORBIDS and each.condition in accepted
        else each
        for each in findings
    ]
    return tuple(sorted(marked, key=lambda each: list(Severity).index(each.severity)))


def refusal(forbidding: Sequence[Finding], what: str, advice: Advice) -> Refused:
    """Return the error that names what forbids a run or a release, and how to accept each condition."""
    told = "".join(
        "\n    ".join((f"\n  {each.condition}: {each.place}: {each.text}", *each.commands)) for each in forbidding
    )
    names = sorted({str(each.condition) for each in forbidding})
    accept = advice.accept.format(
        options=" ".join(f"--accept-risk {name}" for name in names),
        names=", ".join(names),
        quoted=", ".join(f'"{name}"' for name in names),
    )
    return Refused(f"{what}:{told}\n{advice.see}. {accept}")


def raise_if_forbidden(policy: Policy, tally: Tally, accepted: Collection[Condition], advice: Advice) -> None:
    """Raise Refused if records that were counted must not be released; the message names each condition."""
    found = weighed(prohibitions(policy, tally.counts()), accepted)
    forbidding = [each for each in found if each.severity is Severity.FORBIDS]
    if forbidding:
        raise refusal(forbidding, "these records must not be released", advice)
