"""What certificates say adds up, and what a forger writes into them is not repeated."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stream_anon.audit.certificates import Counted
from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.judges import Judge, JudgedCertificate
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.output.stated_counterfeits import StatedCounterfeits
from stream_anon.microdata.output.stated_returns import StatedSeries
from stream_anon.operations.report import evidence as room
from stream_anon.operations.report.evidence import MOST_LETTERS, UNKNOWN, Evidence
from stream_anon.privacy.certificate import AchievedShield, AchievedSpread, Certificate
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, read_certificate, release_of, ward_people, ward_policy

POLICY = ward_policy()
QUASI = [attribute.name for attribute in POLICY.quasi_identifiers]


def _evidence(*certificates: Certificate, losses: tuple[float, ...] | None = None) -> Evidence:
    judge = Judge(POLICY, "sha256:" + "0" * 64, CollectedViolations())
    evidence = Evidence(POLICY, 0.09)
    for one in certificates:
        evidence.add(JudgedCertificate(one, judge, Counted(losses, None)))
    return evidence


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    release = release_of(
        POLICY,
        [ward_people(4), ward_people(5, first=9, age=50, illness="stroke")],
        unplaced=ward_people(1, first=40),
        rejected=[Reason.MISSING, Reason.MISSING],
    )
    return read_certificate(certificate_parts(release, POLICY, frame_of(release)))


def _with(certificate: Certificate, **changes: Any) -> Certificate:
    return replace(certificate, **changes)


def test_two_windows_add_up(certificate: Certificate) -> None:
    later = _with(certificate, opened="2024-05-14T08:00:00Z", closed="2024-05-14T08:01:10Z", software="later")
    evidence = _evidence(later, certificate, losses=(9.0,) * 6)
    assert (evidence.windows, evidence.empty) == (2, 0)
    assert (evidence.first, evidence.last) == (certificate.closed, later.closed)
    assert (evidence.records.taken_in, evidence.records.released) == (24, 18)
    assert evidence.records.suppressed == {"unplaced": 2}
    assert evidence.records.rejected == {"missing": 4}
    assert (evidence.sizes.classes, evidence.sizes.people, evidence.sizes.smallest) == (4, 18, 4)
    assert evidence.distinct == {"result": 3}
    assert (evidence.mean_open_seconds, evidence.most_open_seconds) == (50, 70)
    assert evidence.most_suppressed == 1 / 10
    assert {name: use.windows for name, use in evidence.software.items()} == {"later": 1, certificate.software: 1}
    assert evidence.engines[certificate.engine].first == certificate.closed
    assert evidence.engines[certificate.engine].last == later.closed
    assert evidence.timeline.whole.losses() == dict.fromkeys(QUASI, pytest.approx(20 / 20))


def test_a_window_on_trust_has_a_loss_and_none_by_attribute(certificate: Certificate) -> None:
    evidence = _evidence(certificate)
    assert certificate.gcp is not None
    assert evidence.timeline.whole.gcp == pytest.approx(certificate.gcp)
    assert evidence.timeline.whole.losses() == {}


def test_what_a_forger_writes_is_not_repeated(certificate: Certificate) -> None:
    text = "Mrs Smith"
    achieved = replace(
        certificate.achieved,
        distinct_l={text: 1},
        sensitive={text: AchievedSpread(t=0.5)},
        shields=[AchievedShield([text], 2)],
    )
    forged = _with(
        certificate,
        suppressed_by_reason={text: 1},
        rejected_by_reason={text: 2},
        ignored={text: 3},
        missing={text: 1},
        achieved=achieved,
        terms=replace(certificate.terms, linkable=[text, "visits"]),
        software=text * 100,
    )
    evidence = _evidence(forged)
    assert evidence.records.suppressed == {UNKNOWN: 1}
    assert evidence.records.rejected == {UNKNOWN: 2}
    assert evidence.records.ignored == {UNKNOWN: 3}
    assert evidence.missing == {}
    assert (evidence.distinct, evidence.spreads, evidence.shields) == ({}, {}, {})
    assert evidence.linkable == {"visits"}
    assert [len(name) for name in evidence.software] == [MOST_LETTERS]


def test_names_of_a_forger_are_bounded(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_NAMED", 3)
    evidence = _evidence(*(_with(certificate, software=f"software {number}") for number in range(9)))
    assert len(evidence.software) == 3
    assert evidence.engines[certificate.engine].windows == 9


def test_a_day_that_does_not_exist_has_no_place_in_time(certificate: Certificate) -> None:
    evidence = _evidence(_with(certificate, closed="2024-02-31T08:00:00Z"))
    assert evidence.windows == 1
    assert list(evidence.timeline) == []
    assert (evidence.open_seconds, evidence.most_open_seconds) == (0, 0)


def test_the_worst_of_all_windows_is_told(certificate: Certificate) -> None:
    spreads = [AchievedSpread(t=0.2, entropy_l=2.5), AchievedSpread(t=0.3, entropy_l=3.5)]
    shields = [[AchievedShield(["patient.age"], k)] for k in (9, 7)]
    evidence = _evidence(
        *(
            _with(
                certificate,
                achieved=replace(certificate.achieved, sensitive={"result": spread}, shields=own, presence=share),
            )
            for spread, own, share in zip(spreads, shields, (0.2, 0.1), strict=True)
        )
    )
    assert evidence.spreads == {"result": {"t": 0.3, "entropy_l": 2.5}}
    assert evidence.shields == {("patient.age",): 7}
    assert evidence.presence == 0.2


def test_counterfeits_are_counted_once(certificate: Certificate) -> None:
    """In a release of a series whoever is in a class has one record: the others are nobody's."""
    fuller = [replace(one, records=one.records + 2) for one in certificate.classes]
    series = _with(certificate, classes=fuller, series=StatedSeries(1, 3, 4), released=13)
    assert _evidence(series).records.counterfeits == 4
    completed = _with(certificate, classes=fuller, completed=StatedCounterfeits(4, 4, 6), released=13)
    assert _evidence(completed).records.counterfeits == 4
    # Who signs is told the risk that holds whatever a reader knows: that of a guess among people.
    assert _evidence(completed).sizes.smallest == _evidence(series).sizes.smallest == 4
    assert _evidence(certificate).sizes.smallest == 4
    assert _evidence(certificate).records.counterfeits == 0


def test_an_empty_window_counts(certificate: Certificate) -> None:
    release = release_of(POLICY, [], unplaced=ward_people(2))
    empty = read_certificate(certificate_parts(release, POLICY, frame_of(release)))
    evidence = _evidence(empty, certificate)
    assert (evidence.windows, evidence.empty) == (2, 1)
    assert evidence.most_suppressed == 1
    assert evidence.distinct == {"result": 3}
