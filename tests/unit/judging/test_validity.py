"""Whether a release may go on: the last day still counts, and warnings begin 30 days before."""

from __future__ import annotations

import datetime as dt

import pytest

from stream_anon.conditions import Condition
from stream_anon.errors import Refused
from stream_anon.judging.findings import Severity
from stream_anon.judging.validity import raise_if_expired, validity_findings
from stream_anon.microdata.output.statement import Statement

LAST = dt.date(2027, 3, 31)
STATED = Statement(valid_until=LAST)


def _at(text: str) -> float:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("2027-03-01T23:59:59", None),
        ("2027-03-02T00:00:00", "is 2027-03-31, in 29 days: after that day no run starts"),
        ("2027-03-30T00:00:00", "is 2027-03-31, tomorrow"),
        ("2027-03-31T00:00:00", "is 2027-03-31, today"),
        ("2027-03-31T23:59:59", "is 2027-03-31, today"),
        ("2027-04-01T00:00:00", "was 2027-03-31, and that day has passed in UTC"),
    ],
)
def test_warnings_begin_thirty_days_before_the_last_moment_and_after_it_a_run_is_forbidden(
    now: str, told: str | None
) -> None:
    found = validity_findings(STATED, _at(now))
    assert [one.text.startswith(told or "?") for one in found] == ([] if told is None else [True])
    over = now.startswith("2027-04")
    assert all((one.severity is Severity.FORBIDS) == over for one in found)
    assert all(one.condition is (Condition.RELEASE_EXPIRED if over else None) for one in found)
    assert all(one.place == "release.valid_until" for one in found)


def test_the_last_moment_of_the_last_day_is_in_time_and_the_next_one_is_not() -> None:
    ends = _at("2027-04-01T00:00:00")
    raise_if_expired(STATED, ends - 0.001, ())
    with pytest.raises(Refused) as caught:
        raise_if_expired(STATED, ends, (Condition.RARE_VALUES,))
    assert "release-expired: release.valid_until: was 2027-03-31" in str(caught.value)
    assert "accept release-expired (--accept-risk" in str(caught.value)
    raise_if_expired(STATED, ends, (Condition.RELEASE_EXPIRED,))
    raise_if_expired(Statement(owner="us"), ends, ())


def test_a_review_is_called_for_before_its_day_and_from_then_on_and_forbids_nothing() -> None:
    statement = Statement(review_by=LAST)
    assert validity_findings(statement, _at("2027-03-01T00:00:00")) == []
    (soon,) = validity_findings(statement, _at("2027-03-20T12:00:00"))
    (late,) = validity_findings(statement, _at("2028-03-20T12:00:00"))
    assert soon.text.startswith("is 2027-03-31, in 11 days: review the release, and set another day")
    assert late.text.startswith("was 2027-03-31, and it has passed")
    assert {soon.place, late.place} == {"release.review_by"}
    assert {soon.severity, late.severity} == {Severity.WARNS}


def test_no_text_of_a_statement_stands_in_a_finding() -> None:
    name = "Dr. Nobody"
    statement = Statement(name, name, name, name, LAST, LAST, name)
    for now in ("2027-03-20T12:00:00", "2028-03-20T12:00:00"):
        assert name not in repr(validity_findings(statement, _at(now)))
