"""Whether a policy's statement of its release still holds: what time alone says of it."""

from __future__ import annotations

from collections.abc import Collection

from stream_anon.conditions import Condition
from stream_anon.judging.findings import Finding, Severity, policy_findings, warning
from stream_anon.judging.refusing import Advice, refusal
from stream_anon.microdata.output.statement import DAY, Statement, end_of
from stream_anon.microdata.policy import Policy

SOON = 30 * DAY  # seconds before a day of the statement at which warnings begin
_UNTIL, _REVIEW = "release.valid_until", "release.review_by"
_ADVICE = Advice(
    "`release.valid_until` in the settings is the last day that was agreed for this release: whoever is "
    "responsible may set a later day",
    "To release all the same, accept {names} (--accept-risk, kafka.accept_risks or accept_risks); every "
    "certificate will name it",
)


def standing_findings(policy: Policy, now: float) -> list[Finding]:
    """Return what policy and time say, before any record is looked at; `now` is in seconds since the epoch."""
    return [*policy_findings(policy), *validity_findings(policy.release, now)]


def validity_findings(statement: Statement, now: float) -> list[Finding]:
    """Return what forbids a release at a moment, in seconds since the epoch, and what soon will."""
    found = []
    until, review = statement.valid_until, statement.review_by
    if until is not None and (left := end_of(until) - now) <= 0:
        found.append(_expired(statement))
    elif until is not None and left <= SOON:
        told = f"is {until}, {_days(left)}: after that day no run starts, and a running one ends"
        found.append(warning(_UNTIL, told))
    if review is not None and (left := end_of(review) - now) <= SOON:
        told = f"is {review}, {_days(left)}" if left > 0 else f"was {review}, and it has passed"
        found.append(warning(_REVIEW, f"{told}: review the release, and set another day"))
    return found


def raise_if_expired(statement: Statement, now: float, accepted: Collection[Condition]) -> None:
    """Raise Refused if nothing may be released any more at a moment, unless somebody has accepted that."""
    ends = statement.ends
    if ends is not None and now >= ends and Condition.RELEASE_EXPIRED not in accepted:
        raise refusal([_expired(statement)], "nothing may be released any more", _ADVICE)


def _expired(statement: Statement) -> Finding:
    told = f"was {statement.valid_until}, and that day has passed in UTC"
    return Finding(Severity.FORBIDS, _UNTIL, told, Condition.RELEASE_EXPIRED)


def _days(left: float) -> str:
    """Return how many days lie before a day whose end is so many seconds away."""
    days = int((left - 1e-6) // DAY)
    return "today" if days == 0 else "tomorrow" if days == 1 else f"in {days} days"
