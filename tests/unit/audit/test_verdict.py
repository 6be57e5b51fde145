"""Violations are counted, listed up to a number of each kind, and none is lost from the totals."""

from __future__ import annotations

from stream_anon.audit.collected_violations import MOST_OF_A_KIND, CollectedViolations
from stream_anon.audit.verdict import AuditCounts, Kind, Life, Verdict, Violation


def test_equal_violations_are_one_with_a_count() -> None:
    findings = CollectedViolations()
    findings.add(Kind.NO_BATCH)
    findings.add(Kind.NO_BATCH, count=3)
    findings.add(Kind.NO_BATCH, "ab")
    assert set(findings.listed()) == {Violation(Kind.NO_BATCH, count=4), Violation(Kind.NO_BATCH, "ab")}
    assert findings.totals() == {Kind.NO_BATCH: 2}
    assert findings.more == 0


def test_beyond_the_most_of_a_kind_only_the_number_is_kept() -> None:
    findings = CollectedViolations()
    for number in range(MOST_OF_A_KIND + 2):
        findings.add(Kind.METADATA, f"{number:x}")
    findings.add(Kind.METADATA, "0")  # listed already
    findings.add(Kind.NO_BATCH)
    listed = findings.listed()
    assert len(listed) == MOST_OF_A_KIND + 1
    assert Violation(Kind.METADATA, "0", count=2) in listed
    assert findings.totals() == {Kind.METADATA: MOST_OF_A_KIND + 2, Kind.NO_BATCH: 1}
    assert findings.more == 2


def test_an_identifier_stands_before_a_wrong_sum() -> None:
    findings = CollectedViolations()
    findings.add(Kind.WRONG_IN, "a")
    findings.add(Kind.IDENTIFYING_FIELD, "b")
    assert [one.kind for one in findings.listed()] == [Kind.IDENTIFYING_FIELD, Kind.WRONG_IN]
    assert list(findings.totals()) == [Kind.IDENTIFYING_FIELD, Kind.WRONG_IN]


def test_two_lives_that_are_one_have_the_first_and_the_last_of_their_windows() -> None:
    early, late = Life("t", "a", "1", "4", 2, "b"), Life("t", "", "2", "3", 5, "c")
    assert early.joined(late) == Life("t", "a", "1", "4", 7, "b")
    assert late.joined(early) == Life("t", "", "1", "4", 7, "b")
    longer = Life("t", "", "1", "9", 1, "a")
    assert early.joined(longer) == Life("t", "a", "1", "9", 3, "a")


def test_a_verdict_is_clean_only_if_nothing_was_found_whether_listed_or_not() -> None:
    assert Verdict((), 0, AuditCounts(), (), ()).clean
    assert not Verdict((), 1, AuditCounts(), (), ()).clean
    assert not Verdict((Violation(Kind.NO_BATCH),), 0, AuditCounts(), (), ()).clean
